"""Kernels, and the solution of quadratic programs, that several test files compare with."""

import cvxopt
import numpy as np
import pytest

from graphmargin.margin import Kernel

KERNELS = {
    "linear": Kernel("linear", width=1.5),
    "poly": Kernel("poly", width=2.0),
    "rbf": Kernel("rbf", width=1.2),
}
every_kernel = pytest.mark.parametrize("kernel", KERNELS.values(), ids=KERNELS.keys())


def signed_rows(n, d, *, seed=0, share=0.5):
    """Return rows of two classes that overlap, and signs: the given share of them positive."""
    rng = np.random.default_rng(seed)
    signs = np.where(np.arange(n) < share * n, 1.0, -1.0)
    return rng.normal(size=(n, d)) + 0.5 * signs[:, None], signs


def alternating_cases(**values):
    """Return a mark with as many cases as the longest list has values; shorter lists repeat."""
    n_cases = max(map(len, values.values()))
    cases = [[column[i % len(column)] for column in values.values()] for i in range(n_cases)]
    return pytest.mark.parametrize(list(values), cases)


def quadratic_program(P, q, G, h, *equality, tolerance=1e-10):
    """Return the minimizer and the minimum of x'Px / 2 + q'x subject to Gx <= h.

    An equality Ax = b may follow as two more arguments.
    """
    options = {"show_progress": False} | dict.fromkeys(("abstol", "reltol", "feastol"), tolerance)
    problem = map(cvxopt.matrix, (P, q, G, h, *equality))
    solution = cvxopt.solvers.qp(*problem, options=options)
    return np.array(solution["x"]).ravel(), solution["primal objective"]


def solve_primal(K, codes, gamma, *, losses=None, L=None, gamma_u=0.0, fit_intercept=True):
    """Return f = h + b at all rows, and the minimum of eq. MR.

    That is sum_l c_i V(f, x_i, y_i) + gamma norm(h)^2 + gamma_u h'Lh over the rows with a label, of
    which `losses` holds the c_i. With K = R R' it is a quadratic program in weights, bias, slacks.
    """
    values, vectors = np.linalg.eigh(K)
    keep = values > 1e-12 * values.max()
    R = vectors[:, keep] * np.sqrt(values[keep])
    labeled = np.flatnonzero(codes >= 0)
    signs = 2.0 * codes[labeled] - 1
    rank, m = R.shape[1], len(labeled)
    P = np.zeros((rank + 1 + m, rank + 1 + m))
    P[:rank, :rank] = 2 * gamma * np.eye(rank)
    if L is not None:
        P[:rank, :rank] += 2 * gamma_u * R.T @ L @ R
    q = np.concatenate([np.zeros(rank + 1), np.ones(m) if losses is None else losses])
    bias = signs if fit_intercept else np.zeros(m)
    margins = np.column_stack([signs[:, None] * R[labeled], bias, np.eye(m)])
    positive = np.column_stack([np.zeros((m, rank + 1)), np.eye(m)])
    G, h = -np.vstack([margins, positive]), np.concatenate([-np.ones(m), np.zeros(m)])
    if not fit_intercept:
        P[rank, rank] = 1.0  # a variable without effect must not make the system singular
    x, minimum = quadratic_program(P, q, G, h, tolerance=1e-12)
    return R @ x[:rank] + fit_intercept * x[rank], minimum


def box(lowest, highest):
    """Return G and h of lowest <= x <= highest."""
    identity = np.eye(len(highest))
    return np.vstack([-identity, identity]), np.concatenate([-lowest, highest])
