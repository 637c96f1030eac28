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
from graphmargin.cli.options import with_option_names

if TYPE_CHECKING:
    from graphmargin.report.summary import Summary

MAX_CLASSES = 12
"""Largest number of classes in a summary."""
WRAP_WIDTH, COLUMN_GAP = 24, 3
"""Width from which a column of text may be wrapped, and the space between columns."""
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
    """Print JSON; dataclasses become objects, inf becomes text and nan becomes null.

    As in `print_warnings`, texts of "warnings" call arguments of functions by their options.
    """
    value = _json_value(content)
    if "warnings" in value:
        value["warnings"] = list(map(with_option_names, value["warnings"]))
    written = json.dumps(value, indent=1, ensure_ascii=False)
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
    from graphmargin.report.summary_texts import class_rows, summary_lines  # imports NumPy

    out = console()
    out.print(
        line(
            (summary.table, "bold"),
            f": {summary.n_rows:,} rows, {summary.n_labels:,} with a label in ",
            (summary.target, "bold"),
            f", {len(summary.classes)} classes",
        )
    )
    for name, text in summary_lines(summary):
        _print_entry(out, name, text)
    header, rows = class_rows(summary)
    print_table(header, rows[:MAX_CLASSES], n_needed=4)
    if len(rows) > MAX_CLASSES:
        out.print(line(f"and {len(rows) - MAX_CLASSES} more classes", style="dim"))
    print_warnings(summary.warnings)
    for name, path in files.items():
        out.print(line((f"{name:<{NAME_WIDTH}}", "dim"), (path, "green")))


def print_warnings(warnings: Iterable[str]) -> None:
    """Print sentences that a user should do something about, with options for arguments."""
    for warning in warnings:
        console().print(line(("! ", "bold yellow"), with_option_names(warning)))


def _print_entry(out: Console, name: str, text: str) -> None:
    """Print a line of a summary; if it is wrapped, its text stays in its own column."""
    width = max(out.width - NAME_WIDTH, WRAP_WIDTH)
    for part in line(text).wrap(out, width):
        out.print(line((f"{name:<{NAME_WIDTH}}", "dim")) + part)
        name = ""


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
