"""The methods of the table against the estimators, fitted one by one."""

from dataclasses import replace

import numpy as np
import pytest

from graphmargin.estimators import (
    HarmonicClassifier,
    ManifoldSVC,
    MaxMarginGraphCut,
    MaxMarginGraphCutCV,
    SemiSupervisedSVC,
    SupervisedSVC,
)
from graphmargin.experiments.paper.choosing import choose_of_grid
from graphmargin.experiments.paper.methods import (
    GAMMA_G,
    GC_ALL,
    GC_AUTO,
    HARMONIC,
    HAT_SHARES,
    METHODS,
    S3VM,
    KernelWork,
    PairWork,
    all_labels_cut,
    automatic_cut,
    cut,
    fair_manifold,
    firm_cut,
    harmonic,
    hat_loss,
    published_manifold,
    soft_cut,
    sound_cut,
    svm,
)
from graphmargin.experiments.paper.published import KERNELS
from graphmargin.experiments.paper.splits import split_pair

SPLIT = split_pair("image", "brickface-cement", 5, 0)
N_LABELED = 11  # 5 % of 220
CS = [1 / (2 * share * N_LABELED) for share in (0.1, 0.01)]
CUT = {"loss_weights": "equal", "class_mass_normalization": False, "eps": 1e-6}
CHOOSING = (S3VM, GC_AUTO, GC_ALL)
"""Methods that use validation labels themselves."""
every_kernel = pytest.mark.parametrize("kernel", KERNELS)


@pytest.fixture(scope="module")
def pair():
    return PairWork(SPLIT)


@pytest.fixture(scope="module")
def works(pair):
    return {kernel: KernelWork(pair, kernel) for kernel in KERNELS}


def assert_decides_like(found, make, step=1, atol=1e-2):
    """Compare candidates with what an estimator, made from C and strength, decides."""
    for number in range(0, len(found.C), step):
        model = make(found.C[number], found.strength[number]).fit(SPLIT.X, SPLIT.y)
        for X, f in (
            (SPLIT.X_validation, found.f_validation[number]),
            (SPLIT.X_test, found.f_test[number]),
        ):
            expected = model.decision_function(X)
            size = max(1.0, np.abs(expected).max())
            np.testing.assert_allclose(f, expected, atol=atol * size)
            clear = np.abs(expected) > 2 * atol * size
            np.testing.assert_array_equal((f > 0)[clear], (expected > 0)[clear])


@every_kernel
def test_svm_is_the_supervised_machine(works, kernel):
    found = svm(works[kernel])
    assert found.C.tolist() == pytest.approx(CS)
    assert_decides_like(found, lambda C, _: SupervisedSVC(kernel=kernel, C=C))


@every_kernel
def test_cut_is_the_estimator_with_the_papers_parameters(works, kernel):
    found = cut(works[kernel])
    assert found.strength.tolist() == np.repeat(GAMMA_G, 2).tolist()
    assert found.C.tolist() == pytest.approx(CS * 7)
    assert_decides_like(
        found, lambda C, g: MaxMarginGraphCut(kernel=kernel, C=C, gamma_g=g, **CUT), step=3
    )


@pytest.mark.parametrize(("method", "c_labeled"), [(soft_cut, 1.0), (firm_cut, 10.0)])
def test_soft_cuts_have_finite_weights_of_labels(works, method, c_labeled):
    soft = {"c_labeled": c_labeled, "c_unlabeled": 0.01}
    found = method(works["linear"])
    assert found.strength.tolist() == np.repeat(GAMMA_G, 2).tolist()
    assert_decides_like(
        found,
        lambda C, g: MaxMarginGraphCut(kernel="linear", C=C, gamma_g=g, **CUT, **soft),
        step=3,
    )
    assert np.abs(found.f_test - cut(works["linear"]).f_test).max() > 0.01


def test_sound_cut_has_the_gamma_g_of_the_theory(works):
    found = sound_cut(works["rbf"])
    assert found.strength.tolist() == [N_LABELED**1.5] * 2
    soft = {"c_labeled": 1.0, "c_unlabeled": 0.01}
    assert_decides_like(
        found, lambda C, g: MaxMarginGraphCut(kernel="rbf", C=C, gamma_g=g, **CUT, **soft)
    )


@every_kernel
@pytest.mark.parametrize("bias", [False, True], ids=["published", "fair"])
def test_manifold_regularization_is_the_warped_kernel(works, kernel, bias):
    found = (fair_manifold if bias else published_manifold)(works[kernel])
    assert found.strength.tolist() == np.repeat(GAMMA_G, 2).tolist()
    assert_decides_like(
        found,
        lambda C, ratio: ManifoldSVC(
            kernel=kernel,
            C=C,
            gamma_u=1 / (2 * C) / ratio,
            fit_intercept=bias,
            approximation="none",  # ours are features
        ),
        step=7,
        atol=1e-5,
    )


def test_harmonic_solution_is_that_of_all_rows(pair, works):
    found = harmonic(works["linear"])
    assert found.strength.tolist() == list(GAMMA_G)
    X = np.concatenate([SPLIT.X, SPLIT.X_validation, SPLIT.X_test, SPLIT.X_unused])
    y = np.full(len(X), -1)
    y[: len(SPLIT.y)] = SPLIT.y
    rows = slice(len(SPLIT.y), len(SPLIT.y) + len(pair.X_new))
    for number in (0, 3, 6):
        model = HarmonicClassifier(gamma_g=GAMMA_G[number]).fit(X, y)
        expected = model.harmonic_solution_.ell[rows]
        f_new = np.concatenate([found.f_validation[number], found.f_test[number]])
        np.testing.assert_allclose(f_new, expected, rtol=1e-6, atol=1e-12)


def test_hat_loss_has_the_c_of_the_better_svm(works):
    found = hat_loss(works["linear"])
    wrong = ((svm(works["linear"]).f_validation > 0) != SPLIT.y_validation).sum(axis=1)
    C = CS[int(wrong.argmin())]
    assert found.C.tolist() == pytest.approx([C] * 3)
    assert found.strength.tolist() == pytest.approx([1 / share for share in HAT_SHARES])
    assert_decides_like(
        found,
        lambda C, ratio: SemiSupervisedSVC(
            kernel="linear", C=C, gamma_u=1 / (2 * C) / ratio, class_prior=None
        ),
        atol=1e-6,
    )


def test_automatic_cut_chooses_by_the_validation_rows(works):
    found = automatic_cut(works["rbf"])
    model = MaxMarginGraphCut(random_state=SPLIT.seed)
    search = MaxMarginGraphCutCV(estimator=model, cv=(SPLIT.X_validation, SPLIT.y_validation)).fit(
        SPLIT.X, SPLIT.y
    )
    np.testing.assert_allclose(found.f_test[0], search.decision_function(SPLIT.X_test), atol=1e-6)
    assert len(search.choice_.trials.given) == len(SPLIT.y_validation)


@pytest.mark.filterwarnings("ignore:.* in components of the graph")
def test_all_labels_cut_learns_from_two_thirds(works):
    found = all_labels_cut(works["rbf"])
    X = np.concatenate([SPLIT.X, SPLIT.X_validation, SPLIT.X_unused])
    y = np.full(len(X), -1)
    y[: len(SPLIT.y)] = SPLIT.y
    y[len(SPLIT.y) : len(SPLIT.y) + len(SPLIT.y_validation)] = SPLIT.y_validation
    model = MaxMarginGraphCut(random_state=SPLIT.seed).fit(X, y)
    np.testing.assert_allclose(found.f_test[0], model.decision_function(SPLIT.X_test), atol=1e-6)


@pytest.mark.filterwarnings("ignore:.* in components of the graph")
@pytest.mark.parametrize("name", METHODS)
def test_methods_learn_and_do_not_look_at_test_labels(works, name):
    flipped = KernelWork(PairWork(replace(SPLIT, y_test=1 - SPLIT.y_test)), "linear")
    found, other = METHODS[name](works["linear"]), METHODS[name](flipped)
    assert found.f_validation.shape == (len(found.C), len(SPLIT.y_validation))
    assert found.f_test.shape == (len(found.C), len(SPLIT.y_test))
    np.testing.assert_array_equal(found.f_test, other.f_test)
    np.testing.assert_array_equal(found.f_validation, other.f_validation)
    chosen = choose_of_grid(found.f_validation, SPLIT.y_validation, found.f_test, SPLIT.y_test)
    assert chosen.expected < 0.2


@pytest.mark.parametrize("name", [name for name in METHODS if name not in CHOOSING])
def test_grids_do_not_look_at_validation_labels(works, name):
    hidden = replace(SPLIT, y_validation=1 - SPLIT.y_validation)
    other = METHODS[name](KernelWork(PairWork(hidden), "linear"))
    np.testing.assert_array_equal(METHODS[name](works["linear"]).f_test, other.f_test)


def test_all_methods_but_the_harmonic_one_depend_on_the_kernel(works):
    found = {name: METHODS[name](works["rbf"]).f_test for name in ("SVM", "GC", HARMONIC)}
    same = {
        name: np.array_equal(f, METHODS[name](works["linear"]).f_test) for name, f in found.items()
    }
    assert same == {"SVM": False, "GC": False, HARMONIC: True}


@every_kernel
def test_plain_products_have_width_1_unless_they_are_distances(pair, kernel):
    scaled, plain = (KernelWork(pair, kernel, scaled=scaled) for scaled in (True, False))
    assert scaled.kernel.width == pair.width != 1.0
    assert plain.kernel.width == (pair.width if kernel == "rbf" else 1.0)
    products = SPLIT.X @ SPLIT.X.T
    expected = {"linear": products, "cubic": (products + 1) ** 3}.get(kernel, scaled.values[0])
    np.testing.assert_allclose(plain.values[0], expected)


def test_width_is_the_papers(pair):
    sigma = SPLIT.X.std(axis=0).mean()
    assert pair.width == pytest.approx(np.sqrt(SPLIT.X.shape[1]) * sigma)
