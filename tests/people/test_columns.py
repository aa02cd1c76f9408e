"""Groups: any column becomes codes in sorted order of its names; what cannot be a group is named in the message."""

from __future__ import annotations

import re

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairclust._people.columns import to_column
from fairclust._people.encode import encode_groups
from fairclust.errors import InvalidInputError

SEX = ["M", "F", "F", "M", "F"]


def test_five_people_are_encoded_as_by_hand():
    groups = encode_groups(SEX)
    assert groups.names.tolist() == ["F", "M"]
    assert groups.codes.tolist() == [1, 0, 0, 1, 0]
    assert groups.target.tolist() == [0.6, 0.4]
    assert groups.n_groups == 2


COLUMNS = {
    "list": SEX,
    "tuple": tuple(SEX),
    "array": np.array(SEX),
    "objects": np.array(SEX, dtype=object),
    "column": np.array(SEX)[:, None],
    "pandas": pd.Series(SEX),
    "pandas, odd index": pd.Series(SEX, index=[9, 8, 7, 6, 5]),
    "pandas categories": pd.Series(SEX, dtype="category"),
    "pandas strings": pd.Series(SEX, dtype="string"),
    "pandas frame": pd.DataFrame({"sex": SEX}),
    "polars": pl.Series(SEX),
    "polars categories": pl.Series(SEX, dtype=pl.Categorical),
    "polars frame": pl.DataFrame({"sex": SEX}),
    "pyarrow": pa.chunked_array([SEX]),
    "pyarrow table": pa.table({"sex": SEX}),
}


@pytest.mark.parametrize("column", COLUMNS.values(), ids=COLUMNS.keys())
def test_every_kind_of_column_gives_the_same_groups(column):
    groups = encode_groups(column)
    assert groups.names.tolist() == ["F", "M"]
    assert groups.codes.tolist() == [1, 0, 0, 1, 0]


@pytest.mark.parametrize(
    ("values", "names"),
    [
        ([3, 1, 2], [1, 2, 3]),
        ([2.5, -1.0], [-1.0, 2.5]),
        ([True, False, True], [False, True]),
        (np.array(["2020-01-02", "2019-01-01"], dtype="datetime64[D]"), None),
        (["a", 1, "b"], [1, "a", "b"]),
        (pd.Series([1, 2, 1], dtype="Int64"), [1, 2]),
    ],
)
def test_names_are_sorted_whatever_their_type(values, names):
    groups = encode_groups(values)
    if names is not None:
        assert groups.names.tolist() == names
    assert np.array_equal(groups.names[groups.codes], np.asarray(to_column(values), dtype=groups.names.dtype))


def test_many_names_and_names_that_come_late_are_found():
    values = np.concatenate([np.zeros(20_000, dtype=int), np.arange(500)])
    groups = encode_groups(values)
    assert groups.names.tolist() == list(range(500))
    assert np.array_equal(groups.codes, values)


@given(st.lists(st.integers(-5, 5) | st.booleans(), min_size=1, max_size=30), st.randoms())
def test_codes_do_not_depend_on_the_order_of_rows(values, random):
    order = list(range(len(values)))
    random.shuffle(order)
    groups, shuffled = encode_groups(np.array(values)), encode_groups(np.array(values)[order])
    assert np.array_equal(shuffled.codes, groups.codes[order])
    assert np.array_equal(shuffled.names, groups.names)


def test_weights_decide_the_shares():
    groups = encode_groups(SEX, weights=np.array([1.0, 0.0, 0.0, 1.0, 2.0]))
    assert groups.target.tolist() == [0.5, 0.5]


MISSING = {
    "nan": np.array([1.0, np.nan, 2.0]),
    "None": ["a", None, "b"],
    "pandas": pd.Series(["a", None, "b"]),
    "pandas NA": pd.Series([1, pd.NA, 2], dtype="Int64"),
    "pandas category": pd.Series(["a", None, "b"], dtype="category"),
    "polars": pl.Series(["a", None, "b"]),
    "pyarrow": pa.chunked_array([["a", None, "b"]]),
    "NaT": np.array(["2020-01-01", "NaT", "2020-01-02"], dtype="datetime64[D]"),
    "objects": np.array(["a", float("nan"), "b"], dtype=object),
}


@pytest.mark.parametrize("values", MISSING.values(), ids=MISSING.keys())
def test_missing_values_are_named_by_row(values):
    with pytest.raises(InvalidInputError, match=re.escape("sensitive_features has missing values in row 1. Drop")):
        encode_groups(values)


def test_many_missing_values_are_counted():
    values = np.array([0.0, 1.0, 1.0, 0.0, 1.0, 1.0, 0.0])
    values[[0, 2, 3, 5]] = np.nan
    with pytest.raises(InvalidInputError, match="missing values in rows 0, 2 and 2 more"):
        encode_groups(values)


@pytest.mark.parametrize(
    ("target", "message"),
    [
        ({"F": 0.5, "M": 0.6}, "target_proportions adds up to 1.1, not 1"),
        ([0.5, 0.4], "target_proportions adds up to 0.9, not 1"),
        ({"F": 0.5, "X": 0.5}, "target_proportions names 'X', but the groups are 'F', 'M'"),
        ({"F": 1.0}, "target_proportions has no share for 'M'"),
        ([1.0], r"target_proportions has shape \(1,\), but there are 2 groups: 'F', 'M'"),
        ([0.2, 0.3, 0.5], r"target_proportions has shape \(3,\), but there are 2 groups"),
        ([-0.5, 1.5], "target_proportions must be shares between 0 and 1"),
        ([np.nan, 1.0], "target_proportions must be shares between 0 and 1"),
    ],
)
def test_a_wrong_target_is_explained(target, message):
    with pytest.raises(InvalidInputError, match=message):
        encode_groups(SEX, target_proportions=target)


def test_a_target_for_a_group_without_weight_cannot_be_reached():
    weights = np.array([0.0, 1.0, 1.0, 0.0, 1.0])
    with pytest.raises(InvalidInputError, match=r"gives 0\.50 to group .*'M'.*, which has no weight"):
        encode_groups(SEX, target_proportions=[0.5, 0.5], weights=weights)


@pytest.mark.parametrize(
    "target", [{"M": 0.25, "F": 0.75}, [0.75, 0.25], np.array([0.75, 0.25]), pd.Series([0.75, 0.25])]
)
def test_a_target_is_given_by_name_or_in_sorted_order(target):
    assert encode_groups(SEX, target_proportions=target).target.tolist() == [0.75, 0.25]


def test_a_target_by_text_fits_groups_that_are_numbers():
    assert encode_groups([1, 2, 2], target_proportions={"1": 0.3, "2": 0.7}).target.tolist() == [0.3, 0.7]


def test_weights_of_zero_everywhere_are_refused():
    with pytest.raises(InvalidInputError, match="sample_weight is zero everywhere"):
        encode_groups(SEX, weights=np.zeros(5))


@pytest.mark.parametrize(
    "two", [np.zeros((4, 2)), pd.DataFrame({"a": [1], "b": [2]}), pl.DataFrame({"a": [1], "b": [2]})]
)
def test_two_columns_are_told_to_be_joined(two):
    with pytest.raises(InvalidInputError, match="sensitive_features has 2 columns"):
        to_column(two)


@pytest.mark.parametrize("shape", [(), (2, 2, 2)])
def test_what_is_no_column_is_refused(shape):
    with pytest.raises(InvalidInputError, match="must be one column of values"):
        to_column(np.zeros(shape))


def test_values_that_cannot_be_compared_are_refused():
    with pytest.raises(InvalidInputError, match="plain values such as text or numbers"):
        encode_groups(np.array([{"a": 1}, {"b": 2}], dtype=object))
