"""The optional import of matplotlib, and functions that all displays share."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from graphmargin._typing import AnyArray, FloatArray, IntArray

BAND_COLOR = "#fbeea0"
"""Color of the region of low confidence."""
CLASS_COLORS = (
    *("#2f6bdb", "#d9730d", "#23934a", "#d1293d", "#8250df", "#0a97a7"),
    *("#d63a96", "#8d5a2b", "#83920a", "#5b6b7f", "#c29a00", "#1b3a8a"),
)
MARKERS = ("o", "s", "^", "D")
NO_CLASS_COLOR = "#8c959f"
"""Color of a point without a class."""
LEGEND_SIZE = 9


def get_axes(ax: Any) -> tuple[Any, Any]:
    """Return the given axes, or new ones of pyplot, and their figure."""
    if ax is not None:
        return ax, ax.figure
    with _matplotlib():
        from matplotlib import pyplot
    figure, ax = pyplot.subplots(layout="constrained")
    return ax, figure


def new_figure(size: tuple[float, float]) -> Any:
    """Return an empty figure of a size in inches, which pyplot does not know."""
    with _matplotlib():
        from matplotlib.figure import Figure
    return Figure(figsize=size, layout="constrained")


@contextmanager
def _matplotlib() -> Iterator[None]:
    """Name the extra to install in the error of an import of matplotlib that fails in the block."""
    try:
        yield
    except ImportError as error:
        msg = "displays need matplotlib; run `pip install 'graphmargin[plot]'`"
        raise ImportError(msg) from error


def class_style(code: int) -> tuple[str, str]:
    """Return the color and the marker of a class, gray for -1; colors repeat with new markers.

    Examples
    --------
    >>> class_style(1), class_style(13)
    (('#d9730d', 'o'), ('#d9730d', 's'))
    """
    if code < 0:
        return NO_CLASS_COLOR, MARKERS[0]
    return CLASS_COLORS[code % len(CLASS_COLORS)], MARKERS[code // len(CLASS_COLORS) % len(MARKERS)]


def mix_with_white(colors: Any, strength: Any) -> FloatArray:
    """Return colors mixed with white: strength 1 is the color, 0 is white.

    Examples
    --------
    >>> mix_with_white(["#ff0000", "#ff0000"], [1.0, 0.5]).tolist()
    [[1.0, 0.0, 0.0], [1.0, 0.5, 0.5]]
    """
    from matplotlib.colors import to_rgb

    share = np.asarray(strength, dtype=np.float64)[:, None]
    return np.asarray(1 - share * (1 - np.array([to_rgb(color) for color in colors])))


def scatter_classes(ax: Any, points: FloatArray, codes: IntArray, strength: Any, size: Any) -> Any:
    """Draw points with an outline in the color of their class, filled with the given strength.

    Returns a collection for each class that occurs, in order; code -1 is gray.
    """
    collections = []
    for code in np.unique(codes):
        members = codes == code
        color, marker = class_style(int(code))
        faces = mix_with_white([color] * int(members.sum()), np.asarray(strength)[members])
        collections.append(
            ax.scatter(
                *points[members].T,
                s=size,
                c=faces,
                marker=marker,
                edgecolors=color,
                linewidths=0.8,
                zorder=3,
            )
        )
    return collections


def outline_given(ax: Any, points: FloatArray, size: float) -> Any:
    """Draw black rings around given labels; return the collection."""
    return ax.scatter(
        *points.T, s=3 * size, facecolors="none", edgecolors="black", linewidths=1.4, zorder=4
    )


def class_legend(ax: Any, codes: IntArray, classes: AnyArray, extra: Any = ()) -> Any:
    """Draw a legend of the classes that occur, to the right of the axes; return it."""
    from matplotlib.lines import Line2D

    handles = []
    for code in np.unique(codes):
        color, marker = class_style(int(code))
        name = "no label" if code < 0 else str(classes[code])
        handles.append(Line2D([], [], color=color, marker=marker, linestyle="", label=name))
    handles.append(
        Line2D(
            *([], []),
            color="black",
            marker="o",
            markersize=9,
            fillstyle="none",
            linestyle="",
            label="given label",
        )
    )
    return ax.legend(
        handles=[*handles, *extra],
        loc="upper left",
        bbox_to_anchor=(1.01, 1.0),
        borderaxespad=0.0,
        frameon=False,
        fontsize=LEGEND_SIZE,
        ncols=1 + len(handles) // 20,
    )


def check_plane(name: str, points: Any, n: int) -> FloatArray:
    """Return n points in the plane as an array, or raise ValueError.

    Examples
    --------
    >>> check_plane("X", [[0, 1, 2]], 1)
    Traceback (most recent call last):
    ValueError: `X` must have shape (1, 2), a point for each row, got (1, 3)
    """
    plane = np.asarray(points, dtype=np.float64)
    if plane.shape != (n, 2):
        msg = f"`{name}` must have shape ({n}, 2), a point for each row, got {plane.shape}"
        raise ValueError(msg)
    return plane
