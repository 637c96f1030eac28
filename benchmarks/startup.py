"""Wall and CPU seconds of short commands, and of the first fit of a new installation.

Help pages import no code that computes; `graphmargin label` on a small table is mostly imports;
the first fit with an empty cache compiles the kernels. Each line is run a few times, in turns, with
the library of this checkout and, if one is named, of another:

    python -m benchmarks.startup [OTHER_CHECKOUT]

Times are those of a process, but those of the default ensemble are of two fits in a process, on the
178 rows of wine with ten labels a class. It takes about two minutes, twice as long with another
checkout.
"""

from __future__ import annotations

import argparse
import csv
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from benchmarks.measure import ROOT
from benchmarks.report import plain

RUNS = 7
FIRST_FITS = 3
HELP_LIMIT = 0.4
"""Seconds that `graphmargin --help` may take."""
COMMAND = ["-m", "graphmargin"]
HELP = "graphmargin --help"
FIRST_FIT = "first fit, kernels not compiled yet"
ENSEMBLE_FITS = ("default ensemble, first fit", "default ensemble, second fit")
FIT = """
import numpy as np
from sklearn.datasets import load_digits
from graphmargin import MaxMarginGraphCut
X, y = load_digits(return_X_y=True)
few = np.where(np.arange(len(y)) < 50, y, -1)
MaxMarginGraphCut(random_state=0).fit(X, few)
"""
TWO_FITS = """
import time
import numpy as np
from sklearn.datasets import load_wine
from graphmargin import SemiSupervisedEnsemble
X, y = load_wine(return_X_y=True)
few = np.full(len(y), -1)
for k in range(3):
    few[np.flatnonzero(y == k)[:10]] = k
for _ in range(2):
    wall, processor = time.perf_counter(), time.process_time()
    SemiSupervisedEnsemble(random_state=0).fit(X, few)
    print(time.perf_counter() - wall, time.process_time() - processor)
"""


def write_table(path: Path) -> None:
    """Write 344 rows and 8 columns, numbers and categories, with 15 labels of three classes."""
    rng = np.random.default_rng(0)
    codes = rng.choice(3, 344, p=[0.44, 0.2, 0.36])
    centers = np.array([[38.8, 18.3, 190, 3700], [48.8, 18.4, 196, 3733], [47.5, 15, 217, 5076]])
    numbers = centers[codes] + rng.normal(size=(344, 4)) * [2.7, 1.2, 6.5, 400]
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["kind", "island", "length", "depth", "flipper", "mass", "sex", "year"])
        for row, (code, values) in enumerate(zip(codes, numbers, strict=True)):
            writer.writerow(
                [
                    f"kind {code}" if row < 15 else "",
                    rng.choice(["north", "south", "west"]),
                    *(f"{value:.1f}" for value in values),
                    rng.choice(["male", "female", ""]),
                    2007 + rng.integers(3),
                ]
            )


def run(arguments: list[str], root: Path, cache: str | None = None) -> str:
    """Return the output of Python with some arguments and the library of a checkout."""
    settings = {"PYTHONPATH": str(root / "src")} | ({"NUMBA_CACHE_DIR": cache} if cache else {})
    return subprocess.run(
        [sys.executable, *arguments],
        env=os.environ | settings,
        check=True,
        capture_output=True,
        text=True,
    ).stdout


def seconds(arguments: list[str], root: Path, cache: str | None = None) -> tuple[float, float]:
    """Return the wall and CPU time of Python with some arguments and the library of a checkout."""
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    run(arguments, root, cache)
    wall, after = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
    return wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def measure(roots: list[Path], folder: Path) -> dict[str, list[list[tuple[float, float]]]]:
    """Return the times of each line for each checkout, which take turns."""
    table = folder / "table.csv"
    write_table(table)
    label = ["label", str(table), "--target", "kind", "--out", str(folder / "labeled.csv")]
    lines = {
        "python -c pass": ["-c", "pass"],
        HELP: [*COMMAND, "--help"],
        "graphmargin label --help": [*COMMAND, "label", "--help"],
        "import graphmargin": ["-c", "import graphmargin"],
        "graphmargin label, 344 rows": [*COMMAND, *label],
        "later fit, kernels cached": ["-c", FIT],
    }
    times: dict[str, list[list[tuple[float, float]]]] = {
        name: [[] for _ in roots] for name in [*lines, FIRST_FIT, *ENSEMBLE_FITS]
    }
    for root in roots:  # compiles and caches
        for name in ("graphmargin label, 344 rows", "later fit, kernels cached"):
            seconds(lines[name], root)
    for i in range(RUNS):
        for name, line in lines.items():
            for side, root in enumerate(roots):
                times[name][side].append(seconds(line, root))
        if i < FIRST_FITS:
            for side, root in enumerate(roots):
                with tempfile.TemporaryDirectory() as cache:
                    times[FIRST_FIT][side].append(seconds(["-c", FIT], root, cache))
                with tempfile.TemporaryDirectory() as cache:
                    fits = run(["-c", TWO_FITS], root, cache).splitlines()
                for name, fit in zip(ENSEMBLE_FITS, fits, strict=True):
                    wall, processor = map(float, fit.split())
                    times[name][side].append((wall, processor))
    return times


def main() -> None:
    """Print a line for each command, and whether `--help` is fast enough."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.startup", description=__doc__)
    parser.add_argument("other", nargs="?", type=Path, help="root of another checkout")
    given = parser.parse_args()
    roots = [ROOT] if given.other is None else [ROOT, given.other.resolve()]
    with tempfile.TemporaryDirectory() as folder:
        times = measure(roots, Path(folder))
    medians = {
        name: [[statistics.median(column) for column in zip(*side, strict=True)] for side in sides]
        for name, sides in times.items()
    }
    table = [["", "wall s", "CPU s"]]
    if given.other is not None:
        table[0] += ["other wall s", "other CPU s", "ratio of CPU"]
    for name, sides in medians.items():
        row = [name, *(f"{value:.2f}" for side in sides for value in side)]
        table.append(row + [f"{sides[0][1] / side[1]:.2f}" for side in sides[1:]])
    print(plain(table))
    wall = medians[HELP][0][0]
    print(
        f"{HELP} takes {wall:.2f} s, {'below' if wall < HELP_LIMIT else 'NOT below'} {HELP_LIMIT} s"
    )


if __name__ == "__main__":
    main()
