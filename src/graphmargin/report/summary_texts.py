"""The summary of a labeled table as texts, for a terminal and for a notebook."""

from __future__ import annotations

import math
from collections.abc import Sequence

from graphmargin._html import html_table
from graphmargin._texts import format_count, format_estimate, format_interval
from graphmargin.confidence.coverage import SurestRows
from graphmargin.confidence.held_out_predictions import AccuracyEstimate
from graphmargin.report.summary import Summary, weights_text

MAX_NAMES = 6
"""Largest number of column names in a line."""
SHOWN_WEIGHT = 0.05
"""Smallest weight of an assumption in a summary."""


def summary_lines(summary: Summary) -> list[tuple[str, str]]:
    """Return the lines of a summary, each with its name.

    Examples
    --------
    >>> from graphmargin.report.summary import MemberSummary
    >>> summary = Summary(
    ...     table="pets.csv", target="kind", n_rows=6, n_labels=2, n_predicted=4,
    ...     classes=("cat", "dog"), given_counts=(1, 1), final_counts=(3, 3), columns=(),
    ...     scaling="no numbers", candidates=(), supervised_share=0.5, estimate=None, warnings=(),
    ...     members=(MemberSummary("cut", "", 1.0, None),), seconds=0.1, version="1.0",
    ... )
    >>> summary_lines(summary)[:2]
    [('features', '0 from 0 columns; no numbers'), ('labels', '2 given, 4 predicted')]
    """
    used = [use for use in summary.columns if use.role != "left out"]
    n_features = sum(use.n_features for use in used)
    columns = format_count(len(used), "column")
    lines = [("features", f"{n_features} from {columns}; {summary.scaling}")]
    read_as = [f"{use.name} ({use.role}: {use.reading})" for use in used if use.reading]
    if read_as:
        lines.append(("read as", _format_some(read_as)))
    left_out = [f"{use.name} ({use.note})" for use in summary.columns if use.role == "left out"]
    if left_out:
        lines.append(("left out", _format_some(left_out)))
    return [
        *lines,
        ("labels", f"{summary.n_labels:,} given, {summary.n_predicted:,} predicted"),
        *_empty_lines(summary),
        *_accuracy_lines(summary),
        *_choice_lines(summary),
        *_cluster_lines(summary),
    ]


def _accuracy_lines(summary: Summary) -> list[tuple[str, str]]:
    """Return the lines of a summary on the estimated accuracy."""
    estimate, surest = summary.estimate, summary.surest
    if estimate is None:
        text = "unknown, as no label can be held out; label two or more rows of a class"
        return [("accuracy", text)]
    lines = [
        (
            "accuracy",
            f"about {format_estimate(estimate.accuracy)} (95 % interval: "
            f"{format_interval(estimate.interval)}; {estimate.n_right:,} of "
            f"{estimate.n_held_out:,} held-out labels were right; most frequent class: "
            f"{format_estimate(estimate.majority_accuracy)}; balanced: "
            f"{format_estimate(estimate.balanced_accuracy)})",
        )
    ]
    if surest is not None and surest.share < 1:
        lines.append(("surest", surest_text(surest)))
    return lines


def surest_text(surest: SurestRows) -> str:
    """Return a sentence on how many of the surest rows are right; shares are rounded down.

    Examples
    --------
    >>> from graphmargin.confidence.coverage import SurestRows
    >>> surest_text(SurestRows(share=0.601, threshold=0.97, accuracy=0.994, interval=(0.9, 0.998)))
    'of the surest 60% of the rows, about 99% are right (confidence 0.970 or more)'
    """
    return (
        f"of the surest {math.floor(100 * surest.share)}% of the rows, about "
        f"{math.floor(100 * surest.accuracy)}% are right (confidence "
        f"{surest.threshold:.3f} or more)"
    )


def _empty_lines(summary: Summary) -> list[tuple[str, str]]:
    """Return the line that a summary has only if some rows were not sure enough."""
    if not summary.min_confidence:
        return []
    rows = format_count(summary.n_left_empty, "row")
    return [("empty", f"{rows} with a confidence below {summary.min_confidence:g}")]


def class_rows(summary: Summary) -> tuple[list[str], list[list[str]]]:
    """Return the header and the rows of a table of the classes: counts, shares and estimates."""
    header = ["class", "given", "now", "share"]
    rows = [
        [name, f"{given:,}", f"{final:,}", f"{final / summary.n_rows:.1%}"]
        for name, given, final in zip(
            summary.classes, summary.given_counts, summary.final_counts, strict=True
        )
    ]
    if summary.estimate is not None:
        header += ["recall (interval)", "precision (interval)"]
        estimates = _class_estimates(summary.estimate)
        rows = [[*row, *texts] for row, texts in zip(rows, estimates, strict=True)]
    return header, rows


def summary_text(summary: Summary) -> str:
    """Return the summary as lines of text, with the counts of the classes and the warnings."""
    counts = zip(summary.classes, summary.given_counts, summary.final_counts, strict=True)
    lines = [
        *summary_lines(summary),
        *((name, f"{given:,} given, {final:,} now") for name, given, final in counts),
        *(("!", text) for text in summary.warnings),
    ]
    width = max(len(name) for name, _ in lines) + 2
    return "\n".join([_title(summary), *(f"{name:<{width}}{text}" for name, text in lines)])


def summary_html(summary: Summary) -> str:
    """Return the summary as two tables for a notebook, and its warnings."""
    warnings = [("warning", text) for text in summary.warnings]
    header, rows = class_rows(summary)
    return html_table(_title(summary), [*summary_lines(summary), *warnings]) + html_table(
        "classes", rows, header=header
    )


def _title(summary: Summary) -> str:
    return f"{summary.table}: {format_count(summary.n_rows, 'row')}, target {summary.target}"


def _class_estimates(estimate: AccuracyEstimate) -> list[list[str]]:
    """Return recall and precision of every class, with their intervals, as texts."""
    pairs = (
        zip(estimate.recall, estimate.recall_interval, strict=True),
        zip(estimate.precision, estimate.precision_interval, strict=True),
    )
    return [
        [f"{format_estimate(share)} ({format_interval(interval)})" for share, interval in of_class]
        for of_class in zip(*pairs, strict=True)
    ]


def _choice_lines(summary: Summary) -> list[tuple[str, str]]:
    """Return the lines of a summary on what was chosen: members, or candidates of the cut."""
    if not summary.members:
        best = summary.candidates[0]
        blended = sum(candidate.weight > 0 for candidate in summary.candidates)
        gamma_g = "no graph" if math.isinf(best.gamma_g) else f"gamma_g {best.gamma_g:.3g}"
        text = (
            f"a blend of {blended} of {len(summary.candidates)} candidates, supervised learning "
            f"with {summary.supervised_share:.0%} of the weight; best: {gamma_g}, C {best.C:.3g}"
        )
        return [("chosen", text)]
    weights = {member.name: member.weight for member in summary.members if member.weight > 0}
    lines = [("chosen", weights_text(weights))]
    if len(summary.assumptions) > 1 and summary.estimate is not None:
        supported = [
            f"{assumption} ({weight:.0%})"
            for assumption, weight in summary.assumptions.items()
            if weight >= SHOWN_WEIGHT
        ]
        lines.append(("because", "; ".join(supported)))
    return lines


def _cluster_lines(summary: Summary) -> list[tuple[str, str]]:
    """Return the lines that a summary has only for a cluster."""
    use = summary.cluster
    if use is None:
        return []
    return [
        (
            "samples",
            f"features learned from {use.sampled_rows:,} rows; parameters chosen on "
            f"{use.tried_labeled:,} labels and {use.tried_unlabeled:,} other rows",
        ),
        (
            "cluster",
            f"{format_count(use.n_partitions, 'partition')} of the graph, with "
            f"{use.graph_recall:.1%} of the exact neighbors",
        ),
    ]


def _format_some(names: Sequence[str]) -> str:
    more = f" and {len(names) - MAX_NAMES} more" if len(names) > MAX_NAMES else ""
    return ", ".join(names[:MAX_NAMES]) + more
