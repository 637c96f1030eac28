"""A small model in a file, and the tools to change it."""

import io
import json
import zipfile
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from graphmargin import HarmonicClassifier, MaxMarginGraphCut, SemiSupervisedEnsemble, SupervisedSVC
from graphmargin.labels import encode_labels
from graphmargin.methods import named_member
from graphmargin.models import TableModel, save_model
from graphmargin.models.archive import DESCRIPTION, TREE, pack_entries
from graphmargin.search import View
from graphmargin.tables.table_features import fit_transform

WORDS = ("red", "green", "blue", "sky", "sea", "tree", "dog", "house", "river", "moon")


@pytest.fixture(scope="session")
def data():
    """Return rows around a center for each of three classes, and a few labels."""
    rng = np.random.default_rng(0)
    codes = np.arange(60) % 3
    X = 3 * rng.normal(size=(3, 4))[codes] + rng.normal(size=(60, 4))
    return X, np.where(np.arange(60) < 12, codes, -1)


@pytest.fixture(scope="session")
def table():
    """Return a table with columns of all kinds; its rows are of two classes in turns."""
    rng = np.random.default_rng(0)
    n, codes = 60, np.arange(60) % 2
    return pd.DataFrame(
        {
            "size": np.where(rng.random(n) < 0.2, np.nan, codes * 3 + rng.normal(size=n)),
            "color": np.where(codes, "red", rng.choice(["blue", "green"], n)),
            "day": pd.date_range("2020-01-01", periods=n, freq="37h"),
            "text": [" ".join(rng.choice(WORDS, 5)) for _ in range(n)],
            "vector": [rng.normal(size=3).tolist() for _ in range(n)],
            "same": 1,
        }
    )


@pytest.fixture(scope="session")
def fitted(data):
    return SupervisedSVC().fit(*data)


@pytest.fixture(scope="session")
def cut_with_graph(data):
    """Return a classifier whose class scores include the probabilities of its graph."""
    y = np.where(np.arange(60) < 30, np.arange(60) % 3, -1)
    model = MaxMarginGraphCut(random_state=0).fit(data[0], y)
    assert model.predictor_.part.calibration.graph_weight > 0
    return model


@pytest.fixture(scope="session")
def ensemble_with_view(data):
    """Return an ensemble of a machine on scaled features and a harmonic solution."""
    X, y = data
    linear = named_member("linear-supervised", encode_labels(y))
    view = View("light", np.array([1.0, 0.5, 0.5, 0.1]))
    members = [replace(linear, view=view, prior=2.0), "harmonic"]
    model = SemiSupervisedEnsemble(members=members, random_state=0).fit(X, y)
    assert [part.view is view for part in model.predictor_.parts] == [True, False]
    return model


@pytest.fixture(scope="session")
def table_classifier():
    """Return the classifier that the model of the table comes from; the model fits it."""
    return HarmonicClassifier()


@pytest.fixture(scope="session")
def table_model(table_classifier, table):
    """Return a model of the table, with labels on ten rows."""
    features = fit_transform(table, ignore=["same"])[0]
    few = np.where(np.arange(60) < 10, np.array(["cat", "dog"])[np.arange(60) % 2], "")
    predictor = table_classifier.fit(features.transform(table), few).predictor_
    return TableModel(features, predictor, "kind")


@pytest.fixture(scope="session")
def saved_content(fitted, tmp_path_factory):
    path = tmp_path_factory.mktemp("models") / "model.graphmargin"
    save_model(fitted, path)
    return path.read_bytes()


@pytest.fixture
def saved(tmp_path, saved_content):
    """Return the file of a small model."""
    path = tmp_path / "model.graphmargin"
    path.write_bytes(saved_content)
    return path


@pytest.fixture(scope="session")
def entries_of():
    """Return the contents of an archive by name."""

    def read(path):
        with zipfile.ZipFile(path) as archive:
            return {name: archive.read(name) for name in archive.namelist()}

    return read


@pytest.fixture(scope="session")
def as_archive():
    """Return an archive of contents by name."""

    def write(entries):
        stream = io.BytesIO()
        with zipfile.ZipFile(stream, "w") as archive:
            for name, content in entries.items():
                archive.writestr(name, content)
        return stream.getvalue()

    return write


@pytest.fixture
def forge(entries_of):
    """Change the tree, entries or description of a file, and compute its digest again."""

    def change(path, edit=None, *, entries=None, **described):
        changed = {**entries_of(path), **(entries or {})}
        description = {**json.loads(changed.pop(DESCRIPTION)), **described}
        del description["digest"]
        if edit is not None:
            tree = json.loads(changed[TREE])
            changed[TREE] = json.dumps(edit(tree) or tree).encode()
        path.write_bytes(pack_entries(changed, description))

    return change


@pytest.fixture(scope="session")
def put():
    """Replace a value in a tree, at a place such as ``parts.0.weight``."""

    def put_value(tree, place, value):
        *outer, last = [int(key) if key.isdigit() else key for key in place.split(".")]
        for key in outer:
            tree = tree[key]
        tree[last] = value

    return put_value
