"""The work of a default fit: what several members need is computed once."""

import numpy as np
import pytest

from graphmargin import HarmonicClassifier, MaxMarginGraphCut, SemiSupervisedEnsemble
from graphmargin.datasets import load_digits, mask_labels
from graphmargin.margin import calibration
from graphmargin.methods import machines
from graphmargin.search import choice, data


@pytest.fixture
def work(monkeypatch):
    """Return the calls of the functions that take time, by name."""
    calls = {}

    def count(module, name):
        function = getattr(module, name)
        calls[name] = []

        def counted(*args, **kwargs):
            calls[name].append(args)
            return function(*args, **kwargs)

        monkeypatch.setattr(module, name, counted)

    count(data, "neighbor_graph")
    count(data, "fold_solutions")
    count(data, "solve_path")
    count(choice, "fit_calibration")
    count(calibration, "fit_calibration")
    count(machines, "train_on_kernel")
    return calls


@pytest.fixture(scope="module")
def digits():
    X, y = load_digits()
    return X[:1000], mask_labels(y[:1000], per_class=5, random_state=0)


def test_a_default_fit_of_five_members_computes_everything_once(digits, work):
    model = SemiSupervisedEnsemble(scale="none", random_state=0).fit(*digits)
    assert len(model.choice_.names) == 5
    assert len(work["neighbor_graph"]) == 1
    ((_, gammas, folds),) = work["fold_solutions"]  # of the cut and of the harmonic solution
    assert len(gammas) == len(set(gammas)) == 4
    assert len(folds) == 6, "all labels, and five folds"
    assert not work["solve_path"], "trials on all rows have the solutions already"
    assert len(work["fit_calibration"]) == 5, "one for each member"
    # The cut: three values of C for inf and four gamma_g, with all labels and in five folds, unless
    # two candidates learn the same labels. Linear supervised: three values of C.
    assert len(work["train_on_kernel"]) <= 6 * (15 + 3)


def test_the_cut_with_other_scales_has_a_graph_of_its_own(digits, work):
    model = SemiSupervisedEnsemble(random_state=0).fit(*digits)
    assert model.choice_.names[5:] == ("cut-standardized",)
    assert len(work["neighbor_graph"]) == len(work["fold_solutions"]) == 2


def test_a_sampled_fit_solves_each_gamma_g_once_on_all_rows(work, monkeypatch):
    """Trials on a sample have a graph of their own, which the members share too."""
    monkeypatch.setattr(data, "MAX_TRIAL_ROWS", 300)
    monkeypatch.setattr(data, "MAX_ELIMINATED_ROWS", 300)
    rng = np.random.default_rng(0)
    truth = np.arange(700) % 2
    X = rng.normal(size=(700, 3)) + 2 * truth[:, None]
    y = np.where(np.arange(700) < 20, truth, -1)
    SemiSupervisedEnsemble(members=["cut", "harmonic"]).fit(X, y)
    assert len(work["neighbor_graph"]) == 2, "of all rows, and of the sample"
    assert len(work["fold_solutions"]) == 1
    solved = [gamma_g for _, gammas in work["solve_path"] for gamma_g in gammas]
    assert len(solved) == len(set(solved))


@pytest.mark.parametrize("kind", [MaxMarginGraphCut, HarmonicClassifier])
def test_fixed_parameters_try_nothing(kind, digits, work):
    kind(**{"gamma_g": 0.1, **({"C": 1.0} if kind is MaxMarginGraphCut else {})}).fit(*digits)
    assert len(work["neighbor_graph"]) == 1
    assert [list(gammas) for _, gammas in work["solve_path"]] == [[0.1]]
    assert not work["fold_solutions"]
    assert not work["train_on_kernel"]
