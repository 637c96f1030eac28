"""Generated problems, whose true labels are known."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array, diags_array, eye_array, kron, kronsum


class LatticeProblem(NamedTuple):
    """Two lattices with one labeled vertex each, see :func:`make_lattices`.

    Examples
    --------
    >>> from graphmargin.datasets import make_lattices
    >>> problem = make_lattices()
    >>> problem.X.shape, int((problem.y >= 0).sum())
    ((200, 2), 2)
    """

    X: npt.NDArray[np.float64]
    """Positions of the vertices, shape (200, 2)."""
    y: npt.NDArray[np.int64]
    """Class of the two labeled vertices, -1 (unlabeled) elsewhere."""
    y_true: npt.NDArray[np.int64]
    """Class of every vertex: 0 in the left lattice, 1 in the right one."""
    W: csr_array
    """Weights of the edges, shape (200, 200), symmetric."""


def make_lattices() -> LatticeProblem:
    r"""Return the paper's synthetic problem: two unit lattices, one label in each.

    The vertices are :math:`x_1 \in \{-10, .., -1\}` (class 0) or :math:`\{1, .., 10\}` (class 1)
    and :math:`x_2 \in \{-4.5, .., 4.5\}`. Horizontal and vertical neighbors within a lattice, at
    distance 1, are connected with weight :math:`w = \exp(-1/2)`; the lattices are not connected.
    The graph does not distinguish the two axes:

    .. math::

        \sum_{i,j} w_{ij} (x_{i1} - x_{j1})^2 = \sum_{i,j} w_{ij} (x_{i2} - x_{j2})^2
        = 360 \exp(-1/2).

    The labeled vertices (-5, 4.5) and (5, -4.5) have a slanted perpendicular bisector. It is the
    supervised max-margin boundary, and cuts a corner of ten vertices off each lattice. The graph
    separates the classes at :math:`x_1 = 0`.

    Returns
    -------
    LatticeProblem
        The named tuple ``(X, y, y_true, W)``.

    Examples
    --------
    >>> from graphmargin.datasets import make_lattices
    >>> X, y, y_true, W = make_lattices()
    >>> X[y >= 0]
    array([[-5. ,  4.5],
           [ 5. , -4.5]])
    >>> W.nnz
    720
    """
    columns = np.concatenate([np.arange(-10, 0), np.arange(1, 11)])
    rows = np.arange(10) - 4.5
    X = np.column_stack([np.repeat(columns, 10), np.tile(rows, 20)])
    y_true = (X[:, 0] > 0).astype(np.int64)
    labeled = (X == (-5, 4.5)).all(axis=1) | (X == (5, -4.5)).all(axis=1)

    path = diags_array([1.0, 1.0], offsets=[-1, 1], shape=(10, 10))
    W = np.exp(-0.5) * kron(eye_array(2), kronsum(path, path), format="csr")
    return LatticeProblem(X, np.where(labeled, y_true, -1), y_true, W)
