"""The error that is raised for tables that cannot be used."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from graphmargin._errors import InputError

PACKAGES = ("openpyxl", "pandas", "pyarrow")
"""Packages without which tables cannot be used."""


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


@contextmanager
def packages_of_tables(what: str) -> Iterator[None]:
    """Name the extra to install in the error of an import that fails in the block."""
    try:
        yield
    except ModuleNotFoundError as missing:
        if missing.name not in PACKAGES:
            raise
        msg = f'{what} need the package {missing.name}; pip install "graphmargin[cli]"'
        raise ModuleNotFoundError(msg, name=missing.name) from missing
