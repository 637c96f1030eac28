"""The command line: parses arguments, calls other packages, and returns an exit code.

Each command is a module, which `app` registers.
"""

from __future__ import annotations

import signal
import sys
from collections.abc import Sequence

from graphmargin._signals import signals_as_interrupts

__all__: list[str] = []

INTERRUPTED = (
    "interrupted; no file is incomplete, and `label --dask` continues from its last checkpoint "
    "with --resume"
)


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
    with signals_as_interrupts() as received:
        try:
            code = _run(argv)
        except KeyboardInterrupt:
            sys.stderr.write(f"graphmargin: {INTERRUPTED}\n")
            return 128 + (received or [signal.SIGINT])[0]
        # The studio ends in good order, but a signal ended it all the same.
        return 128 + received[0] if received else code


def _run(argv: Sequence[str] | None) -> int:
    try:
        from graphmargin.cli.app import run
    except ModuleNotFoundError as missing:
        if missing.name is None or missing.name.partition(".")[0] not in ("rich", "typer"):
            raise
        install = 'pip install "graphmargin[cli]"'
        sys.stderr.write(f"graphmargin: commands need the package {missing.name}; {install}\n")
        return 2
    return run(argv)
