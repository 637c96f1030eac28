"""Errors that a person can mend without reading code."""

from __future__ import annotations


class InputError(ValueError):
    """An error in a file that the user named, in one line that tells the way out.

    The line may quote the file, of which nothing reaches a terminal but printable text.
    """

    def __init__(self, message: object) -> None:
        super().__init__(printable(str(message)))


def printable(text: str) -> str:
    r"""Return a text in which characters that no one can see, or that steer terminals, are escaped.

    Examples
    --------
    >>> printable("größe\x1b]0;title\x07\n")
    'größe\\x1b]0;title\\x07\\n'
    """
    if text.isprintable():
        return text
    return "".join(
        sign if sign.isprintable() else sign.encode("unicode_escape").decode() for sign in text
    )


def one_line(error: object) -> str:
    r"""Return what another library says of a file as a part of a line.

    Examples
    --------
    >>> one_line(ValueError("bad magic\n  number"))
    'bad magic number'
    """
    return printable(" ".join(str(error).split()))[:200]
