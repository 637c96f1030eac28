"""Files of people: tables of mixed columns, read, turned into features, written."""

from graphmargin.tables.columns import ColumnUse
from graphmargin.tables.errors import TableError

__all__ = ["ColumnUse", "TableError"]
