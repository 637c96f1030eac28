"""Tables of the benchmark of confidence, as Markdown."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from benchmarks.confidence.draw import COVERAGE
from benchmarks.confidence.run import NEW, OLD, Result

SHARES = {"error": "error", "aurc": "AURC", "ece": "ECE"}
"""Measures in percent, and their titles."""


def summary(results: Sequence[Result]) -> str:
    """Return all tables: means over tables, each table, estimates of accuracy, prediction sets."""
    measured = [result for result in results if "skipped" not in result]
    by_table = settings(measured)
    parts = [
        "Means over the tables, old → new:",
        means_over_tables(by_table),
        "Each table, means over the draws, old → new:",
        each_table(by_table),
        "Estimated accuracy:",
        accuracy_table(measured),
        f"Prediction sets that ask for a coverage of {COVERAGE:.0%}:",
        sets_table(by_table),
        _origin(measured),
    ]
    return "\n\n".join(parts)


def settings(results: Iterable[Result]) -> dict[tuple[str, int], dict[str, list[Result]]]:
    """Return the results of each version by table and labels a class, of draws that all have.

    A version that has no result for a setting has an empty list.
    """
    found: dict[tuple[str, int], dict[str, list[Result]]] = {}
    for result in results:
        sides = found.setdefault((result["table"], result["per_class"]), {NEW: [], OLD: []})
        sides[result["version"]].append(result)
    for sides in found.values():
        draws = [{result["draw"] for result in side} for side in sides.values() if side]
        common = set.intersection(*draws)
        for version, side in sides.items():
            sides[version] = [result for result in side if result["draw"] in common]
    return found


def means_over_tables(by_table: dict[tuple[str, int], dict[str, list[Result]]]) -> str:
    """Return the means over tables for two classes and for more, by labels a class."""
    groups: dict[tuple[bool, int], list[dict[str, list[Result]]]] = {}
    for (_, per_class), sides in by_table.items():
        several = _one_of(sides)["n_classes"] > 2
        groups.setdefault((several, per_class), []).append(sides)
    lines = [["classes", "labels a class", "tables", *_titles(), "CPU, new / old"]]
    for (several, per_class), group in sorted(groups.items(), reverse=True):
        cells = [_both(group, name, 100) for name in SHARES]
        cells.insert(1, _both(group, "log_loss", 1))
        classes = "3 or more" if several else "2"
        lines.append([classes, str(per_class), str(len(group)), *cells, _cpu_ratio(group)])
    return markdown(lines)


def each_table(by_table: dict[tuple[str, int], dict[str, list[Result]]]) -> str:
    """Return a line for each table and number of labels a class."""
    lines = [["table", "classes", "labels a class", *_titles(), "CPU, new / old", "graph weight"]]
    for (table, per_class), sides in by_table.items():
        cells = [_both([sides], name, 100) for name in SHARES]
        cells.insert(1, _both([sides], "log_loss", 1))
        weight = _mean_of(sides[NEW], lambda result: result.get("graph_weight"))
        row = [table, str(_one_of(sides)["n_classes"]), str(per_class), *cells]
        lines.append([*row, _cpu_ratio([sides]), _number(weight, 2)])
    return markdown(lines)


def accuracy_table(results: Sequence[Result]) -> str:
    """Return bias, mean error and coverage of the estimated accuracy, by labels a class."""
    lines = [["version", "labels a class", "fits", "bias", "mean absolute error"]]
    lines[0] += ["interval covers", "its mean width"]
    for version in (OLD, NEW):
        for per_class in sorted({result["per_class"] for result in results}):
            group = [
                result
                for result in results
                if (result["version"], result["per_class"]) == (version, per_class)
            ]
            if not group:
                continue
            gaps = [result["estimate"] - (1 - result["error"]) for result in group]
            covered = _mean_of(group, lambda result: result.get("covered"))
            width = _mean_of(
                group,
                lambda result: (
                    result["interval"][1] - result["interval"][0] if "interval" in result else None
                ),
            )
            lines.append(
                [
                    *(version, str(per_class), str(len(group))),
                    f"{100 * statistics.mean(gaps):+.1f}",
                    f"{100 * statistics.mean(map(abs, gaps)):.1f}",
                    *(_percent(covered), _percent(width)),
                ]
            )
    return markdown(lines)


def sets_table(by_table: dict[tuple[str, int], dict[str, list[Result]]]) -> str:
    """Return coverage and mean size of prediction sets, ours, of crepes and of a split SVC.

    The standard error is that of the mean over draws, of sets whose labels are a random draw: that
    of the labels, which decide the threshold, and that of the rows, on which it is measured.
    """
    lines = [["table", "labels a class", "labels", "standard error"]]
    lines[0] += ["coverage", "size", "crepes: coverage", "size", "split SVC: coverage", "size"]
    for (table, per_class), sides in by_table.items():
        group = [result for result in sides[NEW] if "sets" in result]
        if not group:
            continue
        cells = []
        for source in ("sets", "crepes", "svc"):
            coverage, size = (
                statistics.mean(result[source][name] for result in group)
                for name in ("coverage", "size")
            )
            cells += [f"{100 * coverage:.1f}", f"{size:.2f}"]
        error = standard_error(group)
        n_labels = str(group[0]["n_held_out"])
        lines.append([table, str(per_class), n_labels, f"{100 * error:.1f}", *cells])
    return markdown(lines)


def standard_error(group: Sequence[Result]) -> float:
    """Return the standard error of the mean coverage of some draws."""
    n_held_out, n_unlabeled = group[0]["n_held_out"], group[0]["n_unlabeled"]
    variance = COVERAGE * (1 - COVERAGE) * (1 / (n_held_out + 2) + 1 / n_unlabeled)
    return float((variance / len(group)) ** 0.5)


def markdown(lines: Sequence[Sequence[str]]) -> str:
    """Return a table of Markdown, whose columns are aligned to the right but for the first."""
    head, *rows = lines
    rule = ["---", *["---:"] * (len(head) - 1)]
    return "\n".join("| " + " | ".join(row) + " |" for row in (head, rule, *rows))


def _titles() -> list[str]:
    titles = list(SHARES.values())
    titles.insert(1, "log-loss")
    return titles


def _both(group: Sequence[dict[str, list[Result]]], name: str, factor: float) -> str:
    """Return the old and the new mean over tables of the means over draws."""
    digits = 2 if factor == 1 else 1
    texts = []
    for version in (OLD, NEW):
        means = [_mean_of(sides[version], lambda result: result[name]) for sides in group]
        known = [mean for mean in means if mean is not None]
        texts.append(_number(factor * statistics.mean(known) if known else None, digits))
    return " → ".join(text for text in texts if text)


def _cpu_ratio(group: Sequence[dict[str, list[Result]]]) -> str:
    """Return the ratio of the CPU seconds of all fits, empty without an old version."""
    new, old = (sum(r["cpu"] for sides in group for r in sides[version]) for version in (NEW, OLD))
    return f"{new / old:.2f}" if old and new else ""


def _mean_of(results: Iterable[Result], value: Callable[[Result], Any]) -> float | None:
    values = [value(result) for result in results]
    known = [float(one) for one in values if one is not None]
    return statistics.mean(known) if known else None


def _one_of(sides: dict[str, list[Result]]) -> Result:
    return next(result for side in sides.values() for result in side)


def _number(value: float | None, digits: int) -> str:
    return "" if value is None else f"{value:.{digits}f}"


def _percent(share: float | None) -> str:
    return "" if share is None else f"{100 * share:.0f} %"


def _origin(results: Sequence[Result]) -> str:
    """Return which commits were measured."""
    pairs = sorted({(result["version"], result["commit"]) for result in results}, reverse=True)
    texts = [f"{version} {commit}" for version, commit in pairs]
    draws = 1 + max((result["draw"] for result in results), default=-1)
    return f"Commits: {', '.join(texts)}. Up to {draws} draws."
