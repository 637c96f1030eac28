"""The systems of a suite in turns; every result is stored at once."""

from __future__ import annotations

import datetime
import json
import sys
import tempfile
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.measure import MEMORY_LIMIT, ROOT, THREADS, in_own_process
from benchmarks.suites import SUITES
from graphmargin._files import atomic_write
from reproduction.provenance import PACKAGES, provenance

RESULTS = ROOT / "out" / "benchmarks"


def run_suite(
    name: str, *, repeats: int, timeout: float, rows: int | None = None
) -> list[dict[str, Any]]:
    """Return the results of a suite, whose systems take turns; a failed case is not repeated.

    Results are stored in `RESULTS`, unless they are those of a part of the rows.
    """
    suite, session = SUITES[name], environment()
    results, failed = [], set()
    for seed in range(repeats):
        reference: dict[str, Any] = {}
        with tempfile.TemporaryDirectory() as folder:
            for number, case in enumerate(suite.cases):
                if case in failed:
                    continue
                save = Path(folder) / f"{number}.npy" if suite.reference else None
                measured = in_own_process(case, seed, timeout=timeout, rows=rows, save=save)
                if "failure" in measured:
                    failed.add(case)
                elif case.system == suite.reference:
                    reference[case.problem] = np.load(save)
                elif case.problem in reference:
                    measured |= _agreement(np.load(save), reference[case.problem])
                results.append(asdict(case) | {"seed": seed} | measured | {"session": session})
                _report(results[-1])
                if rows is None:
                    store(results[-1], RESULTS / f"{name}.json")
    return results


def _agreement(labels: Any, reference: Any) -> dict[str, float]:
    """Return the share of equal labels, nothing if their numbers differ."""
    if labels.shape != reference.shape:
        return {}
    return {"agreement": float(np.mean(labels == reference))}


def _report(result: dict[str, Any]) -> None:
    outcome = result["failure"] if "failure" in result else f"{result['wall']:.2f} s"
    k = f", k = {result['k']}" if result["k"] else ""
    sys.stderr.write(f"{result['problem']}, {result['system']}{k}: {outcome}\n")


def store(result: dict[str, Any], file: Path) -> None:
    """Append a result to the list in a file, which is replaced as a whole."""
    results = json.loads(file.read_text()) if file.exists() else []
    atomic_write(file, json.dumps([*results, result], indent=1).encode())


def environment() -> dict[str, Any]:
    """Return machine, versions and limits, on which the results of a session depend."""
    origin = provenance([*PACKAGES, "graphlearning"])
    return {
        "date": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        **origin,
        "commit": origin["commit"] or "unknown",
        "threads": THREADS,
        "memory_limit": MEMORY_LIMIT,
    }
