"""Whole people: from prices to a table of whole counts, and from there to labels. Rows are known by oracles only."""
