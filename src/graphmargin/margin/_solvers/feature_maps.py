"""Explicit features of a kernel: the rows themselves, or kernel values to a few landmarks.

With landmarks Z and ``M M' = K_ZZ^+``, the features ``phi(x) = k(x, Z) M`` have the products
``k(x, Z) K_ZZ^+ k(Z, x')``, the Nystroem approximation of k(x, x'). A linear function ``w.phi(x)``
is ``k(x, Z) (M w)``: a kernel machine whose vectors are the landmarks. Random rows, evenly from the
classes, are as accurate as centers of k-means or randomly pivoted Cholesky, and exist for every
kernel and for sparse rows. All rows as landmarks are exact, and so are landmarks that span the
space of the kernel, which has (d + p choose p) dimensions for a polynomial of degree p.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import comb, inf
from typing import Any

import numpy as np
from scipy import sparse

from graphmargin._blocks import row_slices
from graphmargin._checks import check_random_state
from graphmargin._rows import subtract_center
from graphmargin._threads import map_in_threads
from graphmargin._typing import FloatArray, IntArray
from graphmargin.margin.kernels import Kernel
from graphmargin.margin.machine import MarginMachine, TrainingReport

EIGENVALUE_THRESHOLD = {np.dtype(np.float32): 1e-6, np.dtype(np.float64): 1e-11}
"""Share of the largest eigenvalue below which others are rounding noise, by precision."""
LABELED_SHARE = 0.75
"""Largest share of labeled rows among the landmarks: f varies most there."""
DRAWS_PER_LANDMARK = 8
"""Number of rows that are drawn for each landmark, from which distinct ones are taken."""
ERROR_ROWS = 1000
"""Number of rows on which the approximation error of landmarks is measured."""
MAX_ROW_FEATURES = 2000
"""Largest number of columns of dense rows that are themselves the features of a linear kernel."""


@dataclass(frozen=True)
class FeatureMap:
    """A feature map ``phi(x) = k(x, Z) basis``.

    Attributes
    ----------
    kernel : Kernel
    landmarks : array or CSR matrix of shape (m, d), or None
        Z; for a precomputed kernel the numbers of these rows; None if there is no basis.
    basis : array of shape (m, r) or None
        M, without directions of tiny eigenvalues; r <= m. None is the map of a linear kernel to
        the rows themselves, in units of its width.
    center : array of shape (d,) or 0.0
        Subtracted from all rows before the kernel is evaluated.
    """

    kernel: Kernel
    landmarks: Any
    basis: FloatArray | None
    center: FloatArray | float = 0.0

    def __call__(self, X: Any) -> FloatArray:
        """Return the features of the rows of X, in the precision of the basis."""
        if self.basis is None:
            return np.asarray(subtract_center(X, self.center) / self.kernel.width)
        if self.kernel.kind == "precomputed":
            return np.asarray(X[:, self.landmarks] @ self.basis)
        precision = self.basis.dtype
        points = subtract_center(X, self.center).astype(precision, copy=False)
        landmarks = subtract_center(self.landmarks, self.center).astype(precision, copy=False)
        return np.asarray(self.kernel(points, landmarks) @ self.basis)

    @property
    def dimension(self) -> int:
        """Number r of features."""
        return int(np.size(self.center) if self.basis is None else self.basis.shape[1])

    def transform_rows(
        self, X: Any, rows: IntArray, *, n_jobs: int | None, dtype: Any = np.float32
    ) -> FloatArray:
        """Return the features of some rows of X, block by block in threads."""
        features = np.empty((len(rows), self.dimension), dtype=dtype)

        def fill(block: slice) -> None:
            features[block] = self(X[rows[block]])

        width = self.dimension if self.landmarks is None else self.landmarks.shape[0]
        blocks = list(row_slices(len(rows), 16 * width))
        map_in_threads(fill, blocks, n_jobs=n_jobs)
        return features

    def machine_from_weights(
        self,
        weights: FloatArray,
        intercepts: FloatArray,
        n_classes: int,
        report: TrainingReport,
    ) -> MarginMachine:
        """Return the machine whose pairs are linear functions of the features, a column each."""
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

    def report_fields(self, X: Any) -> dict[str, Any]:
        """Return the fields of a `TrainingReport` on the features, with the error on rows of X."""
        if self.basis is None:
            return {"form": "rows"}
        if self.kernel.kind == "precomputed":
            return {"form": "kernel"}
        return {
            "form": "landmarks",
            "n_landmarks": self.landmarks.shape[0],
            "approximation_error": self.approximation_error(X[:: -(-X.shape[0] // ERROR_ROWS)]),
        }

    def approximation_error(self, X: Any) -> float:
        """Return the mean share of k(x, x) that the features of the rows of X miss."""
        approximate = np.square(self(X), dtype=np.float64).sum(axis=1)
        exact = self.kernel.diagonal(subtract_center(X, self.center))
        errors = np.divide(exact - approximate, exact, out=np.zeros_like(exact), where=exact > 0)
        return float(np.maximum(errors, 0.0).mean())


def rows_are_features(X: Any, kernel: Kernel) -> bool:
    """Tell whether rows can be features: the kernel is linear and the rows are dense."""
    return kernel.kind == "linear" and not sparse.issparse(X)


def rows_are_few_features(X: Any, kernel: Kernel) -> bool:
    """Tell whether rows can be features, few enough for a matrix between features."""
    return rows_are_features(X, kernel) and X.shape[1] <= MAX_ROW_FEATURES


def _dimension(X: Any, kernel: Kernel) -> float:
    """Return the dimension of the feature space of a kernel, inf if unknown."""
    if kernel.kind == "linear":
        return float(X.shape[1])
    if kernel.kind == "poly":
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
    """Return the feature map for partly labeled rows, in double precision.

    The features are the rows themselves for a linear kernel on dense rows of up to 2,000 columns,
    else kernel values to random landmarks, which are distinct, and up to three quarters of them
    labeled. A kernel of few dimensions, such as a polynomial one, gets as many landmarks as it has
    dimensions, and a quarter more, if it has at most ``2 n_landmarks``: that is exact if they span
    the rows. All rows of a precomputed kernel are landmarks.

    Examples
    --------
    >>> X = np.random.default_rng(0).normal(size=(100, 2))
    >>> features = explicit_features(X, np.arange(4), Kernel("poly"), 20, 0.0, random_state=0)
    >>> features.dimension  # (2 + 3 choose 3)
    10
    """
    if kernel.kind == "precomputed":
        return kernel_features(X)
    n, d = X.shape
    if rows_are_few_features(X, kernel):
        return row_features(kernel, np.broadcast_to(center, d))
    dimension = _dimension(X, kernel)
    if dimension <= 2 * n_landmarks:
        n_landmarks = max(n_landmarks, int(1.25 * dimension))  # some may be linearly dependent
    n_landmarks = min(n, n_landmarks)
    random = check_random_state(random_state)
    n_labeled = max(int(LABELED_SHARE * n_landmarks), n_landmarks - (n - len(labeled)))
    first = random.permutation(labeled)[:n_labeled]
    others = random.permutation(np.setdiff1d(np.arange(n), labeled, assume_unique=True))
    chosen = np.concatenate([first, others])[: DRAWS_PER_LANDMARK * n_landmarks]
    if not sparse.issparse(X):
        chosen = chosen[np.sort(np.unique(X[chosen], axis=0, return_index=True)[1])]
    chosen = np.sort(chosen[:n_landmarks])
    return landmark_features(kernel, X[chosen].astype(np.float64, copy=False), center)


def row_features(kernel: Kernel, center: FloatArray) -> FeatureMap:
    """Return the feature map of a linear kernel to the rows in units of its width.

    Examples
    --------
    >>> row_features(Kernel("linear", width=2.0), np.zeros(2))(np.array([[2.0, 6.0]])).tolist()
    [[1.0, 3.0]]
    """
    return FeatureMap(kernel, None, None, center)


def landmark_features(
    kernel: Kernel, landmarks: Any, center: FloatArray | float = 0.0
) -> FeatureMap:
    """Return the feature map of some landmarks.

    Parameters
    ----------
    kernel : Kernel
    landmarks : array or CSR matrix of shape (m, d)
        Features are computed in their precision.
    center : array of shape (d,), default=0.0
        Subtracted from all rows.

    Returns
    -------
    FeatureMap
        Takes time O(m^3). It is exact on the landmarks, up to rounding noise.

    Examples
    --------
    >>> X = np.array([[0.0], [1.0], [3.0]])
    >>> features = landmark_features(Kernel("rbf"), X)(X)
    >>> bool(np.allclose(features @ features.T, Kernel("rbf")(X, X)))
    True
    """
    points = subtract_center(landmarks, center)
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

    Rows and columns are scaled to a unit diagonal, so that a row with a large norm does not hide
    the others.
    """
    K = np.asarray(K, dtype=np.float64)
    root = np.sqrt(np.diag(K))
    scale = np.divide(1.0, root, out=np.zeros_like(root), where=root > 0)
    values, vectors = np.linalg.eigh(scale[:, None] * K * scale)
    keep = values > EIGENVALUE_THRESHOLD[dtype] * values[-1]
    return np.asarray(scale[:, None] * vectors[:, keep] / np.sqrt(values[keep]), dtype=dtype)


def stratified_sample(codes: IntArray, n_rows: int, random_state: Any) -> IntArray:
    """Return `n_rows` random rows in order, as evenly from the classes as their sizes allow.

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
