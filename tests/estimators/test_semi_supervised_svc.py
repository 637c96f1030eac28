"""The semi-supervised machine: its limits, its balance, its optimality and its failures."""

import warnings

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import make_moons

from graphmargin.estimators import SemiSupervisedSVC, SupervisedSVC
from graphmargin.margin import Kernel, semi_supervised_training, train_machine
from graphmargin.margin.semi_supervised_training import train_semi_supervised
from tests.estimators.problems import blobs, laplacian_kernel, pairwise, width_of

every_solver = pytest.mark.parametrize("solver", ["gradient", "cccp"])


def moons(seed):
    """Return two moons, the moon of each row, and one label in each of them."""
    X, truth = make_moons(200, noise=0.05, random_state=seed)
    rng = np.random.default_rng(seed)
    y = np.full(200, -1)
    for c in (0, 1):
        y[rng.choice(np.flatnonzero(truth == c))] = c
    return X, truth, y


def objective(model, X, y):
    """Return J of a fitted machine of two classes, from its coefficients and its kernel alone."""
    (machine,) = model.predictor_.machines
    alpha = machine.coefficients[:, 0]
    if machine.vectors is None:  # weights of the features
        norm = alpha @ alpha / machine.kernel.width**2
    else:
        vectors = machine.vectors - machine.center
        norm = alpha @ machine.kernel(vectors, vectors) @ alpha
    f = model.decision_function(X)
    losses = np.where(y < 0, model.gamma_u * (1 - np.abs(f)), 1 - (2 * y - 1) * f)
    return norm / 2 + model.C * np.maximum(losses, 0).sum()


# The estimator is its training


@pytest.mark.parametrize(
    ("kernel", "n_classes", "solver", "changed"),
    [
        ("linear", 2, "gradient", {}),
        ("linear", 3, "cccp", {"C": 0.3}),
        ("cubic", 2, "cccp", {"gamma_u": 1.0}),
        ("rbf", 3, "gradient", {"approximation": "nystroem"}),
        ("rbf", 2, "cccp", {}),
    ],
)
def test_classifier_is_train_semi_supervised(kernel, n_classes, solver, changed):
    X, _, y = blobs(n_classes, distance=2.0)
    options = {"C": 2.0, "gamma_u": 0.1, "solver": solver, "random_state": 0, **changed}
    shares = np.full(n_classes, 1 / n_classes)
    model = SemiSupervisedSVC(kernel=kernel, class_prior=shares, **options).fit(X, y)
    machine, solutions = train_semi_supervised(
        X, y, Kernel(kernel, width=width_of(X)), class_prior=shares, **options
    )
    np.testing.assert_allclose(model.decision_function(X), machine.decision(X), atol=1e-6)
    for mine, theirs in zip(model.solutions_, solutions, strict=True):
        np.testing.assert_allclose(mine.trace, theirs.trace, rtol=1e-9)


def test_solvers_may_end_in_different_optima():
    X, _, y = moons(0)
    options = {"width": 0.2, "class_prior": [0.5, 0.5]}
    by_gradient = SemiSupervisedSVC(solver="gradient", **options).fit(X, y)
    by_guesses = SemiSupervisedSVC(solver="cccp", **options).fit(X, y)
    assert by_gradient.solutions_[0].objective < 0.99 * by_guesses.solutions_[0].objective


# Limits


@pytest.mark.parametrize(
    ("kernel", "solver", "C", "n_classes"),
    [
        ("linear", "cccp", 10.0, 2),
        ("cubic", "gradient", 0.1, 3),
        ("rbf", "cccp", 0.1, 4),
        (laplacian_kernel, "gradient", 10.0, 2),
    ],
    ids=["linear", "cubic", "rbf", "callable"],
)
def test_without_weight_of_unlabeled_rows_it_is_the_supervised_machine(
    kernel, solver, C, n_classes
):
    X, _, y = blobs(n_classes, distance=1.0)
    supervised = SupervisedSVC(kernel=kernel, C=C).fit(X, y)
    for prior in ("labels", None):
        options = {"gamma_u": 0.0, "solver": solver, "class_prior": prior, "random_state": 0}
        model = SemiSupervisedSVC(kernel=kernel, C=C, **options).fit(X, y)
        np.testing.assert_allclose(
            model.decision_function(X), supervised.decision_function(X), rtol=1e-3, atol=1e-3
        )
        assert len(model.solutions_) == n_classes * (n_classes - 1) // 2
        assert not any(solution.kept_supervised for solution in model.solutions_)


@every_solver
def test_every_pair_of_classes_is_a_problem_of_two(solver):
    """With its own labels, and the rows that the supervised machine gives to one of the two."""
    X, _, y = blobs(3, distance=2.0)
    width, shares = 2.0, np.array([0.3, 0.3, 0.4])
    options = {"C": 2.0, "gamma_u": 0.1, "solver": solver, "width": width}
    model = SemiSupervisedSVC(class_prior=shares, **options).fit(X, y)
    likely = SupervisedSVC(C=2.0, width=width).fit(X, y).transduction_
    for pair, (i, j) in enumerate([(0, 1), (0, 2), (1, 2)]):
        rows = (likely == i) | (likely == j)
        two = SemiSupervisedSVC(class_prior=shares[[i, j]], **options).fit(X[rows], y[rows])
        np.testing.assert_allclose(
            pairwise(model, X)[:, pair], -two.decision_function(X), atol=1e-3
        )


def test_without_unlabeled_rows_gamma_u_is_of_no_account():
    X, truth, _ = blobs(distance=1.0)
    supervised = SupervisedSVC(C=2.0).fit(X, truth)
    for gamma_u in (0.0, 5.0):
        model = SemiSupervisedSVC(C=2.0, gamma_u=gamma_u).fit(X, truth)
        np.testing.assert_allclose(
            model.decision_function(X), supervised.decision_function(X), atol=1e-3
        )


# Class shares


@pytest.mark.parametrize(
    ("solver", "kernel", "prior"),
    [
        ("gradient", "linear", "labels"),
        ("cccp", "cubic", [0.4, 0.6]),
        ("gradient", "rbf", [2.0, 6.0]),
        ("cccp", "linear", [2.0, 6.0]),
    ],
    ids=str,
)
def test_mean_of_f_over_unlabeled_rows_is_given_by_the_shares(solver, kernel, prior):
    X, _, y = blobs(distance=1.0)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", ".*worse than the supervised start", UserWarning)
        model = SemiSupervisedSVC(
            kernel=kernel, C=2.0, class_prior=prior, solver=solver, random_state=0
        ).fit(X, y)
    share = model.class_prior_[1]
    assert model.decision_function(X[y < 0]).mean() == pytest.approx(2 * share - 1, abs=1e-6)


def test_shares_are_those_of_the_labels_or_scaled_to_one():
    X, _, _ = blobs(3)
    y = np.full(45, -1)
    y[[0, 3, 6, 1, 4, 2]] = [0, 0, 0, 1, 1, 2]
    model = SemiSupervisedSVC(C=2.0).fit(X, y)
    np.testing.assert_allclose(model.class_prior_, [3 / 6, 2 / 6, 1 / 6], rtol=1e-15)
    model = SemiSupervisedSVC(C=2.0, class_prior=np.array([1, 3, 4])).fit(X, y)
    np.testing.assert_array_equal(model.class_prior_, [0.125, 0.375, 0.5])


def test_shares_are_in_the_order_of_the_classes():
    X, truth, _ = blobs(distance=4.0)
    y = np.where(np.arange(45) < 8, np.array(["zebra", "ant"])[truth], "")
    model = SemiSupervisedSVC(C=2.0, class_prior=[0.3, 0.7]).fit(X, y)
    assert model.classes_.tolist() == ["ant", "zebra"]
    f = model.decision_function(X[y == ""])  # positive for the zebra
    assert f.mean() == pytest.approx(0.4, abs=1e-6)


@every_solver
def test_none_leaves_the_mean_free(solver):
    """The smallest J without the constraint is not above that with it."""
    X, truth, _ = blobs(n=60, distance=4.0)
    keep = (np.arange(60) < 20) | (truth == 0)  # most rows are of class 0
    X, truth = X[keep], truth[keep]
    y = np.where(np.arange(len(X)) < 8, truth, -1)
    free = SemiSupervisedSVC(C=2.0, class_prior=None, solver=solver).fit(X, y)
    fixed = SemiSupervisedSVC(C=2.0, class_prior="labels", solver=solver).fit(X, y)
    assert free.class_prior_ is None
    assert free.solutions_[0].objective < fixed.solutions_[0].objective
    assert abs(free.decision_function(X[y < 0]).mean()) > 0.05


@pytest.mark.parametrize("seed", range(2))
def test_two_moons_from_two_labels_and_the_true_shares(seed):
    X, truth, y = moons(seed)
    shares = np.bincount(truth[y < 0]) / 198
    model = SemiSupervisedSVC(width=0.2, class_prior=shares, solver="gradient").fit(X, y)
    np.testing.assert_array_equal(model.transduction_, truth)
    np.testing.assert_array_equal(model.predict(X), truth)
    assert np.any(SupervisedSVC(width=0.2).fit(X, y).predict(X) != truth)


# Optimality


@pytest.mark.parametrize(
    ("solver", "kernel", "prior", "seed"),
    [
        ("gradient", "linear", "labels", 0),
        ("cccp", "linear", None, 1),
        ("gradient", "cubic", None, 2),
        ("cccp", "cubic", "labels", 0),
        ("gradient", "rbf", "labels", 1),
        ("cccp", "rbf", None, 2),
    ],
)
def test_objective_falls_and_is_that_of_the_function(solver, kernel, prior, seed):
    X, _, y = blobs(distance=1.0, seed=seed)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", ".*worse than the supervised start", UserWarning)
        model = SemiSupervisedSVC(
            kernel=kernel, C=2.0, gamma_u=0.3, class_prior=prior, solver=solver, random_state=0
        ).fit(X, y)
    (solution,) = model.solutions_
    assert solution.objective == pytest.approx(objective(model, X, y), rel=1e-6)
    assert solution.objective <= solution.supervised_objective * (1 + 1e-6)
    assert (np.diff(solution.trace) <= 0).all()
    assert solution.converged
    assert model.predictor_.machines[0].report.converged


@pytest.mark.parametrize(
    ("solver", "kernel"), [("gradient", "linear"), ("cccp", "cubic"), ("gradient", "rbf")]
)
def test_function_is_the_machine_of_its_own_labels(solver, kernel):
    """A local optimum of J trains itself: losses of unlabeled rows count gamma_u times."""
    X, _, y = blobs(distance=1.5)
    model = SemiSupervisedSVC(
        kernel=kernel, C=2.0, gamma_u=0.3, class_prior=None, solver=solver, random_state=0
    )
    model.fit(X, y)
    assert not model.solutions_[0].kept_supervised
    again = train_machine(
        X,
        np.where(y < 0, model.predict(X), y),
        Kernel(kernel, width=width_of(X)),
        C=2.0,
        sample_weight=np.where(y < 0, 0.3, 1.0),
    )
    np.testing.assert_allclose(model.decision_function(X), again.decision(X), rtol=2e-3, atol=2e-3)


# Failures


def noise(seed, n_labels, n_classes):
    """Return rows whose classes have no structure: here the gradient ends above its start."""
    X = np.random.default_rng(seed).normal(size=(30, 2))
    return X, np.where(np.arange(30) < n_labels, np.arange(30) % n_classes, -1)


def test_search_that_ends_above_its_start_keeps_the_supervised_function():
    X, y = noise(30, 10, 2)
    options = {"kernel": "linear", "class_prior": None}
    with pytest.warns(UserWarning, match="1 of 1 searches ended in a local optimum worse than"):
        model = SemiSupervisedSVC(gamma_u=0.1, **options).fit(X, y)
    (solution,) = model.solutions_
    assert solution.kept_supervised
    assert solution.objective == solution.supervised_objective < solution.trace[-1]
    supervised = SemiSupervisedSVC(gamma_u=0.0, **options).fit(X, y)
    np.testing.assert_array_equal(model.decision_function(X), supervised.decision_function(X))
    by_smo = SupervisedSVC(kernel="linear").fit(X, y)
    np.testing.assert_allclose(
        model.decision_function(X), by_smo.decision_function(X), rtol=1e-3, atol=1e-3
    )


def test_kept_pairs_are_counted():
    X, y = noise(22, 12, 3)
    options = {"kernel": "linear", "class_prior": None}
    with pytest.warns(UserWarning, match="1 of 3 searches ended in a local optimum") as caught:
        model = SemiSupervisedSVC(**options).fit(X, y)
    assert len(caught) == 1
    supervised = SemiSupervisedSVC(gamma_u=0.0, **options).fit(X, y)
    same = np.all(pairwise(model, X) == pairwise(supervised, X), axis=0)
    assert same.tolist() == [solution.kept_supervised for solution in model.solutions_]
    assert same.sum() == 1


# Input


@pytest.mark.parametrize(
    ("solver", "n_classes", "convert"),
    [("gradient", 3, np.asarray), ("cccp", 2, sparse.csr_array)],
)
def test_kernel_matrix_equals_the_kernel_by_name(solver, n_classes, convert):
    X, _, y = blobs(n_classes, distance=2.0)
    new = X[::3] + 0.1
    by_name = SemiSupervisedSVC(C=2.0, solver=solver).fit(X, y)
    K = Kernel("rbf", width=width_of(X))
    given = SemiSupervisedSVC(kernel="precomputed", C=2.0, solver=solver).fit(convert(K(X, X)), y)
    np.testing.assert_allclose(
        given.decision_function(convert(K(new, X))), by_name.decision_function(new), atol=1e-3
    )
    np.testing.assert_array_equal(given.transduction_, by_name.transduction_)


INVARIANTS = [
    ("gradient", "linear", 2),
    ("cccp", "cubic", 3),
    ("cccp", "rbf", 2),
    ("gradient", "rbf", 3),
]


@pytest.mark.parametrize(("solver", "kernel", "n_classes"), INVARIANTS)
def test_order_sparsity_and_precision_of_the_rows_do_not_matter(solver, kernel, n_classes):
    X, _, y = blobs(n_classes, distance=2.0)
    X[np.abs(X) < 0.5] = 0.0
    X = X.astype(np.float32).astype(np.float64)
    options = {"kernel": kernel, "C": 2.0, "solver": solver, "random_state": 0}
    model = SemiSupervisedSVC(**options).fit(X, y)
    order = np.random.default_rng(1).permutation(len(X))
    same = np.arange(len(X))
    for rows, of in ((sparse.csr_array(X), same), (X.astype(np.float32), same), (X[order], order)):
        other = SemiSupervisedSVC(**options).fit(rows, y[of])
        np.testing.assert_array_equal(other.transduction_, model.transduction_[of])
        np.testing.assert_allclose(
            other.decision_function(rows), model.decision_function(X)[of], rtol=1e-3, atol=1e-3
        )


@pytest.mark.parametrize(("solver", "prior"), [("gradient", None), ("cccp", "labels")])
def test_swapping_two_classes_changes_the_sign(solver, prior):
    X, _, y = blobs(distance=2.0)
    options = {"C": 2.0, "solver": solver, "class_prior": prior}
    model = SemiSupervisedSVC(**options).fit(X, y)
    swapped = SemiSupervisedSVC(**options).fit(X, np.where(y < 0, -1, 1 - y))
    np.testing.assert_allclose(swapped.decision_function(X), -model.decision_function(X), atol=1e-3)


# Approximation


def test_report_tells_the_form_of_the_machine(monkeypatch):
    X, _, y = blobs()

    def fitted(**options):
        return SemiSupervisedSVC(C=2.0, random_state=0, **options).fit(X, y)

    def report(model):
        return model.predictor_.machines[0].report

    exact = report(fitted())
    assert (exact.form, exact.n_landmarks, exact.n_rows) == ("landmarks", 45, 45)
    assert exact.approximation_error < 1e-9
    assert report(fitted(kernel="linear")).form == "rows"
    monkeypatch.setattr(semi_supervised_training, "N_LANDMARKS", 20)
    some = fitted(approximation="nystroem")
    assert report(some).n_landmarks == 20
    assert report(some).approximation_error > 1e-3
    monkeypatch.setattr(semi_supervised_training, "MAX_EXACT", 44)
    np.testing.assert_array_equal(fitted().decision_function(X), some.decision_function(X))
    assert report(fitted(approximation="none")).n_landmarks == 45


@every_solver
def test_unlabeled_rows_that_are_drawn_stand_for_the_others(monkeypatch, solver):
    """Of equal rows, half of them with twice the weight are the same problem."""
    X, _, y = blobs(distance=1.0)
    X = np.vstack([X[y >= 0], np.repeat(X[[-1]], 64, axis=0)])
    y = np.append(y[y >= 0], [-1] * 64)
    options = {"width": 2.0, "C": 2.0, "class_prior": None, "solver": solver, "random_state": 0}
    expected = SemiSupervisedSVC(**options).fit(X, y)
    monkeypatch.setattr(semi_supervised_training, "MAX_FEATURE_ROWS", 32)
    model = SemiSupervisedSVC(**options).fit(X, y)
    n_rows = [one.predictor_.machines[0].report.n_rows for one in (expected, model)]
    assert n_rows == [72, 40]
    np.testing.assert_allclose(model.decision_function(X), expected.decision_function(X), atol=1e-3)
    assert model.solutions_[0].objective == pytest.approx(expected.solutions_[0].objective)


@every_solver
def test_transduction_keeps_given_labels_that_the_machine_would_change(solver):
    X, truth, _ = blobs(distance=4.0)
    y = np.where(np.arange(45) < 40, truth, -1)
    y[0] = 1 - truth[0]
    model = SemiSupervisedSVC(kernel="linear", C=0.2, solver=solver).fit(X, y)
    assert model.predict(X)[0] != y[0]
    np.testing.assert_array_equal(model.transduction_[y >= 0], y[y >= 0])
    np.testing.assert_array_equal(model.transduction_[y < 0], model.predict(X)[y < 0])
