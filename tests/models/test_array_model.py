import numpy as np
import pandas as pd
import polars as pl
import pytest

from graphmargin import HarmonicClassifier, SupervisedSVC
from graphmargin.models import load_model, save_model
from graphmargin.models.array_model import array_model_of

NAMES = ["a", "b", "c", "d"]


@pytest.fixture(scope="module")
def classifier(data):
    return SupervisedSVC().fit(pd.DataFrame(data[0], columns=NAMES), data[1])


@pytest.fixture(scope="module")
def model(classifier, tmp_path_factory):
    path = tmp_path_factory.mktemp("models") / "names.graphmargin"
    save_model(classifier, path)
    return load_model(path)


def test_names_of_features_are_kept(model, classifier, data):
    frame = pd.DataFrame(data[0], columns=NAMES)
    assert model.feature_names == tuple(NAMES)
    expected = classifier.predict_proba(frame)
    np.testing.assert_array_equal(model.predict_proba(frame), expected)
    for rows in (pl.DataFrame(data[0], schema=NAMES), data[0], data[0].tolist()):
        np.testing.assert_allclose(model.predict_proba(rows), expected)


@pytest.mark.parametrize("names", [["b", "a", "c", "d"], ["a", "b", "c"], [*NAMES, "e"]])
def test_other_columns_raise_an_error(names, model):
    with pytest.raises(ValueError, match=r"feature names should match .*'a', 'b', 'c', 'd'; got"):
        model.predict(pd.DataFrame(np.zeros((2, len(names))), columns=names))


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (np.zeros((2, 3)), "X has 3 features, but SupervisedSVC is expecting 4 features as input"),
        (np.zeros(4), "Expected 2D array, got 1D"),
        (np.full((2, 4), np.nan), "Input X contains NaN"),
        (np.zeros((0, 4)), "Found array with 0 sample"),
        ([["x"] * 4], "could not convert string to float"),
    ],
)
def test_rows_are_checked_as_by_scikit_learn(rows, message, model):
    for method in (model.predict, model.predict_proba, model.decision_function):
        with pytest.raises(ValueError, match=message):
            method(rows)


def test_a_harmonic_model_has_no_decision_function(data):
    model = array_model_of(HarmonicClassifier().fit(*data))
    with pytest.raises(TypeError, match="a HarmonicClassifier has no `decision_function`; use"):
        model.decision_function(data[0])
