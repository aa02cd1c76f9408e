"""Real populations: three attributes of 665,800 people at once (ACS), and people that a fit never saw (Adult).

Run from the root of the repository: ``python -m benchmarks.people acs adult``. The files are read from
``$FAIRCLUST_DATA``: ``acs/ACSIncome.{test,validation}.parquet`` (ACS PUMS 2018, US Census Bureau) and
``adult/adult.{data,test}`` (UCI). Times are processor time of one thread, and are compared within one run.
"""

from __future__ import annotations

import argparse
import os
import time
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from fairclust import FairKMeans, Penalty, metrics

GOAL = 0.01
ADULT_COLUMNS = [
    "age", "workclass", "fnlwgt", "education", "education-num", "marital-status", "occupation", "relationship", "race",
    "sex", "capital-gain", "capital-loss", "hours-per-week", "native-country", "income",
]  # fmt: skip
ADULT_FEATURES = ["age", "fnlwgt", "education-num", "capital-gain", "hours-per-week"]


@dataclass(frozen=True)
class Run:
    """One fit and its processor time."""

    model: FairKMeans
    seconds: float


def read_acs() -> tuple[np.ndarray, pd.DataFrame]:
    """Age, hours and schooling (standardised) and class of worker (one 0/1 column each); sex, race, marital status."""
    folder = Path(os.environ["FAIRCLUST_DATA"]) / "acs"
    parts = [pd.read_parquet(folder / f"ACSIncome.{part}.parquet") for part in ("test", "validation")]
    frame = pd.concat(parts, ignore_index=True)
    numbers = frame[["AGEP", "WKHP", "SCHL"]].to_numpy(float)
    numbers = (numbers - numbers.mean(axis=0)) / numbers.std(axis=0)
    worker = pd.get_dummies(frame["COW"].astype(int)).to_numpy(float)
    table = pd.DataFrame({name: frame[code].astype(int) for name, code in
                          (("sex", "SEX"), ("race", "RAC1P"), ("marital", "MAR"))})  # fmt: skip
    return np.hstack([numbers, worker]).astype(np.float32), table


def fit(X: np.ndarray, table: Any, seed: int, **options: Any) -> Run:
    """Fit on one thread and take the time."""
    began = time.process_time()
    model = FairKMeans(12, random_state=seed, n_jobs=1, **options).fit(X, sensitive_features=table)
    return Run(model, time.process_time() - began)


def run_acs(seeds: int) -> None:
    """Three attributes at once, against each alone and against plain K-means."""
    X, table = read_acs()
    print(f"ACS: {len(X)} people, {X.shape[1]} features, {len(table.drop_duplicates())} cells, K = 12, goal {GOAL}")
    for seed in range(seeds):
        plain = fit(X, table, seed, goal=None)
        worst = plain.model.fairness_errors_.max(axis=0)
        print(f"seed {seed}: plain, objective {plain.model.objective_:.0f}, worst KL {_listed(table, worst)}")
        alone = {name: fit(X, table[[name]], seed, goal=GOAL) for name in table}
        for name, run in alone.items():
            _tell(name, run, plain, run.model.fairness_errors_.max(axis=0), table[[name]])
        together = fit(X, table, seed, goal=GOAL)
        worst = together.model.fairness_errors_.max(axis=0)
        assert together.model.goal_met_
        assert worst.max() <= GOAL
        _tell("all three", together, plain, worst, table)
        ratios = {name: together.seconds / run.seconds for name, run in alone.items()}
        mean = together.seconds / np.mean([run.seconds for run in alone.values()])
        print(f"  time of all three: {_listed(table, ratios.values())} alone; {mean:.2f} times their mean")
        weight = {"goal": Penalty(float(np.median(together.model.cluster_weights_)))}
        at_weight = fit(X, table, seed, **weight).seconds
        singles = [at_weight / fit(X, table[[name]], seed, **weight).seconds for name in table]
        print(f"  the same at one fixed weight: {_listed(table, singles)} alone")


def _tell(name: str, run: Run, plain: Run, worst: np.ndarray, table: pd.DataFrame) -> None:
    cost = run.model.objective_ / plain.model.objective_ - 1
    print(
        f"  {name:9s} {run.seconds:6.2f} s, {run.model.n_evaluations_:.0f} evaluations, "
        f"objective {run.model.objective_:.0f} ({cost:+.1%}), worst KL {_listed(table, worst)}"
    )


def _listed(table: pd.DataFrame, values: Any) -> str:
    return ", ".join(f"{name} {value:.4g}" for name, value in zip(table, values, strict=True))


def read_adult() -> tuple[np.ndarray, pd.DataFrame, np.ndarray, pd.DataFrame]:
    """Both halves, standardised by the first and with rows of length 1, as the paper prepares them."""
    folder = Path(os.environ["FAIRCLUST_DATA"]) / "adult"
    options: dict[str, Any] = {"names": ADULT_COLUMNS, "skipinitialspace": True}
    seen = pd.read_csv(folder / "adult.data", **options)
    unseen = pd.read_csv(folder / "adult.test", skiprows=1, **options)
    mean, spread = seen[ADULT_FEATURES].mean(), seen[ADULT_FEATURES].std(ddof=0)
    rows = [((half[ADULT_FEATURES] - mean) / spread).to_numpy() for half in (seen, unseen)]
    rows = [X / np.linalg.norm(X, axis=1, keepdims=True) for X in rows]
    return rows[0], seen, rows[1], unseen


def run_adult(seeds: int) -> None:
    """Fit the first half, label the second: nearest centre, fitted prices, and prices found for the batch."""
    X, seen, Y, unseen = read_adult()
    print(f"Adult: {len(X)} people fitted, {len(Y)} unseen, K = 10. Sum (worst) of KL on the unseen half:")
    for columns in (["sex"], ["sex", "race"]):
        for goal in (0.01, 0.001):
            for seed in range(seeds):
                model = FairKMeans(10, random_state=seed, goal=goal)
                model.fit(X, sensitive_features=seen[columns])
                new = unseen[columns]
                target = {a.name: a.target for a in model.attributes_}
                wanted = target if len(columns) > 1 else target[columns[0]]
                told = []
                for name, labels in (
                    ("nearest", model.predict(Y)),
                    ("prices", model.predict(Y, new)),
                    ("batch", model.predict_batch(Y, new)),
                ):
                    errors = metrics.fairness_error(labels, new, wanted, average=None)
                    cost = ((Y - model.cluster_centers_[labels]) ** 2).sum()
                    told.append(f"{name} {errors.sum():.4f} ({errors.max():.5f}) at cost {cost:.0f}")
                print(f"  {'+'.join(columns)}, goal {goal:g}, seed {seed}: {'; '.join(told)}")


def main() -> None:
    """Run what was asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", nargs="+", choices=["acs", "adult"])
    parser.add_argument("--seeds", type=int, default=3)
    asked = parser.parse_args()
    warnings.simplefilter("error")
    for what in asked.what:
        (run_acs if what == "acs" else run_adult)(asked.seeds)


if __name__ == "__main__":
    main()
