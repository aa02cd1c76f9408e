"""Mean and squares of the features, block by block."""

import numpy as np
import pytest

from fairclust._objectives.centers import moments


@pytest.mark.parametrize(("dtype", "is_weighted"), [(np.float32, True), (np.float64, False)])
def test_moments_are_those_of_all_rows_at_once(dtype, is_weighted):
    """Of more rows than are looked at together, one of them far away and some without weight."""
    rng = np.random.default_rng(10)
    X = (1e3 + rng.normal(size=(9000, 3))).astype(dtype)
    X[0] = 1e9
    weights = rng.gamma(1.0, size=9000) if is_weighted else None
    if is_weighted:
        weights[:5000] = 0.0
    mean, squares = moments(X, weights)
    w = np.ones(9000) if weights is None else weights
    wanted = np.average(X.astype(float), axis=0, weights=w)
    np.testing.assert_allclose(mean, wanted, rtol=1e-12)
    np.testing.assert_allclose(squares, w @ (X.astype(float) - wanted) ** 2, rtol=1e-9)
