from dataclasses import replace

import numpy as np
import pytest

from graphmargin.estimators import MaxMarginGraphCut
from graphmargin.experiments.paper import thresholds
from graphmargin.experiments.paper.settings import Settings
from graphmargin.experiments.paper.threshold_claims import (
    MEASURES,
    curve,
    difference,
    threshold_claims,
)
from graphmargin.experiments.paper.thresholds import (
    GAMMA_G,
    PAIRS,
    THRESHOLDS,
    ThresholdRecord,
    figure3,
    letter_draw,
    part_name,
    run_thresholds,
    threshold_cell,
)

CELLS = [("A-B", 0), ("M-N", 0), ("V-W", 0), ("A-B", 1), ("M-N", 1), ("V-W", 1)]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("figure3")


@pytest.fixture(scope="module")
def records(folder):
    return run_thresholds(CELLS, Settings(folder, n_jobs=1))


def test_thresholds_are_those_of_the_paper():
    assert THRESHOLDS == (0.0, 1e-6, 1e-3)
    assert len(PAIRS) == 3


def test_records_are_sorted_and_complete(records):
    keys = [(r.pair, r.draw, r.eps, r.gamma_g) for r in records]
    assert keys == sorted(keys)
    assert len(keys) == len(CELLS) * len(THRESHOLDS) * len(GAMMA_G)


def test_an_interrupted_run_continues_to_the_same_records(folder, records, tmp_path):
    whole = (folder / "figure3.csv").read_bytes()
    path = tmp_path / "figure3.csv"
    path.write_bytes(whole[: len(whole) // 2 + 7])
    assert not path.read_bytes().endswith(b"\n")
    assert run_thresholds(CELLS, Settings(tmp_path, n_jobs=1)) == records
    assert sorted(path.read_bytes().splitlines()) == sorted(whole.splitlines())


def test_finished_draws_are_not_computed_again(folder, records, monkeypatch):
    monkeypatch.setattr(thresholds, "letter_draw", None)
    assert run_thresholds(CELLS, Settings(folder, n_jobs=1)) == records


def test_a_record_is_what_the_estimator_does():
    """Independent of the shared graph, the path and warm starts."""
    gamma_g, eps = 10.0, 1e-3
    data = letter_draw("A-B", 0)
    split = data.split
    [record] = threshold_cell(("A-B", 0), {part_name(gamma_g, eps): (gamma_g, eps)})
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


def test_the_largest_gamma_g_is_supervised_with_a_threshold_only(records):
    for pair in PAIRS:
        shares = [curve(records, pair, eps, "share").values[:, -1] for eps in THRESHOLDS]
        assert (shares[0] > 0.5).all()
        assert (shares[2] < 0.02).all()


def claims_of(records, text):
    return [claim.holds for claim in threshold_claims(records) if text in claim.claim]


def test_claims_on_risk_and_share_hold(records):
    assert claims_of(records, "lowers the thresholded risk") == [True, True]
    assert claims_of(records, "fewer rows") == [True]
    assert claims_of(records, "other pairs") == [None]


@pytest.mark.parametrize("measure", ["risk", "train_error", "test_error"])
def test_a_change_within_two_standard_errors_is_no_claim(records, measure):
    text = MEASURES[measure]
    for change, noise, expected in ((-0.1, 0.0, True), (-0.1, 0.4, False), (0.1, 0.0, False)):
        made = [
            replace(r, **{measure: (r.eps > 0) * (change + noise * (r.draw - 0.5))})
            for r in records
        ]
        assert claims_of(made, f"lowers the {text}")[:2] == [expected] * 2


def test_a_single_draw_decides_nothing(records):
    single = [r for r in records if r.draw == 0]
    assert claims_of(single, "lowers the test error")[:2] == [None, None]
    assert not any("nan" in claim.ours for claim in threshold_claims(single))


def test_other_pairs_are_counted(records):
    others = [replace(r, pair="B-C", test_error=-r.eps) for r in records if r.pair == "A-B"]
    assert claims_of([*records, *others], "other pairs") == [True]


def test_differences_are_paired_over_draws():
    records = [
        ThresholdRecord("A-B", draw, gamma_g, eps, draw - 0.5 * (eps > 0), 0.0, 0.0, 1.0)
        for draw in range(4)
        for gamma_g in (1.0, 10.0)
        for eps in THRESHOLDS
    ]
    assert difference(records, "A-B", 1e-3, "risk") == pytest.approx((-0.5, 0.0))
    mean = curve(records, "A-B", 0.0, "risk")
    assert mean.mean.tolist() == [1.5, 1.5]
    np.testing.assert_allclose(mean.standard_error, np.std(range(4), ddof=1) / 2)


def test_three_pairs_have_more_draws_than_the_others(tmp_path, monkeypatch):
    asked = []
    monkeypatch.setattr(thresholds, "run_thresholds", lambda cells, _: asked.append(cells) or [])
    figure3(Settings(tmp_path, quick=True))
    figure3(Settings(tmp_path))
    figure3(Settings(tmp_path, draws=3))
    assert [len(cells) for cells in asked] == [3 * 5 + 22, 3 * 50 + 22 * 10, 25 * 3]


def test_draws_on_which_pairs_were_picked_are_not_used(tmp_path, monkeypatch):
    asked = []
    monkeypatch.setattr(thresholds, "run_thresholds", lambda cells, _: asked.extend(cells) or [])
    figure3(Settings(tmp_path))
    assert {draw for _, draw in asked} == set(range(4, 54))
