"""Bad input: each a clear error before any work, or a documented meaning. Tested by message, through the estimators."""

from __future__ import annotations

import re

import numpy as np
import pandas as pd
import pytest

from cases import ESTIMATORS, PROTOTYPE_ESTIMATORS, people
from fairclust import (
    Bounds,
    ExactProportions,
    FairKMeans,
    FairKMedian,
    Features,
    Groups,
    MaxCostIncrease,
    MaxFairnessError,
    MinBalance,
    Penalty,
    solvers,
)
from fairclust._checks import check_choice, check_count, check_magnitude, check_number, resolve_threads
from fairclust.errors import FairclustError, FairclustWarning, InvalidInputError

DATA = people(40, n_clusters=3)
BAD = pytest.mark.parametrize("estimator", ESTIMATORS)
EVERY = [case.values[0] for case in ESTIMATORS]


def with_value(value):
    X = DATA.X.copy()
    X[4, 1] = value
    return X


@BAD
@pytest.mark.parametrize(
    ("X", "message"),
    [
        (with_value(np.nan), "NaN"),
        (with_value(np.inf), "infinity"),
        (with_value(-np.inf), "infinity"),
        (np.zeros((0, 3)), r"0 sample\(s\)"),
        (np.zeros((5, 0)), r"0 feature\(s\)"),
        (np.zeros(5), "Expected 2D array, got 1D array"),
        (np.array([["a", "b"]] * 5, dtype=object), "could not convert string to float"),
        (pd.DataFrame({"age": [1, 2], "job": ["cook", "poet"]}), "to float: 'cook'|columns of words"),
        (np.full((5, 1), 1 + 2j), "Complex data not supported"),
    ],
    ids=["nan", "inf", "-inf", "no rows", "no columns", "1-D", "text", "text column", "complex"],
)
def test_data_that_are_no_numbers_are_refused(estimator, X, message):
    if estimator is FairKMeans and isinstance(X, pd.DataFrame):
        pytest.skip("a text column is a category: tests/estimators/test_tables.py")
    with pytest.raises(ValueError, match=message):
        estimator(2).fit(X, sensitive_features=None)


@BAD
@pytest.mark.parametrize("length", [39, 41])
def test_one_group_value_per_row_is_needed(estimator, length):
    with pytest.raises(InvalidInputError, match=f"sensitive_features has {length} rows but X has 40. Pass one value"):
        estimator(3).fit(DATA.X, sensitive_features=np.zeros(length))


@BAD
def test_rows_with_missing_groups_are_named(estimator):
    groups = DATA.groups.astype(object)
    groups[[4, 17, 20, 30, 31]] = None
    with pytest.raises(InvalidInputError, match=r"missing values in rows 4, 17 and 3 more\. Drop these rows"):
        estimator(3).fit(DATA.X, sensitive_features=groups)


@BAD
def test_one_group_only_is_plain_clustering_and_says_so(estimator):
    with pytest.warns(FairclustWarning, match="one group only .*'a'.*plain clustering"):
        model = estimator(3, random_state=0).fit(DATA.X, sensitive_features=["a"] * 40)
    plain = estimator(3, random_state=0, goal=None).fit(DATA.X)
    assert np.array_equal(model.labels_, plain.labels_)
    assert not model.cluster_weights_.any()
    assert model.goal_met_
    assert model.balance_ == 1


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_clusters": 41}, r"n_clusters=41 but X has 40 rows .* Use at most 40"),
        ({"n_clusters": 0}, "n_clusters=0, but a whole number of at least 1"),
        ({"n_clusters": 2.0}, r"n_clusters=2\.0, but a whole number"),
        ({"n_clusters": True}, "n_clusters=True, but a whole number"),
        ({"n_clusters": "three"}, "n_clusters='three', but a whole number"),
        ({"goal": -0.1}, r"MaxFairnessError\(limit=-0\.1\), but a number above 0"),
        ({"goal": "small"}, r"goal='small' is no goal\. Use a number .* MinBalance\(0\.4\)"),
        ({"goal": MinBalance}, "is no goal"),
        ({"goal": True}, "goal=True is no goal"),
        (
            {"goal": Bounds({"F": (0.4, 0.6), "X": (0.1, 0.2)})},
            r"Bounds names group 'F', but the groups are 'g0', 'g1'",
        ),
        ({"goal": Bounds({"sex": {"F": (0.4, 0.6)}})}, r"Bounds names attribute 'sex', but the attributes are 'group'"),
        ({"goal": Bounds({"g0": (0.1, 0.2), "g1": (0.1, 0.2)})}, r"add up to 0\.2 at least and 0\.4 at most"),
        ({"goal": Penalty(1.0, {"sex": 2.0})}, r"attribute_weights names 'sex', but the attributes are 'group'"),
        ({"groups": {"bins": 3}}, r"groups=\{'bins': 3\} is no record of options\. Pass Groups"),
        ({"solver": "bound", "goal": 0.01}, r"solver='bound' is Algorithm 1 .* Use goal=Penalty"),
        ({"target_proportions": {"g0": 0.5, "g1": 0.6}}, r"adds up to 1\.1, not 1"),
        ({"target_proportions": {"g0": 0.5, "z": 0.5}}, "names 'z', but the groups are 'g0', 'g1'"),
        ({"solver": "simplex"}, "solver='simplex', but 'dual', 'bound', fairclust.solvers"),
        ({"max_iter": 0}, "max_iter=0, but a whole number of at least 1"),
        ({"tol": -1e-4}, r"tol=-0\.0001, but a number ≥ 0"),
        ({"n_init": 0}, "n_init=0, but a whole number of at least 1"),
        ({"n_init": "many"}, "n_init='many', but a whole number of at least 1"),
        ({"n_jobs": 0}, r"n_jobs=0, but None, -1 \(all cores\)"),
        ({"n_jobs": 1.5}, r"n_jobs=1\.5, but None, -1 \(all cores\)"),
    ],
    ids=str,
)
def test_options_that_make_no_sense_are_refused(options, message):
    for estimator in EVERY:
        with pytest.raises(InvalidInputError, match=message):
            estimator(**{"n_clusters": 3, **options}).fit(DATA.X, sensitive_features=DATA.groups)


@pytest.mark.parametrize("estimator", PROTOTYPE_ESTIMATORS)
@pytest.mark.parametrize(
    ("init", "message"),
    [
        ("k-means--", "init='k-means--', but 'k-means++', 'random', an array or a callable"),
        (np.zeros((2, 3)), "init has shape (2, 3), but (n_clusters, n_features) = (3, 3)"),
        (np.zeros((3, 2)), "init has shape (3, 2), but (n_clusters, n_features) = (3, 3)"),
        (np.zeros(3), "init has shape (3,), but"),
        (np.full((3, 3), np.nan), "init has NaN or infinite values"),
        (lambda X, n_clusters, random_state: X[:1], "init has shape (1, 3), but"),
    ],
    ids=["word", "rows", "columns", "1-D", "nan", "callable"],
)
def test_starting_centres_that_do_not_fit_are_refused(estimator, init, message):
    with pytest.raises(InvalidInputError, match=re.escape(message)):
        estimator(3, init=init).fit(DATA.X, sensitive_features=DATA.groups)


@BAD
def test_more_clusters_than_distinct_rows_are_refused(estimator):
    X = np.repeat([[0.0, 1.0], [2.0, 3.0]], 200, axis=0)
    with pytest.raises(InvalidInputError, match=r"n_clusters=3 but X has only 2 distinct rows. Use at most 2"):
        estimator(3, goal=None).fit(X)
    assert len(set(estimator(2, goal=None).fit(X).labels_)) == 2


@pytest.mark.parametrize("estimator", PROTOTYPE_ESTIMATORS)  # FairNCut takes no weights at all
@pytest.mark.parametrize(
    ("weights", "message"),
    [
        (np.full(40, -1.0), "Negative values"),
        (np.ones(39), "sample_weight.shape == .39,."),
        (np.full(40, np.nan), "NaN"),
        (np.zeros(40), "at least one non-zero number|zero everywhere"),
    ],
    ids=["negative", "length", "nan", "zero"],
)
def test_weights_that_make_no_sense_are_refused(estimator, weights, message):
    with pytest.raises(ValueError, match=message):
        estimator(3).fit(DATA.X, sensitive_features=DATA.groups, sample_weight=weights)


@pytest.mark.parametrize("estimator", PROTOTYPE_ESTIMATORS)
def test_new_rows_are_checked_like_old_ones(estimator):
    model = estimator(3, goal=Penalty(1.0), random_state=0).fit(DATA.X, sensitive_features=DATA.groups)
    with pytest.raises(InvalidInputError, match="sensitive_features has 3 rows but X has 40"):
        model.predict(DATA.X, ["g0"] * 3)
    with pytest.raises(InvalidInputError, match=r"sensitive_features has 'g9', which fit\(\) did not see"):
        model.predict_proba(DATA.X[:1], ["g9"])
    with pytest.raises(ValueError, match=r"X has 2 features, but .* is expecting 3"):
        model.predict(DATA.X[:, :2])
    with pytest.raises(ValueError, match="NaN"):
        model.transform(with_value(np.nan))


def test_every_error_of_ours_is_caught_by_one_name():
    with pytest.raises(FairclustError, match="n_clusters=0"):
        FairKMeans(0).fit(DATA.X)


def test_a_refused_fit_leaves_the_estimator_unfitted():
    model = FairKMeans(3, goal=-1)
    with pytest.raises(InvalidInputError, match="limit=-1"):
        model.fit(DATA.X, sensitive_features=DATA.groups)
    assert not hasattr(model, "labels_")


# --- the checks themselves --------------------------------------------------------------------------------------------


def test_numbers_of_numpy_are_numbers():
    assert check_number("tol", np.float32(0.5), lowest=0) == 0.5
    assert check_count("max_iter", np.int64(3)) == 3
    assert check_choice("solver", "dual", ("dual", "bound")) == "dual"


@pytest.mark.parametrize(("limit", "wanted"), [("1", 1), ("1,4", 1), ("", None), ("many", None), ("0", None)])
def test_threads_follow_omp_num_threads_where_it_is_a_number(monkeypatch, limit, wanted):
    monkeypatch.setenv("OMP_NUM_THREADS", limit)
    all_cores = resolve_threads(-1)
    assert resolve_threads(None) == (all_cores if wanted is None else wanted)


def test_negative_jobs_count_from_all_cores():
    assert resolve_threads(3) == 3
    assert resolve_threads(-1) >= 1
    assert resolve_threads(-1000) == 1


@pytest.mark.parametrize(
    ("kind", "dtype", "exponent"),
    [
        *((FairKMeans, np.float64, exponent) for exponent in (-300, -25, -17, 17, 19, 38, 300)),
        *((FairKMeans, np.float32, exponent) for exponent in (-30, -17, 10, 19, 30)),
        *((FairKMedian, np.float64, exponent) for exponent in (-100, -17, 17, 200)),
        *((FairKMedian, np.float32, exponent) for exponent in (-25, 10, 30)),
    ],
)
def test_numbers_of_any_size_are_fitted_or_refused_by_the_feature_s_name(kind, dtype, exponent):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 3)) + 3.0 * (np.arange(200) < 100)[:, None]
    groups = rng.choice(["a", "b"], 200)
    expected = kind(2, goal=None, random_state=0).fit(X).labels_
    frame = pd.DataFrame((X * 10.0**exponent).astype(dtype), columns=["small", "middle", "income"])
    if -17 <= exponent <= 17 and (dtype is np.float64 or exponent <= 10):
        found = kind(2, random_state=0).fit(frame, sensitive_features=groups).labels_
        assert max(np.mean(found == expected), np.mean(found != expected)) > 0.9
    else:
        message = r"'(small|middle|income)'.*too (large|small) for floating-point numbers"
        with pytest.raises(InvalidInputError, match=message):
            kind(2, random_state=0).fit(frame, sensitive_features=groups)


@pytest.mark.parametrize("estimator", PROTOTYPE_ESTIMATORS)
def test_new_rows_that_are_too_large_are_told_by_feature(estimator):
    model = estimator(3, random_state=0, goal=Penalty(1.0), n_init=1)
    model.fit(DATA.X, sensitive_features=DATA.groups)
    for ask in (model.predict, model.predict_proba, model.transform, model.score):
        with pytest.raises(InvalidInputError, match=r"values up to 1e\+25 in feature 1, .* too large"):
            ask(with_value(1e25))


@pytest.mark.parametrize(("n_rows", "order"), [(1, "C"), (63, "F"), (64, "C"), (65, "F"), (300, "C")])
def test_ends_of_features_are_found_however_rows_are_stored(n_rows, order):
    X = np.asarray(np.random.default_rng(n_rows).normal(size=(n_rows, 3)), order=order)
    X[-1, 1] = 1e200
    with pytest.raises(InvalidInputError, match=r"values up to 1e\+200 in feature 1"):
        check_magnitude(X)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Penalty(-1), r"Penalty\(weight=-1\), but a number at least 0"),
        (lambda: Penalty(np.nan), r"Penalty\(weight=nan\), but a number"),
        (lambda: Penalty(np.inf), r"Penalty\(weight=inf\), but a number"),
        (lambda: Penalty("large"), r"Penalty\(weight='large'\), but a number"),
        (lambda: Penalty(None), r"Penalty\(weight=None\), but a number"),
        (lambda: Penalty(True), r"Penalty\(weight=True\), but a number"),
        (lambda: Penalty(1.0, {"sex": -1}), r"attribute_weights\['sex'\]=-1, but a number"),
        (lambda: Penalty(1.0, 2.0), r"Penalty\(attribute_weights=2\.0\), but a dict"),
        (lambda: MaxFairnessError(0), r"MaxFairnessError\(limit=0\), but a number above 0"),
        (lambda: MaxFairnessError("small"), r"MaxFairnessError\(limit='small'\), but a number"),
        (lambda: MinBalance(1.5), r"MinBalance\(limit=1\.5\), but a number above 0, at most 1"),
        (lambda: MinBalance(0), r"MinBalance\(limit=0\), but a number above 0"),
        (lambda: MaxCostIncrease(-0.1), r"MaxCostIncrease\(limit=-0\.1\), but a number at least 0"),
        (lambda: Bounds(1.0), r"Bounds\(shares=1\.0\), but a number between 0 and 1, or GROUP"),
        (lambda: Bounds("narrow"), r"Bounds\(shares='narrow'\), but a number"),
        (lambda: Bounds(0.2, rounded="up"), r"Bounds\(rounded='up'\), but True or False"),
        (lambda: Bounds({"F": (0.6, 0.4)}), r"Bounds: 'F' has \(0\.6, 0\.4\), but \(lower, upper\)"),
        (lambda: Bounds({"F": 0.4}), r"Bounds: 'F' has 0\.4, but \(lower, upper\)"),
        (lambda: Bounds({"sex": {"F": (0.4, 1.6)}}), r"Bounds: 'sex': 'F' has \(0\.4, 1\.6\)"),
        (lambda: solvers.BoundOptimization(0), r"BoundOptimization\(lipschitz=0\), but a number > 0"),
        (lambda: solvers.BoundOptimization(soft="very"), r"BoundOptimization\(soft='very'\), but True or False"),
        (lambda: solvers.Dual(max_evaluations=0), r"Dual\(max_evaluations=0\), but None or a whole number"),
        (lambda: solvers.Dual(local_search="often"), r"Dual\(local_search='often'\), but True, False or 'auto'"),
        (lambda: Features(missing="drop"), "missing='drop'"),
        (lambda: Groups(missing="drop"), r"Groups\(missing='drop'\), but"),
    ],
)
def test_records_that_make_no_sense_cannot_be_made(make, message):
    with pytest.raises(InvalidInputError, match=message):
        make()


def test_goals_are_equal_and_hashable_by_value():
    made = [
        MaxFairnessError(0.1), MaxFairnessError(0.2), ExactProportions(), MinBalance(0.1), MaxCostIncrease(0.1),
        Bounds(0.2), Bounds(0.2, rounded=True), Bounds({"F": (0.4, 0.6)}), Bounds({"sex": {"F": (0.4, 0.6)}}),
        Penalty(1.0), Penalty(1.0, {"sex": 2.0}),
    ]  # fmt: skip
    assert len(set(made)) == len(made)
    assert Bounds({"F": (0.4, 0.6), "M": (0, 1)}) == Bounds({"M": [0, 1], "F": [0.4, 0.6]})
    assert {Penalty(1.0, {"a": 1.0, "b": 2.0}): 1}[Penalty(1.0, {"b": 2.0, "a": 1.0})] == 1
    assert str(MinBalance(0.4)) == "MinBalance(limit=0.4)"
