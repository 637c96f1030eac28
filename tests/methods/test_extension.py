"""A method of your own, as CONTRIBUTING.md describes: one file, and one line of the registry."""

import pickle
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from graphmargin import SemiSupervisedEnsemble, save_model
from graphmargin.cli import main
from graphmargin.labeling.labeling_task import task_of
from graphmargin.labeling.table_labeling import label_rows
from graphmargin.labeling.table_report import report_on
from graphmargin.methods import METHODS
from graphmargin.models import ModelFileError
from tests.methods import nearest_mean
from tests.methods.nearest_mean import ClassMeans, NearestMean

CONTRIBUTING = Path(__file__).parents[2] / "CONTRIBUTING.md"
CENTERS = np.array([[0.0, 0.0], [4.0, 0.0], [0.0, 4.0]])


def three_balls(n=90, seed=0):
    """Return rows of three round classes, one label in six, and the class of every row."""
    rng = np.random.default_rng(seed)
    codes = np.arange(n) % 3
    X = CENTERS[codes] + rng.normal(0, 0.8, (n, 2))
    return X, np.where(np.arange(n) % 18 < 3, codes, -1), codes


def test_the_page_quotes_the_module():
    text, module = CONTRIBUTING.read_text(), Path(nearest_mean.__file__).read_text()
    assert f"```python\n{module}```" in text
    assert len(module.splitlines()) < 60


def test_a_method_alone():
    X, y, codes = three_balls()
    model = SemiSupervisedEnsemble(members=[NearestMean()], random_state=0).fit(X, y)
    assert model.choice_.names == ("NearestMean",)
    assert model.report() == "classes are round: 100%"
    assert isinstance(model.predictor_.part, ClassMeans)
    np.testing.assert_allclose(model.predictor_.part.means, CENTERS, atol=1.0)
    assert (model.transduction_ == codes).mean() > 0.9
    assert (model.transduction_[y >= 0] == y[y >= 0]).all()
    np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1.0)
    assert model.accuracy_.n_held_out == np.count_nonzero(y >= 0)


def test_candidates_are_tried_without_the_held_out_labels():
    X, y, _ = three_balls()
    model = SemiSupervisedEnsemble(members=[NearestMean()], cv="loo").fit(X, y)
    trials = model.choice_.parts[0].trials
    assert trials.supervised.tolist() == [True, False]
    for place, row in enumerate(trials.held_out_rows):
        kept = y.copy()
        kept[row] = -1
        means = np.array([X[kept == code].mean(axis=0) for code in range(3)])
        expected = ClassMeans(means).probabilities(X[[row]])[0]
        np.testing.assert_allclose(trials.held_out_values[0, place], expected)


def test_a_method_beside_others():
    X, y, codes = three_balls()
    members = ["cut", "harmonic", NearestMean()]
    model = SemiSupervisedEnsemble(members=members, random_state=0).fit(X, y)
    assert model.choice_.names == ("cut", "harmonic", "NearestMean")
    assert "classes are round" in model.choice_.assumption_weights
    assert model.choice_.weights[2] > 0
    assert (model.predict(X) == codes).mean() > 0.9


def test_a_method_with_fixed_parameters_sparse_rows_and_a_validation_set():
    X, y, _ = three_balls()
    model = SemiSupervisedEnsemble(members=[NearestMean(steps=(0,))])
    expected = model.fit(X, y).predict_proba(X)
    np.testing.assert_allclose(model.fit(sparse.csr_array(X), y).predict_proba(X), expected)
    new, _, new_codes = three_balls(seed=1)
    model.set_params(cv=(new, new_codes)).fit(X, y)
    held_out = model.choice_.parts[0].trials.held_out_values[0]
    np.testing.assert_allclose(held_out, model.predictor_.part.probabilities(new))


def test_a_method_without_a_label_to_hold_out():
    X, _, codes = three_balls()
    y = np.where(np.arange(len(codes)) < 3, codes, -1)
    model = SemiSupervisedEnsemble(members=[NearestMean(), "harmonic"]).fit(X, y)
    assert model.choice_.weights.tolist() == [0.5, 0.5]
    assert (model.transduction_ == codes).mean() > 0.8


def test_a_registered_method_has_a_name(monkeypatch):
    X, y, _ = three_balls()
    with pytest.raises(ValueError, match="nearest-mean"):
        SemiSupervisedEnsemble(members=["nearest-mean"]).fit(X, y)
    monkeypatch.setitem(METHODS, "nearest-mean", NearestMean)
    by_name = SemiSupervisedEnsemble(members=["nearest-mean", "cut"], random_state=0).fit(X, y)
    by_object = SemiSupervisedEnsemble(members=[NearestMean(), "cut"], random_state=0).fit(X, y)
    assert by_name.choice_.names == ("nearest-mean", "cut")
    np.testing.assert_array_equal(by_name.predict_proba(X), by_object.predict_proba(X))


def test_a_registered_method_labels_tables(monkeypatch):
    monkeypatch.setitem(METHODS, "nearest-mean", NearestMean)
    X, y, codes = three_balls()
    names = np.array(["cat", "dog", "eel"], dtype=object)[codes]
    table = pd.DataFrame(X, columns=["x", "y"]).assign(kind=np.where(y >= 0, names, None))
    labeled = label_rows(task_of(table, "kind"), method="nearest-mean")
    assert (labeled.table["kind"] == names).mean() > 0.9
    summary = report_on(labeled).summary
    assert dict(summary.assumptions)["classes are round"] > 0
    assert summary.estimate.n_held_out == np.count_nonzero(y >= 0)


def test_a_registered_method_is_a_method_of_the_commands(monkeypatch, tmp_path, capsys):
    X, y, codes = three_balls()
    names = np.array(["cat", "dog", "eel"], dtype=object)[codes]
    table = pd.DataFrame(X, columns=["x", "y"]).assign(kind=np.where(y >= 0, names, None))
    table.to_csv(tmp_path / "balls.csv", index=False)
    command = ["label", str(tmp_path / "balls.csv"), "-t", "kind", "--method", "nearest-mean"]
    assert main(command) == 2
    assert "'nearest-mean' is not one of auto, cut" in capsys.readouterr().err.replace("\n", " ")
    monkeypatch.setitem(METHODS, "nearest-mean", NearestMean)
    assert main(command) == 0
    assert "nearest-mean 100%" in capsys.readouterr().out
    assert (pd.read_csv(tmp_path / "balls-labeled.csv")["kind"] == names).mean() > 0.9


def test_a_model_file_does_not_take_a_method_of_your_own(tmp_path):
    X, y, _ = three_balls()
    model = SemiSupervisedEnsemble(members=[NearestMean()]).fit(X, y)
    message = re.escape("a model file cannot store a ClassMeans") + ".*pickle the classifier"
    with pytest.raises(ModelFileError, match=message):
        save_model(model, tmp_path / "balls.graphmargin")
    assert not any(tmp_path.iterdir())
    copy = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(copy.predict(X), model.predict(X))
