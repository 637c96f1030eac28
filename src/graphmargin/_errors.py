"""Errors that a person can mend without reading code."""

from __future__ import annotations


class InputError(ValueError):
    """An error in a file that the user named, in one line that tells the way out."""


def one_line(error: object) -> str:
    r"""Return what another library says of a file as a part of a line.

    Examples
    --------
    >>> one_line(ValueError("bad magic\n  number"))
    'bad magic number'
    """
    return " ".join(str(error).split())[:200]
