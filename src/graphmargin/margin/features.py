"""Explicit features of a kernel: Nystroem's, from the kernel values to a few landmark rows.

With landmarks Z and ``K_ZZ = U S U'``, the features ``phi(x) = k(x, Z) U S^(-1/2)`` have the
products ``k(x, Z) K_ZZ^+ k(Z, x')``, the best that the landmarks know of k(x, x'). A linear
function ``w.phi(x)`` is ``k(x, Z) (U S^(-1/2) w)``: a kernel machine whose vectors are the
landmarks. Random rows, evenly from the classes, serve as well as centers of k-means or randomly
pivoted Cholesky, and exist for every kernel and for sparse rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from graphmargin._typing import FloatArray, IntArray
from graphmargin.margin.kernels import Kernel

EIGENVALUE_CUT = {np.dtype(np.float32): 1e-6, np.dtype(np.float64): 1e-11}
"""Eigenvalues below this share of the largest are noise, by the precision of the rows."""


@dataclass(frozen=True)
class LandmarkFeatures:
    """A feature map ``phi(x) = k(x, Z) basis``.

    Attributes
    ----------
    kernel : Kernel
    landmarks : array or CSR matrix of shape (m, d)
        Z, the rows to compare with.
    basis : array of shape (m, r)
        U S^(-1/2), without eigenvalues that are tiny; r <= m.
    """

    kernel: Kernel
    landmarks: Any
    basis: FloatArray

    def __call__(self, X: Any) -> FloatArray:
        """Return the features of the rows of X, in single precision."""
        return (self.kernel(X, self.landmarks) @ self.basis).astype(np.float32, copy=False)

    def error(self, X: Any) -> float:
        """Return the mean share of k(x, x) that the features of the rows of X lack."""
        known = np.square(self(X), dtype=np.float64).sum(axis=1)
        true = np.array([self.kernel(X[[i]], X[[i]])[0, 0] for i in range(X.shape[0])])
        lost = np.divide(true - known, true, out=np.zeros_like(known), where=true > 0)
        return float(np.maximum(lost, 0.0).mean())


def landmark_features(kernel: Kernel, landmarks: Any) -> LandmarkFeatures:
    """Return the feature map of some landmark rows.

    Parameters
    ----------
    kernel : Kernel
    landmarks : array or CSR matrix of shape (m, d)
        Single precision gives features that are computed in it.

    Returns
    -------
    LandmarkFeatures
        Time O(m^3). Exact on the landmarks, up to eigenvalues that are noise.

    Examples
    --------
    >>> X = np.array([[0.0], [1.0], [3.0]])
    >>> features = landmark_features(Kernel("rbf"), X)(X)
    >>> bool(np.allclose(features @ features.T, Kernel("rbf")(X, X)))
    True
    """
    values, vectors = np.linalg.eigh(np.asarray(kernel(landmarks, landmarks), dtype=np.float64))
    keep = values > EIGENVALUE_CUT[landmarks.dtype] * values[-1]
    basis = vectors[:, keep] / np.sqrt(values[keep])
    return LandmarkFeatures(kernel, landmarks, basis.astype(landmarks.dtype))


def spread_rows(codes: IntArray, n_rows: int, random_state: Any) -> IntArray:
    """Return `n_rows` random rows, as evenly from the classes as their sizes allow, in order.

    Examples
    --------
    >>> codes = np.array([0, 0, 0, 0, 0, 0, 1, 2, 2, 2])
    >>> codes[spread_rows(codes, 6, random_state=0)].tolist()
    [0, 0, 0, 1, 2, 2]
    """
    random = check_random_state(random_state)
    counts = np.bincount(codes)
    quota, left = np.zeros_like(counts), min(n_rows, len(codes))
    for place, c in enumerate(np.argsort(counts, kind="stable")):
        quota[c] = min(counts[c], left // (len(counts) - place))
        left -= quota[c]
    chosen = [
        random.permutation(np.flatnonzero(codes == c))[: quota[c]] for c in range(len(counts))
    ]
    return np.sort(np.concatenate(chosen))
