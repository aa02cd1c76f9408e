"""The one question between solvers and data: with this state, who is where, and at what cost."""
