"""The command line: parses arguments, calls other packages, and returns an exit code.

Each command is a module, which `app` registers.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

__all__ = ["main"]


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command line and return its exit code.

    0 is success, 1 is an internal error, 2 is an error that the user can correct, and 130, 143 or
    129 is an interruption by Ctrl-C, SIGTERM or SIGHUP. An error is one line on stderr.

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
        install = 'pip install "graphmargin[cli]"'
        sys.stderr.write(f"graphmargin: commands need the package {missing.name}; {install}\n")
        return 2
    return run(argv)
