"""Kernels, and the solution of quadratic programs, that several test files compare with."""

import cvxopt
import numpy as np
import pytest

from graphmargin.margin import Kernel


def laplace_kernel(first, second):
    return np.exp(-np.abs(first[:, None] - second[None]).sum(axis=2) / 4)


KERNELS = {
    "linear": Kernel("linear", width=1.5),
    "cubic": Kernel("cubic", width=2.0),
    "rbf": Kernel("rbf", width=1.2),
    "callable": Kernel(laplace_kernel),
}
every_kernel = pytest.mark.parametrize("kernel", KERNELS.values(), ids=KERNELS.keys())


def pairwise_cases(**values):
    """Return a mark with as many cases as the longest list has values; the others start again.

    Every pair of values of two lists meets where their lengths have no common divisor and the
    number of cases is at least the product of both.
    """
    n_cases = max(map(len, values.values()))
    cases = [[own[i % len(own)] for own in values.values()] for i in range(n_cases)]
    return pytest.mark.parametrize(list(values), cases)


def quadratic_program(P, q, G, h, *equality, tolerance=1e-10):
    """Return the minimizer and the minimum of x'Px / 2 + q'x subject to Gx <= h.

    An equality Ax = b may follow as two more arguments.
    """
    options = {"show_progress": False} | dict.fromkeys(("abstol", "reltol", "feastol"), tolerance)
    problem = map(cvxopt.matrix, (P, q, G, h, *equality))
    solution = cvxopt.solvers.qp(*problem, options=options)
    return np.array(solution["x"]).ravel(), solution["primal objective"]


def box(lowest, highest):
    """Return G and h of lowest <= x <= highest."""
    identity = np.eye(len(highest))
    return np.vstack([-identity, identity]), np.concatenate([-lowest, highest])
