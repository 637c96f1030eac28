import sys
from dataclasses import replace

import numpy as np
import pandas as pd
import polars as pl
import pytest

from graphmargin import SemiSupervisedEnsemble, SupervisedSVC
from graphmargin.labeling.labeling_task import task_of
from graphmargin.labeling.table_labeling import label_rows
from graphmargin.labels import encode_labels
from graphmargin.methods import named_member
from graphmargin.models import ModelFileError, load_model, model_info, save_model
from graphmargin.search import View
from graphmargin.tables.table_errors import TableError


@pytest.fixture
def saved_table_model(table_model, tmp_path):
    path = tmp_path / "model.graphmargin"
    save_model(table_model, path)
    return path


def test_labels_are_those_of_the_classifier(table_classifier, table_model, table):
    model, X = table_model, table_model.features.transform(table)
    probabilities = table_classifier.predict_proba(X)
    np.testing.assert_array_equal(model.predict(table), table_classifier.predict(X))
    np.testing.assert_array_equal(model.predict_proba(table), probabilities)
    labels, confidence = model.label(table)
    np.testing.assert_array_equal(labels, model.predict(table))
    np.testing.assert_array_equal(confidence, probabilities.max(axis=1))


@pytest.mark.parametrize(
    "classes",
    [["cat", "dog"], [10, 20], [False, True], np.array(["a", "b\0"], dtype=object)],
    ids=["text", "integers", "booleans", "objects"],
)
def test_a_file_stores_the_encoders_of_all_roles(classes, table_model, table, tmp_path):
    details = {"n_rows": 60, "accuracy": 0.9}
    predictor = replace(table_model.predictor, classes=np.array(classes))
    model = replace(table_model, predictor=predictor, details=details)
    roles = [use.role for use in model.features.columns]
    assert roles == ["number", "category", "date", "text", "embedding", "left out"]
    path = tmp_path / "model.graphmargin"
    save_model(model, path)
    loaded = load_model(path)
    new = table.iloc[::-1].assign(color="violet", text=[*table["text"][:59], None])
    for rows in (table, new):
        for before, after in zip(model.label(rows), loaded.label(rows), strict=True):
            assert before.dtype == after.dtype
            np.testing.assert_array_equal(before, after)
        np.testing.assert_array_equal(loaded.predict_proba(rows), model.predict_proba(rows))
    assert loaded.classes.tolist() == model.classes.tolist()
    assert loaded.classes.dtype == model.classes.dtype
    assert (loaded.target, loaded.details) == ("kind", {"n_rows": 60, "accuracy": 0.9})
    for name in ("columns", "scaling", "n_features"):
        assert getattr(loaded.features, name) == getattr(model.features, name)
    info = model_info(path)
    assert (info.kind, info.target, info.details) == ("TableModel", "kind", loaded.details)
    assert info.classes == tuple(str(label) for label in np.array(classes).tolist())
    assert "n rows" in str(info)
    assert "parameters" not in str(info)
    with pytest.raises(TableError, match="'color' of the model is not in the table"):
        loaded.predict(table.drop(columns="color"))


def test_a_file_stores_what_prediction_sets_need(table_model, table, tmp_path):
    few = np.where(np.arange(60) < 10, np.arange(60) % 2, -1)
    classifier = SupervisedSVC(C=[1.0, 10.0]).fit(table_model.features.transform(table), few)
    model = replace(table_model, predictor=classifier.predictor_, held_out=classifier.held_out_)
    path = tmp_path / "model.graphmargin"
    save_model(model, path)
    loaded = load_model(path)
    assert loaded.held_out.rows is None
    X = model.features.transform(table)
    for coverage in (0.3, 0.6, 0.9):
        expected = classifier.predict_set(X, coverage)
        np.testing.assert_array_equal(model.predict_set(table, coverage), expected)
        np.testing.assert_array_equal(loaded.predict_set(table, coverage), expected)
    with pytest.warns(UserWarning, match="at most 0.909"):
        assert loaded.predict_set(table, 0.99).all()
    with pytest.raises(ValueError, match="needs held-out labels"):
        table_model.predict_set(table)


def test_an_empty_table_has_no_predictions(table, saved_table_model):
    model = load_model(saved_table_model)
    labels, confidence = model.label(table[:0])
    assert (labels.shape, labels.dtype, confidence.shape) == ((0,), model.classes.dtype, (0,))
    assert model.predict_proba(table[:0]).shape == (0, 2)
    with pytest.raises(TableError, match="'size' of the model is not in the table"):
        model.predict(table[:0].drop(columns="size"))


def test_the_message_names_the_extra_if_pandas_is_missing(saved_table_model, monkeypatch):
    monkeypatch.setitem(sys.modules, "graphmargin.tables.table_features", None)
    with pytest.raises(ImportError, match=r'pip install "graphmargin\[cli\]"'):
        load_model(saved_table_model)
    assert model_info(saved_table_model).kind == "TableModel"


@pytest.mark.parametrize("details", [{"error": np.nan}, {"rows": np.arange(3)}, {"f": print}])
def test_details_must_be_json_values(details, table_model, tmp_path):
    with pytest.raises(ModelFileError, match="`details` must be JSON values"):
        save_model(replace(table_model, details=details), tmp_path / "model.graphmargin")
    assert not list(tmp_path.iterdir())


def test_polars_frames_and_mappings_are_tables_and_other_types_raise(table_model, table):
    expected = table_model.predict(table).tolist()
    columns = {name: table[name].tolist() for name in table.columns}
    assert table_model.predict(columns).tolist() == expected
    assert table_model.predict(pl.from_pandas(table)).tolist() == expected
    for wrong in (None, np.zeros((3, 2)), [1, 2], "table.csv"):
        with pytest.raises(TypeError, match="`table` must be a pandas or polars frame"):
            table_model.predict(wrong)
    with pytest.raises(TableError, match="two columns are named 'size'"):
        table_model.predict_proba(pd.concat([table, table], axis=1))


def test_a_file_stores_the_views_of_a_mixture(table_model, table, tmp_path):
    """The model multiplies new rows by the factors of each view, as the fit did."""
    few = np.where(np.arange(60) < 10, np.arange(60) % 2, -1)
    X = table_model.features.transform(table)
    linear = named_member("linear-supervised", encode_labels(few))
    members = [replace(linear, view=View("light", np.linspace(0.1, 1, X.shape[1]))), "harmonic"]
    ensemble = SemiSupervisedEnsemble(members=members, random_state=0).fit(X, few)
    assert len(ensemble.predictor_.parts) == 2
    model, path = replace(table_model, predictor=ensemble.predictor_), tmp_path / "a.graphmargin"
    save_model(model, path)
    loaded = load_model(path)
    np.testing.assert_array_equal(loaded.predict_proba(table), ensemble.predict_proba(X))
    np.testing.assert_array_equal(loaded.predict(table), model.predict(table))


@pytest.mark.parametrize(
    "pair",
    [("cat", "dog"), ("9", "10"), (-1, 7), (False, True), ("a", "b\0")],
    ids=["text", "numbers as text", "integers", "booleans", "zero byte"],
)
def test_classes_of_every_type_of_target_survive_the_file(pair, tmp_path):
    low, high = pair
    size = [1.0, 1.1, 1.2, 1.3, 5.0, 5.1, 5.2, 5.3]
    kind = pd.Series([low, low, None, None, high, high, None, None], dtype=object)
    task = task_of(pd.DataFrame({"size": size, "kind": kind}), "kind")
    labeled, path = label_rows(task), tmp_path / "model.graphmargin"
    assert labeled.fitted.predictor.classes is labeled.solution.classes is task.target.classes
    save_model(labeled.model(), path)
    loaded = load_model(path)
    assert loaded.classes.tolist() == [low, high]
    assert loaded.classes.dtype == task.target.classes.dtype
    assert loaded.predict({"size": [1.05, 5.05]}).tolist() == [low, high]
