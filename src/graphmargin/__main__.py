"""Entry point of ``python -m graphmargin`` and of the command ``graphmargin``."""

import gc
import sys

from graphmargin.cli import main

OBJECTS_BEFORE_COLLECTION = 100_000
"""Python's default of 700 would trigger hundreds of garbage collections during imports."""


def command() -> int:
    """Return the exit code of the command line of this process."""
    gc.set_threshold(OBJECTS_BEFORE_COLLECTION)
    return main()


if __name__ == "__main__":
    sys.exit(command())
