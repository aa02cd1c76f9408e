"""The one loop around it: problem, iterations, coarse to fine, restarts, last touches, paths."""
