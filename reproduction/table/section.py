"""The section on the table: errors beside the published ones."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from reproduction.pairs.errors import (
    ALL_CLASSES,
    COLUMNS,
    ROWS,
    MeanError,
    Means,
    below_published,
    deviation,
    error_of,
    mean_errors,
    published,
    table_settings,
)
from reproduction.pairs.methods import GC_ALL, GC_AUTO, GC_WIDE, MR_WITH_BIAS
from reproduction.pairs.run import PairRecord
from reproduction.pairs.splits import TABLES
from reproduction.published import GC, KERNELS, MR, SVM, TableSetting
from reproduction.section import Section, count, failure_list, markdown_table
from reproduction.table.claims import TOLERANCES, table_claims
from reproduction.table.draw import draw_errors
from reproduction.table.run import COLUMNS as METHODS
from reproduction.table.speed import SpeedRecord

MAX_NAMED = 12
"""Largest number of settings that are named one by one."""
REASONS = {
    SVM: "the way in which labels are drawn matters more than anything else. With random labels, "
    "a class may have a single label. With balanced labels, the error is lower, and the "
    "published one lies between (see *What the paper does not say*).",
    MR: "no reading that we tried is close to the published linear column of letter, which "
    "hardly falls with more labels (see *What the paper does not say*). Our solution has a "
    "certificate and agrees with two other forms of the problem in the tests. We do not know how "
    "the published one was computed.",
    GC: "the graph gains more than was published. The harmonic solution alone has lower errors "
    "than all published columns of digits, and cuts with a small gamma_g follow it. Among tied "
    "candidates, those with the largest gamma_g are closest to the published errors (see *What "
    "the paper does not say*).",
}
METHOD_NOTES = f"""\
- **SVM**, **MR**, **GC**: the paper's methods, with gamma in {{0.01, 0.1}} n_l and
  gamma_g = gamma / gamma_u in {{1e-3, .., 1e3}} chosen by the validation error. MR has no bias, as
  in the paper.
- **{MR_WITH_BIAS}**: the same with the bias that the other methods have.
- **S3VM**: hat loss on unlabeled rows, gamma as for the SVM, gamma_u in {{1e-3, 0.1, 10}} gamma,
  and no class prior. Both losses are smooth, as in `SemiSupervisedSVC`, with a hinge loss that is
  quadratic between 0.9 and 1.1. Runs before 18 November 2026 have a local optimum of the paper's
  objective itself. On the third and fourth draw of all pairs, the mean error over the 36 settings
  was 9.4 % with it, and is 9.2 % with smooth losses (letter 12.6 and 12.5, digits 6.1 and 5.8,
  image 9.5 and 9.2).
- **harmonic**: the harmonic solution on a graph of all rows. It sees the unlabeled test rows, which
  no other method does, and has no kernel.
- **{GC_AUTO}**: `MaxMarginGraphCut` with the same validation labels as `cv`, a blend of cuts
  and SVMs.
- **{GC_WIDE}**: a wider grid of cuts, with 3, 5 and 10 neighbors, losses weighted by confidence or
  not, gamma_g in {{1e-2, .., 1e3, inf}} and three values of C. With up to 20 training labels, each
  function is there with three biases: as learned, and those for which the classes have the shares
  of the training labels or equal shares among the training rows. Validation labels only select, as
  in the paper: candidates with the least validation error are averaged.
- **{GC_ALL}**: the default `MaxMarginGraphCut` on the training rows and the labeled validation
  rows. It learns from all labels, and holds them out in folds to select. It does not see the
  validation rows without a label."""
OURS = (GC_AUTO, GC_WIDE, GC_ALL)


def table_section(records: Sequence[PairRecord], times: Sequence[SpeedRecord] = ()) -> Section:
    """Return the section on Figure 4: errors of all methods beside the published ones."""
    means = mean_errors(records)
    names = [name for name in ROWS if any(setting[0] == name for setting, _ in means)]
    draws = len({record.draw for record in records})
    parts = [
        "**What the paper shows.** The table has test errors of SVM, MR and GC on pairs of "
        "classes of three UCI tables, with 1 to 10 percent of labels and three kernels.",
        f"**What we see.** The tables have means over pairs and {count(draws, 'draw')} of rows "
        "and labels, in percent, with the standard error from draw to draw. Published values are "
        f"in italics. The lowest of our errors with a kernel is in bold, {GC_ALL} apart, which "
        "learns from twice as many labels as the others.",
        METHOD_NOTES,
        "![Test errors by share of labels, for three tables and kernels, ours and published]"
        "(images/table.png)",
        *(_error_table(means, name) for name in names),
        *_below(means, mean_errors(records, "oracle")),
        "**Differences.** The table has our error minus the published one in points, averaged "
        "over the twelve settings of a table, and the mean absolute difference in parentheses:",
        _deviation_table(means, names),
        _why(means),
        _times(records),
    ]
    if times:
        parts.append(_speed(times))
    failures = failure_list(records)
    if failures:
        parts += ["### Failures", failures]
    return Section(
        "Figure 4: the table",
        "\n\n".join(parts),
        {"table": draw_errors(means, [name for name in names if name != ALL_CLASSES])},
        tuple(table_claims(records)),
    )


def _error_table(means: Means, name: str) -> str:
    """Return a row for each share of labels and kernel."""
    head = [name]
    for method in METHODS:
        head += [f"*{method}*", method] if method in (SVM, MR, GC) else [method]
    rows = []
    for setting in table_settings(means, [name]):
        errors = [
            means[setting, method].mean
            for method in METHODS
            if method != GC_ALL and (setting, method) in means
        ]
        least = min((error for error in errors if np.isfinite(error)), default=np.nan)
        cells = [f"{setting[1]} %, {setting[2]}"]
        for method in METHODS:
            if method in (SVM, MR, GC):
                cells.append(_published(setting, method))
            error = means.get((setting, method))
            is_least = error is not None and method != GC_ALL and error.mean == least
            text = _with_error(error_of(means, setting, method))
            cells.append(f"**{text}**" if is_least else text)
        rows.append(cells)
    return markdown_table(head, rows)


def _below(means: Means, least: Means) -> list[str]:
    """Return the numbers of settings below the published errors of GC, and the settings missed.

    `least` has the errors of an oracle, which knows the test errors of all candidates.
    """
    settings = table_settings(means, TABLES)
    tables = list(dict.fromkeys(name for name, _, _ in settings))
    rows = []
    for method in (SVM, GC, *OURS):
        below = below_published(means, settings, method)
        missed = [setting for setting in settings if setting not in below]
        counts = [sum(setting[0] == name for setting in below) for name in tables]
        names = ", ".join(f"{name} {percent} % {kernel}" for name, percent, kernel in missed)
        text = f"{len(missed)} settings" if len(missed) > MAX_NAMED else names
        rows.append([method, *map(str, counts), f"{len(below)} of {len(settings)}", text])
    oracle = [len(below_published(least, settings, method)) for method in (GC, GC_WIDE)]
    return [
        "**Below the published errors of GC.** The table has the number of settings with a lower "
        "error than the published one of GC, and those without:",
        markdown_table(["", *tables, "all", "not below"], rows),
        "An oracle, which takes the candidate with the least test error in each draw, would be "
        f"below in {oracle[0]} settings with the grid of {GC}, and in {oracle[1]} with that of "
        f"{GC_WIDE}. It selects on the test rows themselves, so that no rule can be expected to "
        f"reach it. One of the biases of {GC_WIDE} stands for classes of equal size, which is "
        "about right for all pairs of these tables and would be wrong for a rare class. The grid "
        f"of {GC_WIDE} was chosen on draws that are not used here.",
    ]


def _published(setting: TableSetting, method: str) -> str:
    if setting[0] == ALL_CLASSES:
        return ""
    return f"*{published(setting, method):.2f}*"


def _with_error(error: MeanError | None) -> str:
    if error is None:
        return ""
    if np.isnan(error.mean):
        return "failed"
    failed = f" ({error.n_failed} failed)" if error.n_failed else ""
    if np.isnan(error.standard_error):
        return f"{error.mean:.1f}{failed}"
    return f"{error.mean:.1f} ± {error.standard_error:.1f}{failed}"


def _deviation_table(means: Means, names: Sequence[str]) -> str:
    pairs = [*COLUMNS.items(), *((method, GC) for method in OURS)]
    rows = []
    for method, column in pairs:
        cells = [method if method == column else f"{method} minus {column}"]
        for name in names:
            points = deviation(means, name, method, column=column)
            cells.append(f"{points.signed:+.2f} ({points.absolute:.2f})")
        rows.append(cells)
    return markdown_table(["", *names], rows)


def _why(means: Means) -> str:
    """Return which columns are off by more than expected, and what we know of it."""
    lines = []
    for method, reason in REASONS.items():
        signed = {name: deviation(means, name, method).signed for name in TOLERANCES}
        off = [
            f"{name} {points:+.1f}"
            for name, points in signed.items()
            if abs(points) > TOLERANCES[name]
        ]
        if off:
            lines.append(f"- **{method}** ({', '.join(off)} points): {reason}")
    if not lines:
        return "All columns are met within the tolerances of the claims."
    return "\n".join(["**What does not agree, and why.**", "", *lines])


def _times(records: Sequence[PairRecord]) -> str:
    """Return what all candidates of a method cost, in milliseconds."""
    seconds = {
        method: np.mean([record.seconds for record in records if record.method == method])
        for method in dict.fromkeys(record.method for record in records)
    }
    texts = [f"{method} {1000 * mean:.0f}" for method, mean in seconds.items()]
    return (
        "A whole grid with one kernel and one thread takes these mean times in milliseconds (MR "
        f"includes the warped features that {MR_WITH_BIAS} shares): {', '.join(texts)}."
    )


def _speed(times: Sequence[SpeedRecord]) -> str:
    rows = []
    for kernel in KERNELS:
        grids = [grid for grid in times if grid.kernel == kernel]
        if not grids:
            continue
        ours = 1000 * float(np.mean([grid.seconds / grid.n_fits for grid in grids]))
        naive = 1000 * float(np.mean([grid.naive_seconds / grid.n_fits for grid in grids]))
        ratios = [grid.ratio for grid in grids]
        agreement = 100 * float(np.mean([grid.agreement for grid in grids]))
        rows.append(
            [
                kernel,
                f"{ours:.2f}",
                f"{naive:.2f}",
                f"{naive / ours:.1f}",
                f"{min(ratios):.1f} to {max(ratios):.1f}",
                f"{agreement:.2f} %",
            ]
        )
    n_pairs = len({(grid.table, grid.pair) for grid in times})
    head = ["kernel", "ms a fit", "SVC, ms a fit", "ratio", "from pair to pair", "same decisions"]
    return (
        "**Speed.** The 14 fits of a GC grid share a kernel matrix, and each starts at the "
        "solution of another. The table compares them with scikit-learn's `SVC`, fitted 14 times "
        "to the same induced labels. Both solve for all gamma_g at once, on "
        f"{count(n_pairs, 'pair')} with 5 % of labels and one thread."
        f"\n\n{markdown_table(head, rows)}"
    )
