"""What a person with a table can do about what looks wrong."""

from __future__ import annotations

from graphmargin.labeling.findings import Estimate
from graphmargin.selection.report import GraphReport


def advice_on(report: GraphReport, estimate: Estimate | None) -> tuple[str, ...]:
    """Return sentences on what looks wrong; empty if nothing does.

    `GraphReport.advice` names parameters, which are chosen here: rows and columns are what can be
    changed.

    Parameters
    ----------
    report : GraphReport
        With the classes of the table.
    estimate : Estimate or None
        Of the accuracy.

    Examples
    --------
    >>> import numpy as np
    >>> from graphmargin.harmonic import harmonic_solution
    >>> from graphmargin.selection.report import graph_report
    >>> W = np.kron(np.eye(3), np.ones((2, 2)))  # three pairs, one of them without a label
    >>> solution = harmonic_solution(W, ["cat", "", "dog", "", "", ""], gamma_g=0.1)
    >>> advice_on(graph_report(solution), None)[1]
    'Whether the graph helps is unknown: give two labels or more to a class.'
    """
    said = []
    if report.n_unreached:
        rows = "1 row" if report.n_unreached == 1 else f"{report.n_unreached:,} rows"
        said.append(
            f"No label reaches {rows}, which the model alone labels: see `graphmargin suggest`."
        )
    said += advice_on_labels(estimate)
    if (odd := report.odd_class) is not None:
        said.append(
            f"Class {str(report.classes[odd])!r} has {report.label_shares[odd]:.1%} of the given "
            f"labels and {report.induced_counts[odd] / report.induced_counts.sum():.1%} of those "
            "that the graph induces: if this is not what you expect, give more labels."
        )
    return tuple(said)


def advice_on_labels(estimate: Estimate | None) -> tuple[str, ...]:
    """Return what hidden labels say of the given ones: a sentence, or none.

    Examples
    --------
    >>> advice_on_labels(None)
    ('Whether the graph helps is unknown: give two labels or more to a class.',)
    """
    if estimate is None:
        return ("Whether the graph helps is unknown: give two labels or more to a class.",)
    if estimate.accuracy <= estimate.guess:
        return (
            "Hidden labels were not found more often than by one guess for all: give more labels, "
            "or leave out columns that do not matter.",
        )
    return ()
