"""More classes than those of which all pairs are compared: every member, alone and together."""

import numpy as np
import pytest

from graphmargin import MaxMarginGraphCut, SemiSupervisedEnsemble, load_model, save_model
from graphmargin.margin import solvers
from graphmargin.margin.machine import MarginMachine
from graphmargin.methods import DEFAULT_MEMBERS, member_names

N_CLASSES = solvers.MAX_ALL_PAIRS + 3


def clouds(rows=5, n_labeled=3, seed=0):
    """Return rows of many classes that overlap little, labels of some of them, and all labels."""
    rng = np.random.default_rng(seed)
    y = rng.permutation(np.repeat(np.arange(N_CLASSES), rows))
    X = 4.0 * rng.normal(size=(N_CLASSES, 5))[y] + rng.normal(size=(len(y), 5))
    rank = np.array([np.sum(y[:i] == code) for i, code in enumerate(y)])
    return X, np.where(rank < n_labeled, y, -1), y


@pytest.mark.parametrize("name", member_names())
def test_every_member_labels_many_classes(name, tmp_path):
    X, few, y = clouds()
    model = SemiSupervisedEnsemble(members=[name], random_state=0).fit(X, few)
    assert np.mean(model.transduction_ == y) > 0.9
    trials = model.choice_.parts[0].trials
    if trials.columns == "pairs":
        assert trials.held_out_values.shape[2] == 190
        is_listed = (trials.shortlists == trials.held_out_codes[:, None]).any(axis=1)
        assert is_listed.mean() > 0.95
    save_model(model, tmp_path / "a.graphmargin")
    expected = model.predict_proba(X)
    loaded = load_model(tmp_path / "a.graphmargin")
    np.testing.assert_allclose(loaded.predict_proba(X), expected, rtol=0, atol=1e-12)


def test_threads_change_no_bit_of_many_classes():
    X, few, _ = clouds()
    one, two = (
        SemiSupervisedEnsemble(random_state=0, n_jobs=n_jobs).fit(X, few) for n_jobs in (1, 2)
    )
    np.testing.assert_array_equal(one.label_distributions_, two.label_distributions_)
    np.testing.assert_array_equal(one.choice_.weights, two.choice_.weights)
    assert one.choice_.names[:5] == DEFAULT_MEMBERS


def test_pairs_of_all_rows_are_never_kept(monkeypatch):
    """The size of results grows with the rows times the classes, not times the pairs of them."""
    X, few, _ = clouds()
    n_pairs = N_CLASSES * (N_CLASSES - 1) // 2
    monkeypatch.setattr("graphmargin.margin.machine.MAX_PAIR_VALUES", 10 * n_pairs)
    pairwise, seen = MarginMachine.pairwise, []

    def counting(machine, rows):
        seen.append(rows.shape[0])
        return pairwise(machine, rows)

    monkeypatch.setattr(MarginMachine, "pairwise", counting)
    SemiSupervisedEnsemble(random_state=0).fit(X, few)
    assert seen
    assert max(seen) <= 10


def test_a_validation_set_of_many_classes_chooses():
    X, few, y = clouds()
    new = np.flatnonzero(few == -1)[::2]
    model = MaxMarginGraphCut(random_state=0, cv=(X[new] + 0.1, y[new])).fit(X, few)
    assert model.choice_.trials.shortlists.shape == (len(new), 20)
    assert np.mean(model.transduction_ == y) > 0.9


def test_one_label_a_class_of_many_is_enough():
    X, few, y = clouds(n_labeled=1)
    model = SemiSupervisedEnsemble(random_state=0).fit(X, few)
    assert np.mean(model.transduction_ == y) > 0.7
