"""Settings of the whole suite: properties are drawn the same way on every run, and without a deadline."""

from __future__ import annotations

import hypothesis
import pytest

from cases import KERNELS
from internals import using

hypothesis.settings.register_profile("fairclust", deadline=None, derandomize=True, max_examples=25)
hypothesis.settings.load_profile("fairclust")


@pytest.fixture(params=KERNELS)
def each_kernel(request):
    """The test runs once per set of kernels: compiled, and in NumPy."""
    with using(request.param):
        yield request.param
