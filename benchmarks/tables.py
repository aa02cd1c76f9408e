"""Ordinary tables of people: columns as they come, from the data directory that the loaders use."""

from __future__ import annotations

import io
import os
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from .records import Unavailable

ORDINARY = (
    "adult race", "adult sex", "adult raw sex", "diabetes gender", "diabetes race", "credit raw education",
    "credit sex", "acs", "mixture 50", "mixture 200",
)  # fmt: skip


@dataclass(frozen=True)
class Table:
    """Rows, their groups, and a number of clusters."""

    name: str
    X: np.ndarray
    groups: Any
    n_clusters: int = 12


def ordinary_table(name: str) -> Table:
    """One of :data:`ORDINARY`."""
    kind = name.split()[0]
    return _READERS[kind](name)


def _standard(X: np.ndarray) -> np.ndarray:
    return (X - X.mean(axis=0)) / X.std(axis=0)


def _file(*parts: str) -> Path:
    root = os.environ.get("FAIRCLUST_DATA")
    path = None if root is None else Path(root, *parts)
    if path is None or not path.exists():
        raise Unavailable(f"{'/'.join(parts)} is not in FAIRCLUST_DATA")
    return path


def _adult(name: str) -> Table:
    import pandas as pd

    frame = pd.read_csv(_file("adult", "adult.data"), header=None, skipinitialspace=True)
    X = frame[[0, 4, 10, 11, 12]].to_numpy(float)
    return Table(name, X if "raw" in name else _standard(X), frame[8 if "race" in name else 9])


def _diabetes(name: str) -> Table:
    import pandas as pd

    with zipfile.ZipFile(_file("diabetes130", "dataset_diabetes.zip")) as archive:
        inside = next(one for one in archive.namelist() if one.endswith("diabetic_data.csv"))
        frame = pd.read_csv(io.BytesIO(archive.read(inside)), low_memory=False)
    frame = frame[frame.gender != "Unknown/Invalid"]
    columns = [
        "time_in_hospital", "num_lab_procedures", "num_procedures", "num_medications", "number_outpatient",
        "number_emergency", "number_inpatient", "number_diagnoses",
    ]  # fmt: skip
    groups = frame.race.fillna("?") if "race" in name else frame.gender
    return Table(name, _standard(frame[columns].to_numpy(float)), groups)


def _credit(name: str) -> Table:
    import pandas as pd

    frame = pd.read_csv(_file("credit_default", "creditcard.csv"))
    columns = ["LIMIT_BAL", "AGE", *(f"BILL_AMT{i}" for i in range(1, 7)), *(f"PAY_AMT{i}" for i in range(1, 7))]
    X = frame[columns].to_numpy(float)
    return Table(name, X if "raw" in name else _standard(X), frame.EDUCATION if "education" in name else frame.SEX)


def _acs(name: str) -> Table:
    import pandas as pd

    parts = [pd.read_parquet(_file("acs", f"ACSIncome.{part}.parquet")) for part in ("test", "validation")]
    frame = pd.concat(parts, ignore_index=True)
    groups = frame[["SEX", "RAC1P", "MAR"]].astype(int).astype(str)
    return Table(name, _standard(frame[["AGEP", "WKHP", "SCHL"]].to_numpy(float)), groups)


def _mixture(name: str) -> Table:
    n_clusters, n_rows = int(name.split()[1]), 100_000
    rng = np.random.default_rng(0)
    centers = rng.normal(size=(n_clusters, 25))
    own = rng.integers(n_clusters, size=n_rows)
    X = centers[own] + rng.normal(size=(n_rows, 25))
    return Table(name, X, (rng.random(n_rows) < rng.beta(2, 2, size=n_clusters)[own]).astype(int), n_clusters)


_READERS: dict[str, Callable[[str], Table]] = {
    "adult": _adult, "diabetes": _diabetes, "credit": _credit, "acs": _acs, "mixture": _mixture,
}  # fmt: skip
