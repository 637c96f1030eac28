"""Errors that users can correct without reading code."""

from __future__ import annotations


class InputError(ValueError):
    """An error in the input of a user, with a message of one line that names a way out.

    The message may quote a file; characters that are not printable are escaped.
    """

    def __init__(self, message: object) -> None:
        super().__init__(printable(str(message)))


def printable(text: str) -> str:
    r"""Return a text with invisible characters and those that control terminals escaped.

    Examples
    --------
    >>> printable("größe\x1b]0;title\x07\n")
    'größe\\x1b]0;title\\x07\\n'
    """
    if text.isprintable():
        return text
    return "".join(
        char if char.isprintable() else char.encode("unicode_escape").decode() for char in text
    )


def one_line(error: object) -> str:
    r"""Return the message of an error of another library on one line, shortened.

    Examples
    --------
    >>> one_line(ValueError("bad magic\n  number"))
    'bad magic number'
    """
    return printable(" ".join(str(error).split()))[:200]
