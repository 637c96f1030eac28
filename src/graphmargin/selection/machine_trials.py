"""Trials of machines that share explicit features: all candidates, fold by fold."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from graphmargin._threads import map_in_threads
from graphmargin._typing import IntArray, ProgressCallback
from graphmargin.labels import EncodedLabels
from graphmargin.margin.machine import MarginMachine, pairwise_values
from graphmargin.selection.execution import Execution
from graphmargin.selection.held_out import NOTHING_HELD_OUT, HeldOutLabels
from graphmargin.selection.tasks import Candidate, Task, TaskTrials
from graphmargin.selection.trials import pairwise_trials


def try_machines(
    task: Task,
    candidates: Sequence[Candidate],
    train: Callable[[IntArray], list[MarginMachine]],
    points: Any,
    rows: IntArray,
    held_out: HeldOutLabels,
    execution: Execution,
    progress: ProgressCallback | None,
) -> TaskTrials:
    """Return the trials of machines on the same landmarks; ``gamma_u = 0`` is supervised.

    Parameters
    ----------
    task : Task
    candidates : sequence of dict
        Dicts with the keys ``gamma_u`` and ``C``.
    train : callable
        Takes the class of each row, -1 for unlabeled; returns the machines of all candidates.
    points : array or CSR matrix of shape (s, d)
        The rows that machines learn from and are tested on, in the form that they take.
    rows : array of shape (s,)
        Numbers of these rows.
    held_out : HeldOutLabels
        A validation set has its rows in the form that machines take.
    execution : Execution
    progress : callable or None
    """
    labels = EncodedLabels(task.labels.classes, task.labels.codes[rows])
    tested = [np.flatnonzero(np.isin(rows, fold)) for fold in held_out.folds]
    fold_codes = [labels.without(places).codes for places in (NOTHING_HELD_OUT, *tested)]
    by_fold = map_in_threads(train, fold_codes, n_jobs=execution.n_jobs, progress=progress)
    if held_out.validation is None:
        folds = zip(by_fold[1:], tested, strict=True)
        parts = [pairwise_values(trained, points[places]) for trained, places in folds]
        places = np.concatenate([NOTHING_HELD_OUT, *tested])
        held_out_rows, held_out_codes = rows[places], labels.codes[places]
    else:
        held_out_rows = None
        new, held_out_codes = held_out.validation
        parts = [pairwise_values(by_fold[0], new)]
    evidence = pairwise_trials(
        candidates,
        [float(candidate["gamma_u"]) == 0 for candidate in candidates],
        held_out_codes,
        parts,
        pairwise_values(by_fold[0], points[~labels.labeled]),
        len(labels.classes),
        held_out_rows,
    )
    return TaskTrials(task, evidence)
