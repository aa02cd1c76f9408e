"""A hundred fits and what they found on one commit: `make golden` tells what a change of the code moved."""
