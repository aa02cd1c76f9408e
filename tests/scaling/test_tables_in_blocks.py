"""Tables in blocks: categories, gaps and weights of columns from Parquet files, data frames and Dask, as in memory."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from fairclust import FairKMeans, Features, Penalty, load
from fairclust.errors import InvalidInputError
from fairclust.scaling import ArrayBlocks, DaskParquet, MemmapBlocks, ParquetBlocks
from fairclust.solvers import BoundOptimization, Dual

pytest.importorskip("pyarrow", reason="Parquet files need the extra 'parquet'")

FEATURES = ["age", "job", "income", "region"]


def people(n_rows=240, gaps=0.0, seed=0):
    rng = np.random.default_rng(seed)
    cloud = rng.integers(3, size=n_rows)
    frame = pd.DataFrame(
        {
            "age": rng.normal(30 + 12 * cloud, 4.0),
            "job": np.array(["cook", "clerk", "nurse", "smith"])[(cloud + (rng.random(n_rows) < 0.1)) % 4],
            "income": rng.gamma(2.0 + cloud, 10_000.0),
            "region": pd.Categorical(np.array(["n", "s", "w"])[rng.integers(3, size=n_rows)]),
        }
    )
    frame.loc[n_rows - 1, "job"] = "vet"  # seen in the last block only
    if gaps:
        frame = frame.mask(rng.random(frame.shape) < gaps)
    frame["sex"] = np.where(rng.random(n_rows) < 0.3 + 0.15 * cloud, "F", "M")
    frame["weight"] = rng.uniform(0.5, 2.0, n_rows)
    return frame


def parquet(frame, folder, kind=ParquetBlocks):
    path = folder / "people.parquet"
    frame.to_parquet(path, row_group_size=90)
    return kind(path, columns=FEATURES)


def array_blocks(frame, folder):
    return ArrayBlocks([frame[FEATURES].iloc[i : i + 130] for i in range(0, len(frame), 130)])


def fitted(X, options, frame, *, named, weighted=False):
    groups, weight = ("sex", "weight") if named else (frame["sex"].to_numpy(), frame["weight"].to_numpy())
    options = {"n_clusters": 2, "solver": Dual(local_search=False)} | options
    model = FairKMeans(random_state=0, n_jobs=2, tol=1e-9, **options)
    return model.fit(X, sensitive_features=groups, sample_weight=weight if weighted else None)


OPTIONS = [
    pytest.param({"goal": None, "n_clusters": 3}, 0.0, id="plain"),
    pytest.param({"goal": 0.02}, 0.0, id="goal"),
    pytest.param({"goal": Penalty(60.0), "features": Features(missing="observed"), "n_clusters": 3}, 0.15, id="gaps"),
    pytest.param({"goal": Penalty(60.0), "features": Features(missing="own")}, 0.15, id="gaps of their own"),
    pytest.param({"goal": Penalty(60.0), "solver": BoundOptimization(soft=True)}, 0.0, id="soft"),
    pytest.param({"goal": Penalty(60.0), "features": Features(weights={"age": 3})}, 0.0, id="weights of columns"),
]


@pytest.mark.parametrize("weighted", [False, True], ids=["equal", "weights"])
@pytest.mark.parametrize(("options", "gaps"), OPTIONS)
def test_a_table_in_blocks_is_clustered_as_in_memory(options, gaps, weighted, tmp_path):
    frame = people(gaps=gaps)
    memory = fitted(frame[FEATURES], options, frame, named=False, weighted=weighted)
    for blocks, named in ((parquet(frame, tmp_path), True), (array_blocks(frame, tmp_path), False)):
        model = fitted(blocks, options, frame, named=named, weighted=weighted)
        is_goal = options["goal"] == 0.02  # the last whole people are moved in another way
        assert model.energy_ == pytest.approx(memory.energy_, rel=5e-3 if is_goal else 1e-6)
        if is_goal:
            assert model.goal_met_
        else:
            pairs = np.unique(np.stack((model.labels_, memory.labels_)), axis=1)
            np.testing.assert_array_equal(pairs[0], np.arange(model.n_clusters))  # the same clusters, in any order
            np.testing.assert_allclose(model.cluster_centers_, memory.cluster_centers_[pairs[1]], atol=1e-5)
        assert list(model.cluster_profiles_.columns) == list(memory.cluster_profiles_.columns)


def test_dask_reads_tables_as_memory_does(tmp_path):
    dask = pytest.importorskip("dask.dataframe", reason="Dask needs the extra 'dask'")
    frame, options = people(gaps=0.1), {"goal": Penalty(60.0), "features": Features(missing="observed")}
    memory = fitted(frame[FEATURES], options, frame, named=False)
    columns = dask.from_pandas(frame.drop(columns="weight"), npartitions=3)
    for X in (columns, parquet(frame, tmp_path, DaskParquet)):
        model = fitted(X, options, frame, named=True)
        assert model.energy_ == pytest.approx(memory.energy_, rel=1e-6)
        np.testing.assert_array_equal(np.asarray(model.labels_), memory.labels_)


def test_numbers_with_gaps_come_from_maps():
    frame = people(gaps=0.2)
    X = frame[["age", "income"]].to_numpy(dtype=float)
    options = {"goal": Penalty(60.0), "features": Features(missing="observed")}
    memory = fitted(X, options, frame, named=False)
    model = fitted(MemmapBlocks(X, block_rows=90), options, frame, named=False)
    assert model.energy_ == pytest.approx(memory.energy_, rel=1e-6)


def test_a_fit_of_blocks_labels_frames_and_is_kept(tmp_path):
    frame = people()
    model = fitted(parquet(frame, tmp_path), {"goal": None, "solver": "dual"}, frame, named=True)
    np.testing.assert_array_equal(model.predict(frame[FEATURES]), model.labels_)
    model.save(tmp_path / "m.fairclust")
    np.testing.assert_array_equal(load(tmp_path / "m.fairclust").predict(frame[FEATURES]), model.labels_)


def test_gaps_and_columns_that_change_are_told(tmp_path):
    frame = people(gaps=0.1)
    with pytest.raises(InvalidInputError, match=r"missing values .*missing='observed'"):
        fitted(parquet(frame, tmp_path), {}, frame, named=True)
    other = people().assign(job=1.0)
    blocks = ArrayBlocks([people()[FEATURES], other[FEATURES]])
    with pytest.raises(InvalidInputError, match=r"'job' holds words in one block"):
        FairKMeans(3).fit(blocks, sensitive_features=[*people()["sex"], *other["sex"]])
