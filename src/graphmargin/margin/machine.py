"""Max-margin machines and their predictions, one-vs-one for several classes.

Predictions do not depend on how a machine was trained: a linear function of explicit features is a
machine too.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from scipy import sparse

from graphmargin._rows import subtract_center
from graphmargin._typing import FloatArray, IntArray
from graphmargin.margin._solvers.evaluation import (
    values_of_all_pairs,
    values_of_class_sums,
    values_of_shortlists,
    values_on_kernel,
)
from graphmargin.margin._solvers.shortlists import MAX_ALL_PAIRS, make_shortlists
from graphmargin.margin.coupling import class_scores, mean_sizes, scales_of_pairs
from graphmargin.margin.kernels import Kernel

Solver = Literal["smo", "libsvm", "coordinate descent", "L-BFGS"]
MAX_PAIR_VALUES = 500_000
"""Largest number of values of f from which the means of many pairs are computed."""


@dataclass(frozen=True)
class TrainingReport:
    """A report on the training of a machine.

    Attributes
    ----------
    solver : {"smo", "libsvm", "coordinate descent", "L-BFGS"}
    C : float
    n_rows : int
        Number of rows that it learned from.
    form : {"kernel", "warped kernel", "rows", "landmarks"}
        Input of the solver: a kernel, a kernel that was warped by a graph, or explicit features,
        which are the rows themselves or kernel values to landmarks.
    n_landmarks : int
        0 for a machine without approximation.
    approximation_error : float
        Mean share of k(x, x) that the landmarks miss.
    gap : float
        The largest relative duality gap of the pairs, for coordinate descent; else 0.
    failure : str
        Reason why training did not converge and what to do about it; empty if it did.

    Examples
    --------
    >>> import numpy as np
    >>> from graphmargin.margin import Kernel, train_machine
    >>> X = np.array([[0.0], [1.0], [2.0], [3.0]])
    >>> machine = train_machine(X, np.array([0, 0, 1, 1]), Kernel("linear"), C=10.0)
    >>> machine.report.solver, machine.report.form, machine.report.converged
    ('smo', 'kernel', True)
    """

    solver: Solver
    C: float
    n_rows: int
    form: Literal["kernel", "warped kernel", "rows", "landmarks"] = "kernel"
    n_landmarks: int = 0
    approximation_error: float = 0.0
    gap: float = 0.0
    failure: str = ""

    @property
    def converged(self) -> bool:
        """True if the solver reached its tolerance."""
        return not self.failure


@dataclass(frozen=True)
class MarginMachine:
    """A trained machine ``f(x) = sum_i alpha_i k(x_i, x) + b`` for every pair of classes.

    Attributes
    ----------
    kernel : Kernel
    vectors : array or CSR matrix of shape (m, d), or None
        Support vectors or landmarks; for a precomputed kernel their training row numbers. None for
        a linear kernel after `collapse_linear`.
    coefficients : array or CSC matrix of shape (m, n_pairs)
        alpha, a column for each pair of classes (0, 1), (0, 2), .., (1, 2), ..; after
        `collapse_linear` of shape (d, n_pairs), the weights of the features. It is sparse for many
        classes, because a pair has support vectors of its own two classes only.
    intercepts : array of shape (n_pairs,)
    n_classes : int
    center : array of shape (d,) or 0.0
        Subtracted from all rows before the kernel is evaluated.
    report : TrainingReport

    Examples
    --------
    >>> import numpy as np
    >>> from graphmargin.margin import Kernel, train_machine
    >>> X = np.array([[0.0], [1.0], [2.0], [3.0]])
    >>> machine = train_machine(X, np.array([0, 0, 1, 1]), Kernel("linear"), C=10.0)
    >>> machine.decision(X).round(1).tolist()
    [-3.0, -1.0, 1.0, 3.0]
    """

    kernel: Kernel
    vectors: Any
    coefficients: Any
    intercepts: FloatArray
    n_classes: int
    center: FloatArray | float
    report: TrainingReport

    def pairwise(self, X: Any) -> FloatArray:
        """Return f for every row and pair (i, j) of classes, positive for class i.

        The result of dense single-precision rows is in single precision, unless the training rows
        were too large or too small for it, or f is. Values that are rounding errors are zero.
        """
        return values_of_all_pairs(self, X)

    def class_sums(self, X: Any, pair_scales: FloatArray) -> FloatArray:
        """Return the sum of f over all pairs of each class, in units of `pair_scales`."""
        return values_of_class_sums(self, X, pair_scales)

    def shortlisted(self, X: Any, shortlists: IntArray) -> FloatArray:
        """Return f for the pairs of a shortlist of each row, of shape (n, k)."""
        return values_of_shortlists(self, X, shortlists)

    def scores(self, X: Any, pair_scales: FloatArray | float = 1.0) -> FloatArray:
        """Return the class scores of every row, see `class_scores`.

        With more than 30 classes, only those on the shortlist of a row are compared. f is in units
        of `pair_scales`, of shape (n_pairs,).
        """
        if self.n_classes <= MAX_ALL_PAIRS:
            return class_scores(self.pairwise(X), self.n_classes, pair_scales)
        units = np.broadcast_to(pair_scales, len(self.intercepts))
        shortlists = make_shortlists(self.class_sums(X, units))
        values = self.shortlisted(X, shortlists)
        return class_scores(values, self.n_classes, pair_scales, shortlists)

    def scores_in_own_units(self, X: Any) -> tuple[FloatArray, FloatArray]:
        """Return the mean absolute values of f for every pair, and class scores in these units."""
        if self.n_classes > MAX_ALL_PAIRS:
            means = self.pair_means(X)
            return means, self.scores(X, scales_of_pairs(means))
        f = self.pairwise(X)
        means = mean_sizes(f)
        return means, class_scores(f, self.n_classes, scales_of_pairs(means))

    def pair_means(self, X: Any) -> FloatArray:
        """Return the mean absolute value of f for every pair; with many classes, at some rows."""
        if self.n_classes > MAX_ALL_PAIRS:
            most = max(1, MAX_PAIR_VALUES // len(self.intercepts))
            X = X[:: max(1, -(-X.shape[0] // most))]
        return mean_sizes(self.pairwise(X))

    def collapse_linear(self) -> MarginMachine:
        """Return a linear machine with feature weights in place of vectors, any other as it is.

        ``f(x) = w.(x - center) / width^2 + b``, where w is the weighted sum of a pair's vectors.
        Many classes with more features than vectors keep their vectors, because weights of all
        pairs would take more memory.
        """
        if self.kernel.kind != "linear" or self.vectors is None:
            return self
        if sparse.issparse(self.coefficients) and self.vectors.shape[1] > self.vectors.shape[0]:
            return self
        weights = subtract_center(self.vectors, self.center).T @ self.coefficients
        if sparse.issparse(weights):  # of sparse rows and many classes
            weights = weights.toarray()
        return replace(self, vectors=None, coefficients=np.asarray(weights))

    def decision(self, X: Any) -> FloatArray:
        """Return f(x), positive for class 1; for c > 2 classes, a score for each class.

        The scores of several classes are coupled log-probabilities, see `class_scores`.
        """
        return self.scores(X)


def predicted_codes(scores: FloatArray) -> IntArray:
    """Return the class code of the largest score in each row.

    Examples
    --------
    >>> predicted_codes(np.array([-0.5, 0.5])).tolist()
    [0, 1]
    >>> predicted_codes(np.array([[1.0, 3.0, 2.0]])).tolist()
    [1]
    """
    if scores.ndim == 1:
        return (scores > 0).astype(np.int64)
    return np.asarray(scores.argmax(axis=1))


def pairwise_values(machines: Sequence[MarginMachine], X: Any) -> list[FloatArray]:
    """Return f of every row and pair of classes, for several machines on the same landmarks.

    Kernel values, the most expensive part, are computed once. Machines of a precomputed kernel may
    have different vectors.

    Parameters
    ----------
    machines : sequence of MarginMachine
        Machines with the same kernel, vectors and center, for up to 30 classes.
    X : array or CSR matrix of shape (m, d)

    Examples
    --------
    >>> report = TrainingReport("smo", 1.0, 2)
    >>> machine = MarginMachine(
    ...     Kernel("rbf"), np.eye(2), np.array([[1.0], [-1.0]]), np.zeros(1), 2, 0.0, report
    ... )
    >>> other = replace(machine, intercepts=np.ones(1))
    >>> [f.tolist() for f in pairwise_values([machine, other], np.zeros((1, 2)))]
    [[[0.0]], [[1.0]]]
    """
    if machines[0].kernel.kind == "precomputed":
        return values_on_kernel(machines, X)
    joined = replace(
        machines[0],
        coefficients=np.hstack([machine.coefficients for machine in machines]),
        intercepts=np.concatenate([machine.intercepts for machine in machines]),
    )
    return np.split(joined.pairwise(X), len(machines), axis=1)


def shortlisted_values(
    machines: Sequence[MarginMachine], X: Any, units: Sequence[FloatArray]
) -> tuple[list[FloatArray], IntArray]:
    """Return f of the pairs of a shortlist for each row, for several machines, and the shortlists.

    All machines have the same shortlist for a row: the classes with the largest sums over all
    machines. So the values can be averaged.

    Parameters
    ----------
    machines : sequence of MarginMachine
        Machines for more than 30 classes.
    X : array or CSR matrix of shape (m, d)
    units : sequence of arrays of shape (n_pairs,)
        Units in which f of each machine is added up.
    """
    sums = np.zeros((X.shape[0], machines[0].n_classes))
    for machine, of_machine in zip(machines, units, strict=True):
        sums += machine.class_sums(X, of_machine)
    shortlists = make_shortlists(sums)
    return [machine.shortlisted(X, shortlists) for machine in machines], shortlists


def blend_machines(machines: Sequence[MarginMachine], weights: Sequence[float]) -> MarginMachine:
    """Return the machine whose function is the weighted sum of those of `machines`.

    Vectors that all machines share, and row numbers, are merged; the feature weights of linear
    machines are added up.

    Parameters
    ----------
    machines : sequence of MarginMachine
        Machines with the same kernel and center for the same classes. The sum has the report of the
        first one.
    weights : sequence of float

    Examples
    --------
    >>> report = TrainingReport("smo", 1.0, 2)
    >>> machine = MarginMachine(
    ...     Kernel("rbf"), np.eye(2), np.array([[1.0], [-1.0]]), np.zeros(1), 2, 0.0, report
    ... )
    >>> other = replace(machine, intercepts=np.ones(1))
    >>> blend_machines([machine, other], [0.75, 0.25]).pairwise(np.zeros((1, 2))).tolist()
    [[0.25]]
    """
    return _add(
        [
            _scale(machine.collapse_linear(), weight)
            for machine, weight in zip(machines, weights, strict=True)
        ]
    )


def _scale(machine: MarginMachine, weight: float) -> MarginMachine:
    return replace(
        machine,
        coefficients=weight * machine.coefficients,
        intercepts=weight * machine.intercepts,
    )


def _add(machines: Sequence[MarginMachine]) -> MarginMachine:
    """Return the sum of machines of the same kernel and center as one machine."""
    first = machines[0]
    if len(machines) == 1:
        return first
    parts = [machine.coefficients for machine in machines]
    vectors, coefficients = first.vectors, None
    if first.kernel.kind == "precomputed":
        numbers = np.concatenate([machine.vectors for machine in machines])
        vectors, position = np.unique(numbers, return_inverse=True)
        places = (position, np.arange(len(numbers)))
        merge = sparse.csr_array((np.ones(len(numbers)), places), (len(vectors), len(numbers)))
        coefficients = merge @ _stack(parts)
    elif vectors is None or all(_are_equal(vectors, machine.vectors) for machine in machines):
        coefficients = sum(parts[1:], start=parts[0])
    else:
        vectors = _stack([machine.vectors for machine in machines])
        coefficients = _stack(parts)
    if sparse.issparse(coefficients):
        coefficients = coefficients.tocsc()
    intercepts = np.sum([machine.intercepts for machine in machines], axis=0)
    return replace(first, vectors=vectors, coefficients=coefficients, intercepts=intercepts)


def _stack(matrices: Sequence[Any]) -> Any:
    """Return matrices one below the other, as a sparse one if one of them is."""
    is_sparse = any(sparse.issparse(matrix) for matrix in matrices)
    return sparse.vstack(matrices, format="csr") if is_sparse else np.vstack(matrices)


def _are_equal(A: Any, B: Any) -> bool:
    """Tell whether two matrices hold the same numbers."""
    if A is B:
        return True
    if A.shape != B.shape or A.dtype != B.dtype:
        return False
    if sparse.issparse(A):
        return bool((A != B).nnz == 0)
    return bool(np.array_equal(A, B))
