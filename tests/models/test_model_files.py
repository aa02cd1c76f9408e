"""Estimators come back from files as they were; what is damaged, strange or malicious is refused in a sentence."""

from __future__ import annotations

import json
import pickle
import zipfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse

import fairclust
from fairclust import (
    Bounds,
    ExactProportions,
    FairKMeans,
    FairKMedian,
    FairNCut,
    Features,
    Groups,
    Penalty,
    solvers,
)
from fairclust.errors import InvalidInputError
from fairclust.estimators._saving import savable_estimators
from fairclust.goals import GOALS, Goal


def _data(n=200, seed=0):
    rng = np.random.default_rng(seed)
    X = np.concatenate((rng.normal(size=(n // 2, 3)), rng.normal(2.0, 1.0, (n - n // 2, 3))))
    groups = {"sex": rng.choice(["F", "M"], n, p=[0.4, 0.6]), "age": rng.normal(40.0, 12.0, n)}
    return X, groups


def _same(a, b):
    if isinstance(a, np.ndarray):
        assert a.dtype == b.dtype
        np.testing.assert_array_equal(a, b)
    elif sparse.issparse(a):
        assert (a != b).nnz == 0
        assert a.dtype == b.dtype
    elif isinstance(a, float) and a != a:
        assert b != b
    elif hasattr(a, "__dataclass_fields__"):
        assert type(a) is type(b)
        for name in a.__dataclass_fields__:
            _same(getattr(a, name), getattr(b, name))
    elif isinstance(a, tuple | list):
        assert len(a) == len(b)
        for one, other in zip(a, b, strict=True):
            _same(one, other)
    elif isinstance(a, np.random.RandomState):
        assert (a.get_state()[1] == b.get_state()[1]).all()
    else:
        assert type(a) is type(b)
        assert a == b


MODELS = {
    "one attribute": lambda X, g: FairKMeans(3, random_state=0).fit(X, sensitive_features=g["sex"]),
    "float32": lambda X, g: FairKMeans(3, random_state=0).fit(X.astype(np.float32), sensitive_features=g["sex"]),
    "several attributes": lambda X, g: FairKMeans(
        3, random_state=0, groups=Groups(bins={"age": 3}), goal=0.05,
        target_proportions={"sex": {"F": 0.45, "M": 0.55}},
    ).fit(X, sensitive_features=g),
    "intersections": lambda X, g: FairKMeans(
        2, random_state=0, groups=Groups(bins={"age": 2}, intersections=True), goal=Penalty(10.0)
    ).fit(X, sensitive_features=g),
    "overlapping groups": lambda X, g: FairKMeans(2, random_state=0, goal=Penalty(5.0)).fit(
        X, sensitive_features=np.stack((g["sex"] == "F", g["age"] > 40), axis=1)
    ),
    "numbers as groups": lambda X, g: FairKMeans(2, random_state=np.random.RandomState(3)).fit(
        X, sensitive_features=(g["age"] // 30).astype(int)
    ),
    "missing groups": lambda X, g: FairKMeans(2, random_state=0, groups=Groups(missing="own"), goal=Penalty(3.0)).fit(
        X, sensitive_features=np.where(g["age"] > 60, None, g["sex"].astype(object))
    ),
    "sizes": lambda X, g: FairKMeans(3, random_state=0, min_cluster_size=30).fit(X, sensitive_features=g["sex"]),
    "plain": lambda X, g: FairKMeans(3, random_state=0, goal=None).fit(X),
    "an array as init": lambda X, g: FairKMeans(3, init=X[:3], goal=Penalty(1)).fit(X, sensitive_features=g["sex"]),
    "medoids": lambda X, g: FairKMedian(3, random_state=0).fit(X, sensitive_features=g["sex"]),
    "manhattan": lambda X, g: FairKMedian(3, random_state=0, metric="manhattan", center="geometric").fit(
        X, sensitive_features=g["sex"]
    ),
    "graph": lambda X, g: FairNCut(3, random_state=0).fit(X, sensitive_features=g["sex"]),
    "not fitted": lambda X, g: FairKMedian(7, metric="manhattan", goal=float(np.float64(0.25))),
    "a goal and a table": lambda X, g: FairKMeans(
        3, random_state=0, goal=Bounds({"sex": {"F": (0.3, 0.5)}}, rounded=True), features=Features(weights=[1, 2, 1])
    ).fit(X, sensitive_features={"sex": g["sex"]}),
    "solvers": lambda X, g: FairKMeans(
        2, goal=Penalty(5.0, {"sex": 2.0}), solver=solvers.BoundOptimization(soft=True), random_state=0
    ).fit(X, sensitive_features={"sex": g["sex"]}),
    "counts": lambda X, g: FairKMeans(
        2, goal=ExactProportions(), solver=solvers.Dual(max_evaluations=300), cluster_sizes="equal", random_state=0
    ).fit(X, sensitive_features=g["sex"]),
}  # fmt: skip


def test_every_public_estimator_has_a_case():
    assert set(savable_estimators()) == {"FairKMeans", "FairKMedian", "FairNCut"}


@pytest.mark.filterwarnings("ignore::fairclust.FairclustWarning")
@pytest.mark.parametrize("make", MODELS.values(), ids=MODELS)
def test_a_model_comes_back_bit_for_bit(make, tmp_path):
    X, groups = _data()
    model = make(X, groups)
    model.save(tmp_path / "a.fairclust")
    again = fairclust.load(tmp_path / "a.fairclust")
    assert type(again) is type(model)
    assert list(vars(again)) == list(vars(model))
    for name, value in vars(model).items():
        _same(value, vars(again)[name])


@pytest.mark.filterwarnings("ignore::fairclust.FairclustWarning")
def test_a_loaded_model_predicts_the_same(tmp_path):
    X, groups = _data()
    new_X, new_groups = _data(seed=1)
    model = MODELS["several attributes"](X, groups)
    model.save(tmp_path / "a.fairclust")
    again = fairclust.load(tmp_path / "a.fairclust")
    assert (again.predict(new_X, new_groups) == model.predict(new_X, new_groups)).all()
    assert (again.predict_proba(new_X, new_groups) == model.predict_proba(new_X, new_groups)).all()
    assert (again.predict_batch(new_X, new_groups) == model.predict_batch(new_X, new_groups)).all()


def test_the_same_model_gives_the_same_bytes(tmp_path):
    X, groups = _data()
    for name in "ab":
        MODELS["one attribute"](X, groups).save(tmp_path / name)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_a_function_is_refused_by_name(tmp_path):
    with pytest.raises(InvalidInputError, match="init is function, which a model file cannot hold"):
        FairKMeans(3, init=lambda X, k, random_state: X[:k]).save(tmp_path / "a")
    assert not list(tmp_path.iterdir())


@dataclass(frozen=True)
class MinBalance(Goal):
    """A goal of a user's own, whatever it is called."""

    limit: float = 0.4

    def term(self, attribute):
        return fairclust.MinBalance(self.limit).term(attribute)

    def figure(self, shares, attribute):
        return fairclust.MinBalance(self.limit).figure(shares, attribute)


def test_a_goal_of_ones_own_is_refused(tmp_path):
    X, groups = _data()
    model = FairKMeans(3, goal=MinBalance(), random_state=0).fit(X, sensitive_features=groups["sex"])
    with pytest.raises(InvalidInputError, match=r"goal is MinBalance, a goal of your own\. A model file holds no code"):
        model.save(tmp_path / "a")
    assert not list(tmp_path.iterdir())


def test_every_goal_and_record_comes_back(tmp_path):
    goals = [kind(kind.example) if kind.example is not None else kind() for kind in GOALS.values()]
    for goal in goals:
        FairKMeans(3, goal=goal).save(tmp_path / "a")
        assert fairclust.load(tmp_path / "a").goal == goal


# --- damaged and malicious files --------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    X, groups = _data()
    path = tmp_path_factory.mktemp("model") / "a.fairclust"
    MODELS["one attribute"](X, groups).save(path)
    return path


def _rewritten(saved, to, change):
    """A copy whose JSON was changed."""
    with zipfile.ZipFile(saved) as old, zipfile.ZipFile(to, "w") as new:
        for name in old.namelist():
            content = old.read(name)
            if name == "model.json":
                text = json.loads(content)
                change(text)
                content = json.dumps(text).encode()
            new.writestr(name, content)
    return to


def test_every_truncation_is_told(saved, tmp_path):
    raw = saved.read_bytes()
    for n in range(0, len(raw), max(1, len(raw) // 60)):
        (tmp_path / "a").write_bytes(raw[:n])
        with pytest.raises(InvalidInputError, match="no fairclust model, or it is damaged"):
            fairclust.load(tmp_path / "a")


def test_parts_that_are_cut_out_or_doubled_are_told(saved, tmp_path):
    raw, rng = saved.read_bytes(), np.random.default_rng(0)
    for first, last in np.sort(rng.integers(1, len(raw), (60, 2)), axis=1):
        for damaged in (raw[:first] + raw[last + 1 :], raw[: last + 1] + raw[first:]):
            (tmp_path / "a").write_bytes(damaged)
            with pytest.raises(InvalidInputError, match="no fairclust model, or it is damaged"):
                fairclust.load(tmp_path / "a")


def test_flipped_bits_are_told_or_change_nothing(saved, tmp_path):
    raw, rng = bytearray(saved.read_bytes()), np.random.default_rng(0)
    model, told = fairclust.load(saved), 0
    for place in rng.integers(0, len(raw), 300):
        raw[place] ^= 1 << rng.integers(8)
        (tmp_path / "a").write_bytes(raw)
        raw[:] = saved.read_bytes()
        try:
            again = fairclust.load(tmp_path / "a")
        except InvalidInputError:
            told += 1
            continue
        for name, value in vars(model).items():  # a date or an attribute of the zip, nothing of the model
            _same(value, vars(again)[name])
    assert told > 200


WICKED = {
    "another class": (lambda text: text.update(kind="Popen"), "holds a 'Popen'"),
    "a newer format": (lambda text: text.update(format=99), "format 99"),
    "a method": (lambda text: text["fitted"].update(predict=3), "sets 'predict'"),
    "a dunder": (lambda text: text["fitted"].update(__class__=3), "sets '__class__'"),
    "an unknown argument": (lambda text: text["parameters"].update(evil=3), "sets 'evil'"),
    "an unknown kind": (lambda text: text["fitted"].update(x={"$os.system": "ls"}), "not known"),
    "an array that is not there": (lambda text: text["fitted"].update(x={"$array": "/etc/passwd"}), "damaged"),
    "labels by another kind": (lambda text: text["fitted"].update(labels_=3), "labels_ are missing"),
    "prices for labels": (
        lambda text: text["fitted"].update(labels_=text["fitted"]["size_prices_"]),
        "labels_ are not clusters",
    ),
    "centres of another shape": (
        lambda text: text["fitted"].update(cluster_centers_=text["fitted"]["cluster_sizes_"]),
        "cluster_centers_ have shape",
    ),
    "no groups": (lambda text: text["fitted"].pop("_attributes"), "_attributes are missing"),
    "no sizes": (lambda text: text["fitted"].pop("cluster_sizes_"), "cluster_sizes_ are missing"),
    "prices by another number": (lambda text: text["fitted"].update(size_prices_=7), "size_prices_ have shape None"),
    "deep nesting": (lambda text: text["notes"].update(x=_nested(900)), "damaged"),
    "no JSON object": (lambda text: text.clear(), "damaged"),
}


def _nested(depth):
    value = []
    for _ in range(depth):
        value = [value]
    return value


@pytest.mark.parametrize(("change", "message"), WICKED.values(), ids=WICKED)
def test_a_wicked_file_is_refused(saved, tmp_path, change, message):
    path = _rewritten(saved, tmp_path / "a", change)
    with pytest.raises(InvalidInputError, match=message):
        fairclust.load(path)


def test_a_pickle_inside_is_not_opened(saved, tmp_path):
    class Bomb:
        def __reduce__(self):
            return (exit, (7,))

    path = tmp_path / "a"
    with zipfile.ZipFile(saved) as old, zipfile.ZipFile(path, "w") as new:
        for name in old.namelist():
            new.writestr(name, pickle.dumps(Bomb()) if "centers" in name else old.read(name))
    with pytest.raises(InvalidInputError, match="damaged"):
        fairclust.load(path)
    (tmp_path / "b").write_bytes(pickle.dumps(Bomb()))
    with pytest.raises(InvalidInputError, match="damaged"):
        fairclust.load(tmp_path / "b")


def test_an_array_that_claims_to_be_huge_is_refused_before_memory_is_taken(saved, tmp_path):
    path = tmp_path / "a"
    header = b"\x93NUMPY\x01\x00v\x00{'descr': '<f8', 'fortran_order': False, 'shape': (1000000000000, 3), }"
    with zipfile.ZipFile(saved) as old, zipfile.ZipFile(path, "w") as new:
        for name in old.namelist():
            new.writestr(name, header.ljust(127) + b"\n" if "centers" in name else old.read(name))
    with pytest.raises(InvalidInputError, match="not as long as it says"):
        fairclust.load(path)


def test_compressed_parts_are_refused(saved, tmp_path):
    with zipfile.ZipFile(saved) as old, zipfile.ZipFile(tmp_path / "a", "w", zipfile.ZIP_DEFLATED) as new:
        for name in old.namelist():
            new.writestr(name, old.read(name))
    with pytest.raises(InvalidInputError, match="compressed"):
        fairclust.load(tmp_path / "a")


def test_what_is_no_file_is_told(tmp_path):
    for path in (tmp_path, tmp_path / "nothing"):
        with pytest.raises(InvalidInputError, match="is no file"):
            fairclust.load(path)


def test_skops_trusts_the_documented_types(tmp_path):
    skops = pytest.importorskip("skops.io")
    page = (Path(__file__).parents[2] / "docs" / "security.md").read_text()
    X, groups = _data()
    model = MODELS["one attribute"](X, groups)
    skops.dump(model, tmp_path / "a.skops")
    wanted = skops.get_untrusted_types(file=tmp_path / "a.skops")
    assert all(f"`{name}`" in page for name in wanted)
    again = skops.load(tmp_path / "a.skops", trusted=wanted)
    assert (again.predict(X, groups["sex"]) == model.predict(X, groups["sex"])).all()
    assert again.stop_reason_ == model.stop_reason_
