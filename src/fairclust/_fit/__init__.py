"""The fit: what is asked, where to start, the one outer loop, and what comes out of it."""
