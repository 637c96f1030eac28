"""Class weights of all max-margin classifiers, with fixed and with chosen parameters."""

import numpy as np
import pytest
from sklearn.svm import SVC

from graphmargin import load_model, save_model
from graphmargin.estimators import MaxMarginGraphCut, SupervisedSVC
from tests.estimators.problems import WITH_MARGIN, blobs, fit


def imbalanced(n=300, seed=0):
    """Return rows, their classes, one in ten of which is rare, and labels of a third of them."""
    rng = np.random.default_rng(seed)
    truth = (np.arange(n) % 10 == 0).astype(int)
    X = rng.normal(size=(n, 2)) + 1.2 * truth[:, None]
    return X, truth, np.where(np.arange(n) < 100, truth, -1)


@pytest.mark.parametrize("class_weight", ["balanced", {0: 0.5, 1: 3.0}, {2: 5.0}, None])
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_supervised_machine_equals_scikit_learn(class_weight, kernel):
    X, truth, _ = blobs(n_classes=3, n=90, distance=1.0)
    options = {"kernel": kernel, "C": 2.0, "class_weight": class_weight}
    model = SupervisedSVC(width=1.0, **options).fit(X, truth)
    reference = SVC(gamma=0.5, tol=1e-8, decision_function_shape="ovo", **options).fit(X, truth)
    np.testing.assert_allclose(
        model.predictor_.part.machine.pairwise(X), reference.decision_function(X), atol=5e-3
    )


@pytest.mark.parametrize("name", [*WITH_MARGIN, *(f"{name}-lists" for name in WITH_MARGIN)])
def test_a_larger_weight_finds_more_rows_of_a_rare_class(name):
    X, _, few = imbalanced()
    found = [
        ((fit(name, X, few, class_weight=class_weight, random_state=0).predict(X) == 1).sum())
        for class_weight in (None, "balanced", {1: 100.0})
    ]
    assert found[0] < found[1] < found[2]


@pytest.mark.parametrize("name", [*WITH_MARGIN, *(f"{name}-lists" for name in WITH_MARGIN)])
def test_balanced_is_the_dict_of_its_weights_and_one_is_none(name):
    X, _, few = imbalanced()
    counts = np.bincount(few[few >= 0])
    weights = dict(enumerate((100 / (2 * counts)).tolist()))
    options = {"random_state": 0}
    balanced = fit(name, X, few, class_weight="balanced", **options).decision_function(X)
    by_dict = fit(name, X, few, class_weight=weights, **options).decision_function(X)
    np.testing.assert_allclose(by_dict, balanced, rtol=1e-9)
    ones = fit(name, X, few, class_weight={0: 1, 1: 1.0}, **options).decision_function(X)
    np.testing.assert_array_equal(ones, fit(name, X, few, **options).decision_function(X))


def test_candidates_are_trained_with_the_weights_of_the_final_fit():
    X, _, few = imbalanced()
    options = {"gamma_g": 0.1, "class_weight": "balanced", "random_state": 0}
    fixed = MaxMarginGraphCut(C=2.0, class_mass_normalization=False, **options).fit(X, few)
    chosen = MaxMarginGraphCut(C=[2.0], class_mass_normalization=False, **options).fit(X, few)
    f, g = fixed.decision_function(X), chosen.decision_function(X)
    np.testing.assert_allclose(g * (f @ g) / (g @ g), f, atol=0.01 * np.abs(f).max())


def test_probabilities_remain_those_of_the_labels_as_they_are():
    X, truth, few = imbalanced(n=2000)
    few = np.where(np.arange(2000) < 500, truth, -1)
    options = {"kernel": "linear", "C": "auto", "random_state": 0}
    unlabeled = few < 0
    for class_weight in (None, "balanced"):
        model = SupervisedSVC(class_weight=class_weight, **options).fit(X, few)
        share = model.label_distributions_[unlabeled, 1].mean()
        assert share == pytest.approx(0.1, abs=0.03)
    found = model.transduction_[unlabeled] == 1
    is_rare = truth[unlabeled] == 1
    assert model.accuracy_.recall[1] == pytest.approx(found[is_rare].mean(), abs=0.1)
    assert model.accuracy_.precision[1] == pytest.approx(is_rare[found].mean(), abs=0.1)
    assert model.confidence_[unlabeled][found].mean() == pytest.approx(
        is_rare[found].mean(), abs=0.1
    )


@pytest.mark.parametrize("name", WITH_MARGIN)
@pytest.mark.parametrize(
    ("class_weight", "message"),
    [
        ({5: 1.0}, r"class 5, which no label has; classes are 0, 1"),
        ({0: -1.0}, r"class_weight\[0\]` must be > 0, got -1.0"),
        ([None, "balanced"], r"`class_weight` must be None, 'balanced' or a dict"),
    ],
)
def test_bad_weights_are_refused(name, class_weight, message):
    X, _, few = imbalanced()
    with pytest.raises(ValueError, match=message):
        fit(name, X, few, class_weight=class_weight)


def test_a_saved_model_keeps_the_probabilities(tmp_path):
    X, _, few = imbalanced()
    model = SupervisedSVC(C="auto", class_weight={1: 50.0}, random_state=0).fit(X, few)
    assert model.predictor_.part.calibration.offsets.any()
    save_model(model, tmp_path / "model.graphmargin")
    loaded = load_model(tmp_path / "model.graphmargin")
    np.testing.assert_array_equal(loaded.predict(X), model.predict(X))
    np.testing.assert_array_equal(loaded.predict_proba(X), model.predict_proba(X))
