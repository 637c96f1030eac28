"""Output of the commands, as text or as JSON."""

from __future__ import annotations

import itertools
import json
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, is_dataclass
from typing import TYPE_CHECKING, Any

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text

from graphmargin._errors import printable

if TYPE_CHECKING:
    from graphmargin.confidence.coverage import SurestRows
    from graphmargin.confidence.held_out_predictions import AccuracyEstimate
    from graphmargin.labeling.summary import Summary

MAX_CLASSES = 12
"""Largest number of classes in a summary."""
MAX_NAMES = 6
"""Largest number of column names in a line."""
WRAP_WIDTH, COLUMN_GAP = 24, 3
"""Width from which a column of text may be wrapped, and the space between columns."""
SHOWN_WEIGHT = 0.05
"""Smallest weight of an assumption in a summary."""
NAME_WIDTH = 10
"""Width of the names of lines in a summary."""

_UNPRINTABLE = re.compile(r"[^\n -~\w]")
"""Pattern of characters that JSON leaves as they are, but a terminal may not print."""


def console() -> Console:
    """Return the console of stdout, which does not wrap lines if it is no terminal."""
    terminal = Console(highlight=False)
    return terminal if terminal.is_terminal else Console(highlight=False, width=10_000)


def line(*parts: str | tuple[str, str], style: str = "") -> Text:
    r"""Return a line of texts, some with a style, in which control characters are escaped.

    Examples
    --------
    >>> line("cat\x1b[31m, ", ("dog", "bold")).plain
    'cat\\x1b[31m, dog'
    """
    texts = [part if isinstance(part, tuple) else (part, "") for part in parts]
    return Text.assemble(*((printable(text), mark) for text, mark in texts), style=style)


def print_json(content: Any) -> None:
    """Print JSON; dataclasses become objects, inf becomes text and nan becomes null."""
    written = json.dumps(_json_value(content), indent=1, ensure_ascii=False)
    Console(highlight=False).print(Text(_UNPRINTABLE.sub(_json_escape, written)), soft_wrap=True)


def print_table(
    header: Sequence[str], rows: Iterable[Sequence[str]], n_needed: int | None = None
) -> None:
    """Print rows of texts as a table; numbers are aligned on the right.

    On a narrow terminal, columns after the first `n_needed` are left out if they do not fit; by
    default, all columns are needed.
    """
    rows, out = [list(row) for row in rows], console()
    widths = [max(map(len, (name, *cells))) for name, *cells in zip(header, *rows, strict=True)]
    ends = itertools.accumulate(min(width, WRAP_WIDTH) + COLUMN_GAP for width in widths)
    shown = max(n_needed or len(header), sum(end <= out.width for end in ends))
    table = Table(box=SIMPLE_HEAD, pad_edge=False)
    for i, name in enumerate(header[:shown]):
        is_number = all(_is_number(row[i]) for row in rows)
        narrowest = max((len(row[i]) for row in rows), default=0)
        table.add_column(
            line(name),
            justify="right" if is_number else "left",
            min_width=narrowest if is_number else min(narrowest, WRAP_WIDTH // 3),
            overflow="fold",
        )
    for row in rows:
        table.add_row(*(line(cell) for cell in row[:shown]))
    out.print(table)


def print_summary(summary: Summary, files: Mapping[str, str]) -> None:
    """Print the summary of a labeled table, and the paths of its files."""
    out = console()
    n_classes = len(summary.classes)
    out.print(
        line(
            (summary.table, "bold"),
            f": {summary.n_rows:,} rows, {summary.n_labels:,} with a label in ",
            (summary.target, "bold"),
            f", {n_classes} classes",
        )
    )
    used = [use for use in summary.columns if use.role != "left out"]
    n_features = sum(use.n_features for use in used)
    columns = _number_of(len(used), "column")
    lines = [("features", f"{n_features} from {columns}; {summary.scaling}")]
    read_as = [f"{use.name} ({use.role}: {use.reading})" for use in used if use.reading]
    if read_as:
        lines.append(("read as", _format_some(read_as)))
    left_out = [f"{use.name} ({use.note})" for use in summary.columns if use.role == "left out"]
    if left_out:
        lines.append(("left out", _format_some(left_out)))
    counts = summary.source_counts
    lines += [
        (
            "labels",
            f"{counts['given']:,} given, {counts['induced']:,} induced by the graph, "
            f"{counts['model']:,} by the model alone",
        ),
        *_empty_lines(summary),
        *_accuracy_lines(summary),
        ("graph", summary.verdict),
        *_choice_lines(summary),
        *_cluster_lines(summary),
    ]
    for name, text in lines:
        _print_entry(out, name, text)
    _print_classes(summary)
    print_warnings(summary.warnings)
    for name, path in files.items():
        out.print(line((f"{name:<{NAME_WIDTH}}", "dim"), (path, "green")))


def print_warnings(warnings: Iterable[str]) -> None:
    """Print sentences that a user should do something about."""
    for warning in warnings:
        console().print(line(("! ", "bold yellow"), warning))


def _print_entry(out: Console, name: str, text: str) -> None:
    """Print a line of a summary; if it is wrapped, its text stays in its own column."""
    width = max(out.width - NAME_WIDTH, WRAP_WIDTH)
    for part in line(text).wrap(out, width):
        out.print(line((f"{name:<{NAME_WIDTH}}", "dim")) + part)
        name = ""


def _accuracy_lines(summary: Summary) -> list[tuple[str, str]]:
    """Return the lines of a summary on the estimated accuracy."""
    estimate, surest = summary.estimate, summary.surest
    if estimate is None:
        text = "unknown, as no label can be held out; label two or more rows of a class"
        return [("accuracy", text)]
    lines = [
        (
            "accuracy",
            f"about {estimate.accuracy:.0%} ({estimate.n_right} of {estimate.n_held_out} held-out "
            f"labels were right; 95 % interval: {_range(estimate.interval)}; most frequent class: "
            f"{estimate.majority_accuracy:.0%}; balanced: {estimate.balanced_accuracy:.0%})",
        )
    ]
    if surest is not None:
        lines.append(("surest", surest_text(surest)))
    return lines


def surest_text(surest: SurestRows) -> str:
    """Return a sentence on how many of the surest rows are right; shares are rounded down.

    Examples
    --------
    >>> from graphmargin.confidence.coverage import SurestRows
    >>> surest_text(SurestRows(share=0.601, threshold=0.97, accuracy=0.994, interval=(0.9, 0.998)))
    'of the surest 60% of the rows, about 99% are right (those with a confidence from 0.970 on)'
    """
    accuracy = f"about {math.floor(100 * surest.accuracy)}%"
    if surest.share == 1:
        return f"of all rows, {accuracy} are right"
    return (
        f"of the surest {surest.share:.0%} of the rows, {accuracy} are right (those with a "
        f"confidence from {surest.threshold:.3f} on)"
    )


def _empty_lines(summary: Summary) -> list[tuple[str, str]]:
    """Return the line that a summary has only if some rows were not sure enough."""
    if not summary.min_confidence:
        return []
    rows = _number_of(summary.n_left_empty, "row")
    return [("empty", f"{rows} with a confidence below {summary.min_confidence:g}")]


def _print_classes(summary: Summary) -> None:
    names = ["class", "given", "now", "share"]
    rows = [
        [name, f"{given:,}", f"{final:,}", f"{final / summary.n_rows:.1%}"]
        for name, given, final in zip(
            summary.classes, summary.given_counts, summary.final_counts, strict=True
        )
    ]
    if summary.estimate is not None:
        names += ["recall (interval)", "precision (interval)"]
        estimates = _class_estimates(summary.estimate)
        rows = [[*row, *texts] for row, texts in zip(rows, estimates, strict=True)]
    print_table(names, rows[:MAX_CLASSES], n_needed=4)
    if len(rows) > MAX_CLASSES:
        console().print(line(f"and {len(rows) - MAX_CLASSES} more classes", style="dim"))


def _class_estimates(estimate: AccuracyEstimate) -> list[list[str]]:
    """Return recall and precision of every class, with their intervals, as texts."""
    pairs = (
        zip(estimate.recall, estimate.recall_interval, strict=True),
        zip(estimate.precision, estimate.precision_interval, strict=True),
    )
    return [
        [f"{share:.0%} ({_range(interval)})" for share, interval in of_class]
        for of_class in zip(*pairs, strict=True)
    ]


def _range(interval: Sequence[float]) -> str:
    return f"{interval[0]:.0%} to {interval[1]:.0%}"


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
    from graphmargin.labeling.summary import weights_text

    weights = {member.name: member.weight for member in summary.members if member.weight > 0}
    lines = [("chosen", weights_text(weights))]
    if len(summary.members) > 1 and summary.estimate is not None:
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
            f"{_number_of(use.n_partitions, 'partition')} of the graph, with "
            f"{use.graph_recall:.1%} of the exact neighbors",
        ),
    ]


def _number_of(n: int, noun: str) -> str:
    return f"{n:,} {noun}{'' if n == 1 else 's'}"


def _format_some(names: Sequence[str]) -> str:
    more = f" and {len(names) - MAX_NAMES} more" if len(names) > MAX_NAMES else ""
    return ", ".join(names[:MAX_NAMES]) + more


def _json_escape(match: re.Match[str]) -> str:
    if match[0].isprintable():
        return match[0]
    units = match[0].encode("utf-16-be", errors="surrogatepass")
    return "".join(f"\\u{units[i : i + 2].hex()}" for i in range(0, len(units), 2))


def _is_number(text: str) -> bool:
    return text.removeprefix("-").replace(",", "").rstrip("%").replace(".", "", 1).isdigit()


def _json_value(value: Any) -> Any:
    if is_dataclass(value) and not isinstance(value, type):
        return _json_value(asdict(value))
    if isinstance(value, Mapping):
        return {str(key): _json_value(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_json_value(item) for item in value]
    if hasattr(value, "tolist"):  # an array or a number of NumPy, which need not be imported
        return _json_value(value.tolist())
    if isinstance(value, float) and not math.isfinite(value):
        return str(value) if math.isinf(value) else None
    return value
