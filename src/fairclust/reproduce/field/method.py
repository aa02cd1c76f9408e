"""Methods by file: found, asked whether they can do a case, and run; in another Python where they need one.

A method's file has ``TITLE``, ``OBJECTIVES``, ``GOALS`` and ``run(X, groups, n_clusters, goal, seed)``, which returns
labels, or a fitted estimator that has ``labels_``. CONTRIBUTING.md tells the rest.
"""

from __future__ import annotations

import hashlib
import importlib
import importlib.util
import os
import subprocess
import sys
import tempfile
import time
import warnings
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
from scipy import sparse
from threadpoolctl import threadpool_limits

from ..._typing import IntArray
from ...errors import InvalidInputError
from .goal import Goal

FOLDER = Path(__file__).parent / "methods"
PEERS = "FAIRCLUST_PEERS"
"""Environment variable: Pythons that have the packages of peers, separated as in PATH."""

_OWN_FIGURES = ("assignment_gap_", "n_evaluations_", "fairness_weight_", "n_iter_", "max_violation_")
_HOURS = 3600  # seconds that a peer in another Python may take

_WORKER = """
import runpy, sys, time, types
import numpy as np
from scipy import sparse
file, task, out = sys.argv[1:]
run = runpy.run_path(file)["run"]
with np.load(task, allow_pickle=False) as kept:
    given = dict(kept)
X = given["X"] if "X" in given else sparse.csr_matrix((given["data"], given["indices"], given["indptr"]))
names = ("objective", "kind", "level", "people")
goal = types.SimpleNamespace(**{name: given["goal_" + name].item() for name in names})
began = time.process_time()
labels = run(X, given["groups"], given["n_clusters"].item(), goal, given["seed"].item())
np.savez(out, labels=np.asarray(getattr(labels, "labels_", labels)), seconds=time.process_time() - began)
"""


class UnavailableError(Exception):
    """A method cannot be run here; the message is a sentence that says why."""


@dataclass(frozen=True)
class Method:
    """A method, as its file describes it.

    Attributes
    ----------
    name : str
        The file's stem.
    title : str
        For tables.
    objectives, goals : tuple of str
        What it can be asked for.
    is_ours : bool
        Whether it is this package's own method, which the others are compared with.
    is_reference : bool
        Whether it ignores the goal and is shown for comparison only.
    most_groups, most_rows : int or None
        What it is defined for, and what it finishes within minutes. None: any.
    package : str or None
        What it needs beside this package.
    path : Path
    """

    name: str
    title: str
    objectives: tuple[str, ...]
    goals: tuple[str, ...]
    is_ours: bool
    is_reference: bool
    most_groups: int | None
    most_rows: int | None
    package: str | None
    path: Path

    @property
    def identity(self) -> str:
        """Changes when the file, or the package that it needs, does."""
        digest = hashlib.sha256(self.path.read_bytes())
        digest.update(repr(_where(self.package)).encode() if self.package else b"")
        return digest.hexdigest()[:16]

    @property
    def is_available(self) -> bool:
        """Whether what it needs is installed, here or where the environment says."""
        return _where(self.package) is not None

    def knows(self, goal: Goal) -> bool:
        """Whether the method knows the objective and the goal."""
        return goal.objective in self.objectives and goal.kind in self.goals

    def refuses(self, n_rows: int, n_groups: int) -> str:
        """Why it cannot be run on such data, or an empty string."""
        if self.most_rows is not None and n_rows > self.most_rows:
            return f"{self.title} takes too long for {n_rows:,} rows (left out above {self.most_rows:,})"
        if self.most_groups is not None and n_groups > self.most_groups:
            return f"{self.title} is defined for {self.most_groups} groups, not for {n_groups}"
        return ""

    def __call__(self, X: Any, groups: Any, n_clusters: int, goal: Goal, seed: int) -> Answer:
        """Run on one thread."""
        where = _where(self.package)
        if where is None:
            raise UnavailableError(
                f"{self.package} is not installed here, nor in a Python that {PEERS} names: {self.title} was skipped"
            )
        if where != sys.executable:
            return _run_elsewhere(where, self, X, groups, n_clusters, goal, seed)
        run = _module(self.path).run
        with warnings.catch_warnings(), threadpool_limits(1):
            warnings.simplefilter("ignore")
            began = time.process_time()
            found = run(X, groups, n_clusters, goal, seed)
            seconds = time.process_time() - began
        own = {name.rstrip("_"): float(getattr(found, name, np.nan)) for name in _OWN_FIGURES}
        figures = {name: value for name, value in own.items() if np.isfinite(value)}
        return Answer(np.asarray(getattr(found, "labels_", found)), seconds, figures)


@dataclass(frozen=True)
class Answer:
    """Labels, processor seconds, and figures that the method gives of itself."""

    labels: IntArray
    seconds: float
    own_figures: dict[str, float]


def methods(folder: Path = FOLDER) -> list[Method]:
    """Every method of a folder: ours first, then by title."""
    found = [read_method(path) for path in sorted(folder.glob("*.py")) if not path.name.startswith("_")]
    return sorted(found, key=lambda method: (not method.is_ours, method.is_reference, method.title))


def read_method(path: Path) -> Method:
    """Read what a file says of its method; the function is not called."""
    module = _module(path)
    lacking = [name for name in ("TITLE", "OBJECTIVES", "GOALS", "run") if not hasattr(module, name)]
    if lacking:
        raise InvalidInputError(
            f"{path.name} has no {' and no '.join(lacking)}. See 'Adding a method' in CONTRIBUTING.md."
        )
    return Method(
        path.stem, module.TITLE, tuple(module.OBJECTIVES), tuple(module.GOALS),
        getattr(module, "IS_OURS", False), getattr(module, "IS_REFERENCE", False),
        getattr(module, "MOST_GROUPS", None), getattr(module, "MOST_ROWS", None),
        getattr(module, "PACKAGE", None), path,
    )  # fmt: skip


@cache
def _module(path: Path) -> ModuleType:
    if path.parent == FOLDER:
        return importlib.import_module(f"{__package__}.methods.{path.stem}")
    spec = importlib.util.spec_from_file_location(f"fairclust_field_{path.stem}", path)
    if spec is None or spec.loader is None:
        raise InvalidInputError(f"{path} is not a Python file.")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@cache
def _where(package: str | None) -> str | None:
    """Return the Python that has a package: this one, one that the environment names, or none."""
    if package is None or importlib.util.find_spec(package) is not None:
        return sys.executable
    for python in filter(None, os.environ.get(PEERS, "").split(os.pathsep)):
        found = subprocess.run([python, "-c", f"import {package}"], capture_output=True, check=False)
        if found.returncode == 0:
            return python
    return None


def _run_elsewhere(python: str, method: Method, X: Any, groups: Any, n_clusters: int, goal: Goal, seed: int) -> Answer:
    """Run a method's file in another Python: arrays there and back, no pickle."""
    given: dict[str, Any] = {f"goal_{name}": value for name, value in asdict(goal).items()}
    given |= {"groups": np.asarray(groups).astype(str), "n_clusters": n_clusters, "seed": seed}
    given |= {"data": X.data, "indices": X.indices, "indptr": X.indptr} if sparse.issparse(X) else {"X": np.asarray(X)}
    threads = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    with tempfile.TemporaryDirectory() as folder:
        task, out = Path(folder, "task.npz"), Path(folder, "out.npz")
        np.savez(task, **given)
        done = subprocess.run(
            [python, "-c", _WORKER, str(method.path), str(task), str(out)],
            capture_output=True, text=True, check=False, timeout=_HOURS, env={**os.environ, **threads},
        )  # fmt: skip
        if done.returncode != 0:
            last = (done.stderr.strip().splitlines() or ["no message"])[-1]
            raise UnavailableError(f"{method.title} failed: {last}")
        with np.load(out, allow_pickle=False) as kept:
            return Answer(kept["labels"], float(kept["seconds"]), {})
