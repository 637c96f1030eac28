"""Measurements of the league, each of which is a line of a file as soon as it is made."""

from __future__ import annotations

import itertools
import sys
import time
import warnings
from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from joblib import Parallel, delayed, parallel_config
from threadpoolctl import threadpool_limits

from benchmarks.json_lines import append_line, read_lines
from benchmarks.league.sets import Draw, make_draw
from benchmarks.league.systems import SYSTEMS, System
from benchmarks.measure import ROOT
from graphmargin.labels import UNLABELED
from reproduction.provenance import commit_of

Result = dict[str, Any]
"""A line of the file.

The keys `set`, `labels`, `draw` and `system` name a measurement. Others are its results: `error`
on unlabeled rows, `cpu` seconds, numbers of rows, classes and labels, and `commit`. In place of
`error` there is the text of a `failure`. A set with too few rows for so many labels is `skipped`.
"""
KEY = ("set", "labels", "draw", "system")
OUT = ROOT / "out" / "benchmarks" / "league.jsonl"
WARM_UP = (("iris", "10", 0), ("wine", "30", 0))
"""Draws that a process begins with, so that loading of compiled code is in no measurement."""


def run(
    sets: Sequence[str],
    levels: Sequence[str],
    draws: int,
    *,
    systems: Mapping[str, System] = SYSTEMS,
    out: Path = OUT,
    n_jobs: int = 1,
) -> None:
    """Measure what a file of JSON lines does not have, and append it line by line.

    The first draw of all sets comes before the second of any. Systems that are new to the file are
    measured on the same rows and labels as the others. Remove lines from it to repeat them.

    Parameters
    ----------
    sets, levels : sequence of str
        Names of sets and of numbers of labels.
    draws : int
        Number of draws of rows and labels.
    systems : mapping from name to system
    out : Path
        File of JSON lines.
    n_jobs : int
        Number of processes, each with a single thread.
    """
    done = {tuple(result[name] for name in KEY) for result in read_lines(out)}
    wanted = itertools.product(range(draws), levels, sets, systems)
    keys = [(name, level, draw, system) for draw, level, name, system in wanted]
    missing = [key for key in keys if key not in done]
    commit = commit_of(Path(__file__).parent)
    with parallel_config(backend="loky", inner_max_num_threads=1):
        tasks = (delayed(measure)(*key, systems[key[-1]]) for key in missing)
        results = Parallel(n_jobs=n_jobs, return_as="generator_unordered")(tasks)
    for number, result in enumerate(results, start=1):
        append_line(out, result | {"commit": commit})
        sys.stderr.write(f"{number} of {len(missing)}: {_text(result)}\n")


def measure(name: str, level: str, draw: int, system_name: str, system: System) -> Result:
    """Return the error of a system on the unlabeled rows of a draw, and its CPU seconds."""
    result: Result = dict(zip(KEY, (name, level, draw, system_name), strict=True))
    made = _draw(name, level, draw)
    if made is None:
        return result | {"skipped": True}
    unlabeled = made.few == UNLABELED
    result |= {
        "n_rows": len(made.y),
        "n_classes": made.n_classes,
        "n_labels": int((~unlabeled).sum()),
    }
    # Few labels do not reach all components, and label spreading divides by zero there.
    with threadpool_limits(limits=1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        _warm_up(system)
        start = time.process_time()
        try:
            labels = system(made.X, made.few, made.seed)
        except Exception as error:  # noqa: BLE001 - what a system fails with is a result
            text = " ".join(f"{type(error).__name__}: {error}".split())
            return result | {"failure": text, "cpu": time.process_time() - start}
        cpu = time.process_time() - start
    return result | {"error": float(np.mean(labels[unlabeled] != made.y[unlabeled])), "cpu": cpu}


@lru_cache(maxsize=1)
def _draw(name: str, level: str, draw: int) -> Draw | None:
    return make_draw(name, level, draw)


@lru_cache
def _warm_up(system: System) -> None:
    for name, level, draw in WARM_UP:
        small = make_draw(name, level, draw)
        if small is not None:
            try:
                system(small.X, small.few, 0)
            except Exception:  # noqa: BLE001 - it will fail again where it is measured
                return


def _text(result: Result) -> str:
    what = f"{result['set']}, {result['labels']} labels, draw {result['draw']}, {result['system']}"
    if "skipped" in result:
        return f"{what}: skipped, too few rows"
    outcome = result.get("failure") or f"{100 * result['error']:.1f} % wrong"
    return f"{what}: {outcome}, {result['cpu']:.1f} s"
