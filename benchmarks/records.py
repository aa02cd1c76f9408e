"""What a suite hands back, and how it says that something cannot run here. No measuring, no printing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

Row = Mapping[str, Any]
"""One line of a table: column → value. Rows of a suite need not have the same columns."""


class Unavailable(Exception):  # noqa: N818 - a reason to skip, not a failure
    """A data set or a method that cannot run here; the message is the reason, and goes into the results."""


@dataclass(frozen=True)
class Claim:
    """A statement that the run was asked to check.

    Attributes
    ----------
    what : str
        The statement, in words.
    measured : float
        What was seen; its unit is in `what`.
    limit : float
        Largest value for which the statement holds.
    """

    what: str
    measured: float
    limit: float

    @property
    def holds(self) -> bool:
        """Whether the statement holds; NaN holds nothing."""
        return bool(self.measured <= self.limit)


@dataclass
class SuiteResult:
    """What a suite found; filled line by line, so that a failure keeps what was measured before it."""

    title: str
    rows: list[Row] = field(default_factory=list)
    claims: list[Claim] = field(default_factory=list)
    skipped: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def skip(self, what: str, reason: object) -> None:
        """Write down that something did not run, and why; a reason that is already there is not repeated."""
        line = f"{what}: {reason}"
        if line not in self.skipped:
            self.skipped.append(line)
