"""Figure 3: the threshold eps, and the bounds."""

from dataclasses import replace

import numpy as np
import pytest

from graphmargin.estimators import MaxMarginGraphCut
from graphmargin.graph.laplacian import laplacian
from graphmargin.harmonic import harmonic_solution
from reproduction.options import RunOptions
from reproduction.thresholds.bounds import C_UNLABELED, BoundRecord, replaced_examples, run_bounds
from reproduction.thresholds.bounds import GAMMA_G as BOUND_GAMMA_G
from reproduction.thresholds.claims import (
    MEASURES,
    bound_claims,
    curve,
    difference,
    threshold_claims,
)
from reproduction.thresholds.draw import COLORS, draw_figure3
from reproduction.thresholds.letters import PAIRS, letter_draw
from reproduction.thresholds.run import (
    GAMMA_G,
    THRESHOLDS,
    ThresholdRecord,
    figure3_settings,
    run_thresholds,
    threshold_records,
)
from reproduction.thresholds.section import figure3_section

SETTINGS = [("A-B", 0), ("M-N", 0), ("V-W", 0), ("A-B", 1), ("M-N", 1), ("V-W", 1)]
BOUND = BoundRecord("A-B", 0, 1.0, 0.5, 500, 5, 0.1, 9.0, 9.0, 40, 0, 1.0, 6, 0.5, 0.9)
slow = pytest.mark.slow_reproduction


def made_up(pairs=PAIRS, draws=2):
    """Return records whose test errors are 25 % and 26 %, and risks that fall with eps."""
    return [
        ThresholdRecord(pair, draw, gamma_g, eps, 0.1 - eps, 0.2, 0.25 + 0.01 * draw, 1 - eps)
        for pair in pairs
        for draw in range(draws)
        for eps in THRESHOLDS
        for gamma_g in GAMMA_G
    ]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("figure3")


@pytest.fixture(scope="module")
def records(folder):
    return run_thresholds(SETTINGS, RunOptions(folder, n_jobs=1))


@pytest.fixture(scope="module")
def bounds(folder):
    return run_bounds(RunOptions(folder, draws=2, n_jobs=1))


@slow
def test_records_are_sorted_and_complete(records, bounds):
    keys = [(r.pair, r.draw, r.eps, r.gamma_g) for r in records]
    assert keys == sorted(keys)
    assert len(keys) == len(SETTINGS) * len(THRESHOLDS) * len(GAMMA_G)
    keys = [(r.pair, r.draw, r.gamma_g, r.c_unlabeled) for r in bounds]
    assert keys == sorted(keys)
    assert len(keys) == 2 * len(PAIRS) * len(BOUND_GAMMA_G) * len(C_UNLABELED)


@slow
def test_an_interrupted_run_continues_to_the_same_records(folder, records, options):
    """Every cut of a draw starts at the one before it, so that all are computed again."""
    whole = (folder / "finished" / "figure3.csv").read_bytes()
    path = options.finished("figure3")
    path.parent.mkdir()
    path.write_bytes(whole[: len(whole) // 2 + 7])
    assert run_thresholds(SETTINGS, options) == records
    assert sorted(path.read_bytes().splitlines()) == sorted(whole.splitlines())


@slow
def test_a_record_agrees_with_the_estimator():
    """Independent of the shared graph, the path and warm starts."""
    gamma_g, eps = 10.0, 1e-3
    split = letter_draw("A-B", 0).split
    [record] = threshold_records(("A-B", 0), {(eps, gamma_g): None})
    with pytest.warns(UserWarning, match="without a label"):
        model = MaxMarginGraphCut(
            kernel="linear",
            C=5.0,
            gamma_g=gamma_g,
            eps=eps,
            loss_weights="equal",
            class_mass_normalization=False,
        ).fit(split.X, split.y)
    ell = model.harmonic_solution_.ell
    kept = np.abs(ell) >= eps
    side = np.where(model.decision_function(split.X) > 0, 1, -1)
    risk = (side != np.sign(ell))[kept].sum() / len(ell) + 2 * eps * (~kept).mean()
    assert record.risk == pytest.approx(risk, abs=2.5 / len(ell))
    assert record.share == pytest.approx(kept.mean())
    errors = 1 - model.score(split.X, split.y_true), 1 - model.score(split.X_test, split.y_test)
    assert (record.train_error, record.test_error) == pytest.approx(errors, abs=0.005)


@slow
def test_the_largest_gamma_g_is_supervised_with_a_threshold_only(records):
    for pair in PAIRS:
        shares = [curve(records, pair, eps, "share").values[:, -1] for eps in THRESHOLDS]
        assert (shares[0] > 0.5).all()
        assert (shares[2] < 0.02).all()
    assert claims_of(records, "lowers the thresholded risk") == [True, True]
    assert claims_of(records, "fewer rows") == [True]
    assert claims_of(records, "other pairs") == [None]


def claims_of(records, text):
    return [claim.holds for claim in threshold_claims(records) if text in claim.claim]


@pytest.mark.parametrize("measure", ["risk", "train_error", "test_error"])
def test_a_change_within_two_standard_errors_is_no_claim(measure):
    text = MEASURES[measure]
    for change, noise, expected in ((-0.1, 0.0, True), (-0.1, 0.4, False), (0.1, 0.0, False)):
        changed = [
            replace(r, **{measure: (r.eps > 0) * (change + noise * (r.draw - 0.5))})
            for r in made_up()
        ]
        assert claims_of(changed, f"lowers the {text}")[:2] == [expected] * 2


def test_a_single_draw_decides_nothing_and_other_pairs_are_counted():
    single = made_up(draws=1)
    assert claims_of(single, "lowers the test error")[:2] == [None, None]
    assert not any("nan" in claim.ours for claim in threshold_claims(single))
    others = [replace(r, pair="B-C", test_error=-r.eps) for r in made_up(PAIRS[:1])]
    assert claims_of([*made_up(), *others], "other pairs") == [True]


def test_differences_are_paired_over_draws():
    records = [
        ThresholdRecord("A-B", draw, gamma_g, eps, draw - 0.5 * (eps > 0), 0.0, 0.0, 1.0)
        for draw in range(4)
        for gamma_g in (1.0, 10.0)
        for eps in THRESHOLDS
    ]
    assert difference(records, "A-B", 1e-3, "risk") == pytest.approx((-0.5, 0.0))
    risk = curve(records, "A-B", 0.0, "risk")
    assert risk.mean.tolist() == [1.5, 1.5]
    np.testing.assert_allclose(risk.standard_error, np.std(range(4), ddof=1) / 2)


def test_three_pairs_have_more_draws_than_the_others(options):
    changes = [{"quick": True}, {}, {"draws": 3}]
    counts = [len(figure3_settings(replace(options, **change))) for change in changes]
    assert counts == [3 * 5 + 22, 3 * 50 + 22 * 10, 25 * 3]
    # The pairs were picked on the draws 0 to 3.
    assert {draw for _, draw in figure3_settings(options)} == set(range(4, 54))


@slow
def test_the_inequalities_of_the_theory_hold_and_say_nothing_with_five_labels(bounds):
    assert [claim.holds for claim in bound_claims(bounds)] == [True] * 4
    assert all(r.n_labeled == 5 and r.bound > 1 and r.lemma_bound > 1 for r in bounds)
    assert all(r.bound <= r.plain_bound + 2e-3 for r in bounds)  # the slack of the threshold


def test_violations_of_the_theory_are_counted():
    assert [claim.holds for claim in bound_claims([BOUND])] == [True] * 4
    changes = [
        {"pointwise_violations": 1},
        {"test_error": 99.0 * BOUND.lemma_bound},
        {"moved_loss": 2 * BOUND.beta},
        {"bound": 0.4},
    ]
    for number, change in enumerate(changes):
        claims = bound_claims([replace(BOUND, **change)])
        assert [i for i, claim in enumerate(claims) if not claim.holds] == [number]


@slow
def test_each_example_is_replaced_twice():
    data = letter_draw("A-B", 0)
    gamma_g, c_u = 1.0, 0.5
    (y, ell), *others = replaced_examples(data, gamma_g, c_u)
    labeled = np.flatnonzero(y)
    assert len(others) == 2 * len(labeled)
    for place, vertex in enumerate(labeled):
        (flipped, _), (moved, _) = others[2 * place : 2 * place + 2]
        assert np.flatnonzero(flipped != y).tolist() == [vertex]
        assert np.count_nonzero(moved) == len(labeled)
        assert moved[vertex] == 0
    for target, solution in others:
        weight = np.where(target == 0, c_u, 1.0)
        residual = weight * (solution - target) + laplacian(data.W) @ solution + gamma_g * solution
        assert np.abs(residual).max() < 1e-10
        assert np.abs(solution).max() <= 1
    same = harmonic_solution(data.W, data.split.y, gamma_g=gamma_g, c_labeled=1.0, c_unlabeled=c_u)
    np.testing.assert_allclose(ell, same.ell, atol=1e-10)


def test_the_section_has_figure_tables_and_claims():
    section = figure3_section(made_up((*PAIRS, "B-C")), [BOUND])
    assert list(section.figures) == ["figure3"]
    assert "](images/figure3.png)" in section.markdown
    assert "| A-B | 25.5 ± 0.5 at 0.001 |" in section.markdown
    assert "The 1 other pairs have 2 draws." in section.markdown
    assert len(section.claims) == 13


def test_the_figure_has_a_row_for_each_pair_and_percent():
    figure = draw_figure3(made_up((*PAIRS, "B-C"), draws=1))
    assert len(figure.axes) == 12  # other pairs are left out
    for row, pair in enumerate(PAIRS):
        assert f"{pair}\n1 draw" in figure.axes[4 * row].get_ylabel()
    for ax in figure.axes:
        assert ax.get_xscale() == "log"
        assert [line.get_color() for line in ax.lines] == list(COLORS.values())
        assert len(ax.collections) == len(THRESHOLDS)  # bands
    assert figure.axes[1].lines[0].get_ydata() == pytest.approx(20)
    assert len(figure.legends[0].get_texts()) == len(THRESHOLDS)
