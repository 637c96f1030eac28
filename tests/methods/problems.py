"""Comparisons of trials and blends with separate fits, which tests of several methods share."""

import numpy as np

from graphmargin.margin.coupling import class_scores
from graphmargin.methods.machines import TRIAL_TOLERANCE
from graphmargin.search.search import fit
from tests.search.problems import choose_by, data_of, fit_one

TRIAL_ERROR = 1e-2
"""Error of f relative to its size, for machines that violate optimality by up to 1e-3."""


def fit_chosen(name, X, y, held_out, W=None, **parameters):
    """Return the fit of a method with the parameters that held-out labels choose."""
    data = data_of(X, y, held_out, W)
    return fit(data, choose_by(name, data, **parameters))


def assert_consistent(trials, y, held_out, n_columns):
    """Check what trials of every method have in common."""
    m, n_classes = len(trials.params), y.max() + 1
    rows = np.concatenate(held_out.folds)
    np.testing.assert_array_equal(trials.held_out_codes, y[rows])
    sizes = [len(fold) for fold in held_out.folds]
    np.testing.assert_array_equal(trials.fold, np.repeat(np.arange(len(sizes)), sizes))
    assert trials.held_out_values.shape == (m, len(rows), n_columns)
    assert trials.shares.shape == (m, n_classes)
    np.testing.assert_allclose(trials.shares.sum(axis=1), 1.0)
    assert trials.shares.min() > 0
    assert trials.scales.min() > 0
    assert trials.pair_scales.shape == (m, n_columns)
    assert trials.pair_scales.min() > 0
    np.testing.assert_array_equal(trials.held_out_rows, rows)


def assert_is_weighted_sum(name, fitted, X, y, W=None, **parameters):
    """Compare f of a blend with a sum of separate fits, up to the tolerance of trials."""
    new = X[::3] + (0.1 if parameters.get("kernel") != "precomputed" else 0.0)
    part, choice, total = fitted.predictor.part, fitted.choice, 0.0
    for i, factor in choice.blended:
        single = fit_one(name, X, y, W, **{**parameters, **choice.trials.params[i]})
        total = total + factor * single.predictor.part.machine.pairwise(new)
    f = part.machine.pairwise(new)
    relative = 0.03 if name == "low-density" else 1e-6  # paths of several gamma_u have more stages
    atol = relative * np.abs(f).max()
    if name in ("cut", "supervised"):
        atol = 2 * TRIAL_TOLERANCE * sum(factor for _, factor in choice.blended)
    np.testing.assert_allclose(f, total, atol=atol)
    calibration, n_classes = part.calibration, len(fitted.predictor.classes)
    np.testing.assert_allclose(
        calibration.pair_scales, choice.weights @ choice.trials.pair_scales, rtol=1e-12
    )
    scores = class_scores(f, n_classes, calibration.pair_scales)
    if part.walk is not None:
        P = part.walk.probabilities(new)
        scores = scores + calibration.graph_weight * np.log(np.maximum(P, 1e-6))
    np.testing.assert_allclose(part.decision(new), scores)
