"""Figure 4 of the paper: test errors in percent, averaged over the pairs of a table."""

from __future__ import annotations

from typing import TypeAlias

from graphmargin.margin.kernels import KernelName

SVM, MR, GC = "SVM", "MR", "GC"
"""Supervised SVM, manifold-regularized SVM, max-margin graph cut."""
PERCENT = (1, 2, 5, 10)
KERNELS = ("linear", "cubic", "rbf")
"""Names of the kernels in the paper."""
KERNEL_NAMES: dict[str, KernelName] = {"linear": "linear", "cubic": "poly", "rbf": "rbf"}
"""Names of these kernels in the library, whose polynomials have degree 3 by default."""

TableSetting: TypeAlias = tuple[str, int, str]
"""Table, percent of the training rows that are labeled, kernel."""

_FIGURE_4 = {
    ("letter", 1): (18.90, 30.94, 15.79, 20.54, 25.96, 17.45, 20.06, 17.61, 16.01),
    ("letter", 2): (12.92, 28.45, 10.79, 12.18, 18.34, 10.90, 13.52, 13.10, 11.83),
    ("letter", 5): (8.21, 27.13, 5.65, 5.49, 18.77, 4.80, 6.81, 8.06, 5.65),
    ("letter", 10): (6.51, 25.45, 3.96, 4.17, 14.03, 2.96, 4.95, 6.14, 3.32),
    ("digits", 1): (7.06, 9.59, 6.88, 9.62, 5.29, 8.55, 8.22, 6.36, 7.65),
    ("digits", 2): (4.87, 7.97, 4.60, 6.06, 5.06, 5.09, 6.17, 4.21, 5.61),
    ("digits", 5): (2.97, 3.68, 2.29, 3.04, 2.27, 2.36, 2.74, 2.29, 2.19),
    ("digits", 10): (1.70, 2.86, 1.59, 1.87, 1.60, 1.74, 1.68, 1.75, 1.35),
    ("image", 1): (14.02, 11.81, 10.27, 23.30, 12.02, 14.10, 14.02, 11.60, 9.51),
    ("image", 2): (8.54, 10.87, 7.69, 14.28, 13.07, 7.73, 9.06, 8.93, 7.34),
    ("image", 5): (4.73, 7.83, 4.49, 8.32, 8.79, 7.17, 5.87, 5.43, 5.31),
    ("image", 10): (3.30, 6.26, 3.28, 3.65, 6.64, 3.60, 3.84, 4.81, 3.73),
}
"""Three columns, SVM, MR and GC, for each kernel."""

PUBLISHED: dict[TableSetting, dict[str, float]] = {
    (*row, kernel): dict(zip((SVM, MR, GC), errors[3 * i : 3 * i + 3], strict=True))
    for row, errors in _FIGURE_4.items()
    for i, kernel in enumerate(KERNELS)
}
"""Test errors by table, percent and kernel, then by method."""
