"""The command ``graphmargin``: it parses, calls, and returns an exit code; it never computes.

Each command is a module; `app` knows them all.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

__all__ = ["main"]


def main(argv: Sequence[str] | None = None) -> int:
    """Return the exit code of a command line.

    0 is success, 1 an internal error, 2 something that the user has to change, and 130, 143 or 129
    an interruption by Ctrl-C, SIGTERM or SIGHUP. What went wrong is one line on stderr.

    Parameters
    ----------
    argv : sequence of str, optional
        Arguments; by default, those of the process.

    Examples
    --------
    >>> main(["--version"])
    graphmargin 0.1.0
    0
    """
    try:
        from graphmargin.cli.app import run
    except ModuleNotFoundError as missing:
        if missing.name is None or missing.name.partition(".")[0] not in ("rich", "typer"):
            raise
        sys.stderr.write(
            f'graphmargin: commands need {missing.name}; pip install "graphmargin[cli]"\n'
        )
        return 2
    return run(argv)
