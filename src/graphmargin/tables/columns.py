"""What a column of a table is good for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

Role: TypeAlias = Literal["number", "category", "date", "text", "embedding", "left out"]


@dataclass(frozen=True)
class ColumnUse:
    """How a column is used.

    Attributes
    ----------
    name : str
    role : {"number", "category", "date", "text", "embedding", "left out"}
    n_features : int
        Features that it becomes; 0 if it is left out.
    note : str
        Why it is left out, or what is special about it; "" is nothing.
    """

    name: str
    role: Role
    n_features: int
    note: str = ""
