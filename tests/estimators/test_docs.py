"""What ``help()`` shows of the estimators, whose docstrings share passages."""

from __future__ import annotations

import inspect
import re

import pytest

from cases import ESTIMATORS, people
from fairclust import Penalty


def documented(estimator, section):
    """Names in a section of the docstring, as numpydoc reads them."""
    text = inspect.getdoc(estimator)
    found = re.search(rf"^{section}\n-+\n(.*?)(?=^\w+\n-+$|\Z)", text, flags=re.MULTILINE | re.DOTALL)
    headings = [line for line in found[1].splitlines() if line and not line.startswith(" ")]
    return [name for heading in headings for name in heading.split(" : ")[0].split(", ")]


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_every_argument_is_documented_in_the_order_of_the_signature(estimator):
    assert documented(estimator, "Parameters") == list(inspect.signature(estimator).parameters)


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_every_fitted_attribute_is_documented(estimator):
    data = people(n_samples=60, n_clusters=2)
    model = estimator(2, random_state=0, goal=Penalty(1.0)).fit(data.X, sensitive_features=data.groups)
    fitted = {name for name in vars(model) if name.endswith("_") and not name.startswith("_")}
    assert fitted <= set(documented(estimator, "Attributes"))


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_no_docstring_is_left_with_a_gap(estimator):
    assert "%(" not in estimator.__doc__
