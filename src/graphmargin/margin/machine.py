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

from graphmargin._blocks import row_slices
from graphmargin._rows import MAGNITUDES, check_magnitude, largest_magnitude
from graphmargin._threads import map_in_threads
from graphmargin._typing import FloatArray, IntArray
from graphmargin.margin.coupling import class_scores
from graphmargin.margin.kernels import MAX_VALUE_SHARE, Kernel

Solver = Literal["smo", "libsvm", "coordinate descent", "L-BFGS"]


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
    coefficients : array of shape (m, n_pairs)
        alpha, a column for each pair of classes (0, 1), (0, 2), .., (1, 2), ..; after
        `collapse_linear` of shape (d, n_pairs), the weights of the features.
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
    coefficients: FloatArray
    intercepts: FloatArray
    n_classes: int
    center: FloatArray | float
    report: TrainingReport

    def pairwise(self, X: Any) -> FloatArray:
        """Return f for every row and pair (i, j) of classes, positive for class i.

        Rows are processed in blocks. The result of dense single-precision rows is in single
        precision, unless the training rows were too large or too small for it, or f is.
        """
        if X.dtype == np.float32 and not self._fits_single_precision:
            X = X.astype(np.float64)
        machine = self.collapse_linear()
        result = np.empty((X.shape[0], len(self.intercepts)), dtype=X.dtype)
        coefficients = machine.coefficients.astype(X.dtype, copy=False)
        vectors = machine.vectors
        if vectors is not None:
            vectors = subtract_center(vectors, self.center)

        def fill(rows: slice) -> None:
            points = X[rows]
            with np.errstate(over="ignore", invalid="ignore"):
                if self.kernel.kind == "precomputed":
                    values = points[:, vectors] @ coefficients
                else:
                    check_magnitude(points, is_new=True)
                    points = subtract_center(points, self.center)
                    if vectors is None:
                        values = (points @ coefficients) / self.kernel.width**2
                    else:
                        values = self.kernel(points, vectors) @ coefficients
                result[rows] = values + self.intercepts

        blocks = list(row_slices(X.shape[0], 16 * self.coefficients.shape[0]))
        if len(blocks) == 1:
            fill(blocks[0])
        else:
            map_in_threads(fill, blocks, n_jobs=None)
        if np.abs(result).max(initial=0.0) <= MAX_VALUE_SHARE * np.finfo(X.dtype).max:
            return result
        if X.dtype == np.float32:
            return self.pairwise(X.astype(np.float64))
        msg = (
            f"`X` has numbers of size {largest_magnitude(X):.0e}, for which the function "
            "overflows; are they in the unit of the training rows?"
        )
        raise ValueError(msg)

    @property
    def _fits_single_precision(self) -> bool:
        """True if squares of center and width neither overflow nor vanish in single precision."""
        low, high = MAGNITUDES["float32"]
        return bool(low <= self.kernel.width <= high and np.abs(self.center).max() <= high)

    def collapse_linear(self) -> MarginMachine:
        """Return a linear machine with feature weights in place of vectors, any other as it is.

        ``f(x) = w.(x - center) / width^2 + b``, where w is the weighted sum of a pair's vectors.
        """
        if self.kernel.kind != "linear" or self.vectors is None:
            return self
        weights = np.asarray(subtract_center(self.vectors, self.center).T @ self.coefficients)
        return replace(self, vectors=None, coefficients=weights)

    def decision(self, X: Any) -> FloatArray:
        """Return f(x), positive for class 1; for c > 2 classes, a score for each class.

        The scores of several classes are coupled log-probabilities, see `class_scores`.
        """
        return class_scores(self.pairwise(X), self.n_classes)


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
        Machines with the same kernel, vectors and center.
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
        return _joint_products(machines, X)
    joined = replace(
        machines[0],
        coefficients=np.hstack([machine.coefficients for machine in machines]),
        intercepts=np.concatenate([machine.intercepts for machine in machines]),
    )
    return np.split(joined.pairwise(X), len(machines), axis=1)


def _joint_products(machines: Sequence[MarginMachine], K: Any) -> list[FloatArray]:
    """Return f from rows of kernel values, with one product for many machines at a time."""
    joint_values: list[FloatArray] = []
    n_pairs = machines[0].coefficients.shape[1]
    at_once = max(1, K.shape[1] // n_pairs)
    for start in range(0, len(machines), at_once):
        group = machines[start : start + at_once]
        coefficients = np.zeros((K.shape[1], len(group), n_pairs))
        for i, machine in enumerate(group):
            coefficients[machine.vectors, i] = machine.coefficients
        values = np.asarray(K @ coefficients.reshape(K.shape[1], -1))
        values += np.concatenate([machine.intercepts for machine in group])
        joint_values += np.split(values, len(group), axis=1)
    return joint_values


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
    vectors, coefficients = first.vectors, np.zeros(0)
    if first.kernel.kind == "precomputed":
        numbers = np.concatenate([machine.vectors for machine in machines])
        vectors, position = np.unique(numbers, return_inverse=True)
        coefficients = np.zeros((len(vectors), parts[0].shape[1]))
        np.add.at(coefficients, position, np.vstack(parts))
    elif vectors is None or all(_are_equal(vectors, machine.vectors) for machine in machines):
        coefficients = np.sum(parts, axis=0)
    else:
        stack = sparse.vstack if sparse.issparse(vectors) else np.vstack
        vectors = stack([machine.vectors for machine in machines])
        coefficients = np.vstack(parts)
    intercepts = np.sum([machine.intercepts for machine in machines], axis=0)
    return replace(first, vectors=vectors, coefficients=coefficients, intercepts=intercepts)


def _are_equal(A: Any, B: Any) -> bool:
    """Tell whether two matrices hold the same numbers."""
    if A is B:
        return True
    if A.shape != B.shape or A.dtype != B.dtype:
        return False
    if sparse.issparse(A):
        return bool((A != B).nnz == 0)
    return bool(np.array_equal(A, B))


def subtract_center(X: Any, center: FloatArray | float) -> Any:
    """Return the rows of X minus the center, dense unless the center is 0."""
    if isinstance(center, float):
        return X
    points = (X.toarray() if sparse.issparse(X) else X) - center
    return points.astype(X.dtype, copy=False)
