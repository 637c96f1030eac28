"""``python -m graphmargin`` is the command ``graphmargin``."""

import sys

from graphmargin.cli import main

if __name__ == "__main__":
    sys.exit(main())
