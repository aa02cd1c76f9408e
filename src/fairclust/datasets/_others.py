"""Loaders of public tables and graphs that other papers of the field use.

Only parsing lives here; `_download` brings the files.
"""

from __future__ import annotations

import csv
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils import Bunch

from fairclust.datasets._bunch import make_bunch
from fairclust.datasets._download import DataFile, locate
from fairclust.datasets._preprocessing import standardize_and_normalize
from fairclust.errors import DataUnavailableError, InvalidInputError, MissingExtraError

CREDIT = DataFile(
    folder="credit_default",
    name="creditcard.csv",
    url=None,
    sha256="88bd2bd25327b52af2148b7437740aca427aaf8f0e52ad782ee8bbae44b509bd",
)
ACS = tuple(
    DataFile(folder="acs", name=f"ACSIncome.{part}.parquet", url=None, sha256=sha256)
    for part, sha256 in (
        ("test", "050a84d27232b70c14992ce996c9cd04fa1c6eccc8e1394760b6de3e01de9fc5"),
        ("validation", "cbe16ab9be0996473f132d3a7fafe456e7db6cb3b63c4d1fcc74e3e92b0bcef2"),
    )
)
LASTFM = {
    part: DataFile(folder="lastfm_asia", name=f"lastfm_asia_{part}.csv", url=None, sha256=sha256)
    for part, sha256 in (
        ("edges", "548eacff61bff564ab5007831fa4a7a30e1a3956075ffd24e43310ed33555842"),
        ("target", "91f19215f6eca8321feec038bd32900cf13fd4f7e041a9976cf202807c72ac16"),
    )
}

_CREDIT_GROUPS = {"sex": "SEX", "education": "EDUCATION", "marriage": "MARRIAGE"}
_CREDIT_IS_NO_FEATURE = ("ID", "default payment next month")
_ACS_FEATURES = ("AGEP", "WKHP", "SCHL")
_ACS_GROUPS = ("SEX", "RAC1P", "MAR")

_CREDIT_DESCRIPTION = """\
Credit: 30,000 clients of a Taiwanese bank in 2005, all columns of numbers but the group's; groups by sex, education or
marriage (the codes of the source).
Yeh, I.-C. (2009). Default of Credit Card Clients. UCI Machine Learning Repository. https://doi.org/10.24432/C55S3H
Licence: CC BY 4.0.
"""
_ACS_DESCRIPTION = """\
ACSIncome: working people of the American Community Survey 2018 (US Census Bureau, public), age, hours and schooling;
sex, race and marital status as three attributes. Selection of columns and people after Ding, Hardt, Miller and Schmidt,
"Retiring Adult", NeurIPS 2021.
"""
_LASTFM_DESCRIPTION = """\
LastFM Asia: 7,624 users of a music service, joined where they follow each other; groups by country (a code).
Rozemberczki, B. and Sarkar, R. (2020). Characteristic functions on graphs. CIKM 2020. Stanford Network
Analysis Project.
"""


def fetch_credit(
    *,
    data_home: str | os.PathLike[str] | None = None,
    preprocess: bool = True,
    sensitive: Literal["sex", "education", "marriage"] = "sex",
) -> Bunch:
    """Load the credit table: 30,000 clients of a bank, two groups by sex.

    Parameters
    ----------
    data_home : path-like or None, default=None
        Data folder, as in `fetch_adult`. `credit_default/creditcard.csv`, a csv export of the UCI table, must be in it.
    preprocess : bool, default=True
        Apply `standardize_and_normalize`; False gives the raw values.
    sensitive : {"sex", "education", "marriage"}, default="sex"
        The column that gives the groups; the other two are features.

    Returns
    -------
    Bunch
        `data` (30000, 22) float64, `sensitive_features` (30000,) with the codes of the source, `target_proportions`,
        `n_clusters` (10), `feature_names`, `DESCR`.

    Raises
    ------
    DataUnavailableError
        If the file is absent or has the wrong hash.

    Examples
    --------
    >>> from fairclust import datasets
    >>> datasets.fetch_credit().data.shape  # doctest: +SKIP
    (30000, 22)
    """
    if sensitive not in _CREDIT_GROUPS:
        raise InvalidInputError(f"sensitive={sensitive!r}, expected one of {', '.join(map(repr, _CREDIT_GROUPS))}.")
    own = _CREDIT_GROUPS[sensitive]
    path = locate(CREDIT, data_home)
    with path.open(encoding="utf-8", newline="") as stream:
        header = next(csv.reader(stream))
        table = np.loadtxt(stream, delimiter=",")
    names = [name for name in header if name not in (*_CREDIT_IS_NO_FEATURE, own)]
    data = table[:, [header.index(name) for name in names]]
    return make_bunch(
        standardize_and_normalize(data) if preprocess else data,
        _as_names(table[:, header.index(own)]),
        n_clusters=10,
        feature_names=names,
        description=_CREDIT_DESCRIPTION,
    )


def fetch_acs(*, data_home: str | os.PathLike[str] | None = None, preprocess: bool = True) -> Bunch:
    """Load ACSIncome: 665,800 people with three sensitive attributes.

    Parameters
    ----------
    data_home, preprocess
        As in `fetch_credit`; `acs/ACSIncome.test.parquet` and `acs/ACSIncome.validation.parquet` must be in the folder.
        Needs pyarrow.

    Returns
    -------
    Bunch
        `data` (665800, 3) float64, `sensitive_features` a dict of three columns ("SEX", "RAC1P", "MAR") with the codes
        of the source as text, `target_proportions` a dict for each, `n_clusters` (12), `feature_names`, `DESCR`.

    Raises
    ------
    DataUnavailableError
        If a file is absent or has the wrong hash.

    Examples
    --------
    >>> from fairclust import datasets
    >>> sorted(datasets.fetch_acs().sensitive_features)  # doctest: +SKIP
    ['MAR', 'RAC1P', 'SEX']
    """
    paths = [locate(file, data_home) for file in ACS]
    try:
        import pyarrow as pa
        from pyarrow import parquet
    except ImportError as reason:
        raise MissingExtraError(
            "fetch_acs reads Parquet files with pyarrow, which is not installed. "
            "Run `pip install 'fairclust[parquet]'`."
        ) from reason
    table = pa.concat_tables([parquet.read_table(path, columns=[*_ACS_FEATURES, *_ACS_GROUPS]) for path in paths])
    data = np.column_stack([table[name].to_numpy().astype(np.float64) for name in _ACS_FEATURES])
    columns = {name: _as_names(table[name].to_numpy()) for name in _ACS_GROUPS}
    return Bunch(
        data=standardize_and_normalize(data) if preprocess else data,
        sensitive_features=columns,
        target_proportions={name: _shares(column) for name, column in columns.items()},
        n_clusters=12,
        feature_names=list(_ACS_FEATURES),
        DESCR=_ACS_DESCRIPTION,
    )


def fetch_lastfm(*, data_home: str | os.PathLike[str] | None = None) -> Bunch:
    """Load LastFM Asia: a graph of 7,624 people with 18 groups by country.

    Parameters
    ----------
    data_home : path-like or None, default=None
        Data folder, as in `fetch_adult`. `lastfm_asia/lastfm_asia_edges.csv` and `lastfm_asia/lastfm_asia_target.csv`
        of the Stanford Network Analysis Project must be in it.

    Returns
    -------
    Bunch
        `data` (7624, 7624) a symmetric CSR matrix of 0 and 1, `sensitive_features` (7624,), `target_proportions`,
        `n_clusters` (5), `feature_names` (empty), `DESCR`.

    Raises
    ------
    DataUnavailableError
        If a file is absent or has the wrong hash.

    Examples
    --------
    >>> from fairclust import datasets
    >>> datasets.fetch_lastfm().data.nnz  # doctest: +SKIP
    55612
    """
    places = {part: locate(file, data_home) for part, file in LASTFM.items()}
    groups = {int(row["id"]): row["target"] for row in _rows(places["target"])}
    if sorted(groups) != list(range(len(groups))):
        raise DataUnavailableError(f"{places['target']} does not number its rows from 0. Delete it and try again.")
    ends = np.array([[int(row["node_1"]), int(row["node_2"])] for row in _rows(places["edges"])])
    n_nodes = len(groups)
    one_way = sparse.csr_matrix((np.ones(len(ends)), (ends[:, 0], ends[:, 1])), shape=(n_nodes, n_nodes))
    graph = ((one_way + one_way.T) > 0).astype(np.float64).tocsr()
    return make_bunch(
        graph,
        np.array([groups[node] for node in range(n_nodes)]),
        n_clusters=5,
        feature_names=(),
        description=_LASTFM_DESCRIPTION,
    )


def _rows(path: Path) -> Iterator[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as stream:
        yield from csv.DictReader(stream)


def _as_names(codes: NDArray[Any]) -> NDArray[np.str_]:
    """Whole numbers as text."""
    found, places = np.unique(codes, return_inverse=True)
    return found.astype(np.int64).astype(np.str_)[places]


def _shares(column: NDArray[Any]) -> dict[str, float]:
    names, counts = np.unique(column, return_counts=True)
    return {str(name): float(count / len(column)) for name, count in zip(names, counts, strict=True)}
