"""Array types that signatures share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

FloatArray: TypeAlias = npt.NDArray[np.floating[Any]]
IntArray: TypeAlias = npt.NDArray[np.signedinteger[Any]]
BoolArray: TypeAlias = npt.NDArray[np.bool_]
AnyArray: TypeAlias = npt.NDArray[Any]
Progress: TypeAlias = Callable[[float | None, str], None]
"""Is told the share of the work that is done, where it is known, and what is going on."""
Watch: TypeAlias = Callable[[str], Progress]
"""From the name of what begins to what is told its progress."""
