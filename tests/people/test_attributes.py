"""Columns, matrices and gaps → cells, membership and targets."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest

from fairclust._people.attributes import Groups
from fairclust._people.columns import read_columns
from fairclust._people.encode import encode_people
from fairclust.errors import InvalidInputError

SEX = ["F", "M", "M", "F", "M"]
PLACE = ["town", "town", "land", "land", "town"]
TWO = {"sex": SEX, "place": PLACE}


def masses(population, weights=None):
    """Weight of each column of the membership table."""
    cells = population.cells
    return np.bincount(cells.codes, weights=weights, minlength=cells.n_cells) @ cells.membership


# --- one and several attributes ---------------------------------------------------------------------------------------


def test_cells_of_one_attribute_are_its_groups():
    people = encode_people(SEX)
    assert people.cells.codes.tolist() == [0, 1, 1, 0, 1]
    np.testing.assert_array_equal(people.cells.membership, np.eye(2))
    assert people.attributes.names.tolist() == ["F", "M"]
    assert people.attributes.target.tolist() == [0.4, 0.6]


def test_cells_of_two_attributes_are_the_combinations_that_occur():
    people = encode_people(TWO)
    assert people.cells.n_cells == 4
    assert people.attributes.names.tolist() == ["sex=F", "sex=M", "place=land", "place=town"]
    np.testing.assert_array_equal(people.cells.membership.sum(axis=1), np.full(4, 2.0))
    assert masses(people).tolist() == [2, 3, 2, 3]


@pytest.mark.parametrize(
    "table",
    [
        pd.DataFrame(TWO),
        pl.DataFrame(TWO),
        np.array([SEX, PLACE]).T,
        [list(pair) for pair in zip(SEX, PLACE, strict=True)],
        {"sex": pd.Series(SEX), "place": pl.Series(PLACE)},
    ],
    ids=["pandas", "polars", "array", "list of rows", "dict of series"],
)
def test_tables_of_every_kind_give_the_same_cells(table):
    np.testing.assert_array_equal(encode_people(table).cells.codes, encode_people(TWO).cells.codes)


def test_intersections_are_one_attribute_of_combinations():
    people = encode_people(TWO, options=Groups(intersections=True))
    assert people.attributes.names.tolist() == ["F & land", "F & town", "M & land", "M & town"]
    assert people.attributes.target.tolist() == [0.2, 0.2, 0.2, 0.4]
    np.testing.assert_array_equal(people.cells.membership, np.eye(4))


def test_a_boolean_table_is_a_membership_matrix():
    matrix = np.array([[True, True], [True, False], [False, False], [False, True]])
    people = encode_people(pd.DataFrame(matrix, columns=["carer", "veteran"]))
    (attribute,) = people.attributes
    assert attribute.is_overlapping
    assert people.attributes.names.tolist() == ["carer", "veteran"]
    assert people.attributes.target.tolist() == [0.5, 0.5]
    assert masses(people).tolist() == [2, 2, 4]  # the last column counts everyone


def test_a_membership_matrix_with_one_group_each_is_a_column():
    people = encode_people(np.eye(3, dtype=bool)[[0, 2, 1, 1]])
    (attribute,) = people.attributes
    assert not attribute.is_overlapping
    np.testing.assert_array_equal(people.cells.membership, np.eye(3))
    assert people.cells.codes.tolist() == [0, 2, 1, 1]


def test_many_columns_have_no_more_cells_than_people():
    rng = np.random.default_rng(0)
    table = {f"c{i}": rng.integers(50, size=200) for i in range(12)}
    people = encode_people(table)
    assert people.cells.n_cells <= 200
    counts = np.unique(table["c0"], return_counts=True)[1]
    np.testing.assert_array_equal(masses(people)[: len(counts)], counts)


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ({"a": SEX, "b": PLACE[:3]}, r"columns of different lengths: \{'a': 5, 'b': 3\}"),
        (pd.DataFrame(index=range(3)), "sensitive_features has no column"),
        ({"a": SEX, "b": [None] * 5}, "missing values in rows 0, 1 and 3 more of column 'b'"),
    ],
)
def test_a_wrong_table_is_explained(table, message):
    with pytest.raises(InvalidInputError, match=message):
        encode_people(table)


# --- missing values ---------------------------------------------------------------------------------------------------

GAPS = ["F", None, "M", "F", None]


def test_missing_groups_are_an_error_that_says_what_to_do():
    with pytest.raises(InvalidInputError, match=r"missing values in rows 1, 4\. Drop .*missing='own'"):
        encode_people(GAPS)


def test_missing_groups_can_be_a_group_of_their_own():
    people = encode_people(GAPS, options=Groups(missing="own"))
    assert people.attributes.names.tolist() == ["F", "M", "missing"]
    assert people.attributes.target.tolist() == [0.4, 0.2, 0.4]
    with pytest.raises(InvalidInputError, match="has a group of that name"):
        encode_people(["missing", None], options=Groups(missing="own"))


def test_ignored_people_are_in_no_group():
    people = encode_people({"sex": GAPS, "place": PLACE}, options=Groups(missing="ignore"))
    assert people.attributes.names.tolist() == ["sex=F", "sex=M", "place=land", "place=town"]
    assert masses(people).tolist() == [2, 1, 2, 3]
    assert people.attributes.listed[0].target == pytest.approx([2 / 3, 1 / 3])


def test_a_missing_membership_can_be_ignored():
    frame = pl.DataFrame({"a": [True, None, False], "b": [True, True, True]})
    with pytest.raises(InvalidInputError, match="membership matrix with missing values in row 1"):
        encode_people(frame)
    people = encode_people(frame, options=Groups(missing="ignore"))
    assert masses(people).tolist() == [1, 2, 2]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"missing": "drop"}, r"Groups\(missing='drop'\), but"),
        ({"intersections": "yes"}, r"Groups\(intersections='yes'\), but"),
        ({"unknown": "far"}, r"Groups\(unknown='far'\), but"),
    ],
)
def test_a_wrong_option_is_explained(change, message):
    with pytest.raises(InvalidInputError, match=message):
        Groups(**change)


# --- numbers ----------------------------------------------------------------------------------------------------------


def test_numbers_are_cut_into_ranges_of_equal_weight():
    ages = np.arange(20, 80)
    people = encode_people(ages, options=Groups(bins=4))
    assert people.attributes.names.tolist() == ["under 35", "35 to under 50", "50 to under 65", "65 and over"]
    assert people.attributes.target.tolist() == [0.25] * 4


def test_ranges_count_a_weight_of_two_as_two_rows():
    rng = np.random.default_rng(1)
    ages, weights = rng.integers(18, 90, 300), rng.integers(0, 3, 300)
    options = Groups(bins=5)
    weighted = encode_people(ages, options=options, weights=weights.astype(float))
    repeated = encode_people(np.repeat(ages, weights), options=options)
    assert weighted.attributes.names.tolist() == repeated.attributes.names.tolist()
    np.testing.assert_allclose(weighted.attributes.target, repeated.attributes.target)


def test_values_that_are_alike_share_a_range():
    people = encode_people([0] * 90 + [1] * 10, options=Groups(bins=4))
    assert people.attributes.names.tolist() == ["under 1", "1 and over"]


def test_new_values_beyond_the_ranges_belong_to_the_first_or_last():
    people = encode_people({"age": np.arange(20, 80)}, options=Groups(bins={"age": 2}))
    cells = people.attributes.encode({"age": [3, 49, 50, 120]})
    assert cells.membership[cells.codes].argmax(axis=1).tolist() == [0, 0, 1, 1]


@pytest.mark.parametrize(
    ("table", "bins", "message"),
    [
        (SEX, 3, r"Groups\(bins=…\) needs numbers, but column 'group'"),
        ({"age": [1, 2], "pay": [1, 2]}, 2, r"there are 2 columns: 'age', 'pay'\. Give a dict"),
        ({"age": [1, 2]}, {"pay": 2}, r"Groups\(bins=…\) names 'pay', but the columns are 'age'"),
        ([1, 2, 3], 1, "a whole number ≥ 2 is needed"),
    ],
)
def test_wrong_bins_are_explained(table, bins, message):
    with pytest.raises(InvalidInputError, match=message):
        encode_people(table, options=Groups(bins=bins))


# --- targets ----------------------------------------------------------------------------------------------------------


def test_targets_are_given_by_attribute():
    people = encode_people(TWO, target_proportions={"sex": {"F": 0.5, "M": 0.5}})
    assert people.attributes.target.tolist() == [0.5, 0.5, 0.4, 0.6]
    flat = encode_people(TWO, target_proportions={"sex=F": 0.5, "sex=M": 0.5})
    assert flat.attributes.target.tolist() == people.attributes.target.tolist()


def test_every_cluster_may_have_a_target_of_its_own():
    rows = [[0.5, 0.5], [0.1, 0.9], [0.4, 0.6]]
    people = encode_people(SEX, target_proportions=rows, n_clusters=3)
    np.testing.assert_allclose(people.attributes.target, rows)
    named = [{"F": f, "M": m} for f, m in rows]
    np.testing.assert_allclose(encode_people(SEX, target_proportions=named, n_clusters=3).attributes.target, rows)
    both = encode_people(TWO, target_proportions={"sex": rows}, n_clusters=3)
    assert both.attributes.target.shape == (3, 4)


def test_targets_of_overlapping_groups_need_not_add_up():
    matrix = np.array([[True, True], [True, False], [False, False]])
    people = encode_people(matrix, target_proportions=[0.9, 0.5])
    assert people.attributes.target.tolist() == [0.9, 0.5]


@pytest.mark.parametrize(
    ("target", "message"),
    [
        ([0.5, 0.5], r"there are 2 attributes: 'sex', 'place'\. Give a dict"),
        ({"age": {"x": 1.0}}, "target_proportions names 'age', but the attributes are 'sex', 'place'"),
        ({"sex": {"F": 0.5, "M": 0.6}}, r"adds up to 1\.1, not 1"),
        ({"sex": [[0.5, 0.5]]}, "has 1 rows but n_clusters=3"),
    ],
)
def test_a_wrong_target_is_explained(target, message):
    with pytest.raises(InvalidInputError, match=message):
        encode_people(TWO, target_proportions=target, n_clusters=3)


# --- other people -----------------------------------------------------------------------------------------------------


def test_other_people_are_encoded_in_the_same_way():
    people = encode_people(TWO)
    cells = people.attributes.encode(pd.DataFrame({"place": ["land"], "sex": ["M"]}))  # columns found by name
    assert cells.membership[cells.codes].tolist() == [[0, 1, 1, 0]]


def test_a_combination_never_seen_is_known_where_its_groups_are():
    people = encode_people({"sex": ["F", "M"], "place": ["town", "land"]})
    cells = people.attributes.encode({"sex": ["F"], "place": ["land"]})
    assert cells.is_known.all()
    crossed = encode_people({"sex": ["F", "M"], "place": ["town", "land"]}, options=Groups(intersections=True))
    assert not crossed.attributes.encode({"sex": ["F"], "place": ["land"]}).is_known.any()


@pytest.mark.parametrize(
    ("table", "message"),
    [
        (
            {"sex": ["X"], "place": ["town"]},
            r"has 'X' in column 'sex', which fit\(\) did not see\. Known groups: 'F', 'M'",
        ),
        ({"sex": ["F"], "place": ["sea"]}, "has 'sea' in column 'place'"),
    ],
)
def test_a_group_never_seen_is_named(table, message):
    attributes = encode_people(TWO).attributes
    assert not attributes.encode(table).is_known.any()
    with pytest.raises(AssertionError, match=message):
        raise AssertionError(attributes.unknown(table))


def test_another_number_of_columns_is_an_error():
    with pytest.raises(InvalidInputError, match=r"has 1 columns, but fit\(\) saw 2"):
        encode_people(TWO).attributes.encode(SEX)


def test_a_series_gives_its_name_to_the_attribute():
    assert read_columns(pd.Series(SEX, name="sex")).names == ("sex",)
    assert read_columns(SEX).names == ("group",)
