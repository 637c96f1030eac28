import numpy as np
import pytest

from graphmargin import MaxMarginGraphCut, harmonic_solution, leave_one_out
from graphmargin.harmonic.problem import harmonic_problem
from graphmargin.selection import path as path_of
from graphmargin.selection.choice import Choice, Trials
from graphmargin.selection.path import gamma_path
from graphmargin.selection.rivals import mass_scores

COLUMNS = {
    "gamma_g",
    "confidence",
    "confident_share",
    "sink_share",
    "leave_one_out_score",
    "fold_score",
    "weight",
}
CODES = np.array([0, 1, 2, 0, 1, 2, *[-1] * 18])
EPS = 0.05


def choice_of(gammas, right, *, evidence=None):
    """Return a choice among candidates of these gamma_g, right about so many of four labels."""
    m = len(gammas)
    held_out = np.zeros((m, 4, 2))
    for i, number in enumerate(right):
        held_out[i, :, 0] = np.arange(4) < number  # mass of the first class, which is the right one
        held_out[i, :, 1] = 0.5
    trials = Trials(
        params=[{"gamma_g": gamma_g, "C": float(i)} for i, gamma_g in enumerate(gammas)],
        supervised=np.isinf(gammas),
        given=np.zeros(4, dtype=np.int64),
        fold=np.arange(4),
        held_out=held_out,
        scales=np.ones(m),
        shares=np.full((m, 2), 0.5),
        decide=mass_scores,
    )
    evidence = np.zeros(m) if evidence is None else np.asarray(evidence)
    weights = np.arange(1.0, m + 1)
    return Choice(trials, np.array([2, 2]), evidence / 4, 3 * evidence / 4, weights / weights.sum())


@pytest.mark.parametrize("soft", [{}, {"c_labeled": 2.0, "c_unlabeled": 0.1}])
@pytest.mark.parametrize("solver", ["auto", "cg"])
def test_rows_equal_direct_computations(random_graph, soft, solver):
    W, gammas = random_graph(24, 0), [1.0, np.inf, 0.0, 0.01]
    problem = harmonic_problem(W, CODES, **soft)
    path = gamma_path(problem, choice_of(gammas, [4, 3, 2, 1]), eps=EPS, solver=solver)
    assert path.keys() == COLUMNS
    assert path["gamma_g"].tolist() == [0.0, 0.01, 1.0, np.inf]
    for i, gamma_g in enumerate(path["gamma_g"]):
        single = harmonic_solution(W, CODES, gamma_g=gamma_g, **soft)
        confidence = single.confidence[CODES < 0]
        assert path["confidence"][i] == pytest.approx(confidence.mean(), abs=1e-5)
        assert path["confident_share"][i] == np.mean(confidence >= EPS)
        assert path["sink_share"][i] == pytest.approx(single.sink_mass[CODES < 0].mean(), abs=1e-5)
        if np.isfinite(gamma_g):
            expected = np.mean(leave_one_out(single).codes == CODES[CODES >= 0])
            assert path["leave_one_out_score"][i] == pytest.approx(expected)
    assert np.isnan(path["leave_one_out_score"][-1])


def test_sink_takes_more_and_confidence_falls_along_the_path(random_graph):
    problem = harmonic_problem(random_graph(24, 1), CODES)
    path = gamma_path(problem, choice_of([0.0, 1e-3, 0.1, 10.0, np.inf], [0] * 5))
    assert (np.diff(path["sink_share"]) > 0).all()
    assert path["sink_share"][[0, -1]].tolist() == [0.0, 1.0]
    assert path["confidence"][-1] == path["confident_share"][-1] == 0.0
    assert path["confidence"].argmax() < 2


def test_fold_score_is_that_of_the_likeliest_candidate_and_weights_are_summed(random_graph):
    choice = choice_of([1.0, 0.1, 1.0, 0.1, 0.1], [1, 2, 3, 4, 0], evidence=[0, -3, -1, -2, -9])
    path = gamma_path(harmonic_problem(random_graph(24, 2), CODES), choice)
    assert path["gamma_g"].tolist() == [0.1, 1.0]
    assert path["fold_score"].tolist() == [1.0, 0.25]
    np.testing.assert_allclose(path["weight"], [(2 + 4 + 5) / 15, (1 + 3) / 15])


def test_all_rows_labeled_have_no_unlabeled_means(random_graph):
    codes = np.arange(8) % 2
    path = gamma_path(harmonic_problem(random_graph(8, 0), codes), choice_of([0.1, 1.0], [4, 4]))
    for name in ("confidence", "confident_share", "sink_share"):
        assert np.isnan(path[name]).all()
    assert np.isfinite(path["leave_one_out_score"]).all()


def test_many_labels_are_not_left_out_one_by_one(random_graph, monkeypatch):
    monkeypatch.setattr(path_of, "MAX_LEFT_OUT", 5)
    path = gamma_path(harmonic_problem(random_graph(24, 0), CODES), choice_of([0.1], [2]))
    assert np.isnan(path["leave_one_out_score"]).all()
    assert path["fold_score"].tolist() == [0.5]


def test_path_of_a_classifier_is_that_of_its_graph_and_choice():
    rng = np.random.default_rng(0)
    truth = np.arange(60) % 2
    X = rng.normal(size=(60, 3)) + 2.5 * truth[:, None]
    y = np.where(np.arange(60) < 10, truth, -1)
    model = MaxMarginGraphCut(eps=0.2).fit(X, y)
    direct = gamma_path(harmonic_problem(model.graph_, y), model.choice_, eps=0.2)
    for name, values in model.gamma_g_path_.items():
        np.testing.assert_allclose(values, direct[name], atol=1e-7, err_msg=name)
    assert direct["weight"].sum() == pytest.approx(1.0)
    assert direct["weight"][-1] == pytest.approx(model.choice_.supervised_share)
