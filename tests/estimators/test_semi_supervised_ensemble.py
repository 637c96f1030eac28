"""The ensemble as an estimator: its families, and agreement with their classifiers."""

import numpy as np
import pytest

from graphmargin.estimators import (
    HarmonicClassifier,
    ManifoldSVC,
    MaxMarginGraphCut,
    SemiSupervisedEnsemble,
    SemiSupervisedSVC,
    SupervisedSVC,
)
from tests.estimators.problems import assert_sound, blobs

AUTO = {
    "cut": MaxMarginGraphCut(),
    "linear-cut": MaxMarginGraphCut(kernel="linear"),
    "harmonic": HarmonicClassifier(gamma_g="auto", class_mass_normalization="auto"),
    "low-density": SemiSupervisedSVC(gamma_u="auto", C="auto"),
    "linear-low-density": SemiSupervisedSVC(kernel="linear", gamma_u="auto", C="auto"),
    "manifold": ManifoldSVC(gamma_u="auto", C="auto"),
    "supervised": SupervisedSVC(C="auto"),
    "linear-supervised": SupervisedSVC(kernel="linear", C="auto"),
}
"""The classifier of each family."""


@pytest.mark.parametrize("name", AUTO)
def test_a_family_is_its_classifier(name):
    X, _, y = blobs(3, n=80, distance=1.5, per_class=5)
    model = AUTO[name].set_params(random_state=0).fit(X, y)
    for family in (name, AUTO[name]):
        ensemble = SemiSupervisedEnsemble(families=[family], random_state=0).fit(X, y)
        (member,) = ensemble.members_.values()
        np.testing.assert_array_equal(member.label_distributions, model.label_distributions_)
        np.testing.assert_array_equal(member.choice.weights, model.choice_.weights)
        assert_sound(ensemble, X)


def test_families_with_the_same_name_are_numbered():
    X, _, y = blobs(2, n=40, per_class=5)
    families = [SupervisedSVC(C=1.0), SupervisedSVC(C=10.0), "harmonic"]
    model = SemiSupervisedEnsemble(families=families).fit(X, y)
    assert model.choice_.names == ("SupervisedSVC-1", "SupervisedSVC-2", "harmonic")
    assert model.accuracy_.n_held_out == 10


def test_the_weights_say_which_assumption_holds():
    rng = np.random.default_rng(0)
    truth = rng.integers(2, size=300)
    X = rng.uniform(-1, 1, size=(300, 8))  # no clusters and no gap, but a plane
    X[:, 0] = np.abs(X[:, 0]) * np.where(truth, 1, -1)
    y = np.where(np.arange(300) < 80, truth, -1)
    model = SemiSupervisedEnsemble(random_state=0).fit(X, y)
    weights = dict(zip(model.choice_.names, model.choice_.weights, strict=True))
    assert max(weights, key=weights.get) == "linear-low-density"
    assert weights["harmonic"] == 0
    assert "harmonic" not in model.members_
    assert "plane" in model.report()
    error = np.mean(model.transduction_ != truth)
    assert error < np.mean(HarmonicClassifier().fit(X, y).transduction_ != truth)


def test_a_validation_set_weighs_families():
    X, truth, y = blobs(2, n=120, distance=1.5, per_class=4)
    validation = (X[60:], truth[60:])
    model = SemiSupervisedEnsemble(families=["cut", "supervised"], cv=validation)
    model.fit(X[:60], y[:60])
    assert model.accuracy_.n_held_out == 60
    assert model.held_out_.rows is None
    assert model.predict_set(X[:5], 0.9).shape == (5, 2)


@pytest.mark.parametrize(
    ("families", "message"),
    [
        ("cut", "must be 'auto' or a list"),
        ([], "must be 'auto' or a list"),
        (["cut", "forest"], "`families` must be one of 'cut'"),
        ([MaxMarginGraphCut(kernel="precomputed")], "must not have a precomputed kernel or graph"),
        ([HarmonicClassifier(affinity="precomputed")], "must not have a precomputed"),
        ([np.linalg], "must have names, or classifiers of MaxMarginGraphCut"),
    ],
)
def test_wrong_families_are_named(families, message):
    X, _, y = blobs()
    with pytest.raises(ValueError, match=message):
        SemiSupervisedEnsemble(families=families).fit(X, y)
