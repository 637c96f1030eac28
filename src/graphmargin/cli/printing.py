"""Output of the commands: text for people, and JSON for machines."""

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
    from graphmargin.labeling.findings import Estimate, Findings

MOST_CLASSES = 12
"""Classes that a summary lists."""
MOST_NAMES = 6
"""Columns that a line lists."""
WRAPPED, GAP = 24, 3
"""Width at which a column of text may be wrapped, and that between columns."""


_UNPRINTABLE = re.compile(r"[^\n -~\w]")
"""Characters of JSON that may have to be escaped, too: all that are no letters or digits."""


def console() -> Console:
    """Return the terminal; where there is none, lines are as long as they are."""
    found = Console(highlight=False)
    return found if found.is_terminal else Console(highlight=False, width=10_000)


def line(*parts: str | tuple[str, str], style: str = "") -> Text:
    r"""Return a line of texts, some with a style, in which nothing can steer a terminal.

    Examples
    --------
    >>> line("cat\x1b[31m, ", ("dog", "bold")).plain
    'cat\\x1b[31m, dog'
    """
    texts = [part if isinstance(part, tuple) else (part, "") for part in parts]
    return Text.assemble(*((printable(text), mark) for text, mark in texts), style=style)


def print_json(content: Any) -> None:
    """Print JSON: dataclasses are objects, inf is a text and nan is null."""
    written = json.dumps(_plain(content), indent=1, ensure_ascii=False)
    Console(highlight=False).print(Text(_UNPRINTABLE.sub(_json_escape, written)), soft_wrap=True)


def print_table(
    header: Sequence[str], rows: Iterable[Sequence[str]], n_needed: int | None = None
) -> None:
    """Print rows of texts; columns of numbers are on the right.

    On a narrow terminal, columns after the first `n_needed` are left out if they do not fit; by
    default, all columns are needed.
    """
    rows, out = [list(row) for row in rows], console()
    widths = [max(map(len, (name, *cells))) for name, *cells in zip(header, *rows, strict=True)]
    ends = itertools.accumulate(min(width, WRAPPED) + GAP for width in widths)
    shown = max(n_needed or len(header), sum(end <= out.width for end in ends))
    table = Table(box=SIMPLE_HEAD, pad_edge=False)
    for i, name in enumerate(header[:shown]):
        is_number = all(_is_number(row[i]) for row in rows)
        narrowest = max((len(row[i]) for row in rows), default=0)
        table.add_column(
            line(name),
            justify="right" if is_number else "left",
            min_width=narrowest if is_number else min(narrowest, WRAPPED // 3),
            overflow="fold",
        )
    for row in rows:
        table.add_row(*(line(cell) for cell in row[:shown]))
    out.print(table)


def print_summary(found: Findings, files: Mapping[str, str]) -> None:
    """Print what was done to a table, what to expect of it, and where the files are."""
    out = console()
    n_classes = len(found.classes)
    out.print(
        line(
            (found.table, "bold"),
            f": {found.n_rows:,} rows, {found.n_labels:,} with a label in ",
            (found.target, "bold"),
            f", {n_classes} classes",
        )
    )
    used = [use for use in found.columns if use.role != "left out"]
    n_features = sum(use.n_features for use in used)
    lines = [("features", f"{n_features} from {_columns(len(used))}; {found.scaling}")]
    left_out = [f"{use.name} ({use.note})" for use in found.columns if use.role == "left out"]
    if left_out:
        lines.append(("left out", _some(left_out)))
    counts = found.source_counts
    lines += [
        (
            "labels",
            f"{counts['given']:,} given, {counts['induced']:,} induced by the graph, "
            f"{counts['model']:,} by the model alone",
        ),
        ("accuracy", accuracy_in_words(found.estimate)),
        ("graph", found.verdict),
        ("chosen", _chosen(found)),
        *_cluster_lines(found),
    ]
    for name, text in lines:
        out.print(line((f"{name:<10}", "dim"), text))
    _print_classes(found)
    for warning in found.warnings:
        out.print(line(("! ", "bold yellow"), warning))
    for name, path in files.items():
        out.print(line((f"{name:<10}", "dim"), (path, "green")))


def accuracy_in_words(estimate: Estimate | None) -> str:
    """Return the estimated accuracy and what it rests on."""
    if estimate is None:
        return "unknown, as no label could be held out: give two classes two labels or more"
    return (
        f"about {estimate.accuracy:.0%} ({estimate.n_right} of {estimate.n_held_out} held-out "
        f"labels were right; 95 %: {estimate.low:.0%} to {estimate.high:.0%}; one guess for all: "
        f"{estimate.majority_accuracy:.0%})"
    )


def _print_classes(found: Findings) -> None:
    rows = [
        (name, f"{given:,}", f"{final:,}", f"{final / found.n_rows:.1%}")
        for name, given, final in zip(
            found.classes, found.given_counts, found.final_counts, strict=True
        )
    ]
    print_table(["class", "given", "now", "share"], rows[:MOST_CLASSES])
    if len(rows) > MOST_CLASSES:
        console().print(line(f"and {len(rows) - MOST_CLASSES} more classes", style="dim"))


def _chosen(found: Findings) -> str:
    best = found.candidates[0]
    blended = sum(candidate.weight > 0 for candidate in found.candidates)
    gamma_g = "no graph" if math.isinf(best.gamma_g) else f"gamma_g {best.gamma_g:.3g}"
    return (
        f"a blend of {blended} of {len(found.candidates)} candidates, supervised learning with "
        f"{found.supervised_share:.0%} of the weight; the heaviest: {gamma_g}, C {best.C:.3g}"
    )


def _cluster_lines(found: Findings) -> list[tuple[str, str]]:
    """Return the lines that a summary has with a cluster alone."""
    use = found.cluster
    if use is None:
        return []
    partitions = "1 partition" if use.n_partitions == 1 else f"{use.n_partitions:,} partitions"
    return [
        (
            "samples",
            f"features learned from {use.sampled_rows:,} rows; chosen on "
            f"{use.tried_labeled:,} labels and {use.tried_unlabeled:,} other rows",
        ),
        (
            "cluster",
            f"{partitions} of the graph, with {use.graph_recall:.1%} of the exact neighbors",
        ),
    ]


def _columns(n: int) -> str:
    return f"{n:,} column{'' if n == 1 else 's'}"


def _some(names: Sequence[str]) -> str:
    more = f" and {len(names) - MOST_NAMES} more" if len(names) > MOST_NAMES else ""
    return ", ".join(names[:MOST_NAMES]) + more


def _json_escape(found: re.Match[str]) -> str:
    if found[0].isprintable():
        return found[0]
    units = found[0].encode("utf-16-be", errors="surrogatepass")
    return "".join(f"\\u{units[i : i + 2].hex()}" for i in range(0, len(units), 2))


def _is_number(text: str) -> bool:
    return text.removeprefix("-").replace(",", "").rstrip("%").replace(".", "", 1).isdigit()


def _plain(value: Any) -> Any:
    if is_dataclass(value) and not isinstance(value, type):
        return _plain(asdict(value))
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return str(value) if math.isinf(value) else None
    return value
