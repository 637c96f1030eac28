import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_iris, load_wine
from sklearn.metrics import roc_auc_score
from sklearn.preprocessing import StandardScaler

from graphmargin import HarmonicClassifier, MaxMarginGraphCut, SupervisedSVC
from graphmargin.confidence.held_out_predictions import predictions_for
from graphmargin.confidence.label_errors import (
    LabelErrors,
    label_error_probabilities,
    label_errors,
)
from graphmargin.datasets import load_digits, mask_labels
from graphmargin.margin.calibration import fit_calibration

CLASSES = np.array(["ant", "bee", "cat"])


def held_out_labels(n=90, wrong=(0, 31), own=0.98, uniform_share=0.0, rows=None):
    """Return held-out predictions that are right except for some wrong labels."""
    codes = np.arange(n) % 3
    P = np.where(np.eye(3)[codes] == 1, own, (1 - own) / 2)
    codes[list(wrong)] = (codes[list(wrong)] + 1) % 3
    return predictions_for(codes, P, rows, uniform_share=uniform_share, unlabeled=P)


def test_wrong_labels_among_many_right_ones_are_listed():
    errors = label_errors(held_out_labels(), CLASSES)
    assert errors.rows[errors.listed].tolist() == [0, 31]
    assert errors.suggested_labels[errors.listed].tolist() == ["ant", "bee"]
    assert errors.given_labels[errors.listed].tolist() == ["bee", "cat"]
    others = np.delete(errors.probability, [0, 31])
    assert others.max() < 0.01


def test_probability_is_that_of_bayes_rule_on_a_fine_grid():
    """Compare the mean over quantiles of the priors with a brute-force integral."""
    held_out = held_out_labels(n=30, wrong=(4,), own=0.9)
    gap = np.log(0.9 / 0.05)
    shares = np.linspace(0, 1, 4001)[1:] - 1 / 8000
    z = np.linspace(-5, 5, 201)
    total = mass = 0.0
    for log_factor in z:
        odds = np.exp(2 / gap * np.exp(log_factor) * gap)
        ignorance = 1 / 32
        p_right = (1 - ignorance) * odds / (odds + 2) + ignorance / 3
        p_wrong = (1 - ignorance) / (odds + 2) + ignorance / 3
        of_right, of_wrong = ((1 - shares) * p + shares / 3 for p in (p_right, p_wrong))
        weight = np.exp(29 * np.log(of_right) + np.log(of_wrong) - shares / 0.1 - log_factor**2 / 2)
        total += (weight * shares / 3 * (1 - p_wrong) / of_wrong).sum()
        mass += weight.sum()
    assert label_error_probabilities(held_out)[4] == pytest.approx(total / mass, abs=0.01)


def test_the_uniform_share_of_a_calibration_is_replaced():
    plain = held_out_labels()
    uniform_share = 0.1
    mixed = (1 - uniform_share) * plain.probabilities + uniform_share / 3
    calibrated = predictions_for(
        plain.codes, mixed, None, uniform_share=uniform_share, unlabeled=mixed
    )
    expected = label_error_probabilities(plain)
    np.testing.assert_allclose(label_error_probabilities(calibrated), expected, atol=1e-9)


@pytest.mark.parametrize("uniform_share", [0.0, 1.0])
def test_a_classifier_that_knows_nothing_lists_no_label(uniform_share):
    P = np.full((12, 3), 1 / 3)
    held_out = predictions_for(np.arange(12) % 3, P, None, uniform_share=uniform_share, unlabeled=P)
    errors = label_errors(held_out, CLASSES)
    assert np.isfinite(errors.probability).all()
    assert not len(errors.listed)


@given(
    st.integers(2, 4),
    st.integers(1, 30),
    st.floats(0, 0.9),
    st.integers(0, 1000),
)
@settings(max_examples=25, deadline=None)
def test_probabilities_fall_with_the_probability_of_the_given_class(c, n, uniform_share, seed):
    rng = np.random.default_rng(seed)
    P = (1 - uniform_share) * rng.dirichlet(np.full(c, 0.3), size=n) + uniform_share / c
    codes = rng.integers(0, c, n)
    wrong = label_error_probabilities(
        predictions_for(codes, P, None, uniform_share=uniform_share, unlabeled=P)
    )
    assert ((wrong >= 0) & (wrong <= 1)).all()
    if c == 2:
        order = np.argsort(P[np.arange(n), codes])
        assert (np.diff(wrong[order]) <= 1e-9).all()


def test_rows_are_ascending_whatever_the_order_of_folds():
    ascending = label_errors(held_out_labels(rows=np.arange(90)), CLASSES)
    other = held_out_labels(rows=np.arange(90)[::-1])
    errors = label_errors(other, CLASSES)
    assert errors.rows.tolist() == list(range(90))
    assert errors.given.tolist() == other.codes[::-1].tolist()
    np.testing.assert_array_equal(errors.probability, ascending.probability[::-1])


def test_blocks_of_labels_change_nothing(monkeypatch):
    held_out = held_out_labels()
    expected = label_error_probabilities(held_out)
    monkeypatch.setattr("graphmargin._blocks.BLOCK_BYTES", 7 * 8 * 4096)
    np.testing.assert_allclose(label_error_probabilities(held_out), expected, rtol=1e-12)


def test_texts_say_threshold_and_expected_false_alarms():
    probability = np.array([0.9, 0.7, 0.6, 0.1])
    given, suggested = np.array([0, 1, 1, 2]), np.array([1, 0, 1, 0])
    errors = LabelErrors(CLASSES, np.array([2, 5, 6, 9]), given, suggested, probability)
    assert errors.listed.tolist() == [0, 1]  # the third has no likelier class
    assert errors.expected_false_alarms == pytest.approx(0.4)
    lines = str(errors).splitlines()
    assert lines[0] == (
        "2 of 4 held-out labels look wrong (probability above 0.5; 0.4 false alarms expected)"
    )
    assert lines[1] == "row 2: given 'ant', suggested 'bee', probability 0.900"
    assert len(lines) == 3
    page = errors._repr_html_()
    assert page.count("<tr>") == 3
    assert lines[0] in page
    none = LabelErrors(CLASSES, errors.rows, given, suggested, probability, threshold=0.95)
    assert str(none) == "none of 4 held-out labels looks wrong (probability above 0.95)"


@pytest.mark.parametrize("threshold", [-0.1, 1.0, float("nan")])
def test_threshold_is_checked(threshold):
    with pytest.raises(ValueError, match="`threshold` must be"):
        label_errors(held_out_labels(), CLASSES, threshold)


@pytest.mark.parametrize("load", [load_iris, load_wine])
@pytest.mark.parametrize("model", [MaxMarginGraphCut(), HarmonicClassifier(gamma_g="auto")])
def test_nothing_is_listed_on_a_clean_table_of_nine_labels(load, model):
    X, y = load(return_X_y=True)
    X = StandardScaler().fit_transform(X)
    for seed in range(6):
        few = mask_labels(y, per_class=3, random_state=seed)
        errors = model.set_params(random_state=0).fit(X, few).label_errors()
        assert len(errors.rows) == 9
        assert not len(errors.listed)


def test_estimators_find_wrong_labels():
    X, y = (part[:700] for part in load_digits())
    few = mask_labels(y, per_class=12, random_state=0)
    labeled = np.flatnonzero(few >= 0)
    wrong = labeled[::10]
    few[wrong] = (few[wrong] + 3) % 10
    for model in (MaxMarginGraphCut(), HarmonicClassifier(gamma_g="auto"), SupervisedSVC(C="auto")):
        errors = model.set_params(random_state=0).fit(X, few).label_errors()
        is_wrong = np.isin(errors.rows, wrong)
        assert roc_auc_score(is_wrong, errors.probability) > 0.97
        listed = is_wrong[errors.listed]
        assert listed.sum() >= 2
        assert listed.mean() >= 0.75
        assert (errors.given_labels == few[errors.rows]).all()
        assert len(model.label_errors(0.2).listed) >= len(errors.listed)


def test_fixed_parameters_have_no_label_errors():
    X, y = load_iris(return_X_y=True)
    model = SupervisedSVC(C=1.0).fit(X, y)
    with pytest.raises(ValueError, match="`label_errors` needs held-out labels"):
        model.label_errors()


@pytest.mark.parametrize("n", [9, 30, 300])
@pytest.mark.parametrize("share", [0.0, 0.1], ids=["clean", "one of ten is wrong"])
def test_wrong_labels_are_found_and_clean_ones_are_not_accused(n, share):
    rng = np.random.default_rng(0)
    listed, n_wrong, n_found = 0, 0, 0
    for _ in range(20):
        truth = np.arange(n) % 3
        scores = 4 * np.eye(3)[truth] + rng.normal(size=(n, 3))
        is_wrong = rng.random(n) < share
        codes = np.where(is_wrong, (truth + rng.integers(1, 3, size=n)) % 3, truth)
        calibration = fit_calibration(scores, np.eye(3)[codes])
        P = calibration.probabilities(scores)
        held_out = predictions_for(
            codes, P, None, uniform_share=calibration.uniform_share, unlabeled=P
        )
        probable = label_error_probabilities(held_out) > 0.5
        listed += probable.sum()
        n_wrong += is_wrong.sum()
        n_found += (probable & is_wrong).sum()
    assert listed - n_found <= 0.002 * 20 * n
    if share and n == 300:
        assert n_found > 0.7 * n_wrong
