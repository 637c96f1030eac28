"""Model files with random damage: an error of model files or the same model, and nothing else."""

import io
import json
import zipfile

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphmargin import HarmonicClassifier, MaxMarginGraphCut, SemiSupervisedEnsemble, SupervisedSVC
from graphmargin.models import ModelFileError, TableModel, load_model, model_info, save_model
from graphmargin.models.archive import DESCRIPTION, TREE, pack_entries
from graphmargin.search import Member, View
from graphmargin.tables.table_features import fit_transform

RNG = np.random.default_rng(0)
X = RNG.normal(size=(30, 3))
Y = np.where(np.arange(30) < 9, np.arange(30) % 3, -1)
LIGHT = Member("light", SupervisedSVC(C=1.0).method(), View("light", np.array([1.0, 0.5, 0.1])))
CLASSIFIERS = (
    SupervisedSVC(),
    SupervisedSVC(kernel="linear"),
    MaxMarginGraphCut(gamma_g=0.1, C=1.0, kernel="poly"),
    HarmonicClassifier(gamma_g=[0.1, 1.0]),
    HarmonicClassifier(width=2.0),
    MaxMarginGraphCut(),
    SemiSupervisedEnsemble(members=[LIGHT, "harmonic"]),
)


TABLE = pd.DataFrame(
    {
        "size": [None if i % 7 == 0 else X[i, 0] for i in range(30)],
        "color": [("red", "green", "blue")[i % 3] for i in range(30)],
        "day": pd.date_range("2024-01-30", periods=30, freq="40h"),
        "text": [f"a text {i % 11} of {i % 5} words" for i in range(30)],
        "vector": X.tolist(),
    }
)
N_FILES = len(CLASSIFIERS) + 1


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    """Return the contents of some model files, new rows for them, and their probabilities."""
    path = tmp_path_factory.mktemp("models") / "a.graphmargin"
    files = []
    for classifier in CLASSIFIERS:
        save_model(classifier.fit(X, Y), path)
        files.append((path.read_bytes(), X, classifier.predict_proba(X)))
    features = fit_transform(TABLE)[0]
    predictor = SupervisedSVC().fit(features.transform(TABLE), Y).predictor_
    model = TableModel(features, predictor, "kind")
    save_model(model, path)
    return [*files, (path.read_bytes(), TABLE, model.predict_proba(TABLE))]


def check_predictions(model, rows):
    """Check that a model from elsewhere predicts class probabilities, or says that it cannot."""
    try:
        proba = model.predict_proba(rows)
    except (ValueError, TypeError):
        return
    assert proba.shape == (30, len(model.classes))
    assert np.isfinite(proba).all()


@pytest.fixture(scope="module")
def scratch(tmp_path_factory):
    return tmp_path_factory.mktemp("damaged") / "a.graphmargin"


def load(path, content):
    """Return the model in a file of this content, or None if it is refused."""
    path.write_bytes(content)
    try:
        model_info(path)
        return load_model(path)
    except ModelFileError:
        return None


@st.composite
def damages(draw):
    """Return a function that damages some bytes."""
    kind = draw(st.sampled_from(["flip", "cut", "insert", "remove", "swap", "zero", "double"]))
    start, length = draw(st.floats(0, 1)), draw(st.integers(1, 40))
    noise = draw(st.binary(min_size=1, max_size=40))

    def damage(content):
        i = int(start * (len(content) - 1))
        head, part, tail = content[:i], content[i : i + length], content[i + length :]
        match kind:
            case "flip":
                return head + bytes([content[i] ^ (noise[0] or 1)]) + content[i + 1 :]
            case "cut":
                return head
            case "insert":
                return head + noise + content[i:]
            case "remove":
                return head + tail
            case "swap":
                return tail + part + head
            case "zero":
                return head + bytes(len(part)) + tail
            case _:
                return head + part + part + tail

    return damage


@given(st.integers(0, N_FILES - 1), st.lists(damages(), min_size=1, max_size=3))
def test_damaged_bytes_are_refused_or_make_no_difference(count_case, saved, scratch, which, damage):
    count_case("damaged model files")
    content, rows, expected = saved[which]
    for change in damage:
        content = change(content) or b"\0"
    model = load(scratch, content)
    if model is not None:
        np.testing.assert_array_equal(model.predict_proba(rows), expected)


JSON_VALUES = st.recursive(
    st.one_of(
        *(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=8)),
        st.sampled_from([-1, 0, 2**31, 2**63, 10**30, 1e308, 5e-324, "rbf", "precomputed", []]),
        st.sampled_from([0.0, -1.0, float("nan"), float("inf")]),
        st.builds(lambda text: {"type": "number", "value": text}, st.sampled_from(["nan", "inf"])),
        st.builds(lambda number: {"type": "array", "number": number}, st.integers(-2, 9)),
    ),
    lambda parts: st.lists(parts, max_size=3) | st.dictionaries(st.text(max_size=4), parts),
    max_leaves=4,
)


def value_paths(tree, path=()):
    """Return the paths to all values of a tree."""
    pairs = tree.items() if isinstance(tree, dict) else enumerate(tree)
    paths = [path] if path else []
    for key, value in pairs if isinstance(tree, dict | list) else ():
        paths += (
            value_paths(value, (*path, key)) if isinstance(value, dict | list) else [(*path, key)]
        )
    return paths


@given(
    st.integers(0, N_FILES - 1),
    st.sampled_from([TREE, TREE, TREE, DESCRIPTION]),
    st.floats(0, 1, exclude_max=True),
    JSON_VALUES,
)
def test_crafted_values_are_refused_or_make_a_model(
    count_case, saved, scratch, which, entry, where, value
):
    """An attacker computes the digest again, so that types and shapes have to be checked."""
    count_case("crafted model files")
    content, rows, _ = saved[which]
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        entries = {name: archive.read(name) for name in archive.namelist()}
    trees = {name: json.loads(entries.pop(name)) for name in (TREE, DESCRIPTION)}
    paths = value_paths(trees[entry])
    *outer, last = paths[int(where * len(paths))]
    inner = trees[entry]
    for key in outer:
        inner = inner[key]
    inner[last] = value
    try:
        entries[TREE] = json.dumps(trees[TREE], allow_nan=True).encode()
        trees[DESCRIPTION].pop("digest", None)
        crafted = pack_entries(entries, trees[DESCRIPTION])
    except ValueError:
        return  # JSON has no such number
    model = load(scratch, crafted)
    if model is not None:
        check_predictions(model, rows)


@given(st.integers(0, N_FILES - 1), st.floats(0, 1, exclude_max=True), damages())
def test_crafted_arrays_are_refused_or_make_a_model(
    count_case, saved, scratch, which, where, damage
):
    count_case("crafted arrays")
    content, rows, _ = saved[which]
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        entries = {name: archive.read(name) for name in archive.namelist()}
    description = json.loads(entries.pop(DESCRIPTION))
    del description["digest"]
    arrays = sorted(name for name in entries if name != TREE)
    name = arrays[int(where * len(arrays))]
    entries[name] = damage(entries[name])
    model = load(scratch, pack_entries(entries, description))
    if model is not None:
        check_predictions(model, rows)
