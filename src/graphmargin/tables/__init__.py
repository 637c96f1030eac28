"""Tables with mixed columns: reading and writing files, and turning columns into features."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from graphmargin.tables.table_errors import TableError, packages_of_tables

if TYPE_CHECKING:
    from graphmargin.tables.reading import read_table
    from graphmargin.tables.table_features import TableFeatures

__all__ = ["TableError", "TableFeatures", "read_table"]

_PUBLIC_MODULES = {"TableFeatures": "table_features", "read_table": "reading"}


def __getattr__(name: str) -> Any:
    """Import a public name on first use, because importing pandas takes a second."""
    if name not in _PUBLIC_MODULES:
        msg = f"module 'graphmargin.tables' has no attribute {name!r}"
        raise AttributeError(msg)
    with packages_of_tables("tables"):
        return getattr(import_module(f"graphmargin.tables.{_PUBLIC_MODULES[name]}"), name)


def __dir__() -> list[str]:
    """Return the public names."""
    return __all__
