"""The paper, reproduced: its tables and figures from real data, beside the systems that it compares with.

Only the command ``fairclust reproduce`` and readers of results import this package; ``import fairclust`` does not.
"""

from ._run import WHAT, Outcome, reproduce

__all__ = ["WHAT", "Outcome", "reproduce"]
