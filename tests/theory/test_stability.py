import math
import re

import numpy as np
import pytest
from scipy import sparse

from graphmargin.graph import laplacian
from graphmargin.theory import stability as module
from graphmargin.theory import stability_coefficient
from graphmargin.theory.stability import laplacian_eigenvalues, transductive_error

TRIANGLE = np.ones((3, 3)) - np.eye(3)


def soft(W, labeled, y, c_u, gamma_g):
    """Return the soft solution for c_l = 1 by dense algebra."""
    C = np.where(labeled, 1.0, c_u)
    return np.linalg.solve(np.diag(C + W.sum(axis=1) + gamma_g) - W, np.where(labeled, y, 0.0))


def random_problem(seed):
    """Return W, labeled, y, c_u and gamma_g, all of any order of magnitude."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 14))
    W = np.triu(rng.random((n, n)) < rng.uniform(0.05, 1), 1) * 10 ** rng.uniform(-1, 1, (n, n))
    W *= 10 ** rng.uniform(-6, 4)
    c_u = rng.choice([rng.uniform(0.01, 0.99), 10 ** rng.uniform(-10, -1)])
    gamma_g = rng.choice([0.0, 10 ** rng.uniform(-6, 3)])
    labeled = rng.permutation(n) < rng.integers(1, n)
    return W + W.T, labeled, rng.choice([-1.0, 1.0], n), c_u, gamma_g


def replacements(labeled, y):
    """Yield labels in which one example is another: flipped, moved, or both."""
    for i in np.flatnonzero(labeled):
        other = y.copy()
        other[i] *= -1
        yield labeled, other
        for j in np.flatnonzero(~labeled):
            moved = labeled.copy()
            moved[[i, j]] = False, True
            yield moved, y
            other = y.copy()
            other[j] *= -1
            yield moved, other


def largest_change(W, labeled, y, c_u, gamma_g):
    """Return the largest change of (l_i - y_i)^2, for both labels y_i, by one replacement."""
    ell = soft(W, labeled, y, c_u, gamma_g)
    changed = [soft(W, *new, c_u, gamma_g) for new in replacements(labeled, y)]
    return max(
        abs((new - sign) ** 2 - (ell - sign) ** 2).max() for new in changed for sign in (-1, 1)
    )


def test_transductive_error_is_that_computed_by_hand():
    # ln(2 / delta) = 2: 0.1 + sqrt(4 / 8) (0.8 + 4).
    assert transductive_error(0.1, 8, 2 * math.exp(-2)) == pytest.approx(3.494113, abs=1e-6)
    assert transductive_error(math.inf, 8, 0.1) == math.inf


def test_transductive_error_falls_like_the_root_at_gamma_g_of_order_n_to_the_one_and_a_half():
    sizes = [10**2, 10**4, 10**6, 10**8]
    options = {"c_unlabeled": 0.1, "stability": "lemma"}
    betas = [stability_coefficient(TRIANGLE, n, gamma_g=n**1.5, **options) for n in sizes]
    assert max(n * beta for n, beta in zip(sizes, betas, strict=True)) < 7
    errors = [transductive_error(b, n, 0.05) for n, b in zip(sizes, betas, strict=True)]
    np.testing.assert_allclose(errors[2] / errors[3], 10, rtol=0.01)


@pytest.mark.parametrize(
    ("W", "expected"),
    [
        (np.zeros((1, 1)), 0.0),
        (np.zeros((40, 40)), 0.0),
        ([[0, 3], [3, 0]], 6.0),
        (TRIANGLE, 3.0),
        (np.ones((50, 50)), 50.0),
        (1e-30 * np.ones((50, 50)), 5e-29),
        (1e30 * np.ones((2, 2)), 2e30),
        # A star of k leaves has k + 1, a cycle of even length 4.
        (np.pad(np.ones((1, 60)), ((0, 60), (1, 0))) * 1.0, 61.0),
        (np.roll(np.eye(64), 1, axis=1), 4.0),
    ],
)
def test_eigenvalues_are_those_computed_by_hand(W, expected):
    W = np.asarray(W, dtype=float)
    smallest, largest = laplacian_eigenvalues(np.maximum(W, W.T))
    assert smallest == 0
    assert largest == pytest.approx(expected, rel=1e-7)


@pytest.mark.parametrize("n", [2, 3, 10, 33, 80])
def test_largest_eigenvalue_is_bounded_closely_from_above(n):
    for seed in range(20):
        rng = np.random.default_rng(seed)
        W = np.triu(sparse.random_array((n, n), density=0.3, rng=rng).toarray(), 1)
        W *= 10 ** rng.uniform(-8, 0, (n, n))
        W = W + W.T
        exact = np.linalg.eigvalsh(laplacian(sparse.csr_array(W)).toarray())[-1]
        smallest, largest = laplacian_eigenvalues(W)
        assert (smallest, largest) == laplacian_eigenvalues(sparse.csr_array(W))
        assert exact <= largest * (1 + 1e-14) <= exact * (1 + 1e-6)
        degrees = W.sum(axis=1)
        assert largest <= (degrees[:, None] + degrees)[W > 0].max(initial=0.0)


def test_coefficients_are_those_computed_by_hand():
    # gamma_g = 3, lambda_M = 3, c_u = 1/4: 2 (sqrt(2) / 4 + sqrt(4) (2 - 1) 6 / (16 or 10)).
    options = {"gamma_g": 3.0, "c_unlabeled": 0.25}
    spectral = stability_coefficient(TRIANGLE, 2, stability="spectral", **options)
    assert spectral == pytest.approx(math.sqrt(2) / 2 + 1.5)
    lemma = stability_coefficient(TRIANGLE, 2, stability="lemma", **options)
    assert lemma == pytest.approx(math.sqrt(2) / 2 + 2.4)
    assert stability_coefficient(TRIANGLE, 2, **options) == 1.0  # 4 / (1 + 3)
    twice = {"gamma_g": 6.0, "c_unlabeled": 0.5, "c_labeled": 2.0}
    for form, expected in (("spectral", spectral), ("lemma", lemma), ("graph", 1.0)):
        coefficient = stability_coefficient(2 * TRIANGLE, 2, stability=form, **twice)
        assert coefficient == pytest.approx(expected)


def test_graph_coefficient_of_a_star_is_that_computed_by_hand():
    W = np.zeros((100, 100))
    W[0, 1:] = W[1:, 0] = 1000.0
    # Leaves are 0.001 away from the hub, the mean is 0.00099, and gamma_g + c_u = 1:
    # r = 0.01 + 0.00199, 1 / g = 83.402836 + 0.5, t = 2/3, beta = 4 (5/3) (4/3) g.
    coefficient = stability_coefficient(W, 7, gamma_g=0.5, c_unlabeled=0.5)
    assert coefficient == pytest.approx(80 / 9 / 83.902836, rel=1e-7)


def test_coefficients_without_c_unlabeled_are_infinite_but_for_the_graph():
    options = {"gamma_g": 1.0, "c_unlabeled": 0.0}
    assert stability_coefficient(TRIANGLE, 2, stability="spectral", **options) == math.inf
    assert stability_coefficient(TRIANGLE, 2, stability="lemma", **options) == math.inf
    assert stability_coefficient(TRIANGLE, 2, stability="graph", **options) == 2.0
    assert stability_coefficient(TRIANGLE, 2, gamma_g=0.0) == 4.0


def test_one_replaced_label_changes_no_loss_by_more_than_beta():
    below_cap = 0
    for seed in range(200):
        W, labeled, y, c_u, gamma_g = random_problem(seed)
        t = 1 / (1 + gamma_g)
        assert abs(soft(W, labeled, y, c_u, gamma_g)).max() <= t * (1 + 1e-9)
        options = {"gamma_g": gamma_g, "c_unlabeled": c_u}
        beta = stability_coefficient(W, labeled.sum(), **options)
        change = largest_change(W, labeled, y, c_u, gamma_g)
        assert change <= beta * (1 + 1e-7)
        below_cap += beta < 3.9 * t
        # The coefficients of the paper hold wherever they are not below what any loss can change.
        spectral = stability_coefficient(W, labeled.sum(), stability="spectral", **options)
        assert change <= max(spectral, 4 * t) * (1 + 1e-7)
    assert below_cap > 10


def test_gain_of_a_label_is_bounded_on_graphs_of_any_scale():
    for seed in range(100):
        W, labeled, _, c_u, gamma_g = random_problem(seed)
        A = np.diag(np.where(labeled, 1.0, c_u) + W.sum(axis=1) + gamma_g) - W
        exact = np.linalg.inv(A)[:, labeled].max()
        coefficient = module._largest_gain(sparse.csr_array(W), 1.0, gamma_g, c_u)
        assert exact <= coefficient * (1 + 1e-7)
        assert coefficient <= 1 / (1 + gamma_g) * (1 + 1e-12)


def test_coefficient_is_close_on_a_clique_of_strong_edges():
    # l is nearly constant, (sum of labels) / (n_l + c_u n_u): one label in place of its opposite.
    n, c_u = 40, 0.5
    W = 1e6 * (np.ones((n, n)) - np.eye(n))
    labeled, y = np.arange(n) < 1, np.ones(n)
    beta = stability_coefficient(W, 1, gamma_g=0.0, c_unlabeled=c_u)
    change = largest_change(W, labeled, y, c_u, 0.0)
    assert change == pytest.approx(4 / (1 + c_u * (n - 1)), rel=0.1)
    assert change <= beta <= 3.1 * change


def test_coefficients_of_the_paper_fail_on_weak_edges():
    # c_u << w << sqrt(c_u): the label of one vertex is that of both, and moves both from 1 to -1.
    W, y, c_u = np.array([[0, 1e-8], [1e-8, 0]]), np.array([1.0, -1.0]), 1e-12
    before = soft(W, np.array([True, False]), y, c_u, 0.0)
    after = soft(W, np.array([False, True]), y, c_u, 0.0)
    np.testing.assert_allclose([before, after], [[1, 1], [-1, -1]], atol=1e-3)
    change = (after[0] - 1) ** 2 - (before[0] - 1) ** 2
    options = {"gamma_g": 0.0, "c_unlabeled": c_u}
    for form in ["spectral", "lemma"]:
        beta = stability_coefficient(W, 1, stability=form, **options)
        # 2 (sqrt(2) + sqrt(2) (1e6 - 1) 2e-8)
        assert beta == pytest.approx(2.885, abs=1e-3)
        assert change > 1.38 * beta
        assert np.linalg.norm(after - before) > 1.95 * beta / 2
    assert change <= stability_coefficient(W, 1, **options) == 4


def test_norm_of_the_change_may_exceed_that_of_the_paper_by_any_factor():
    # A label on each of two stars, with weak edges; one moves from the first to the second.
    k, c_u, w = 400, 1e-18, 1e-12
    star = np.zeros((k, k))
    star[0, 1:] = star[1:, 0] = w
    W = np.kron(np.eye(2), star)
    before, after = np.zeros(2 * k, dtype=bool), np.zeros(2 * k, dtype=bool)
    before[0] = after[k] = True
    moved = soft(W, after, np.ones(2 * k), c_u, 0.0) - soft(W, before, np.ones(2 * k), c_u, 0.0)
    beta = stability_coefficient(W, 1, gamma_g=0.0, c_unlabeled=c_u, stability="spectral")
    assert np.linalg.norm(moved) > 14 * beta / 2  # sqrt(k) = 20 as c_u and w tend to zero


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"n_labeled": 0}, "`n_labeled` must be an integer >= 1, got 0"),
        ({"stability": "tight"}, "`stability` must be one of 'graph', 'spectral', 'lemma'"),
        ({"gamma_g": -1}, "`gamma_g` must be >= 0, got -1"),
        ({"gamma_g": math.inf}, "`gamma_g` must be finite, got inf; with `inf` no label"),
        (
            {"c_labeled": math.inf},
            "`c_labeled` must be finite, got inf; the bound is for soft labels: use a finite "
            "`c_labeled`, such as 1",
        ),
        ({"c_labeled": 0}, "`c_labeled` must be > 0, got 0"),
        ({"c_unlabeled": -1}, "`c_unlabeled` must be >= 0, got -1"),
        (
            {"c_unlabeled": 2.0, "c_labeled": 2.0},
            "`c_unlabeled` must be below `c_labeled` = 2.0, got 2.0; lower `c_unlabeled`, or raise "
            "`c_labeled`",
        ),
        ({"W": [[0, 1], [2, 0]]}, "`W` must be symmetric"),
    ],
)
def test_bad_argument_of_the_coefficient_is_named(changes, message):
    arguments = {"W": TRIANGLE, "n_labeled": 2, "gamma_g": 1.0, **changes}
    with pytest.raises(ValueError, match=re.escape(message)):
        stability_coefficient(**arguments)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((-1, 5, 0.1), "`beta` must be >= 0, got -1"),
        ((1, 0, 0.1), "`n_labeled` must be an integer >= 1, got 0"),
        ((1, 5, 0.0), "`delta` must be > 0, got 0.0"),
        (
            (1, 5, 1.5),
            "`delta` must be in (0, 1), got 1.5; it is the probability",
        ),
    ],
)
def test_bad_argument_of_the_transductive_error_is_named(arguments, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        transductive_error(*arguments)


def test_eigenvalues_that_are_too_close_for_lanczos_are_bounded_by_the_degrees(path_graph):
    smallest, largest = laplacian_eigenvalues(path_graph(5000))
    assert smallest == 0.0
    assert 4 * np.sin(np.pi * 4999 / 10000) ** 2 <= largest <= 4.0
