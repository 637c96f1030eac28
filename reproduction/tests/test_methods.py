"""The methods of the table against the estimators, fitted one by one."""

from dataclasses import replace

import numpy as np
import pytest

from graphmargin.estimators import (
    HarmonicClassifier,
    ManifoldSVC,
    MaxMarginGraphCut,
    SemiSupervisedSVC,
    SupervisedSVC,
)
from reproduction.pairs.choice import choose_of_grid
from reproduction.pairs.methods import (
    GAMMA_G,
    GC_ALL,
    GC_AUTO,
    HAT_SHARES,
    METHODS,
    S3VM,
    KernelWork,
    PairWork,
    cut,
    harmonic,
    hat_loss,
    manifold_with_bias,
    published_manifold,
    soft_cut,
    soft_cut_c10,
    soft_cut_of_theory,
    svm,
)
from reproduction.pairs.splits import split_pair
from reproduction.published import KERNEL_NAMES, KERNELS

pytestmark = pytest.mark.slow_reproduction

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


def assert_decides_like(grid, make, step=1, atol=1e-2):
    """Compare candidates with what an estimator, made from C and strength, decides."""
    for number in range(0, len(grid.C), step):
        model = make(grid.C[number], grid.strength[number]).fit(SPLIT.X, SPLIT.y)
        for X, f in (
            (SPLIT.X_validation, grid.f_validation[number]),
            (SPLIT.X_test, grid.f_test[number]),
        ):
            expected = model.decision_function(X)
            size = max(1.0, np.abs(expected).max())
            np.testing.assert_allclose(f, expected, atol=atol * size)
            clear = np.abs(expected) > 2 * atol * size
            np.testing.assert_array_equal((f > 0)[clear], (expected > 0)[clear])


@every_kernel
def test_svm_is_the_supervised_machine(works, kernel):
    grid = svm(works[kernel])
    assert grid.C.tolist() == pytest.approx(CS)
    assert_decides_like(grid, lambda C, _: SupervisedSVC(kernel=KERNEL_NAMES[kernel], C=C))


@every_kernel
def test_cut_is_the_estimator_with_the_papers_parameters(works, kernel):
    grid = cut(works[kernel])
    assert grid.strength.tolist() == np.repeat(GAMMA_G, 2).tolist()
    assert grid.C.tolist() == pytest.approx(CS * 7)
    assert_decides_like(
        grid,
        lambda C, g: MaxMarginGraphCut(kernel=KERNEL_NAMES[kernel], C=C, gamma_g=g, **CUT),
        step=3,
    )


@pytest.mark.parametrize(
    ("method", "c_labeled", "gammas"),
    [
        (soft_cut, 1.0, GAMMA_G),
        (soft_cut_c10, 10.0, GAMMA_G),
        (soft_cut_of_theory, 1.0, [N_LABELED**1.5]),
    ],
)
def test_soft_cuts_have_finite_weights_of_labels(works, method, c_labeled, gammas):
    soft = {"c_labeled": c_labeled, "c_unlabeled": 0.01}
    grid = method(works["linear"])
    assert grid.strength.tolist() == np.repeat(gammas, 2).tolist()
    assert_decides_like(
        grid,
        lambda C, g: MaxMarginGraphCut(kernel="linear", C=C, gamma_g=g, **CUT, **soft),
        step=3,
    )


@pytest.mark.parametrize(
    ("kernel", "bias"), [("linear", False), ("cubic", True), ("rbf", False), ("rbf", True)]
)
def test_manifold_regularization_is_the_warped_kernel(works, kernel, bias):
    grid = (manifold_with_bias if bias else published_manifold)(works[kernel])
    assert grid.strength.tolist() == np.repeat(GAMMA_G, 2).tolist()
    assert_decides_like(
        grid,
        lambda C, ratio: ManifoldSVC(
            kernel=KERNEL_NAMES[kernel],
            C=C,
            gamma_u=1 / (2 * C) / ratio,
            fit_intercept=bias,
            approximation="none",  # ours are features
        ),
        step=7,
        atol=1e-5,
    )


def test_harmonic_solution_is_that_of_all_rows(pair, works):
    grid = harmonic(works["linear"])
    assert grid.strength.tolist() == list(GAMMA_G)
    X = np.concatenate([SPLIT.X, SPLIT.X_validation, SPLIT.X_test, SPLIT.X_unused])
    y = np.full(len(X), -1)
    y[: len(SPLIT.y)] = SPLIT.y
    rows = slice(len(SPLIT.y), len(SPLIT.y) + len(pair.X_new))
    for number in (0, 3, 6):
        model = HarmonicClassifier(gamma_g=GAMMA_G[number]).fit(X, y)
        expected = model.harmonic_solution_.ell[rows]
        f_new = np.concatenate([grid.f_validation[number], grid.f_test[number]])
        np.testing.assert_allclose(f_new, expected, rtol=1e-6, atol=1e-12)


def test_hat_loss_has_the_c_of_the_better_svm(works):
    grid = hat_loss(works["linear"])
    wrong = ((svm(works["linear"]).f_validation > 0) != SPLIT.y_validation).sum(axis=1)
    C = CS[int(wrong.argmin())]
    assert grid.C.tolist() == pytest.approx([C] * 3)
    assert grid.strength.tolist() == pytest.approx([1 / share for share in HAT_SHARES])
    assert_decides_like(
        grid,
        lambda C, ratio: SemiSupervisedSVC(
            kernel="linear", C=C, gamma_u=1 / (2 * C) / ratio, class_prior=None
        ),
        atol=1e-6,
    )


@pytest.mark.filterwarnings("ignore:.* in components of the graph")
@pytest.mark.parametrize("name", METHODS)
def test_methods_learn_without_labels_that_they_must_not_see(works, name):
    grid = METHODS[name](works["linear"])
    assert grid.f_validation.shape == (len(grid.C), len(SPLIT.y_validation))
    hidden = ["y_test"] if name in CHOOSING else ["y_test", "y_validation"]
    flipped = replace(SPLIT, **{field: 1 - getattr(SPLIT, field) for field in hidden})
    other = METHODS[name](KernelWork(PairWork(flipped), "linear"))
    np.testing.assert_array_equal(grid.f_test, other.f_test)
    np.testing.assert_array_equal(grid.f_validation, other.f_validation)
    choice = choose_of_grid(grid.f_validation, SPLIT.y_validation, grid.f_test, SPLIT.y_test)
    assert choice.expected < 0.2


@every_kernel
def test_plain_products_have_width_1_unless_they_are_distances(pair, kernel):
    scaled, plain = (KernelWork(pair, kernel, scaled=scaled) for scaled in (True, False))
    sigma = SPLIT.X.std(axis=0).mean()
    assert scaled.kernel.width == pytest.approx(np.sqrt(SPLIT.X.shape[1]) * sigma)
    assert plain.kernel.width == (pair.width if kernel == "rbf" else 1.0)
    products = SPLIT.X @ SPLIT.X.T
    expected = {"linear": products, "cubic": (products + 1) ** 3}.get(kernel, scaled.values[0])
    np.testing.assert_allclose(plain.values[0], expected)
