"""How long commands take to say something: help pages import none of what computes.

Prints the wall seconds of each command line, the best and the median of ten runs, one after the
other, and the ratio to the plain interpreter; the last lines are what importing everything costs,
which is what help would take without lazy imports.

Half a minute, by `python -m benchmarks.startup`.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import time

RUNS = 10
LIMIT = 0.5
"""Seconds that `graphmargin --help` may take."""
PYTHON = [sys.executable]
COMMAND = [*PYTHON, "-m", "graphmargin"]
LINES = {
    "python -c pass": [*PYTHON, "-c", "pass"],
    "graphmargin --help": [*COMMAND, "--help"],
    "graphmargin --version": [*COMMAND, "--version"],
    "graphmargin label --help": [*COMMAND, "label", "--help"],
    "graphmargin label, no such file": [*COMMAND, "label", "no.csv", "--target", "y"],
    "import graphmargin": [*PYTHON, "-c", "import graphmargin"],
    "import sklearn.svm": [*PYTHON, "-c", "import sklearn.svm"],
    "import all that labels a table": [*PYTHON, "-c", "import graphmargin.labeling.inspection"],
}


def seconds(command: list[str]) -> float:
    """Return the wall time of a command."""
    start = time.perf_counter()
    subprocess.run(command, check=False, capture_output=True)
    return time.perf_counter() - start


def main() -> None:
    """Print a line for each command, and whether help keeps to its limit."""
    # Turn by turn, so that a slow minute of the machine hits all of them.
    turns = [{name: seconds(line) for name, line in LINES.items()} for _ in range(RUNS)]
    plain = min(turn["python -c pass"] for turn in turns)
    print(f"{'':34}{'best':>8}{'median':>8}{'ratio':>8}")
    for name in LINES:
        times = [turn[name] for turn in turns]
        best = min(times)
        print(f"{name:34}{best:8.3f}{statistics.median(times):8.3f}{best / plain:8.1f}")
    helps = statistics.median(turn["graphmargin --help"] for turn in turns)
    verdict = "below" if helps < LIMIT else "NOT below"
    print(f"graphmargin --help takes {helps:.3f} s, {verdict} {LIMIT} s")


if __name__ == "__main__":
    main()
