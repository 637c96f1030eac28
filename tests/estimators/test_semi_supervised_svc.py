"""The semi-supervised machine: its limits, its balance, its optimality and its failures."""

import warnings
from types import SimpleNamespace

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import make_moons
from sklearn.exceptions import ConvergenceWarning, NotFittedError

from graphmargin import SemiSupervisedSVC, SupervisedSVC, _progress
from graphmargin.margin import Kernel, semi_supervised, semi_supervised_training, train_machine
from graphmargin.margin.semi_supervised_training import train_semi_supervised

NAMED = ["linear", "cubic", "rbf"]
every_kernel = pytest.mark.parametrize("kernel", NAMED)
every_solver = pytest.mark.parametrize("solver", ["gradient", "cccp"])
two_or_three = pytest.mark.parametrize("n_classes", [2, 3])


def blobs(n_classes=2, n=60, distance=2.0, seed=0):
    """Points, the class of each, and the few labels that are given."""
    rng = np.random.default_rng(seed)
    truth = np.arange(n) % n_classes
    X = rng.normal(size=(n, 4)) + distance * np.eye(4)[truth]
    return X, truth, np.where(np.arange(n) < 4 * n_classes, truth, -1)


def moons(seed):
    """Two moons, the moon of each row, and one label in each of them."""
    X, truth = make_moons(200, noise=0.05, random_state=seed)
    rng = np.random.default_rng(seed)
    y = np.full(200, -1)
    for c in (0, 1):
        y[rng.choice(np.flatnonzero(truth == c))] = c
    return X, truth, y


def noise(seed=30, n_labels=10, n_classes=2):
    """Rows whose classes have no structure: here the gradient ends above its start."""
    X = np.random.default_rng(seed).normal(size=(30, 2))
    return X, np.where(np.arange(30) < n_labels, np.arange(30) % n_classes, -1)


def laplacian_kernel(first, second):
    return np.exp(-np.abs(first[:, None] - second[None]).sum(axis=2) / 8)


def objective(model, X, y):
    """Return J of a fitted machine of two classes, from its coefficients and its kernel alone."""
    machine = model.machine_
    vectors = machine.vectors - machine.center
    alpha = machine.coefficients[:, 0]
    f = model.decision_function(X)
    losses = np.where(y < 0, model.gamma_u * (1 - np.abs(f)), 1 - (2 * y - 1) * f)
    norm = alpha @ machine.kernel(vectors, vectors) @ alpha
    return norm / 2 + model.C * np.maximum(losses, 0).sum()


# The estimator is its training


@every_kernel
@two_or_three
@every_solver
@pytest.mark.parametrize(
    "changed", [{}, {"gamma_u": 1.0}, {"C": 0.3}, {"approximation": "nystroem"}], ids=str
)
def test_classifier_is_train_semi_supervised(kernel, n_classes, solver, changed):
    X, _, y = blobs(n_classes)
    options = {"C": 2.0, "gamma_u": 0.1, "solver": solver, "random_state": 0, **changed}
    shares = np.full(n_classes, 1 / n_classes)
    model = SemiSupervisedSVC(kernel=kernel, class_prior=shares, **options).fit(X, y)
    width = np.sqrt(4) * X.std(axis=0).mean()
    machine, solutions = train_semi_supervised(
        X, y, Kernel(kernel, width=width), class_prior=shares, **options
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


@pytest.mark.parametrize("kernel", [*NAMED, laplacian_kernel], ids=[*NAMED, "callable"])
@every_solver
@pytest.mark.parametrize("C", [0.1, 10.0])
def test_without_weight_of_unlabeled_rows_it_is_the_supervised_machine(kernel, solver, C):
    X, _, y = blobs(distance=1.0)
    supervised = SupervisedSVC(kernel=kernel, C=C).fit(X, y)
    for prior in ("labels", None, [0.9, 0.1]):
        model = SemiSupervisedSVC(
            kernel=kernel, C=C, gamma_u=0.0, solver=solver, class_prior=prior, random_state=0
        )
        np.testing.assert_allclose(
            model.fit(X, y).decision_function(X), supervised.decision_function(X), atol=1e-3
        )
        assert not model.solutions_[0].kept_supervised


@every_kernel
@pytest.mark.parametrize("n_classes", [3, 4])
def test_several_classes_without_weight_of_unlabeled_rows(kernel, n_classes):
    X, _, y = blobs(n_classes)
    model = SemiSupervisedSVC(kernel=kernel, C=2.0, gamma_u=0.0, random_state=0).fit(X, y)
    assert len(model.solutions_) == n_classes * (n_classes - 1) // 2
    supervised = SupervisedSVC(kernel=kernel, C=2.0).fit(X, y)
    np.testing.assert_allclose(
        model.decision_function(X), supervised.decision_function(X), rtol=1e-3, atol=1e-3
    )


@every_solver
def test_every_pair_of_classes_is_a_problem_of_two(solver):
    """With its own labels, and the rows that the supervised machine gives to one of the two."""
    X, _, y = blobs(3)
    width, shares = 2.0, np.array([0.3, 0.3, 0.4])
    options = {"C": 2.0, "gamma_u": 0.1, "solver": solver, "width": width}
    model = SemiSupervisedSVC(class_prior=shares, **options).fit(X, y)
    likely = SupervisedSVC(C=2.0, width=width).fit(X, y).transduction_
    for pair, (i, j) in enumerate([(0, 1), (0, 2), (1, 2)]):
        rows = (likely == i) | (likely == j)
        two = SemiSupervisedSVC(class_prior=shares[[i, j]], **options).fit(X[rows], y[rows])
        np.testing.assert_allclose(
            model.machine_.pairwise(X)[:, pair], -two.decision_function(X), atol=1e-3
        )


def test_without_unlabeled_rows_gamma_u_is_of_no_account():
    X, truth, _ = blobs(distance=1.0)
    supervised = SupervisedSVC(C=2.0).fit(X, truth)
    for gamma_u in (0.0, 5.0):
        model = SemiSupervisedSVC(C=2.0, gamma_u=gamma_u).fit(X, truth)
        np.testing.assert_allclose(
            model.decision_function(X), supervised.decision_function(X), atol=1e-3
        )
        np.testing.assert_array_equal(model.transduction_, truth)


# Class shares


@every_solver
@every_kernel
@pytest.mark.parametrize("prior", ["labels", [0.4, 0.6], [2.0, 6.0]], ids=str)
def test_mean_of_f_over_unlabeled_rows_is_given_by_the_shares(solver, kernel, prior):
    X, _, y = blobs(distance=1.0)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", ".*worse than the supervised start", UserWarning)
        model = SemiSupervisedSVC(
            kernel=kernel, C=2.0, class_prior=prior, solver=solver, random_state=0
        ).fit(X, y)
    share = model.class_prior_[1]
    assert model.decision_function(X[y < 0]).mean() == pytest.approx(2 * share - 1, abs=1e-6)


def test_shares_of_the_labels():
    X, _, _ = blobs(3)
    y = np.full(60, -1)
    y[[0, 3, 6, 1, 4, 2]] = [0, 0, 0, 1, 1, 2]
    model = SemiSupervisedSVC(C=2.0).fit(X, y)
    np.testing.assert_allclose(model.class_prior_, [3 / 6, 2 / 6, 1 / 6], rtol=1e-15)


def test_given_shares_are_scaled_to_one():
    X, _, y = blobs()
    one = SemiSupervisedSVC(C=2.0, class_prior=[0.25, 0.75]).fit(X, y)
    three = SemiSupervisedSVC(C=2.0, class_prior=np.array([1, 3])).fit(X, y)
    np.testing.assert_array_equal(three.class_prior_, [0.25, 0.75])
    np.testing.assert_array_equal(three.decision_function(X), one.decision_function(X))


def test_shares_are_in_the_order_of_the_classes():
    X, truth, _ = blobs(distance=4.0)
    y = np.where(np.arange(60) < 8, np.array(["zebra", "ant"])[truth], "")
    model = SemiSupervisedSVC(C=2.0, class_prior=[0.3, 0.7]).fit(X, y)
    assert model.classes_.tolist() == ["ant", "zebra"]
    f = model.decision_function(X[y == ""])  # positive for the zebra
    assert f.mean() == pytest.approx(0.4, abs=1e-6)


@every_solver
def test_none_leaves_the_mean_free(solver):
    """The smallest J without the constraint is not above that with it."""
    X, truth, _ = blobs(distance=4.0)
    keep = (np.arange(60) < 20) | (truth == 0)  # most rows are of class 0
    X, truth = X[keep], truth[keep]
    y = np.where(np.arange(len(X)) < 8, truth, -1)
    free = SemiSupervisedSVC(C=2.0, class_prior=None, solver=solver).fit(X, y)
    fixed = SemiSupervisedSVC(C=2.0, class_prior="labels", solver=solver).fit(X, y)
    assert free.class_prior_ is None
    assert free.solutions_[0].objective < fixed.solutions_[0].objective
    assert abs(free.decision_function(X[y < 0]).mean()) > 0.05


@pytest.mark.parametrize("seed", range(6))
def test_two_moons_from_two_labels_and_the_true_shares(seed):
    X, truth, y = moons(seed)
    shares = np.bincount(truth[y < 0]) / 198
    model = SemiSupervisedSVC(width=0.2, class_prior=shares, solver="gradient").fit(X, y)
    np.testing.assert_array_equal(model.transduction_, truth)
    np.testing.assert_array_equal(model.predict(X), truth)
    assert np.any(SupervisedSVC(width=0.2).fit(X, y).predict(X) != truth)


# Optimality


@every_solver
@every_kernel
@pytest.mark.parametrize("prior", ["labels", None])
@pytest.mark.parametrize("seed", range(3))
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
    assert model.machine_.report.converged


@every_solver
@two_or_three
def test_objectives_of_all_classes_are_not_above_the_supervised_ones(solver, n_classes):
    for seed in range(4):
        X, _, y = blobs(n_classes, seed=seed, distance=1.5)
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", ".*worse than the supervised start", UserWarning)
            model = SemiSupervisedSVC(C=2.0, solver=solver).fit(X, y)
        assert len(model.solutions_) == (1 if n_classes == 2 else 3)
        for solution in model.solutions_:
            assert solution.objective <= solution.supervised_objective * (1 + 1e-6)
            assert (np.diff(solution.trace) <= 0).all()


@every_solver
@every_kernel
@pytest.mark.parametrize("seed", range(3))
def test_function_is_the_machine_of_its_own_labels(solver, kernel, seed):
    """A local optimum of J trains itself: losses of unlabeled rows count gamma_u times."""
    X, _, y = blobs(distance=1.5, seed=seed)
    model = SemiSupervisedSVC(
        kernel=kernel, C=2.0, gamma_u=0.3, class_prior=None, solver=solver, random_state=0
    )
    model.fit(X, y)
    assert not model.solutions_[0].kept_supervised
    again = train_machine(
        X,
        np.where(y < 0, model.predict(X), y),
        Kernel(kernel, width=model.machine_.kernel.width),
        C=2.0,
        sample_weight=np.where(y < 0, 0.3, 1.0),
    )
    np.testing.assert_allclose(model.decision_function(X), again.decision(X), rtol=2e-3, atol=2e-3)


# Failures


def test_search_that_ends_above_its_start_warns_and_keeps_the_supervised_function():
    X, y = noise()
    options = {"kernel": "linear", "class_prior": None}
    model = SemiSupervisedSVC(gamma_u=0.1, **options)
    message = (
        r"1 of 1 searches ended in a local optimum worse than the supervised start \(objective "
        r"41\.\d+, supervised 40\.\d+\), which is kept; pass a known `class_prior`, or lower "
        "`gamma_u`"
    )
    with pytest.warns(UserWarning, match=message) as caught:
        model.fit(X, y)
    assert [warning.filename for warning in caught] == [__file__]
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
    X, y = noise(seed=22, n_labels=12, n_classes=3)
    options = {"kernel": "linear", "class_prior": None}
    with pytest.warns(UserWarning, match="1 of 3 searches ended in a local optimum") as caught:
        model = SemiSupervisedSVC(**options).fit(X, y)
    assert len(caught) == 1
    kept = [solution.kept_supervised for solution in model.solutions_]
    supervised = SemiSupervisedSVC(gamma_u=0.0, **options).fit(X, y)
    same = np.all(model.machine_.coefficients == supervised.machine_.coefficients, axis=0)
    assert same.tolist() == kept
    assert sum(kept) == 1


def test_no_convergence_is_a_warning(monkeypatch):
    monkeypatch.setattr(semi_supervised, "MAX_STEPS", 1)
    X, _, y = blobs(distance=1.0)
    model = SemiSupervisedSVC(C=2.0, gamma_u=1.0, solver="cccp")
    with pytest.warns(ConvergenceWarning, match="not converged; scale the features, or lo") as seen:
        model.fit(X, y)
    assert [warning.filename for warning in seen] == [__file__]
    assert not model.machine_.report.converged


# Input


@every_solver
@two_or_three
@pytest.mark.parametrize("convert", [np.asarray, sparse.csr_array])
def test_kernel_matrix_equals_the_kernel_by_name(solver, n_classes, convert):
    X, _, y = blobs(n_classes)
    new = X[::3] + 0.1
    by_name = SemiSupervisedSVC(C=2.0, solver=solver).fit(X, y)
    K = by_name.machine_.kernel
    given = SemiSupervisedSVC(kernel="precomputed", C=2.0, solver=solver).fit(convert(K(X, X)), y)
    np.testing.assert_allclose(
        given.decision_function(convert(K(new, X))), by_name.decision_function(new), atol=1e-3
    )
    np.testing.assert_array_equal(given.transduction_, by_name.transduction_)


@every_solver
@every_kernel
@two_or_three
def test_sparse_and_single_precision_rows_equal_dense_rows(solver, kernel, n_classes):
    X, _, y = blobs(n_classes)
    X[np.abs(X) < 0.5] = 0.0
    X = X.astype(np.float32).astype(np.float64)
    options = {"kernel": kernel, "C": 2.0, "solver": solver, "random_state": 0}
    dense = SemiSupervisedSVC(**options).fit(X, y)
    for rows in (sparse.csr_array(X), X.astype(np.float32)):
        other = SemiSupervisedSVC(**options).fit(rows, y)
        np.testing.assert_array_equal(other.transduction_, dense.transduction_)
        np.testing.assert_allclose(
            other.decision_function(rows), dense.decision_function(X), rtol=1e-3, atol=1e-3
        )


@every_solver
@every_kernel
@two_or_three
def test_permuting_the_rows_gives_the_same_function(solver, kernel, n_classes):
    X, _, y = blobs(n_classes)
    order = np.random.default_rng(1).permutation(len(X))
    options = {"kernel": kernel, "C": 2.0, "solver": solver, "random_state": 0}
    model = SemiSupervisedSVC(**options).fit(X, y)
    permuted = SemiSupervisedSVC(**options).fit(X[order], y[order])
    np.testing.assert_array_equal(permuted.transduction_, model.transduction_[order])
    np.testing.assert_allclose(
        permuted.decision_function(X), model.decision_function(X), rtol=1e-3, atol=1e-3
    )


@every_solver
@pytest.mark.parametrize("prior", [None, "labels"])
def test_swapping_two_classes_changes_the_sign(solver, prior):
    X, _, y = blobs()
    options = {"C": 2.0, "solver": solver, "class_prior": prior}
    model = SemiSupervisedSVC(**options).fit(X, y)
    swapped = SemiSupervisedSVC(**options).fit(X, np.where(y < 0, -1, 1 - y))
    np.testing.assert_allclose(swapped.decision_function(X), -model.decision_function(X), atol=1e-3)


def test_threads_and_seeds_do_not_change_the_exact_machine():
    X, _, y = blobs(3)
    one, two = (
        SemiSupervisedSVC(C=2.0, n_jobs=n_jobs, random_state=0).fit(X, y) for n_jobs in (1, 2)
    )
    np.testing.assert_array_equal(one.predict_proba(X), two.predict_proba(X))
    other = SemiSupervisedSVC(C=2.0, random_state=1).fit(X, y)
    np.testing.assert_allclose(other.predict_proba(X), one.predict_proba(X), atol=1e-3)


# Approximation


def test_report_tells_the_form_of_the_machine(monkeypatch):
    X, _, y = blobs()
    report = SemiSupervisedSVC(C=2.0).fit(X, y).machine_.report
    assert (report.form, report.n_landmarks, report.n_rows) == ("landmarks", 60, 60)
    assert report.approximation_error < 1e-9
    assert SemiSupervisedSVC(kernel="linear", C=2.0).fit(X, y).machine_.report.form == "rows"
    monkeypatch.setattr(semi_supervised_training, "N_LANDMARKS", 20)
    some = SemiSupervisedSVC(C=2.0, approximation="nystroem", random_state=0).fit(X, y)
    assert some.machine_.report.n_landmarks == 20
    assert some.machine_.report.approximation_error > 1e-3
    monkeypatch.setattr(semi_supervised_training, "MAX_EXACT", 59)
    by_size = SemiSupervisedSVC(C=2.0, random_state=0).fit(X, y)
    np.testing.assert_array_equal(by_size.decision_function(X), some.decision_function(X))
    exact = SemiSupervisedSVC(C=2.0, approximation="none").fit(X, y)
    assert exact.machine_.report.n_landmarks == 60


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
    assert (expected.machine_.report.n_rows, model.machine_.report.n_rows) == (72, 40)
    np.testing.assert_allclose(model.decision_function(X), expected.decision_function(X), atol=1e-3)
    assert model.solutions_[0].objective == pytest.approx(expected.solutions_[0].objective)


# What is said of the rows


@two_or_three
def test_distributions_are_probabilities_of_the_training_rows(n_classes):
    X, _, y = blobs(n_classes)
    model = SemiSupervisedSVC(C=2.0).fit(X, y)
    distributions = model.label_distributions_
    np.testing.assert_array_equal(distributions, model.predict_proba(X))
    np.testing.assert_allclose(distributions.sum(axis=1), 1.0)
    np.testing.assert_array_equal(distributions.argmax(axis=1), model.predict(X))
    ranked = np.sort(distributions, axis=1)
    np.testing.assert_array_equal(model.confidence_, ranked[:, -1] - ranked[:, -2])


@every_solver
def test_transduction_keeps_given_labels_that_the_machine_would_change(solver):
    X, truth, _ = blobs(distance=4.0)
    y = np.where(np.arange(len(X)) < 40, truth, -1)
    y[0] = 1 - truth[0]
    model = SemiSupervisedSVC(kernel="linear", C=0.2, solver=solver).fit(X, y)
    assert model.predict(X)[0] != y[0]
    np.testing.assert_array_equal(model.transduction_[y >= 0], y[y >= 0])
    np.testing.assert_array_equal(model.transduction_[y < 0], model.predict(X)[y < 0])


def test_stage(capsys, monkeypatch):
    X, _, y = blobs()
    monkeypatch.setattr(_progress, "time", SimpleNamespace(perf_counter=lambda: 3.0))
    SemiSupervisedSVC(C=2.0, verbose=1).fit(X, y)
    SemiSupervisedSVC(C=2.0).fit(X, y)
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.splitlines() == [
        "[graphmargin] semi-supervised SVM on 60 points ...",
        "[graphmargin] semi-supervised SVM on 60 points: done in 0.00 s",
    ]


@pytest.mark.parametrize(
    "changed", [{"gamma_u": -1.0}, {"solver": "unknown"}, {"class_prior": [1.0]}], ids=str
)
def test_failed_fit_is_no_fit(changed):
    X, _, y = blobs()
    model = SemiSupervisedSVC(C=2.0).fit(X, y)
    with pytest.raises(ValueError, match="`"):
        model.set_params(**changed).fit(X, y)
    with pytest.raises(NotFittedError):
        model.predict(X)
