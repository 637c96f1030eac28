"""Repeat the paper's experiments on UCI tables, with our choice of parameters beside its own.

Pairs of classes of three tables (Kveton, Valko, Rahimi and Huang, AISTATS 2010, Figure 4) are
split at random into training, validation and test rows, a third each. A few percent of the
training rows are labeled, and as many validation rows, for the choice of parameters. Pairs are
consecutive letters (25), all digits (45), and the first six of the seven classes of image
segmentation in the order of their names (15).
``python -m graphmargin.experiments.pairs --out FILE.csv`` runs, prints errors beside the published
ones, and goes on where it was interrupted.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Sequence
from typing import TypeAlias

import numpy as np

from graphmargin.experiments.commands import answer, command_parser, show
from graphmargin.experiments.pair_cells import KERNELS, PERCENT, PairRecord, run_pairs
from graphmargin.experiments.pair_methods import PAIR_METHODS, SVM, PairMethods
from graphmargin.experiments.pair_splits import TABLES
from graphmargin.experiments.summaries import failures, table

__all__ = ["PAIR_METHODS", "PUBLISHED", "PairRecord", "main", "pair_summary", "run_pairs"]

COMMAND = "python -m graphmargin.experiments.pairs"

Setting: TypeAlias = tuple[str, int, str]
"""Table, percent, kernel."""
Errors: TypeAlias = dict[tuple[Setting, str], list[float]]
"""Percent for every pair and draw, by setting and method; a failure is NaN."""

_FIGURE_4 = {
    ("letter", 1): (18.90, 15.79, 20.54, 17.45, 20.06, 16.01),
    ("letter", 2): (12.92, 10.79, 12.18, 10.90, 13.52, 11.83),
    ("letter", 5): (8.21, 5.65, 5.49, 4.80, 6.81, 5.65),
    ("letter", 10): (6.51, 3.96, 4.17, 2.96, 4.95, 3.32),
    ("digits", 1): (7.06, 6.88, 9.62, 8.55, 8.22, 7.65),
    ("digits", 2): (4.87, 4.60, 6.06, 5.09, 6.17, 5.61),
    ("digits", 5): (2.97, 2.29, 3.04, 2.36, 2.74, 2.19),
    ("digits", 10): (1.70, 1.59, 1.87, 1.74, 1.68, 1.35),
    ("image", 1): (14.02, 10.27, 23.30, 14.10, 14.02, 9.51),
    ("image", 2): (8.54, 7.69, 14.28, 7.73, 9.06, 7.34),
    ("image", 5): (4.73, 4.49, 8.32, 7.17, 5.87, 5.31),
    ("image", 10): (3.30, 3.28, 3.65, 3.60, 3.84, 3.73),
}
"""A column of the SVM and one of the cut for each kernel."""

PUBLISHED: dict[Setting, tuple[float, float]] = {
    (*row, kernel): (svm, cut)
    for row, errors in _FIGURE_4.items()
    for kernel, svm, cut in zip(KERNELS, errors[::2], errors[1::2], strict=True)
}
"""Test errors in percent of the SVM and of the cut (GC), from Figure 4 of the paper."""


def pair_summary(records: Iterable[PairRecord]) -> str:
    """Return records as Markdown, beside the published errors.

    There is a row for each table, percentage and kernel: mean test errors in percent over pairs
    and draws. Those below the published cut are in bold, and counted for each method, with a list
    of those that are not. A failure is left out of a mean, which then is not below anything.

    Examples
    --------
    >>> records = [
    ...     PairRecord("letter", pair, 1, "random", 0, "linear", method, error, 1.0)
    ...     for method, errors in {"SVM": [0.2, 0.1], "GC auto": [0.1, 0.2158]}.items()
    ...     for pair, error in zip(["A-B", "B-C"], errors)
    ... ]
    >>> print(pair_summary(records))
    | test error, % | SVM, published | SVM | GC, published | GC auto |
    |---|---:|---:|---:|---:|
    | letter, 1 %, linear | 18.90 | **15.00** | 15.79 | 15.79 |
    <BLANKLINE>
    Below the published GC:
    <BLANKLINE>
    - SVM: 1 of 1
    - GC auto: 0 of 1; not letter, 1 %, linear (15.79 to 15.79)
    """
    records = list(records)
    if not records:
        msg = "`records` must not be empty; run the experiment first"
        raise ValueError(msg)
    errors: Errors = {}
    for one in records:
        own = errors.setdefault(((one.table, one.percent, one.kernel), one.method), [])
        own.append(np.nan if one.test_error is None else 100 * one.test_error)
    settings = list(dict.fromkeys(setting for setting, _ in errors))
    methods = list(dict.fromkeys(method for _, method in errors))
    parts = [
        _error_table(settings, methods, errors),
        "Below the published GC:",
        "\n".join(_count(settings, method, errors) for method in methods),
    ]
    failed = failures(records)
    return "\n\n".join([*parts, failed] if failed else parts)


def main(argv: Sequence[str] | None = None, methods: PairMethods = PAIR_METHODS) -> int:
    """Return 0 after the tables are written to stdout, or 2 after one line on what is wrong.

    Parameters
    ----------
    argv : sequence of str, optional
        Arguments of the command line; by default, those of the process.
    methods : mapping, default=PAIR_METHODS
        Names and functions that fit the classifiers.
    """
    given = _parser().parse_args(argv)

    def work() -> str:
        return pair_summary(
            run_pairs(
                given.tables,
                given.percent,
                given.kernels,
                given.draws,
                labels=given.labels,
                n_jobs=given.jobs,
                out=given.out,
                methods=methods,
                progress=show,
            )
        )

    return answer(COMMAND, work)


def _parser() -> argparse.ArgumentParser:
    parser = command_parser(COMMAND, __doc__, draws=1)
    parser.add_argument("--tables", nargs="+", default=TABLES, metavar="NAME", help="(all)")
    parser.add_argument("--percent", nargs="+", type=int, default=PERCENT, metavar="N")
    parser.add_argument("--kernels", nargs="+", default=KERNELS, metavar="NAME", help="(all)")
    parser.add_argument("--labels", default="random", help="random (default) or balanced")
    return parser


def _error_table(settings: Sequence[Setting], methods: Sequence[str], errors: Errors) -> str:
    columns = [method for method in methods if method != SVM]
    head = ["test error, %", "SVM, published", SVM, "GC, published", *columns]
    rows = [
        [
            _name(setting),
            f"{PUBLISHED[setting][0]:.2f}",
            _bold(errors, setting, SVM),
            f"{PUBLISHED[setting][1]:.2f}",
            *(_bold(errors, setting, method) for method in columns),
        ]
        for setting in settings
    ]
    return table(head, rows)


def _count(settings: Sequence[Setting], method: str, errors: Errors) -> str:
    behind = [
        f"{_name(setting)} ({_percent(errors[setting, method])} to {PUBLISHED[setting][1]:.2f})"
        for setting in settings
        if not _is_below(errors, setting, method)
    ]
    line = f"- {method}: {len(settings) - len(behind)} of {len(settings)}"
    return f"{line}; not {', '.join(behind)}" if behind else line


def _is_below(errors: Errors, setting: Setting, method: str) -> bool:
    """Tell whether the mean, with the digits that are published, is below the published cut."""
    return bool(round(float(np.mean(errors[setting, method])), 2) < PUBLISHED[setting][1])


def _bold(errors: Errors, setting: Setting, method: str) -> str:
    if (setting, method) not in errors:
        return ""
    text = _percent(errors[setting, method])
    return f"**{text}**" if _is_below(errors, setting, method) else text


def _name(setting: Setting) -> str:
    name, percent, kernel = setting
    return f"{name}, {percent} %, {kernel}"


def _percent(errors: Sequence[float]) -> str:
    present = [error for error in errors if np.isfinite(error)]
    if not present:
        return "failed"
    missing = len(errors) - len(present)
    return f"{np.mean(present):.2f}" + (f" ({missing} failed)" if missing else "")


if __name__ == "__main__":
    sys.exit(main())
