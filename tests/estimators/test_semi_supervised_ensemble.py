"""The ensemble as an estimator: its members, agreement with their classifiers, and its size."""

import pickle
from dataclasses import dataclass, replace

import numpy as np
import pytest
from sklearn.base import clone

from graphmargin.estimators import (
    HarmonicClassifier,
    ManifoldSVC,
    MaxMarginGraphCut,
    SemiSupervisedEnsemble,
    SemiSupervisedSVC,
    SupervisedSVC,
)
from graphmargin.harmonic.walk_part import WalkPart
from graphmargin.labels import encode_labels
from graphmargin.methods import Harmonic, member_names, named_member
from graphmargin.search import Member, View
from tests.estimators.problems import TWO_KERNELS, assert_same_results, assert_sound, blobs

AUTO = {
    "cut": MaxMarginGraphCut(),
    "linear-cut": MaxMarginGraphCut(kernel="linear"),
    "harmonic": HarmonicClassifier(gamma_g="auto", class_mass_normalization="auto"),
    "low-density": SemiSupervisedSVC(gamma_u="auto", C="auto"),
    "linear-low-density": SemiSupervisedSVC(kernel="linear", gamma_u="auto", C="auto"),
    "manifold": ManifoldSVC(gamma_u="auto", C="auto"),
    "linear-manifold": ManifoldSVC(kernel="linear", gamma_u="auto", C="auto"),
    "supervised": SupervisedSVC(C="auto"),
    "linear-supervised": SupervisedSVC(kernel="linear", C="auto"),
}
"""The classifier of each name."""


def fitted(members, X, y, **options):
    return SemiSupervisedEnsemble(members=members, random_state=0, **options).fit(X, y)


# Members


def test_every_name_has_a_classifier():
    assert set(AUTO) == set(member_names())


@pytest.mark.parametrize("name", AUTO)
def test_an_ensemble_of_one_member_is_its_classifier(name):
    X, _, y = blobs(3, n=80, distance=1.5, per_class=5)
    model = clone(AUTO[name]).set_params(random_state=0).fit(X, y)
    for member in (name, AUTO[name]):
        ensemble = fitted([member], X, y)
        assert_sound(ensemble, X)
        (part,) = ensemble.choice_.parts
        np.testing.assert_array_equal(part.weights, model.choice_.weights)
        if name == "harmonic":  # its class masses are calibrated in an ensemble
            mass = ensemble.predictor_.part.class_mass
            np.testing.assert_array_equal(mass, model.predictor_.part.class_mass)
        else:
            np.testing.assert_array_equal(ensemble.label_distributions_, model.label_distributions_)
            np.testing.assert_array_equal(ensemble.predict_proba(X), model.predict_proba(X))


def test_members_with_the_same_name_are_numbered():
    X, _, y = blobs(2, n=40, per_class=5)
    model = fitted([SupervisedSVC(C=1.0), SupervisedSVC(C=10.0), "harmonic"], X, y)
    assert model.choice_.names == ("SupervisedSVC-1", "SupervisedSVC-2", "harmonic")
    assert model.accuracy_.n_held_out == 10
    assert "SupervisedSVC-2 (C=10.0): weight " in str(model.choice_)


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
    assert not any(isinstance(part.part, WalkPart) for part in model.predictor_.parts)
    assert "plane" in model.report()
    error = np.mean(model.transduction_ != truth)
    assert error < np.mean(HarmonicClassifier().fit(X, y).transduction_ != truth)


def test_a_validation_set_weighs_members():
    X, truth, y = blobs(2, n=120, distance=1.5, per_class=4)
    model = fitted(["cut", "supervised"], X[:60], y[:60], cv=(X[60:], truth[60:]))
    assert model.accuracy_.n_held_out == 60
    assert model.held_out_.rows is None
    assert model.predict_set(X[:5], 0.9).shape == (5, 2)


# Several kernels and graphs


def test_kernels_are_weighed_by_the_labels():
    """A plane on rows without clusters is for the linear kernel, and rings are for the other."""
    rng = np.random.default_rng(0)
    plane = rng.uniform(-1, 1, size=(300, 6))
    angle, ring = rng.uniform(0, 2 * np.pi, size=300), np.arange(300) % 2
    rings = (1 + 2 * ring)[:, None] * np.column_stack([np.cos(angle), np.sin(angle)])
    problems = [(plane, (plane.sum(axis=1) > 0).astype(int)), (rings, ring)]
    of_linear = []
    for X, truth in problems:
        y = np.where(np.arange(300) < 60, truth, -1)
        choice = SemiSupervisedEnsemble(members=TWO_KERNELS.members).fit(X, y).choice_
        assert choice.names == ("MaxMarginGraphCut-1", "MaxMarginGraphCut-2")
        of_linear.append(choice.weights[0])
    assert of_linear[0] > 0.5 > of_linear[1]


def test_new_rows_get_the_mixture_of_kernels_and_graphs():
    X, _, y = blobs(3, n=90, distance=1.5, per_class=5)
    members = [
        MaxMarginGraphCut(kernel="linear", n_neighbors=4),
        MaxMarginGraphCut(width=2.0, n_neighbors=8),
        HarmonicClassifier(gamma_g=[0.1, 1.0], metric="cosine"),
    ]
    model = fitted(members, X, y)
    new = X[:20] + 0.1
    expected = sum(part.weight * part.probabilities(new) for part in model.predictor_.parts)
    np.testing.assert_allclose(model.predict_proba(new), expected)
    np.testing.assert_array_equal(model.predict(new), expected.argmax(axis=1))
    for part, single in zip(model.choice_.parts, members, strict=True):
        alone = clone(single).set_params(random_state=0).fit(X, y)
        np.testing.assert_array_equal(part.weights, alone.choice_.weights)


def test_a_member_under_a_view_is_the_member_on_scaled_rows():
    X, _, y = blobs(3, n=80, distance=1.5, per_class=5)
    view = View("light", np.linspace(0.2, 1.0, X.shape[1]))
    names = ["cut", "harmonic", "linear-supervised"]
    members = [replace(named_member(name, encode_labels(y)), view=view) for name in names]
    model, scaled = fitted(members, X, y), fitted(names, view.of(X), y)
    assert_same_results(model, scaled, X, view.of(X))


def test_priors_count_before_the_labels():
    X, _, y = blobs(2, n=40, per_class=1)  # no label can be held out
    cut, harmonic = (named_member(name, encode_labels(y)) for name in ("cut", "harmonic"))
    model = fitted([replace(cut, prior=3.0), harmonic], X, y)
    np.testing.assert_allclose(model.choice_.weights, [0.75, 0.25])


@dataclass(frozen=True)
class Neighbors(Harmonic):
    """A method of a user: the harmonic solution with other words for what it assumes."""

    @property
    def assumption(self):
        return "neighbors are of one class"


def test_methods_of_users_are_members():
    X, _, y = blobs(2, n=40, per_class=5)
    method = Neighbors(HarmonicClassifier().method(encode_labels(y)).walk)
    for entry, name in ((method, "Neighbors"), (Member("mine", method), "mine")):
        model = fitted([entry, "supervised"], X, y)
        assert model.choice_.names == (name, "supervised")
        assert "neighbors are of one class" in model.report()
        assert_sound(model, X)


# What is refused


@pytest.mark.parametrize(
    ("members", "message"),
    [
        ("cut", "`members` must be 'auto' or a list of names and classifiers, got 'cut'"),
        ([], "`members` must be 'auto' or a list"),
        (MaxMarginGraphCut(), "`members` must be 'auto' or a list"),
        (None, "`members` must be 'auto' or a list"),
        (["cut", "forest"], "`members` must be one of 'cut'"),
        ([MaxMarginGraphCut(kernel="precomputed")], "must not have a precomputed kernel or graph"),
        ([HarmonicClassifier(affinity="precomputed")], "must not have a precomputed"),
        ([np.linalg], "must have names, classifiers of graphmargin, or objects of"),
        ([MaxMarginGraphCut], "must have names, classifiers of graphmargin, or objects of"),
        ([SemiSupervisedEnsemble()], "must have names, classifiers of graphmargin, or objects of"),
        ([SupervisedSVC(C=-1.0)], "`C` must be > 0"),
    ],
    ids=repr,
)
def test_wrong_members_are_named(members, message):
    X, _, y = blobs()
    with pytest.raises(ValueError, match=message):
        fitted(members, X, y)


@pytest.mark.parametrize(
    ("parameter", "value"),
    [
        ("class_weight", "balanced"),
        ("class_weight", {0: 2.0}),
        ("cv", 3),
        ("cv", "loo"),
        ("n_jobs", 1),
        ("random_state", 0),
        ("verbose", 1),
    ],
)
@pytest.mark.parametrize("name", ["cut", "harmonic", "low-density", "manifold", "supervised"])
def test_parameters_of_the_ensemble_are_refused_in_members(name, parameter, value):
    X, _, y = blobs()
    classifier = type(AUTO[name])
    if parameter not in classifier().get_params():
        assert (name, parameter) == ("harmonic", "class_weight")
        return
    member = classifier(**{parameter: value})
    message = rf"^`{parameter}`=.* of a member is not used; pass it to the ensemble$"
    with pytest.raises(ValueError, match=message):
        fitted(["cut", member], X, y)


# Size


def size(thing):
    return len(pickle.dumps(thing))


def test_a_fitted_ensemble_keeps_no_training_rows():
    """Linear members need a weight for each feature, and others their support vectors."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 100)) + np.arange(400)[:, None] % 2
    y = np.where(np.arange(400) < 40, np.arange(400) % 2, -1)
    linear = fitted(["linear-cut", "linear-low-density", "linear-supervised"], X, y)
    assert size(linear) < X.nbytes / 4
    default = fitted(["cut", "low-density", "linear-low-density", "linear-supervised"], X, y)
    for model in (linear, default):
        assert size(model) - size(model.predictor_) < X.nbytes / 4


@pytest.mark.parametrize("members", [["cut", "supervised"], ["cut", "harmonic", "manifold"]])
def test_a_fitted_ensemble_keeps_no_machines_of_trials(members):
    X, _, y = blobs(2, n=60, per_class=5)
    model = fitted(members, X, y)
    assert [part.trials.details for part in model.choice_.parts] == [None] * len(members)
    alone = MaxMarginGraphCut().fit(X, y)
    assert alone.choice_.trials.details is None
    assert pickle.loads(pickle.dumps(alone.choice_)).error == alone.choice_.error
