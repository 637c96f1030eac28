"""Errors that a person can mend without reading code."""

from __future__ import annotations


class InputError(ValueError):
    """What is wrong with a file that the user named, in one line that tells the way out."""
