"""The systems of suites with the library of this checkout and of another one, in turns.

``python -m benchmarks.side_by_side ../other-checkout letter path selection`` measures both in one
run, in processes of their own. The other checkout is a git worktree of another commit, and both run
the `benchmarks` of this one. ``taskset -c 0`` in front gives every process one thread.
"""

from __future__ import annotations

import argparse
import statistics
import sys
from pathlib import Path
from typing import Any

from benchmarks.measure import ROOT, in_own_process
from benchmarks.report import plain
from benchmarks.suites import SUITES, Case

MEASURES = ("wall", "cpu", "memory", "error")


def compare(
    cases: list[Case], other: Path, *, repeats: int, timeout: float
) -> dict[Case, tuple[list[dict[str, Any]], list[dict[str, Any]]]]:
    """Return the measurements of each case in this checkout and in the other one.

    The two checkouts alternate, and the one that goes first changes with each repeat.
    """
    results: dict[Case, tuple[list[dict[str, Any]], list[dict[str, Any]]]]
    results = {case: ([], []) for case in cases}
    for seed in range(repeats):
        for case in cases:
            sides = list(zip(results[case], (ROOT, other), strict=True))
            for measurements, root in sides if seed % 2 else sides[::-1]:
                measurements.append(in_own_process(case, seed, timeout=timeout, root=root))
            sys.stderr.write(f"{case.problem}, {case.system}, k = {case.k}: {seed + 1}/{repeats}\n")
    return results


def ratio_table(
    results: dict[Case, tuple[list[dict[str, Any]], list[dict[str, Any]]]],
) -> list[list[str]]:
    """Return medians of this checkout, and ratios of its medians to those of the other one."""
    table = [["problem", "system", "k", "wall s", "ratio", "CPU s", "ratio", "MB", "ratio"]]
    table[0] += ["error", "before"]
    for case, (here, there) in results.items():
        row = [case.problem, case.system, str(case.k)]
        failures = [
            measurement["failure"] for measurement in (*here, *there) if "failure" in measurement
        ]
        if failures:
            table.append(row + [""] * 7 + [failures[0]])
            continue
        here_median, there_median = (
            {
                name: statistics.median(measurement.get(name, 0.0) for measurement in side)
                for name in MEASURES
            }
            for side in (here, there)
        )
        for name in ("wall", "cpu", "memory"):
            ratio = here_median[name] / max(there_median[name], 1e-9)
            row += [f"{here_median[name]:.2f}", f"{ratio:.2f}"]
        table.append(row + [f"{side['error']:.2%}" for side in (here_median, there_median)])
    return table


def main() -> None:
    """Measure the suites that the command line names, and print the table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.side_by_side", description=__doc__)
    parser.add_argument("other", type=Path, help="root of the other checkout")
    parser.add_argument("suites", nargs="+", choices=SUITES, metavar="SUITE")
    parser.add_argument("--systems", nargs="+", default=[""], help="parts of the names of systems")
    parser.add_argument("--repeats", type=int, default=3, help="runs of each system (3)")
    parser.add_argument("--timeout", type=float, default=600.0, help="seconds for a run (600)")
    given = parser.parse_args()
    if not (given.other / "src" / "graphmargin").is_dir():
        parser.error(f"{given.other} is not a checkout of graphmargin")
    cases = [
        case
        for suite in given.suites
        for case in SUITES[suite].cases
        if any(text in case.system for text in given.systems)
    ]
    other = given.other.resolve()
    print(plain(ratio_table(compare(cases, other, repeats=given.repeats, timeout=given.timeout))))


if __name__ == "__main__":
    main()
