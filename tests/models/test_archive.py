import io
import zipfile

import numpy as np
import pytest

from graphmargin.models import ModelFileError, load_model, model_info, save_model
from graphmargin.models.archive import ALWAYS_ALLOWED_BYTES, DESCRIPTION, TREE

ARRAY = "arrays/0.npy"


def npy(array):
    stream = io.BytesIO()
    np.save(stream, array)
    return stream.getvalue()


def edited_number(entries):
    array = np.load(io.BytesIO(entries[ARRAY])).copy()
    array.flat[0] += 1
    return {ARRAY: npy(array)}


def edited_description(entries):
    return {DESCRIPTION: entries[DESCRIPTION].replace(b'"kind": "S', b'"kind": "s')}


@pytest.mark.parametrize(
    "edit",
    [
        edited_number,
        edited_description,
        lambda entries: {TREE: entries[TREE] + b" "},
        lambda _: {"more.npy": npy(np.zeros(3))},
    ],
    ids=["number", "description", "tree", "more"],
)
def test_edits_without_a_new_digest(edit, saved, entries_of, as_archive):
    entries = entries_of(saved)
    saved.write_bytes(as_archive({**entries, **edit(entries)}))
    for read in (load_model, model_info):
        with pytest.raises(ModelFileError, match=r"was damaged or edited after .*digest differs"):
            read(saved)


def test_other_compression_and_order_of_entries_mean_nothing(
    saved, entries_of, as_archive, data, fitted
):
    saved.write_bytes(as_archive(dict(reversed(entries_of(saved).items()))))
    np.testing.assert_array_equal(load_model(saved).predict(data[0]), fitted.predict(data[0]))


@pytest.mark.parametrize("missing", [DESCRIPTION, TREE])
def test_missing_entries_are_named(missing, saved, entries_of, as_archive):
    entries = {name: entry for name, entry in entries_of(saved).items() if name != missing}
    saved.write_bytes(as_archive(entries))
    with pytest.raises(ModelFileError, match=f"model.graphmargin is no .* holds no {missing}"):
        load_model(saved)


@pytest.mark.parametrize(
    "array",
    [
        npy(np.zeros(3))[:-1],
        npy(np.zeros(3)) + b"0",
        npy(np.zeros(1)).replace(b"(1,)", b"(9**9,)"),
        npy(np.zeros(1)).replace(b"(1,), }      ", b"(999999999,), }"),
        npy(np.zeros(1)).replace(b"(1,), }  ", b"(-1, -1), }"),
        npy(np.zeros(3, dtype=[])),
        npy(np.zeros(3, dtype=[("a", float)])),
        npy(np.zeros(3, dtype=">f8")),
        npy(np.zeros(3, dtype=complex)),
        b"",
        b"\x93NUMPY\x03\x00",
    ],
    ids=[
        *("short", "long", "formula", "claims-more", "negative", "no-bytes"),
        *("fields", "byte-order", "complex", "empty", "version"),
    ],
)
def test_arrays_must_be_what_they_claim(array, saved, forge):
    forge(saved, entries={ARRAY: array})
    for read in (load_model, model_info):
        with pytest.raises(ModelFileError, match="is no model file"):
            read(saved)


@pytest.mark.parametrize(
    "number", [7, "0", None, 0.5, [0], {"type": "array", "number": 0}], ids=repr
)
def test_references_to_arrays_must_be_right(number, saved, forge):
    def edit(tree):
        tree["predictor"]["machines"][0]["intercepts"]["number"] = number

    forge(saved, edit)
    with pytest.raises(ModelFileError, match="is no model file, or it is damaged"):
        load_model(saved)


def test_archive_that_unpacks_to_far_more_than_it_is(saved):
    with zipfile.ZipFile(saved, "a", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("zeros.npy", npy(np.zeros(ALWAYS_ALLOWED_BYTES)))
    with pytest.raises(ModelFileError, match=r"its [\d,]+ bytes would unpack to 134,"):
        load_model(saved)


def test_what_would_look_like_a_bomb_is_saved_without_compression(
    tmp_path, data, fitted, monkeypatch
):
    path = tmp_path / "model.graphmargin"
    monkeypatch.setattr("graphmargin.models.archive.ALWAYS_ALLOWED_BYTES", 0)
    monkeypatch.setattr("graphmargin.models.archive.MAX_RATIO", 1)
    save_model(fitted, path)
    np.testing.assert_array_equal(load_model(path).predict(data[0]), fitted.predict(data[0]))


def test_entries_of_the_same_name(saved):
    with (
        zipfile.ZipFile(saved, "a") as archive,
        pytest.warns(UserWarning, match="Duplicate name"),
    ):
        archive.writestr(TREE, "{}")
    with pytest.raises(ModelFileError, match="of the same name"):
        load_model(saved)


def test_other_compression_is_refused(saved, entries_of):
    entries = entries_of(saved)
    with zipfile.ZipFile(saved, "w", zipfile.ZIP_LZMA) as archive:
        for name, content in entries.items():
            archive.writestr(name, content)
    with pytest.raises(ModelFileError, match="compressed in a way"):
        load_model(saved)


@pytest.mark.parametrize(
    "tree",
    [b"[" * 100_000, b"[" * 900 + b"]" * 900, b"{", b"\xff", b"", b"null", b"[]"],
    ids=["open", "deep", "half", "binary", "empty", "null", "list"],
)
def test_odd_trees(tree, saved, forge):
    forge(saved, entries={TREE: tree})
    with pytest.raises(ModelFileError, match=r"is no model file|has `kind` that do not fit"):
        load_model(saved)


@pytest.mark.parametrize("description", ["[]", "7", "{", '{"schema": "new"}', '{"schema": true}'])
def test_odd_descriptions(description, saved, entries_of, as_archive):
    saved.write_bytes(as_archive({**entries_of(saved), DESCRIPTION: description}))
    for read in (load_model, model_info):
        with pytest.raises(ModelFileError, match=r"model\.graphmargin is no model file"):
            read(saved)
