"""Figures 1 and 2."""

import math
import re

import numpy as np
import pytest

from graphmargin.datasets import make_lattices
from graphmargin.estimators import ManifoldSVC, SupervisedSVC
from graphmargin.graph.laplacian import laplacian
from reproduction.lattices.claims import directions, figure1_claims, figure2_claims
from reproduction.lattices.draw import draw_figure1, draw_figure2
from reproduction.lattices.run import (
    FIGURE1_GAMMA_G,
    FIGURE2_GAMMA_G,
    GAMMA,
    GAMMA_U,
    FieldRecord,
    decision_fields,
    decision_function,
    fewest_wrong,
    grid_points,
    harmonic_solutions,
    other_widths,
    separations,
    separations_of,
    sweep,
)
from reproduction.lattices.section import figure1_section, figure2_section
from reproduction.published import KERNEL_NAMES

slow = pytest.mark.slow_reproduction


@pytest.fixture(scope="module")
def fields():
    return decision_fields()


@pytest.fixture(scope="module")
def swept():
    return sweep()


def test_figure1_solves_the_system_of_the_paper():
    X, y, _, W = make_lattices()
    records = harmonic_solutions()
    assert [(r.x1, r.x2) for r in records[:200]] == [tuple(x) for x in X.tolist()]
    assert sorted(r.label for r in records[:200] if r.label) == ["+1", "-1"]
    free, given = y < 0, 2.0 * y[y >= 0] - 1
    for gamma_g in FIGURE1_GAMMA_G:
        ell = np.array([r.ell for r in records if r.gamma_g == gamma_g])
        A = laplacian(W).toarray()[np.ix_(free, free)] + gamma_g * np.eye(free.sum())
        expected = np.linalg.solve(A, W.toarray()[np.ix_(free, ~free)] @ given)
        np.testing.assert_allclose(ell[free], expected, atol=1e-12)


def test_the_spread_of_the_graph_is_the_published_one():
    delta, confidence = figure1_claims(harmonic_solutions())
    assert delta.published == "218.351"
    assert delta.ours == "218.351 along x1, 218.351 along x2"
    assert delta.holds
    assert confidence.holds


def test_figure1_has_the_graph_and_three_solutions():
    figure = draw_figure1(harmonic_solutions())
    graph, *panels = figure.axes
    [edges] = graph.collections
    assert len(edges.get_segments()) == 360
    for ax, gamma_g in zip(panels, FIGURE1_GAMMA_G, strict=True):
        assert f"{gamma_g:g}" in ax.get_title()
    assert len(figure.legends[0].get_texts()) == 5


@slow
def test_all_claims_on_the_decision_functions_hold(fields, swept):
    claims = figure2_claims(fields, swept)
    assert [claim.claim for claim in claims if not claim.holds] == []
    assert len({claim.claim for claim in claims}) == len(claims) == 5


@slow
def test_claims_do_not_hold_if_records_contradict_them(fields, swept):
    slanted = [
        FieldRecord(r.method, r.kernel, r.gamma_g, r.x1, r.x2, r.x1 + r.gamma_g * r.x2)
        for r in fields
    ]
    assert figure2_claims(slanted, swept)[0].holds is False
    never = [FieldRecord(r.method, r.kernel, r.gamma_g, r.x1, r.x2, -r.x1) for r in fields]
    assert figure2_claims(never, swept)[2].holds is False


@slow
def test_wrong_vertices_are_counted_from_the_records(fields):
    X, _, y_true, _ = make_lattices()
    assert {tuple(x) for x in X.tolist()} <= {tuple(point) for point in grid_points().tolist()}
    counts = {(s.method, s.kernel, s.gamma_g): s for s in separations_of(fields)}
    assert len(counts) == 2 * 3 * len(FIGURE2_GAMMA_G)
    f = decision_function("GC", "linear", 0.3, X)
    assert counts["GC", "linear", 0.3].wrong == int(((f > 0) != y_true).sum()) == 8


@slow
def test_linear_mr_only_scales_the_regularizer(fields):
    """gamma + gamma_u Delta / 2 in place of gamma, eq. linear SVM of the paper."""
    X, y, _, _ = make_lattices()
    for gamma_g in (100.0, 0.1):
        gamma = GAMMA + GAMMA / gamma_g * 360 * math.exp(-0.5) / 2
        svm = SupervisedSVC(kernel="linear", width=1.0, C=1 / (2 * gamma)).fit(X, y)
        f = decision_function("MR", "linear", gamma_g, X)
        np.testing.assert_allclose(f, svm.decision_function(X), atol=1e-3)
    expected = math.degrees(math.atan2(-9.0, 10.0))  # from one label to the other
    np.testing.assert_allclose(list(directions(fields).values()), expected, atol=1e-6)


@slow
@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize(("kernel", "gamma_u"), [("linear", 1e-2), ("cubic", 1e-4), ("cubic", 1.0)])
def test_the_sweep_agrees_with_the_estimator(kernel, gamma_u, fit_intercept, swept):
    """Kernel matrices are not rounded off here; by symmetry, the bias changes nothing."""
    X, y, y_true, W = make_lattices()
    width = other_widths()[1]
    model = ManifoldSVC(
        kernel=KERNEL_NAMES[kernel],
        width=width,
        C=1 / (2 * GAMMA),
        gamma_u=gamma_u,
        fit_intercept=fit_intercept,
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
    assert {r.wrong for r in swept if r.kernel == "linear"} == {20}


def test_fewest_wrong_is_that_of_the_best_threshold():
    random = np.random.default_rng(0)
    for _ in range(20):
        h = random.integers(0, 6, 12).astype(float)
        y = random.integers(0, 2, 12)
        tried = [((h > b) != y).sum() for b in np.arange(-1, 7) + 0.5]
        assert fewest_wrong(h, y) == min(tried)


@slow
def test_graph_cuts_separate_with_other_widths():
    records = [r for r in separations(other_widths()[-1:]) if r.method == "GC"]
    assert all(r.separated == (r.gamma_g <= 0.1) for r in records)


@slow
def test_titles_of_figure2_say_whether_the_lattices_are_separated(fields):
    figure = draw_figure2(fields)
    rows = [figure.axes[i * 6 : i * 6 + 6] for i in range(6)]
    names = [row[0].get_ylabel().split("\n")[0] for row in rows]
    kernels = ("linear", "cubic", "RBF")
    assert names == [f"{kernel} {method}" for kernel in kernels for method in ("MR", "GC")]
    titles = {name: [ax.get_title() for ax in row] for name, row in zip(names, rows, strict=True)}
    assert "separated" not in titles["linear MR"] + titles["cubic MR"]
    for kernel in kernels:
        assert titles[f"{kernel} GC"][-1] == "separated"
    assert "$f = 0$" in [text.get_text() for text in figure.legends[0].get_texts()]


@slow
def test_sections_tell_the_paper_from_ours(fields, swept):
    sections = [figure1_section(harmonic_solutions()), figure2_section(fields, swept)]
    for number, section in enumerate(sections, start=1):
        assert section.title.startswith(f"Figure {number}")
        shown = re.findall(r"!\[[^\]]{20,}\]\(images/(\w+)\.png\)", section.markdown)
        assert shown == list(section.figures) == [f"figure{number}"]
        for heading in ("What the paper shows", "What we see", "What the paper leaves open"):
            assert f"**{heading}.**" in section.markdown
    assert "| 1 | linear | GC | 20 | 20 | 20 | 8 | 0 | 0 |" in sections[1].markdown
