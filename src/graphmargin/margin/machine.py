"""Max-margin machines: hinge loss plus norm (eq. MMGC), one-vs-one for several classes.

A solver is a function with the arguments of `train_machine`, the exact one through LIBSVM, that
returns a `MarginMachine`; prediction does not ask who trained it.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.svm import SVC

from graphmargin._blocks import row_blocks
from graphmargin._typing import FloatArray, IntArray
from graphmargin.margin.kernels import Kernel

MAX_ITERATIONS = 10_000_000
"""Of LIBSVM; a badly scaled problem would not end. scikit-learn warns when it is reached."""


@dataclass(frozen=True)
class MarginMachine:
    """A trained machine ``f(x) = sum_i alpha_i k(x_i, x) + b`` for every pair of classes.

    Attributes
    ----------
    kernel : Kernel
    vectors : array or CSR matrix of shape (m, d)
        Support vectors; for a precomputed kernel their row numbers in training.
    coefficients : array of shape (m, n_pairs)
        alpha, a column for each pair of classes (0, 1), (0, 2), .., (1, 2), ..
    intercepts : array of shape (n_pairs,)
    n_classes : int
    center : array of shape (d,), default=0.0
        What is subtracted from all rows before the kernel sees them.
    """

    kernel: Kernel
    vectors: Any
    coefficients: FloatArray
    intercepts: FloatArray
    n_classes: int
    center: FloatArray | float = 0.0

    def pairwise(self, X: Any) -> FloatArray:
        """Return f for every row and pair (i, j) of classes, positive for class i.

        Works in blocks: one kernel block and one product at a time.
        """
        result = np.empty((X.shape[0], len(self.intercepts)))
        vectors = _centered(self.vectors, self.center)
        for rows in row_blocks(X.shape[0], 16 * self.coefficients.shape[0]):
            if self.kernel.kind == "precomputed":
                values = X[rows][:, vectors]
            else:
                values = self.kernel(_centered(X[rows], self.center), vectors)
            result[rows] = values @ self.coefficients + self.intercepts
        return result

    def decision(self, X: Any) -> FloatArray:
        """Return f(x), positive for class 1, or for c > 2 classes a score for each class.

        The score is the number of duels won plus a share below 1/2 from the summed margins, so
        that the arg max is the vote with ties broken by margin, as in scikit-learn's SVC.
        """
        pairwise = self.pairwise(X)
        if self.n_classes == 2:
            return np.asarray(-pairwise[:, 0])
        for_first, for_second = self._pairs
        votes = (pairwise >= 0) @ for_first + (pairwise < 0) @ for_second
        margins = pairwise @ (for_first - for_second)
        return np.asarray(votes + margins / (3 * (np.abs(margins) + 1)))

    @cached_property
    def _pairs(self) -> tuple[FloatArray, FloatArray]:
        """Indicators (n_pairs, c) of the first and the second class of every pair."""
        identity = np.eye(self.n_classes)
        first, second = np.triu_indices(self.n_classes, 1)
        return identity[first], identity[second]


def train_machine(
    X: Any, codes: IntArray, kernel: Kernel, *, C: float, sample_weight: FloatArray | None = None
) -> MarginMachine:
    """Return the exact max-margin machine on rows X with class codes 0..c-1, by LIBSVM.

    Solves ``min sum_i V(f, x_i, y_i) + gamma norm(f)_K^2`` (eq. MMGC) with
    ``C = 1 / (2 gamma)`` and a bias that is not penalized.

    Parameters
    ----------
    X : array or CSR matrix of shape (n, d)
        Training rows; the (n, n) kernel matrix for a precomputed kernel.
    codes : array of shape (n,)
        Class of each row; every class 0..c-1 occurs.
    kernel : Kernel
    C : float > 0
        Weight of the hinge losses.
    sample_weight : array of shape (n,), default=None
        Factors of the losses.

    Returns
    -------
    MarginMachine
        Time between O(n^2) and O(n^3); memory O(n^2) for a callable or precomputed kernel only.

    Examples
    --------
    >>> X = np.array([[-1.0], [1.0], [2.0]])
    >>> machine = train_machine(X, np.array([0, 1, 1]), Kernel("linear"), C=10.0)
    >>> machine.decision(X).round(3).tolist()
    [-1.0, 1.0, 2.0]
    """
    center = _center(X, kernel)
    points = _centered(X, center)
    # LIBSVM's own kernels, on data scaled by the width, need no n x n matrix.
    if kernel.kind in ("linear", "cubic", "rbf"):
        rows = points / kernel.width
        options: dict[str, Any] = {
            "kernel": "poly" if kernel.kind == "cubic" else kernel.kind,
            "gamma": 0.5 if kernel.kind == "rbf" else 1.0,
            "degree": kernel.degree,
            "coef0": kernel.coef0,
        }
    else:
        rows = X if kernel.kind == "precomputed" else kernel(X, X)
        options = {"kernel": "precomputed"}
    svm = SVC(C=C, tol=1e-4, cache_size=200, max_iter=MAX_ITERATIONS, **options)
    svm.fit(rows, codes, sample_weight=sample_weight)
    return MarginMachine(
        kernel,
        svm.support_ if kernel.kind == "precomputed" else X[svm.support_],
        *_pair_coefficients(svm),
        n_classes=len(svm.classes_),
        center=center,
    )


def _center(X: Any, kernel: Kernel) -> FloatArray | float:
    """Return the median of dense rows where shifting all of them leaves the problem as it is.

    That is so for the linear kernel, whose bias is free, and for the RBF kernel. A large offset
    would cost both of them their precision.
    """
    if kernel.kind not in ("linear", "rbf") or sparse.issparse(X):
        return 0.0
    return np.asarray(np.median(X, axis=0), dtype=np.float64)


def _centered(X: Any, center: FloatArray | float) -> Any:
    if isinstance(center, float):
        return X
    return (X.toarray() if sparse.issparse(X) else X) - center


def _pair_coefficients(svm: SVC) -> tuple[FloatArray, FloatArray]:
    """Return LIBSVM's dual coefficients with a column for each pair of classes.

    LIBSVM stores for a support vector of class i its c-1 coefficients against the other classes,
    skipping i. scikit-learn flips the sign for two classes.
    """
    dual, n_classes = svm.dual_coef_, len(svm.classes_)
    if sparse.issparse(dual):  # (c - 1, m) numbers, mostly not zero
        dual = dual.toarray()
    sign = -1.0 if n_classes == 2 else 1.0
    owner = np.repeat(np.arange(n_classes), svm.n_support_)
    first, second = np.triu_indices(n_classes, 1)
    coefficients = np.zeros((len(owner), len(first)))
    for pair, (i, j) in enumerate(zip(first, second, strict=True)):
        coefficients[owner == i, pair] = dual[j - 1, owner == i]
        coefficients[owner == j, pair] = dual[i, owner == j]
    return sign * coefficients, sign * svm.intercept_
