"""The estimators as scikit-learn's users know them: its own checks, pipelines, searches, clones, pickles, frames."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import sklearn
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from cases import ESTIMATORS, PROTOTYPE_ESTIMATORS, people
from fairclust import FairKMeans, MinBalance, Penalty

DATA = people(200, n_clusters=3, n_groups=2, seed=2)
COLUMNS = ["age", "income", "height"]

# Checks that cannot hold, each with its reason. Nothing else may fail.
RANDOM_START = (
    "k-means++ draws its rows at random, so repeated and weighted rows start elsewhere (scikit-learn exempts its own "
    "KMeans for this); from given centres they agree: test_a_row_twice_is_a_row_of_weight_two"
)
CLASSIFIERS_ONLY = (
    "the check asks every estimator with predict_proba that takes sparse rows for its classifier_tags, and a clusterer "
    "has none; sparse rows are tested in test_tables.py"
)
EXPECTED_FAILURES = {
    "FairKMeans": {
        "check_estimator_sparse_array": CLASSIFIERS_ONLY,
        "check_estimator_sparse_matrix": CLASSIFIERS_ONLY,
        "check_sample_weight_equivalence_on_dense_data": RANDOM_START,
        "check_sample_weight_equivalence_on_sparse_data": RANDOM_START,
    },
}


@pytest.mark.filterwarnings("default::sklearn.exceptions.SkipTestWarning")
@pytest.mark.filterwarnings("ignore::fairclust.errors.NoGroupsWarning")  # the checks know no groups
@parametrize_with_checks(
    [case.values[0](3, random_state=0) for case in ESTIMATORS],
    expected_failed_checks=lambda estimator: EXPECTED_FAILURES.get(type(estimator).__name__, {}),
)
def test_scikit_learns_own_checks_pass(estimator, check):
    check(estimator)


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_clone_and_pickle_keep_everything(estimator):
    model = estimator(3, goal=Penalty(50.0), target_proportions={"g0": 0.4, "g1": 0.6}, random_state=1)
    assert clone(model).get_params() == model.get_params()
    model.fit(DATA.X, sensitive_features=DATA.groups)
    again = pickle.loads(pickle.dumps(model))
    assert np.array_equal(again.labels_, model.labels_)
    assert again.stop_reason_ == model.stop_reason_
    if hasattr(model, "predict"):
        assert np.array_equal(again.predict(DATA.X, DATA.groups), model.labels_)


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_parameters_are_stored_as_given_and_fit_returns_self(estimator):
    model = estimator(3, goal=Penalty(1.5))
    assert model.set_params(n_clusters=2).n_clusters == 2
    assert model.fit(DATA.X, sensitive_features=DATA.groups) is model
    assert model.goal == Penalty(1.5)


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_fit_predict_gives_the_labels(estimator):
    model = estimator(3, goal=Penalty(50.0), random_state=0)
    labels = model.fit_predict(DATA.X, sensitive_features=DATA.groups)
    assert np.array_equal(labels, model.labels_)


@pytest.mark.parametrize("estimator", PROTOTYPE_ESTIMATORS)
def test_what_is_not_fitted_cannot_predict(estimator):
    with pytest.raises(NotFittedError, match="is not fitted yet"):
        estimator(3).predict(DATA.X)


# --- pipelines --------------------------------------------------------------------------------------------------------


def test_sensitive_features_travel_through_a_pipeline_with_routing():
    with sklearn.config_context(enable_metadata_routing=True):
        pipe = make_pipeline(StandardScaler(), FairKMeans(3, goal=Penalty(200.0), random_state=0))
        pipe.fit(DATA.X, sensitive_features=DATA.groups)
        alone = FairKMeans(3, goal=Penalty(200.0), random_state=0)
        scaled = StandardScaler().fit_transform(DATA.X)
        alone.fit(scaled, sensitive_features=DATA.groups)
        assert np.array_equal(pipe[-1].labels_, alone.labels_)
        assert pipe[-1].group_names_.tolist() == ["g0", "g1"]
        assert np.array_equal(pipe.predict(DATA.X, sensitive_features=DATA.groups), alone.labels_)
        assert np.array_equal(pipe.predict(DATA.X), alone.predict(scaled))


def test_sensitive_features_reach_a_pipelines_step_without_routing():
    pipe = make_pipeline(StandardScaler(), FairKMeans(3, goal=Penalty(200.0), random_state=0))
    pipe.fit(DATA.X, fairkmeans__sensitive_features=DATA.groups)
    assert pipe[-1].group_names_.tolist() == ["g0", "g1"]
    assert np.array_equal(pipe.predict(DATA.X, sensitive_features=DATA.groups), pipe[-1].labels_)


@pytest.mark.parametrize("routing", [True, False])
def test_grid_search_finds_a_number_of_clusters(routing):
    with sklearn.config_context(enable_metadata_routing=routing):
        search = GridSearchCV(FairKMeans(goal=Penalty(10.0), random_state=0), {"n_clusters": [1, 2, 6]}, cv=2)
        search.fit(DATA.X, sensitive_features=DATA.groups)
    assert search.best_params_ == {"n_clusters": 6}  # the score is minus the squared distances
    assert search.best_estimator_.group_names_.tolist() == ["g0", "g1"]


@pytest.mark.parametrize("goals", [[0.1, 0.01, MinBalance(0.4)], [None, Penalty(10.0)]])
def test_grid_search_finds_a_goal(goals):
    search = GridSearchCV(FairKMeans(3, random_state=0), {"goal": goals}, cv=2)
    search.fit(DATA.X, sensitive_features=DATA.groups)
    assert search.best_params_["goal"] in goals


def test_score_is_minus_the_squared_distances_to_the_nearest_centres():
    model = FairKMeans(3, goal=None, tol=0, random_state=0).fit(DATA.X)
    assert model.score(DATA.X) == pytest.approx(-model.objective_)
    weights = np.arange(200.0)
    nearest = model.transform(DATA.X).min(axis=1) ** 2
    assert model.score(DATA.X, sample_weight=weights) == pytest.approx(-(weights @ nearest))


# --- data frames ------------------------------------------------------------------------------------------------------


def frames():
    values = {name: DATA.X[:, i] for i, name in enumerate(COLUMNS)}
    return [
        pytest.param(pd.DataFrame(values), pd.Series(DATA.groups), id="pandas"),
        pytest.param(
            pd.DataFrame(values, index=range(500, 700)), pd.Series(DATA.groups, index=range(500, 700)), id="index"
        ),
        pytest.param(pl.DataFrame(values), pl.Series(DATA.groups), id="polars"),
        pytest.param(pa.table(values), pa.chunked_array([DATA.groups.tolist()]), id="pyarrow"),
        pytest.param(pd.DataFrame(values), DATA.groups.tolist(), id="list of groups"),
        pytest.param(DATA.X.tolist(), pl.DataFrame({"sex": DATA.groups}), id="list of rows"),
    ]


@pytest.mark.parametrize(("X", "groups"), frames())
@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_frames_of_every_kind_give_the_labels_of_the_array(estimator, X, groups):
    model = estimator(3, goal=Penalty(50.0), random_state=0).fit(X, sensitive_features=groups)
    array = estimator(3, goal=Penalty(50.0), random_state=0).fit(DATA.X, sensitive_features=DATA.groups)
    assert np.array_equal(model.labels_, array.labels_)
    if not isinstance(X, list):
        assert model.feature_names_in_.tolist() == COLUMNS
    if hasattr(model, "predict"):
        assert np.array_equal(model.predict(X, groups), model.labels_)


@pytest.mark.parametrize("estimator", PROTOTYPE_ESTIMATORS)
def test_columns_in_another_order_are_refused(estimator):
    frame = pd.DataFrame(DATA.X, columns=COLUMNS)
    model = estimator(3, goal=None, random_state=0).fit(frame)
    with pytest.raises(ValueError, match="feature names should match"):
        model.predict(frame[COLUMNS[::-1]])


@pytest.mark.parametrize(("output", "kind"), [("pandas", pd.DataFrame), ("polars", pl.DataFrame)])
@pytest.mark.parametrize("estimator", PROTOTYPE_ESTIMATORS)
def test_set_output_names_the_distances(estimator, output, kind):
    model = estimator(3, goal=None, random_state=0).set_output(transform=output)
    distances = model.fit(DATA.X).transform(DATA.X)
    assert isinstance(distances, kind)
    prefix = type(model).__name__.lower()
    assert list(distances.columns) == [f"{prefix}{k}" for k in range(3)]
    assert model.get_feature_names_out().tolist() == list(distances.columns)
    np.testing.assert_allclose(model.fit_transform(DATA.X).to_numpy(), distances.to_numpy())


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("estimator", PROTOTYPE_ESTIMATORS)
def test_single_precision_stays_single_precision(estimator, dtype):
    model = estimator(3, goal=Penalty(50.0), random_state=0)
    model.fit(DATA.X.astype(dtype), sensitive_features=DATA.groups)
    assert model.cluster_centers_.dtype == dtype
    assert model.transform(DATA.X.astype(dtype)).dtype == dtype


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_the_data_are_not_changed(estimator):
    X, groups = DATA.X.copy(), DATA.groups.copy()
    X.setflags(write=False)
    groups.setflags(write=False)
    estimator(3, goal=Penalty(50.0), random_state=0).fit(X, sensitive_features=groups)
    assert np.array_equal(X, DATA.X)
