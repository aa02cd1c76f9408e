"""What is in the table? Columns of numbers and words → numbers and codes, and back. Knows nothing of groups."""
