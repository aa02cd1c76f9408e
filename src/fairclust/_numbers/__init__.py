"""How many clusters? Fits for a range of numbers, what speaks for each, and a rule that says what it rests on."""
