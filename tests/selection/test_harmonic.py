"""Harmonic solutions: trials against solutions without the labels, blends against single walks."""

import numpy as np
import pytest
from scipy import sparse

from graphmargin.graph import knn_graph
from graphmargin.graph.attachment import attach_by_weights
from graphmargin.harmonic import harmonic_solution, normalize_class_mass
from graphmargin.selection import harmonic
from graphmargin.selection.choice import choose
from graphmargin.selection.grids import gamma_g_grid, label_counts
from graphmargin.selection.harmonic import (
    blend_harmonic,
    fit_harmonic,
    harmonic_candidates,
    try_harmonic,
)
from graphmargin.selection.held_out import HeldOutLabels
from graphmargin.selection.trials import join, smoothed_shares
from tests.selection.tasks import (
    RUN,
    assert_consistent,
    clusters,
    folds_of,
    tasks_of_harmonic,
    without,
)

two_or_three = pytest.mark.parametrize("n_classes", [2, 3])


def solve(W, y, candidate, **soft):
    """Return the solution of a candidate."""
    solution = harmonic_solution(W, y, gamma_g=candidate["gamma_g"], **soft)
    if candidate["class_mass_normalization"] is False:
        return solution
    return normalize_class_mass(solution, candidate["class_mass_normalization"])


def try_and_choose(tasks, held_out):
    trials = try_harmonic(tasks, held_out, RUN)
    evidence = join([part.evidence for part in trials])
    choice = choose(evidence, label_counts(tasks[0].labels))
    return trials, choice, blend_harmonic(trials, choice, RUN)


# Candidates and trials


def test_auto_stands_for_finite_values_of_gamma_g():
    X, y = clusters(n_labeled=2)
    (task,) = tasks_of_harmonic(X, y, gamma_g="auto", class_mass_normalization="auto")
    gammas = gamma_g_grid(knn_graph(X))[1:]
    assert harmonic_candidates(task) == [
        {"gamma_g": gamma_g, "class_mass_normalization": priors}
        for gamma_g in gammas
        for priors in (False, (3, 3))
    ]
    (task,) = tasks_of_harmonic(X, y, gamma_g="auto")
    assert {one["class_mass_normalization"] for one in harmonic_candidates(task)} == {False}


@two_or_three
def test_trials_are_solutions_without_the_labels(n_classes):
    X, y = clusters(n_classes)
    held_out, priors = folds_of(y), list(range(1, n_classes + 1))
    (task,) = tasks_of_harmonic(
        X, y, gamma_g=[1.0, 0.0, 1e-3], class_mass_normalization=[False, priors]
    )
    (trials,) = try_harmonic([task], held_out, RUN)
    evidence, W = trials.evidence, task.W
    assert_consistent(evidence, y, held_out, n_classes)
    assert evidence.columns == "masses"
    assert not evidence.supervised.any()
    for i, candidate in enumerate(evidence.params):
        complete = solve(W, y, candidate)
        assert evidence.scales[i] == pytest.approx(complete.confidence[y < 0].mean(), rel=1e-6)
        shares = smoothed_shares(complete.codes[y < 0], n_classes)
        np.testing.assert_array_equal(evidence.shares[i], shares)
        masses = [solve(W, without(y, fold), candidate).class_mass[fold] for fold in held_out.folds]
        values = evidence.held_out_values[i] * evidence.scales[i]
        np.testing.assert_allclose(values, np.concatenate(masses), atol=1e-6)
        plain = harmonic_solution(W, y, gamma_g=candidate["gamma_g"])
        known = trials.solutions[candidate["gamma_g"]].class_mass
        np.testing.assert_allclose(known, plain.class_mass, atol=1e-6)


def test_masses_of_all_sizes_have_a_say():
    """A walk that hardly ever gets anywhere still tells the nearest class."""
    X, y = clusters(n_labeled=6, seed=1)
    (trials,) = try_harmonic(tasks_of_harmonic(X, y, gamma_g=[1e-3, 1e5]), folds_of(y), RUN)
    evidence = trials.evidence
    assert evidence.scales[1] < 1e-4 * evidence.scales[0]
    size = np.abs(evidence.held_out_values).max(axis=(1, 2))
    assert size.min() > 0.1 * size.max()


@pytest.mark.parametrize("precomputed", [False, True], ids=["rows", "graph"])
def test_validation_is_a_step_into_the_graph(precomputed):
    X, y = clusters(3)
    new, codes = clusters(3, n=12, n_labeled=4, seed=1)
    W, options = knn_graph(X), {"gamma_g": [1.0, 0.01]}
    if precomputed:
        weights = sparse.csr_array(np.exp(-((new[:, None] - X) ** 2).sum(axis=2)))
        tasks = tasks_of_harmonic(W, y, affinity="precomputed", **options)
        validation, moves = (weights, codes), attach_by_weights(weights).moves
    else:
        tasks = tasks_of_harmonic(X, y, **options)
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
    tasks = tasks_of_harmonic(triangles, y, affinity="precomputed", gamma_g=[1.0, 0.0, 1e-3])
    (trials,) = try_harmonic(tasks, HeldOutLabels((np.array([0]),)), RUN)
    np.testing.assert_array_equal(trials.evidence.scales, 1.0)
    np.testing.assert_allclose(
        trials.evidence.held_out_values[:, 0], [[1 / 3] * 2, [0.5] * 2, [0.4998] * 2], atol=1e-4
    )


# The blend


@pytest.mark.parametrize(
    ("options", "n_classes", "n_labeled"),
    [
        ({}, 2, 4),
        ({"class_mass_normalization": True}, 3, 2),
        ({"class_mass_normalization": "auto"}, 2, 2),
        ({"c_labeled": 2.0, "class_mass_normalization": "auto"}, 3, 2),
        ({"c_labeled": 2.0, "c_unlabeled": 0.1}, 2, 4),
    ],
    ids=str,
)
def test_class_masses_are_averaged(options, n_classes, n_labeled):
    X, y = clusters(n_classes, n_labeled=n_labeled)
    tasks = tasks_of_harmonic(X, y, gamma_g="auto", **options)
    soft = {key: value for key, value in options.items() if key.startswith("c_")}
    _, choice, fitted = try_and_choose(tasks, folds_of(y))
    total = factors = 0.0
    for i, factor in choice.blended:
        solution = solve(tasks[0].W, y, choice.trials.params[i], **soft)
        total, factors = total + factor * solution.label_distributions, factors + factor
    assert len(choice.blended) > 1
    np.testing.assert_allclose(fitted.label_distributions, total / factors, atol=1e-6)
    np.testing.assert_array_equal(fitted.codes, (total / factors).argmax(axis=1))
    best = choice.best_params["gamma_g"]
    expected = harmonic_solution(tasks[0].W, y, gamma_g=best, **soft)
    np.testing.assert_allclose(fitted.solution.class_mass, expected.class_mass, atol=1e-6)


LISTS = {
    "neighbors": {"n_neighbors": [4, 6, 8]},
    "metrics": {"metric": ["euclidean", "cosine"], "width": ["paper", "binary", "self-tuning"]},
    "trust": {"c_labeled": [np.inf, 1.0, np.full(60, 2.0)], "c_unlabeled": [0.0, 0.3]},
}


@pytest.mark.parametrize("lists", LISTS.values(), ids=LISTS.keys())
def test_every_graph_of_a_blend_is_a_part_of_it(lists):
    """New points step into each of them: sums of what the parts of single tasks say."""
    X, y = clusters(3)
    X = X + 1.0  # for the cosine metric
    new = X[::3] + 0.1
    trials, choice, fitted = try_and_choose(
        tasks_of_harmonic(X, y, gamma_g=[0.1, 1.0], **lists), folds_of(y)
    )
    factors = np.array([factor for _, factor in choice.blended])
    shares = factors / factors.sum()
    places = [part for part in trials for _ in part.evidence.params]
    used = {id(places[i]) for i, _ in choice.blended}
    assert len(used) == len(fitted.predictor.parts) > 1
    masses = distributions = 0.0
    for share, (i, _) in zip(shares, choice.blended, strict=True):
        candidate = {**choice.trials.params[i]}
        (task,) = tasks_of_harmonic(X, y, **candidate)
        single = fit_harmonic(task, RUN)
        (part,) = single.predictor.parts
        distributions = distributions + share * single.label_distributions
        masses = masses + share * (
            harmonic.attach(harmonic.point_graph(task), new).moves @ part.class_mass
        )
    np.testing.assert_allclose(fitted.label_distributions, distributions, atol=1e-6)
    np.testing.assert_array_equal(fitted.codes, distributions.argmax(axis=1))
    np.testing.assert_array_equal(fitted.predictor.predict(new), masses.argmax(axis=1))
    probabilities = fitted.predictor.probabilities(new)
    np.testing.assert_allclose(probabilities.sum(axis=1), 1.0)
    np.testing.assert_array_equal(probabilities.argmax(axis=1), masses.argmax(axis=1))
    assert fitted.task is places[choice.best].task


def test_infinite_gamma_g_has_no_answer_and_no_weight():
    X, y = clusters()
    _, choice, fitted = try_and_choose(
        tasks_of_harmonic(X, y, gamma_g=[np.inf, 0.1, 0.0]), folds_of(y)
    )
    assert choice.weights[0] == 0
    assert np.isfinite(fitted.predictor.probabilities(X)).all()
    assert fitted.gamma_path["gamma_g"].tolist() == [0.0, 0.1, np.inf]


# Fixed parameters


@pytest.mark.parametrize("priors", [False, True, [1, 3]], ids=str)
def test_one_candidate_is_the_fixed_solution(priors):
    X, y = clusters()
    options = {"gamma_g": 0.3, "class_mass_normalization": priors}
    (task,) = tasks_of_harmonic(X, y, **options)
    fixed = fit_harmonic(task, RUN)
    expected = harmonic_solution(task.W, y, gamma_g=0.3)
    np.testing.assert_array_equal(fixed.solution.class_mass, expected.class_mass)
    if priors is not False:
        expected = normalize_class_mass(expected, None if priors is True else priors)
    np.testing.assert_array_equal(fixed.label_distributions, expected.label_distributions)
    np.testing.assert_array_equal(fixed.confidence, expected.confidence)
    assert fixed.gamma_path is None
    listed = {name: [value] for name, value in options.items()}
    _, choice, blended = try_and_choose(tasks_of_harmonic(X, y, **listed), folds_of(y))
    assert choice.weights.tolist() == [1.0]
    np.testing.assert_allclose(
        blended.predictor.probabilities(X + 0.1), fixed.predictor.probabilities(X + 0.1), atol=1e-6
    )
    np.testing.assert_array_equal(blended.codes, fixed.codes)


def test_rows_that_no_label_reaches_get_the_nearest_one():
    X = np.array([[0.0], [0.1], [0.3], [10.0], [10.1], [10.3], [900.0], [900.1]])
    y = np.array([0, 0, -1, 1, -1, -1, -1, -1])
    (task,) = tasks_of_harmonic(X, y, n_neighbors=1, width=1.0)
    fitted = fit_harmonic(task, RUN)
    assert fitted.codes.tolist() == [0, 0, 0, 1, 1, 1, 1, 1]
    assert fitted.confidence[6:].tolist() == [0.0, 0.0]
    assert [warning.text[:22] for warning in fitted.warnings] == ["2 of 8 points are in c"]
    (task,) = tasks_of_harmonic(task.W, y, affinity="precomputed")
    assert fit_harmonic(task, RUN).codes.tolist() == [0, 0, 0, 1, 1, 1, 0, 0], "most frequent"
