"""The convex problem at fixed point costs: its terms, its dual and the one solver. Nothing here knows a row."""
