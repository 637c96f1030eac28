"""Measure classifiers with few labels on many sets, or write the page of what was measured."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from pathlib import Path

from benchmarks.json_lines import read_lines
from benchmarks.league.page import PAGE, level_title, summary_table, write_page
from benchmarks.league.run import OUT, run
from benchmarks.league.sets import HELD_OUT, LEAGUE, LEVELS, OTHERS, SETS
from benchmarks.league.standings import standings
from benchmarks.league.systems import SYSTEMS, System

DRAWS = 10


def main(argv: Sequence[str] | None = None, systems: Mapping[str, System] = SYSTEMS) -> None:
    """Measure and print what the command line asks for, or write the page."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.league", description=__doc__)
    which = parser.add_mutually_exclusive_group()
    which.add_argument(
        "--sets", nargs="+", choices=SETS, default=LEAGUE, metavar="NAME", help="(the league)"
    )
    which.add_argument(
        "--others",
        action="store_const",
        const=OTHERS,
        dest="sets",
        help="tables outside of the league",
    )
    which.add_argument(
        "--held-out",
        action="store_const",
        const=HELD_OUT,
        dest="sets",
        help="tables that were not used to choose the default",
    )
    parser.add_argument(
        "--labels", nargs="+", choices=LEVELS, default=LEVELS, help="numbers of labels (all)"
    )
    parser.add_argument("--draws", type=int, default=DRAWS, metavar="N", help="(%(default)s)")
    parser.add_argument(
        "--systems", nargs="+", choices=systems, default=systems, metavar="NAME", help="(all)"
    )
    parser.add_argument("--jobs", type=int, default=1, metavar="N", help="processes (%(default)s)")
    parser.add_argument(
        "--out", type=Path, default=OUT, metavar="FILE", help="keeps what is done, for a rerun"
    )
    parser.add_argument(
        "--report", action="store_true", help="write the page from the file, and measure nothing"
    )
    parser.add_argument(
        "--page", type=Path, default=PAGE, metavar="FILE.md", help="page of --report (docs)"
    )
    given = parser.parse_args(argv)
    sets = {*given.sets, *OTHERS, *HELD_OUT} if given.report else set(given.sets)
    if not given.report:
        chosen = {name: systems[name] for name in given.systems}
        run(
            *(given.sets, given.labels, given.draws),
            systems=chosen,
            out=given.out,
            n_jobs=given.jobs,
        )
    results = [
        result
        for result in read_lines(given.out)
        if result["set"] in sets and result["draw"] < given.draws
    ]
    if not results:
        parser.error(f"{given.out} has no results of these sets; run without --report first")
    if given.report:
        write_page(results, list(given.systems), given.page)
        print(f"report: {given.page}")
        return
    for level in given.labels:
        table = standings(results, level, list(given.systems))
        if table is not None:
            print(f"{level_title(level)}\n\n{summary_table(table)}\n")


if __name__ == "__main__":
    main()
