"""Generators and loaders of data sets with known groups; every one returns the same `Bunch`.

Used by tests, examples, benchmarks and the command line. No clustering lives here, and no other part of the package may
need this one.
"""

from fairclust.datasets._census_like import make_census_like
from fairclust.datasets._others import fetch_acs, fetch_credit, fetch_lastfm
from fairclust.datasets._preprocessing import feature_moments, standardize_and_normalize
from fairclust.datasets._synthetic import make_synthetic, make_synthetic_unequal
from fairclust.datasets._uci import census1990_on_disk, fetch_adult, fetch_bank, fetch_census1990

__all__ = [
    "census1990_on_disk",
    "feature_moments",
    "fetch_acs",
    "fetch_adult",
    "fetch_bank",
    "fetch_census1990",
    "fetch_credit",
    "fetch_lastfm",
    "make_census_like",
    "make_synthetic",
    "make_synthetic_unequal",
    "standardize_and_normalize",
]
