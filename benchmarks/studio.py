"""The studio: the time from a label to the new answer, and the labels that its queue saves.

`python -m benchmarks.studio latency` labels rows of tables of 10,000 and 100,000 rows one by one,
in the order of the queue, through the object that the server calls: journal on disk, live answer,
queue, estimate and what windows download. It prints the median and the 95th percentile of the time
of the answer, and of the whole update with all work in the background, as wall time and as CPU time
of the process; the bytes of a label in the journal and to a window; and the largest memory.

`python -m benchmarks.studio annotator` begins without a label. A simulated person knows the truth
and labels the first row of the queue, or rows in random order. It prints how many labels the live
answer needs for 95 and 97 percent of the unlabeled rows; random order is tested after every 5
percent more labels. Results are appended to ``out/benchmarks/studio.json``.
"""

from __future__ import annotations

import resource
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.preprocessing import StandardScaler

from benchmarks.problems import mixture
from benchmarks.session import RESULTS, environment, store
from graphmargin.datasets import load_digits, load_letter, load_segmentation
from graphmargin.labeling.labeling_task import task_of
from graphmargin.studio.live import LiveModel
from graphmargin.studio.service import Studio
from graphmargin.studio.session import Decision, new_session
from graphmargin.studio.views import predictions_bytes, state_json

GOALS = (0.95, 0.97)
N_LABELS = 40
"""Number of labels whose time is measured."""
N_FIRST = 20
"""Number of labels before them, in which kernels are compiled."""
MAX_SHARE = 0.4
"""Share of the rows after which a simulated person stops."""


def _mixture(n: int) -> tuple[Any, Any]:
    problem = mixture(0, n, 16)
    return problem.X, problem.y


def _letter() -> tuple[Any, Any]:
    X, y = load_letter()
    return X[:10_000], y[:10_000]


def _segmentation() -> tuple[Any, Any]:
    X, y = load_segmentation()
    return StandardScaler().fit_transform(X), y


LATENCY: dict[str, Callable[[], tuple[Any, Any]]] = {
    "letter, 10,000": _letter,
    "mixture, 10,000": lambda: _mixture(10_000),
    "mixture, 100,000": lambda: _mixture(100_000),
}
TABLES: dict[str, Callable[[], tuple[Any, Any]]] = {
    "digits": load_digits,
    "segmentation": _segmentation,
    "letter": load_letter,
}


def latency(name: str) -> dict[str, Any]:
    """Return the times, bytes and memory of single labels on a table."""
    X, y = LATENCY[name]()
    table = pd.DataFrame(np.asarray(X), columns=[f"x{i}" for i in range(X.shape[1])])
    truth = np.asarray(y).astype(str)
    times: list[list[float]] = []
    with tempfile.TemporaryDirectory() as folder:
        start = time.perf_counter()
        task = task_of(table, "kind", name="table.csv", min_classes=0)
        path = Path(folder) / "table.csv"
        path.touch()  # the studio locks its table
        studio = Studio(task, path)
        started = time.perf_counter() - start
        names, codes = np.unique(truth, return_inverse=True)
        for kind in names.tolist():
            studio.decide(Decision("add_class", name=kind))
        studio.wait_for_background()
        journal = Path(folder) / "table.csv.studio.jsonl"
        n_bytes = []
        for i in range(N_FIRST + N_LABELS):
            row, size = studio.snapshot.live.queue[0].row, journal.stat().st_size
            version = studio.snapshot.version
            clocks = [(time.perf_counter(), time.process_time())]
            studio.decide(Decision("label", (row,), int(codes[row]), by="key"))
            clocks.append((time.perf_counter(), time.process_time()))
            studio.wait_for_background()
            clocks.append((time.perf_counter(), time.process_time()))
            if i >= N_FIRST:
                (a, b), (c, d), (e, f) = clocks
                times.append([c - a, d - b, e - a, f - b])
                now = studio.snapshot
                sent = len(predictions_bytes(now, studio.changed_since(version)))
                state = len(str(state_json(now)))
                n_bytes.append((journal.stat().st_size - size, sent, state))
        studio.close()
    measured = ("answer wall", "answer CPU", "whole wall", "whole CPU")
    quantiles = np.quantile(np.array(times), [0.5, 0.95], axis=0).round(4)
    in_journal, sent, state = np.median(n_bytes, axis=0).astype(int).tolist()
    return {
        "problem": name,
        "start": round(started, 2),
        **dict(zip(measured, quantiles.T.tolist(), strict=True)),
        "journal bytes": in_journal,
        "predictions bytes": sent,
        "state bytes": state,
        "memory MB": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
    }


def annotate(name: str, order: str, draw: int) -> dict[str, Any]:
    """Return how many labels the live answer needs to be right on a share of the unlabeled rows."""
    X, y = TABLES[name]()
    rng = np.random.default_rng(draw)
    rows = rng.permutation(len(y))[: int(0.9 * len(y))]
    X, y = np.asarray(X, dtype=np.float64)[rows], np.unique(y[rows], return_inverse=True)[1]
    live, n_classes = LiveModel(X), int(y.max()) + 1
    names = [str(k) for k in range(n_classes)]
    codes, needed = np.full(len(y), -1), dict.fromkeys(GOALS)
    shuffled, n_labels = rng.permutation(len(y)), 0
    while n_labels < MAX_SHARE * len(y) and needed[GOALS[-1]] is None:
        if order == "random":
            n_labels = max(n_labels + 1, int(1.05 * n_labels))
            codes = np.where(np.isin(np.arange(len(y)), shuffled[:n_labels]), y, -1)
            mass = live.state.system.solve(codes, n_classes).class_mass
        else:
            session = new_session(names, codes)
            while live.refresh(session):
                pass
            answer = live.update(session)
            codes = codes.copy()
            codes[answer.queue[0].row] = y[answer.queue[0].row]
            n_labels += 1
            mass = answer.distributions
        hidden = codes < 0
        accuracy = np.mean(mass[hidden].argmax(axis=1) == y[hidden])
        for goal in GOALS:
            if needed[goal] is None and accuracy >= goal:
                needed[goal] = n_labels
    return {"problem": name, "order": order, "draw": draw, "needed": list(needed.values())}


def main(arguments: list[str]) -> None:
    """Measure what is named: latency, annotator, or both."""
    session = environment()
    for what in arguments or ["latency", "annotator"]:
        if what == "latency":
            runs = (latency(name) for name in LATENCY)
        else:
            pairs = [
                (name, draw) for name in TABLES for draw in range(1 if name == "letter" else 3)
            ]
            runs = (annotate(n, o, d) for n, d in pairs for o in ("queue", "random"))
        for result in runs:
            print(result, flush=True)
            store({**result, "session": session}, RESULTS / "studio.json")


if __name__ == "__main__":
    main(sys.argv[1:])
