"""Advice on a graph and its labels: each piece once, in the words of Python and of tables."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from graphmargin._typing import IntArray
from graphmargin.selection.choice import majority_error

if TYPE_CHECKING:
    from graphmargin.selection.graph_reports import GraphReport

FEW = 10
"""Held-out labels below which a comparison is weak evidence; edges between labels likewise."""
LOW_RECALL = 0.9
"""Share of the true neighbors below which a graph is said to miss many."""


class Advice(NamedTuple):
    """A sentence on what looks wrong and what to do, for two readers.

    Attributes
    ----------
    code : str
        What it is about, in a word or two.
    for_python : str
        Names parameters.
    for_tables : str
        Names rows, labels and columns, which is what a person with a table can change; empty if
        there is nothing to do about it.
    """

    code: str
    for_python: str
    for_tables: str


def graph_advice(report: GraphReport) -> Iterator[Advice]:
    """Yield what looks wrong with a graph, its labels and what they make of the other points."""
    if np.isinf(report.gamma_g) and report.verdict == "not compared":
        text = "`gamma_g` is inf, so that the graph is not used; pass a finite one."
        yield Advice("not used", text, "")
    elif not report.converged:
        text = "The solver did not converge: labels may be wrong; use solver='direct'."
        yield Advice("not converged", text, "")
    if report.n_unreached:
        yield unreached_advice(report.n_unreached, report.n_unreached_components, report.n_labels)
    if report.recall is not None and report.recall < LOW_RECALL:
        text = f"Only {report.recall:.1%} of true neighbors are joined; raise `recall`."
        yield Advice("low recall", text, "")
    if report.verdict != "graph helps":  # else this was tested with the labels themselves
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
    'No label reaches 1 row, which the model alone labels: see `graphmargin suggest`.'
    """
    way_out = "label a point in each such component, or raise `n_neighbors`"
    if n_components > n_labels:
        way_out = "raise `n_neighbors`"
    return Advice(
        "unreached",
        f"{counted(n_unreached, 'point')} cannot get a label: {way_out}.",
        f"No label reaches {counted(n_unreached, 'row')}, which the model alone labels: see "
        "`graphmargin suggest`.",
    )


def evidence_advice(held_out: IntArray, error: float) -> Advice | None:
    """Return the advice on the labels that were held out to test what was chosen.

    Parameters
    ----------
    held_out : int array
        Their codes.
    error : float
        Share of them that were wrong.

    Examples
    --------
    >>> evidence_advice(np.zeros(0, dtype=np.int64), float("nan")).for_tables
    'Whether the graph helps is unknown: give two labels or more to a class.'
    """
    if not len(held_out):
        return Advice(
            "untested",
            "Whether the graph helps cannot be tested: label two points or more of a class.",
            "Whether the graph helps is unknown: give two labels or more to a class.",
        )
    as_bad_as_a_guess = "Held-out labels were not found more often than by one guess for all"
    for_tables, is_as_bad = "", error >= majority_error(held_out)
    if is_as_bad:
        for_tables = (
            f"{as_bad_as_a_guess}: give more labels, or leave out columns that do not matter."
        )
    if len(held_out) < FEW:
        labels = counted(len(held_out), "held-out label")
        text = f"The verdict rests on {labels}, which is weak evidence; label more points."
        return Advice("few held out", text, for_tables)
    if is_as_bad:
        text = f"{as_bad_as_a_guess}: label more points, scale the features or choose others."
        return Advice("no better than a guess", text, for_tables)
    return None


def counted(number: int, thing: str) -> str:
    """Return a number with its noun.

    Examples
    --------
    >>> counted(1, "row"), counted(1200, "row")
    ('1 row', '1,200 rows')
    """
    return f"{number:,} {thing}{'' if number == 1 else 's'}"


def quoted(label: object) -> str:
    """Return a class as it is shown in a text: strings in quotes."""
    return repr(str(label)) if isinstance(label, str) else str(label)


def _neighbors_disagree(report: GraphReport) -> Iterator[Advice]:
    error, guess = report.leave_one_out_error, report.guess_error
    agreement, chance = report.label_agreement, report.chance_agreement
    if error is not None and guess is not None and error >= guess and error > 0:
        seen = "This solution predicts held-out labels no better than one guess for all"
        n_seen = report.n_tested
    elif agreement is not None and agreement <= chance and 0 < chance < 1:
        seen = "Neighbors among the labels agree no more than by chance"
        n_seen = report.n_label_edges
    else:
        return
    weak = f" (of {n_seen} only, which is weak evidence)" if n_seen < FEW else ""
    compare = ", and compare with gamma_g=inf" if report.verdict == "not compared" else ""
    text = f"{seen}{weak}: scale the features or choose others{compare}."
    yield Advice("neighbors disagree", text, "")


def _class_shares(report: GraphReport) -> Iterator[Advice]:
    k, induced = report.shifted_class, report.induced_shares
    if k is None or induced is None:
        return
    name, given = quoted(report.classes[k]), report.label_shares[k]
    yield Advice(
        "shifted class",
        f"Class {name} has {given:.1%} of the labels, but gets {induced[k]:.1%} of the points; if "
        "you know class shares, pass them as `class_mass_normalization`.",
        f"Class {name} has {given:.1%} of the given labels and {induced[k]:.1%} of those that the "
        "graph induces: if this is not what you expect, give more labels.",
    )
