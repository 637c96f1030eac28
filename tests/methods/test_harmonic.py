"""Harmonic solutions: trials, blends, rows that no label reaches, and the path of gamma_g."""

import numpy as np
import pytest
from scipy import sparse

from graphmargin.estimators import HarmonicClassifier, MaxMarginGraphCut
from graphmargin.graph import knn_graph
from graphmargin.harmonic import harmonic_solution, normalize_class_mass
from graphmargin.harmonic.solution import spread_sink_mass
from graphmargin.harmonic.walk_part import attach
from graphmargin.methods.harmonic import (
    default_walk,
    gamma_path,
    induced_key,
    point_graph,
    solution_statistics,
)
from graphmargin.search import data as data_module
from graphmargin.search.choice import Choice
from graphmargin.search.held_out import HeldOutLabels
from graphmargin.search.parameters import GraphParameters, WalkParameters
from graphmargin.search.search import fit
from graphmargin.search.trials import smoothed_shares
from tests.methods.problems import assert_consistent, fit_chosen
from tests.search.problems import (
    choose_by,
    clusters,
    data_of,
    fit_one,
    folds_of,
    trials_of,
    without,
)

WALK = WalkParameters(GraphParameters(5))


def test_few_rows_have_fewer_neighbors():
    assert default_walk(data_of(*clusters(n=60)).labels).graph == GraphParameters(5)
    assert default_walk(data_of(*clusters(n=4, n_labeled=1)).labels).graph == GraphParameters(3)


def test_infinite_gamma_g_has_no_class_shares():
    for gamma_g, shares in ((0.1, (1, 2)), (np.inf, False)):
        candidate = {"gamma_g": gamma_g, "class_mass_normalization": (1, 2)}
        assert induced_key(candidate) == (gamma_g, shares)


# Trials


@pytest.mark.parametrize(
    ("parameters", "n_classes"),
    [
        ({}, 2),
        ({"class_mass_normalization": [False, [1, 2, 3]]}, 3),
        ({"c_labeled": 2.0, "c_unlabeled": 0.1, "n_neighbors": 4}, 3),
    ],
    ids=str,
)
def test_trials_are_solutions_without_the_held_out_labels(parameters, n_classes):
    X, y = clusters(n_classes, n=40)
    held_out = folds_of(y)
    trials = choose_by("harmonic", data_of(X, y, held_out), **parameters).trials
    assert_consistent(trials, y, held_out, n_classes)
    assert trials.columns == "masses"
    assert not trials.supervised.any()
    for i, candidate in enumerate(trials.params):
        single = {**parameters, **candidate}
        fitted = fit_one("harmonic", X, y, **single)
        unlabeled = fitted.codes[y < 0]
        assert trials.scales[i] == pytest.approx(fitted.confidence[y < 0].mean(), rel=1e-6)
        np.testing.assert_allclose(trials.shares[i], smoothed_shares(unlabeled, n_classes))
        masses = [
            fit_one("harmonic", X, without(y, fold), **single).predictor.part.class_mass[fold]
            for fold in held_out.folds
        ]
        values = trials.held_out_values[i] * trials.scales[i]
        np.testing.assert_allclose(values, np.concatenate(masses), atol=1e-6)


def test_candidates_are_scaled_by_their_mean_confidence():
    """A walk that hardly ever gets anywhere still tells the nearest class."""
    X, y = clusters(n_labeled=6, seed=1)
    trials = choose_by("harmonic", data_of(X, y, folds_of(y)), gamma_g=[1e-3, 1e5]).trials
    assert trials.scales[1] < 1e-4 * trials.scales[0]
    size = np.abs(trials.held_out_values).max(axis=(1, 2))
    assert size.min() > 0.1 * size.max()


@pytest.mark.parametrize("precomputed", [False, True], ids=["rows", "graph"])
def test_validation_rows_get_the_masses_that_are_predicted(precomputed):
    """They are the mean masses of their neighbors, times the probability of moving to one."""
    X, y = clusters(3)
    new, codes = clusters(3, n=12, n_labeled=4, seed=1)
    squares = ((new[:, None] - X) ** 2).sum(axis=2)
    if precomputed:
        weights, W = np.exp(-squares), knn_graph(X)
        held_out = HeldOutLabels((), (sparse.csr_array(weights), codes))
        data, rows, given = data_of(W, y, held_out, W), sparse.csr_array(weights), (W, y, W)
    else:
        near = squares <= np.sort(squares, axis=1)[:, [4]]
        width = np.sqrt(2) * X.std(axis=0).mean()
        weights = np.where(near, np.exp(-squares / (2 * width**2)), 0.0)
        data, rows, given = data_of(X, y, HeldOutLabels((), (new, codes))), new, (X, y)
    trials = choose_by("harmonic", data, gamma_g=[1.0, 0.01]).trials
    assert trials.held_out_codes is codes
    assert trials.held_out_rows is None
    assert not trials.fold.any()
    for i, gamma_g in enumerate((1.0, 0.01)):
        mass = harmonic_solution(knn_graph(X), y, gamma_g=gamma_g).class_mass
        expected = weights @ mass / (weights.sum(axis=1, keepdims=True) + gamma_g)
        values = trials.held_out_values[i] * trials.scales[i]
        np.testing.assert_allclose(values, expected, atol=1e-6)
        predicted = fit_one("harmonic", *given, gamma_g=gamma_g).predictor.probabilities(rows)
        np.testing.assert_allclose(spread_sink_mass(values), predicted, atol=1e-6)


def test_validation_rows_are_attached_to_the_graph_of_the_sample(monkeypatch):
    monkeypatch.setattr(data_module, "MAX_TRIAL_ROWS", 60)
    monkeypatch.setattr(data_module, "MAX_ELIMINATED_ROWS", 60)
    X, y = clusters(3, n=120)
    new, codes = clusters(3, n=12, n_labeled=4, seed=1)
    data = data_of(X, y, HeldOutLabels((), (new, codes)))
    choice = choose_by("harmonic", data, gamma_g=[1.0, 0.01])
    trial = data.trial(choice.member.method.walk)
    moves = attach(point_graph(trial.graph, choice.member.method.walk), new)
    assert moves.transition.shape == (12, 72)
    mass = harmonic_solution(knn_graph(X[trial.numbers]), y[trial.numbers], gamma_g=1.0).class_mass
    expected = (moves.transition @ mass) * moves.move_probability(1.0)[:, None]
    values = choice.trials.held_out_values[0] * choice.trials.scales[0]
    np.testing.assert_allclose(values, expected, atol=1e-6)
    assert len(fit(data, choice).codes) == 120


@pytest.mark.parametrize("y", [[0, 0, 1, 0, 1, 1], [0, 0, 1, -1, -1, -1]], ids=str)
def test_without_an_unlabeled_vertex_that_is_reached_the_scale_is_one(y):
    triangles = np.kron(np.eye(2), np.ones((3, 3)) - np.eye(3))
    data = data_of(triangles, np.array(y), HeldOutLabels((np.array([0]),)), triangles)
    trials = choose_by("harmonic", data, gamma_g=[1.0, 0.0, 1e-3]).trials
    np.testing.assert_array_equal(trials.scales, 1.0)
    np.testing.assert_allclose(
        trials.held_out_values[:, 0], [[1 / 3] * 2, [0.5] * 2, [0.4998] * 2], atol=1e-4
    )


# The blend

BLENDS = {
    "auto": ({"gamma_g": "auto"}, 2),
    "shares": ({"gamma_g": "auto", "class_mass_normalization": "auto"}, 2),
    "soft-shares": ({"gamma_g": "auto", "c_labeled": 2.0, "class_mass_normalization": "auto"}, 3),
    "one-candidate": ({"gamma_g": [0.3], "class_mass_normalization": [True]}, 3),
    "neighbors": ({"n_neighbors": 8}, 3),
    "metric": ({"metric": "cosine", "width": 2.0}, 3),
    "trust": ({"c_labeled": np.full(60, 2.0), "c_unlabeled": 0.3}, 3),
}


@pytest.mark.parametrize(("parameters", "n_classes"), BLENDS.values(), ids=BLENDS.keys())
def test_blend_is_the_mean_of_separate_solutions(parameters, n_classes):
    X, y = clusters(n_classes, n_labeled=2)
    X = X + 1.0  # for the cosine metric
    new = X[::3] + 0.1
    parameters = {"gamma_g": [0.1, 1.0], **parameters}
    fitted = fit_chosen("harmonic", X, y, folds_of(y), **parameters)
    choice, part = fitted.choice, fitted.predictor.part
    moves = attach(part.points, new)
    factors = sum(factor for _, factor in choice.blended)
    distributions, masses, moving = 0.0, 0.0, 0.0
    for i, factor in choice.blended:
        single = fit_one("harmonic", X, y, **{**parameters, **choice.trials.params[i]})
        ((_, rate),) = single.predictor.part.sinks
        assert rate == choice.trials.params[i]["gamma_g"] + parameters.get("c_unlabeled", 0.0)
        distributions = distributions + factor / factors * single.label_distributions
        masses = masses + factor / factors * single.predictor.part.class_mass
        moving = moving + factor / factors * moves.move_probability(rate)
    np.testing.assert_allclose(fitted.label_distributions, distributions, atol=1e-6)
    np.testing.assert_array_equal(fitted.codes, distributions.argmax(axis=1))
    of_new = moves.transition @ masses
    probabilities = fitted.predictor.probabilities(new)
    expected = spread_sink_mass(of_new * moving[:, None])
    np.testing.assert_allclose(probabilities, expected, atol=1e-6)
    np.testing.assert_array_equal(fitted.predictor.predict(new), of_new.argmax(axis=1))
    best = {**parameters, **choice.best_params}
    details = fitted.members["harmonic"].details
    expected = fit_one("harmonic", X, y, **best).members["harmonic"].details.solution
    np.testing.assert_allclose(details.solution.class_mass, expected.class_mass, atol=1e-6)


def test_infinite_gamma_g_has_no_class_mass_and_no_weight():
    X, y = clusters()
    fitted = fit_chosen("harmonic", X, y, folds_of(y), gamma_g=[np.inf, 0.1, 0.0])
    assert fitted.choice.weights[0] == 0
    assert np.isfinite(fitted.predictor.probabilities(X)).all()
    path = fitted.members["harmonic"].details.gamma_path
    assert path["gamma_g"].tolist() == [0.0, 0.1, np.inf]


@pytest.mark.parametrize("trust", [np.inf, np.full(120, 5.0)], ids=["hard", "soft"])
def test_after_trials_on_the_graph_of_a_sample_all_rows_are_solved(monkeypatch, trust):
    monkeypatch.setattr(data_module, "MAX_TRIAL_ROWS", 60)
    monkeypatch.setattr(data_module, "MAX_ELIMINATED_ROWS", 60)
    X, y = clusters(3, n=120)
    fitted = fit_chosen("harmonic", X, y, folds_of(y, 4), gamma_g=[10.0, 0.1], c_labeled=trust)
    choice = fitted.choice
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
    assert len(fitted.members["harmonic"].details.solution.codes) == 120


def test_fixed_solution_is_normalized_to_given_shares():
    X, y = clusters(3)
    fitted = fit_one("harmonic", X, y, gamma_g=0.1, class_mass_normalization=[1, 2, 3])
    plain = harmonic_solution(knn_graph(X), y, gamma_g=0.1)
    expected = normalize_class_mass(plain, [1, 2, 3])
    np.testing.assert_allclose(fitted.label_distributions, expected.label_distributions, atol=1e-9)
    details = fitted.members["harmonic"].details
    np.testing.assert_allclose(details.solution.class_mass, plain.class_mass, atol=1e-9)
    assert details.gamma_path is None


def test_rows_that_no_label_reaches_get_that_of_the_nearest_row_with_one():
    X = np.array([[0.0], [0.1], [5.0], [5.1], [20.0], [20.1], [-9.0], [-9.1]])
    y = np.array([0, -1, 1, -1, -1, -1, -1, -1])
    fitted = fit_one("harmonic", X, y, gamma_g=0.1, n_neighbors=1)
    assert fitted.codes.tolist() == [0, 0, 1, 1, 1, 1, 0, 0]
    assert fitted.confidence[4:].tolist() == [0.0] * 4
    assert [warning.text[:10] for warning in fitted.warnings] == ["4 of 8 row"]
    # A given graph has no points to compare: the most frequent label is taken.
    W = np.kron(np.eye(4), [[0.0, 1.0], [1.0, 0.0]])
    given = fit_one("harmonic", W, np.array([0, 0, 1, -1, -1, -1, -1, -1]), W, gamma_g=0.1)
    assert given.codes.tolist() == [0, 0, 1, 1, 0, 0, 0, 0]


# The path of gamma_g

CODES = np.array([0, 1, 2, 0, 1, 2, *[-1] * 18])


@pytest.mark.parametrize("soft", [{}, {"c_labeled": 2.0, "c_unlabeled": 0.1}], ids=str)
@pytest.mark.parametrize("gamma_g", [0.0, 0.1, np.inf])
def test_statistics_are_means_over_the_unlabeled_vertices(random_graph, soft, gamma_g):
    solution = harmonic_solution(random_graph(24, 0), CODES, gamma_g=gamma_g, **soft)
    statistics = solution_statistics(solution, eps=0.05)
    confidence = solution.confidence[CODES < 0]
    assert statistics["confidence"] == pytest.approx(confidence.mean())
    assert statistics["confident_share"] == np.mean(confidence >= 0.05)
    assert statistics["sink_share"] == pytest.approx(solution.sink_mass[CODES < 0].mean())


def test_statistics_without_unlabeled_vertices_are_not_known(random_graph):
    solution = harmonic_solution(random_graph(8, 0), np.arange(8) % 2, gamma_g=0.1)
    assert np.isnan(list(solution_statistics(solution, eps=0.05).values())).all()


def choice_of(gammas, right, evidence):
    """Return a choice among candidates of these gamma_g, right about so many of four labels."""
    m = len(gammas)
    values = np.full((m, 4, 2), 0.5)
    for i, number in enumerate(right):
        values[i, :, 0] = np.arange(4) < number  # mass of the first class, which is the right one
    params = [{"gamma_g": gamma_g, "C": float(i)} for i, gamma_g in enumerate(gammas)]
    trials = trials_of(
        values, np.zeros(4), params=params, supervised=np.isinf(gammas), columns="masses"
    )
    evidence, weights = np.asarray(evidence), np.arange(1.0, m + 1)
    of_labels = np.tile(evidence[:, None] / 16, 4)
    weights /= weights.sum()
    return Choice(trials, np.array([2, 2]), of_labels, 3 * evidence / 4, weights, {})


def test_fold_score_is_that_of_the_likeliest_candidate_and_weights_are_summed():
    gammas = [1.0, 0.1, 1.0, 0.1, 0.1, np.inf]
    choice = choice_of(gammas, [1, 2, 3, 4, 0, 2], evidence=[0, -3, -1, -2, -9, 0])
    X, y = clusters()
    data = data_of(X, y, folds_of(y))
    data.induced_folds(WALK, [(0.1, False), (1.0, False)])
    path = gamma_path(data, WALK, choice, eps=0.1)
    assert path["gamma_g"].tolist() == [0.1, 1.0, np.inf]
    assert path["fold_score"].tolist() == [1.0, 0.25, 0.5]
    np.testing.assert_allclose(path["weight"], [(2 + 4 + 5) / 21, (1 + 3) / 21, 6 / 21])
    for i, gamma_g in enumerate((0.1, 1.0)):
        solution = harmonic_solution(knn_graph(X), y, gamma_g=gamma_g)
        for name, value in solution_statistics(solution, eps=0.1).items():
            assert path[name][i] == pytest.approx(value, abs=1e-6)
    for name, value in (("confidence", 0.0), ("confident_share", 0.0), ("sink_share", 1.0)):
        assert path[name][-1] == value, "no label is propagated"
    assert np.isnan(path["graph_score"]).tolist() == [False, False, True]


def test_path_without_held_out_labels_has_no_scores():
    X, y = clusters(n_labeled=1)
    data = data_of(X, y, HeldOutLabels(()))
    fitted = fit(data, choose_by("harmonic", data))
    path = fitted.members["harmonic"].details.gamma_path
    assert np.isnan([path["graph_score"], path["fold_score"]]).all()
    assert path["weight"].sum() == pytest.approx(1.0)


@pytest.mark.parametrize("classifier", [HarmonicClassifier, MaxMarginGraphCut])
def test_path_of_a_classifier_has_the_accuracy_of_the_graph_alone(classifier):
    X, y = clusters(3, n=80, seed=3)
    model = classifier(gamma_g=[1.0, 0.01, 100.0], cv=3).fit(X, y)
    path = model.gamma_g_path_
    assert path["gamma_g"].tolist() == [0.01, 1.0, 100.0]
    eps = getattr(model, "eps", 0.0)
    for i, gamma_g in enumerate(path["gamma_g"]):
        solution = harmonic_solution(model.graph_, y, gamma_g=gamma_g)
        confidence = solution.confidence[y < 0]
        assert path["confidence"][i] == pytest.approx(confidence.mean(), abs=1e-6)
        assert path["confident_share"][i] == np.mean(confidence >= eps)
        right = [
            harmonic_solution(model.graph_, without(y, fold), gamma_g=gamma_g).codes[fold]
            == y[fold]
            for fold in folds_of(y).folds
        ]
        assert path["graph_score"][i] == pytest.approx(np.mean(np.concatenate(right)))
    assert (np.diff(path["sink_share"]) > 0).all()
    assert path["weight"].sum() == pytest.approx(1.0)
    assert path["graph_score"].min() < 1
