"""Inspection of a labeled table: numbers for a summary, and more of them for a report."""

from __future__ import annotations

from dataclasses import replace
from typing import cast

import numpy as np
from scipy.special import betaincinv

from graphmargin import __version__
from graphmargin._typing import FloatArray, IntArray
from graphmargin.labeling.findings import (
    INDUCED,
    MODEL,
    SOURCES,
    Candidate,
    Estimate,
    Findings,
    GraphMap,
    RowNote,
)
from graphmargin.labeling.graph_layout import place, sample_for_map
from graphmargin.labeling.label_audit import audit_labels
from graphmargin.labeling.labeling_task import LabeledTable, table_report
from graphmargin.labeling.row_preview import preview_rows, row_notes
from graphmargin.selection.choice import Choice
from graphmargin.selection.cuts import fit_cut
from graphmargin.selection.execution import Execution
from graphmargin.selection.graph_reports import GraphReport
from graphmargin.selection.parameters import Parameters, fixed_value
from graphmargin.selection.tasks import make_tasks
from graphmargin.theory.bounds import risk_bound
from graphmargin.theory.capacity import vc_dimension

BINS = 20
"""Number of bins of the histogram of confidences."""
LISTED = 20
"""Rows in a list of the report."""
BOUNDED = Parameters(gamma_g=(0.1,), C=(10.0,), c_labeled=1.0, c_unlabeled=0.01)
"""Parameters of the linear cut that the bound is for; RBF kernels have no finite VC dimension."""
MAX_BOUNDED = 20_000
"""Rows up to which a report computes the bound of the paper."""


def summarize(labeled: LabeledTable) -> Findings:
    """Return what a summary shows; the parts that only a report has are empty.

    Examples
    --------
    >>> import pandas as pd
    >>> from graphmargin.labeling.labeling_task import task_of, label_rows
    >>> table = pd.DataFrame({"size": [1.0, 1.1, 5.0, 5.2], "kind": ["cat", None, "dog", None]})
    >>> found = summarize(label_rows(task_of(table, "kind")))
    >>> found.n_rows, found.n_labels, found.final_counts, found.estimate
    (4, 2, (2, 2), None)
    """
    return _summary(labeled, table_report(labeled, hide_labels=False))


def inspect(labeled: LabeledTable) -> Findings:
    """Return all that a report shows.

    Beyond `summarize`, this places a sample of the rows on a map, follows the path of gamma_g, and
    doubts every given label, unless there are too many.

    Examples
    --------
    >>> import pandas as pd
    >>> from graphmargin.labeling.labeling_task import task_of, label_rows
    >>> table = pd.DataFrame({"size": [1.0, 1.1, 5.0, 5.2], "kind": ["cat", None, "dog", None]})
    >>> found = inspect(label_rows(task_of(table, "kind")))
    >>> len(found.map.x), sorted(note.row for note in found.least_certain)
    (4, [2, 4])
    """
    report = table_report(labeled, hide_labels=True)
    findings = _summary(labeled, report)
    path = labeled.fitted.gamma_path or {}
    doubts = audit_labels(labeled, report)
    return replace(
        findings,
        graph_lines=tuple(line for line in str(report).splitlines() if not line.startswith("!")),
        path={name: tuple(map(float, column)) for name, column in path.items()},
        histogram=_histogram(labeled),
        map=_map(labeled),
        least_certain=_least_certain(labeled),
        doubts=None if doubts.notes is None else doubts.notes[:LISTED],
        doubts_note=doubts.reason,
        certificate=_certificate(labeled, findings),
    )


def _summary(labeled: LabeledTable, report: GraphReport) -> Findings:
    job = labeled.job
    target, n_classes = job.target, len(job.target.classes)
    return Findings(
        table=job.name,
        target=target.name,
        n_rows=len(target.codes),
        n_labels=job.n_labels,
        classes=tuple(str(name) for name in target.classes),
        given_counts=_counts(target.codes[target.labeled], n_classes),
        final_counts=_counts(labeled.codes, n_classes),
        source_counts={name: int((labeled.sources == name).sum()) for name in SOURCES},
        columns=job.columns,
        scaling=job.features.scaling,
        candidates=candidates_of(labeled.choice),
        supervised_share=labeled.choice.supervised_weight,
        estimate=estimate_of(labeled.choice),
        verdict=report.verdict,
        warnings=(*labeled.warnings, *(a.for_tables for a in report.advice if a.for_tables)),
        seconds=labeled.seconds,
        version=__version__,
    )


def _counts(codes: IntArray, n_classes: int) -> tuple[int, ...]:
    return tuple(np.bincount(codes, minlength=n_classes).tolist())


def candidates_of(choice: Choice) -> tuple[Candidate, ...]:
    """Return all that was tried, the heaviest first."""
    is_tested = len(choice.trials.held_out_codes) > 0
    order = np.argsort(-choice.weights, kind="stable")
    return tuple(
        Candidate(
            gamma_g=float(choice.trials.params[i]["gamma_g"]),
            C=float(choice.trials.params[i]["C"]),
            weight=float(choice.weights[i]),
            accuracy=1 - float(choice.errors[i]) if is_tested else None,
        )
        for i in order
    )


def estimate_of(choice: Choice) -> Estimate | None:
    """Return the accuracy on held-out labels; None if none could be held out."""
    given = choice.trials.held_out_codes
    if not len(given):
        return None
    n, right = len(given), round(len(given) * (1 - choice.error))
    return Estimate(
        n_hidden=n,
        n_right=right,
        low=float(betaincinv(right, n - right + 1, 0.025)) if right else 0.0,
        high=float(betaincinv(right + 1, n - right, 0.975)) if right < n else 1.0,
        guess=float(np.bincount(given).max() / n),
    )


def _histogram(labeled: LabeledTable) -> dict[str, tuple[int, ...]]:
    edges = np.linspace(0, 1, BINS + 1)
    return {
        source: tuple(
            np.histogram(labeled.confidence[labeled.sources == source], edges)[0].tolist()
        )
        for source in (INDUCED, MODEL)
    }


def _least_certain(labeled: LabeledTable) -> tuple[RowNote, ...]:
    missing = np.flatnonzero(~labeled.job.target.labeled)
    rows = missing[np.argsort(labeled.confidence[missing], kind="stable")[:LISTED]]
    classes = labeled.job.target.classes
    # The blend votes, so that the second best is that of the probabilities without the winner.
    others = labeled.fitted.label_distributions[rows].copy()
    others[np.arange(len(rows)), labeled.codes[rows]] = -1.0
    return row_notes(
        labeled.job,
        rows.tolist(),
        classes[labeled.codes[rows]].tolist(),
        classes[others.argmax(axis=1)].tolist(),
        labeled.confidence[rows].tolist(),
    )


def _map(labeled: LabeledTable) -> GraphMap:
    job, W = labeled.job, labeled.fitted.task.W
    rows = sample_for_map(job.target.codes)
    placed = place(W, job.X, rows)
    return GraphMap(
        x=tuple(placed.x.tolist()),
        y=tuple(placed.y.tolist()),
        rows=tuple((rows + 1).tolist()),
        codes=tuple(labeled.codes[rows].tolist()),
        confidence=tuple(labeled.confidence[rows].tolist()),
        sources=tuple(labeled.sources[rows].tolist()),
        cells=tuple(preview_rows(job, rows)),
        edges=tuple((i, j) for i, j in placed.edges.tolist()),
        method=placed.method,
    )


def _certificate(labeled: LabeledTable, findings: Findings) -> tuple[str, ...]:
    """Return what is known for sure about the error, in sentences."""
    said = []
    estimate = findings.estimate
    if estimate is None:
        said.append("No label could be held out, so nothing is known about the error.")
    else:
        said.append(
            f"{estimate.n_right} of {estimate.n_hidden} held-out labels were right. If the "
            "labeled rows are a random sample, the accuracy on the others is between "
            f"{estimate.low:.1%} and {estimate.high:.1%} with 95 % confidence; a little less, as "
            "the weights of the blend have seen these labels."
        )
    if len(findings.classes) > 2:
        said.append("The bound of the paper is proved for two classes; here there are more.")
    elif findings.n_rows > MAX_BOUNDED:
        said.append(f"The bound of the paper is computed for up to {MAX_BOUNDED:,} rows.")
    else:
        said += _bound(labeled)
    return tuple(said)


def _bound(labeled: LabeledTable) -> list[str]:
    """Return the bound of Propositions 1 and 2, for a cut whose parameters no label has chosen."""
    task, execution = labeled.fitted.task, Execution(labeled.n_jobs)
    (bounded,) = make_tasks(task.X, task.labels, task.W, [BOUNDED], execution)
    fitted = fit_cut(bounded, execution)
    # Its warnings are on parameters that nobody has chosen; the bound holds all the same.
    bound = risk_bound(
        fitted.solution,
        cast("FloatArray", fitted.training_scores),  # of two classes with soft labels
        vc_dimension=vc_dimension(bounded.kernel, task.X.shape[1]),
        eps=BOUNDED.eps,
    )
    is_informative = "" if bound.informative else ", which says nothing, as a coin has 50 %"
    gamma_g, C = fixed_value(BOUNDED.gamma_g), fixed_value(BOUNDED.C)
    return [
        f"The bound of the paper for a cut with fixed parameters (gamma_g = {gamma_g}, C = {C}, "
        f"soft labels): its risk is below {bound.bound:.3g} with probability "
        f"{bound.probability:g}{is_informative}. The transductive part is "
        f"{bound.transductive_error:.3g}, the inductive one {bound.inductive_error:.3g}."
    ]
