"""The error for tables that cannot be used."""

from __future__ import annotations

from graphmargin._errors import InputError


class TableError(InputError):
    """A problem of a table, told in one line with the way out.

    Examples
    --------
    >>> from pathlib import Path
    >>> from graphmargin.tables import read_table
    >>> try:
    ...     read_table(Path("cats.docx"))
    ... except ValueError as error:
    ...     print(type(error).__name__, "-", str(error).partition(";")[0])
    TableError - cats.docx: not a known kind of table
    """
