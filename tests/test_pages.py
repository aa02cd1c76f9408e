"""Large arrays lie at cache lines and in pages of their own, and are zeros that can be written to."""

from __future__ import annotations

import numpy as np
import pytest

from fairclust._memory import in_own_pages, on_lines


@pytest.mark.parametrize("make", [on_lines, in_own_pages])
@pytest.mark.parametrize(
    ("shape", "dtype"), [(1, np.float64), (64, np.int32), ((2, 10, 64), np.float32), (1 << 20, np.int32)]
)
def test_an_array_begins_at_a_cache_line_and_is_empty(make, shape, dtype):
    made = make(shape, dtype)
    assert made.dtype == dtype
    assert made.shape == (shape if isinstance(shape, tuple) else (shape,))
    assert made.flags.c_contiguous
    assert made.ctypes.data % 64 == 0
    assert not made.any()
    made[-1] = 5
    assert (made[-1] == 5).all()
