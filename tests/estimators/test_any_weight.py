"""From hardly any weight to a huge one, on ordinary tables: fairness never gets worse for it."""

import numpy as np
import pytest

from fairclust import FairKMeans

tables = pytest.importorskip("benchmarks.tables", reason="the benchmarks lie beside the tests in a checkout")
records = pytest.importorskip("benchmarks.records")


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::fairclust.errors.FairclustWarning")
@pytest.mark.parametrize("name", ["adult sex", "adult race", "adult raw sex", "credit sex", "credit raw education"])
def test_the_error_never_rises_with_the_weight_by_more_than_one_percent_of_the_first(name):
    try:
        table = tables.ordinary_table(name)
    except records.Unavailable as reason:
        pytest.skip(str(reason))
    unit = table.X.var(axis=0).sum() * len(table.X) / table.n_clusters
    errors = [
        FairKMeans(table.n_clusters, fairness_weight=weight, n_init=1, random_state=0)
        .fit(table.X, sensitive_features=table.groups)
        .fairness_error_
        for weight in unit * np.logspace(-4, 5, 10)
    ]
    assert np.diff(errors).max() <= 0.01 * errors[0]
    assert errors[-1] < 0.02
