"""Advice on a graph and its labels, for those who set parameters and those who have a table."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from graphmargin._texts import format_class, format_count
from graphmargin._typing import IntArray
from graphmargin.search.choice import majority_error

if TYPE_CHECKING:
    from graphmargin.reports.graph_reports import GraphReport

FEW = 10
"""Number of held-out labels, or edges between labeled points, below which evidence is weak."""
MIN_CLASS_LABELS = 3
"""Number of labels below which advice says that a class has few, in the studio."""
SMALL_CHANGE = 0.005
"""Share of changed rows below which more labels are said to be of little use."""
LOW_RECALL = 0.9
"""Share of the true nearest neighbors below which a graph is said to miss many."""


class Advice(NamedTuple):
    """A sentence on what looks wrong and what to do about it, for two readers.

    Attributes
    ----------
    code : str
        Topic, in a few words.
    for_python : str
        Sentence that names parameters.
    for_tables : str
        Sentence that names rows, labels and columns, which a person with a table can change; empty
        if there is nothing that they can do.
    """

    code: str
    for_python: str
    for_tables: str


def graph_advice(report: GraphReport) -> Iterator[Advice]:
    """Yield advice on a graph, its labels, and the labels that they induce."""
    if np.isinf(report.gamma_g) and report.verdict == "not compared":
        text = "`gamma_g` is inf, so that the graph is not used; pass a finite value."
        yield Advice("not used", text, "")
    elif not report.converged:
        text = (
            "The solver did not converge, so that labels may be wrong; use a larger `gamma_g`, or "
            "`harmonic_solution` with solver='direct'."
        )
        yield Advice("not converged", text, "")
    if report.n_unreached:
        yield unreached_advice(report.n_unreached, report.n_unreached_components, report.n_labels)
    if report.recall is not None and report.recall < LOW_RECALL:
        text = (
            f"The graph has only {report.recall:.1%} of the true nearest neighbors; raise `recall`."
        )
        yield Advice("low recall", text, "")
    if report.verdict != "graph helps":  # a better test than the agreement of neighbors
        yield from _neighbors_disagree(report)
    n_reached = report.n_unlabeled - report.n_unreached
    if np.isfinite(report.gamma_g) and 2 * report.n_confident < n_reached:
        way_out = "lower `gamma_g` or `eps`" if report.gamma_g > 0 else "lower `eps`"
        text = f"Most points that reach a label have a confidence below {report.eps:g}; {way_out}."
        yield Advice("low confidence", text, "")
    yield from _class_shares(report)
    if report.choice is not None and report.choice.has_both_kinds:
        choice = report.choice
        evidence = evidence_advice(choice.trials.held_out_codes, choice.error)
        if evidence is not None:
            yield evidence


def unreached_advice(n_unreached: int, n_components: int = 1, n_labels: int = 1) -> Advice:
    """Return the advice on points in components of the graph without a label.

    Examples
    --------
    >>> unreached_advice(1).for_tables
    '1 row cannot be reached from any label in the graph: see `graphmargin suggest`.'
    """
    way_out = "label a point in each such component, or raise `n_neighbors`"
    if n_components > n_labels:
        way_out = "raise `n_neighbors`"
    return Advice(
        "unreached",
        f"{format_count(n_unreached, 'point')} cannot be reached from any label: {way_out}.",
        f"{format_count(n_unreached, 'row')} cannot be reached from any label in the graph: see "
        "`graphmargin suggest`.",
    )


def evidence_advice(held_out: IntArray, error: float) -> Advice | None:
    """Return the advice on the held-out labels on which candidates were tested.

    Parameters
    ----------
    held_out : int array
        Codes of the held-out labels.
    error : float
        Share of them that was predicted wrong.

    Examples
    --------
    >>> evidence_advice(np.zeros(0, dtype=np.int64), float("nan")).for_tables
    'Whether the graph helps is unknown: label at least two rows of a class.'
    """
    if not len(held_out):
        return Advice(
            "untested",
            "Whether the graph helps cannot be tested: label at least two points of a class.",
            "Whether the graph helps is unknown: label at least two rows of a class.",
        )
    finding = "Predictions of held-out labels are no better than the most frequent class for all"
    for_tables, is_no_better = "", error >= majority_error(held_out)
    if is_no_better:
        for_tables = f"{finding}: label more rows, or leave out columns that do not matter."
    if len(held_out) < FEW:
        labels = format_count(len(held_out), "held-out label")
        text = f"The verdict rests on {labels}, which is weak evidence; label more points."
        return Advice("few held out", text, for_tables)
    if is_no_better:
        text = f"{finding}: label more points, scale the features or choose others."
        return Advice("no better than a guess", text, for_tables)
    return None


class SessionAdvice(NamedTuple):
    """A sentence on what to do next, for a person who labels row by row.

    Attributes
    ----------
    kind : {"start", "label", "question", "stop"}
    text : str
    """

    kind: str
    text: str


def session_advice(
    classes: Sequence[str],
    counts: Sequence[int],
    *,
    n_open: int,
    n_questions: int,
    changed: float | None,
    window: int,
) -> SessionAdvice:
    """Return what to do next in a session of labeling, in one sentence.

    Parameters
    ----------
    classes : sequence of str
    counts : sequence of int
        Number of labels of each class.
    n_open : int
        Number of rows without a label that were not skipped either.
    n_questions : int
        Number of labels that look wrong.
    changed : float or None
        Share of the rows whose predicted label changed over the last `window` labels; None if
        there were fewer labels.
    window : int

    Examples
    --------
    >>> state = {"n_open": 5, "n_questions": 0, "window": 20}
    >>> session_advice(["cat", "dog"], [9, 1], changed=None, **state).text
    "Label 2 more rows of class 'dog', which has 1 label."
    >>> session_advice(["cat", "dog"], [19, 18], changed=0.003, **state).text
    'The last 20 labels changed 0.3% of the rows: stop here, or run the automatic choice.'
    """
    n_labels = sum(counts)
    if len(classes) < 2:
        text = "Add at least two classes, then label the rows that are offered first."
        return SessionAdvice("start", text)
    if n_labels == 0:
        text = "Label the rows that are offered first: they represent the most other rows."
        return SessionAdvice("start", text)
    if n_questions:
        looks = "label looks" if n_questions == 1 else "labels look"
        return SessionAdvice("question", f"{n_questions} {looks} wrong: answer the questions.")
    if n_open == 0:
        return SessionAdvice("stop", "No row is left to label: export the table.")
    fewest, name = min(zip(counts, classes, strict=True))
    if fewest < MIN_CLASS_LABELS:
        missing = format_count(MIN_CLASS_LABELS - fewest, "more row")
        has = "none yet" if fewest == 0 else format_count(fewest, "label")
        text = f"Label {missing} of class {name!r}, which has {has}."
        return SessionAdvice("label", text)
    if changed is None:
        text = f"Continue to label the offered rows: {format_count(n_labels, 'label')} so far."
        return SessionAdvice("label", text)
    finding = f"The last {window} labels changed {changed:.1%} of the rows"
    if changed < SMALL_CHANGE:
        return SessionAdvice("stop", f"{finding}: stop here, or run the automatic choice.")
    return SessionAdvice("label", f"{finding}: continue to label.")


def _neighbors_disagree(report: GraphReport) -> Iterator[Advice]:
    error, baseline = report.leave_one_out_error, report.majority_error
    agreement, chance = report.label_agreement, report.chance_agreement
    if error is not None and baseline is not None and error >= baseline and error > 0:
        finding = "This solution predicts held-out labels no better than the most frequent class"
        n_tested = report.n_tested
    elif agreement is not None and agreement <= chance and 0 < chance < 1:
        finding = "Labels of neighbors agree no more often than by chance"
        n_tested = report.n_label_edges
    else:
        return
    weak = f" (tested on {n_tested} only, which is weak evidence)" if n_tested < FEW else ""
    compare = ", and compare with gamma_g=inf" if report.verdict == "not compared" else ""
    text = f"{finding}{weak}: scale the features or choose others{compare}."
    yield Advice("neighbors disagree", text, "")


def _class_shares(report: GraphReport) -> Iterator[Advice]:
    k, induced = report.shifted_class, report.induced_shares
    if k is None or induced is None:
        return
    name, given = format_class(report.classes[k]), report.label_shares[k]
    yield Advice(
        "shifted class",
        f"Class {name} has {given:.1%} of the given labels, but {induced[k]:.1%} of the induced "
        "ones; if you know the class shares, pass them as `class_mass_normalization`.",
        f"Class {name} has {given:.1%} of the given labels, but {induced[k]:.1%} of those that the "
        "graph induces; if you do not expect this, label more rows.",
    )
