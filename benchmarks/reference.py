"""Figures of others, typed in and cited, never measured here. For comparison beside what a run measures.

``AUTHORS``: the authors' code (a minimal port to current NumPy, algorithm untouched; L=2, hard means), run from the
common seeds, on the paper's preprocessing, scored on hard labels as :mod:`benchmarks.score` does. From the project's
table of reference figures, section "The authors' code".

``PAPER``: the rows of the tables in Ziko, Yuan, Granger, Ben Ayed, "Variational Fair Clustering", AAAI 2021.

``RIVALS``: other methods run on the same data, along their own knob. Same table of reference figures, section "The
rivals".
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Figures:
    """Objective, Σ KL and what else is known."""

    objective: float
    fairness_error: float
    balance: float | None = None
    seconds: float | None = None
    worst_error: float | None = None
    sweeps: int | None = None  # inner steps


Key = tuple[str, str, float]
"""Objective, data set, λ."""

AUTHORS: dict[Key, dict[int, Figures]] = {
    ("kmeans", "adult", 9000.0): {
        0: Figures(10254.00, 0.0133, 0.397, 120, 0.0052, 3934),
        1: Figures(10009.88, 0.0153, 0.396, 43, 0.0068, 1420),
        2: Figures(10311.51, 0.0135, 0.398, 43, 0.0061, 1481),
    },
    ("kmeans", "bank", 6000.0): {
        0: Figures(9774.44, 0.0757, 0.168, 137, 0.0255, 2197),
        1: Figures(9314.89, 0.0846, 0.167, 77, 0.0269, 1680),
        2: Figures(9696.09, 0.0766, 0.167, 146, 0.0254, 3495),
    },
    ("kmeans", "synthetic", 10.0): {seed: Figures(201.86, 3.37, 0.005, None, 1.95) for seed in range(3)},
    ("kmeans", "synthetic-unequal", 10.0): {seed: Figures(159.754, 0.0, 0.333, None, 0.0) for seed in range(3)},
}

PAPER: dict[tuple[str, str], Figures] = {
    ("kmeans", "synthetic"): Figures(207.80, 0.00, 1.00),
    ("kmeans", "synthetic-unequal"): Figures(159.75, 0.00, 0.33),
    ("kmeans", "adult"): Figures(9984.01, 0.018, 0.41),
    ("kmeans", "bank"): Figures(9392.20, 0.05, 0.17),
}

RIVALS: dict[tuple[str, str], dict[str, tuple[Figures, ...]]] = {
    ("kmeans", "adult"): {
        "Bera et al. 2019, centres re-estimated": (
            Figures(10250.8, 0.0000),
            Figures(10098.8, 0.0049),
            Figures(9967.4, 0.0211),
            Figures(9857.4, 0.047),
        ),
        "Mantuano et al. 2026, MS-FlowFC, best of 5": (
            Figures(10823.1, 0.0000, 0.494),
            Figures(10737.6, 0.0030),
            Figures(10535.7, 0.021),
        ),
        "Backurs et al. 2019, fairlets 12:25": (Figures(13926, 0.011),),
    },
    ("kmeans", "bank"): {
        "Bera et al. 2019, centres re-estimated": (
            Figures(11203.3, 0.0000, 0.185),
            Figures(10755.7, 0.0065),
            Figures(10280.4, 0.0254),
            Figures(9806.8, 0.0491),
            Figures(9444.2, 0.090),
        ),
    },
}
