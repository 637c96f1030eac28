"""Tables, a plot and a page of the measurements."""

from __future__ import annotations

import json
import math
import re
import statistics
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.measure import ROOT
from benchmarks.session import RESULTS
from benchmarks.suites import DEFAULT_CUT, OURS, SIZES, SUITES, Suite
from benchmarks.systems import FLOORS

PAGE = ROOT / "docs" / "performance.md"
IMAGES = ROOT / "docs" / "images"
MARKERS = "os^DvP*X"
LOOK = {"font.size": 10, "axes.spines.top": False, "axes.spines.right": False}
METRICS = ("wall", "cpu", "memory", "error", "new_error", "agreement")
INTRODUCTION = """# Performance

`python -m benchmarks report` writes this page. `python -m benchmarks SUITE ...` measures, and
without a suite it lists all suites. Every run has a process of its own, and systems take turns
with the same rows, labels and threads. Libraries are loaded before the clock starts. Numbers are
medians over the repeats, each of which has its own labels. MB is the peak of memory beyond what
the process held when the run started, with the rows in memory. Errors are those of the unlabeled
rows. Ratios compare wall times on the same problem, with the same k if the reference was run with
it.
"""

Result = dict[str, Any]
Table = list[list[str]]


def medians(results: Sequence[Result]) -> list[Result]:
    """Return the medians over the repeats, one result for each case, in the order of the cases.

    Of a case that failed, only the reason is kept.
    """
    cases: dict[tuple[str, str, int], list[Result]] = {}
    for result in results:
        cases.setdefault((result["problem"], result["system"], result["k"]), []).append(result)
    return [_median(runs) for runs in cases.values()]


def _median(runs: Sequence[Result]) -> Result:
    middle = {key: runs[0][key] for key in ("problem", "system", "k")}
    failures = [run["failure"] for run in runs if "failure" in run]
    if failures:
        return middle | {"failure": failures[0]}
    middle["converged"] = all(run["converged"] for run in runs)
    for metric in METRICS:
        if metric in runs[0]:
            middle[metric] = statistics.median(run[metric] for run in runs)
    for times in ("stages", "floors"):
        if times in runs[0]:
            middle[times] = {
                stage: statistics.median(run[times][stage] for run in runs)
                for stage in runs[0][times]
            }
    return middle


def ratio_to_base(row: Result, rows: Sequence[Result], base: str) -> float | None:
    """Return the ratio of the wall time to that of the base on the same problem.

    It is that to the base with the same k, if there is one, else to its first; None if one failed.
    """
    bases = [r for r in rows if (r["problem"], r["system"]) == (row["problem"], base)]
    if row["system"] != base:
        bases.sort(key=lambda r: r["k"] != row["k"])  # stable
    else:
        bases = bases[:1]
    if not bases or "failure" in bases[0] or "failure" in row:
        return None
    return row["wall"] / bases[0]["wall"]


def comparison(suite: Suite, results: Sequence[Result]) -> Table:
    """Return the table of a suite, its header first; a failure is a row with its reason."""
    rows = medians(results)
    columns = {
        "problem": lambda row: row["problem"],
        "system": lambda row: (
            row["system"] + ("" if row.get("converged", True) else " (not converged)")
        ),
        "k": lambda row: str(row["k"] or ""),
        "wall s": lambda row: _number(row.get("wall")),
        f"to {suite.base}": lambda row: _times(ratio_to_base(row, rows, suite.base)),
        "CPU s": lambda row: _number(row.get("cpu")),
        "MB": lambda row: f"{row['memory']:.0f}" if "memory" in row else "",
        "fit s": lambda row: _number(row.get("stages", {}).get("fit")),
        "predict s": lambda row: _number(row.get("stages", {}).get("predict")),
        "error": lambda row: _percent(row.get("error")),
        "error, new rows": lambda row: _percent(row.get("new_error")),
        "agreement": lambda row: _percent(row.get("agreement"), digits=3),
        "failure": lambda row: row.get("failure", ""),
    }
    if len({row["problem"] for row in rows}) == 1:
        del columns["problem"]
    cells = [[name, *map(show, rows)] for name, show in columns.items()]
    return [list(row) for row in zip(*(c for c in cells if any(c[1:])), strict=True)]


def profile(results: Sequence[Result]) -> Table:
    """Return the table of stages with their floors, or the reason why there is none."""
    row = medians(results)[0]
    if "failure" in row:
        return [["system", "failure"], [row["system"], row["failure"]]]
    table = [["stage", "seconds", "floor s", "ratio", "floor"]]
    for stage, seconds in row["stages"].items():
        floor = row["floors"][stage]
        table.append(
            [stage, _number(seconds), _number(floor), _times(seconds / floor), FLOORS[stage]]
        )
    return [*table, ["all", _number(sum(row["stages"].values())), "", "", ""]]


def exponent(sizes: Sequence[float], costs: Sequence[float]) -> float:
    """Return p of the least-squares fit ``log cost = p log n + constant``."""
    return float(np.polyfit(np.log(sizes), np.log(costs), 1)[0])


def scaling(results: Sequence[Result]) -> dict[str, list[Result]]:
    """Return the cases on growing problems by system, without failures, with their rows `n`."""
    ended: dict[str, list[Result]] = {}
    for row in medians(results):
        if "failure" not in row and row["problem"] in SIZES:
            ended.setdefault(row["system"], []).append(row | {"n": SIZES[row["problem"]]})
    return ended


def exponents(results: Sequence[Result]) -> str:
    """Return a sentence on how the cost of every system grows with n."""
    parts = []
    for system, rows in scaling(results).items():
        if len(rows) > 1:
            sizes = [row["n"] for row in rows]
            wall, cpu = (exponent(sizes, [row[key] for row in rows]) for key in ("wall", "cpu"))
            parts.append(f"{system} wall n^{wall:.2f}, CPU n^{cpu:.2f}")
    return f"Growth by least squares: {'; '.join(parts)}." if parts else ""


def plot_scaling(results: Sequence[Result], file: Path) -> None:
    """Draw wall time over the number of rows, both logarithmic, a line for each system."""
    import matplotlib as mpl
    from matplotlib.figure import Figure

    with mpl.rc_context(LOOK):
        figure = Figure(figsize=(8, 4))
        axes = figure.add_axes((0.09, 0.13, 0.62, 0.78))
        for system, rows in scaling(results).items():
            sizes, walls = [row["n"] for row in rows], [row["wall"] for row in rows]
            width = 2.5 if system == OURS else 1.2
            (line,) = axes.loglog(sizes, walls, "o-", linewidth=width)
            look = {"textcoords": "offset points", "color": line.get_color()}
            if len(rows) > 1:
                text = f"{system}\ngrows as $n^{{{exponent(sizes, walls):.2f}}}$"
                axes.annotate(text, (sizes[-1], walls[-1]), (9, 0), va="center", **look)
            else:  # above its only point, where no line of another system ends
                text = system.replace(" ", "\n", 1)
                axes.annotate(text, (sizes[0], walls[0]), (-4, 7), va="bottom", **look)
        _draw_size_axis(axes, results)
        axes.yaxis.set_minor_formatter("{x:g}")
        axes.set_title("Transduction of a Gaussian mixture, 64 features, 10 classes", loc="left")
        file.parent.mkdir(parents=True, exist_ok=True)
        figure.savefig(file, dpi=150)


def plot_defaults(results: Sequence[Result], file: Path) -> None:
    """Draw wall time and error over the number of rows side by side, a line for each system."""
    import matplotlib as mpl
    from matplotlib.figure import Figure

    with mpl.rc_context(LOOK):
        figure = Figure(figsize=(10, 5.4))
        time_axes = figure.add_axes((0.07, 0.34, 0.41, 0.59))
        error_axes = figure.add_axes((0.57, 0.34, 0.41, 0.59))
        for number, (system, rows) in enumerate(scaling(results).items()):
            sizes = [row["n"] for row in rows]
            look = {
                "linewidth": 2.6 if system == DEFAULT_CUT else 1.2,
                "marker": MARKERS[number % len(MARKERS)],
                "markersize": 5,
            }
            time_axes.loglog(sizes, [row["wall"] for row in rows], label=system, **look)
            error_axes.semilogx(sizes, [100 * row["error"] for row in rows], **look)
        for axes in (time_axes, error_axes):
            _draw_size_axis(axes, results)
        error_axes.set_ylabel("error, percent")
        error_axes.set_ylim(bottom=0)
        time_axes.set_title("Wall time of a default fit", loc="left")
        error_axes.set_title("Error on the unlabeled rows", loc="left")
        figure.legend(loc="lower center", ncols=2, frameon=False)
        file.parent.mkdir(parents=True, exist_ok=True)
        figure.savefig(file, dpi=150)


def _draw_size_axis(axes: Any, results: Sequence[Result]) -> None:
    ticks = sorted({row["n"] for rows in scaling(results).values() for row in rows})
    axes.set_xticks(ticks, [f"{n:,.0f}" for n in ticks])
    axes.set_xticks([], minor=True)
    axes.yaxis.set_major_formatter("{x:g}")
    axes.grid(axis="y", color="0.92")
    axes.set_xlabel("rows")
    axes.set_ylabel("wall seconds")


PLOTS = {
    "default": (plot_defaults, "wall time and error of default fits over the number of rows"),
    "scaling": (plot_scaling, "wall time over rows"),
}
"""The plot of a suite, and the text that describes it."""


def stored(name: str, folder: Path = RESULTS) -> list[Result]:
    """Return the results of the last session of a suite, none if it was never run."""
    file = folder / f"{name}.json"
    if not file.exists():
        return []
    results = json.loads(file.read_text())
    return [result for result in results if result["session"] == results[-1]["session"]]


def write_page(folder: Path = RESULTS, page: Path = PAGE, images: Path = IMAGES) -> None:
    """Write the page, and the plots that it shows, from the results in a folder.

    Suites without results keep the section that the page has, with its own date.
    """
    sessions = {name: stored(name, folder) for name in SUITES}
    if not any(sessions.values()):
        msg = f"{folder} has no results to report; run `python -m benchmarks letter` first"
        raise FileNotFoundError(msg)
    written = _sections(page.read_text() if page.exists() else "")
    sections = {
        name: _section(name, results, page, images) if results else written.get(name, "")
        for name, results in sessions.items()
    }
    page.write_text("\n".join([INTRODUCTION, *filter(None, sections.values())]))


def _sections(text: str) -> dict[str, str]:
    """Return the sections of a page, by their headings."""
    parts = re.split(r"^(?=## )", text, flags=re.MULTILINE)[1:]
    return {part.split(maxsplit=2)[1]: part.rstrip("\n") + "\n" for part in parts}


def _section(name: str, results: Sequence[Result], page: Path, images: Path) -> str:
    """Return the section of a suite, and write its plot."""
    parts = [f"## {name}\n\n{SUITES[name].about}\n", markdown(table(name, results))]
    if name in PLOTS:
        draw, text = PLOTS[name]
        file = images / f"{name}.png"
        draw(results, file)
        parts.append(exponents(results) + "\n")
        parts.append(f"![{text}]({file.relative_to(page.parent).as_posix()})\n")
    parts.append(setting(results) + "\n")
    return "\n".join(parts)


def table(name: str, results: Sequence[Result]) -> Table:
    """Return the table of a suite by its name."""
    return profile(results) if name == "profile" else comparison(SUITES[name], results)


def setting(results: Sequence[Result]) -> str:
    """Return a sentence on the machine, the versions and the date of a session."""
    session = results[0]["session"]
    versions = ", ".join(f"{name} {number}" for name, number in session["versions"].items())
    repeats = len({result["seed"] for result in results})
    return (
        f"{session['cpus']} cores, {session['threads']} threads, {session['machine']}; "
        f"{repeats} {'repeat' if repeats == 1 else 'repeats'}; "
        f"Python {session['python']}, {versions}; "
        f"commit {session['commit']}, {session['date'][:10]}."
    )


def markdown(table: Table) -> str:
    """Return a Markdown table, numbers on the right."""
    lines = ["| " + " | ".join(row) + " |" for row in table]
    marks = ["---:" if right else "---" for right in _numeric(table)]
    return "\n".join([lines[0], "| " + " | ".join(marks) + " |", *lines[1:], ""])


def plain(table: Table) -> str:
    """Return a table in aligned text."""
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    sides = [">" if right else "<" for right in _numeric(table)]
    return "\n".join(
        "  ".join(f"{c:{s}{w}}" for c, s, w in zip(row, sides, widths, strict=True)).rstrip()
        for row in table
    )


def _numeric(table: Table) -> list[bool]:
    """Tell which columns hold numbers."""
    return [
        all(not cell or cell[0].isdigit() for cell in column[1:])
        for column in zip(*table, strict=True)
    ]


def _number(value: float | None) -> str:
    """Return a number with at least two significant digits, "" for None."""
    if value is None:
        return ""
    digits = 2
    if 0 < value < 0.1:
        digits = 1 - math.floor(math.log10(value))
    elif value >= 100:
        digits = 0
    return f"{value:.{digits}f}"


def _times(ratio: float | None) -> str:
    return "" if ratio is None else f"{ratio:.0f} x" if ratio >= 100 else f"{ratio:.2g} x"


def _percent(share: float | None, digits: int = 1) -> str:
    return "" if share is None else f"{share:.{digits}%}"
