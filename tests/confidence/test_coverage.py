import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphmargin.confidence.coverage import CoverageCurve, coverage_curve, surest_rows
from graphmargin.confidence.held_out_predictions import estimate_accuracy, predictions_for


def sampled(n, n_classes, certainty, rng):
    """Return class probabilities, and classes that are drawn from them."""
    P = rng.dirichlet(np.full(n_classes, 1 / certainty), size=n)
    return P, (P.cumsum(axis=1) < rng.random(n)[:, None]).sum(axis=1).clip(0, n_classes - 1)


@pytest.mark.parametrize("n_classes", [2, 3, 10])
def test_the_accuracy_of_the_surest_rows_is_what_it_is(n_classes):
    """Estimates are near the truth, given many labels and calibrated probabilities."""
    rng = np.random.default_rng(0)
    P, y = sampled(20_000, n_classes, 3.0, rng)
    own, labels = sampled(5_000, n_classes, 3.0, rng)
    held_out = predictions_for(labels, own, None, uniform_share=0.0, unlabeled=P)
    curve = coverage_curve(held_out, P)
    right = (P.argmax(axis=1) == y)[np.argsort(-P.max(axis=1), kind="stable")]
    for i, share in enumerate(curve.shares):
        truth = right[: round(share * len(right))].mean()
        deviation = np.sqrt(truth * (1 - truth) / curve.n_held_out[i])
        assert curve.accuracy[i] == pytest.approx(truth, abs=0.01 + 3 * deviation)
        assert curve.mean_confidence[i] == pytest.approx(truth, abs=0.02)
        low, high = curve.interval[i]
        assert low - 0.01 - deviation <= truth <= high + 0.01 + deviation


@given(st.integers(1, 60), st.integers(1, 40), st.integers(2, 5), st.integers(0, 1000))
def test_the_curve_ends_at_the_estimate_for_all_rows(n, n_held_out, n_classes, seed):
    rng = np.random.default_rng(seed)
    P, _ = sampled(n, n_classes, 2.0, rng)
    own, labels = sampled(n_held_out, n_classes, 2.0, rng)
    held_out = predictions_for(labels, own, None, uniform_share=0.1, unlabeled=P)
    curve, estimate = coverage_curve(held_out, P), estimate_accuracy(held_out)
    assert curve.shares[-1] == 1
    assert curve.n_held_out[-1] == n_held_out
    assert curve.accuracy[-1] == pytest.approx(estimate.accuracy)
    assert curve.interval[-1] == pytest.approx(np.array(estimate.interval))
    assert (np.diff(curve.shares) > 0).all()
    assert (np.diff(curve.thresholds) < 0).all()
    assert (np.diff(curve.n_held_out) >= 0).all()
    confidence = P.max(axis=1)
    for share, threshold in zip(curve.shares, curve.thresholds, strict=True):
        assert (confidence >= threshold).mean() == pytest.approx(share)


def test_rows_of_equal_confidence_stay_together():
    P = np.tile([0.7, 0.3], (10, 1))
    held_out = predictions_for(np.array([0, 1]), P[:2], None, uniform_share=0.0, unlabeled=P)
    curve = coverage_curve(held_out, P)
    assert curve.shares.tolist() == [1.0]
    assert curve.mean_confidence == pytest.approx([0.7])


@pytest.mark.parametrize(
    ("accuracy", "mean", "share"),
    [
        ([0.999, 0.995, 0.9], [0.999, 0.99, 0.95], 0.6),  # 99 %
        ([0.999, 0.995, 0.9], [0.999, 0.98, 0.95], 0.3),  # the probabilities say less
        ([0.96, 0.94, 0.9], [0.99, 0.98, 0.95], 0.3),  # 95 %
        ([0.999, 0.999, 0.995], [0.999, 0.999, 0.995], 1.0),
        ([0.5, 0.4, 0.3], [0.5, 0.4, 0.3], 0.6),  # near the surest half
    ],
)
def test_the_largest_share_of_a_round_accuracy_is_told(accuracy, mean, share):
    curve = CoverageCurve(
        shares=np.array([0.3, 0.6, 1.0]),
        thresholds=np.array([0.9, 0.8, 0.5]),
        mean_confidence=np.array(mean),
        n_held_out=np.array([3, 6, 10]),
        accuracy=np.array(accuracy),
        interval=np.tile([0.2, 1.0], (3, 1)),
    )
    rows = surest_rows(curve)
    assert rows.share == share
    i = [0.3, 0.6, 1.0].index(share)
    assert rows.accuracy == accuracy[i]
    assert rows.threshold == curve.thresholds[i]
