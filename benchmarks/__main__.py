"""Measure suites and print their tables; `report` writes the page from stored results."""

from __future__ import annotations

import argparse

from benchmarks.measure import ROOT
from benchmarks.report import PAGE, PLOTS, exponents, plain, setting, table, write_page
from benchmarks.session import RESULTS, run_suite
from benchmarks.suites import SUITES


def main() -> None:
    """Run the suites and the report that the command line names, in this order."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("tasks", nargs="*", metavar="SUITE", help="suites, and `report`")
    parser.add_argument("--list", action="store_true", help="list the suites")
    parser.add_argument("--repeats", type=int, default=3, help="runs of each system (3)")
    parser.add_argument("--timeout", type=float, default=600.0, help="seconds for a run (600)")
    parser.add_argument(
        "--rows", type=int, help="number of rows for a quick look; nothing is stored"
    )
    given = parser.parse_args()
    unknown = [task for task in given.tasks if task not in {*SUITES, "report"}]
    if unknown:
        parser.error(f"unknown suite {unknown[0]!r}; suites are {', '.join(SUITES)}, and report")
    if given.list or not given.tasks:
        _list()
        return
    for task in given.tasks:
        if task == "report":
            try:
                write_page()
            except FileNotFoundError as error:
                parser.error(str(error))
            print(f"report: {PAGE.relative_to(ROOT)}")
        else:
            _run(task, given)


def _list() -> None:
    for name, suite in SUITES.items():
        systems = dict.fromkeys(case.system for case in suite.cases)
        print(f"{name}: {suite.about}\n    {'; '.join(systems)}")
    print("\npython -m benchmarks SUITE ... measures, python -m benchmarks report writes the page")


def _run(name: str, given: argparse.Namespace) -> None:
    print(f"{name}: {SUITES[name].about}", flush=True)
    results = run_suite(name, repeats=given.repeats, timeout=given.timeout, rows=given.rows)
    print(plain(table(name, results)))
    if name in PLOTS and given.rows is None:
        print(exponents(results))
    stored = "not stored" if given.rows else f"in {RESULTS.relative_to(ROOT) / name}.json"
    print(f"{setting(results)} Results {stored}\n", flush=True)


if __name__ == "__main__":
    main()
