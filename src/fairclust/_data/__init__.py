"""Rows in memory: where they lie, what they cost in each cluster, samples and seeds of them."""
