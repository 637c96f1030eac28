"""Figures 1 and 2: harmonic solutions and decision functions on two lattices."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.collections import LineCollection
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from scipy.interpolate import PchipInterpolator
from scipy.ndimage import maximum_filter

from graphmargin._typing import FloatArray
from reproduction.drawing import legend_below, new_figure
from reproduction.lattices.claims import UNSURE
from reproduction.lattices.run import (
    METHODS,
    UNDECIDED,
    FieldRecord,
    SeparationRecord,
    VertexRecord,
    separations_of,
)
from reproduction.published import KERNELS

PINK, BLUE, BAND_COLOR = "#f4b3c6", "#a8c8ee", "#fbeea0"
"""Colors of values above zero, below zero, and closer to zero than `UNSURE`."""
RED_DOT, BLUE_DOT = "#c8102e", "#1f4fa3"
LABELED = ((-5.0, 4.5, -1), (5.0, -4.5, 1))
"""The labeled vertices of `make_lattices`."""
FINE = 0.05
"""Spacing at which Figure 1 is interpolated."""
KERNEL_TITLES = {"linear": "linear", "cubic": "cubic", "rbf": "RBF"}


def draw_figure1(records: Sequence[VertexRecord]) -> Any:
    """Return Figure 1: the graph, and a cubic interpolation of each harmonic solution."""
    gammas = sorted({r.gamma_g for r in records})
    figure = new_figure(6.8)
    axes = figure.subplots(2, 2, sharex=True, sharey=True)
    graph, *panels = axes.ravel()
    first = [r for r in records if r.gamma_g == gammas[0]]
    _draw_graph(graph, first)
    for letter, ax, gamma_g in zip("bcd", panels, gammas, strict=False):
        vertices = [r for r in records if r.gamma_g == gamma_g]
        points = np.array([(r.x1, r.x2) for r in vertices])
        ell = np.array([r.ell for r in vertices])
        _fill_signs(ax, *_interpolated(points, ell))
        ax.plot(*points.T, ".", color="0.35", markersize=2)
        _draw_labels(ax, _labeled(vertices), 7)
        unsure = float((np.abs(ell) < UNSURE).mean())
        share = rf"$|\ell| < {UNSURE}$ at {100 * unsure:.0f} % of the vertices"
        ax.set_title(rf"{letter}. $\gamma_g = {gamma_g:g}$: {share}", fontsize=11)
    for ax in axes.ravel():
        ax.set_aspect("equal")
        ax.set_xlim(-10.8, 10.8)
        ax.set_ylim(-5.3, 5.3)
        ax.tick_params(labelsize=9)
    for ax in axes[-1]:
        ax.set_xlabel("$x_1$")
    for ax in axes[:, 0]:
        ax.set_ylabel("$x_2$")
    _sign_legend(figure, r"\ell", _dot_handles())
    return figure


def draw_figure2(records: Sequence[FieldRecord]) -> Any:
    """Return Figure 2: MR above GC for each kernel, a column for each gamma_g.

    The black line is f = 0. It is left out where f is undecided.
    """
    gammas = sorted({r.gamma_g for r in records}, reverse=True)
    verdicts = {(s.kernel, s.method, s.gamma_g): s for s in separations_of(records)}
    fields: dict[tuple[str, str, float], list[tuple[float, float, float]]] = {}
    for r in records:
        fields.setdefault((r.kernel, r.method, r.gamma_g), []).append((r.x1, r.x2, r.f))
    rows = [(kernel, method) for kernel in KERNELS for method in METHODS]
    figure = new_figure(7.6)
    # Shared axes would all be scaled anew with every curve, which takes ten times as long.
    axes = figure.subplots(len(rows), len(gammas), squeeze=False)
    for (kernel, method), line in zip(rows, axes, strict=True):
        line[0].set_ylabel(f"{KERNEL_TITLES[kernel]} {method}\n$x_2$", fontsize=10)
        for ax, gamma_g in zip(line, gammas, strict=True):
            _draw_field(ax, np.array(fields[kernel, method, gamma_g]))
            _draw_labels(ax, LABELED, 4)
            _set_verdict(ax, verdicts[kernel, method, gamma_g])
            ax.set(aspect="equal", xticks=(-10, 0, 10), yticks=(-5, 0, 5))
            ax.tick_params(labelsize=8)
            ax.label_outer()
    for ax, gamma_g in zip(axes[0], gammas, strict=True):
        ax.annotate(
            rf"$\gamma_g = {gamma_g:g}$",
            (0.5, 1.0),
            xytext=(0, 18),
            xycoords="axes fraction",
            textcoords="offset points",
            ha="center",
            fontsize=10.5,
        )
    for ax in axes[-1]:
        ax.set_xlabel("$x_1$", fontsize=10)
    boundary = Line2D([], [], color="black", linewidth=1.3, label="$f = 0$")
    _sign_legend(figure, "f", (boundary, *_dot_handles()))
    return figure


def _fill_signs(ax: Any, x1: Any, x2: Any, values: Any) -> None:
    """Color the plane: pink above zero, blue below, yellow where the values are near zero."""
    end = 1 + float(np.abs(values).max())
    ax.contourf(
        x1, x2, values, levels=[-end, -UNSURE, UNSURE, end], colors=[BLUE, BAND_COLOR, PINK]
    )


def _sign_legend(figure: Any, name: str, extra: Any = ()) -> None:
    """Explain the colors below all panels; `name` is the function that is shown, as mathtext."""
    handles = [
        Patch(facecolor=PINK, label=f"${name} > 0$"),
        Patch(facecolor=BLUE, label=f"${name} < 0$"),
        Patch(facecolor=BAND_COLOR, label=f"$|{name}| < {UNSURE}$"),
        *extra,
    ]
    legend_below(figure, handles, columns=len(handles))


def _draw_labels(ax: Any, labeled: Any, size: float) -> None:
    """Draw labeled vertices, given as (x1, x2, sign): red for +1, blue for -1."""
    for x1, x2, sign in labeled:
        color = RED_DOT if sign > 0 else BLUE_DOT
        ax.plot([x1], [x2], "o", color=color, markeredgecolor="white", markersize=size, zorder=5)


def _interpolated(points: FloatArray, ell: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return two axes and a piecewise cubic function on them, monotone between the vertices.

    Plain cubic splines would ring around the labels and show signs that no vertex has.
    """
    axis1, axis2 = np.unique(points[:, 0]), np.unique(points[:, 1])
    table = ell[np.lexsort((points[:, 0], points[:, 1]))].reshape(len(axis2), len(axis1))
    fine1, fine2 = (np.arange(a[0], a[-1] + FINE / 2, FINE) for a in (axis1, axis2))
    along = PchipInterpolator(axis1, table, axis=1)(np.minimum(fine1, axis1[-1]))
    return fine1, fine2, PchipInterpolator(axis2, along, axis=0)(np.minimum(fine2, axis2[-1]))


def _set_verdict(ax: Any, record: SeparationRecord) -> None:
    """Say above a panel how many vertices are on the wrong side."""
    if record.separated:
        ax.set_title("separated", fontsize=9, color="#006b2d", fontweight="bold", pad=2)
        return
    undecided = f", {record.undecided} undecided" if record.undecided else ""
    ax.set_title(f"{record.wrong} wrong{undecided}", fontsize=9, pad=2)


def _draw_graph(ax: Any, vertices: Sequence[VertexRecord]) -> None:
    """Draw edges as dotted lines, vertices as dots, labeled ones in color."""
    points = {(r.x1, r.x2) for r in vertices}
    edges = [
        ((x1, x2), end)
        for x1, x2 in sorted(points)
        for end in ((x1 + 1, x2), (x1, x2 + 1))
        if end in points
    ]
    ax.add_collection(LineCollection(edges, linestyles=":", colors="0.5", linewidths=0.9))
    ax.plot(*np.array(sorted(points)).T, ".", color="0.25", markersize=4)
    _draw_labels(ax, _labeled(vertices), 8)
    ax.set_title("a. the graph: edges of weight exp(-1/2), two labels", fontsize=11)


def _draw_field(ax: Any, table: FloatArray) -> None:
    axis1, axis2 = np.unique(table[:, 0]), np.unique(table[:, 1])
    order = np.lexsort((table[:, 0], table[:, 1]))
    f = table[order, 2].reshape(len(axis2), len(axis1))
    _fill_signs(ax, axis1, axis2, f)
    masked = np.where(maximum_filter(np.abs(f), size=3) < UNDECIDED, np.nan, f)
    masked = np.ma.masked_invalid(masked)
    if masked.count() and masked.min() < 0 < masked.max():
        ax.contour(axis1, axis2, masked, levels=[0.0], colors="black", linewidths=1.3)
    for left in (-10, 1):
        ax.plot(
            [left, left + 9, left + 9, left, left],
            [-4.5, -4.5, 4.5, 4.5, -4.5],
            color="0.45",
            linewidth=0.7,
        )


def _labeled(vertices: Sequence[VertexRecord]) -> list[tuple[float, float, int]]:
    return [(r.x1, r.x2, int(r.label)) for r in vertices if r.label]


def _dot_handles() -> list[Any]:
    return [
        Line2D([], [], marker="o", linestyle="", color=color, label=f"label {name}")
        for color, name in ((RED_DOT, "+1"), (BLUE_DOT, "-1"))
    ]
