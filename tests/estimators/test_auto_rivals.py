"""Parameters that are chosen by the rivals: `HarmonicClassifier`, `ManifoldSVC` and S3VMs."""

import pickle

import numpy as np
import pytest
from sklearn.base import clone

from graphmargin import HarmonicClassifier, ManifoldSVC, SemiSupervisedSVC, knn_graph
from graphmargin.datasets import load_digits, make_lattices, mask_labels
from graphmargin.harmonic import harmonic_solution, normalize_class_mass
from graphmargin.labels import encode_labels
from graphmargin.margin import train_manifold
from graphmargin.selection.grids import c_grid, gamma_g_grid, gamma_u_grid

AUTO = {
    "harmonic": HarmonicClassifier(gamma_g="auto"),
    "harmonic-normalized": HarmonicClassifier(gamma_g="auto", class_mass_normalization="auto"),
    "manifold": ManifoldSVC(gamma_u="auto", C="auto"),
    "manifold-gamma_u": ManifoldSVC(gamma_u="auto", C=1.0),
    "manifold-C": ManifoldSVC(C="auto", gamma_u=0.01),
    "semi-supervised": SemiSupervisedSVC(gamma_u="auto", C=1.0),
    "semi-supervised-C": SemiSupervisedSVC(C="auto", gamma_u=0.05),
}
every_model = pytest.mark.parametrize("model", AUTO.values(), ids=AUTO.keys())
N_CANDIDATES = dict(zip(AUTO, [4, 4, 15, 5, 3, 4, 3], strict=True))
FACES = ("label_distributions_", "confidence_", "transduction_", "classes_")


def digits(n_classes=2, n=45, per_class=4, seed=0):
    """Some handwritten digits, a few labels, and all classes."""
    X, y = load_digits()
    rows = np.random.default_rng(seed).permutation(np.flatnonzero(y < n_classes))[:n]
    return X[rows], mask_labels(y[rows], per_class=per_class, random_state=seed), y[rows]


def clouds(n_classes=2, n=45, per_class=4, distance=1.5):
    """Points that overlap, a few labels, and all classes."""
    truth = np.arange(n) % n_classes
    X = np.random.default_rng(0).normal(size=(n, 3)) + distance * np.eye(3)[truth]
    return X, np.where(np.arange(n) < per_class * n_classes, truth, -1), truth


def fixed(model, candidate):
    return clone(model).set_params(**candidate)


def assert_sound(model, X):
    for P in (model.label_distributions_, model.predict_proba(X)):
        assert P.min() >= 0
        np.testing.assert_allclose(P.sum(axis=1), 1.0)
    assert set(model.transduction_.tolist()) <= set(model.classes_.tolist())
    assert model.choice_.weights.sum() == pytest.approx(1.0)
    assert model.choice_.weights.min() >= 0


# Fits (warnings are errors)


@pytest.mark.parametrize("name", AUTO)
@pytest.mark.parametrize("n_classes", [2, 3])
def test_digits_are_told_apart_by_what_is_chosen(name, n_classes):
    X, y, truth = digits(n_classes)
    model = clone(AUTO[name]).fit(X, y)
    assert_sound(model, X)
    assert len(model.choice_.trials.params) == N_CANDIDATES[name]
    assert len(model.choice_.trials.given) == 4 * n_classes
    np.testing.assert_array_equal(model.transduction_[y >= 0], y[y >= 0])
    assert np.mean(model.transduction_ == truth) > 0.8
    assert np.mean(model.predict(X) == truth) > 0.8
    columns = model.predict_proba(X).argmax(axis=1)
    np.testing.assert_array_equal(model.classes_[columns], model.predict(X))


@pytest.mark.parametrize("name", AUTO)
def test_one_label_a_class_cannot_be_hidden(name):
    X, y, truth = digits(per_class=1)
    model = clone(AUTO[name]).fit(X, y)
    assert_sound(model, X)
    assert len(model.choice_.trials.given) == 0
    assert np.isnan(model.choice_.error)
    np.testing.assert_array_equal(model.choice_.log_likelihood, 0.0)
    assert np.mean(model.transduction_ == truth) > 0.8


@every_model
def test_all_rows_labeled(model):
    X, _, truth = digits(n=30)
    model = clone(model).fit(X, truth)
    assert_sound(model, X)
    np.testing.assert_array_equal(model.transduction_, truth)


@every_model
def test_rows_that_are_all_the_same(model):
    X = np.ones((12, 2))
    model = clone(model).fit(X, [0, 0, 1, 1, *[-1] * 8])
    assert_sound(model, X)
    assert np.isfinite(model.confidence_).all()


@pytest.mark.parametrize("name", ["harmonic", "harmonic-normalized"])
def test_lattices_are_labeled_from_a_graph_in_place_of_rows(name):
    _, y, y_true, W = make_lattices()
    model = clone(AUTO[name]).set_params(affinity="precomputed").fit(W, y)
    np.testing.assert_array_equal(model.transduction_, y_true)
    np.testing.assert_array_equal(model.predict(W), y_true)
    assert_sound(model, W)
    assert model.graph_recall_ is None


def test_lattices_with_their_graph_are_solved_by_manifold_regularization():
    X, y, y_true, W = make_lattices()
    model = ManifoldSVC(width=1.0, gamma_u="auto", C="auto", affinity="precomputed")
    model.fit(X, y, W=W)
    assert_sound(model, X)
    assert 0 < model.choice_.supervised_share < 1
    assert np.mean(model.predict(X) == y_true) >= 0.9


@every_model
def test_two_fits_agree_and_survive_pickling(model):
    X, y, _ = clouds(n=24, per_class=3)
    first, second = clone(model).fit(X, y), clone(model).fit(X, y)
    restored = pickle.loads(pickle.dumps(first))
    for other in (second, restored):
        for name in FACES:
            np.testing.assert_array_equal(getattr(first, name), getattr(other, name))
        np.testing.assert_array_equal(first.predict_proba(X + 0.1), other.predict_proba(X + 0.1))
        np.testing.assert_array_equal(first.choice_.weights, other.choice_.weights)


@every_model
def test_words_are_labels_too(model):
    X, y, _ = clouds(n=24, per_class=3)
    words = np.array(["ant", "bee"])
    codes, named = clone(model).fit(X, y), clone(model).fit(X, np.where(y < 0, "", words[y]))
    np.testing.assert_array_equal(named.transduction_, words[codes.transduction_])
    np.testing.assert_array_equal(named.predict_proba(X), codes.predict_proba(X))


@every_model
def test_fit_with_numbers_forgets_the_choice(model):
    X, y, _ = clouds(n=24, per_class=3)
    numbers = dict.fromkeys(model.tuned_parameters, 0.1)
    model = clone(model).fit(X, y)
    assert hasattr(model, "choice_")
    model.set_params(**numbers).fit(X, y)
    assert not hasattr(model, "choice_")
    fresh = clone(model).fit(X, y)
    assert vars(model).keys() == vars(fresh).keys()
    np.testing.assert_array_equal(model.predict_proba(X), fresh.predict_proba(X))


@every_model
def test_parameters_stay_as_they_are(model):
    X, y, _ = clouds(n=24, per_class=3)
    fitted = clone(model).fit(X, y)
    assert fitted.get_params() == model.get_params()


# Which candidates there are


def test_candidates_of_the_harmonic_solution():
    X, y, _ = clouds(per_class=2)
    choice = HarmonicClassifier(gamma_g="auto").fit(X, y).choice_
    assert [one["gamma_g"] for one in choice.trials.params] == gamma_g_grid(knn_graph(X))[1:]
    assert {one["class_mass_normalization"] for one in choice.trials.params} == {False}
    assert not choice.trials.supervised.any()
    model = HarmonicClassifier(gamma_g="auto", class_mass_normalization="auto").fit(X, y)
    found = [one["class_mass_normalization"] for one in model.choice_.trials.params]
    assert found == [False, (3, 3)] * 4


def test_candidates_of_manifold_regularization():
    X, y, _ = clouds()
    model = ManifoldSVC(gamma_u="auto", C="auto").fit(X, y)
    params = model.choice_.trials.params
    assert sorted({one["gamma_u"] for one in params}) == gamma_u_grid(len(X))
    assert sorted({one["C"] for one in params}) == c_grid(X, model.machine_.kernel)
    np.testing.assert_array_equal(
        model.choice_.trials.supervised, [one["gamma_u"] == 0 for one in params]
    )
    assert {one["C"] for one in ManifoldSVC(gamma_u="auto").fit(X, y).choice_.trials.params} == {10}


def test_candidates_of_semi_supervised_machines():
    X, y, _ = clouds(n=24, per_class=3)
    params = SemiSupervisedSVC(gamma_u="auto", C=2.0).fit(X, y).choice_.trials.params
    assert [one["gamma_u"] for one in params] == [0.0, 0.01, 0.1, 1.0]
    assert {one["C"] for one in params} == {2.0}


# The blend is the weighted sum of what a user could fit


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("per_class", [2, 4])
@pytest.mark.parametrize("asked", [False, True, "auto"])
@pytest.mark.parametrize("c_labeled", [np.inf, 2.0])
def test_class_masses_are_averaged(n_classes, per_class, asked, c_labeled):
    X, y, _ = clouds(n_classes, per_class=per_class)
    model = HarmonicClassifier(
        gamma_g="auto", class_mass_normalization=asked, c_labeled=c_labeled
    ).fit(X, y)
    choice, W = model.choice_, knn_graph(X)
    total, factors = 0.0, 0.0
    for i, factor in choice.blended:
        candidate = choice.trials.params[i]
        one = harmonic_solution(W, y, gamma_g=candidate["gamma_g"], c_labeled=c_labeled)
        if candidate["class_mass_normalization"] is not False:
            one = normalize_class_mass(one, candidate["class_mass_normalization"])
        assert choice.trials.scales[i] == pytest.approx(one.confidence[y < 0].mean(), abs=1e-6)
        assert factor == pytest.approx(choice.weights[i] / choice.trials.scales[i])
        total, factors = total + factor * one.label_distributions, factors + factor
        single = fixed(model, candidate).fit(X, y)
        np.testing.assert_allclose(single.label_distributions_, one.label_distributions, atol=1e-6)
    assert len(choice.blended) > 1
    np.testing.assert_allclose(model.label_distributions_, total / factors, atol=1e-6)
    np.testing.assert_array_equal(model.transduction_, (total / factors).argmax(axis=1))


def test_new_points_take_the_mean_masses_of_their_neighbors():
    X, y, _ = clouds()
    model = HarmonicClassifier(gamma_g="auto").fit(X, y)
    choice = model.choice_
    factors = np.array([factor for _, factor in choice.blended])
    masses = [
        harmonic_solution(knn_graph(X), y, gamma_g=choice.trials.params[i]["gamma_g"]).class_mass
        for i, _ in choice.blended
    ]
    mean = np.tensordot(factors / factors.sum(), masses, axes=1)
    moves = model._attach(X + 0.1).moves
    np.testing.assert_array_equal(model.predict(X + 0.1), (moves @ mean).argmax(axis=1))
    np.testing.assert_array_equal(
        model.predict_proba(X + 0.1).argmax(axis=1), (moves @ mean).argmax(axis=1)
    )


@pytest.mark.parametrize(
    ("kernel", "n_classes", "options"),
    [
        ("linear", 2, {}),
        ("cubic", 3, {}),
        ("rbf", 3, {}),
        ("rbf", 2, {"normalized": True, "laplacian_power": 2}),
        ("linear", 3, {"fit_intercept": False}),
        ("rbf", 2, {"fit_intercept": False}),
    ],
    ids=str,
)
def test_manifold_machines_are_summed(kernel, n_classes, options):
    X, y, _ = clouds(n_classes, distance=1.0)
    new = X[::3] + 0.1
    model = ManifoldSVC(kernel=kernel, gamma_u="auto", C="auto", **options).fit(X, y)
    choice = model.choice_
    form = {
        "normalized": options.get("normalized", False),
        "power": options.get("laplacian_power", 1),
        "fit_intercept": options.get("fit_intercept", True),
    }
    total = separate = 0.0
    for i, factor in choice.blended:
        candidate = choice.trials.params[i]
        machine = train_manifold(
            *(X, encode_labels(y).codes, model.machine_.kernel, knn_graph(X)),
            C=candidate["C"],
            gamma_us=[candidate["gamma_u"]],
            **form,
        )[0]
        total = total + factor * machine.pairwise(new)
        separate = separate + factor * fixed(model, candidate).fit(X, y).machine_.pairwise(new)
    scale = np.abs(total).max()
    np.testing.assert_allclose(model.machine_.pairwise(new), total, atol=1e-6 * scale)
    np.testing.assert_allclose(separate, total, atol=1e-6 * scale)
    assert 1 <= len(choice.blended) <= 4


@pytest.mark.parametrize(("n_classes", "class_prior"), [(3, "labels"), (2, "labels"), (2, None)])
def test_semi_supervised_machines_are_summed(n_classes, class_prior):
    X, y, _ = clouds(n_classes, n=24, per_class=3)
    model = SemiSupervisedSVC(gamma_u="auto", C=1.0, class_prior=class_prior).fit(X, y)
    choice = model.choice_
    total, solutions = 0.0, 0
    for i, factor in choice.blended:
        single = fixed(model, choice.trials.params[i]).fit(X, y)
        total = total + factor * single.machine_.pairwise(X)
        solutions += len(single.solutions_)
    np.testing.assert_allclose(model.machine_.pairwise(X), total, atol=1e-6 * np.abs(total).max())
    assert len(model.solutions_) == solutions == len(choice.blended) * (2 * n_classes - 3)


@pytest.mark.parametrize("name", ["manifold", "semi-supervised"])
def test_no_unlabeled_weight_is_supervised_learning(name):
    X, y, _ = clouds(n=24, per_class=3)
    model = clone(AUTO[name]).set_params(gamma_u=0.0, C="auto").fit(X, y)
    assert model.choice_.supervised_share == pytest.approx(1.0)
    assert model.choice_.trials.supervised.all()


# What else there is


def test_walks_of_the_harmonic_classifier_have_a_path_and_a_report():
    X, y, _ = clouds()
    model = HarmonicClassifier(gamma_g="auto").fit(X, y)
    path = model.gamma_g_path_
    assert path["gamma_g"].tolist() == sorted(gamma_g_grid(knn_graph(X))[1:])
    assert path["weight"].sum() == pytest.approx(1.0)
    assert (np.diff(path["sink_share"]) > 0).all()
    assert "gamma_g" in str(model.graph_report())
    model.set_params(gamma_g=0.1).fit(X, y)
    with pytest.raises(AttributeError, match="fit with gamma_g='auto'"):
        model.gamma_g_path_  # noqa: B018 - a property


@pytest.mark.parametrize("value", ["Auto", "AUTO", "automatic", "", None])
@pytest.mark.parametrize(
    ("classifier", "name"),
    [
        (HarmonicClassifier, "gamma_g"),
        (ManifoldSVC, "gamma_u"),
        (ManifoldSVC, "C"),
        (SemiSupervisedSVC, "gamma_u"),
        (SemiSupervisedSVC, "C"),
    ],
)
def test_misspelled_auto_is_refused(classifier, name, value):
    X, y, _ = clouds(n=24, per_class=3)
    with pytest.raises(ValueError, match=f"`{name}` must be .* got {value!r}"):
        classifier(**{name: value}).fit(X, y)


@pytest.mark.parametrize("value", ["Auto", [1.0], [1.0, -1.0]], ids=str)
def test_misspelled_normalization_is_refused(value):
    X, y, _ = clouds(n=24, per_class=3)
    for gamma_g in (0.1, "auto"):
        model = HarmonicClassifier(gamma_g=gamma_g, class_mass_normalization=value)
        with pytest.raises(ValueError, match="`class_mass_normalization` must hold 2 positive"):
            model.fit(X, y)
