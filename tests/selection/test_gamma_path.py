import numpy as np
import pytest
from graphmargin.selection.choice import Choice
from graphmargin.selection.gamma_path import (
    GammaStatistics,
    gamma_path,
    solution_statistics,
)
from tests.selection.tasks import clusters, folds_of, trials_of, without

from graphmargin.estimators import HarmonicClassifier, MaxMarginGraphCut
from graphmargin.harmonic import harmonic_solution

CODES = np.array([0, 1, 2, 0, 1, 2, *[-1] * 18])


def choice_of(gammas, right, evidence):
    """Return a choice among candidates of these gamma_g, right about so many of four labels."""
    m = len(gammas)
    values = np.zeros((m, 4, 2))
    for i, number in enumerate(right):
        values[i, :, 0] = np.arange(4) < number  # mass of the first class, which is the right one
        values[i, :, 1] = 0.5
    params = [{"gamma_g": gamma_g, "C": float(i)} for i, gamma_g in enumerate(gammas)]
    trials = trials_of(
        values, np.zeros(4), params=params, supervised=np.isinf(gammas), columns="masses"
    )
    evidence, weights = np.asarray(evidence), np.arange(1.0, m + 1)
    of_labels = np.tile(evidence[:, None] / 16, 4)
    return Choice(trials, np.array([2, 2]), of_labels, 3 * evidence / 4, weights / weights.sum())


@pytest.mark.parametrize("soft", [{}, {"c_labeled": 2.0, "c_unlabeled": 0.1}], ids=str)
@pytest.mark.parametrize("gamma_g", [0.0, 0.1, np.inf])
def test_statistics_are_means_over_the_unlabeled_vertices(random_graph, soft, gamma_g):
    solution = harmonic_solution(random_graph(24, 0), CODES, gamma_g=gamma_g, **soft)
    statistics = solution_statistics(solution, 3, 4, eps=0.05)
    confidence = solution.confidence[CODES < 0]
    assert statistics.confidence == pytest.approx(confidence.mean())
    assert statistics.confident_share == np.mean(confidence >= 0.05)
    assert statistics.sink_share == pytest.approx(solution.sink_mass[CODES < 0].mean())
    assert statistics.graph_score == 0.75


def test_statistics_without_unlabeled_vertices_or_held_out_labels_are_not_known(random_graph):
    solution = harmonic_solution(random_graph(8, 0), np.arange(8) % 2, gamma_g=0.1)
    statistics = solution_statistics(solution, 0, 0, eps=0.05)
    assert np.isnan(
        [statistics.confidence, statistics.confident_share, statistics.sink_share]
    ).all()
    assert np.isnan(statistics.graph_score)


def test_fold_score_is_that_of_the_likeliest_candidate_and_weights_are_summed():
    choice = choice_of([1.0, 0.1, 1.0, 0.1, 0.1], [1, 2, 3, 4, 0], evidence=[0, -3, -1, -2, -9])
    statistics = {
        0.1: GammaStatistics(0.5, 0.6, 0.7, 0.8),
        1.0: GammaStatistics(0.1, 0.2, 0.3, 0.4),
    }
    path = gamma_path(choice, range(5), statistics)
    np.testing.assert_allclose(path.pop("weight"), [(2 + 4 + 5) / 15, (1 + 3) / 15])
    assert {name: column.tolist() for name, column in path.items()} == {
        "gamma_g": [0.1, 1.0],
        "fold_score": [1.0, 0.25],
        "confidence": [0.5, 0.1],
        "confident_share": [0.6, 0.2],
        "sink_share": [0.7, 0.3],
        "graph_score": [0.8, 0.4],
    }


def test_path_is_that_of_the_candidates_on_one_graph():
    choice = choice_of([1.0, 0.1, 1.0, 0.1], [1, 2, 3, 4], evidence=[0, 0, 0, 0])
    path = gamma_path(choice, range(2, 4), {})
    assert path["fold_score"].tolist() == [1.0, 0.75]
    np.testing.assert_allclose(path["weight"], [4 / 10, 3 / 10], err_msg="of all that was tried")


def test_infinite_gamma_g_has_no_confident_point():
    path = gamma_path(choice_of([np.inf, 0.1], [4, 4], [0, 0]), range(2), {})
    for name, value in (("confidence", 0.0), ("confident_share", 0.0), ("sink_share", 1.0)):
        assert path[name][-1] == value
    assert np.isnan(path["graph_score"][-1])


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
