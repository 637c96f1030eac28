"""Tables of errors, ranks and times, and whether the cut is ever worse than supervised learning."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.stats import rankdata

from benchmarks.safety.run import CUT, SUPERVISED, SafetyRecord
from reproduction.pairs.errors import standard_error
from reproduction.section import count, failure_list, markdown_table


@dataclass(frozen=True)
class _Grid:
    """Test errors of shape (problems, numbers of labels, methods, draws); a failure is NaN."""

    problems: list[str]
    n_labels: list[int]
    methods: list[str]
    errors: np.ndarray

    def errors_of(self, method: str) -> np.ndarray:
        """Return the errors of one method: a row for each problem, then labels and draws."""
        return np.asarray(self.errors[:, :, self.methods.index(method)])


def summary(records: Sequence[SafetyRecord]) -> str:
    """Return records, at least one, as Markdown.

    For every number of labels, there is a table of test errors: a row for each problem, the mean
    in percent over the draws and its standard error, the best in bold. Then come mean ranks over
    all settings, where a failure is last, with the median seconds of a fit; the cut minus the
    supervised SVM in points; and how often the cut is within a standard error of the best method,
    which is that of their paired differences over the draws.
    """
    grid = _grid(records)
    parts = [_error_table(grid, at) for at in range(len(grid.n_labels))]
    parts.append(_rank_table(grid, records))
    if SUPERVISED in grid.methods and CUT in grid.methods:
        parts.append(_difference_table(grid))
    if CUT in grid.methods:
        parts.append(_near_the_best(grid))
    failures = failure_list(records)
    return "\n\n".join([*parts, f"## Failures\n\n{failures}"] if failures else parts)


def _grid(records: Sequence[SafetyRecord]) -> _Grid:
    problems = list(dict.fromkeys(record.problem for record in records))
    n_labels = sorted({record.n_labels for record in records})
    methods = list(dict.fromkeys(record.method for record in records))
    draws = sorted({record.draw for record in records})
    errors = np.full((len(problems), len(n_labels), len(methods), len(draws)), np.nan)
    for record in records:
        if record.test_error is not None:
            errors[
                problems.index(record.problem),
                n_labels.index(record.n_labels),
                methods.index(record.method),
                draws.index(record.draw),
            ] = record.test_error
    return _Grid(problems, n_labels, methods, errors)


def _error_table(grid: _Grid, at: int) -> str:
    rows = []
    for name, errors in zip(grid.problems, grid.errors[:, at], strict=True):
        means = errors.mean(axis=1)  # NaN with a failure, which is never the best
        best = np.isclose(means, np.min(means, where=np.isfinite(means), initial=np.inf))
        texts = [_percent(draws) for draws in errors]
        rows.append([name, *(f"**{t}**" if b else t for t, b in zip(texts, best, strict=True))])
    table = markdown_table(["test error, %", *grid.methods], rows)
    return f"## {_labels(grid.n_labels[at])}\n\n{table}"


def _rank_table(grid: _Grid, records: Sequence[SafetyRecord]) -> str:
    ranks = rankdata(np.nan_to_num(grid.errors, nan=np.inf, posinf=np.inf), axis=2)
    compared = np.asarray(np.isfinite(grid.errors).any(axis=2))
    rows = []
    for method, ranked in zip(grid.methods, np.moveaxis(ranks, 2, 0), strict=True):
        parts = [ranked[:, at][compared[:, at]] for at in range(len(grid.n_labels))]
        seconds = np.median([record.seconds for record in records if record.method == method])
        means = [f"{_mean(part):.2f}" for part in (*parts, ranked[compared])]
        rows.append([method, *means, f"{seconds:.2f}"])
    head = ["mean rank", *map(_labels, grid.n_labels), "all", "seconds a fit, median"]
    return "## Ranks and times\n\n" + markdown_table(head, rows)


def _difference_table(grid: _Grid) -> str:
    points = 100 * (grid.errors_of(CUT) - grid.errors_of(SUPERVISED))
    rows = [
        [name, *(_signed(draws) for draws in differences)]
        for name, differences in zip(grid.problems, points, strict=True)
    ]
    table = markdown_table(["points", *map(_labels, grid.n_labels)], rows)
    means = np.array([[_mean(_present(draws)) for draws in line] for line in points])
    is_known = np.isfinite(means)
    text = f"## The {CUT} minus the {SUPERVISED}\n\n{table}"
    if not is_known.any():
        return text
    p, at = np.unravel_index(np.argmax(np.where(is_known, means, -np.inf)), means.shape)
    return (
        f"{text}\n\nWorst: {_signed(points[p, at])} points on {grid.problems[p]} with "
        f"{_labels(grid.n_labels[at])}. The mean is above zero in {(means > 0).sum()} of "
        f"{is_known.sum()} settings."
    )


def _near_the_best(grid: _Grid) -> str:
    lines = []
    for at, n_labels in enumerate(grid.n_labels):
        behind = [
            f"{name} ({how})"
            for name, errors in zip(grid.problems, grid.errors[:, at], strict=True)
            if (how := _how_far_behind(grid.methods, errors))
        ]
        near, total = len(grid.problems) - len(behind), len(grid.problems)
        line = f"- {_labels(n_labels)}: in {near} of {total} problems"
        lines.append(f"{line}; not in {', '.join(behind)}" if behind else line)
    return "\n".join([f"## The {CUT} is within one standard error of the best", "", *lines])


def _how_far_behind(methods: Sequence[str], errors: np.ndarray) -> str:
    """Return how the cut differs from the best, or "" if by no more than a standard error."""
    cut = errors[methods.index(CUT)]
    if np.isnan(cut).any():
        return "failed"
    best = int(np.nanargmin(errors.mean(axis=1)))
    difference = cut - errors[best]
    if difference.mean() <= _standard_error(difference):
        return ""
    return f"{_signed(100 * difference)} points to {methods[best]}"


def _percent(errors: np.ndarray) -> str:
    missing = int(np.isnan(errors).sum())
    if missing == len(errors):
        return "failed"
    text = _with_error(100 * errors, ".1f")
    return f"{text} ({missing} failed)" if missing else text


def _signed(values: np.ndarray) -> str:
    return "failed" if np.isnan(values).all() else _with_error(values, "+.1f")


def _with_error(values: np.ndarray, form: str) -> str:
    """Return mean and standard error of what is not missing; a single value has no error."""
    present = _present(values)
    mean = format(present.mean(), form)
    return mean if len(values) == 1 else f"{mean} ± {_standard_error(present):.1f}"


def _present(values: np.ndarray) -> np.ndarray:
    return np.asarray(values[np.isfinite(values)])


def _mean(values: np.ndarray) -> float:
    return float(values.mean()) if len(values) else np.nan


def _standard_error(values: np.ndarray) -> float:
    """Return the standard error of the mean; 0 for a single value."""
    return float(np.nan_to_num(standard_error(values)))


def _labels(n: int) -> str:
    return count(n, "label")
