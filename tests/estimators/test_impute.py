"""``Features(missing="impute")``: empty cells hold the mean or the commonest category of the rows that were fitted."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from fairclust import FairKMeans, FairKMedian, Features, load
from fairclust.scaling import ArrayBlocks

IMPUTE = Features(missing="impute")


def people(n_rows=300, seed=0):
    """Numbers and words with gaps, sex without, and weights."""
    rng = np.random.default_rng(seed)
    kind = rng.integers(3, size=n_rows)
    frame = pd.DataFrame(
        {
            "income": 20.0 + 30.0 * kind + rng.normal(size=n_rows),
            "age": 40.0 + rng.normal(0, 8, n_rows),
            "job": np.array(["cook", "clerk", "smith"], dtype=object)[kind],
        }
    )
    for name in frame:
        frame.loc[rng.random(n_rows) < 0.1, name] = None
    return frame, rng.choice(["F", "M"], n_rows), rng.integers(1, 4, n_rows).astype(float)


def filled(frame, weights):
    """The same table, filled by hand."""
    whole = frame.copy()
    for name in ("income", "age"):
        there = frame[name].notna()
        whole[name] = frame[name].fillna(np.average(frame[name][there], weights=weights[there]))
    counts = pd.Series(weights).groupby(frame["job"]).sum()
    whole["job"] = frame["job"].fillna(counts.idxmax())
    return whole


@pytest.mark.parametrize("weighted", [False, True])
def test_numbers_take_the_mean_and_words_the_commonest(weighted):
    frame, sex, weights = people()
    given = {"sample_weight": weights} if weighted else {}
    model = FairKMeans(3, features=IMPUTE, random_state=0).fit(frame, sensitive_features=sex, **given)
    whole = filled(frame, weights if weighted else np.ones(len(frame)))
    np.testing.assert_array_equal(model.predict(frame, sex), model.predict(whole, sex))
    profiles, sizes = model.cluster_profiles_, model.cluster_sizes_
    own = np.average(whole["income"], weights=weights if weighted else None)
    assert np.average(profiles["income"], weights=sizes) == pytest.approx(own, rel=1e-6)
    jobs = [name for name in profiles if name.startswith("job=")]
    np.testing.assert_allclose(profiles[jobs].sum(axis=1), 1.0, atol=1e-6)


def test_numbers_alone_are_fitted_as_if_they_had_been_filled():
    frame, sex, _ = people()
    X = frame[["income", "age"]]
    whole = X.fillna(X.mean())
    found = FairKMeans(3, features=IMPUTE, random_state=0).fit(X, sensitive_features=sex)
    wanted = FairKMeans(3, random_state=0).fit(whole, sensitive_features=sex)
    np.testing.assert_array_equal(found.labels_, wanted.labels_)
    assert found.objective_ == pytest.approx(wanted.objective_)


def test_new_rows_are_filled_with_what_the_fit_learned(tmp_path):
    frame, sex, _ = people()
    model = FairKMeans(3, features=IMPUTE, random_state=0).fit(frame, sensitive_features=sex)
    model.save(tmp_path / "m.fairclust")
    new = people(50, seed=1)[0]
    new["age"] += 100.0  # another mean
    assert (model.predict(new) == model.predict(filled_as(frame, new))).all()
    assert (load(tmp_path / "m.fairclust").predict(new) == model.predict(new)).all()


def filled_as(fitted, new):
    whole = new.copy()
    for name in ("income", "age"):
        whole[name] = new[name].fillna(fitted[name].mean())
    whole["job"] = new["job"].fillna(fitted["job"].mode()[0])
    return whole


@pytest.mark.filterwarnings("ignore:X has feature names")
def test_rows_in_blocks_are_filled_with_what_all_of_them_hold():
    frame, sex, _ = people(400)
    blocks = ArrayBlocks([frame[:150], frame[150:]])
    model = FairKMeans(3, features=IMPUTE, random_state=0).fit(blocks, sensitive_features=sex)
    memory = FairKMeans(3, features=IMPUTE, random_state=0).fit(frame, sensitive_features=sex)
    whole = filled(frame, np.ones(len(frame)))
    np.testing.assert_array_equal(model.predict(frame, sex), model.predict(whole, sex))
    assert model.objective_ == pytest.approx(memory.objective_, rel=0.01)


def test_gowers_distance_fills_too():
    frame, sex, _ = people()
    model = FairKMedian(3, metric="gower", features=IMPUTE, random_state=0).fit(frame, sensitive_features=sex)
    assert (model.predict(frame) == model.predict(filled(frame, np.ones(len(frame))))).all()


def test_a_column_without_any_value_says_nothing():
    frame, sex, _ = people()
    without = FairKMeans(3, features=IMPUTE, random_state=0).fit(frame, sensitive_features=sex)
    empty = FairKMeans(3, features=IMPUTE, random_state=0).fit(frame.assign(nothing=np.nan), sensitive_features=sex)
    assert empty.objective_ == pytest.approx(without.objective_)
