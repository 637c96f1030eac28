"""Manifold regularization against its primal, by quadratic programming, and against itself."""

import re

import numpy as np
import pytest
from scipy import sparse

from graphmargin import knn_graph, laplacian
from graphmargin.datasets import make_lattices
from graphmargin.margin import Kernel, manifold, train_machine
from graphmargin.margin.manifold import train_manifold
from tests.margin.problems import KERNELS, alternating_cases, solve_primal

GAMMA_US = (0.0, 1e-3, 0.03, 1.0, 30.0)


def overlapping_classes(n=50, n_labeled=17, n_classes=2, seed=0):
    """Rows, class codes of the labeled ones, and the graph of all."""
    rng = np.random.default_rng(seed)
    truth = np.arange(n) % n_classes
    X = rng.normal(size=(n, 2)) + 1.2 * truth[:, None]
    return X, np.where(np.arange(n) < n_labeled, truth, -1), knn_graph(X, 4)


def objective(machine, rows, L, codes, gamma, gamma_u):
    """Return the value of eq. MR for a machine of two classes, from its own coefficients."""
    f = machine.decision(rows)
    h = f + machine.intercepts[0]
    labeled = codes >= 0
    losses = np.maximum(1 - (2 * codes[labeled] - 1) * f[labeled], 0).sum()
    if machine.kernel.kind == "precomputed":
        K = rows[np.ix_(machine.vectors, machine.vectors)]
    elif machine.vectors is None:  # weights of the features
        K = np.eye(len(machine.coefficients)) / machine.kernel.width**2
    else:
        vectors = machine.vectors - machine.center
        K = machine.kernel(vectors, vectors)
    norm = machine.coefficients[:, 0] @ K @ machine.coefficients[:, 0]
    return losses + gamma * norm + gamma_u * h @ (L @ h)


def assert_same_function(f, expected, codes):
    """Compare decisions; a bias that no labeled row at the margin fixes may differ."""
    margins = ((2 * codes - 1) * expected)[codes >= 0]
    fixed = np.abs(margins - 1).min() < 1e-6
    shift = 0.0 if fixed else np.mean(f - expected)
    np.testing.assert_allclose(f - shift, expected, atol=1e-5)


@alternating_cases(
    kind=list(KERNELS),
    fit_intercept=[True, False, True, False, False, True, False, True],
    normalized=[False, True],
    power=[1, 3, 1, 2, 2],
)
def test_primal_warped_kernel_and_features_agree(kind, fit_intercept, normalized, power):
    X, codes, W = overlapping_classes()
    kernel = KERNELS[kind]
    gamma, K = 0.2, kernel(X, X)
    L = laplacian(W, normalized=normalized, power=power).toarray()
    options = {
        "C": 1 / (2 * gamma),
        "gamma_us": GAMMA_US,
        "normalized": normalized,
        "power": power,
        "fit_intercept": fit_intercept,
    }
    warped = train_manifold(X, codes, kernel, W, approximation="none", **options)
    features = train_manifold(
        X, codes, kernel, W, approximation="nystroem", n_landmarks=len(X), **options
    )
    given = train_manifold(K, codes, Kernel("precomputed"), W, **options)
    for gamma_u, *machines in zip(GAMMA_US, warped, features, given, strict=True):
        expected, least = solve_primal(
            K, codes, gamma, L=L, gamma_u=gamma_u, fit_intercept=fit_intercept
        )
        slack = ((2 * codes - 1) * expected)[codes >= 0] < 0.99
        assert slack.sum() >= 3, "else the comparison would not see the weight of the losses"
        for machine, rows in zip(machines, (X, X, K), strict=True):
            assert_same_function(machine.decision(rows), expected, codes)
            reached = objective(machine, rows, L, codes, gamma, gamma_u)
            assert reached == pytest.approx(least, rel=1e-6)
    assert {machine.report.form for machine in warped + given} == {"warped kernel"}
    form = "rows" if kernel.kind == "linear" else "landmarks"
    assert {machine.report.form for machine in features} == {form}


def test_pairs_of_classes_see_the_other_classes_as_unlabeled():
    X, codes, W = overlapping_classes(n_classes=3, n_labeled=30)
    kernel, options = KERNELS["rbf"], {"C": 3.0, "gamma_us": [0.05]}
    machine = train_manifold(X, codes, kernel, W, **options)[0]
    for pair, (first, second) in enumerate([(0, 1), (0, 2), (1, 2)]):
        two = np.select([codes == first, codes == second], [0, 1], -1)
        alone = train_manifold(X, two, kernel, W, **options)[0]
        np.testing.assert_allclose(machine.pairwise(X)[:, pair], -alone.decision(X), atol=1e-5)


@pytest.mark.parametrize(("approximation", "fit_intercept"), [("none", True), ("nystroem", False)])
def test_machines_of_a_path_are_those_of_separate_fits(approximation, fit_intercept):
    X, codes, W = overlapping_classes(n_classes=3, n_labeled=30)
    options = {"approximation": approximation, "fit_intercept": fit_intercept, "random_state": 0}
    path = train_manifold(X, codes, KERNELS["rbf"], W, C=3.0, gamma_us=GAMMA_US, **options)
    for gamma_u, machine in zip(GAMMA_US, path, strict=True):
        alone = train_manifold(X, codes, KERNELS["rbf"], W, C=3.0, gamma_us=[gamma_u], **options)
        np.testing.assert_array_equal(machine.pairwise(X), alone[0].pairwise(X))


@pytest.mark.parametrize(
    ("kind", "approximation"), [("linear", "none"), ("rbf", "none"), ("rbf", "nystroem")]
)
def test_machine_does_not_depend_on_threads(kind, approximation):
    X, codes, W = overlapping_classes(n=200, n_labeled=60, n_classes=4)
    options = {"C": 3.0, "gamma_us": [0.01], "n_landmarks": 40, "random_state": 0}
    options["approximation"] = approximation
    values = [
        train_manifold(X, codes, KERNELS[kind], W, n_jobs=n_jobs, **options)[0].pairwise(X)
        for n_jobs in (1, 2)
    ]
    np.testing.assert_array_equal(*values)


@pytest.mark.parametrize("kind", ["linear", "poly", "rbf"])
@pytest.mark.parametrize("approximation", ["none", "nystroem"])
def test_sparse_and_single_precision_rows_give_the_machine_of_dense_ones(kind, approximation):
    X, codes, W = overlapping_classes()
    X[np.abs(X) < 0.3] = 0.0
    options = {"C": 3.0, "gamma_us": [0.01], "approximation": approximation, "n_landmarks": 50}
    expected = train_manifold(X, codes, KERNELS[kind], W, **options)[0].decision(X)
    for rows, atol in ((sparse.csr_array(X), 1e-4), (X.astype(np.float32), 2e-3)):
        f = train_manifold(rows, codes, KERNELS[kind], W, **options)[0].decision(rows)
        np.testing.assert_allclose(f, expected, atol=atol)


def test_rows_with_a_large_offset_are_as_good_as_centered_ones():
    X, codes, W = overlapping_classes()
    for kind in ("linear", "rbf"):
        for approximation in ("none", "nystroem"):
            options = {"C": 3.0, "gamma_us": [0.01], "approximation": approximation}
            expected = train_manifold(X, codes, KERNELS[kind], W, **options)[0].decision(X)
            for offset in (1e6, 1e8):
                far = train_manifold(X + offset, codes, KERNELS[kind], W, **options)[0]
                f = far.decision(X + offset)
                np.testing.assert_allclose(f, expected, atol=1e-12 * offset + 1e-5)


def test_rare_columns_keep_their_weight():
    """Few random landmarks would not see them."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(700, 3))
    X[:, 2] = 0.0
    X[:4, 2] = 5.0
    codes = np.where(np.arange(700) < 60, X[:, 0] > 0, -1)
    codes[:4] = 1 - codes[:4]
    options = {"C": 10.0, "gamma_us": [1e-4]}
    machine = train_manifold(X, codes, KERNELS["poly"], knn_graph(X, 5), **options)[0]
    exact = train_manifold(
        X, codes, KERNELS["poly"], knn_graph(X, 5), approximation="none", **options
    )[0]
    np.testing.assert_allclose(machine.decision(X), exact.decision(X), atol=1e-6)


def test_many_labels_are_trained_by_coordinate_descent(monkeypatch):
    X, codes, W = overlapping_classes(n=400, n_labeled=200)
    exact = train_manifold(
        X, codes, KERNELS["rbf"], W, C=3.0, gamma_us=[1e-3], approximation="none"
    )
    monkeypatch.setattr(manifold, "MAX_LABELED", 10)
    options = {"approximation": "nystroem", "n_landmarks": 400}
    machine = train_manifold(X, codes, KERNELS["rbf"], W, C=3.0, gamma_us=[1e-3], **options)[0]
    assert machine.report.solver == "coordinate descent"
    assert machine.report.gap <= 0.01
    f, expected = machine.decision(X), exact[0].decision(X)
    assert ((f > 0) == (expected > 0)).mean() > 0.98
    assert np.corrcoef(f, expected)[0, 1] > 0.999


def test_features_in_single_precision_give_the_same_machines(monkeypatch):
    X, codes, W = overlapping_classes()
    options = {"C": 3.0, "gamma_us": [0.01, 10.0], "approximation": "nystroem", "n_landmarks": 50}
    double = train_manifold(X, codes, KERNELS["rbf"], W, **options)
    monkeypatch.setattr(manifold, "MAX_DOUBLE_ENTRIES", 0)
    single = train_manifold(X, codes, KERNELS["rbf"], W, **options)
    for expected, machine in zip(double, single, strict=True):
        np.testing.assert_allclose(machine.decision(X), expected.decision(X), atol=1e-4)


def test_auto_warps_rows_the_kernel_or_landmarks(monkeypatch):
    X, codes, W = overlapping_classes()

    def form(kernel, rows=X):
        return train_manifold(rows, codes, kernel, W, C=1.0, gamma_us=[0.1])[0].report

    assert form(KERNELS["rbf"]).form == "warped kernel"
    assert form(KERNELS["linear"]).form == "rows"
    assert form(KERNELS["linear"], sparse.csr_array(X)).form == "warped kernel"
    assert form(KERNELS["poly"]).form == "warped kernel"
    monkeypatch.setattr(manifold, "MAX_WARPED", 10)
    assert form(KERNELS["rbf"]).form == "landmarks"
    assert form(Kernel("precomputed"), X @ X.T).form == "warped kernel"


def test_polynomial_kernel_gets_as_many_landmarks_as_span_its_space():
    X, codes, W = overlapping_classes()
    options = {"C": 1.0, "gamma_us": [0.1], "approximation": "nystroem", "n_landmarks": 8}
    machine = train_manifold(X, codes, KERNELS["poly"], W, **options)[0]
    assert machine.report.n_landmarks == 10 + 2  # (2 + 3 choose 3), and a few more
    assert machine.report.approximation_error < 1e-6


@pytest.mark.parametrize("column", [10.0, 30.0])
def test_large_constant_column_leaves_the_forms_in_agreement(column):
    X, codes, W = overlapping_classes()
    X = np.column_stack([X, np.full(len(X), column)])
    options = {"C": 2.0, "gamma_us": [1e-3], "n_landmarks": len(X)}
    warped, features = (
        train_manifold(X, codes, KERNELS["poly"], W, approximation=approximation, **options)[0]
        for approximation in ("none", "nystroem")
    )
    np.testing.assert_allclose(warped.decision(X), features.decision(X), atol=1e-3)


def test_rounding_errors_are_reported():
    X, codes, W = overlapping_classes()
    X = np.column_stack([X, np.full(len(X), 1e4)])
    machine = train_manifold(
        X, codes, KERNELS["poly"], W, C=2.0, gamma_us=[1e-3], approximation="none"
    )[0]
    assert not machine.report.converged
    assert re.search("rounding changes f by .* scale the features", machine.report.failure)


# Section "MR fails": all edges are axis-parallel, and both axes have the same Delta.


@pytest.mark.parametrize(
    ("fit_intercept", "approximation"), [(True, "none"), (False, "none"), (True, "nystroem")]
)
def test_linear_manifold_regularization_only_scales_the_lattice_function(
    fit_intercept, approximation
):
    """f is the supervised one with gamma + gamma_u Delta / 2 in place of gamma."""
    X, y, y_true, W = make_lattices()
    kernel, gamma, delta = Kernel("linear"), 0.1, 360 * np.exp(-0.5)
    gamma_us = np.concatenate([[0.0], np.logspace(-4, 2, 7)])
    machines = train_manifold(
        *(X, y, kernel, W),
        C=1 / (2 * gamma),
        gamma_us=gamma_us,
        fit_intercept=fit_intercept,
        approximation=approximation,
    )
    labeled, wrong = y >= 0, set()
    for gamma_u, machine in zip(gamma_us, machines, strict=True):
        f = machine.decision(X)
        C = 1 / (2 * (gamma + gamma_u * delta / 2))
        expected = train_machine(X[labeled], y[labeled], kernel, C=C).decision(X)
        np.testing.assert_allclose(f, expected, atol=1e-5 * np.abs(expected).max())
        # Points on the line f = 0 are the same for every gamma_u.
        on_line = machine.decision(np.array([[4.5, 5.0], [-9.0, -10.0]]))
        np.testing.assert_allclose(on_line, 0, atol=1e-5 * np.abs(f).max())
        wrong.add(tuple(np.flatnonzero((f > 0) != y_true)))
    assert len(wrong) == 1
    assert len(wrong.pop()) == 20


def test_cubic_manifold_regularization_never_separates_the_lattices():
    X, y, y_true, W = make_lattices()
    gamma_us = np.logspace(-6, 6, 25)
    options = {"C": 5.0, "gamma_us": gamma_us, "approximation": "nystroem"}
    kernels = [Kernel("poly", width=width) for width in (1.0, 5.0)]
    for machine in (m for kernel in kernels for m in train_manifold(X, y, kernel, W, **options)):
        assert machine.report.approximation_error < 1e-6
        assert ((machine.decision(X) > 0) != y_true).any()


# Degenerate input


@alternating_cases(kind=list(KERNELS), approximation=["none", "nystroem"])
def test_graph_without_edges_is_the_supervised_machine(kind, approximation):
    X, codes, _ = overlapping_classes()
    W = sparse.csr_array((len(X), len(X)))
    options = {"C": 3.0, "approximation": approximation, "n_landmarks": len(X)}
    machines = train_manifold(X, codes, KERNELS[kind], W, gamma_us=[0.0, 10.0], **options)
    np.testing.assert_allclose(*(machine.decision(X) for machine in machines), atol=1e-8)


@alternating_cases(
    kind=["linear", "poly", "rbf"] * 2,
    approximation=["none", "nystroem"],
    fit_intercept=[True, False, False, True],
    value=[0.0, 0.0, 1.0, 0.0, 1.0],
)
def test_equal_rows_have_equal_decision_values(kind, approximation, fit_intercept, value):
    X, codes = np.full((8, 2), value), np.array([0, 1, 1, -1, -1, -1, -1, -1])
    machine = train_manifold(
        *(X, codes, KERNELS[kind], sparse.csr_array(np.ones((8, 8)) - np.eye(8))),
        C=10.0,
        gamma_us=[0.1],
        approximation=approximation,
        fit_intercept=fit_intercept,
    )[0]
    f = machine.decision(X)
    assert np.isfinite(f).all()
    np.testing.assert_allclose(f, f[0])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"gamma_us": [-1.0]}, "`gamma_u` must be >= 0, got -1.0; 0 is the supervised machine"),
        ({"gamma_us": [np.inf]}, "`gamma_u` must be finite, got inf"),
        ({"power": 0}, "`power` must be an integer >= 1, got 0"),
        ({"n_landmarks": 0}, "`n_landmarks` must be an integer >= 1, got 0"),
        ({"approximation": "some"}, "`approximation` must be one of 'auto', 'none', 'nystroem'"),
        (
            {"kernel": Kernel("precomputed"), "approximation": "nystroem"},
            "needs rows to compute kernel values from",
        ),
    ],
    ids=str,
)
def test_errors_name_the_argument(options, message):
    X, codes, W = overlapping_classes()
    options = {"kernel": KERNELS["rbf"], "W": W, "C": 1.0, "gamma_us": [0.1], **options}
    with pytest.raises(ValueError, match=message):
        train_manifold(X @ X.T, codes, **options)
