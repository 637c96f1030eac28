"""Tables with mixed columns: reading and writing files, and turning columns into features."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from graphmargin.tables.table_errors import TableError

if TYPE_CHECKING:
    from graphmargin.tables.reading import read_table
    from graphmargin.tables.table_features import TableFeatures

__all__ = ["TableError", "TableFeatures", "read_table"]

_PUBLIC_MODULES = {"TableFeatures": "table_features", "read_table": "reading"}
_OPTIONAL_PACKAGES = ("openpyxl", "pandas", "pyarrow")


def __getattr__(name: str) -> Any:
    """Import a public name on first use, because importing pandas takes a second."""
    if name not in _PUBLIC_MODULES:
        msg = f"module 'graphmargin.tables' has no attribute {name!r}"
        raise AttributeError(msg)
    try:
        return getattr(import_module(f"graphmargin.tables.{_PUBLIC_MODULES[name]}"), name)
    except ModuleNotFoundError as missing:
        if missing.name not in _OPTIONAL_PACKAGES:
            raise
        msg = f'tables need the package {missing.name}; pip install "graphmargin[cli]"'
        raise ModuleNotFoundError(msg, name=missing.name) from missing


def __dir__() -> list[str]:
    """Return the public names."""
    return __all__
