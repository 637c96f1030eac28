"""Errors of the same draws in two files of the league, such as those of two commits.

Run the league of both checkouts with files of their own, and compare these::

    (cd ../other-checkout && PYTHONPATH=src:. python -m benchmarks.league --out /tmp/before.jsonl)
    python -m benchmarks.league --out /tmp/after.jsonl
    python -m benchmarks.league.compare /tmp/before.jsonl /tmp/after.jsonl

Prints a line for each system and number of labels that both files have.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from benchmarks.json_lines import read_lines
from benchmarks.league.run import Result
from benchmarks.league.sets import LEVELS
from benchmarks.league.standings import standings
from reproduction.section import markdown_table

BEFORE, AFTER = "before, %", "after, %"
HEAD = ("system", "labels", "sets", BEFORE, AFTER, "difference", "largest on a set", "changed")


def comparison(before: Sequence[Result], after: Sequence[Result], system: str) -> list[list[str]]:
    """Return a line for each number of labels, from the draws of a system that both files have.

    It has mean errors over the sets, their difference in points, the largest difference of the mean
    errors on a set, and the number of draws whose errors differ.
    """
    both = [
        result | {"system": name}
        for name, results in ((BEFORE, before), (AFTER, after))
        for result in results
        if result["system"] == system
    ]
    lines = []
    for level in LEVELS:
        table = standings(both, level, (BEFORE, AFTER))
        if table is None or len(table.systems) < 2:
            continue
        means, changes = 100 * table.means.mean(axis=0), 100 * table.mean_differences(AFTER, BEFORE)
        draws = np.concatenate(table.differences(AFTER, BEFORE))
        largest = int(np.abs(changes).argmax())
        lines.append(
            [
                *(system, level, str(len(table.sets)), f"{means[0]:.2f}", f"{means[1]:.2f}"),
                *(f"{changes.mean():+.2f}", f"{changes[largest]:+.2f} ({table.sets[largest]})"),
                f"{np.count_nonzero(draws)} of {len(draws)}",
            ]
        )
    return lines


def main(argv: Sequence[str] | None = None) -> None:
    """Print the table of two files."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.league.compare",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("before", type=Path, metavar="BEFORE.jsonl")
    parser.add_argument("after", type=Path, metavar="AFTER.jsonl")
    given = parser.parse_args(argv)
    before, after = read_lines(given.before), read_lines(given.after)
    systems = dict.fromkeys(result["system"] for result in after)
    lines = [line for system in systems for line in comparison(before, after, system)]
    if not lines:
        parser.error(f"{given.before} and {given.after} have no draw in common")
    print(markdown_table(HEAD, lines))


if __name__ == "__main__":
    main()
