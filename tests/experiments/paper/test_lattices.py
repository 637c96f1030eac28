import math
from pathlib import Path

import numpy as np
import pytest

from graphmargin.datasets import make_lattices
from graphmargin.estimators import ManifoldSVC, SupervisedSVC
from graphmargin.experiments.paper.lattice_claims import (
    directions,
    figure2_claims,
    lattice_claims,
    likeness,
)
from graphmargin.experiments.paper.lattices import (
    EPS,
    FIGURE1_GAMMA_G,
    FIGURE2_GAMMA_G,
    GAMMA,
    GAMMA_U,
    FieldRecord,
    decision_function,
    fewest_wrong,
    figure1,
    figure2,
    grid_points,
    other_widths,
    separations,
    separations_of,
    sweep,
)
from graphmargin.experiments.paper.published import KERNELS
from graphmargin.experiments.paper.settings import Settings
from graphmargin.graph.laplacian import laplacian

SETTINGS = Settings(Path("unused"), quick=True)


@pytest.fixture(scope="module")
def fields():
    return figure2(SETTINGS)


@pytest.fixture(scope="module")
def swept():
    return sweep(SETTINGS)


def test_settings_are_those_of_the_paper():
    assert (GAMMA, EPS) == (0.1, 0.01)
    assert len(FIGURE1_GAMMA_G) == 3
    assert list(FIGURE2_GAMMA_G) == sorted(FIGURE2_GAMMA_G, reverse=True)


def test_figure1_solves_the_system_of_the_paper():
    X, y, _, W = make_lattices()
    records = figure1(SETTINGS)
    assert [(r.x1, r.x2) for r in records[:200]] == [tuple(x) for x in X.tolist()]
    assert sorted(r.label for r in records[:200] if r.label) == ["+1", "-1"]
    free, given = y < 0, 2.0 * y[y >= 0] - 1
    for gamma_g in FIGURE1_GAMMA_G:
        ell = np.array([r.ell for r in records if r.gamma_g == gamma_g])
        A = laplacian(W).toarray()[np.ix_(free, free)] + gamma_g * np.eye(free.sum())
        expected = np.linalg.solve(A, W.toarray()[np.ix_(free, ~free)] @ given)
        np.testing.assert_allclose(ell[free], expected, atol=1e-12)


def test_the_grid_has_every_vertex():
    grid = {tuple(point) for point in grid_points().tolist()}
    assert {tuple(x) for x in make_lattices().X.tolist()} <= grid


def test_all_claims_on_the_lattices_hold(fields, swept):
    claims = lattice_claims(figure1(SETTINGS), fields, swept)
    assert [claim.claim for claim in claims if not claim.holds] == []
    assert len({claim.claim for claim in claims}) == len(claims) == 7


def test_claims_are_denied_where_records_deny_them(fields, swept):
    """The verdicts are derived: they change with the records."""
    slanted = [
        FieldRecord(r.method, r.kernel, r.gamma_g, r.x1, r.x2, r.x1 + r.gamma_g * r.x2)
        for r in fields
    ]
    assert figure2_claims(slanted, swept)[0].holds is False
    never = [FieldRecord(r.method, r.kernel, r.gamma_g, r.x1, r.x2, -r.x1) for r in fields]
    assert figure2_claims(never, swept)[2].holds is False


def test_wrong_vertices_are_counted_from_the_records(fields):
    X, _, y_true, _ = make_lattices()
    found = {(s.method, s.kernel, s.gamma_g): s for s in separations_of(fields)}
    assert len(found) == 2 * 3 * len(FIGURE2_GAMMA_G)
    f = decision_function("GC", "linear", 0.3, X)
    assert found["GC", "linear", 0.3].wrong == int(((f > 0) != y_true).sum()) > 0


def test_the_cut_of_the_largest_gamma_g_is_supervised():
    X, y, _, _ = make_lattices()
    svm = SupervisedSVC(kernel="cubic", width=1.0, C=5.0).fit(X, y)
    cut = decision_function("GC", "cubic", max(FIGURE2_GAMMA_G), X)
    np.testing.assert_allclose(cut, svm.decision_function(X), atol=1e-3)


def test_linear_mr_only_scales_the_regularizer():
    """gamma + gamma_u Delta / 2 in place of gamma, eq. linear SVM of the paper."""
    X, y, _, _ = make_lattices()
    for gamma_g in (100.0, 0.1):
        gamma = GAMMA + GAMMA / gamma_g * 360 * math.exp(-0.5) / 2
        svm = SupervisedSVC(kernel="linear", width=1.0, C=1 / (2 * gamma)).fit(X, y)
        f = decision_function("MR", "linear", gamma_g, X)
        np.testing.assert_allclose(f, svm.decision_function(X), atol=1e-3)


def test_directions_are_those_of_the_two_labels(fields):
    expected = math.degrees(math.atan2(-9.0, 10.0))
    np.testing.assert_allclose(list(directions(fields).values()), expected, atol=1e-6)


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("kernel", ["linear", "cubic"])
@pytest.mark.parametrize("gamma_u", [1e-4, 1e-2, 1.0])
def test_the_sweep_agrees_with_the_estimator(kernel, gamma_u, fit_intercept, swept):
    """Where kernel matrices are not rounded off; by symmetry, the bias changes nothing."""
    X, y, y_true, W = make_lattices()
    width = other_widths()[1]
    model = ManifoldSVC(
        kernel=kernel,
        width=width,
        C=1 / (2 * GAMMA),
        gamma_u=gamma_u,
        fit_intercept=fit_intercept,
        affinity="precomputed",
    )
    f = model.fit(X, y, W=W).decision_function(X)
    [record] = [
        r
        for r in swept
        if (r.kernel, r.width) == (kernel, width) and math.isclose(r.gamma_u, gamma_u)
    ]
    assert record.wrong == ((f > 0) != y_true).sum()
    assert record.wrong_best_bias <= record.wrong


def test_the_sweep_covers_both_ends(swept):
    assert len(swept) == 3 * 2 * len(GAMMA_U)
    assert {0.0, math.inf} < {r.gamma_u for r in swept}
    assert all(r.wrong > 0 for r in swept)


def test_fewest_wrong_is_that_of_the_best_threshold():
    random = np.random.default_rng(0)
    for _ in range(20):
        h = random.integers(0, 6, 12).astype(float)
        y = random.integers(0, 2, 12)
        tried = [((h > b) != y).sum() for b in np.arange(-1, 7) + 0.5]
        assert fewest_wrong(h, y) == min(tried)


def test_likeness_of_equal_functions_is_one(fields):
    twins = [
        FieldRecord(method, r.kernel, r.gamma_g, r.x1, r.x2, r.f)
        for r in fields
        if r.method == "GC" and r.gamma_g == 0.1
        for method in ("MR", "GC")
    ]
    for kernel in KERNELS:
        assert likeness(twins, kernel, 0.1) == pytest.approx((1.0, 1.0))


def test_graph_cuts_separate_with_other_widths():
    records = [r for r in separations(SETTINGS) if r.method == "GC"]
    assert all(r.separated == (r.gamma_g <= 0.1) for r in records)


def test_progress_is_told():
    told = []
    settings = Settings(Path("unused"), progress=lambda share, text: told.append((share, text)))
    figure1(settings)
    sweep(settings)
    assert len(told) == 2
