"""Tables in Gower's distance, for the estimators that take it: reading, and what to say where it is needed."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils.validation import validate_data

from .._table.coded import CodedRows
from .._table.features import GOWER, LearnedFeatures, has_words, is_table, learn_features, read_features, read_table
from .._typing import FloatArray
from ..errors import InvalidInputError


def read_fitted(model: Any, X: Any, weights: FloatArray | None) -> tuple[LearnedFeatures, CodedRows]:
    """How the columns of a fit are counted, and its rows."""
    if sparse.issparse(X):
        raise InvalidInputError(
            "X is sparse, but metric='gower' compares columns of a table. Pass a data frame or an array, or cluster "
            "sparse rows with FairKMeans."
        )
    columns = read_table(X)
    validate_data(model, X if is_table(X) else np.asarray(X), skip_check_array=True)
    features = learn_features(columns, read_features(model.features), weights, GOWER)
    return features, features.encode(columns)


def read_new(model: Any, features: LearnedFeatures, X: Any) -> CodedRows:
    """New rows, read as those of the fit were."""
    validate_data(model, X if is_table(X) else np.asarray(X), skip_check_array=True, reset=False)
    return features.encode(read_table(X))


def refuse_tables(model: Any, X: Any) -> None:
    """Say that words, gaps and weights of columns need Gower's distance, where another one was asked for."""
    if has_words(X):
        raise InvalidInputError(
            f"X has columns of words, which metric={model.metric!r} cannot compare. Use metric='gower', which compares "
            "numbers, words and gaps, or drop these columns."
        )
    if read_features(model.features).are_given:
        raise InvalidInputError(
            "features=Features(...) goes with metric='gower', but metric is "
            f"{model.metric!r}. Use 'gower', or leave features out."
        )
