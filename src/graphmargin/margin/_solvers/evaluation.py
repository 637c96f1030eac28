"""Evaluation of max-margin machines: f of rows in blocks, for all pairs of classes or for some."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

from graphmargin._blocks import row_slices
from graphmargin._rows import MAGNITUDES, check_magnitude, largest_magnitude, subtract_center
from graphmargin._threads import map_in_threads
from graphmargin._typing import FloatArray, IntArray
from graphmargin.margin._solvers.shortlists import (
    class_sums,
    pair_coefficients,
    pair_numbers,
    pair_values,
)
from graphmargin.margin.kernels import MAX_VALUE_SHARE

if TYPE_CHECKING:
    from graphmargin.margin.machine import MarginMachine

Evaluation = Callable[[Any, slice], FloatArray]
"""A function of the kernel values of some rows, which a slice tells."""
ROUNDING = {"float32": 4e-6, "float64": 2e-12}
"""Size of rounding errors of f, relative to the sum of the absolute values that it adds up."""


def values_of_all_pairs(machine: MarginMachine, X: Any) -> FloatArray:
    """Return f for every row and pair of classes, zero where it is a rounding error."""
    intercepts = machine.intercepts

    def evaluator(coefficients: Any) -> Evaluation:
        sizes = _sizes(coefficients)
        return lambda V, _: _without_rounding(
            np.asarray(V @ coefficients + intercepts, dtype=V.dtype), V, sizes, intercepts
        )

    return _evaluate(machine, X, len(intercepts), evaluator)


def values_of_class_sums(machine: MarginMachine, X: Any, pair_scales: FloatArray) -> FloatArray:
    """Return the sum of f over all pairs of each class, in units of `pair_scales`."""
    intercepts, n_classes = machine.intercepts, machine.n_classes

    def evaluator(coefficients: Any) -> Evaluation:
        sums, constants = class_sums(coefficients, intercepts, pair_scales, n_classes)
        return lambda V, _: np.asarray(V @ sums + constants)

    return _evaluate(machine, X, n_classes, evaluator)


def values_of_shortlists(machine: MarginMachine, X: Any, shortlists: IntArray) -> FloatArray:
    """Return f for the pairs of a shortlist of each row, zero where it is a rounding error."""
    numbers, intercepts = pair_numbers(shortlists, machine.n_classes), machine.intercepts

    def evaluator(coefficients: Any) -> Evaluation:
        columns, sizes = pair_coefficients(coefficients), _sizes(coefficients)

        def evaluate(V: Any, rows: slice) -> FloatArray:
            dense, pairs = np.asarray(V.toarray() if sparse.issparse(V) else V), numbers[rows]
            values = pair_values(dense, columns, intercepts, pairs)
            return _without_rounding(values, dense, sizes[pairs], intercepts[pairs])

        return evaluate

    return _evaluate(machine, X, numbers.shape[1], evaluator)


def values_on_kernel(machines: Sequence[MarginMachine], K: Any) -> list[FloatArray]:
    """Return f of all pairs from rows of kernel values, in one product for many machines."""
    joint_values: list[FloatArray] = []
    n_pairs = machines[0].coefficients.shape[1]
    at_once = max(1, K.shape[1] // n_pairs)
    for start in range(0, len(machines), at_once):
        group = machines[start : start + at_once]
        by_machine = np.zeros((K.shape[1], len(group), n_pairs))
        for i, machine in enumerate(group):
            by_machine[machine.vectors, i] = machine.coefficients
        intercepts = np.concatenate([machine.intercepts for machine in group])
        coefficients = by_machine.reshape(K.shape[1], -1)
        values = np.asarray(K @ coefficients + intercepts)
        values = _without_rounding(values, K, _sizes(coefficients), intercepts)
        joint_values += np.split(values, len(group), axis=1)
    return joint_values


def _evaluate(
    machine: MarginMachine, X: Any, n_columns: int, evaluator: Callable[[Any], Evaluation]
) -> FloatArray:
    """Return a function of the kernel values of rows, which are processed in blocks.

    `evaluator` takes the coefficients in the precision of X, and returns the function.
    """
    if X.dtype == np.float32 and not _fits_single_precision(machine):
        X = X.astype(np.float64)
    machine = machine.collapse_linear()
    vectors, coefficients = machine.vectors, machine.coefficients
    if vectors is None:
        unit = machine.kernel.width**2
        coefficients = coefficients if unit == 1 else coefficients / unit
    elif machine.kernel.kind != "precomputed":
        vectors = subtract_center(vectors, machine.center)
    with np.errstate(over="ignore"):
        evaluate = evaluator(coefficients.astype(X.dtype, copy=False))
    result = np.empty((X.shape[0], n_columns), dtype=X.dtype)

    def fill(rows: slice) -> None:
        with np.errstate(over="ignore", invalid="ignore"):
            block = evaluate(_kernel_values(machine, X[rows], vectors), rows)
            result[rows] = _checked(block.astype(X.dtype, copy=False))

    blocks = list(row_slices(X.shape[0], 16 * coefficients.shape[0]))
    try:
        if len(blocks) == 1:
            fill(blocks[0])
        else:
            map_in_threads(fill, blocks, n_jobs=None)
    except OverflowError:
        if X.dtype == np.float32:
            return _evaluate(machine, X.astype(np.float64), n_columns, evaluator)
        msg = (
            f"`X` has numbers of size {largest_magnitude(X):.0e}, for which the function "
            "overflows; are they in the unit of the training rows?"
        )
        raise ValueError(msg) from None
    return result


def _fits_single_precision(machine: MarginMachine) -> bool:
    """Tell whether squares of center and width neither overflow nor vanish in single precision."""
    low, high = MAGNITUDES["float32"]
    return bool(low <= machine.kernel.width <= high and np.abs(machine.center).max() <= high)


def _kernel_values(machine: MarginMachine, points: Any, vectors: Any) -> Any:
    """Return the numbers of which f is a linear function: kernel values, or centered rows."""
    if machine.kernel.kind == "precomputed":
        return points[:, vectors]
    check_magnitude(points, is_new=True)
    points = subtract_center(points, machine.center)
    return points if vectors is None else machine.kernel(points, vectors)


def _checked(f: FloatArray) -> FloatArray:
    """Return f, or raise OverflowError if a value overflows or is close to it."""
    if not np.abs(f).max(initial=0.0) <= MAX_VALUE_SHARE * np.finfo(f.dtype).max:
        raise OverflowError
    return f


def _sizes(coefficients: Any) -> FloatArray:
    """Return the sum of the absolute coefficients of every pair."""
    return np.asarray(abs(coefficients).sum(axis=0), dtype=np.float64)


def _without_rounding(
    f: FloatArray, V: Any, sizes: FloatArray, intercepts: FloatArray
) -> FloatArray:
    """Return f with zeros in place of values that are as small as rounding errors of their sums.

    Such values depend on the order in which a library adds them up, so that a row alone and the
    same row among others would have different ones. `sizes` has the `_sizes` of the values.
    """
    if not f.size:
        return f
    absolute, share, constants = np.abs(f), ROUNDING[f.dtype.name], np.abs(intercepts)
    largest = np.zeros(len(f))
    if V.shape[1]:
        maxima = abs(V).max(axis=1)
        largest += (maxima.toarray() if sparse.issparse(maxima) else np.asarray(maxima)).ravel()
    if (absolute <= share * (largest.max() * sizes + constants)).any():  # hardly ever
        f[absolute <= share * (largest[:, None] * sizes + constants)] = 0.0
    return f
