"""Given labels that look wrong."""

from __future__ import annotations

import numpy as np

from graphmargin._progress import progress_listener, report_stage
from graphmargin._typing import ProgressListener
from graphmargin.graph.adjacency import neighbor_graph
from graphmargin.harmonic.problem import HarmonicProblem, problem_on
from graphmargin.harmonic.solution import solve_path
from graphmargin.harmonic.suspicion import label_suspicion
from graphmargin.labeling.cells import row_notes
from graphmargin.labeling.findings import RowNote
from graphmargin.labeling.job import CLEAR_GAMMA_G, Job
from graphmargin.labels import UNLABELED, EncodedLabels

DOUBTFUL = 0.5
"""Suspicion from which on the other labels prefer another one."""


def audit_labels(
    job: Job, *, n_jobs: int | None = None, seed: int = 0, watch: ProgressListener | None = None
) -> tuple[RowNote, ...]:
    """Return the given labels that the others contradict, the most suspicious first.

    The label of a note is the given one, `other` what the other labels induce with this one hidden,
    and the score is the suspicion (`graphmargin.label_suspicion`), above 0.5 for all of them. The
    cost grows with the number of labels times that of the other rows.

    Examples
    --------
    >>> import pandas as pd
    >>> from graphmargin.labeling.job import job_of
    >>> size = [1.0, 1.1, 1.2, 1.3, 1.4, 5.0, 5.1, 5.2, 5.3, 5.4]
    >>> kind = ["cat", "cat", "dog", "cat", "cat", "dog", "dog", "dog", "dog", None]
    >>> (note,) = audit_labels(job_of(pd.DataFrame({"size": size, "kind": kind}), "kind"))
    >>> note.row, note.label, note.other
    (3, 'dog', 'cat')
    """
    labels = EncodedLabels(job.target.classes, job.target.codes)
    with progress_listener(watch):
        with report_stage(f"graph of {len(job.X):,} rows", verbose=0) as news:
            graph = neighbor_graph(
                *(job.X, job.n_neighbors),
                width="paper",
                metric="euclidean",
                n_jobs=n_jobs,
                random_state=seed,
                progress=news,
            )
        with report_stage(f"a look at {job.n_labels:,} labels", verbose=0):
            problem = problem_on(graph.W, labels, c_labeled=np.inf, c_unlabeled=0.0)
            return doubts_on(problem, job, n_jobs=n_jobs)


def doubts_on(
    problem: HarmonicProblem, job: Job, *, n_jobs: int | None = None
) -> tuple[RowNote, ...]:
    """Return the doubted labels of a job, on a graph that is known already."""
    (solution,) = solve_path(problem, [CLEAR_GAMMA_G], n_jobs=n_jobs)
    found = label_suspicion(solution, n_jobs=n_jobs)
    doubted = (found.suspicion > DOUBTFUL) & (found.suggested != UNLABELED)
    order = found.order[doubted[found.order]]
    return row_notes(
        job,
        found.vertices[order].tolist(),
        job.target.classes[found.given[order]].tolist(),
        job.target.classes[found.suggested[order]].tolist(),
        found.suspicion[order].tolist(),
    )
