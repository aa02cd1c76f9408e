"""What importing the package costs, and that it works where it could not be compiled."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys

import pytest


def run(code):
    """Run a script in a Python of its own; its last line of output, read as JSON."""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    return json.loads(done.stdout.splitlines()[-1])


def test_importing_loads_nothing_that_is_optional_and_little_beyond_scikit_learn():
    code = """
import json, sys
import narwhals, sklearn.cluster, sklearn.datasets, sklearn.metrics, sklearn.neighbors  # what is required
before = set(sys.modules)
from fairclust import FairKMeans, FairKMedian, FairNCut, audit, fairness_path  # the package alone loads nothing
new = set(sys.modules) - before
packages = sorted({name.split(".")[0] for name in new})
print(json.dumps([packages, [name for name in new if name.split(".")[0] not in ("fairclust", "scipy")]]))
"""
    packages, modules = run(code)
    assert "fairclust" in packages
    assert not set(packages) & {"matplotlib", "typer", "rich", "pandas", "polars", "pyarrow", "dask", "faiss", "jax"}
    assert len(modules) < 20


WITHOUT_EXTRAS = """
import importlib, json, pkgutil, sys
for name in ("pandas", "polars", "pyarrow", "matplotlib", "typer", "rich", "altair", "faiss", "dask", "onnx"):
    sys.modules[name] = None
import fairclust
modules = [
    found.name
    for found in pkgutil.walk_packages(fairclust.__path__, "fairclust.", onerror=lambda name: None)
    if not found.name.startswith(("fairclust.cli", "fairclust.report"))  # the command, which says what is missing
]
for name in modules:
    importlib.import_module(name)
print(json.dumps(modules))
"""


def test_every_module_of_the_library_is_imported_without_the_extras():
    assert {"fairclust.scaling", "fairclust.plotting", "fairclust.estimators._kmeans"} <= set(run(WITHOUT_EXTRAS))


BLOCKED = """
import sys, json, warnings
class Blocker:
    def find_spec(self, name, path=None, target=None):
        if name == "fairclust._core._kernels":
            raise ImportError("blocked, as where no compiler was at hand")
sys.meta_path.insert(0, Blocker())
import numpy as np
from fairclust import FairKMeans
from fairclust._core import is_compiled, kernels
from fairclust.datasets import make_synthetic
data = make_synthetic()
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    for _ in range(2):
        model = FairKMeans(2, goal=0.01, random_state=0)
        model.fit(data.data, sensitive_features=data.sensitive_features)
same = bool((model.predict(data.data, data.sensitive_features) == model.labels_).mean() > 0.95)
print(json.dumps([is_compiled, kernels.name, [w.category.__name__ for w in caught], model.goal_met_,
                  model.objective_, same]))
"""


def test_without_the_compiled_kernels_it_works_and_says_so_once():
    from fairclust import FairKMeans
    from fairclust.datasets import make_synthetic

    is_compiled, name, caught, is_met, objective, same = run(BLOCKED)
    assert not is_compiled
    assert name == "numpy"
    assert caught == ["SlowKernelsWarning"]
    assert is_met
    assert same
    data = make_synthetic()
    model = FairKMeans(2, goal=0.01, random_state=0)
    assert objective == pytest.approx(
        model.fit(data.data, sensitive_features=data.sensitive_features).objective_, rel=1e-3
    )


def test_the_version_is_that_of_the_installed_package():
    from importlib.metadata import version

    import fairclust

    assert fairclust.__version__ == version("fairclust")


@pytest.mark.skipif(shutil.which("c++") is None, reason="no C++ compiler at hand")
def test_the_kernels_are_compiled_where_a_compiler_is_at_hand():
    # An install falls back to NumPy where compiling fails: that must not hide a mistake in the C++ code.
    from fairclust._core import is_compiled

    assert is_compiled
