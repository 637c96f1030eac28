"""The max-margin graph cut against dense algebra, scikit-learn's SVC and the paper's problem."""

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from graphmargin.datasets import make_lattices
from graphmargin.estimators import MaxMarginGraphCut, SupervisedSVC
from graphmargin.graph import knn_graph
from graphmargin.harmonic import harmonic_solution, normalize_class_mass
from graphmargin.margin import Kernel, train_machine
from graphmargin.methods import cut
from tests.estimators.problems import (
    blobs,
    pairs_of,
    pairwise,
    support_vector_machine,
    width_of,
)

SOLVER = {"rtol": 2e-3, "atol": 2e-3}
"""Two solvers that stop at a violation of 1e-4 agree to about this."""


def paper_cut(**parameters):
    """Return the algorithm of the paper: numbers as parameters, and losses of equal weight."""
    return MaxMarginGraphCut(**{"gamma_g": 0.1, "C": 10.0, "loss_weights": "equal", **parameters})


def rows_for(kernel, X, trained):
    """Return rows in units of the width, for the linear kernel centered like its own training."""
    return (X - np.median(X[trained], axis=0) * (kernel == "linear")) / width_of(X)


# The algorithm as a whole


@pytest.mark.parametrize(
    ("kernel", "n_classes", "gamma_g", "eps"),
    [
        ("linear", 2, 0.0, 0.3),
        ("poly", 2, 0.1, 0.0),
        ("rbf", 2, 10.0, 1e-6),
        ("linear", 4, 10.0, 0.0),
        ("poly", 4, 0.2, 0.1),
        ("rbf", 4, 0.1, 0.3),
    ],
)
def test_algorithm_equals_dense_algebra_and_a_support_vector_machine(
    kernel, n_classes, gamma_g, eps, dense_class_mass
):
    X, _, y = blobs(n_classes, n=60, distance=1.5)
    model = paper_cut(kernel=kernel, gamma_g=gamma_g, eps=eps, C=2.0, n_neighbors=6).fit(X, y)
    mass = dense_class_mass(knn_graph(X, 6).toarray(), y, n_classes, gamma_g=gamma_g)
    ranked = np.sort(mass, axis=1)
    confidence = ranked[:, -1] - ranked[:, -2]
    solution = model.harmonic_solution_
    np.testing.assert_allclose(solution.confidence, confidence, atol=1e-12)
    np.testing.assert_array_equal(model.transduction_, mass.argmax(axis=1))
    distributions = mass + (1 - mass.sum(axis=1, keepdims=True)) / n_classes
    np.testing.assert_allclose(model.label_distributions_, distributions, atol=1e-12)
    np.testing.assert_allclose(model.confidence_, distributions.max(axis=1), atol=1e-12)

    trained = (confidence >= eps) | (y >= 0)
    np.testing.assert_array_equal(model.training_mask_, trained)
    scaled = rows_for(kernel, X, trained)
    svm = support_vector_machine(kernel, C=2.0).fit(scaled[trained], mass[trained].argmax(axis=1))
    np.testing.assert_allclose(pairwise(model, X), pairs_of(svm, scaled), **SOLVER)


@pytest.mark.parametrize(
    ("kernel", "n_classes", "c_unlabeled", "loss_weights"),
    [
        ("linear", 2, 0.05, "confidence"),
        ("poly", 3, 0.0, "equal"),
        ("rbf", 3, 0.05, "confidence"),
        ("rbf", 2, 0.05, "equal"),
    ],
)
def test_soft_labels_change_the_training_labels(
    kernel, n_classes, c_unlabeled, loss_weights, dense_class_mass
):
    """Dense algebra, the width, the chosen rows and a machine, put together by hand."""
    X, _, y = blobs(n_classes)
    soft = {"gamma_g": 0.2, "c_labeled": 0.5, "c_unlabeled": c_unlabeled}
    model = paper_cut(kernel=kernel, C=2.0, eps=0.02, loss_weights=loss_weights, **soft)
    model.fit(X, y)
    mass = dense_class_mass(knn_graph(X, 5).toarray(), y, n_classes, **soft)
    ranked = np.sort(mass, axis=1)
    confidence = ranked[:, -1] - ranked[:, -2]
    np.testing.assert_allclose(model.harmonic_solution_.confidence, confidence, atol=1e-9)
    trained = (confidence >= 0.02) | (y >= 0)
    np.testing.assert_array_equal(model.training_mask_, trained)
    machine = train_machine(
        X[trained],
        mass[trained].argmax(axis=1),
        Kernel(kernel, width=width_of(X)),
        C=2.0,
        sample_weight=confidence[trained] if loss_weights == "confidence" else None,
    )
    np.testing.assert_allclose(pairwise(model, X), machine.pairwise(X), **SOLVER)
    np.testing.assert_array_equal(model.transduction_, mass.argmax(axis=1))


# The paper's synthetic problem


@pytest.mark.parametrize(("kernel", "gamma_g"), [("linear", 0.0), ("poly", 1e-4), ("rbf", 1e-2)])
def test_graph_cut_separates_the_lattices_with_every_kernel(kernel, gamma_g):
    """gamma = 0.1 and eps = 0.01, as in the paper's Figure 2."""
    X, y, y_true, W = make_lattices()
    options = {"kernel": kernel, "C": 1 / (2 * 0.1), "eps": 0.01}
    cut = paper_cut(gamma_g=gamma_g, **options).fit(X, y, W=W)
    np.testing.assert_array_equal(cut.predict(X), y_true)
    np.testing.assert_array_equal(cut.transduction_, y_true)
    supervised = paper_cut(gamma_g=np.inf, **options).fit(X, y, W=W)
    assert np.sum(supervised.predict(X) != y_true) >= 10
    chosen = MaxMarginGraphCut(kernel=kernel, gamma_g=0.01).fit(X, y, W=W)  # C is chosen
    np.testing.assert_array_equal(chosen.predict(X), y_true)


def test_lattices_with_one_label_a_class_are_halfway_to_supervised_learning():
    """No label can be held out, so that supervised learning keeps its half of the blend."""
    X, y, y_true, W = make_lattices()
    model = MaxMarginGraphCut(kernel="linear").fit(X, y, W=W)
    assert model.choice_.supervised_weight == pytest.approx(0.5)
    supervised = SupervisedSVC(kernel="linear", C="auto").fit(X, y)
    assert np.sum(supervised.predict(X) != y_true) == 20
    assert np.sum(model.predict(X) != y_true) < 20


# What choosing is for


@pytest.mark.filterwarnings("ignore:.* in components of the graph")
def test_rings_are_recovered_from_few_labels():
    """The errors of supervised learning are many, and those of the choice almost none."""
    errors = []
    for seed in range(2):
        rng = np.random.default_rng(seed)
        truth = np.arange(300) % 3
        angle = rng.uniform(0, 2 * np.pi, size=300)
        X = (1 + 2 * truth)[:, None] * np.column_stack([np.cos(angle), np.sin(angle)])
        X += 0.1 * rng.normal(size=X.shape)
        y = np.where(np.arange(300) < 9, truth, -1)
        models = (MaxMarginGraphCut(), SupervisedSVC(C="auto"))
        errors.append([np.mean(m.fit(X, y).transduction_ != truth) for m in models])
    cut, supervised = np.mean(errors, axis=0)
    assert cut < 0.02
    assert supervised > 0.2


def test_misleading_graph_is_not_followed():
    """Neighbors in 50 dimensions tell little about the class, and 60 labels a lot."""
    errors, shares = [], []
    for seed in range(2):
        rng = np.random.default_rng(seed)
        truth = np.arange(400) % 2
        X = rng.normal(size=(400, 50))
        X[:, 0] += 2.0 * truth
        y = np.where(np.arange(400) < 60, truth, -1)
        cut, supervised = MaxMarginGraphCut().fit(X, y), SupervisedSVC(C="auto").fit(X, y)
        errors.append([np.mean((m.predict(X) != truth)[60:]) for m in (cut, supervised)])
        shares.append(cut.choice_.supervised_weight)
    ours, theirs = np.mean(errors, axis=0)
    assert ours <= theirs + 0.02, (errors, shares)
    assert np.mean(shares) > 0.5


# Which rows take part


@given(
    seed=st.integers(0, 2**32 - 1),
    n_classes=st.integers(2, 4),
    gamma_g=st.sampled_from([0.0, 0.01, 1.0, 30.0, np.inf]),
    eps=st.sampled_from([0.0, 1e-6, 0.05, 0.5, 1 - 1e-9]),
    kernel=st.sampled_from(["linear", "poly", "rbf"]),
)
@settings(max_examples=40)
def test_training_rows_have_the_labels_and_probabilities_of_the_graph(
    seed, n_classes, gamma_g, eps, kernel
):
    """The confident rows and the labeled ones; distributions that agree with the labels."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(40, 2))
    y = np.where(np.arange(40) < 3 * n_classes, np.arange(40) % n_classes, -1)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", ".*without a label", UserWarning)
        model = paper_cut(kernel=kernel, gamma_g=gamma_g, eps=eps, C=1.0, n_neighbors=4).fit(X, y)
    reached = ~model.harmonic_solution_.unreached & np.isfinite(gamma_g)
    confidence = model.harmonic_solution_.confidence
    expected = (reached & (confidence >= eps)) | (y >= 0)
    np.testing.assert_array_equal(model.training_mask_, expected)
    np.testing.assert_array_equal(model.transduction_[y >= 0], y[y >= 0])
    new = rng.normal(size=(30, 2)) * 3
    for distributions, labels in (
        (model.label_distributions_, model.transduction_),
        (model.predict_proba(new), model.predict(new)),
    ):
        assert distributions.min() >= 0
        np.testing.assert_allclose(distributions.sum(axis=1), 1.0)
        np.testing.assert_array_equal(distributions.argmax(axis=1), labels)


@pytest.mark.parametrize("eps", [0.0, 1e-6])
def test_components_without_a_label_are_labeled_by_the_machine(eps):
    """A stray row has confidence 0 >= eps, but no label to learn."""
    X, y, _, W = make_lattices()
    strays = np.array([[-30.0, 0.0], [-31.0, 0.0], [40.0, 1.0]])
    edges = sparse.csr_array([[0.0, 1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 0.0]])
    X, y = np.vstack([X, strays]), np.append(y, [-1, -1, -1])
    W = sparse.block_diag([W, edges], format="csr")
    model = paper_cut(gamma_g=0.01, C=5.0, width=20.0, eps=eps)
    with pytest.warns(UserWarning, match="3 of 203 rows are in components of the graph"):
        model.fit(X, y, W=W)
    np.testing.assert_array_equal(model.transduction_[200:], [0, 0, 1])
    np.testing.assert_array_equal(model.transduction_[200:], model.predict(strays))
    np.testing.assert_array_equal(model.harmonic_solution_.confidence[200:], 0.0)
    np.testing.assert_array_equal(model.training_mask_, np.arange(203) < 200)
    np.testing.assert_allclose(model.label_distributions_[200:], model.predict_proba(strays))


# Soft labels and class masses


@pytest.mark.parametrize("priors", [True, [0.1, 0.9], np.array([3.0, 1.0]), False, "auto"], ids=str)
def test_class_masses_are_normalized_on_request(priors):
    X, _, y = blobs(distance=1.0)
    options = {"C": 2.0, "class_mass_normalization": priors, "loss_weights": "confidence"}
    model = paper_cut(**options).fit(X, y)
    solution = harmonic_solution(knn_graph(X, 5), y, gamma_g=0.1)
    if priors is not False and not isinstance(priors, str):
        solution = normalize_class_mass(solution, None if priors is True else priors)
    np.testing.assert_array_equal(model.transduction_, solution.codes)
    np.testing.assert_array_equal(model.label_distributions_, solution.label_distributions)
    np.testing.assert_array_equal(model.confidence_, solution.label_distributions.max(axis=1))
    trained = model.training_mask_
    machine = train_machine(
        X[trained],
        solution.codes[trained],
        model.predictor_.part.machine.kernel,
        C=2.0,
        sample_weight=solution.confidence[trained],
    )
    np.testing.assert_array_equal(model.decision_function(X), machine.decision(X))


# Many rows


def test_probabilities_are_calibrated_on_a_sample_of_many_rows(monkeypatch):
    X, _, y = blobs(3, n=300, distance=1.5, per_class=20)
    on_all = paper_cut(C=2.0).fit(X, y).predict_proba(X)
    monkeypatch.setattr(cut, "CALIBRATION_ROWS", 100)
    on_some = paper_cut(C=2.0).fit(X, y).predict_proba(X)
    difference = np.abs(on_some - on_all)
    assert 0 < difference.mean() < 0.03
    assert (on_some.argmax(axis=1) == on_all.argmax(axis=1)).mean() > 0.95
