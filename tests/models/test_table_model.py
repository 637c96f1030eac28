import json
import sys

import numpy as np
import pandas as pd
import pytest

from graphmargin import HarmonicClassifier, MaxMarginGraphCut
from graphmargin.models import ModelFileError, TableModel, load_model, model_info, save_model
from graphmargin.tables.errors import TableError
from graphmargin.tables.features import TableFeatures

WORDS = ("red", "green", "blue", "sky", "sea", "tree", "dog", "house", "river", "moon")


def mixed_table(n=60):
    """Return a table with columns of all kinds, and the class of each row."""
    rng = np.random.default_rng(0)
    codes = np.arange(n) % 2
    return codes, pd.DataFrame(
        {
            "size": np.where(rng.random(n) < 0.2, np.nan, codes * 3 + rng.normal(size=n)),
            "color": np.where(codes, "red", rng.choice(["blue", "green"], n)),
            "day": pd.date_range("2020-01-01", periods=n, freq="37h"),
            "text": [" ".join(rng.choice(WORDS, 5)) for _ in range(n)],
            "vector": [rng.normal(size=3).tolist() for _ in range(n)],
        }
    )


def fitted(classifier, classes, columns=None, **details):
    codes, table = mixed_table()
    table = table if columns is None else table[columns]
    features = TableFeatures().fit(table)
    few = np.where(np.arange(len(codes)) < 10, codes, -1)
    model = classifier.fit(features.transform(table), few)
    return TableModel(features, model, np.array(classes), "kind", details), table


@pytest.mark.parametrize(
    "classifier", [MaxMarginGraphCut(), HarmonicClassifier()], ids=["cut", "harmonic"]
)
def test_one_pass_says_what_the_classifier_says(classifier):
    model, table = fitted(classifier, ["cat", "dog"])
    X = model.features.transform(table)
    codes, probabilities = classifier.predict(X), classifier.predict_proba(X)
    np.testing.assert_array_equal(model.predict(table), np.array(["cat", "dog"])[codes])
    np.testing.assert_array_equal(model.predict_proba(table), probabilities)
    labels, confidence = model.label(table)
    np.testing.assert_array_equal(labels, model.predict(table))
    ranked = np.sort(probabilities, axis=1)
    np.testing.assert_array_equal(confidence, ranked[:, -1] - ranked[:, -2])


@pytest.mark.parametrize(
    "classes",
    [["cat", "dog"], [10, 20], [False, True], np.array(["a", "b"], dtype=object)],
    ids=["text", "integers", "booleans", "objects"],
)
def test_file_of_all_kinds_of_columns(classes, tmp_path):
    model, table = fitted(MaxMarginGraphCut(), classes, n_rows=60, accuracy=0.9)
    path = tmp_path / "model.skops"
    save_model(model, path)
    loaded = load_model(path)
    for before, after in zip(model.label(table), loaded.label(table), strict=True):
        assert before.dtype == after.dtype
        np.testing.assert_array_equal(before, after)
    np.testing.assert_array_equal(loaded.predict_proba(table), model.predict_proba(table))
    assert loaded.classes.dtype == model.classes.dtype
    assert (loaded.target, loaded.details) == ("kind", {"n_rows": 60, "accuracy": 0.9})
    assert loaded.features.columns_ == model.features.columns_
    info = model_info(path)
    assert (info.kind, info.target, info.details) == ("TableModel", "kind", loaded.details)
    assert info.classes == tuple(str(one) for one in np.array(classes).tolist())
    assert "skrub" in info.packages
    assert "n rows" in str(info)
    with pytest.raises(TableError, match="'color' of the model is not in the table"):
        loaded.predict(table.drop(columns="color"))


def test_empty_table(tmp_path):
    model, table = fitted(HarmonicClassifier(), ["cat", "dog"], ["size", "color"])
    save_model(model, tmp_path / "model.skops")
    for one in (model, load_model(tmp_path / "model.skops")):
        labels, confidence = one.label(table[:0])
        assert (labels.shape, labels.dtype, confidence.shape) == ((0,), model.classes.dtype, (0,))
        assert one.predict_proba(table[:0]).shape == (0, 2)
        with pytest.raises(TableError, match="'size' of the model is not in the table"):
            one.predict(table[:0][["color"]])


def test_missing_skrub_names_the_extra(tmp_path, monkeypatch):
    model, _ = fitted(HarmonicClassifier(), ["cat", "dog"], ["size"])
    save_model(model, tmp_path / "model.skops")
    monkeypatch.setitem(sys.modules, "graphmargin.tables.features", None)
    with pytest.raises(ImportError, match=r'pip install "graphmargin\[cli\]"'):
        load_model(tmp_path / "model.skops")


@pytest.mark.parametrize("details", [{"error": np.nan}, {"rows": np.arange(3)}, {"f": print}])
def test_details_must_be_json(details, tmp_path):
    model, _ = fitted(HarmonicClassifier(), ["cat", "dog"], ["size"], **details)
    with pytest.raises(ModelFileError, match="`details` must be JSON values"):
        save_model(model, tmp_path / "model.skops")
    assert not list(tmp_path.iterdir())


def attributes(objects):
    return objects["content"]["content"]


def test_types_of_the_features_are_checked(tmp_path, forge):
    model, _ = fitted(HarmonicClassifier(), ["cat", "dog"], ["size"])
    save_model(model, tmp_path / "model.skops")

    def edit(objects):
        attributes(objects)["features"]["__class__"] = "Pipeline"
        attributes(objects)["features"]["__module__"] = "sklearn.pipeline"

    forge(tmp_path / "model.skops", edit)
    with pytest.raises(ModelFileError, match=r"names 'sklearn\.pipeline\.Pipeline'"):
        load_model(tmp_path / "model.skops")


def text_encoder(objects):
    encoders = attributes(attributes(objects)["features"])["_encoders"]["content"]
    return next(attributes(one) for one in encoders if one["__class__"] == "TextEncoder")


def far_word(objects):
    """Point out of the matrix, which compiled code would read there."""
    vectorizer = attributes(text_encoder(objects)["encoder"])["vectorizer_"]
    words = attributes(vectorizer)["vocabulary_"]["content"]
    word = next(iter(words))
    words[word] = {**words[word], "content": "1000000000", "__id__": 1}


def other_classes(objects):
    attributes(objects)["classes"] = attributes(attributes(objects)["classifier"])["_class_mass"]


def other_target(objects):
    attributes(objects)["target"] = {
        **attributes(objects)["target"],
        **{"content": json.dumps([1]), "__id__": 1},
    }


def no_features(objects):
    attributes(objects)["features"] = attributes(objects)["classifier"]


@pytest.mark.parametrize("edit", [far_word, other_classes, other_target, no_features])
def test_edited_files_with_a_new_digest(edit, tmp_path, forge):
    model, _ = fitted(HarmonicClassifier(), ["cat", "dog"])
    save_model(model, tmp_path / "model.skops")
    forge(tmp_path / "model.skops", edit)
    with pytest.raises(ModelFileError, match="that do not fit"):
        load_model(tmp_path / "model.skops")
