"""What the pages tell readers to type is typed: every Python block runs, every command is understood, short ones run.

A block begins in a namespace with the names that readers have by then (``X``, ``g``, ``df``, …) and in a directory with
the files that pages speak of. Blocks of one page share both, in order.
"""

from __future__ import annotations

import copy
import functools
import re
import shlex
from importlib.util import find_spec

import numpy as np
import pytest

pytest.importorskip("typer", reason="the commands need the extra 'cli'")
pd = pytest.importorskip("pandas", reason="the pages speak of data frames")
plt = pytest.importorskip("matplotlib.pyplot", reason="the pages draw pictures")
pytest.importorskip("pyarrow", reason="the pages read Parquet files")

from typer.main import get_command  # noqa: E402
from typer.testing import CliRunner  # noqa: E402

import fairclust  # noqa: E402
from docs.test_site import PAGES, ROOT  # noqa: E402
from fairclust.cli.app import app  # noqa: E402

BLOCK = re.compile(r"^```(\w*)\n(.*?)^```", re.MULTILINE | re.DOTALL)
COMMAND = re.compile(r"^(fairclust [a-z].*?)(?:\s+#.*)?$", re.MULTILINE)
TAKES_LONG = re.compile(r"^fairclust (reproduce|demo)\b|-k auto")  # they have tests of their own
NEEDS_A_CLUSTER = "--dask"
ONNX = "onnxruntime"  # of the group 'test' only: a page shows it, the package does not need it


N_ROWS = 240  # of every table, also of those that pages draw larger: what they say is typed, not timed


def people(n_rows=N_ROWS):
    """A table as the pages imagine it: the features depend on the groups, so that there is something to mend."""
    rng = np.random.default_rng(0)
    sex = rng.choice(["F", "M"], n_rows)
    return pd.DataFrame(
        {
            "age": rng.integers(18, 80, n_rows),
            "income": np.round(rng.normal(30, 8, n_rows) + 4 * (sex == "M"), 2),
            "visits": rng.poisson(3 + 2 * (sex == "F")),
            "sex": sex,
            "race": rng.choice(["A", "B", "C"], n_rows, p=[0.6, 0.3, 0.1]),
            "job": rng.choice(["office", "works", "none"], n_rows),
            "weight": rng.integers(1, 4, n_rows).astype(float),
        }
    )


@pytest.fixture
def desk(tmp_path, monkeypatch):
    """A directory with the files that pages speak of."""
    monkeypatch.chdir(tmp_path)
    table = people()
    for name in ("people.csv", "new.csv", "customers.csv"):
        table.to_csv(name, index=False)
    table.to_parquet("people.parquet")
    np.save("x.npy", table[["age", "income", "visits"]].to_numpy(np.float32))
    yield tmp_path
    plt.close("all")


@functools.cache
def fitted():
    """A table, its features as numbers, and a model of them: the same for all pages."""
    table = people()
    features = ["age", "income", "visits"]
    X = ((table[features] - table[features].mean()) / table[features].std()).to_numpy()
    return table, features, X, fairclust.FairKMeans(4, random_state=0).fit(X, sensitive_features=table["sex"])


def names():
    """What a reader has: data, groups, the package's main names."""
    table, features, X, model = copy.deepcopy(fitted())
    half = len(X) // 2
    return {
        **{name: getattr(fairclust, name) for name in fairclust.__all__},
        "fairclust": fairclust,
        "model": model,
        "np": np,
        "pd": pd,
        "df": table,
        "X": X,
        "X_new": X[:50],
        "new_rows": table[["age", "income"]][:50],
        "names": features,
        **dict.fromkeys(("g", "groups", "group", "sex"), table["sex"]),
        **dict.fromkeys(("g_new", "new_groups"), table["sex"][:50]),
        "labels": np.arange(len(table)) % 4,
        "chunks": [(X[:half], table["sex"][:half]), (X[half:], table["sex"][half:])],
    }


def has_python(page):
    return any(language == "python" for language, _ in BLOCK.findall(page.read_text(encoding="utf-8")))


@pytest.mark.parametrize("page", list(filter(has_python, PAGES)), ids=lambda page: str(page.relative_to(ROOT)))
@pytest.mark.filterwarnings("ignore:FigureCanvasAgg is non-interactive")
def test_python_of_the_page_runs(page, desk, monkeypatch):
    drawn = fairclust.datasets.make_census_like
    monkeypatch.setattr(fairclust.datasets, "make_census_like", lambda n, **options: drawn(min(n, 500), **options))
    text = page.read_text(encoding="utf-8")
    namespace = names()
    for language, code in BLOCK.findall(text):
        if language == "python" and (f"import {ONNX}" not in code or find_spec(ONNX)):
            line = text[: text.index(code)].count("\n")
            exec(compile("\n" * line + code, str(page), "exec"), namespace)


def commands_of(page):
    """The commands in a page's blocks, whole ones only: no dots for something left out."""
    blocks = "\n".join(code for _, code in BLOCK.findall(page.read_text(encoding="utf-8")))
    return [command for command in COMMAND.findall(blocks) if "…" not in command]


@pytest.mark.parametrize("page", [page for page in PAGES if commands_of(page)], ids=lambda page: page.name)
def test_commands_of_the_page_run_in_their_order(page, desk):
    group = get_command(app)
    for command in commands_of(page):
        arguments = shlex.split(command)[1:]
        with group.make_context("fairclust", arguments[:1], resilient_parsing=True) as context:
            group.commands[arguments[0]].make_context(arguments[0], arguments[1:], parent=context)  # options exist
        if not TAKES_LONG.search(command) and NEEDS_A_CLUSTER not in command:
            done = CliRunner().invoke(app, arguments)
            assert done.exit_code == 0, f"{command}: {done.output}"


def test_there_is_something_to_run():
    assert sum(len(commands_of(page)) for page in PAGES) >= 8
    assert sum("```python" in page.read_text(encoding="utf-8") for page in PAGES) >= 7
