"""What the paper prints: the rows of its three tables of results. Typed in, never measured here.

Ziko, Yuan, Granger and Ben Ayed, "Variational Fair Clustering", AAAI 2021. Numbers of tables are those of the tables of
results, in the order of printing: 1 is K-median, 2 is K-means, 3 is Ncut.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Figure:
    """A printed result: objective, Σ KL and balance."""

    objective: float
    fairness_error: float
    balance: float


@dataclass(frozen=True)
class Row:
    """A row of a table.

    Attributes
    ----------
    data : str
        Name of the data set here.
    fairness_weight : float
        λ as printed.
    ours : Figure
        What the paper prints for its own method.
    rival : Figure or None
        What it prints for the rival; None where it prints N/A.
    """

    data: str
    fairness_weight: float
    ours: Figure
    rival: Figure | None

    @property
    def level(self) -> float:
        """Most Σ KL that rounds to no more than what is printed for the paper's method (0.00: below 0.005)."""
        return self.ours.fairness_error if self.ours.fairness_error > 0 else 0.00499


@dataclass(frozen=True)
class PaperTable:
    """A table of results."""

    number: int
    objective: str
    title: str
    rival: str
    rows: tuple[Row, ...]


CENSUS_ROWS = 2_458_285  # of the full table, as the paper counts them

TABLES = {
    "table1": PaperTable(
        1,
        "kmedian",
        "Fair K-median",
        "Backurs et al. 2019",
        (
            Row("synthetic", 10, Figure(292.4, 0.00, 1.00), Figure(299.859, 0.00, 1.00)),
            Row("synthetic-unequal", 10, Figure(174.81, 0.00, 0.33), Figure(185.47, 0.77, 0.21)),
            Row("adult", 9000, Figure(18467.75, 0.01, 0.43), Figure(19330.93, 0.27, 0.31)),
            Row("bank", 9000, Figure(19527.08, 0.02, 0.18), None),
            Row("census", 500_000, Figure(1754109.46, 0.02, 0.78), Figure(2385997.92, 0.41, 0.38)),
        ),
    ),
    "table2": PaperTable(
        2,
        "kmeans",
        "Fair K-means",
        "Bera et al. 2019",
        (
            Row("synthetic", 10, Figure(207.80, 0.00, 1.00), Figure(758.43, 0.00, 1.00)),
            Row("synthetic-unequal", 10, Figure(159.75, 0.00, 0.33), Figure(180.00, 0.00, 0.33)),
            Row("adult", 9000, Figure(9984.01, 0.018, 0.41), Figure(10913.84, 0.018, 0.41)),
            Row("bank", 6000, Figure(9392.20, 0.05, 0.17), Figure(11331.51, 0.03, 0.16)),
            Row("census", 500_000, Figure(1018996.53, 0.02, 0.78), Figure(1355457.02, 0.07, 0.77)),
        ),
    ),
    "table3": PaperTable(
        3,
        "ncut",
        "Fair Ncut",
        "Kleindessner et al. 2019",
        (
            Row("synthetic", 10, Figure(0.0, 0.00, 1.00), Figure(0.0, 0.00, 1.00)),
            Row("synthetic-unequal", 10, Figure(0.06, 0.00, 0.33), Figure(0.03, 0.00, 0.33)),
            Row("adult", 10, Figure(0.74, 0.08, 0.30), Figure(0.47, 0.06, 0.32)),
            Row("bank", 40, Figure(0.58, 0.39, 0.14), None),
            Row("census", 100, Figure(0.52, 0.41, 0.43), None),
        ),
    ),
}
