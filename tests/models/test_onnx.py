"""The ONNX graph of a model labels rows as ``predict`` does."""

from __future__ import annotations

import sys

import numpy as np
import pandas as pd
import pytest

from fairclust import FairKMeans, FairKMedian, FairNCut, Features, Groups, Penalty
from fairclust.errors import InvalidInputError, MissingExtraError

onnx = pytest.importorskip("onnx")


def _run(path, inputs):
    """Labels and costs by onnxruntime, or by onnx's own slow evaluator where there is none."""
    try:
        import onnxruntime
    except ImportError:
        from onnx.reference import ReferenceEvaluator

        return ReferenceEvaluator(str(path)).run(["label", "cost"], inputs)
    session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    return session.run(["label", "cost"], inputs)


def _data(n=200, seed=0):
    rng = np.random.default_rng(seed)
    X = np.concatenate((rng.normal(size=(n // 2, 3)), rng.normal(2.0, 1.0, (n - n // 2, 3))))
    side = np.arange(n) >= n // 2  # groups are not spread evenly, so prices are needed
    groups = pd.DataFrame(
        {"sex": np.where(rng.random(n) < 0.3 + 0.4 * side, "F", "M"), "age": rng.normal(38.0, 12.0, n) + 8.0 * side}
    )
    groups["old"] = groups["age"] > 45
    groups["district"] = rng.integers(0, 2, n) + side
    groups["share"] = np.where(rng.random(n) < 0.3 + 0.4 * side, 0.5, 1.5)
    return X, groups


def _inputs(model_path, X, groups):
    """What a graph asks for, taken from X and the columns of groups."""
    inputs = {}
    for asked in onnx.load(model_path).graph.input:
        kind = onnx.helper.tensor_dtype_to_np_dtype(asked.type.tensor_type.elem_type)
        values = X if asked.name == "X" else groups[asked.name] if asked.name in groups else X[asked.name]
        inputs[asked.name] = np.asarray(values).astype(kind)
    return inputs


def _check(model, tmp_path, X, groups, *, tolerance=1e-4):
    """Labels are those of predict() but where two clusters cost the same within rounding."""
    model.to_onnx(tmp_path / "a.onnx")
    labels, costs = _run(tmp_path / "a.onnx", _inputs(tmp_path / "a.onnx", X, {} if groups is None else groups))
    wanted = model.predict(X, groups)
    rows = np.flatnonzero(labels != wanted)
    assert len(rows) <= 0.01 * len(labels)
    np.testing.assert_allclose(costs[rows, labels[rows]], costs[rows, wanted[rows]], rtol=tolerance, atol=tolerance)
    assert (labels == costs.argmin(axis=1)).all()
    return labels, costs


MODELS = {
    "one column of text": (FairKMeans(3, random_state=0), ["sex"]),
    "yes and no": (FairKMeans(3, random_state=0), ["old"]),
    "whole numbers": (FairKMeans(3, random_state=0), ["district"]),
    "numbers": (FairKMeans(3, random_state=0), ["share"]),
    "ranges": (FairKMeans(3, random_state=0, groups=Groups(bins={"age": 3}), goal=0.05), ["sex", "age"]),
    "intersections": (
        FairKMeans(2, random_state=0, groups=Groups(intersections=True), goal=Penalty(300.0)),
        ["sex", "old"],
    ),
    "sizes": (FairKMeans(3, random_state=0, min_cluster_size=60, goal=Penalty(100.0)), ["sex"]),
    "medoids": (FairKMedian(3, random_state=0), ["sex"]),
    "manhattan": (FairKMedian(3, random_state=0, metric="manhattan", center="geometric"), ["sex"]),
}


@pytest.mark.filterwarnings("ignore::fairclust.FairclustWarning")
@pytest.mark.parametrize(("model", "names"), MODELS.values(), ids=MODELS)
def test_labels_are_those_of_predict(model, names, tmp_path):
    X, groups = _data()
    model.fit(X, sensitive_features=groups[names])
    new_X, new_groups = _data(seed=1)
    if model.groups is not None and model.groups.intersections:
        seen = set(map(tuple, groups[names].to_numpy()))
        assert {tuple(row) for row in new_groups[names].to_numpy()} <= seen
    labels, _ = _check(model, tmp_path, new_X, new_groups[names])
    assert (labels != model.predict(new_X)).any()  # prices were at work


def test_costs_are_distances_and_prices(tmp_path):
    X, groups = _data()
    model = FairKMeans(3, random_state=0).fit(X, sensitive_features=groups["sex"])
    _, costs = _check(model, tmp_path, X, groups[["sex"]])
    code = (groups["sex"] == "M").to_numpy().astype(int)
    distance = ((X[:, None] - model.cluster_centers_) ** 2).sum(axis=2)
    np.testing.assert_allclose(costs, distance + model.prices_.T[code], rtol=1e-9, atol=1e-9)


def test_single_precision_is_asked_for_as_it_was_fitted(tmp_path):
    X, groups = _data()
    model = FairKMeans(3, random_state=0).fit(X.astype(np.float32), sensitive_features=groups["sex"])
    _check(model, tmp_path, X.astype(np.float32), groups[["sex"]])
    asked = onnx.load(tmp_path / "a.onnx").graph.input[0].type.tensor_type
    assert asked.elem_type == onnx.TensorProto.FLOAT


def test_far_from_the_origin_nothing_cancels(tmp_path):
    X, groups = _data()
    model = FairKMeans(3, random_state=0).fit(X + 1e6, sensitive_features=groups["sex"])
    _, costs = _check(model, tmp_path, X + 1e6, groups[["sex"]])
    distance = ((X[:, None] + 1e6 - model.cluster_centers_) ** 2).sum(axis=2)
    code = (groups["sex"] == "M").to_numpy().astype(int)
    np.testing.assert_allclose(costs, distance + model.prices_.T[code], rtol=1e-6, atol=1e-6)


def test_without_prices_no_groups_are_asked_for(tmp_path):
    X, groups = _data()
    model = FairKMeans(3, random_state=0).fit(X, sensitive_features=groups["sex"])
    model.to_onnx(tmp_path / "a.onnx", prices=False)
    labels, _ = _run(tmp_path / "a.onnx", {"X": X})
    assert (labels == model.predict(X)).all()


def test_a_plain_model_asks_for_no_groups(tmp_path):
    X, _ = _data()
    _check(FairKMeans(3, random_state=0, goal=None).fit(X), tmp_path, X, None)


@pytest.mark.filterwarnings("ignore::fairclust.FairclustWarning")
def test_overlapping_groups_are_a_matrix(tmp_path):
    X, groups = _data()
    matrix = np.stack((groups["sex"] == "F", groups["old"]), axis=1)
    model = FairKMeans(2, random_state=0, goal=Penalty(50.0)).fit(X, sensitive_features=matrix)
    model.to_onnx(tmp_path / "a.onnx")
    asked = [one.name for one in onnx.load(tmp_path / "a.onnx").graph.input]
    labels, costs = _run(tmp_path / "a.onnx", {"X": X, asked[1]: matrix})
    differ = labels != model.predict(X, matrix)
    assert differ.mean() <= 0.01
    assert np.isclose(*np.sort(costs[differ], axis=1)[:, :2].T, rtol=1e-4).all()


@pytest.mark.parametrize("missing_groups", ["own", "ignore"])
@pytest.mark.filterwarnings("ignore::fairclust.FairclustWarning")
def test_an_empty_text_is_a_missing_group(missing_groups, tmp_path):
    X, groups = _data()
    sex = groups["sex"].to_numpy(dtype=object)
    sex[::7] = None
    model = FairKMeans(2, random_state=0, groups=Groups(missing=missing_groups), goal=Penalty(20.0))
    model.fit(X, sensitive_features=pd.DataFrame({"sex": sex}))
    model.to_onnx(tmp_path / "a.onnx")
    given = np.array(["" if value is None else value for value in sex], dtype=object)
    labels, _ = _run(tmp_path / "a.onnx", {"X": X, "sex": given})
    assert (labels == model.predict(X, pd.DataFrame({"sex": sex}))).mean() >= 0.99


def test_what_predict_would_refuse_gets_no_label(tmp_path):
    X, groups = _data()
    model = FairKMeans(3, random_state=0).fit(X, sensitive_features=groups[["sex"]])
    model.to_onnx(tmp_path / "a.onnx")
    new, sex = X[:6].copy(), groups["sex"].to_numpy(dtype=object)[:6]
    sex[0], sex[1] = "X", ""
    new[2, 0], new[3, 1], new[4, 2] = np.nan, np.inf, -np.inf
    labels, _ = _run(tmp_path / "a.onnx", {"X": new, "sex": sex})
    assert (labels[:5] == -1).all()
    assert labels[5] == model.predict(X[5:6], groups[["sex"]][5:6])[0]


def test_unknown_groups_go_to_the_nearest_centre_where_that_was_asked_for(tmp_path):
    X, groups = _data()
    model = FairKMeans(3, random_state=0, groups=Groups(unknown="nearest")).fit(X, sensitive_features=groups[["sex"]])
    model.to_onnx(tmp_path / "a.onnx")
    labels, _ = _run(tmp_path / "a.onnx", {"X": X, "sex": np.full(len(X), "X", dtype=object)})
    assert (labels == model.predict(X)).all()


def _table(seed=0, n=200):
    X, groups = _data(n, seed)
    rng = np.random.default_rng(seed)
    table = pd.DataFrame({"income": 2e4 + 5e3 * X[:, 0], "work": rng.choice(["field", "office", "none"], n)})
    table["years"] = X[:, 1]
    table["owner"] = X[:, 2] > 1
    return table, groups[["sex"]]


@pytest.mark.filterwarnings("ignore::fairclust.FairclustWarning")
@pytest.mark.parametrize("missing_values", ["error", "observed", "own"])
def test_tables_are_read_by_column(missing_values, tmp_path):
    table, groups = _table()
    new, new_groups = _table(1)
    new.loc[0, "work"] = "never seen"
    if missing_values != "error":
        for frame in (table, new):
            frame.loc[3::9, "income"] = np.nan
            frame.loc[1::8, "work"] = None
    model = FairKMeans(3, random_state=0, features=Features(missing=missing_values)).fit(
        table, sensitive_features=groups
    )
    model.to_onnx(tmp_path / "a.onnx")
    labels, costs = _run(
        tmp_path / "a.onnx", _inputs(tmp_path / "a.onnx", new.assign(work=new["work"].fillna("")), new_groups)
    )
    wanted = model.predict(new, new_groups)
    differ = np.flatnonzero(labels != wanted)
    assert len(differ) <= 3
    np.testing.assert_allclose(costs[differ, labels[differ]], costs[differ, wanted[differ]], rtol=1e-4, atol=1e-4)


def test_a_gap_in_a_table_without_gaps_gets_no_label(tmp_path):
    table, groups = _table()
    model = FairKMeans(3, random_state=0).fit(table, sensitive_features=groups)
    model.to_onnx(tmp_path / "a.onnx")
    table.loc[0, "income"], table.loc[1, "work"] = np.nan, ""
    labels, _ = _run(tmp_path / "a.onnx", _inputs(tmp_path / "a.onnx", table, groups))
    assert (labels[:2] == -1).all()
    assert (labels[2:] >= 0).all()


def test_groups_that_onnx_cannot_compare_are_refused_by_name(tmp_path):
    X, groups = _data()
    mixed = np.array([1 if sex == "F" else "M" for sex in groups["sex"]], dtype=object)
    model = FairKMeans(2, random_state=0).fit(X, sensitive_features=pd.DataFrame({"sex": mixed}))
    with pytest.raises(InvalidInputError, match=r"groups of 'sex' hold 1 \(int\).* Fit with them as text"):
        model.to_onnx(tmp_path / "a.onnx")
    assert not list(tmp_path.iterdir())


@pytest.mark.filterwarnings("ignore::fairclust.FairclustWarning")
def test_a_distance_that_graphs_do_not_have_is_refused(tmp_path):
    table, groups = _table()
    model = FairKMedian(2, metric="gower", random_state=0, goal=Penalty(1.0)).fit(table, sensitive_features=groups)
    with pytest.raises(InvalidInputError, match="metric='gower' cannot be written as ONNX yet"):
        model.to_onnx(tmp_path / "a.onnx")


def test_a_column_with_the_name_of_an_output_is_asked_for_by_another(tmp_path):
    X, groups = _data()
    columns = groups[["sex"]].rename(columns={"sex": "label"})
    model = FairKMeans(2, random_state=0).fit(X, sensitive_features=columns)
    model.to_onnx(tmp_path / "a.onnx")
    assert [one.name for one in onnx.load(tmp_path / "a.onnx").graph.input] == ["X", "label_2"]


def test_the_extra_that_is_missing_is_named(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "onnx", None)
    X, groups = _data()
    model = FairKMeans(2, random_state=0).fit(X, sensitive_features=groups["sex"])
    with pytest.raises(MissingExtraError, match=r"fairclust\[onnx\]"):
        model.to_onnx(tmp_path / "a.onnx")


def test_a_graph_has_no_centres_to_write():
    assert not hasattr(FairNCut(2), "to_onnx")
