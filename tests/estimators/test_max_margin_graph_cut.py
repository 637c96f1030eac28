import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from scipy.special import expit
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.svm import SVC
from sklearn.utils.validation import check_is_fitted

from graphmargin import (
    MaxMarginGraphCut,
    SupervisedSVC,
    harmonic_solution,
    knn_graph,
    normalize_class_mass,
)
from graphmargin.datasets import make_lattices
from graphmargin.estimators import max_margin_graph_cut
from graphmargin.harmonic import iterative
from graphmargin.margin import Kernel, train_machine, training
from graphmargin.theory import risk_bound, stability_coefficient

NAMED = ["linear", "cubic", "rbf"]
SOLVER = {"rtol": 2e-3, "atol": 2e-3}
"""Two solvers that stop at a violation of 1e-4 agree to about this."""
every_kernel = pytest.mark.parametrize("kernel", NAMED)


def paper_cut(**parameters):
    """Return the algorithm of the paper: numbers as parameters, and losses of equal weight."""
    return MaxMarginGraphCut(**{"gamma_g": 0.1, "C": 10.0, "loss_weights": "equal", **parameters})


def blobs(seed=0, n=60, n_classes=2, distance=2.5):
    """Points, the class of each, and the few labels that are given."""
    rng = np.random.default_rng(seed)
    truth = np.arange(n) % n_classes
    X = rng.normal(size=(n, 4)) + distance * np.eye(4)[truth]
    return X, truth, np.where(np.arange(n) < 4 * n_classes, truth, -1)


def width_of(X):
    """Return the paper's sqrt(K) sigma."""
    return np.sqrt(X.shape[1]) * X.std(axis=0).mean()


def rows_for(kernel, X, trained):
    """Return rows in units of the width, for the linear kernel centered like its own training."""
    return (X - np.median(X[trained], axis=0) * (kernel == "linear")) / width_of(X)


def support_vector_machine(kernel, C, degree=3, coef0=1.0):
    """Return scikit-learn's SVC with our kernel, for rows that are divided by the width."""
    options = {
        "linear": {"kernel": "linear"},
        "cubic": {"kernel": "poly", "degree": degree, "coef0": coef0, "gamma": 1.0},
        "rbf": {"kernel": "rbf", "gamma": 0.5},
    }[kernel]
    return SVC(C=C, tol=1e-4, break_ties=True, **options)


def laplacian_kernel(first, second):
    return np.exp(-np.abs(first[:, None] - second[None]).sum(axis=2) / 8)


# The algorithm as a whole


@every_kernel
@pytest.mark.parametrize("gamma_g", [0.0, 0.1, 10.0])
@pytest.mark.parametrize("eps", [0.0, 1e-6, 0.3])
def test_algorithm_equals_dense_algebra_and_a_support_vector_machine(kernel, gamma_g, eps):
    X, _, y = blobs(distance=1.5)
    model = paper_cut(kernel=kernel, gamma_g=gamma_g, eps=eps, C=2.0, n_neighbors=6)
    model.fit(X, y)

    W = knn_graph(X, 6).toarray()
    labeled = y >= 0
    signs = 2.0 * y[labeled] - 1
    L = np.diag(W.sum(axis=1)) - W
    system = L[np.ix_(~labeled, ~labeled)] + gamma_g * np.eye((~labeled).sum())
    ell = np.empty(len(X))
    ell[labeled] = signs
    ell[~labeled] = np.linalg.solve(system, W[np.ix_(~labeled, labeled)] @ signs)
    np.testing.assert_allclose(model.confidence_, np.abs(ell), atol=1e-12)
    np.testing.assert_array_equal(model.transduction_, ell > 0)

    trained = (np.abs(ell) >= eps) | labeled
    np.testing.assert_array_equal(model.training_mask_, trained)
    scaled = rows_for(kernel, X, trained)
    svm = support_vector_machine(kernel, C=2.0).fit(scaled[trained], ell[trained] > 0)
    np.testing.assert_allclose(model.decision_function(X), svm.decision_function(scaled), **SOLVER)
    np.testing.assert_array_equal(model.predict(X), svm.predict(scaled))


@every_kernel
def test_several_classes_equal_dense_algebra_and_a_support_vector_machine(kernel):
    X, _, y = blobs(n_classes=4, n=80)
    model = paper_cut(kernel=kernel, gamma_g=0.2, eps=0.1, C=2.0, n_neighbors=6)
    model.fit(X, y)

    W = knn_graph(X, 6).toarray()
    labeled = y >= 0
    mass = np.eye(4)[y]
    system = np.diag(W.sum(axis=1) + 0.2) - W
    mass[~labeled] = np.linalg.solve(
        system[np.ix_(~labeled, ~labeled)], W[np.ix_(~labeled, labeled)] @ mass[labeled]
    )
    ranked = np.sort(mass, axis=1)
    confidence = ranked[:, -1] - ranked[:, -2]
    np.testing.assert_allclose(model.confidence_, confidence, atol=1e-12)
    np.testing.assert_array_equal(model.transduction_, mass.argmax(axis=1))
    lost = 1 - mass.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(model.label_distributions_, mass + lost / 4, atol=1e-12)

    trained = (confidence >= 0.1) | labeled
    assert 0 < trained.sum() < len(X)
    np.testing.assert_array_equal(model.training_mask_, trained)
    scaled = rows_for(kernel, X, trained)
    svm = support_vector_machine(kernel, C=2.0).fit(scaled[trained], mass[trained].argmax(axis=1))
    np.testing.assert_allclose(model.decision_function(X), svm.decision_function(scaled), **SOLVER)


# gamma_g = inf, and all rows labeled: the supervised machine


@every_kernel
@pytest.mark.parametrize("n_classes", [2, 3, 4])
@pytest.mark.parametrize("C", [0.05, 5.0])
def test_infinite_gamma_g_is_the_supervised_machine_on_the_labeled_rows(kernel, n_classes, C):
    X, _, y = blobs(n_classes=n_classes, n=80, distance=1.0)
    labeled = y >= 0
    scaled = rows_for(kernel, X, labeled)
    svm = support_vector_machine(kernel, C).fit(scaled[labeled], y[labeled])
    model = paper_cut(kernel=kernel, gamma_g=np.inf, C=C).fit(X, y)
    np.testing.assert_array_equal(model.training_mask_, labeled)
    np.testing.assert_allclose(model.decision_function(X), svm.decision_function(scaled), **SOLVER)
    np.testing.assert_array_equal(model.predict(X), svm.predict(scaled))
    np.testing.assert_array_equal(model.transduction_[~labeled], svm.predict(scaled[~labeled]))
    np.testing.assert_array_equal(model.transduction_[labeled], y[labeled])


@pytest.mark.parametrize("n_classes", [2, 3])
def test_infinite_gamma_g_with_a_callable_kernel(n_classes):
    X, _, y = blobs(n_classes=n_classes, distance=1.0)
    labeled = y >= 0
    svm = SVC(kernel="precomputed", C=2.0, tol=1e-4, break_ties=True)
    svm.fit(laplacian_kernel(X[labeled], X[labeled]), y[labeled])
    model = paper_cut(kernel=laplacian_kernel, gamma_g=np.inf, C=2.0).fit(X, y)
    np.testing.assert_allclose(
        model.decision_function(X),
        svm.decision_function(laplacian_kernel(X, X[labeled])),
        **SOLVER,
    )


def test_infinite_gamma_g_does_not_warn_about_components():
    X, y, _, W = make_lattices()
    W = sparse.block_diag([W, sparse.csr_array([[0.0, 1.0], [1.0, 0.0]])], format="csr")
    X, y = np.vstack([X, [[50.0, 0.0], [51.0, 0.0]]]), np.append(y, [-1, -1])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = paper_cut(affinity="precomputed", gamma_g=np.inf, C=1.0).fit(X, y, W=W)
    assert model.training_mask_.sum() == 2


@every_kernel
def test_large_gamma_g_has_the_labels_of_the_labeled_rows_only(kernel):
    X, _, y = blobs()
    options = {"kernel": kernel, "C": 2.0}
    large = paper_cut(gamma_g=1e9, **options).fit(X, y)
    infinite = paper_cut(gamma_g=np.inf, **options).fit(X, y)
    np.testing.assert_array_equal(large.training_mask_, y >= 0)
    np.testing.assert_array_equal(large.decision_function(X), infinite.decision_function(X))


@every_kernel
@pytest.mark.parametrize("gamma_g", [0.0, 0.1, np.inf])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_all_rows_labeled_is_the_supervised_machine(kernel, gamma_g, n_classes):
    X, truth, _ = blobs(n_classes=n_classes, distance=1.0)
    scaled = rows_for(kernel, X, slice(None))
    svm = support_vector_machine(kernel, C=2.0).fit(scaled, truth)
    model = paper_cut(kernel=kernel, gamma_g=gamma_g, C=2.0).fit(X, truth)
    np.testing.assert_array_equal(model.transduction_, truth)
    np.testing.assert_array_equal(model.confidence_, 1.0)
    assert model.training_mask_.all()
    np.testing.assert_allclose(model.decision_function(X), svm.decision_function(scaled), **SOLVER)


# The paper's synthetic problem


@every_kernel
@pytest.mark.parametrize("gamma_g", [0.0, 1e-4, 1e-2])
def test_graph_cut_separates_the_lattices_with_every_kernel(kernel, gamma_g):
    """gamma = 0.1 and eps = 0.01, as in the paper's Figure 2."""
    X, y, y_true, W = make_lattices()
    options = {"kernel": kernel, "C": 1 / (2 * 0.1), "eps": 0.01, "affinity": "precomputed"}
    cut = paper_cut(gamma_g=gamma_g, **options).fit(X, y, W=W)
    np.testing.assert_array_equal(cut.predict(X), y_true)
    np.testing.assert_array_equal(cut.transduction_, y_true)
    supervised = paper_cut(gamma_g=np.inf, **options).fit(X, y, W=W)
    assert np.sum(supervised.predict(X) != y_true) >= 10


def test_confident_region_shrinks_on_the_lattices_as_gamma_g_grows():
    X, y, _, W = make_lattices()
    sizes = [
        paper_cut(affinity="precomputed", gamma_g=gamma_g, eps=0.01, C=5.0)
        .fit(X, y, W=W)
        .training_mask_.sum()
        for gamma_g in (0.0, 0.1, 1.0, 10.0, np.inf)
    ]
    assert sizes[0] == 200
    assert sizes == sorted(sizes, reverse=True)
    assert sizes[-1] == 2


# Which rows take part


@given(
    seed=st.integers(0, 2**32 - 1),
    n_classes=st.integers(2, 4),
    gamma_g=st.sampled_from([0.0, 0.01, 1.0, 30.0, np.inf]),
    eps=st.sampled_from([0.0, 1e-6, 0.05, 0.5, 1 - 1e-9]),
)
@settings(max_examples=50)
def test_training_rows_are_the_confident_and_the_labeled_ones(seed, n_classes, gamma_g, eps):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(40, 2))
    y = np.where(np.arange(40) < 2 * n_classes, np.arange(40) % n_classes, -1)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", ".*without a label", UserWarning)
        model = paper_cut(gamma_g=gamma_g, eps=eps, C=1.0, n_neighbors=4).fit(X, y)
    reached = ~model.harmonic_solution_.unreached & np.isfinite(gamma_g)
    expected = (reached & (model.confidence_ >= eps)) | (y >= 0)
    np.testing.assert_array_equal(model.training_mask_, expected)
    np.testing.assert_array_equal(model.transduction_[y >= 0], y[y >= 0])


def test_eps_zero_trains_on_every_row_that_a_label_reaches():
    X, _, y = blobs()
    model = paper_cut(gamma_g=1.0, eps=0.0, C=2.0, n_neighbors=8).fit(X, y)
    assert model.training_mask_.all()


@every_kernel
def test_eps_next_to_one_is_the_supervised_machine(kernel):
    X, _, y = blobs()
    options = {"kernel": kernel, "C": 2.0}
    strict = paper_cut(gamma_g=0.1, eps=np.nextafter(1, 0), **options).fit(X, y)
    supervised = paper_cut(gamma_g=np.inf, **options).fit(X, y)
    np.testing.assert_array_equal(strict.training_mask_, y >= 0)
    np.testing.assert_array_equal(strict.decision_function(X), supervised.decision_function(X))


# Several classes


@every_kernel
def test_third_class_of_its_own_does_not_change_the_duel_of_the_others(kernel):
    X, _, y = blobs(distance=1.5)
    far = np.random.default_rng(9).normal(size=(20, 4)) + 1e3
    options = {"kernel": kernel, "width": 2.0, "gamma_g": 0.1, "C": 2.0, "n_neighbors": 6}
    two = paper_cut(**options).fit(X, y)
    three = paper_cut(**options).fit(np.vstack([X, far]), np.append(y, [2] * 20))
    np.testing.assert_allclose(three.confidence_[:60], two.confidence_, atol=1e-12)
    np.testing.assert_array_equal(three.transduction_[:60], two.transduction_)
    np.testing.assert_allclose(
        three.machine_.pairwise(X)[:, 0], -two.decision_function(X), atol=2e-3
    )


def test_swapping_two_classes_changes_the_sign():
    X, _, y = blobs(distance=1.5)
    model = paper_cut(gamma_g=0.1, C=2.0).fit(X, y)
    swapped = paper_cut(gamma_g=0.1, C=2.0).fit(X, np.where(y < 0, -1, 1 - y))
    np.testing.assert_array_equal(swapped.transduction_, 1 - model.transduction_)
    np.testing.assert_allclose(swapped.confidence_, model.confidence_, atol=1e-12)
    np.testing.assert_allclose(swapped.decision_function(X), -model.decision_function(X), atol=1e-3)
    np.testing.assert_allclose(swapped.predict_proba(X), model.predict_proba(X)[:, ::-1], atol=1e-3)


@pytest.mark.parametrize("n_classes", [2, 3])
@every_kernel
def test_permuting_the_rows_permutes_the_results(kernel, n_classes):
    X, _, y = blobs(n_classes=n_classes)
    order = np.random.default_rng(1).permutation(len(X))
    options = {"kernel": kernel, "gamma_g": 0.1, "C": 2.0}
    model = paper_cut(**options).fit(X, y)
    permuted = paper_cut(**options).fit(X[order], y[order])
    np.testing.assert_array_equal(permuted.transduction_, model.transduction_[order])
    np.testing.assert_allclose(permuted.confidence_, model.confidence_[order], atol=1e-12)
    np.testing.assert_array_equal(permuted.training_mask_, model.training_mask_[order])
    np.testing.assert_allclose(permuted.machine_.pairwise(X), model.machine_.pairwise(X), atol=2e-3)


@every_kernel
@pytest.mark.parametrize("n_classes", [2, 3])
def test_single_and_double_precision_agree(kernel, n_classes):
    X, _, y = blobs(n_classes=n_classes)
    options = {"kernel": kernel, "gamma_g": 0.1, "C": 2.0}
    double = paper_cut(**options).fit(X, y)
    single = paper_cut(**options).fit(X.astype(np.float32), y)
    np.testing.assert_array_equal(single.transduction_, double.transduction_)
    np.testing.assert_allclose(single.confidence_, double.confidence_, atol=1e-5)
    np.testing.assert_array_equal(single.predict(X.astype(np.float32)), double.predict(X))


# Rows that no label reaches


@every_kernel
def test_components_without_a_label_are_labeled_by_the_machine(kernel):
    X, y, _, W = make_lattices()
    strays = np.array([[-30.0, 0.0], [-31.0, 0.0], [40.0, 1.0]])
    edges = sparse.csr_array([[0.0, 1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 0.0]])
    X, y = np.vstack([X, strays]), np.append(y, [-1, -1, -1])
    W = sparse.block_diag([W, edges], format="csr")
    model = paper_cut(kernel=kernel, gamma_g=0.01, C=5.0, width=20.0, affinity="precomputed")
    message = "3 of 203 points are in components of the graph without a label"
    with pytest.warns(UserWarning, match=message) as caught:
        model.fit(X, y, W=W)
    assert len(caught) == 1
    assert caught[0].filename == __file__
    np.testing.assert_array_equal(model.transduction_[200:], [0, 0, 1])
    np.testing.assert_array_equal(model.transduction_[200:], model.predict(strays))
    np.testing.assert_array_equal(model.confidence_[200:], 0.0)
    assert not model.training_mask_[200:].any()
    np.testing.assert_allclose(model.label_distributions_[200:], model.predict_proba(strays))


def test_confidence_zero_is_not_learned_from_with_eps_zero():
    """A stray row has confidence 0 >= eps, but no label to learn."""
    X, y, _, W = make_lattices()
    W = sparse.block_diag([W, sparse.csr_array((1, 1))], format="csr")
    model = paper_cut(gamma_g=0.01, eps=0.0, C=5.0, affinity="precomputed")
    with pytest.warns(UserWarning, match="1 of 201 points"):
        model.fit(np.vstack([X, [[30.0, 0.0]]]), np.append(y, -1), W=W)
    np.testing.assert_array_equal(model.training_mask_, np.arange(201) < 200)


def test_no_convergence_is_a_warning(monkeypatch):
    patient = iterative.conjugate_gradients

    def impatient(*args, **kwargs):
        return patient(*args, **kwargs, max_iter=3)

    monkeypatch.setattr(iterative, "conjugate_gradients", impatient)
    X, y, _, W = make_lattices()
    model = paper_cut(affinity="precomputed", gamma_g=0.001, C=5.0, solver="cg")
    with pytest.warns(ConvergenceWarning, match="stopped after 3 iterations") as caught:
        model.fit(X, y, W=W)
    assert caught[0].filename == __file__
    assert model.n_iter_ == 3


# Soft labels and class masses


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("c_unlabeled", [0.0, 0.3])
def test_soft_labels_are_the_soft_harmonic_solution(n_classes, c_unlabeled):
    X, _, y = blobs(n_classes=n_classes)
    trust = np.random.default_rng(2).uniform(0.5, 5.0, size=len(y))
    trust[0] = np.inf
    for c_labeled in (2.0, trust):
        soft = {"gamma_g": 0.1, "c_labeled": c_labeled, "c_unlabeled": c_unlabeled}
        model = paper_cut(C=2.0, **soft).fit(X, y)
        solution = harmonic_solution(knn_graph(X, 5), y, **soft)
        np.testing.assert_array_equal(model.confidence_, solution.confidence)
        np.testing.assert_array_equal(model.transduction_, solution.codes)
        assert model.training_mask_[y >= 0].all()


def one_wrong_label():
    X, truth, y = blobs(distance=4.0)
    y = truth.copy()
    y[0] = 1 - truth[0]
    y[30:] = -1
    return X, truth, y


def test_soft_labels_overrule_a_wrong_label():
    X, truth, y = one_wrong_label()
    hard = paper_cut(gamma_g=0.01, C=2.0).fit(X, y)
    assert hard.transduction_[0] == y[0]
    soft = paper_cut(gamma_g=0.01, C=2.0, c_labeled=0.1).fit(X, y)
    np.testing.assert_array_equal(soft.transduction_, truth)
    assert soft.training_mask_[0]
    scaled = X / width_of(X)
    svm = support_vector_machine("rbf", C=2.0).fit(
        scaled[soft.training_mask_], truth[soft.training_mask_]
    )
    np.testing.assert_allclose(soft.decision_function(X), svm.decision_function(scaled), **SOLVER)


def test_trust_is_given_label_by_label():
    X, truth, y = one_wrong_label()
    doubt = np.where(np.arange(len(y)) == 0, 0.1, np.inf)
    model = paper_cut(gamma_g=0.01, C=2.0, c_labeled=doubt).fit(X, y)
    np.testing.assert_array_equal(model.transduction_, truth)
    labeled = y >= 0
    labeled[0] = False
    np.testing.assert_array_equal(model.confidence_[labeled], 1.0)
    assert model.confidence_[0] < 1.0
    # Trust at unlabeled rows is not read.
    other = paper_cut(gamma_g=0.01, C=2.0, c_labeled=np.where(y < 0, np.nan, doubt)).fit(X, y)
    np.testing.assert_array_equal(other.confidence_, model.confidence_)


def test_pull_of_unlabeled_rows_is_a_sink_like_gamma_g():
    X, _, y = blobs()
    pulled = paper_cut(gamma_g=0.1, c_unlabeled=0.2, C=2.0).fit(X, y)
    sunk = paper_cut(gamma_g=0.1 + 0.2, C=2.0).fit(X, y)
    np.testing.assert_allclose(pulled.confidence_, sunk.confidence_, rtol=1e-12)
    np.testing.assert_array_equal(pulled.transduction_, sunk.transduction_)


def test_class_that_the_soft_solution_loses_keeps_its_given_labels():
    X = np.random.default_rng(0).normal(size=(12, 2))
    W = np.ones((12, 12)) - np.eye(12)
    y = np.array([0] * 5 + [1] + [-1] * 6)
    model = paper_cut(gamma_g=0.01, C=2.0, c_labeled=0.1, affinity="precomputed")
    with pytest.warns(UserWarning, match="the soft solution induces no label of some") as caught:
        model.fit(X, y, W=W)
    assert caught[0].filename == __file__
    assert model.classes_.tolist() == [0, 1]
    np.testing.assert_array_equal(model.transduction_, [0] * 5 + [1] + [0] * 6)
    assert model.predict_proba(X).shape == (12, 2)


@pytest.mark.parametrize("priors", [True, [0.1, 0.9], np.array([3.0, 1.0])], ids=str)
def test_class_masses_are_normalized_on_request(priors):
    X, _, y = blobs(distance=1.0)
    model = paper_cut(gamma_g=0.1, C=2.0, class_mass_normalization=priors).fit(X, y)
    solution = harmonic_solution(knn_graph(X, 5), y, gamma_g=0.1)
    normalized = normalize_class_mass(solution, None if priors is True else priors)
    np.testing.assert_array_equal(model.transduction_, normalized.codes)
    np.testing.assert_array_equal(model.confidence_, normalized.confidence)
    scaled, trained = X / width_of(X), model.training_mask_
    svm = support_vector_machine("rbf", C=2.0).fit(scaled[trained], normalized.codes[trained])
    np.testing.assert_allclose(model.decision_function(X), svm.decision_function(scaled), **SOLVER)


@pytest.mark.parametrize("asked", [{}, {"class_mass_normalization": False}], ids=str)
def test_class_masses_are_as_solved_by_default(asked):
    X, _, y = blobs(distance=1.0)
    model = paper_cut(gamma_g=0.1, C=2.0, **asked).fit(X, y)
    solution = harmonic_solution(knn_graph(X, 5), y, gamma_g=0.1)
    np.testing.assert_array_equal(model.confidence_, solution.confidence)
    assert np.any(normalize_class_mass(solution, [0.1, 0.9]).codes != solution.codes)


def cluster_with_a_wrong_label():
    """Two complete clusters of ten rows; of four labels in the first one, that of row 0 is wrong.

    If row 0 has mass m of class 1, the six unlabeled rows beside it have p = (m + 5 p) / 9 = m / 4,
    and a trust c in its label gives (c + 9) m = c + 6 p.
    """
    X = np.random.default_rng(0).normal(size=(20, 2))
    X[10:] += 8.0
    W = np.kron(np.eye(2), np.ones((10, 10))) - np.eye(20)
    y = np.full(20, -1)
    y[[0, 1, 2, 3, 10, 11]] = [1, 0, 0, 0, 1, 1]
    return X, y, W


def test_doubtful_label_is_overruled_by_its_cluster_and_a_hard_one_is_not():
    X, y, W = cluster_with_a_wrong_label()
    options = {"kernel": "linear", "affinity": "precomputed", "gamma_g": 0.0, "C": 100.0}
    hard = paper_cut(**options).fit(X, y, W=W)
    assert hard.transduction_[0] == 1
    assert hard.confidence_[0] == 1.0
    doubt = np.where(np.arange(20) == 0, 0.1, np.inf)
    soft = paper_cut(c_labeled=doubt, **options).fit(X, y, W=W)
    np.testing.assert_array_equal(soft.transduction_, np.repeat([0, 1], 10))
    np.testing.assert_array_equal(soft.predict(X), np.repeat([0, 1], 10))
    solution = harmonic_solution(W, y, c_labeled=doubt)
    np.testing.assert_array_equal(soft.confidence_, solution.confidence)
    np.testing.assert_array_equal(soft.confidence_[[1, 2, 3, 10, 11]], 1.0)


@pytest.mark.parametrize("trust", [1e-6, 0.1, 10.0, 1e3, 1e9])
def test_trust_moves_a_wrong_label_from_its_cluster_to_what_is_given(trust):
    X, y, W = cluster_with_a_wrong_label()
    c_labeled = np.where(np.arange(20) == 0, trust, np.inf)
    model = paper_cut(affinity="precomputed", gamma_g=0.0, c_labeled=c_labeled)
    model.fit(X, y, W=W)
    wrong = trust / (trust + 9 - 6 / 4)
    np.testing.assert_allclose(model.label_distributions_[0, 1], wrong, rtol=1e-9)
    assert model.transduction_[0] == (wrong > 0.5)


@every_kernel
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("loss_weights", ["equal", "confidence"])
def test_soft_labels_end_to_end(kernel, n_classes, loss_weights, dense_class_mass):
    """Dense algebra, the width, the chosen rows and a machine, put together by hand."""
    X, _, y = blobs(n_classes=n_classes)
    soft = {"gamma_g": 0.2, "c_labeled": 0.5, "c_unlabeled": 0.05}
    model = paper_cut(kernel=kernel, C=2.0, eps=0.02, loss_weights=loss_weights, **soft)
    model.fit(X, y)
    mass = dense_class_mass(knn_graph(X, 5).toarray(), y, n_classes, **soft)
    ranked = np.sort(mass, axis=1)
    confidence = ranked[:, -1] - ranked[:, -2]
    np.testing.assert_allclose(model.confidence_, confidence, atol=1e-9)
    trained = (confidence >= 0.02) | (y >= 0)
    np.testing.assert_array_equal(model.training_mask_, trained)
    machine = train_machine(
        X[trained],
        mass[trained].argmax(axis=1),
        Kernel(kernel, width=width_of(X)),
        C=2.0,
        sample_weight=confidence[trained] if loss_weights == "confidence" else None,
    )
    np.testing.assert_allclose(model.decision_function(X), machine.decision(X), **SOLVER)
    np.testing.assert_array_equal(model.transduction_, mass.argmax(axis=1))


# Weights of the losses


@every_kernel
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("gamma_g", [0.0, 0.3, 30.0])
def test_losses_are_weighted_by_confidence_on_the_same_training_set(kernel, n_classes, gamma_g):
    X, _, y = blobs(n_classes=n_classes, distance=1.5)
    options = {"kernel": kernel, "gamma_g": gamma_g, "eps": 1e-3, "C": 2.0, "n_neighbors": 6}
    equal = paper_cut(**options).fit(X, y)
    model = paper_cut(loss_weights="confidence", **options).fit(X, y)
    np.testing.assert_array_equal(model.training_mask_, equal.training_mask_)
    np.testing.assert_array_equal(model.confidence_, equal.confidence_)
    np.testing.assert_array_equal(model.transduction_, equal.transduction_)
    trained = model.training_mask_
    machine = train_machine(
        X[trained],
        model.transduction_[trained],
        model.machine_.kernel,
        C=2.0,
        sample_weight=model.confidence_[trained],
    )
    np.testing.assert_array_equal(model.decision_function(X), machine.decision(X))
    assert np.any(model.machine_.pairwise(X) != equal.machine_.pairwise(X))


def test_weights_are_those_of_scikit_learn():
    X, _, y = blobs(distance=1.5)
    model = paper_cut(loss_weights="confidence", gamma_g=0.5, C=2.0).fit(X, y)
    scaled, trained = X / width_of(X), model.training_mask_
    svm = support_vector_machine("rbf", C=2.0).fit(
        scaled[trained], model.transduction_[trained], sample_weight=model.confidence_[trained]
    )
    np.testing.assert_allclose(model.decision_function(X), svm.decision_function(scaled), **SOLVER)


@every_kernel
def test_weights_are_equal_where_everything_is_certain(kernel):
    """Every cluster has labels of one class, and no walk ends in the sink."""
    X, y, _, W = make_lattices()
    y_of_one_class = np.where(X[:, 0] > X[:, 0].mean(), 1, 0)
    y = np.where(np.arange(len(X)) % 20 == 0, y_of_one_class, -1)
    across = y_of_one_class[:, None] != y_of_one_class
    W = np.where(across, 0.0, W.toarray() + 1e-3 * (1 - np.eye(len(X))))
    options = {"kernel": kernel, "gamma_g": 0.0, "C": 2.0, "affinity": "precomputed"}
    equal = paper_cut(**options).fit(X, y, W=W)
    np.testing.assert_allclose(equal.confidence_, 1.0, atol=1e-12)
    model = paper_cut(loss_weights="confidence", **options).fit(X, y, W=W)
    np.testing.assert_allclose(model.decision_function(X), equal.decision_function(X), atol=1e-6)


@every_kernel
def test_supervised_losses_have_equal_weights(kernel):
    X, _, y = blobs()
    options = {"kernel": kernel, "C": 2.0}
    model = paper_cut(loss_weights="confidence", gamma_g=np.inf, **options).fit(X, y)
    supervised = SupervisedSVC(**options).fit(X, y)
    np.testing.assert_array_equal(model.decision_function(X), supervised.decision_function(X))


def test_weights_of_normalized_class_masses_are_theirs():
    X, _, y = blobs(distance=1.0)
    model = paper_cut(
        loss_weights="confidence", gamma_g=0.1, C=2.0, class_mass_normalization=[0.1, 0.9]
    ).fit(X, y)
    normalized = normalize_class_mass(
        harmonic_solution(knn_graph(X, 5), y, gamma_g=0.1), [0.1, 0.9]
    )
    trained = model.training_mask_
    machine = train_machine(
        X[trained],
        normalized.codes[trained],
        model.machine_.kernel,
        C=2.0,
        sample_weight=normalized.confidence[trained],
    )
    np.testing.assert_array_equal(model.decision_function(X), machine.decision(X))


def test_labeled_row_without_confidence_still_counts_a_little():
    """Two labels that contradict each other, as equally trusted, leave no confidence at all."""
    X = np.array([[0.0], [1.0], [10.0], [11.0]])
    W = np.zeros((4, 4))
    W[0, 1] = W[1, 0] = 1e9
    model = paper_cut(
        kernel="linear",
        loss_weights="confidence",
        affinity="precomputed",
        c_labeled=[1.0, 1.0, np.inf, np.inf],
        gamma_g=0.0,
        C=10.0,
    ).fit(X, [0, 1, 0, 1], W=W)
    assert model.confidence_[:2].max() < 1e-8
    assert model.training_mask_.all()
    weights = np.array([1e-6, 1e-6, 1.0, 1.0])
    machine = train_machine(
        X, model.transduction_, model.machine_.kernel, C=10.0, sample_weight=weights
    )
    np.testing.assert_allclose(model.decision_function(X), machine.decision(X), atol=1e-3)


# The bound on the risk


SOFT = {"gamma_g": 0.1, "c_labeled": 1.0, "c_unlabeled": 0.01}


@pytest.mark.parametrize("kernel", ["linear", "cubic"])
@pytest.mark.parametrize("stability", ["graph", "spectral", "lemma"])
@pytest.mark.parametrize("eps", [1e-6, 0.3])
def test_bound_is_that_of_the_theory_term_by_term(kernel, stability, eps):
    X, _, y = blobs(distance=1.0)
    model = paper_cut(kernel=kernel, eps=eps, C=2.0, **SOFT).fit(X, y)
    bound = model.risk_bound(eta=0.02, delta=0.1, stability=stability)
    solution = harmonic_solution(knn_graph(X, 5), y, **SOFT)
    expected = risk_bound(
        solution,
        model.decision_function(X),
        vc_dimension={"linear": 5, "cubic": 35}[kernel],
        eps=eps,
        eta=0.02,
        delta=0.1,
        stability=stability,
    )
    assert bound == expected
    assert bound.bound == expected.bound
    assert (bound.n, bound.n_labeled, bound.probability) == (60, 8, 1 - 0.12)
    # And by hand.
    ell, f = solution.ell, model.decision_function(X)
    sure = np.abs(ell) >= eps
    assert bound.empirical_risk == np.mean(sure & ((f > 0) != (ell > 0)))
    assert bound.threshold_term == pytest.approx(2 * eps * np.mean(~sure))
    assert bound.labeled_risk == pytest.approx(np.mean(np.square(ell - (2 * y - 1))[y >= 0]))
    assert bound.beta == stability_coefficient(knn_graph(X, 5), 8, stability=stability, **SOFT)


def test_vc_dimension_can_be_given():
    X, _, y = blobs()
    K, W = X @ X.T, knn_graph(X, 5)
    model = paper_cut(kernel="precomputed", affinity="precomputed", C=2.0, **SOFT)
    model.fit(K, y, W=W)
    with pytest.raises(ValueError, match="pass `vc_dimension` yourself"):
        model.risk_bound()
    by_name = paper_cut(kernel="linear", width=1.0, affinity="precomputed", C=2.0, **SOFT)
    expected = by_name.fit(X, y, W=W).risk_bound()
    assert model.risk_bound(vc_dimension=5).bound == pytest.approx(expected.bound, rel=1e-9)


def test_bound_of_the_rbf_kernel_is_infinite_and_says_so():
    X, _, y = blobs()
    bound = paper_cut(C=2.0, **SOFT).fit(X, y).risk_bound()
    assert bound.bound == bound.inductive_error == bound.vc_dimension == np.inf
    assert not bound.informative
    assert str(bound).splitlines()[-1] == (
        "The bound is not informative, as it is not below 1/2, the risk of a coin; the largest "
        "term is the inductive error, which a kernel of finite VC dimension, such as the linear "
        "one, would lower."
    )


def test_bound_prints_as_a_table():
    X, _, y = blobs()
    bound = paper_cut(kernel="linear", C=2.0, **SOFT).fit(X, y).risk_bound()
    lines = str(bound).splitlines()
    assert [line[:24].rstrip() for line in lines[:-1]] == [
        "risk on induced labels",
        "threshold term",
        "squared error at labels",
        "transductive error",
        "inductive error",
        "bound on the risk",
    ]
    numbers = [float(line[24:34]) for line in lines[:-1]]
    assert numbers[-1] == pytest.approx(sum(numbers[:-1]), rel=1e-3)
    assert numbers[-1] == pytest.approx(bound.bound, rel=1e-3)
    assert "VC dimension = 5, eta = 0.05" in lines[4]
    assert lines[-1].startswith("The bound is not informative")


@pytest.mark.parametrize(
    ("n_classes", "changed", "shown"),
    [
        (2, {"c_labeled": np.inf}, "got 2 classes, c_labeled=inf"),
        (3, {}, "got 3 classes, c_labeled=1.0"),
        (2, {"class_mass_normalization": True}, ", class_mass_normalization=True"),
        (2, {"class_mass_normalization": [0.5, 0.5]}, "class_mass_normalization=[0.5, 0.5]"),
        (2, {"c_labeled": np.append(np.inf, np.ones(59))}, "c_labeled=array([inf,"),
        (2, {"gamma_g": "auto"}, "gamma_g='auto' and C=2.0"),
        (2, {"C": "auto"}, "gamma_g=0.1 and C='auto'"),
    ],
    ids=["hard", "three", "normalized", "priors", "one-hard", "chosen", "chosen-C"],
)
def test_bound_is_for_two_classes_soft_labels_and_masses_as_solved(n_classes, changed, shown):
    X, _, y = blobs(n_classes=n_classes)
    model = paper_cut(kernel="linear", **{"C": 2.0, **SOFT, **changed}).fit(X, y)
    with pytest.raises(ValueError, match="`risk_bound` is for two classes, soft labels") as caught:
        model.risk_bound()
    assert shown in str(caught.value)
    asked = (
        "fit two classes with numbers such as c_labeled=1.0, gamma_g=0.1 and C=10.0, and without"
    )
    assert asked in str(caught.value)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"eta": 0.0}, "`eta` must be > 0, got 0.0"),
        ({"delta": 1.0}, "`delta` must be in"),
        ({"eta": 0.6, "delta": 0.6}, "`eta` . `delta` must be below 1, got 1.2"),
        ({"stability": "wishful"}, "`stability` must be one of 'graph', 'spectral', 'lemma', got"),
        ({"vc_dimension": 0}, "`vc_dimension` must be > 0, got 0"),
    ],
)
def test_bound_with_parameters_out_of_range(options, message):
    X, _, y = blobs()
    model = paper_cut(kernel="linear", C=2.0, **SOFT).fit(X, y)
    with pytest.raises(ValueError, match=message):
        model.risk_bound(**options)


def test_bound_needs_one_trust_a_finite_gamma_g_and_a_fit():
    X, _, y = blobs()
    with pytest.raises(NotFittedError):
        paper_cut().risk_bound()
    model = paper_cut(kernel="linear", C=2.0, **SOFT)
    model.set_params(c_labeled=np.linspace(0.5, 1.0, 60)).fit(X, y)
    with pytest.raises(ValueError, match="`c_labeled` must be the same at all labels, got"):
        model.risk_bound()
    model.set_params(c_labeled=np.full(60, 1.0)).fit(X, y)
    one = paper_cut(kernel="linear", C=2.0, **SOFT).fit(X, y)
    assert model.risk_bound() == one.risk_bound()
    model.set_params(gamma_g=np.inf).fit(X, y)
    with pytest.raises(ValueError, match="`gamma_g` must be finite, got inf"):
        model.risk_bound()


def test_refit_with_hard_labels_forgets_the_bound():
    X, _, y = blobs()
    model = paper_cut(kernel="linear", C=2.0, **SOFT).fit(X, y)
    assert model.risk_bound().n == 60
    with pytest.raises(ValueError, match="`risk_bound` is for two classes, soft labels"):
        model.set_params(c_labeled=np.inf).fit(X, y).risk_bound()


# Kernels, graphs, widths, metrics, solvers


@pytest.mark.parametrize("convert", [sparse.csr_array, sparse.csc_matrix, sparse.coo_array])
def test_precomputed_graph_equals_the_graph_of_the_points(convert):
    X, _, y = blobs()
    W = knn_graph(X, 6)
    expected = paper_cut(gamma_g=0.1, C=2.0, n_neighbors=6).fit(X, y)
    model = paper_cut(gamma_g=0.1, C=2.0, affinity="precomputed")
    for graph in (convert(W), W.toarray()):
        model.fit(X, y, W=graph)
        np.testing.assert_array_equal(model.graph_.toarray(), expected.graph_.toarray())
        np.testing.assert_array_equal(model.confidence_, expected.confidence_)
        np.testing.assert_array_equal(model.decision_function(X), expected.decision_function(X))


def test_loops_of_a_precomputed_graph_do_not_matter():
    X, y, _, W = make_lattices()
    model = paper_cut(gamma_g=0.1, C=2.0, affinity="precomputed")
    expected = model.fit(X, y, W=W).confidence_
    np.testing.assert_array_equal(
        model.fit(X, y, W=W + 3 * sparse.eye_array(200)).confidence_, expected
    )


@every_kernel
@pytest.mark.parametrize("n_classes", [2, 3])
def test_precomputed_kernel_equals_the_kernel_by_name(kernel, n_classes):
    X, _, y = blobs(n_classes=n_classes)
    new = X[::3] + 0.1
    W = knn_graph(X, 5)
    options = {"gamma_g": 0.1, "eps": 0.05, "C": 2.0, "affinity": "precomputed"}
    by_name = paper_cut(kernel=kernel, **options).fit(X, y, W=W)
    K = by_name.machine_.kernel
    precomputed = paper_cut(kernel="precomputed", **options).fit(K(X, X), y, W=W)
    assert not by_name.training_mask_.all(), "the columns of the kernel matrix have to be chosen"
    np.testing.assert_array_equal(precomputed.transduction_, by_name.transduction_)
    np.testing.assert_allclose(
        precomputed.decision_function(K(new, X)), by_name.decision_function(new), atol=1e-3
    )
    assert precomputed.n_features_in_ == len(X)


def test_callable_kernel_equals_the_kernel_by_name():
    X, _, y = blobs()
    seen = []

    def cubic(first, second):
        seen.append(first.shape[1])
        return (first @ second.T / 9.0 + 1) ** 3

    options = {"gamma_g": 0.1, "C": 2.0, "width": 3.0}
    by_name = paper_cut(kernel="cubic", **options).fit(X, y)
    model = paper_cut(kernel=cubic, **options).fit(X, y)
    assert set(seen) == {4}
    np.testing.assert_allclose(model.decision_function(X), by_name.decision_function(X), atol=1e-3)
    np.testing.assert_array_equal(model.transduction_, by_name.transduction_)


@pytest.mark.parametrize(("degree", "coef0"), [(1, 1.0), (2, 0.5), (4, 0.0)])
def test_degree_and_constant_of_the_cubic_kernel_can_be_chosen(degree, coef0):
    X, truth, _ = blobs(distance=1.0)
    model = paper_cut(kernel="cubic", degree=degree, coef0=coef0, gamma_g=0.1, C=2.0)
    svm = support_vector_machine("cubic", 2.0, degree, coef0).fit(X / width_of(X), truth)
    np.testing.assert_allclose(
        model.fit(X, truth).decision_function(X),
        svm.decision_function(X / width_of(X)),
        **SOLVER,
    )


@every_kernel
@pytest.mark.parametrize("width", ["paper", "self-tuning", "binary", 3.0])
def test_width_serves_the_graph_and_a_number_the_kernel_too(kernel, width):
    X, _, y = blobs()
    model = paper_cut(kernel=kernel, width=width, gamma_g=0.1, C=2.0).fit(X, y)
    np.testing.assert_array_equal(model.graph_.toarray(), knn_graph(X, 5, width=width).toarray())
    expected = 3.0 if width == 3.0 else width_of(X)
    assert model.machine_.kernel.width == pytest.approx(expected, rel=1e-12)


@every_kernel
def test_units_of_the_features_do_not_matter(kernel):
    X, _, y = blobs()
    options = {"kernel": kernel, "gamma_g": 0.1, "C": 2.0}
    model = paper_cut(**options).fit(X, y)
    scaled = paper_cut(**options).fit(1000 * X, y)
    np.testing.assert_allclose(scaled.confidence_, model.confidence_, atol=1e-9)
    np.testing.assert_allclose(
        scaled.decision_function(1000 * X), model.decision_function(X), atol=1e-3
    )


def test_cosine_metric_concerns_the_graph_only():
    X, _, y = blobs()
    X = X + 1.0
    options = {"C": 2.0, "n_neighbors": 6}
    model = paper_cut(metric="cosine", gamma_g=0.1, **options).fit(X, y)
    W = knn_graph(X / np.linalg.norm(X, axis=1, keepdims=True), 6).toarray()
    np.testing.assert_allclose(model.graph_.toarray(), W, rtol=1e-9)
    supervised = [
        paper_cut(metric=metric, gamma_g=np.inf, **options).fit(X, y).decision_function(X)
        for metric in ("cosine", "euclidean")
    ]
    np.testing.assert_array_equal(*supervised)


@pytest.mark.parametrize("solver", ["auto", "direct", "cg", "gauss-seidel"])
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("gamma_g", [0.0, 0.05, 100.0])
def test_every_solver_gives_the_same_transduction(solver, n_classes, gamma_g):
    X, _, y = blobs(n_classes=n_classes, n=90)
    options = {"gamma_g": gamma_g, "C": 2.0, "n_neighbors": 6}
    expected = paper_cut(solver="direct", **options).fit(X, y)
    model = paper_cut(solver=solver, **options).fit(X, y)
    np.testing.assert_array_equal(model.transduction_, expected.transduction_)
    np.testing.assert_allclose(model.confidence_, expected.confidence_, atol=1e-5)
    np.testing.assert_array_equal(model.training_mask_, expected.training_mask_)
    np.testing.assert_array_equal(model.decision_function(X), expected.decision_function(X))


@pytest.mark.parametrize("changed", [{"n_jobs": 1}, {"n_jobs": 2}, {"n_jobs": -1}], ids=str)
def test_threads_and_seeds_do_not_change_the_results(changed):
    X, _, y = blobs(n=200)
    expected = paper_cut(gamma_g=0.1, C=2.0, random_state=0).fit(X, y)
    model = paper_cut(gamma_g=0.1, C=2.0, random_state=7, **changed).fit(X, y)
    np.testing.assert_array_equal(model.confidence_, expected.confidence_)
    np.testing.assert_array_equal(model.predict_proba(X), expected.predict_proba(X))


# Probabilities


@given(
    seed=st.integers(0, 2**32 - 1),
    n_classes=st.integers(2, 4),
    gamma_g=st.sampled_from([0.0, 1e-3, 0.1, 10.0, np.inf]),
    kernel=st.sampled_from(NAMED),
)
@settings(max_examples=50)
def test_probabilities_are_distributions_that_agree_with_the_labels(
    seed, n_classes, gamma_g, kernel
):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(40, 2))
    y = np.where(np.arange(40) < 3 * n_classes, np.arange(40) % n_classes, -1)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", ".*without a label", UserWarning)
        model = paper_cut(kernel=kernel, gamma_g=gamma_g, C=1.0, n_neighbors=4).fit(X, y)
    new = rng.normal(size=(30, 2)) * 3
    for distributions, labels in (
        (model.label_distributions_, model.transduction_),
        (model.predict_proba(new), model.predict(new)),
    ):
        assert np.isfinite(distributions).all()
        assert distributions.min() >= 0
        np.testing.assert_allclose(distributions.sum(axis=1), 1.0)
        np.testing.assert_array_equal(distributions.argmax(axis=1), labels)


def test_probabilities_are_one_increasing_function_of_the_decision():
    X, _, y = blobs(distance=1.5)
    model = paper_cut(gamma_g=0.1, C=2.0).fit(X, y)
    f, second = model.decision_function(X), model.predict_proba(X)[:, 1]
    assert (np.diff(second[np.argsort(f)]) >= 0).all()
    assert ((second > 0.5) == (f > 0)).all()
    sharpness, doubt = model._calibration
    np.testing.assert_allclose((1 - doubt) * expit(sharpness * f) + doubt / 2, second)


@every_kernel
def test_probabilities_of_far_away_points_are_finite(kernel):
    X, _, y = blobs(n_classes=3)
    model = paper_cut(kernel=kernel, gamma_g=0.1, C=2.0).fit(X, y)
    probabilities = model.predict_proba(1e6 * np.vstack([np.eye(4), -np.eye(4)]))
    assert np.isfinite(probabilities).all()
    np.testing.assert_allclose(probabilities.sum(axis=1), 1.0)


# State


def test_fit_does_not_change_points_labels_graph_or_kernel():
    X, _, y = blobs()
    # A graph in no canonical form: loops of weight zero, and columns in descending order.
    edges = sparse.coo_array(knn_graph(X, 5))
    loops = np.arange(60)
    rows, columns = np.append(edges.row, loops), np.append(edges.col, loops)
    order = np.lexsort((-columns, rows))
    W = sparse.csr_array(
        (
            np.append(edges.data, np.zeros(60))[order],
            columns[order],
            np.append(0, np.cumsum(np.bincount(rows))),
        )
    )
    K = X @ X.T
    before = [a.copy() for a in (K, y, W.data, W.indices, W.indptr)]
    model = paper_cut(kernel="precomputed", affinity="precomputed", gamma_g=0.1, C=2.0)
    model.fit(K, y, W=W).predict_proba(K)
    np.testing.assert_array_equal(model.graph_.toarray(), knn_graph(X, 5).toarray())
    for now, then in zip((K, y, W.data, W.indices, W.indptr), before, strict=True):
        np.testing.assert_array_equal(now, then)


@pytest.mark.parametrize(
    "changed",
    [
        {"C": -1.0},
        {"eps": 2.0},
        {"gamma_g": -1.0},
        {"kernel": "unknown"},
        {"solver": "unknown"},
        {"width": "unknown"},
        {"n_neighbors": 1000},
        {"c_labeled": -1.0},
        {"class_mass_normalization": [1.0, -1.0]},
        {"affinity": "precomputed"},
    ],
    ids=str,
)
@pytest.mark.parametrize("create", [paper_cut, MaxMarginGraphCut])
def test_failed_fit_is_no_fit(changed, create):
    X, _, y = blobs()
    model = create(**changed)
    with pytest.raises(ValueError, match="`"):
        model.fit(X, y)
    with pytest.raises(NotFittedError):
        check_is_fitted(model)
    with pytest.raises(NotFittedError):
        model.predict(X)
    # Nor is a failed refit.
    good = {name: create().get_params()[name] for name in changed}
    model.set_params(**good).fit(X, y)
    with pytest.raises(ValueError, match="`"):
        model.set_params(**changed).fit(X, y)
    with pytest.raises(NotFittedError):
        model.predict(X)


@pytest.mark.parametrize("create", [paper_cut, MaxMarginGraphCut])
def test_failing_kernel_leaves_no_half_state(create):
    def broken(_first, _second):
        msg = "the kernel is broken"
        raise RuntimeError(msg)

    X, _, y = blobs()
    model = create(kernel=broken)
    with pytest.raises(RuntimeError, match="the kernel is broken"):
        model.fit(X, y)
    with pytest.raises(NotFittedError):
        check_is_fitted(model)


def test_refit_with_other_kernel_and_affinity_leaves_nothing_behind():
    X, _, y = blobs()
    other, _, labels = blobs(seed=5, n=50, n_classes=3)
    W = knn_graph(X, 5)
    model = paper_cut(gamma_g=0.1, C=2.0, kernel="precomputed", affinity="precomputed")
    model.fit(X @ X.T, y, W=W)
    model.set_params(kernel="rbf", affinity="knn").fit(other, labels)
    fresh = paper_cut(gamma_g=0.1, C=2.0).fit(other, labels)
    assert vars(model).keys() == vars(fresh).keys()
    np.testing.assert_array_equal(model.predict_proba(other), fresh.predict_proba(other))
    np.testing.assert_array_equal(model.label_distributions_, fresh.label_distributions_)


# Approximation for many rows


def many_blobs(n_classes=3, n=900):
    X, truth, _ = blobs(n=n, n_classes=n_classes, distance=1.5)
    return X, truth, np.where(np.arange(n) < 20 * n_classes, truth, -1)


@every_kernel
@pytest.mark.parametrize("n_classes", [2, 3])
def test_landmarks_predict_like_the_exact_machine(kernel, n_classes):
    X, _, y = many_blobs(n_classes)
    options = {"kernel": kernel, "gamma_g": 0.1, "C": 2.0, "random_state": 0}
    exact = paper_cut(approximation="none", **options).fit(X, y)
    model = paper_cut(approximation="nystroem", **options).fit(X, y)
    assert exact.machine_.report.solver == "libsvm"
    assert model.machine_.report.solver == "coordinate descent"
    assert model.machine_.report.n_landmarks == (0 if kernel == "linear" else 500)
    np.testing.assert_array_equal(model.transduction_, exact.transduction_)
    assert np.mean(model.predict(X) == exact.predict(X)) >= 0.98


def test_approximation_is_chosen_by_the_number_of_rows(monkeypatch):
    X, _, y = many_blobs()
    options = {"gamma_g": 0.1, "C": 2.0, "random_state": 0}
    assert paper_cut(**options).fit(X, y).machine_.report.n_landmarks == 0
    monkeypatch.setattr(training, "MAX_EXACT", 500)
    assert paper_cut(**options).fit(X, y).machine_.report.n_landmarks == 500
    exact = paper_cut(approximation="none", **options).fit(X, y)
    assert exact.machine_.report.n_landmarks == 0


def test_approximate_fit_does_not_depend_on_the_number_of_threads():
    X, _, y = many_blobs()
    options = {"approximation": "nystroem", "gamma_g": 0.1, "C": 2.0, "random_state": 0}
    one, two = (paper_cut(n_jobs=n_jobs, **options).fit(X, y) for n_jobs in (1, 2))
    np.testing.assert_array_equal(one.machine_.coefficients, two.machine_.coefficients)
    other = paper_cut(**{**options, "random_state": 1}).fit(X, y)
    assert np.any(other.machine_.vectors != one.machine_.vectors)


def test_unknown_approximation():
    X, _, y = blobs()
    message = "`approximation` must be one of 'auto', 'none', 'nystroem', got 'some'"
    with pytest.raises(ValueError, match=message):
        paper_cut(approximation="some").fit(X, y)


def test_probabilities_are_calibrated_on_a_sample_of_many_rows(monkeypatch):
    X, _, y = many_blobs()
    options = {"gamma_g": 0.1, "C": 2.0}
    on_all = paper_cut(**options).fit(X, y).predict_proba(X)
    monkeypatch.setattr(max_margin_graph_cut, "CALIBRATION_ROWS", 300)
    on_some = paper_cut(**options).fit(X, y).predict_proba(X)
    assert 0 < np.abs(on_some - on_all).max() < 0.05
    np.testing.assert_array_equal(on_some.argmax(axis=1), on_all.argmax(axis=1))
