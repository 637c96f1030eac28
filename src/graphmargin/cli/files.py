"""Checks of the files that `label` and `fit` write."""

from __future__ import annotations

from pathlib import Path


def check_files(*files: Path | None) -> None:
    """Raise an error before the work begins if a file cannot be written or is named twice."""
    from graphmargin._files import check_writable

    named = [path for path in files if path is not None]
    for i, path in enumerate(named[1:], start=1):
        check_writable(path, inputs=named[:i])
