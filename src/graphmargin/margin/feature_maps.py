"""Explicit features of a kernel: the rows themselves, or kernel values to a few landmark rows.

With landmarks Z and ``M M' = K_ZZ^+``, the features ``phi(x) = k(x, Z) M`` have the products
``k(x, Z) K_ZZ^+ k(Z, x')``, the best that the landmarks know of k(x, x') (Nystroem). A linear
function ``w.phi(x)`` is ``k(x, Z) (M w)``: a kernel machine whose vectors are the landmarks.
Random rows, evenly from the classes, serve as well as centers of k-means or randomly pivoted
Cholesky, and exist for every kernel and for sparse rows. All rows as landmarks are exact, and so
are some that span the space of the kernel, of (d + 3 choose 3) dimensions for the cubic one.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import comb, inf
from typing import Any

import numpy as np
from scipy import sparse

from graphmargin._blocks import row_slices
from graphmargin._checks import check_random_state
from graphmargin._threads import map_in_threads
from graphmargin._typing import FloatArray, IntArray
from graphmargin.margin.kernels import Kernel
from graphmargin.margin.machine import MarginMachine, TrainingReport, centered

EIGENVALUE_CUT = {np.dtype(np.float32): 1e-6, np.dtype(np.float64): 1e-11}
"""Eigenvalues below this share of the largest are noise, by the precision of the rows."""
LABELED_SHARE = 0.75
"""Share of the landmarks that may be labeled rows: f bends there most."""
DISTINCT = 8
"""Times the landmarks that are looked through for distinct rows."""
ERROR_ROWS = 1000
"""Number of rows on which the error of landmarks is measured."""
MAX_ROW_FEATURES = 2000
"""Columns of dense rows up to which `explicit_features` of a linear kernel are the rows."""


@dataclass(frozen=True)
class FeatureMap:
    """A feature map ``phi(x) = k(x, Z) basis``.

    Attributes
    ----------
    kernel : Kernel
    landmarks : array or CSR matrix of shape (m, d), or None
        Z, the rows to compare with; for a precomputed kernel their numbers; None if there is no
        basis.
    basis : array of shape (m, r) or None
        M, without eigenvalues that are tiny; r <= m. None is the map of a linear kernel to the
        rows themselves, in units of its width.
    center : array of shape (d,) or 0.0
        What is subtracted from all rows before the kernel sees them.
    """

    kernel: Kernel
    landmarks: Any
    basis: FloatArray | None
    center: FloatArray | float = 0.0

    def __call__(self, X: Any) -> FloatArray:
        """Return the features of the rows of X, in the precision of the basis."""
        if self.basis is None:
            return np.asarray(centered(X, self.center) / self.kernel.width)
        if self.kernel.kind == "precomputed":
            return np.asarray(X[:, self.landmarks] @ self.basis)
        precision = self.basis.dtype
        points = centered(X, self.center).astype(precision, copy=False)
        landmarks = centered(self.landmarks, self.center).astype(precision, copy=False)
        return np.asarray(self.kernel(points, landmarks) @ self.basis)

    @property
    def dimension(self) -> int:
        """Number r of features."""
        return int(np.size(self.center) if self.basis is None else self.basis.shape[1])

    def table(
        self, X: Any, rows: IntArray, *, n_jobs: int | None, dtype: Any = np.float32
    ) -> FloatArray:
        """Return the features of some rows of X, block by block in threads."""
        features = np.empty((len(rows), self.dimension), dtype=dtype)

        def fill(block: slice) -> None:
            features[block] = self(X[rows[block]])

        width = self.dimension if self.landmarks is None else self.landmarks.shape[0]
        blocks = list(row_slices(len(rows), 16 * width))
        map_in_threads(fill, blocks, n_jobs=1 if callable(self.kernel.kind) else n_jobs)
        return features

    def machine(
        self,
        weights: FloatArray,
        intercepts: FloatArray,
        n_classes: int,
        report: TrainingReport,
    ) -> MarginMachine:
        """Return linear functions of the features, a column of weights each, as a machine."""
        weights = weights.astype(np.float64)
        if self.basis is None:
            coefficients = self.kernel.width * weights
        else:
            coefficients = self.basis.astype(np.float64) @ weights
        return MarginMachine(
            self.kernel,
            self.landmarks,
            coefficients,
            intercepts,
            n_classes=n_classes,
            center=self.center,
            report=report,
        )

    def described(self, X: Any) -> dict[str, Any]:
        """Return what a `TrainingReport` says of the features; the error is on a sample of X."""
        if self.basis is None:
            return {"form": "rows"}
        if self.kernel.kind == "precomputed":
            return {"form": "kernel"}
        return {
            "form": "landmarks",
            "n_landmarks": self.landmarks.shape[0],
            "approximation_error": self.error(X[:: -(-X.shape[0] // ERROR_ROWS)]),
        }

    def error(self, X: Any) -> float:
        """Return the mean share of k(x, x) that the features of the rows of X lack."""
        known = np.square(self(X), dtype=np.float64).sum(axis=1)
        true = self.kernel.diagonal(centered(X, self.center))
        lost = np.divide(true - known, true, out=np.zeros_like(known), where=true > 0)
        return float(np.maximum(lost, 0.0).mean())


def rows_are_features(X: Any, kernel: Kernel) -> bool:
    """Tell whether rows can be features: the kernel is linear, and they are dense."""
    return kernel.kind == "linear" and not sparse.issparse(X)


def few_row_features(X: Any, kernel: Kernel) -> bool:
    """Tell whether rows can be features, and few enough for a matrix between features."""
    return rows_are_features(X, kernel) and X.shape[1] <= MAX_ROW_FEATURES


def _dimension(X: Any, kernel: Kernel) -> float:
    """Return the dimension of the functions of a kernel, inf if unknown."""
    if kernel.kind == "linear":
        return float(X.shape[1])
    if kernel.kind == "cubic":
        return float(comb(X.shape[1] + kernel.degree, kernel.degree))
    return inf


def explicit_features(
    X: Any,
    labeled: IntArray,
    kernel: Kernel,
    n_landmarks: int,
    center: FloatArray | float,
    random_state: Any,
) -> FeatureMap:
    """Return features for partly labeled rows, in double precision.

    These are dense rows of up to 2,000 columns for a linear kernel, else kernel values to random
    landmarks, distinct ones and up to three quarters labeled. A kernel of few dimensions, such as
    the cubic one, gets as many landmarks as it has dimensions, and a quarter more, if it has at
    most ``2 n_landmarks``: exact if they span the rows. A precomputed kernel has all rows.

    Examples
    --------
    >>> X = np.random.default_rng(0).normal(size=(100, 2))
    >>> features = explicit_features(X, np.arange(4), Kernel("cubic"), 20, 0.0, random_state=0)
    >>> features.dimension  # (2 + 3 choose 3)
    10
    """
    if kernel.kind == "precomputed":
        return kernel_features(X)
    n, d = X.shape
    if few_row_features(X, kernel):
        return row_features(kernel, np.broadcast_to(center, d))
    dimension = _dimension(X, kernel)
    if dimension <= 2 * n_landmarks:
        n_landmarks = max(n_landmarks, int(1.25 * dimension))  # a few more, as rows may be alike
    n_landmarks = min(n, n_landmarks)
    random = check_random_state(random_state)
    share = max(int(LABELED_SHARE * n_landmarks), n_landmarks - (n - len(labeled)))
    first = random.permutation(labeled)[:share]
    others = random.permutation(np.setdiff1d(np.arange(n), labeled, assume_unique=True))
    chosen = np.concatenate([first, others])[: DISTINCT * n_landmarks]
    if not sparse.issparse(X):
        chosen = chosen[np.sort(np.unique(X[chosen], axis=0, return_index=True)[1])]
    chosen = np.sort(chosen[:n_landmarks])
    return landmark_features(kernel, X[chosen].astype(np.float64, copy=False), center)


def row_features(kernel: Kernel, center: FloatArray) -> FeatureMap:
    """Return the map of a linear kernel to rows in units of its width.

    Examples
    --------
    >>> row_features(Kernel("linear", width=2.0), np.zeros(2))(np.array([[2.0, 6.0]])).tolist()
    [[1.0, 3.0]]
    """
    return FeatureMap(kernel, None, None, center)


def landmark_features(
    kernel: Kernel, landmarks: Any, center: FloatArray | float = 0.0
) -> FeatureMap:
    """Return the feature map of some landmark rows.

    Parameters
    ----------
    kernel : Kernel
    landmarks : array or CSR matrix of shape (m, d)
        Single precision gives features that are computed in it.
    center : array of shape (d,), default=0.0
        Is subtracted from all rows.

    Returns
    -------
    FeatureMap
        Time O(m^3). Exact on the landmarks, up to eigenvalues that are noise.

    Examples
    --------
    >>> X = np.array([[0.0], [1.0], [3.0]])
    >>> features = landmark_features(Kernel("rbf"), X)(X)
    >>> bool(np.allclose(features @ features.T, Kernel("rbf")(X, X)))
    True
    """
    points = centered(landmarks, center)
    basis = _basis(kernel(points, points), landmarks.dtype)
    return FeatureMap(kernel, landmarks, basis, center)


def kernel_features(K: Any) -> FeatureMap:
    """Return the feature map of a precomputed kernel matrix, with all its rows as landmarks.

    Examples
    --------
    >>> K = np.array([[2.0, 1.0], [1.0, 2.0]])
    >>> features = kernel_features(K)(K)
    >>> (features @ features.T).round(9).tolist()
    [[2.0, 1.0], [1.0, 2.0]]
    """
    basis = _basis(K.toarray() if sparse.issparse(K) else K, np.dtype(np.float64))
    return FeatureMap(Kernel("precomputed"), np.arange(K.shape[0]), basis)


def _basis(K: FloatArray, dtype: Any) -> FloatArray:
    """Return M with ``M M' = K^+``, without eigenvalues that are noise in this precision.

    Rows and columns are scaled to a unit diagonal, so that a far row does not drown the others.
    """
    K = np.asarray(K, dtype=np.float64)
    root = np.sqrt(np.diag(K))
    scale = np.divide(1.0, root, out=np.zeros_like(root), where=root > 0)
    values, vectors = np.linalg.eigh(scale[:, None] * K * scale)
    keep = values > EIGENVALUE_CUT[dtype] * values[-1]
    return np.asarray(scale[:, None] * vectors[:, keep] / np.sqrt(values[keep]), dtype=dtype)


def stratified_sample(codes: IntArray, n_rows: int, random_state: Any) -> IntArray:
    """Return `n_rows` random rows, as evenly from the classes as their sizes allow, in order.

    Examples
    --------
    >>> codes = np.array([0, 0, 0, 0, 0, 0, 1, 2, 2, 2])
    >>> codes[stratified_sample(codes, 6, random_state=0)].tolist()
    [0, 0, 0, 1, 2, 2]
    """
    random = check_random_state(random_state)
    counts = np.bincount(codes)
    quota = balanced_quotas(counts, n_rows)
    chosen = [
        random.permutation(np.flatnonzero(codes == c))[: quota[c]] for c in range(len(counts))
    ]
    return np.sort(np.concatenate(chosen))


def balanced_quotas(counts: IntArray, n_rows: int) -> IntArray:
    """Return how many rows of each class to take, as evenly as their counts allow.

    Examples
    --------
    >>> balanced_quotas(np.array([6, 1, 3]), 6).tolist()
    [3, 1, 2]
    """
    quotas, left = np.zeros_like(counts), min(n_rows, int(counts.sum()))
    for place, c in enumerate(np.argsort(counts, kind="stable")):
        quotas[c] = min(counts[c], left // (len(counts) - place))
        left -= quotas[c]
    return quotas
