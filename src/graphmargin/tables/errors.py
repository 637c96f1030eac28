"""What can be wrong with a table."""

from __future__ import annotations

from graphmargin._errors import InputError


class TableError(InputError):
    """What is wrong with a table, in one line for its owner, with the way out."""
