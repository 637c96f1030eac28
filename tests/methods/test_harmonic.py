"""Harmonic solutions: new rows in trials, and blends of walks on one or several graphs.

Trials are compared with solutions without the held-out labels in test_families.py.
"""

import numpy as np
import pytest
from graphmargin.selection import trial_rows
from graphmargin.selection.harmonic_fits import attach, point_graph, try_harmonic
from graphmargin.selection.held_out import HeldOutLabels
from scipy import sparse
from tests.selection.tasks import HARMONIC, RUN, clusters, folds_of

from graphmargin.graph import knn_graph
from graphmargin.graph.out_of_sample import attach_by_weights
from graphmargin.harmonic import harmonic_solution
from graphmargin.harmonic._solvers.elimination import elimination_order


def test_candidates_are_scaled_by_their_mean_confidence():
    """A walk that hardly ever gets anywhere still tells the nearest class."""
    X, y = clusters(n_labeled=6, seed=1)
    (trials,) = try_harmonic(HARMONIC.tasks(X, y, gamma_g=[1e-3, 1e5]), folds_of(y), RUN)
    evidence = trials.evidence
    assert evidence.scales[1] < 1e-4 * evidence.scales[0]
    size = np.abs(evidence.held_out_values).max(axis=(1, 2))
    assert size.min() > 0.1 * size.max()


@pytest.mark.parametrize("precomputed", [False, True], ids=["rows", "graph"])
def test_validation_rows_get_the_mean_class_mass_of_their_neighbors(precomputed):
    X, y = clusters(3)
    new, codes = clusters(3, n=12, n_labeled=4, seed=1)
    W, options = knn_graph(X), {"gamma_g": [1.0, 0.01]}
    if precomputed:
        weights = sparse.csr_array(np.exp(-((new[:, None] - X) ** 2).sum(axis=2)))
        tasks = HARMONIC.tasks(W, y, affinity="precomputed", **options)
        validation, moves = (weights, codes), attach_by_weights(weights).transition
    else:
        tasks = HARMONIC.tasks(X, y, **options)
        width = np.sqrt(2) * X.std(axis=0).mean()
        squares = ((new[:, None] - X) ** 2).sum(axis=2)
        near = squares <= np.sort(squares, axis=1)[:, [4]]
        moves = np.where(near, np.exp(-squares / (2 * width**2)), 0.0)
        moves /= moves.sum(axis=1, keepdims=True)
        validation = new, codes
    (trials,) = try_harmonic(tasks, HeldOutLabels((), validation), RUN)
    evidence = trials.evidence
    assert evidence.held_out_codes is codes
    assert not evidence.fold.any()
    for i, gamma_g in enumerate((1.0, 0.01)):
        mass = harmonic_solution(W, y, gamma_g=gamma_g).class_mass
        values = evidence.held_out_values[i] * evidence.scales[i]
        np.testing.assert_allclose(values, moves @ mass, atol=1e-6)


@pytest.mark.parametrize("y", [[0, 0, 1, 0, 1, 1], [0, 0, 1, -1, -1, -1]], ids=str)
def test_without_an_unlabeled_vertex_that_is_reached_the_scale_is_one(y):
    triangles = np.kron(np.eye(2), np.ones((3, 3)) - np.eye(3))
    tasks = HARMONIC.tasks(triangles, y, affinity="precomputed", gamma_g=[1.0, 0.0, 1e-3])
    (trials,) = try_harmonic(tasks, HeldOutLabels((np.array([0]),)), RUN)
    np.testing.assert_array_equal(trials.evidence.scales, 1.0)
    np.testing.assert_allclose(
        trials.evidence.held_out_values[:, 0], [[1 / 3] * 2, [0.5] * 2, [0.4998] * 2], atol=1e-4
    )


# The blend

BLENDS = {
    "one-graph": ({"gamma_g": "auto"}, 2),
    "priors": ({"gamma_g": "auto", "class_mass_normalization": "auto"}, 2),
    "soft-priors": ({"gamma_g": "auto", "c_labeled": 2.0, "class_mass_normalization": "auto"}, 3),
    "one-candidate": ({"gamma_g": [0.3], "class_mass_normalization": [True]}, 3),
    "neighbors": ({"n_neighbors": [4, 6, 8]}, 3),
    "metrics": ({"metric": ["euclidean", "cosine"], "width": ["paper", 2.0]}, 3),
    "trust": ({"c_labeled": [np.inf, 1.0, np.full(60, 2.0)], "c_unlabeled": [0.0, 0.3]}, 3),
}


@pytest.mark.parametrize(("parameters", "n_classes"), BLENDS.values(), ids=BLENDS.keys())
def test_blend_is_the_mean_of_separate_solutions(parameters, n_classes):
    """Every graph is a part of it, into which new points step."""
    X, y = clusters(n_classes, n_labeled=2)
    X = X + 1.0  # for the cosine metric
    new = X[::3] + 0.1
    parameters = {"gamma_g": [0.1, 1.0], **parameters}
    tasks = HARMONIC.tasks(X, y, **parameters)
    trials, choice, fitted = HARMONIC.try_and_choose(tasks, folds_of(y))
    places = [part for part in trials for _ in part.evidence.params]
    used = {id(places[i]) for i, _ in choice.blended}
    assert len(used) == len(fitted.predictor.parts)
    assert (len(used) > 1) == (len(tasks) > 1)
    factors = sum(factor for _, factor in choice.blended)
    masses = distributions = 0.0
    for i, factor in choice.blended:
        single = HARMONIC.fit_one(X, y, **{**parameters, **choice.trials.params[i]})
        (part,) = single.predictor.parts
        distributions = distributions + factor / factors * single.label_distributions
        moves = attach(point_graph(places[i].task), new).transition
        masses = masses + factor / factors * (moves @ part.class_mass)
    np.testing.assert_allclose(fitted.label_distributions, distributions, atol=1e-6)
    np.testing.assert_array_equal(fitted.codes, distributions.argmax(axis=1))
    np.testing.assert_array_equal(fitted.predictor.predict(new), masses.argmax(axis=1))
    probabilities = fitted.predictor.probabilities(new)
    np.testing.assert_allclose(probabilities.sum(axis=1), 1.0)
    np.testing.assert_array_equal(probabilities.argmax(axis=1), masses.argmax(axis=1))
    assert fitted.task is places[choice.best].task
    expected = HARMONIC.fit_one(X, y, **{**parameters, **choice.best_params}).solution
    np.testing.assert_allclose(fitted.solution.class_mass, expected.class_mass, atol=1e-6)


def test_infinite_gamma_g_has_no_class_mass_and_no_weight():
    X, y = clusters()
    _, choice, fitted = HARMONIC.try_and_choose(
        HARMONIC.tasks(X, y, gamma_g=[np.inf, 0.1, 0.0]), folds_of(y)
    )
    assert choice.weights[0] == 0
    assert np.isfinite(fitted.predictor.probabilities(X)).all()
    assert fitted.gamma_path["gamma_g"].tolist() == [0.0, 0.1, np.inf]


@pytest.mark.parametrize("trust", [np.inf, np.full(120, 5.0)], ids=["hard", "soft"])
def test_after_trials_on_the_graph_of_a_sample_all_rows_are_solved(monkeypatch, trust):
    monkeypatch.setattr(trial_rows, "MAX_TRIAL_ROWS", 60)
    monkeypatch.setattr(trial_rows, "MAX_ELIMINATED_ROWS", 60)
    X, y = clusters(3, n=120)
    parameters = {"gamma_g": [10.0, 0.1], "c_labeled": trust}
    trials, choice, fitted = HARMONIC.try_and_choose(
        HARMONIC.tasks(X, y, **parameters), folds_of(y, 4)
    )
    assert trials[0].solutions == {}
    np.testing.assert_array_equal(y[choice.trials.held_out_rows], choice.trials.held_out_codes)
    masses, scales = [], []
    for i, _ in choice.blended:
        gamma_g = choice.trials.params[i]["gamma_g"]
        single = harmonic_solution(knn_graph(X), y, gamma_g=gamma_g, c_labeled=trust)
        masses.append(single.label_distributions)
        scales.append(single.confidence[y < 0].mean())
    factors = choice.weights[[i for i, _ in choice.blended]] / scales
    expected = np.tensordot(factors / factors.sum(), masses, axes=1)
    np.testing.assert_allclose(fitted.label_distributions, expected, atol=1e-6)
    assert len(fitted.solution.codes) == 120


def test_graph_with_little_fill_may_have_more_rows_in_trials(monkeypatch):
    monkeypatch.setattr(trial_rows, "MAX_TRIAL_ROWS", 60)
    X, y = clusters(3, n=120)
    (task,), held_out = HARMONIC.tasks(X, y, gamma_g=[10.0, 0.1]), folds_of(y, 4)
    assert len(trial_rows.draw_trial_rows(task, held_out, RUN).numbers) == 120
    monkeypatch.setattr(trial_rows, "MAX_ELIMINATED_ROWS", 80)
    assert len(trial_rows.draw_trial_rows(task, held_out, RUN).numbers) == 92
    monkeypatch.setitem(elimination_order.__kwdefaults__, "max_flops", 10)
    assert len(trial_rows.draw_trial_rows(task, held_out, RUN).numbers) == 72


def test_validation_rows_are_attached_to_the_graph_of_the_sample(monkeypatch):
    monkeypatch.setattr(trial_rows, "MAX_TRIAL_ROWS", 60)
    monkeypatch.setattr(trial_rows, "MAX_ELIMINATED_ROWS", 60)
    X, y = clusters(3, n=120)
    new, codes = clusters(3, n=12, n_labeled=4, seed=1)
    tasks = HARMONIC.tasks(X, y, gamma_g=[1.0, 0.01])
    _, choice, fitted = HARMONIC.try_and_choose(tasks, HeldOutLabels((), (new, codes)))
    assert choice.trials.held_out_values.shape == (2, 12, 3)
    assert len(fitted.codes) == 120
