"""Scores of a clustering: first by hand, then against slow obvious versions, then laws."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy import sparse

from fairclust import metrics
from fairclust.datasets import make_synthetic_unequal, standardize_and_normalize
from fairclust.errors import InvalidInputError

LABELS = [0, 0, 0, 1, 1, 1]
SEX = ["F", "M", "M", "F", "F", "M"]


# --- by hand --------------------------------------------------------------------------------------------------------


def test_two_clusters_of_three_are_scored_as_by_hand():
    table = metrics.composition(LABELS, SEX)
    assert table.cluster_names.tolist() == [0, 1]
    assert table.group_names.tolist() == ["F", "M"]
    assert table.counts.tolist() == [[1, 2], [2, 1]]
    assert table.target.tolist() == [0.5, 0.5]
    assert metrics.balance(LABELS, SEX) == 0.5
    assert metrics.group_proportions(LABELS, SEX) == pytest.approx(np.array([[1 / 3, 2 / 3], [2 / 3, 1 / 3]]))
    one = 0.5 * math.log(0.5 / (1 / 3)) + 0.5 * math.log(0.5 / (2 / 3))
    assert metrics.fairness_error(LABELS, SEX) == pytest.approx(2 * one)


def test_averages_are_read_from_the_error_of_each_cluster():
    labels, groups = [0, 0, 1, 1, 1, 1], ["a", "b", "a", "b", "b", "b"]
    each = metrics.fairness_error(labels, groups, average=None)
    assert each.shape == (2,)
    assert each[0] != each[1]
    assert metrics.fairness_error(labels, groups) == pytest.approx(each.sum())
    assert metrics.fairness_error(labels, groups, None, "max") == each.max()
    assert metrics.fairness_error(labels, groups, None, "mean") == pytest.approx(each.mean())


def test_kmeans_objective_of_three_points_on_a_line():
    assert metrics.kmeans_objective([[0.0], [2.0], [7.0]], [0, 0, 1]) == 2.0


def test_kmedian_objective_takes_the_best_medoid():
    assert metrics.kmedian_objective([[0.0], [1.0], [5.0]], [0, 0, 0]) == 5.0


def test_kmedian_objective_knows_both_distances():
    X = [[0.0, 0.0], [3.0, 4.0]]
    assert metrics.kmedian_objective(X, [0, 0]) == 5.0
    assert metrics.kmedian_objective(X, [0, 0], "manhattan") == 7.0


def test_ncut_of_a_path_cut_in_the_middle():
    W = np.array([[0, 1, 0, 0], [1, 0, 1, 0], [0, 1, 0, 1], [0, 0, 1, 0]])
    assert metrics.ncut_objective(W, [0, 0, 1, 1]) == pytest.approx(2 - 2 / 3 - 2 / 3)


def test_group_missing_from_a_cluster_means_balance_0_and_a_large_finite_error():
    assert metrics.balance([0, 0, 1], ["a", "b", "a"]) == 0.0
    assert metrics.fairness_error([0, 0, 1, 1], ["a", "a", "b", "b"]) == pytest.approx(
        math.log(0.5) * 2 - math.log(1e-20)
    )


def test_one_group_has_balance_1_and_no_error():
    assert metrics.balance([0, 1, 1], ["a"] * 3) == 1.0
    assert metrics.fairness_error([0, 1, 1], ["a"] * 3) == 0.0


def test_noise_is_a_label_like_any_other():
    table = metrics.composition([-1, 0, -1, 0], ["a", "a", "b", "b"])
    assert table.cluster_names.tolist() == [-1, 0]


def test_target_by_name_equals_target_in_sorted_order():
    by_name = metrics.fairness_error(LABELS, SEX, {"M": 0.7, "F": 0.3})
    assert by_name == metrics.fairness_error(LABELS, SEX, [0.3, 0.7])
    assert by_name != metrics.fairness_error(LABELS, SEX)


def test_cluster_without_weight_is_left_out_and_a_group_keeps_its_column():
    table = metrics.composition([0, 0, 1, 0], ["a", "b", "a", "c"], sample_weight=[1, 1, 0, 0])
    assert table.cluster_names.tolist() == [0]
    assert table.counts.tolist() == [[1, 1, 0]]
    assert table.balances.tolist() == [1.0]
    assert table.fairness_errors.tolist() == [0.0]


def test_cluster_without_links_adds_1_to_ncut():
    W = np.zeros((3, 3))
    W[0, 1] = W[1, 0] = 1.0
    assert metrics.ncut_objective(W, [0, 0, 1]) == 1.0
    assert metrics.ncut_objective(np.zeros((2, 2)), [0, 1]) == 2.0


def test_natural_halves_of_synthetic_unequal_have_the_scores_of_the_paper():
    bunch = make_synthetic_unequal(random_state=1)
    X = standardize_and_normalize(bunch.data)
    labels = X[:, 0] > 0
    assert metrics.kmeans_objective(X, labels) == pytest.approx(159.754, abs=5e-4)
    assert metrics.kmedian_objective(X, labels) == pytest.approx(174.818, abs=5e-4)
    assert metrics.fairness_error(labels, bunch.sensitive_features) == pytest.approx(0.0, abs=1e-12)
    assert metrics.balance(labels, bunch.sensitive_features) == pytest.approx(1 / 3)


# --- slow, obvious versions -----------------------------------------------------------------------------------------


def slow_balance(labels, groups):
    ratios = [1.0]
    for k in set(labels):
        counts = [
            sum(label == k and g == j for label, g in zip(labels, groups, strict=True)) for j in sorted(set(groups))
        ]
        ratios += [a / b if b else math.inf for a, b in itertools.permutations(counts, 2)]
    return min(ratios)


def slow_fairness_error(labels, groups, target):
    total = 0.0
    for k in set(labels):
        members = [g for label, g in zip(labels, groups, strict=True) if label == k]
        for j, wanted in target.items():
            if wanted > 0:
                total += wanted * math.log(wanted / max(members.count(j) / len(members), 1e-20))
    return total


def slow_kmeans(X, labels, weights):
    total = 0.0
    for k in np.unique(labels):
        points, w = X[labels == k].astype(float), weights[labels == k]
        center = np.average(points, axis=0, weights=w)
        total += float((w[:, None] * (points - center) ** 2).sum())
    return total


def slow_kmedian(X, labels, weights, metric):
    total = 0.0
    for k in np.unique(labels):
        points, w = X[labels == k], weights[labels == k]
        gaps = points[:, None] - points[None]
        distances = np.abs(gaps).sum(axis=2) if metric == "manhattan" else np.sqrt((gaps**2).sum(axis=2))
        total += float((distances * w).sum(axis=1).min())
    return total


def slow_ncut(W, labels):
    names = np.unique(labels)
    total = float(len(names))
    for k in names:
        S = (labels == k).astype(float)
        if W.sum(axis=1) @ S > 0:
            total -= S @ W @ S / (W.sum(axis=1) @ S)
    return total


@st.composite
def clusterings(draw, max_size=30):
    n_samples = draw(st.integers(1, max_size))
    labels = draw(st.lists(st.integers(-1, 3), min_size=n_samples, max_size=n_samples))
    groups = draw(st.lists(st.sampled_from("abc"), min_size=n_samples, max_size=n_samples))
    return labels, groups


@st.composite
def points(draw, max_size=25):
    n_samples = draw(st.integers(1, max_size))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    # Few distinct values, so that ties and duplicates are common.
    X = rng.integers(-3, 4, size=(n_samples, draw(st.integers(1, 3)))).astype(float)
    X += draw(st.sampled_from([0.0, 0.5, 1000.0]))
    return X, rng.integers(0, 3, n_samples), rng.integers(1, 4, n_samples).astype(float)


@st.composite
def graphs(draw, max_size=12):
    n_samples = draw(st.integers(1, max_size))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    W = rng.random((n_samples, n_samples)) * (rng.random((n_samples, n_samples)) < 0.4)
    return W + W.T, rng.integers(0, 3, n_samples)


@given(clusterings())
def test_balance_equals_the_slow_version(case):
    assert metrics.balance(*case) == pytest.approx(slow_balance(*case))


@given(clusterings(), st.lists(st.integers(0, 5), min_size=3, max_size=3))
def test_fairness_error_equals_the_slow_version(case, wanted):
    labels, groups = case
    raw = dict(zip("abc", wanted, strict=True))
    raw = {name: share for name, share in raw.items() if name in groups}
    assume(sum(raw.values()) > 0)
    target = {name: share / sum(raw.values()) for name, share in raw.items()}
    expected = slow_fairness_error(labels, groups, target)
    assert metrics.fairness_error(labels, groups, target) == pytest.approx(expected, abs=1e-12)


@given(points())
def test_kmeans_objective_equals_the_slow_version(case):
    X, labels, weights = case
    expected = slow_kmeans(X, labels, weights)
    assert metrics.kmeans_objective(X, labels, sample_weight=weights) == pytest.approx(expected, abs=1e-8)


@pytest.mark.parametrize("metric", ["euclidean", "manhattan"])
@given(case=points())
def test_kmedian_objective_equals_the_slow_version(metric, case):
    X, labels, weights = case
    expected = slow_kmedian(X, labels, weights, metric)
    assert metrics.kmedian_objective(X, labels, metric, sample_weight=weights) == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array, sparse.coo_matrix, sparse.csc_array])
@given(case=graphs())
def test_ncut_objective_equals_the_slow_version(form, case):
    W, labels = case
    assert metrics.ncut_objective(form(W), labels) == pytest.approx(slow_ncut(W, labels), abs=1e-12)


# --- laws: fairness -------------------------------------------------------------------------------------------------


@given(clusterings())
def test_balance_is_between_0_and_the_balance_of_the_data(case):
    assert 0.0 <= metrics.balance(*case) <= metrics.composition(*case).data_balance + 1e-12


@given(clusterings(), st.integers(1, 4))
def test_copies_of_the_data_as_clusters_are_perfectly_fair(case, n_clusters):
    _, groups = case
    labels = np.repeat(np.arange(n_clusters), len(groups))
    assert metrics.fairness_error(labels, groups * n_clusters) == pytest.approx(0.0, abs=1e-12)


@given(clusterings(), st.randoms(use_true_random=False))
def test_order_of_the_rows_does_not_matter(case, random):
    rows = list(range(len(case[0])))
    random.shuffle(rows)
    mixed = [[column[i] for i in rows] for column in case]
    assert metrics.composition(*mixed).counts.tolist() == metrics.composition(*case).counts.tolist()


@given(clusterings(), st.permutations([0, 1, 2, 3, 4]), st.permutations("abc"))
def test_names_of_clusters_and_groups_do_not_matter(case, numbers, letters):
    labels, groups = case
    named = [f"cluster {numbers[label + 1]}" for label in labels]
    renamed = [dict(zip("abc", letters, strict=True))[group] for group in groups]
    assert metrics.balance(named, renamed) == metrics.balance(labels, groups)
    assert metrics.fairness_error(named, renamed) == pytest.approx(metrics.fairness_error(labels, groups), abs=1e-12)


@given(clusterings(), st.data())
def test_weight_is_the_number_of_times_a_row_is_there(case, data):
    labels, groups = case
    weights = data.draw(st.lists(st.integers(0, 3), min_size=len(labels), max_size=len(labels)))
    assume(any(weights))
    repeated = np.repeat(labels, weights), np.repeat(groups, weights)
    assert metrics.balance(labels, groups, sample_weight=weights) == metrics.balance(*repeated)
    assert metrics.fairness_error(labels, groups, sample_weight=weights) == pytest.approx(
        metrics.fairness_error(*repeated), abs=1e-12
    )


@given(clusterings(), clusterings())
def test_counts_of_two_blocks_add_up_to_the_whole(one, other):
    everything = list("abc"), [-1, 0, 1, 2, 3]
    pad_groups, pad_labels = zip(*itertools.product(*everything), strict=True)
    one, other = ((labels + list(pad_labels), groups + list(pad_groups)) for labels, groups in (one, other))
    parts = metrics.composition(*one).counts + metrics.composition(*other).counts
    whole = metrics.composition(one[0] + other[0], one[1] + other[1]).counts
    assert whole.tolist() == parts.tolist()


@given(clusterings())
def test_proportions_of_every_cluster_add_up_to_1(case):
    shares = metrics.group_proportions(*case)
    assert shares.shape == (len(set(case[0])), len(set(case[1])))
    assert shares.sum(axis=1) == pytest.approx(1.0)


# --- laws: objectives -----------------------------------------------------------------------------------------------

OBJECTIVES = {
    "kmeans": metrics.kmeans_objective,
    "kmedian": metrics.kmedian_objective,
    "kmedian-manhattan": lambda X, labels, **options: metrics.kmedian_objective(X, labels, "manhattan", **options),
}
objectives = pytest.mark.parametrize("objective", OBJECTIVES.values(), ids=OBJECTIVES.keys())


@objectives
@given(case=points())
def test_weight_2_equals_the_row_twice(objective, case):
    X, labels, weights = case
    times = weights.astype(int)
    repeated = objective(np.repeat(X, times, axis=0), np.repeat(labels, times))
    assert objective(X, labels, sample_weight=weights) == pytest.approx(repeated, abs=1e-7)


@objectives
@given(case=points())
def test_weight_0_equals_the_row_left_out(objective, case):
    X, labels, weights = case
    weights[::2] = 0.0
    assume(weights.any())
    kept = weights > 0
    without = objective(X[kept], labels[kept], sample_weight=weights[kept])
    assert objective(X, labels, sample_weight=weights) == pytest.approx(without, abs=1e-7)


@objectives
@given(case=points())
def test_clusters_of_one_point_cost_nothing(objective, case):
    X, _, _ = case
    assert objective(X, np.arange(len(X))) == 0.0


@objectives
@given(case=points())
def test_order_of_rows_and_names_of_labels_do_not_matter_to_the_objective(objective, case):
    X, labels, _ = case
    named = np.array(["zoo", "bar", "foo"])[labels]
    assert objective(X[::-1], named[::-1]) == pytest.approx(objective(X, labels), abs=1e-7)


@objectives
def test_sparse_data_has_the_objective_of_dense_data(objective):
    rng = np.random.default_rng(0)
    X, labels = rng.integers(0, 2, size=(50, 4)).astype(float), rng.integers(0, 4, 50)
    assert objective(sparse.csc_array(X), labels) == pytest.approx(objective(X, labels), rel=1e-12)


@objectives
def test_float32_data_is_summed_in_float64(objective):
    rng = np.random.default_rng(0)
    X, labels = rng.normal(size=(2000, 4)).astype(np.float32), rng.integers(0, 3, 2000)
    assert objective(X, labels) == pytest.approx(objective(X.astype(np.float64), labels), rel=1e-14)


@objectives
def test_moving_the_data_far_away_does_not_change_the_objective(objective):
    rng = np.random.default_rng(0)
    X = rng.integers(0, 10, size=(500, 2)).astype(float)  # whole numbers stay exact when moved
    labels = rng.integers(0, 3, 500)
    assert objective(X + 2.0**50, labels) == pytest.approx(objective(X, labels), rel=1e-9)


@given(graphs(), st.floats(1e-6, 1e6))
def test_ncut_does_not_change_with_the_scale_of_the_graph(case, scale):
    W, labels = case
    assert metrics.ncut_objective(scale * W, labels) == pytest.approx(metrics.ncut_objective(W, labels), abs=1e-9)


@given(graphs())
def test_ncut_is_between_0_and_the_number_of_clusters(case):
    W, labels = case
    assert 0.0 <= metrics.ncut_objective(W, labels) <= len(np.unique(labels))


@pytest.mark.parametrize("dtype", [bool, np.uint8, np.int64, np.float32])
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_ncut_takes_graphs_of_any_number_type(dtype, form):
    W = np.array([[0, 1, 0], [1, 0, 1], [0, 1, 0]])
    assert metrics.ncut_objective(form(W.astype(dtype)), [0, 0, 1]) == pytest.approx(slow_ncut(W, np.array([0, 0, 1])))


@settings(max_examples=10)
@given(st.integers(0, 1000))
def test_skipped_candidates_are_never_the_medoid(seed):
    rng = np.random.default_rng(seed)
    X = np.concatenate([rng.normal(size=(150, 2)), rng.normal(5, 0.1, size=(50, 2))])
    labels, weights = np.zeros(200, dtype=int), rng.exponential(size=200)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(metrics, "_BLOCK", 1)
        found = metrics.kmedian_objective(X, labels, sample_weight=weights)
    assert found == pytest.approx(slow_kmedian(X, labels, weights, "euclidean"))


@given(st.lists(st.integers(0, 1), min_size=3, max_size=9))
def test_rounded_centre_does_not_rule_out_the_medoid(bits):
    X, labels = np.array(bits, dtype=float)[:, None], np.zeros(len(bits), dtype=int)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(metrics, "_BLOCK", 1)
        assert metrics.kmedian_objective(X + 2.0**52, labels) == min(sum(bits), len(bits) - sum(bits))


# --- inputs ---------------------------------------------------------------------------------------------------------

COLUMNS = {
    "list": list,
    "tuple": tuple,
    "numpy": np.asarray,
    "object": lambda values: np.asarray(values, dtype=object),
    "pandas": pd.Series,
    "pandas-categorical": lambda values: pd.Series(values, dtype="category"),
    "polars": pl.Series,
    "pyarrow": pa.array,
    "pyarrow-chunked": lambda values: pa.chunked_array([values]),
    "one-column-frame": lambda values: pd.DataFrame({"column": values}),
}
columns = pytest.mark.parametrize("column", COLUMNS.values(), ids=COLUMNS.keys())


@columns
def test_every_kind_of_column_gives_the_same_table(column):
    for labels in (LABELS, ["x", "x", "x", "y", "y", "y"]):
        table = metrics.composition(column(labels), column(SEX), sample_weight=column([1, 2, 1, 1, 1, 1]))
        assert table.counts.tolist() == [[1, 3], [2, 1]]
        assert table.cluster_names.tolist() == sorted(set(labels))
    X = np.arange(12.0).reshape(6, 2)
    assert metrics.kmeans_objective(X, column(LABELS)) == metrics.kmeans_objective(X, LABELS)


@pytest.mark.parametrize(
    "frame", [pd.DataFrame, pl.DataFrame, lambda data: pa.table(data)], ids=["pandas", "polars", "pyarrow"]
)
def test_data_may_be_a_frame(frame):
    X = frame({"a": [0.0, 2.0, 7.0], "b": [1.0, 1.0, 1.0]})
    assert metrics.kmeans_objective(X, [0, 0, 1]) == 2.0


@pytest.mark.parametrize(
    "labels",
    [[0, None, 1], [0.0, math.nan, 1.0], pd.Series([0, None, 1]), pl.Series([0, None, 1]), pa.array([0, None, 1])],
    ids=["list", "nan", "pandas", "polars", "pyarrow"],
)
def test_missing_label_is_an_error_that_names_the_row(labels):
    with pytest.raises(InvalidInputError, match="labels has missing values in row 1"):
        metrics.balance(labels, ["a", "b", "a"])


def test_columns_of_different_lengths_are_an_error():
    with pytest.raises(InvalidInputError, match="sensitive_features has 2 rows but labels has 3"):
        metrics.balance([0, 0, 1], ["a", "b"])
    with pytest.raises(InvalidInputError, match="sample_weight has 1 rows but labels has 3"):
        metrics.balance([0, 0, 1], ["a", "b", "a"], sample_weight=[1])
    with pytest.raises(InvalidInputError, match=r"labels has 2 rows but X has 3\. Pass one value per row of X"):
        metrics.kmeans_objective(np.zeros((3, 1)), [0, 1])
    with pytest.raises(InvalidInputError, match="labels has 2 rows but W has 3"):
        metrics.ncut_objective(np.zeros((3, 3)), [0, 1])


def test_empty_labels_are_an_error():
    with pytest.raises(InvalidInputError, match="labels is empty"):
        metrics.balance([], [])


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ([1, -2, 1], r"sample_weight is -2 in row 1, but a number ≥ 0"),
        ([1, math.nan, 1], "sample_weight is nan in row 1"),
        ([1, math.inf, 1], "sample_weight is inf in row 1"),
        ([0, 0, 0], "sample_weight is zero everywhere"),
        (["a", "b", "c"], "sample_weight must hold numbers"),
    ],
)
def test_wrong_weights_are_an_error_that_shows_them(weights, message):
    with pytest.raises(InvalidInputError, match=message):
        metrics.balance([0, 0, 1], ["a", "b", "a"], sample_weight=weights)
    with pytest.raises(InvalidInputError, match=message):
        metrics.kmeans_objective(np.zeros((3, 1)), [0, 0, 1], sample_weight=weights)


def test_unknown_words_are_errors_that_list_the_known_ones():
    with pytest.raises(InvalidInputError, match="average='median', but 'sum' or 'max' or 'mean' is needed"):
        metrics.fairness_error(LABELS, SEX, average="median")
    with pytest.raises(InvalidInputError, match="metric='cosine', but 'euclidean' or 'manhattan' is needed"):
        metrics.kmedian_objective(np.zeros((6, 1)), LABELS, "cosine")


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_graph_that_is_no_affinity_is_an_error(form):
    with pytest.raises(InvalidInputError, match=r"W has shape \(2, 3\)"):
        metrics.ncut_objective(form(np.ones((2, 3))), [0, 1])
    with pytest.raises(InvalidInputError, match=r"negative entries \(down to -1\)"):
        metrics.ncut_objective(form(np.array([[0.0, -1.0], [-1.0, 0.0]])), [0, 1])
    with pytest.raises(InvalidInputError, match="W is not symmetric: W and its transpose differ by up to 1"):
        metrics.ncut_objective(form(np.array([[0.0, 2.0], [1.0, 0.0]])), [0, 1])


def test_rounding_does_not_make_a_graph_asymmetric():
    W = np.array([[0.0, 1.0], [1.0 + 1e-9, 0.0]])
    assert metrics.ncut_objective(W, [0, 0]) == pytest.approx(0.0)
