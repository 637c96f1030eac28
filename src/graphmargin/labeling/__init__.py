"""Labeling, prediction, explanation and audit of tables in which a few rows have a label."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from graphmargin.tables.table_errors import packages_of_tables

if TYPE_CHECKING:
    from graphmargin.labeling.labeled_table import LabeledTable
    from graphmargin.labeling.table_labeling import label_table

__all__ = ["LabeledTable", "label_table"]

_MODULES = {"LabeledTable": "labeled_table", "label_table": "table_labeling"}


def __getattr__(name: str) -> Any:
    """Import a public name on first use, because importing pandas takes a second."""
    if name not in __all__:
        msg = f"module 'graphmargin.labeling' has no attribute {name!r}"
        raise AttributeError(msg)
    with packages_of_tables("tables"):
        return getattr(import_module(f"graphmargin.labeling.{_MODULES[name]}"), name)


def __dir__() -> list[str]:
    """Return the public names."""
    return __all__
