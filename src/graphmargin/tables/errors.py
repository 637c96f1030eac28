"""What can be wrong with a table."""

from __future__ import annotations

from graphmargin._errors import InputError


class TableError(InputError):
    """What is wrong with a table, in one line for its owner, with the way out.

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
