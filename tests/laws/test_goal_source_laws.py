"""Every goal, wherever the rows come from: met, at the cost that memory reaches, with a bound below it."""

import numpy as np
import pytest

from fairclust import Bounds, FairKMeans, FairKMedian, MinBalance, metrics, solvers
from fairclust.scaling import ArrayBlocks, MemmapBlocks, ParquetBlocks

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")

N_ROWS, BLOCK = 2_000, 700
GOALS = [
    pytest.param({"goal": 0.01}, id="error"),
    pytest.param({"goal": Bounds(0.1)}, id="bounds"),
    pytest.param({"goal": MinBalance(0.5)}, id="balance"),
    pytest.param({"goal": 0.02, "min_cluster_size": 300}, id="sizes"),
]
SOURCES = ["blocks", "memmap", "parquet", "dask"]


@pytest.fixture(scope="module")
def people():
    """Whole numbers, so that most rows have twins."""
    rng = np.random.default_rng(5)
    blob = rng.integers(4, size=N_ROWS)
    X = np.round(rng.normal(size=(4, 3))[blob] * 4 + rng.normal(size=(N_ROWS, 3))).astype(np.float32)
    groups = np.where(rng.random(N_ROWS) < np.array([0.25, 0.4, 0.55, 0.7])[blob], "F", "M")
    return X, groups


@pytest.fixture(scope="module")
def sources(people, tmp_path_factory):
    X, groups = people
    place = tmp_path_factory.mktemp("sources")
    np.save(place / "x.npy", X)
    table = pa.table({f"x{m}": X[:, m] for m in range(X.shape[1])} | {"kind": groups})
    pq.write_table(table, place / "x.parquet", row_group_size=BLOCK)
    blocks = [(X[i : i + BLOCK], groups[i : i + BLOCK]) for i in range(0, N_ROWS, BLOCK)]

    def of(name):
        if name == "dask":
            da = pytest.importorskip("dask.array")
            return da.from_array(X, chunks=(BLOCK, -1)), da.from_array(groups, chunks=BLOCK)
        return {
            "blocks": (ArrayBlocks(blocks), None),
            "memmap": (MemmapBlocks(place / "x.npy", block_rows=BLOCK), groups),
            "parquet": (ParquetBlocks(place / "x.parquet"), "kind"),
        }[name]

    return of


@pytest.fixture(scope="module")
def in_memory(people):
    """Fits of the same rows in memory, by estimator and goal; single rows are moved in memory only."""
    known = {}

    def of(estimator, goal):
        key = f"{estimator.__name__} {goal}"
        if key not in known:
            model = estimator(4, **goal, random_state=0, solver=solvers.Dual(local_search=False))
            known[key] = model.fit(people[0], sensitive_features=people[1])
        return known[key]

    return of


@pytest.mark.parametrize("name", SOURCES)
@pytest.mark.parametrize("goal", GOALS)
def test_a_goal_is_met_wherever_the_rows_are(name, goal, people, sources, in_memory):
    X, groups = people
    data, given = sources(name)
    model = FairKMeans(4, **goal, random_state=0).fit(data, sensitive_features=given)
    labels = np.asarray(model.labels_)
    assert model.goal_met_
    asked = goal["goal"]
    if isinstance(asked, float):
        assert metrics.fairness_error(labels, groups, average=None).max() <= asked
    if isinstance(asked, MinBalance):
        assert metrics.balance(labels, groups) >= asked.limit - 1e-9
    assert np.bincount(labels, minlength=4).min() >= goal.get("min_cluster_size", 1)
    assert model.lower_bound_ <= model.objective_ * (1 + 1e-9)
    assert model.objective_ == pytest.approx(metrics.kmeans_objective(X, labels), rel=1e-5)
    assert (np.diff(model.energy_history_) < 0).all()
    assert len(model.energy_history_) == model.n_iter_
    assert model.objective_ == pytest.approx(in_memory(FairKMeans, goal).objective_, rel=1e-6)


@pytest.mark.parametrize("goal", GOALS[:3])
def test_k_median_meets_goals_from_blocks_too(goal, sources):
    data, given = sources("parquet")
    model = FairKMedian(4, **goal, center="geometric", random_state=0).fit(data, sensitive_features=given)
    assert model.goal_met_
    assert model.lower_bound_ <= model.objective_ * (1 + 1e-6)
