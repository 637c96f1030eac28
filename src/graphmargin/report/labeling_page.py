"""The report on a labeled table: an HTML page that needs no other file and no network."""

from __future__ import annotations

import base64
import hashlib
import json
import math
import re
import shlex
from collections.abc import Iterable, Mapping, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any

from graphmargin._errors import InputError
from graphmargin._files import atomic_write
from graphmargin._texts import format_estimate
from graphmargin.report import charts
from graphmargin.report.content import GraphMap, Report, RowNote
from graphmargin.report.summary import Summary
from graphmargin.report.theme import CSS
from graphmargin.reports.path_texts import PATH_LINES, gamma_text
from graphmargin.tables.column_names import ColumnUse

MAX_CANDIDATES = 8
"""Largest number of candidates in the table of the blend."""


def check_page_name(path: Path, shown: str = "") -> Path:
    """Return the path of a report, which must be the name of a web page.

    Parameters
    ----------
    path : Path
    shown : str, default=""
        How an error calls the path.

    Raises
    ------
    InputError
        If the name has another ending.

    Examples
    --------
    >>> check_page_name(Path("pets.pdf"))
    Traceback (most recent call last):
    graphmargin._errors.InputError: pets.pdf: the report is a web page; choose a name that ends in .html
    """  # noqa: E501 - an error is one line
    if path.suffix.lower() not in (".html", ".htm"):
        msg = f"{shown or path}: the report is a web page; choose a name that ends in .html"
        raise InputError(msg)
    return path


def write_labeling_page(
    report: Report, path: Path, *, table_path: str | None = None, model_path: str | None = None
) -> None:
    """Write the page that reports on a labeled table, see `labeling_page`."""
    page = labeling_page(report, table_path=table_path, model_path=model_path)
    atomic_write(path, page.encode(errors="backslashreplace"))


def labeling_page(report: Report, *, table_path: str | None, model_path: str | None) -> str:
    """Return the HTML page that reports on a labeled table.

    Every text of the table is escaped. A content security policy allows the script of the page
    only, so that no other file and no server is accessed.

    Parameters
    ----------
    report : Report
    table_path, model_path : str or None
        Paths of the labeled table and the model; None if they were not written.

    Returns
    -------
    str
        HTML, less than 1 MB for a map of 2,000 points.

    Examples
    --------
    >>> summary = Summary(
    ...     table="pets.csv", target="kind", n_rows=6, n_labels=2, n_predicted=4,
    ...     classes=("cat", "<dog>"), given_counts=(1, 1), final_counts=(3, 3), columns=(),
    ...     scaling="", candidates=(), supervised_share=0.5, estimate=None, warnings=(),
    ...     seconds=0.1, version="1.0",
    ... )
    >>> report = Report(summary=summary, histogram=(1, 3))
    >>> page = labeling_page(report, table_path="out.csv", model_path=None)
    >>> "<h1>4 rows labeled from 2 labels</h1>" in page, "&lt;dog&gt;" in page, "<dog>" in page
    (True, True, False)
    """
    summary = report.summary
    script = _read_asset("labeling.js")
    map_chart, map_data = None, {}
    if report.map is not None:
        map_chart = charts.map_chart(report.map)
        order = [mark.index for mark in map_chart.marks]
        map_data = _map_data(report.map, summary.classes, order)
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    template = _environment().get_template("labeling.html.jinja")
    page: str = template.render(
        report=report,
        summary=summary,
        charts=charts,
        table_path=table_path,
        model_path=model_path,
        css=CSS + _read_asset("labeling.css"),
        script=script,
        script_hash=f"sha256-{digest}",
        styles=[charts.class_symbol(code) for code in range(len(summary.classes))],
        class_rows=_class_rows(summary),
        quality_rows=_quality_rows(summary),
        coverage=None if report.coverage is None else charts.coverage_chart(report.coverage),
        blended=[candidate for candidate in summary.candidates if candidate.weight > 0],
        max_candidates=MAX_CANDIDATES,
        map=map_chart,
        map_data=_script_json(map_data),
        histogram=charts.histogram_chart(report.histogram) if report.histogram else None,
        path=charts.path_chart(report.path) if report.path else None,
        path_columns=[name for name in (*PATH_LINES, "weight") if name in report.path],
        least_certain_columns=_note_columns(report.least_certain),
        suspicious_columns=_note_columns(report.suspicious_labels or ()),
        column_groups=_column_groups(summary.columns),
        command=None if model_path is None else _command(model_path),
        python_path=json.dumps(model_path, ensure_ascii=False),
    )
    return page


def _environment() -> Any:
    try:
        from jinja2 import Environment, PackageLoader, StrictUndefined
    except ModuleNotFoundError as missing:
        msg = 'reports need the package jinja2; pip install "graphmargin[cli]"'
        raise ModuleNotFoundError(msg, name="jinja2") from missing
    environment = Environment(
        loader=PackageLoader("graphmargin", "report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "at": lambda position: f"{position:.1f}".removesuffix(".0"),
        "count": lambda number: f"{number:,}",
        "code": _with_code,
        "estimate": lambda share: format_estimate(share).replace("%", "\N{NO-BREAK SPACE}%"),
        "gamma": gamma_text,
        "number_of": lambda number, thing: f"{number:,} {thing}{'' if number == 1 else 's'}",
        "percent": charts.percent,
        "percent_down": lambda share: f"{math.floor(100 * share)}\N{NO-BREAK SPACE}%",
        "sentence": lambda text: text[:1].upper() + text[1:].removesuffix(".") + ".",
        "upper_first": lambda text: text[:1].upper() + text[1:],
        "width": lambda share: f"{100 * share:.2f}%",
    }
    return environment


def _with_code(text: str) -> Any:
    """Return markup in which what is between backticks is code, and everything else is escaped.

    Examples
    --------
    >>> str(_with_code("see `info <b>`, `a"))
    'see <code>info &lt;b&gt;</code>, `a'
    """
    from markupsafe import Markup, escape

    return Markup(re.sub("`([^`]+)`", r"<code>\1</code>", str(escape(text))))


def _read_asset(name: str) -> str:
    return (files("graphmargin.report") / name).read_text(encoding="utf-8")


def _class_rows(summary: Summary) -> list[dict[str, Any]]:
    """Return counts of each class, and its shares before and after, relative to the largest."""
    before = [count / max(summary.n_labels, 1) for count in summary.given_counts]
    after = [count / max(summary.n_rows, 1) for count in summary.final_counts]
    largest = max(before + after, default=0.0) or 1.0
    return [
        {
            "name": name,
            "given": summary.given_counts[code],
            "final": summary.final_counts[code],
            "before": before[code] / largest,
            "after": after[code] / largest,
        }
        for code, name in enumerate(summary.classes)
    ]


def _quality_rows(summary: Summary) -> list[dict[str, Any]]:
    """Return the number of predicted labels, the recall and the precision of each class."""
    estimate = summary.estimate
    if estimate is None:
        return []
    return [
        {
            "name": name,
            "predicted": summary.final_counts[code] - summary.given_counts[code],
            "recall": float(estimate.recall[code]),
            "recall_interval": estimate.recall_interval[code].tolist(),
            "precision": float(estimate.precision[code]),
            "precision_interval": estimate.precision_interval[code].tolist(),
        }
        for code, name in enumerate(summary.classes)
    ]


def _column_groups(columns: Sequence[ColumnUse]) -> list[dict[str, Any]]:
    """Return groups of columns alike in role and remarks; columns that are left out come last."""
    groups: dict[tuple[str, str], list[ColumnUse]] = {}
    for column in sorted(columns, key=lambda column: column.n_features == 0):
        groups.setdefault((column.role, column.remarks), []).append(column)
    return [
        {
            "role": role,
            "note": note,
            "names": [column.name for column in alike],
            "n_features": sum(column.n_features for column in alike),
        }
        for (role, note), alike in groups.items()
    ]


def _map_data(graph_map: GraphMap, classes: Sequence[str], order: Sequence[int]) -> dict[str, Any]:
    """Return the data of the points for the script, in the order of their marks on the page."""
    mark_of = {index: number for number, index in enumerate(order)}
    names = _column_names(graph_map.cells)
    return {
        "classes": classes,
        "columns": names,
        "points": [
            [
                graph_map.rows[i],
                graph_map.codes[i],
                format_estimate(graph_map.confidence[i]),
                graph_map.is_given[i],
                [graph_map.cells[i].get(name) for name in names],
            ]
            for i in order
        ],
        "edges": [[mark_of[a], mark_of[b]] for a, b in graph_map.edges],
    }


def _script_json(data: Any) -> str:
    r"""Return JSON for a script element, escaped so that it cannot end the element.

    Examples
    --------
    >>> _script_json("</script>")
    '"\\u003c/script\\u003e"'
    """
    text = json.dumps(data, separators=(",", ":"))  # ASCII, so that U+2028 is escaped as well
    for character in "<>&":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text


def _note_columns(notes: Sequence[RowNote]) -> list[str]:
    return _column_names(note.cells for note in notes)


def _column_names(cells: Iterable[Mapping[str, str]]) -> list[str]:
    """Return the names of the columns of rows, in the order of their first appearance."""
    return list(dict.fromkeys(name for row in cells for name in row))


def _command(model_path: str) -> str:
    return f"graphmargin predict {shlex.quote(model_path)} new.csv --out labeled.csv"
