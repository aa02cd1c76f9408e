"""Loaders of the paper's three real tables, all from the UCI repository (CC BY 4.0).

Only parsing lives here; `_download` brings the files.
"""

from __future__ import annotations

import bz2
import csv
import io
import os
import zipfile
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import Bunch

from fairclust.datasets._bunch import make_bunch
from fairclust.datasets._download import DataFile, locate, path_of
from fairclust.datasets._preprocessing import standardize_and_normalize
from fairclust.errors import DataUnavailableError, InvalidInputError

_UCI = "https://archive.ics.uci.edu/ml/machine-learning-databases"

ADULT = {
    "train": DataFile(
        folder="adult",
        name="adult.data",
        url=f"{_UCI}/adult/adult.data",
        sha256="5b00264637dbfec36bdeaab5676b0b309ff9eb788d63554ca0a249491c86603d",
    ),
    "test": DataFile(
        folder="adult",
        name="adult.test",
        url=f"{_UCI}/adult/adult.test",
        sha256="a2a9044bc167a35b2361efbabec64e89d69ce82d9790d2980119aac5fd7e9c05",
    ),
}
BANK = DataFile(
    folder="bank",
    name="bank-additional.zip",
    url=f"{_UCI}/00222/bank-additional.zip",
    sha256="a607b5edab6c6c75ce09c39142a77702c38123bd5aa7ae89a63503bbe17d65cd",
    member="bank-additional/bank-additional-full.csv",
    member_sha256="74adfc578bf77a7ff4bb1ba4a9f8709d9e3c6907342959c2c8416847e0afb4d8",
)
CENSUS = {
    "sample": DataFile(
        folder="census1990",
        name="hUSCensus1990raw50K.csv.bz2",
        url=None,
        sha256="7d59df56685b38bab10e095b319bd2dad6dfeb2c70b6f874b60d5b5c4508d8e5",
    ),
    # Its hash is not known to us; the number of rows and columns is checked instead.
    "full": DataFile(
        folder="census1990",
        name="USCensus1990raw.data.txt",
        url=f"{_UCI}/census1990-mld/USCensus1990raw.data.txt",
        sha256=None,
    ),
}

# Columns of the files, counted from 0.
_ADULT_FEATURES = {"age": 0, "fnlwgt": 2, "education-num": 4, "capital-gain": 10, "hours-per-week": 12}
_ADULT_NUMERIC = {**_ADULT_FEATURES, "capital-loss": 11}
_ADULT_GROUPS = {"race": 8, "sex": 9}  # columns, too
_BANK_FEATURES = ("age", "duration", "euribor3m", "nr.employed", "cons.price.idx", "campaign")
_CENSUS_FEATURES = {
    "AGE": 12, "ANCSTRY1": 35, "ANCSTRY2": 36, "AVAIL": 47, "CITIZEN": 53, "CLASS": 54, "DEPART": 55, "ENGLISH": 58,
    "FERTIL": 60, "HOURS": 63, "IMMIGR": 64, "INCOME1": 65, "INDUSTRY": 73, "MEANS": 80, "MIGPUMA": 81, "PWGT1": 93,
    "RACE": 94, "RAGECHLD": 95, "REARNING": 96, "RIDERS": 101, "SCHOOL": 109, "TRAVTIME": 116, "WEEK89": 118,
    "YEARSCH": 122, "YRSSERV": 124,
}  # fmt: skip
_CENSUS_SEX = 112  # column of SEX in the full table; the sample has one column before it
_CENSUS_GROUPS = np.array(["male", "female"])  # codes 0 and 1 of the code book
_CENSUS_ROWS = {"sample": 50_000, "full": 2_458_285}  # that a complete file has
_BLOCK_ROWS = 50_000  # read at a time: 18 MB of text

_LICENCE = "Licence: CC BY 4.0. Features and K as in Ziko et al., 'Variational Fair Clustering', AAAI 2021.\n"
_ADULT_DESCRIPTION = f"""\
Adult: people of the 1994 US census, five numeric features, groups by sex or race. K=10.
Becker, B. and Kohavi, R. (1996). Adult. UCI Machine Learning Repository. https://doi.org/10.24432/C5XW20
{_LICENCE}"""
_BANK_DESCRIPTION = f"""\
Bank: calls of a Portuguese bank, six numeric features, groups by marital status ('unknown' left out). K=10.
Moro, S., Rita, P. and Cortez, P. (2014). Bank Marketing. UCI Machine Learning Repository.
https://doi.org/10.24432/C5K306
{_LICENCE}"""
_CENSUS_DESCRIPTION = f"""\
Census 1990: person records of the 1 % sample of the 1990 US census, 25 features, groups by sex. K=20.
Meek, C., Thiesson, B. and Heckerman, D. (2001). US Census Data (1990). UCI Machine Learning Repository.
https://doi.org/10.24432/C5VP42
{_LICENCE}"""


def fetch_adult(
    *,
    data_home: str | os.PathLike[str] | None = None,
    download: bool = True,
    preprocess: bool = True,
    subset: Literal["train", "test", "all"] = "train",
    sensitive: Literal["sex", "race"] = "sex",
    features: Literal["paper", "numeric"] = "paper",
) -> Bunch:
    """Load the Adult table; the training part is the paper's *Adult* (32,561 people, two groups).

    Parameters
    ----------
    data_home : path-like or None, default=None
        Data folder. None: the environment variable FAIRCLUST_DATA, else `fairclust` in the user's cache folder.
    download : bool, default=True
        Fetch the file from the UCI repository if it is not in the data folder.
    preprocess : bool, default=True
        Apply `standardize_and_normalize`, as the paper does; False gives the raw values.
    subset : {"train", "test", "all"}, default="train"
        Rows: 32,561, 16,281, or both in this order.
    sensitive : {"sex", "race"}, default="sex"
        The column that gives the groups.
    features : {"paper", "numeric"}, default="paper"
        The five columns of numbers that the paper takes, or all six (with capital-loss).

    Returns
    -------
    Bunch
        `data` (n_samples, 5 or 6) float64, `sensitive_features` (n_samples,) with the names of the source,
        `target_proportions` (the data's shares), `n_clusters` (10), `feature_names`, `DESCR`.

    Raises
    ------
    DataUnavailableError
        If the file is absent and cannot be downloaded, or has the wrong hash.

    Examples
    --------
    >>> from fairclust import datasets
    >>> adult = datasets.fetch_adult()  # doctest: +SKIP
    >>> adult.data.shape, sorted(adult.target_proportions)  # doctest: +SKIP
    ((32561, 5), ['Female', 'Male'])
    """
    _require_one_of("subset", subset, ("train", "test", "all"))
    _require_one_of("sensitive", sensitive, tuple(_ADULT_GROUPS))
    _require_one_of("features", features, ("paper", "numeric"))
    columns = _ADULT_FEATURES if features == "paper" else _ADULT_NUMERIC
    parts = ("train", "test") if subset == "all" else (subset,)
    paths = [locate(ADULT[part], data_home, download=download) for part in parts]
    rows = [row for path in paths for row in _adult_rows(path)]
    return make_bunch(
        _features([[row[column] for column in columns.values()] for row in rows], preprocess=preprocess),
        np.array([row[_ADULT_GROUPS[sensitive]] for row in rows]),
        n_clusters=10,
        feature_names=tuple(columns),
        description=_ADULT_DESCRIPTION,
    )


def fetch_bank(
    *, data_home: str | os.PathLike[str] | None = None, download: bool = True, preprocess: bool = True
) -> Bunch:
    """Load the Bank Marketing table: 41,108 calls, three groups by marital status.

    Parameters
    ----------
    data_home, download, preprocess
        As in `fetch_adult`.

    Returns
    -------
    Bunch
        `data` (41108, 6) float64, `sensitive_features` (41108,) with "divorced", "married" or "single" (the 80 rows
        that say "unknown" are left out), `target_proportions`, `n_clusters` (10), `feature_names`, `DESCR`.

    Raises
    ------
    DataUnavailableError
        If the file is absent and cannot be downloaded, or has the wrong hash.

    Examples
    --------
    >>> from fairclust import datasets
    >>> datasets.fetch_bank().data.shape  # doctest: +SKIP
    (41108, 6)
    """
    rows = [row for row in _bank_rows(locate(BANK, data_home, download=download)) if row["marital"] != "unknown"]
    return make_bunch(
        _features([[row[name] for name in _BANK_FEATURES] for row in rows], preprocess=preprocess),
        np.array([row["marital"] for row in rows]),
        n_clusters=10,
        feature_names=_BANK_FEATURES,
        description=_BANK_DESCRIPTION,
    )


def census1990_on_disk(data_home: str | os.PathLike[str] | None = None) -> tuple[str, ...]:
    """Say which files of US Census 1990 are in the data folder: subsets that `fetch_census1990` loads at once.

    Parameters
    ----------
    data_home : path or None
        As in `fetch_adult`.

    Returns
    -------
    subsets : tuple of str
        Out of "sample" and "full".

    Examples
    --------
    >>> from fairclust import datasets
    >>> datasets.census1990_on_disk("a folder without data")
    ()
    """
    return tuple(subset for subset, file in CENSUS.items() if path_of(file, data_home).is_file())


def fetch_census1990(
    *,
    data_home: str | os.PathLike[str] | None = None,
    download: bool = True,
    preprocess: bool = True,
    subset: Literal["sample", "full"] | None = None,
) -> Bunch:
    """Load the US Census 1990 table (2,458,285 people), or a real sample of 50,000 of them; two groups by sex.

    Parameters
    ----------
    data_home, download, preprocess
        As in `fetch_adult`.
    subset : {"sample", "full"} or None, default=None
        "full" is the raw file of the UCI repository (0.9 GB to download). "sample" is
        `census1990/hUSCensus1990raw50K.csv.bz2`, which has no stable public address and so must be put into the data
        folder by hand. None takes the full table if it is there, else the sample if that is there, else downloads the
        full table.

    Returns
    -------
    Bunch
        `data` (n_samples, 25) float32, `sensitive_features` (n_samples,) with "female" or "male",
        `target_proportions`, `n_clusters` (20), `feature_names`, `DESCR`.

    Raises
    ------
    DataUnavailableError
        If the file is absent and cannot be downloaded, or is not the expected table.

    Notes
    -----
    The full table is read in blocks into one float32 array of 0.25 GB; preprocessing makes a second one.
    By the code book SEX is 0 for male and 1 for female.

    Examples
    --------
    >>> from fairclust import datasets
    >>> datasets.fetch_census1990(subset="sample").data.shape  # doctest: +SKIP
    (50000, 25)
    """
    _require_one_of("subset", subset, (None, "sample", "full"))
    chosen = subset or _census_subset_at_hand(data_home)
    path = locate(CENSUS[chosen], data_home, download=download)
    data, codes = _census_table(path, _CENSUS_ROWS[chosen])
    return make_bunch(
        standardize_and_normalize(data) if preprocess else data,
        _CENSUS_GROUPS[codes],
        n_clusters=20,
        feature_names=tuple(_CENSUS_FEATURES),
        description=_CENSUS_DESCRIPTION,
    )


def _require_one_of(argument: str, value: str | None, allowed: tuple[str | None, ...]) -> None:
    if value not in allowed:
        raise InvalidInputError(f"{argument}={value!r}, expected one of {', '.join(map(repr, allowed))}.")


def _features(rows: list[list[str]], *, preprocess: bool) -> NDArray[np.floating[Any]]:
    data = np.array(rows, dtype=np.float64)
    return standardize_and_normalize(data) if preprocess else data


def _adult_rows(path: Path) -> Iterator[list[str]]:
    """Fields of each person; the remark on top of adult.test and the empty line at the end hold too few to count."""
    with path.open(encoding="ascii", newline="") as stream:
        yield from (row for row in csv.reader(stream, skipinitialspace=True) if len(row) == 15)


def _bank_rows(path: Path) -> Iterator[dict[str, str]]:
    with zipfile.ZipFile(path) as archive, archive.open(str(BANK.member)) as stream:
        yield from csv.DictReader(io.TextIOWrapper(stream, encoding="ascii", newline=""), delimiter=";")


def _census_subset_at_hand(data_home: str | os.PathLike[str] | None) -> str:
    at_hand = census1990_on_disk(data_home)
    return "sample" if at_hand == ("sample",) else "full"


def _census_table(path: Path, n_rows: int) -> tuple[NDArray[np.float32], NDArray[np.intp]]:
    """Features (n_rows, 25) and codes of SEX (n_rows,) of either census file."""
    data = np.empty((n_rows, len(_CENSUS_FEATURES)), dtype=np.float32)
    codes = np.empty(n_rows, dtype=np.intp)
    found = 0
    for block in _census_blocks(path):
        end = found + len(block)
        if end <= n_rows:
            data[found:end], codes[found:end] = block[:, :-1], block[:, -1]
        found = end
    if found != n_rows:
        raise DataUnavailableError(f"{path} has {found} rows, expected {n_rows}. Delete it and try again.")
    if not np.isin(codes, (0, 1)).all():
        raise DataUnavailableError(
            f"{path} has SEX codes {np.unique(codes)}, expected 0 and 1. Delete it and try again."
        )
    return data, codes


def _census_blocks(path: Path) -> Iterator[NDArray[np.float32]]:
    """Blocks of rows with the 25 features and SEX; the sample is a csv with a header and an index column."""
    is_sample = path.suffix == ".bz2"
    columns = [column + is_sample for column in (*_CENSUS_FEATURES.values(), _CENSUS_SEX)]
    with bz2.open(path, "rt") if is_sample else path.open(encoding="ascii") as stream:
        lines: Iterable[str] = (line for line in stream if not line.isspace())
        lines = islice(lines, int(is_sample), None)
        while block := list(islice(lines, _BLOCK_ROWS)):
            try:
                yield np.loadtxt(
                    block, dtype=np.float32, delimiter="," if is_sample else None, usecols=columns, ndmin=2
                )
            except ValueError as reason:
                raise DataUnavailableError(
                    f"{path} is not the census table: {reason}. Delete it and try again."
                ) from reason
