"""``python -m graphmargin`` and the command ``graphmargin``."""

import gc
import sys

from graphmargin.cli import main

OBJECTS_BEFORE_COLLECTION = 100_000
"""Python's 700 let the garbage collector look hundreds of times at modules being imported."""


def command() -> int:
    """Return the exit code of the command line of this process."""
    gc.set_threshold(OBJECTS_BEFORE_COLLECTION)
    return main()


if __name__ == "__main__":
    sys.exit(command())
