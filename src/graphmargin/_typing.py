"""Types that signatures share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

FloatArray: TypeAlias = npt.NDArray[np.floating[Any]]
IntArray: TypeAlias = npt.NDArray[np.signedinteger[Any]]
BoolArray: TypeAlias = npt.NDArray[np.bool_]
AnyArray: TypeAlias = npt.NDArray[Any]
ProgressCallback: TypeAlias = Callable[[float | None, str], None]
"""A function that takes the finished share of the work (None if unknown) and a message."""
ProgressListener: TypeAlias = Callable[[str], ProgressCallback]
"""A function that takes the name of a new stage, and returns the callback for its progress."""
