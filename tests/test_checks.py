"""Bad input: each a clear error before any work, or a documented meaning. Tested by message, through the estimators."""

from __future__ import annotations

import re

import numpy as np
import pandas as pd
import pytest

from cases import ESTIMATORS, PROTOTYPE_ESTIMATORS, people
from fairclust import FairKMeans, FairKMedian
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
    plain = estimator(3, random_state=0, fairness_weight=0).fit(DATA.X)
    assert np.array_equal(model.labels_, plain.labels_)
    assert model.fairness_weight_ == 0
    assert model.fairness_goal_met_
    assert model.balance_ == 1


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_clusters": 41}, r"n_clusters=41 but X has 40 rows .* Use at most 40"),
        ({"n_clusters": 0}, "n_clusters=0, but a whole number of at least 1"),
        ({"n_clusters": 2.0}, r"n_clusters=2\.0, but a whole number"),
        ({"n_clusters": True}, "n_clusters=True, but a whole number"),
        ({"n_clusters": "three"}, "n_clusters='three', but a whole number"),
        ({"fairness_weight": -1}, "fairness_weight=-1, but a number ≥ 0"),
        ({"fairness_weight": np.nan}, "fairness_weight=nan, but a number ≥ 0"),
        ({"fairness_weight": np.inf}, "fairness_weight=inf, but a number ≥ 0"),
        ({"fairness_weight": "large"}, "fairness_weight='large', but a number ≥ 0 or 'auto'"),
        ({"fairness_weight": None}, "fairness_weight=None, but a number ≥ 0"),
        ({"fairness_weight": True}, "fairness_weight=True, but a number ≥ 0"),
        ({"max_fairness_error": -0.1}, r"max_fairness_error=-0\.1, but a number ≥ 0"),
        ({"max_fairness_error": "small"}, "max_fairness_error='small', but a number ≥ 0"),
        (
            {"fairness_weight": 5.0, "max_fairness_error": 0.1},
            r"fairness_weight=5\.0 and max_fairness_error=0\.1 are both",
        ),
        ({"target_proportions": {"g0": 0.5, "g1": 0.6}}, r"adds up to 1\.1, not 1"),
        ({"target_proportions": {"g0": 0.5, "z": 0.5}}, "names 'z', but the groups are 'g0', 'g1'"),
        ({"solver": "simplex"}, "solver='simplex', but 'dual' or 'bound' is needed"),
        ({"assignments": "fuzzy"}, "assignments='fuzzy', but 'hard' or 'soft' is needed"),
        ({"lipschitz": 0}, "lipschitz=0, but a number > 0"),
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
        estimator(3, fairness_weight=0).fit(X)
    assert len(set(estimator(2, fairness_weight=0).fit(X).labels_)) == 2


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
    model = estimator(3, fairness_weight=1.0, random_state=0).fit(DATA.X, sensitive_features=DATA.groups)
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
    model = FairKMeans(3, fairness_weight=-1)
    with pytest.raises(InvalidInputError, match="fairness_weight=-1"):
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
    expected = kind(2, fairness_weight=0, random_state=0).fit(X).labels_
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
    model = estimator(3, random_state=0, fairness_weight=1.0, n_init=1)
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
    ("options", "message"),
    [
        ({"min_balance": 0.5, "bounds": 0.2}, r"min_balance=0.5 and bounds=0.2 are both given.*Keep one"),
        ({"min_balance": 0.5, "max_fairness_error": 0.02}, r"min_balance=0.5 and max_fairness_error=0.02 are both"),
        ({"fairness_weight": 3.0, "min_balance": 0.5}, r"fairness_weight=3.0 and min_balance=0.5 are both given"),
        ({"min_balance": 1.5}, r"min_balance=1.5, but a number between 0 and 1"),
        ({"bounds": 1.0}, r"bounds=1.0, but a number between 0 and 1 or a dict"),
        ({"bounds": "narrow"}, r"bounds='narrow', but a number between 0 and 1 or a dict"),
        ({"bounds": {"F": (0.4, 0.6), "X": (0.1, 0.2)}}, r"bounds names 'X', but the groups are 'F', 'M'"),
        ({"bounds": {"F": (0.6, 0.4)}}, r"bounds\['F'\]=\(0.6, 0.4\), but two shares"),
        ({"bounds": {"F": 0.4}}, r"bounds\['F'\]=0.4, but two shares"),
    ],
    ids=str,
)
def test_goals_that_contradict_or_make_no_sense_are_told(options, message):
    X, groups = np.arange(12.0)[:, None], ["F", "M"] * 6
    with pytest.raises(InvalidInputError, match=message):
        FairKMeans(2, random_state=0, **options).fit(X, sensitive_features=groups)
