"""Names of array types, used in annotations only: they tell the reader, NumPy tells the machine."""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray

FloatArray = NDArray[Any]
IntArray = NDArray[Any]
AnyArray = NDArray[Any]
