"""The error that is raised for tables that cannot be used."""

from __future__ import annotations

from graphmargin._errors import InputError


class TableError(InputError):
    """A problem with a table; the message is one line and says what to do.

    Examples
    --------
    >>> from pathlib import Path
    >>> from graphmargin.tables import read_table
    >>> try:  # doctest: +ELLIPSIS
    ...     read_table(Path("cats.docx"))
    ... except ValueError as error:
    ...     print(type(error).__name__, "-", str(error).partition(";")[0])
    TableError - cats.docx: tables that end in .docx cannot be read or written (formats: ...
    """
