"""Tables as they are: categories, gaps, weights of columns, sparse rows, sensitive features that are columns."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy import sparse
from sklearn.compose import make_column_transformer
from sklearn.metrics import adjusted_rand_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import Normalizer, OneHotEncoder, StandardScaler

import fairclust
from cases import ASKED, FairNCut, people
from fairclust import ExactProportions, FairKMeans, FairKMedian, Features, Penalty, load
from fairclust.errors import FairclustError, InvalidInputError
from internals import KMeansObjective, SparseKMeansObjective, sparse_rows, unfilled_oracle

K = 4


def table(n_rows=600, seed=0, gaps=0.0):
    """People in clouds; words, numbers and who is in which group depend on the cloud."""
    rng = np.random.default_rng(seed)
    cloud = rng.integers(K, size=n_rows)
    frame = pd.DataFrame(
        {
            "age": rng.normal(30 + 8 * cloud, 4.0),
            "job": np.array(["cook", "clerk", "nurse", "smith"])[(cloud + (rng.random(n_rows) < 0.2)) % 4],
            "income": rng.gamma(2.0 + cloud, 10_000.0),
            "owner": rng.random(n_rows) < 0.2 + 0.2 * cloud,
            "region": pd.Categorical(np.array(["n", "s", "w"])[rng.integers(3, size=n_rows)]),
        }
    )
    groups = np.where(rng.random(n_rows) < 0.3 + 0.12 * cloud, "F", "M")
    if gaps:
        for name in frame.columns:
            column = frame[name].astype(object) if name in ("owner",) else frame[name]
            frame[name] = column.mask(rng.random(n_rows) < gaps)
    return frame, groups


def one_hot(frame, weights=None):
    """The matrix that a table stands for: every column scaled to the variance that its weight asks for."""
    parts = []
    for name in frame.columns:
        words = not pd.api.types.is_float_dtype(frame[name])
        part = pd.get_dummies(frame[name]).to_numpy(float) if words else frame[[name]].to_numpy(float)
        part = part - part.mean(axis=0) if not words else part
        parts.append((words, part * np.sqrt((weights or {}).get(name, 1.0) / part.var(axis=0).sum())))
    ordered = [part for words, part in parts if not words] + [part for words, part in parts if words]
    return np.concatenate(ordered, axis=1)


SETTINGS = [*ASKED, pytest.param({"goal": 0.01}, id="error"), pytest.param({"goal": ExactProportions()}, id="exact")]


@pytest.mark.parametrize("settings", SETTINGS)
def test_a_table_is_clustered_as_its_one_hot_matrix(settings):
    frame, groups = table()
    X = one_hot(frame)
    init = X[[1, 5, 9, 14]]
    mine = FairKMeans(K, **settings, init=init).fit(frame, sensitive_features=groups)
    matrix = FairKMeans(K, **settings, init=init).fit(X, sensitive_features=groups)
    assert np.array_equal(mine.labels_, matrix.labels_)
    assert mine.objective_ == pytest.approx(matrix.objective_, rel=1e-9)
    np.testing.assert_allclose(mine.cluster_centers_, matrix.cluster_centers_, atol=1e-9)
    np.testing.assert_allclose(mine.prices_, matrix.prices_, rtol=1e-4, atol=1e-4)
    assert np.array_equal(mine.predict(frame, groups), matrix.predict(X, groups))
    np.testing.assert_allclose(mine.transform(frame), matrix.transform(X), atol=1e-6)
    np.testing.assert_allclose(mine.predict_proba(frame, groups), matrix.predict_proba(X, groups), atol=1e-3)
    assert mine.score(frame) == pytest.approx(matrix.score(X), rel=1e-9)


def test_sample_weights_count_in_scales_and_shares():
    frame, groups = table(300)
    times = np.random.default_rng(0).integers(1, 4, 300)
    rows = np.repeat(np.arange(300), times)
    settings = {"init": frame.iloc[[1, 5, 9, 14]], "goal": Penalty(60.0)}
    weighted = FairKMeans(K, **settings).fit(frame, sensitive_features=groups, sample_weight=times)
    repeated = FairKMeans(K, **settings).fit(frame.iloc[rows].reset_index(drop=True), sensitive_features=groups[rows])
    assert np.array_equal(weighted.labels_[rows], repeated.labels_)
    assert weighted.objective_ == pytest.approx(repeated.objective_, rel=1e-9)


@pytest.mark.parametrize("missing_values", ["observed", "own"])
@pytest.mark.parametrize("settings", SETTINGS)
def test_the_energy_falls_and_goals_are_met_with_gaps(settings, missing_values):
    frame, groups = table(gaps=0.15)
    model = FairKMeans(K, **settings, random_state=0, features=Features(missing=missing_values)).fit(
        frame, sensitive_features=groups
    )
    assert (np.diff(model.energy_history_) <= 1e-9 * model.energy_).all()
    assert len(np.unique(model.labels_)) == K
    assert model.goal_met_


@pytest.mark.parametrize("settings", SETTINGS)
def test_without_gaps_observed_changes_nothing(settings):
    frame, groups = table()
    fits = [
        FairKMeans(K, **settings, random_state=0, features=Features(missing=missing)).fit(
            frame, sensitive_features=groups
        )
        for missing in ("error", "observed", "own")
    ]
    for other in fits[1:]:
        assert np.array_equal(other.labels_, fits[0].labels_)
        assert other.objective_ == fits[0].objective_


def test_numbers_with_gaps_are_not_scaled():
    X = people(300, n_clusters=3).X * np.array([1.0, 10.0, 0.1])
    holes = X.copy()
    holes[np.random.default_rng(0).random(X.shape) < 0.1] = np.nan
    model = FairKMeans(3, random_state=0, goal=None, features=Features(missing="observed")).fit(holes)
    plain = FairKMeans(3, random_state=0, goal=None).fit(X)
    assert adjusted_rand_score(model.labels_, plain.labels_) > 0.6
    seen = [np.nanmean(holes[model.labels_ == k], axis=0) for k in range(3)]
    np.testing.assert_allclose(model.cluster_profiles_.to_numpy(), seen, rtol=1e-6)


def test_gaps_are_an_error_that_says_how_many_and_where():
    frame, groups = table(100, gaps=0.05)
    n_missing = int(frame.isna().sum().sum())
    first = np.flatnonzero(frame["age"].isna())[0]
    with pytest.raises(InvalidInputError, match=rf"X has {n_missing} missing values .* in 'age' \(rows {first}, "):
        FairKMeans(K).fit(frame, sensitive_features=groups)
    fitted = FairKMeans(K, random_state=0, goal=None).fit(table(100)[0])
    with pytest.raises(InvalidInputError, match="missing='observed'"):
        fitted.predict(frame)


def test_a_gap_of_its_own_is_a_category():
    frame = pd.DataFrame({"job": ["a", "a", None, None, "b", "b"], "x": [0.0, 0.1, 0.0, 0.1, 0.0, 0.1]})
    model = FairKMeans(3, features=Features(missing="own", weights={"x": 0.01}), random_state=0, goal=None).fit(frame)
    assert len({tuple(model.labels_[i : i + 2]) for i in (0, 2, 4)}) == 3
    assert "job=missing" in model.cluster_profiles_.columns
    unseen = pd.DataFrame({"job": ["z", None], "x": [0.0, 0.0]})
    assert model.predict(unseen)[1] == model.labels_[2]


FRAMES = [
    pytest.param(lambda frame: frame, id="pandas"),
    pytest.param(pl.from_pandas, id="polars"),
    pytest.param(pa.Table.from_pandas, id="pyarrow"),
    pytest.param(lambda frame: frame.astype({"job": "category", "owner": object}), id="pandas dtypes"),
]


@pytest.mark.parametrize("gaps", [0.0, 0.1], ids=["complete", "gaps"])
@pytest.mark.parametrize("kind", FRAMES)
def test_frames_of_every_kind_give_the_same_clusters_and_profiles(kind, gaps):
    frame, groups = table(gaps=gaps)
    settings = {"random_state": 0, "goal": Penalty(60.0), "features": Features(missing="observed")}
    wanted = FairKMeans(K, **settings).fit(frame, sensitive_features=groups)
    given = kind(frame)
    model = FairKMeans(K, **settings).fit(given, sensitive_features=groups)
    assert np.array_equal(model.labels_, wanted.labels_)
    profiles = model.cluster_profiles_
    assert type(profiles) is type(given)
    columns = list(profiles.column_names if isinstance(profiles, pa.Table) else profiles.columns)
    assert columns == list(wanted.cluster_profiles_.columns)
    assert np.array_equal(model.predict(given, groups), model.labels_)


def test_profiles_are_means_and_shares_in_the_tables_own_units():
    frame, groups = table()
    model = FairKMeans(K, random_state=0).fit(frame, sensitive_features=groups)
    profiles = model.cluster_profiles_
    for k in range(K):
        own = frame[model.labels_ == k]
        assert profiles["age"][k] == pytest.approx(own["age"].mean())
        assert profiles["job=cook"][k] == pytest.approx((own["job"] == "cook").mean(), abs=1e-9)
        assert profiles["owner=True"][k] == pytest.approx(own["owner"].mean(), abs=1e-9)
    numbers = FairKMeans(3, random_state=0, goal=None).fit(people(200).X)
    assert list(numbers.cluster_profiles_.columns) == ["x0", "x1", "x2"]
    np.testing.assert_allclose(numbers.cluster_profiles_, numbers.cluster_centers_, rtol=1e-3, atol=1e-3)


def test_every_column_counts_the_same_unless_weights_say_otherwise():
    frame, _ = table()
    X = one_hot(frame, {"age": 2.0, "job": 0.5})
    init = X[[1, 5, 9, 14]]
    mine = FairKMeans(K, init=init, goal=None, features=Features(weights={"age": 2, "job": 0.5})).fit(frame)
    matrix = FairKMeans(K, init=init, goal=None).fit(X)
    assert np.array_equal(mine.labels_, matrix.labels_)
    assert mine.objective_ == pytest.approx(matrix.objective_, rel=1e-9)
    listed = FairKMeans(K, init=init, goal=None, features=Features(weights=[2, 0.5, 1, 1, 1])).fit(frame)
    assert listed.objective_ == mine.objective_
    alone = FairKMeans(2, random_state=0, goal=None, features=Features(weights=[1, 0, 0, 0, 0])).fit(frame)
    by_age = FairKMeans(2, random_state=0, goal=None).fit(frame[["age"]])
    assert adjusted_rand_score(alone.labels_, by_age.labels_) == 1.0


def test_categories_can_be_named_counted_or_masked():
    rng = np.random.default_rng(0)
    X = np.column_stack((rng.normal(size=200), rng.integers(3, size=200), rng.normal(size=200)))
    fits = [
        FairKMeans(3, random_state=0, goal=None, features=Features(categorical=asked)).fit(X)
        for asked in ([1], [-2], [False, True, False], np.array([False, True, False]))
    ]
    named = FairKMeans(3, random_state=0, goal=None, features=Features(categorical=["b"]))
    fits.append(named.fit(pd.DataFrame(X, columns=list("abc"))))
    assert all(np.array_equal(model.labels_, fits[0].labels_) for model in fits)
    assert fits[-1].cluster_profiles_.columns.tolist() == ["a", "b=0.0", "b=1.0", "b=2.0", "c"]


@pytest.mark.parametrize(
    ("arguments", "match"),
    [
        (
            {"features": Features(categorical=["jobb"])},
            "names 'jobb', but the columns of X are 'age', 'job'",
        ),
        ({"features": Features(categorical="job")}, r"Features\(categorical='job'\), but 'from_dtype'"),
        ({"features": Features(categorical=["job"])}, "column 'owner' holds words"),
        ({"features": Features(categorical=None)}, "column 'job' holds words"),
        ({"features": "drop"}, "features='drop'"),
        ({"features": Features(weights={"agee": 1})}, "names 'agee'"),
        ({"features": Features(weights={"age": -1})}, r"Features\(weights=\{'age': -1\}\), but a number ≥ 0"),
        ({"features": Features(weights=[1, 2])}, "or 5 numbers, one per column"),
        ({"features": Features(weights=[0] * 5)}, "is 0 for every column"),
        ({"init": "best"}, "init='best'"),
        ({"init": np.zeros((4, 5))}, r"init has shape \(4, 5\)"),
        ({"init": lambda X, n, random_state: X[:n]}, "init is a function"),
        ({"init": pd.DataFrame({"age": [1.0] * 4})}, "init has 4 rows and the columns age, but 4 rows with"),
    ],
)
def test_arguments_that_cannot_be_are_refused_with_a_sentence(arguments, match):
    frame, groups = table(60)
    with pytest.raises(InvalidInputError, match=match):
        FairKMeans(K, **arguments).fit(frame, sensitive_features=groups)


def test_columns_that_are_neither_numbers_nor_words_are_refused():
    frame = pd.DataFrame({"born": pd.date_range("2020-01-01", periods=20), "x": np.arange(20.0)})
    with pytest.raises(InvalidInputError, match=r"column 'born' of X is of type Datetime.*neither numbers nor words"):
        FairKMeans(2).fit(frame.assign(job="a"))


def test_several_starts_paths_batches_and_files_work_on_tables(tmp_path):
    frame, groups = table(5000)
    model = FairKMeans(K, random_state=0, n_init=3).fit(frame, sensitive_features=groups)
    assert model.goal_met_
    batch, batch_groups = table(400, seed=5)
    labels = model.predict_batch(batch, batch_groups, target="batch")
    assert len(labels) == 400
    path = fairclust.fairness_path(
        FairKMeans(K, random_state=0), frame, sensitive_features=groups, goals=[None, Penalty(100), Penalty(1000)]
    )
    assert path.fairness_errors[-1] < path.fairness_errors[0]
    model.save(tmp_path / "people.fairclust")
    for again in (pickle.loads(pickle.dumps(model)), load(tmp_path / "people.fairclust")):
        assert np.array_equal(again.predict(frame, groups), model.predict(frame, groups))
        assert again.cluster_profiles_.equals(model.cluster_profiles_)


def test_an_unseen_category_goes_where_the_rest_of_the_row_belongs():
    frame, _ = table()
    model = FairKMeans(K, random_state=0, goal=None).fit(frame)
    new = frame.iloc[:50].assign(job="astronaut")
    assert adjusted_rand_score(model.predict(new), model.labels_[:50]) > 0.3


# --- sparse rows ------------------------------------------------------------------------------------------------------


def documents(n_rows=400, n_words=300, seed=0, dtype=np.float64):
    rng = np.random.default_rng(seed)
    topic = rng.integers(K, size=n_rows)
    words = rng.dirichlet(np.full(n_words, 0.05), size=K)
    X = np.array([rng.multinomial(40, words[t]) for t in topic], dtype=dtype)
    return sparse.csr_matrix(X), np.where(rng.random(n_rows) < 0.3 + 0.1 * topic, "F", "M")


@pytest.mark.parametrize("settings", SETTINGS)
def test_sparse_rows_are_clustered_as_dense_ones(settings):
    X, groups = documents()
    dense = X.toarray()
    init = dense[[0, 3, 7, 11]]
    mine = FairKMeans(K, **settings, init=init).fit(X, sensitive_features=groups)
    other = FairKMeans(K, **settings, init=init).fit(dense, sensitive_features=groups)
    assert mine.objective_ == pytest.approx(other.objective_, rel=1e-4)
    assert adjusted_rand_score(mine.labels_, other.labels_) > 0.98
    assert np.array_equal(mine.predict(X), mine.predict(dense))
    np.testing.assert_allclose(mine.transform(X), mine.transform(dense), rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("weighted", [False, True], ids=["equal", "weights"])
def test_sparse_clusters_are_cut_in_two_about_as_well_as_dense_ones(weighted):
    X, _ = documents()
    rng = np.random.default_rng(0)
    weights = rng.uniform(0.5, 2.0, X.shape[0]) if weighted else None
    sweep, labels = unfilled_oracle(np.zeros(X.shape[0]), 1, 2, weights), (np.arange(X.shape[0]) % 2).astype(np.int32)
    centers = np.zeros((2, X.shape[1]))
    mine = SparseKMeansObjective(sparse_rows(X)).halves(sweep, centers, labels)
    dense = KMeansObjective(X.toarray()).halves(sweep, centers, labels)
    for (gain, places), (other, _) in zip(mine, dense, strict=True):
        assert gain > 0.8 * other > 0
        assert places.shape == (2, X.shape[1])


@pytest.mark.parametrize("kind", [sparse.csr_matrix, sparse.csr_array, sparse.csc_array, sparse.coo_array])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_sparse_matrices_of_every_kind_are_taken(dtype, kind):
    X, groups = documents(dtype=dtype)
    settings = {"init": X[[0, 3, 7, 11]].toarray(), "goal": Penalty(60.0)}
    model = FairKMeans(K, **settings).fit(kind(X), sensitive_features=groups)
    dense = FairKMeans(K, **settings).fit(X.toarray(), sensitive_features=groups)
    assert model.cluster_centers_.dtype == dtype
    assert model.energy_ == pytest.approx(dense.energy_, rel=1e-3)


def test_sparse_rows_seed_and_refuse_as_dense_ones():
    X, groups = documents()
    for init in ("k-means++", "random"):
        assert FairKMeans(K, init=init, random_state=0).fit(X, sensitive_features=groups).goal_met_
    with pytest.raises(InvalidInputError, match="X is sparse, so"):
        FairKMeans(K, features=Features(missing="observed")).fit(X)
    with pytest.raises(InvalidInputError, match="n_clusters=4 but X has only 2 distinct rows"):
        FairKMeans(K).fit(X[[0, 1] * 20])


def test_a_column_transformer_with_its_default_encoder_works():
    frame, groups = table()
    encode = make_column_transformer((OneHotEncoder(), ["job", "region"]), (StandardScaler(), ["age", "income"]))
    pipeline = make_pipeline(encode, FairKMeans(K, random_state=0))
    pipeline.fit(frame, fairkmeans__sensitive_features=groups)
    assert pipeline[-1].goal_met_


def test_cosine_is_a_normalizer_before():
    X, groups = documents()
    cosine = make_pipeline(Normalizer(), FairKMeans(K, random_state=0))
    cosine.fit(X, fairkmeans__sensitive_features=groups)
    longer = sparse.csr_matrix(sparse.diags_array(np.random.default_rng(0).uniform(1, 9, X.shape[0])) @ X)
    assert np.array_equal(cosine.predict(longer), cosine.predict(X))


# --- sensitive features that are columns ------------------------------------------------------------------------------


@pytest.mark.parametrize("estimator", [e for e in (FairKMeans, FairKMedian, FairNCut) if e is not None])
@pytest.mark.parametrize("kind", [lambda frame: frame, pl.from_pandas], ids=["pandas", "polars"])
def test_a_named_column_is_the_group_and_not_a_feature(estimator, kind):
    data = people(120, n_clusters=3)
    frame = pd.DataFrame(data.X, columns=["a", "b", "c"])
    by_hand = estimator(3, random_state=0).fit(frame, sensitive_features=data.groups)
    named = estimator(3, random_state=0).fit(kind(frame.assign(sex=data.groups)), sensitive_features="sex")
    assert np.array_equal(named.labels_, by_hand.labels_)
    assert named.feature_names_in_.tolist() == ["a", "b", "c"]
    if estimator is not FairNCut:
        new = kind(frame.assign(sex=data.groups))
        assert np.array_equal(named.predict(new, "sex"), by_hand.predict(frame, data.groups))
        assert np.array_equal(named.predict(new), by_hand.predict(frame))
        assert named.transform(new).shape == (120, 3)


def test_several_named_columns_are_several_attributes():
    frame, groups = table()
    frame = frame.assign(sex=groups)
    model = FairKMeans(K, random_state=0).fit(frame, sensitive_features=["sex", "region"])
    assert model.attribute_names_.tolist() == ["sex", "region"]
    assert "region" not in model.feature_names_in_


def test_names_and_rows_that_do_not_fit_are_refused():
    frame, groups = table(50)
    with pytest.raises(InvalidInputError, match="sensitive_features names 'sex', but the columns of X are 'age'"):
        FairKMeans(K).fit(frame, sensitive_features="sex")
    with pytest.raises(InvalidInputError, match="sensitive_features='sex' names a column, but X is not a data frame"):
        FairKMeans(K).fit(np.zeros((9, 2)), sensitive_features="sex")
    with pytest.raises(FairclustError, match=r"another index than X: the first differing row is number 0, 0 in"):
        FairKMeans(K).fit(frame, sensitive_features=pd.Series(groups, index=range(7, 57)))
    shuffled = pd.Series(groups).sample(frac=1.0, random_state=0)
    with pytest.raises(FairclustError, match=r"the rows of X in another order.*sensitive_features.loc\[X.index\]"):
        FairKMeans(K).fit(frame, sensitive_features=shuffled)
    assert FairKMeans(K, random_state=0).fit(frame, sensitive_features=shuffled.loc[frame.index]).n_iter_ > 0


def test_gower_starts_from_random_rows_too():
    frame, groups = table(200)
    model = FairKMedian(K, metric="gower", init="random", random_state=0).fit(frame, sensitive_features=groups)
    assert model.goal_met_
    with pytest.raises(InvalidInputError, match="init='grid', but 'k-means\\+\\+', 'random' or a data frame"):
        FairKMedian(K, metric="gower", init="grid").fit(frame, sensitive_features=groups)


def test_a_column_of_objects_that_is_no_number_is_told():
    X = np.array([["cook", 1.0], ["nurse", 2.0], ["cook", "three"], ["nurse", 4.0]], dtype=object)
    with pytest.raises(InvalidInputError, match=r"column 'x1' of X holds something that is not a number.*categorical"):
        FairKMeans(2, features=Features(categorical=[0])).fit(X, sensitive_features=list("FMFM"))
