"""Who was moved: small cases by hand, then what must hold for any two clusterings."""

from __future__ import annotations

import json

import numpy as np
import pytest

from cases import ESTIMATORS, people
from fairclust import FairKMeans, Penalty, compare, load
from fairclust.errors import InvalidInputError


def test_one_who_changed_cluster_by_hand():
    X = np.array([[0.0], [0.0], [10.0], [10.0], [4.0]])
    moves = compare([0, 0, 1, 1, 0], ["x", "x", "y", "y", "y"], X=X, sensitive_features=["F", "M", "F", "M", "M"])
    assert moves.moved.tolist() == [False] * 4 + [True]
    assert moves.renamed.tolist() == ["x", "x", "y", "y", "x"]
    # Before: the mean of 0, 0, 4 is 4/3. After: the mean of 10, 10, 4 is 8.
    assert moves.extra_distance[4] == pytest.approx((8 - 4) - (4 - 4 / 3))
    women, men, everybody = moves.groups
    assert (women.n_people, women.n_moved, men.n_people, men.n_moved) == (2, 0, 3, 1)
    assert men.mean == men.median == men.worst == pytest.approx(4 / 3)
    assert everybody.share_moved == pytest.approx(0.2)
    # Per head of the women: (0 − 4/3)² and 0 before; 0 and (10 − 8)² after.
    assert women.pays == pytest.approx(4 / 2 - (4 / 3) ** 2 / 2)
    assert moves.flows() == [("x", "y", 1)]


def test_names_of_clusters_do_not_matter():
    rng = np.random.default_rng(0)
    before, groups = rng.integers(0, 4, 300), rng.choice(["a", "b"], 300)
    after = np.array([3, 0, 2, 1])[before]
    assert compare(before, after, sensitive_features=groups).n_moved == 0


def test_matching_keeps_as_many_as_any_renaming_can():
    rng = np.random.default_rng(1)
    before, after = rng.integers(0, 4, 200), rng.integers(0, 4, 200)
    from itertools import permutations

    best = max(int((np.array(names)[before] == after).sum()) for names in permutations(range(4)))
    assert 200 - compare(before, after).n_moved == best


def test_what_groups_pay_adds_up_to_the_rise_of_the_objective():
    rng = np.random.default_rng(2)
    X, groups = rng.normal(size=(200, 3)), rng.choice(["a", "b", "c"], 200)
    before, after = rng.integers(0, 3, 200), rng.integers(0, 3, 200)
    moves = compare(before, after, X=X, sensitive_features=groups)
    paid = sum(group.pays * group.n_people for group in moves.groups[:-1])
    from fairclust.metrics import kmeans_objective

    assert paid == pytest.approx(kmeans_objective(X, after) - kmeans_objective(X, before))


def test_a_cluster_without_partner_is_told_apart():
    moves = compare([0, 0, 1, 1, 2, 2], [0, 0, 1, 1, 1, 1])
    assert moves.n_moved == 2
    assert "(before)" in str(moves.renamed[moves.moved][0])


def test_small_numbers_of_people_are_hidden_with_their_partner():
    before = np.zeros(100, dtype=int)
    before[50:] = 1
    after, groups = before.copy(), np.array(["a"] * 40 + ["b"] * 30 + ["c"] * 30)
    after[:2] = 1  # two of a
    after[60:80] = 0
    moves = compare(before, after, X=np.arange(100.0)[:, None], sensitive_features=groups, suppress_below=5)
    said = str(moves)
    assert "How many of a changed cluster is not shown" in said
    assert said.count("is not shown") >= 2  # or the total would give it away
    rows = {row["group"]: row for row in moves.to_dict()["groups"]}
    assert rows["a"]["n_moved"] is None
    assert all(row.get("extra_distance_worst") is None for row in rows.values())
    json.dumps(moves.to_dict(), allow_nan=False)


def test_labels_of_different_lengths_are_refused():
    with pytest.raises(InvalidInputError, match="before has 2 labels, but after has 3"):
        compare([0, 1], [0, 1, 1])


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_fairness_never_costs_less_than_nothing(estimator):
    data = people(300, n_clusters=4, n_groups=2, seed=5)
    for seed in range(3):
        model = estimator(4, goal=Penalty(1.0), random_state=seed).fit(data.X, sensitive_features=data.groups)
        moves = model.compare_to_plain(data.X, sensitive_features=data.groups, n_seeds=2)
        assert model.plain_.cost_of_fairness >= 0
        assert model.plain_.objective <= model.plain_.objectives.min()
        assert model.moves_ is moves
        assert len(model.plain_.objectives) == 2


def test_plain_is_also_fitted_from_the_fair_clusters():
    # Where no plain seed is good, the fair clusters are the better start: one seed, and no search for better places.
    rng = np.random.default_rng(0)
    X = np.concatenate(
        [rng.normal(c, 0.05, size=(60, 2)) for c in ([0, 0], [0, 9], [9, 0], [9, 9], [30, 30], [30, 39])]
    )
    groups = rng.choice(["a", "b"], len(X))
    found = []
    for seed in range(12):
        model = FairKMeans(6, goal=Penalty(1e-6), solver="bound", init="random", n_init=1, random_state=seed)
        model.fit(X, sensitive_features=groups)
        model.set_params(random_state=seed + 100)
        model.compare_to_plain(X, sensitive_features=groups, n_seeds=1)
        found.append((model.plain_.objective, model.plain_.objectives[0], model.objective_))
    assert all(plain <= fair * (1 + 1e-9) for plain, _, fair in found)
    assert any(plain < seed * 0.99 for plain, seed, _ in found)  # the seed alone would have told too little


def test_a_comparison_is_of_one_fit_and_no_part_of_the_model_file(tmp_path):
    data = people(200, n_clusters=3, n_groups=2, seed=5)
    model = FairKMeans(3, random_state=0).fit(data.X, sensitive_features=data.groups)
    model.compare_to_plain(data.X, sensitive_features=data.groups, n_seeds=1)
    model.save(tmp_path / "m.fairclust")
    assert not hasattr(load(tmp_path / "m.fairclust"), "moves_")
    model.fit(data.X, sensitive_features=data.groups)
    assert not hasattr(model, "moves_")


def test_moves_as_a_data_frame_have_a_row_per_group_and_count_weights():
    X = np.array([[0.0], [0.0], [10.0], [10.0], [4.0]])
    moves = compare(
        [0, 0, 1, 1, 0], [0, 0, 1, 1, 1], X=X, sensitive_features=["F", "M", "F", "M", "M"],
        sample_weight=[1, 1, 1, 1, 2],
    )  # fmt: skip
    frame = moves.to_frame()
    assert frame["share_moved"].tolist() == [0.0, pytest.approx(2 / 4), pytest.approx(2 / 6)]
    assert frame["pays"].tolist() == [group.pays for group in moves.groups]
    with pytest.raises(InvalidInputError, match="sample_weight has 4 rows"):
        compare([0, 0, 1, 1, 0], [0, 0, 1, 1, 1], X=X, sample_weight=[1, 1, 1, 1])
