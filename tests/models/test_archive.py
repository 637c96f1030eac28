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


DIGEST_DIFFERS = "was damaged or edited after .*digest differs"


@pytest.mark.parametrize(
    ("name", "edit", "message"),
    [
        (DESCRIPTION, None, f"is not a model file.* has no {DESCRIPTION}"),
        (TREE, None, f"is not a model file.* has no {TREE}"),
        *(
            (DESCRIPTION, text, "is not a model file")
            for text in ("[]", "7", "{", '{"schema": "new"}', '{"schema": true}')
        ),
        (DESCRIPTION, lambda text: text.replace(b'"kind": "S', b'"kind": "s'), DIGEST_DIFFERS),
        (TREE, lambda tree: tree + b" ", DIGEST_DIFFERS),
        (ARRAY, lambda array: array[:-1] + b"?", DIGEST_DIFFERS),
        ("more.npy", npy(np.zeros(3)), DIGEST_DIFFERS),
    ],
)
def test_edits_without_a_new_digest_raise(name, edit, message, saved, entries_of, as_archive):
    entries = entries_of(saved)
    entries[name] = edit(entries[name]) if callable(edit) else edit
    kept = {name: entry for name, entry in entries.items() if entry is not None}
    saved.write_bytes(as_archive(kept))
    for read in (load_model, model_info):
        with pytest.raises(ModelFileError, match=rf"model\.graphmargin {message}"):
            read(saved)


def add_bomb(archive):
    archive.writestr("zeros.npy", npy(np.zeros(ALWAYS_ALLOWED_BYTES)), zipfile.ZIP_DEFLATED)


def add_twice(archive):
    with pytest.warns(UserWarning, match="Duplicate name"):
        archive.writestr(TREE, "{}")


def add_other_compression(archive):
    archive.writestr("more.npy", npy(np.zeros(3)), zipfile.ZIP_LZMA)


@pytest.mark.parametrize(
    ("add", "message"),
    [
        (add_bomb, r"its [\d,]+ bytes would unpack to 134,"),
        (add_twice, "of the same name"),
        (add_other_compression, "type of compression"),
    ],
)
def test_suspicious_entries_are_not_unpacked(add, message, saved):
    with zipfile.ZipFile(saved, "a") as archive:
        add(archive)
    with pytest.raises(ModelFileError, match=message):
        load_model(saved)


def test_compression_and_order_of_entries_do_not_matter(
    saved, entries_of, as_archive, data, fitted
):
    saved.write_bytes(as_archive(dict(reversed(entries_of(saved).items()))))
    np.testing.assert_array_equal(load_model(saved).predict(data[0]), fitted.predict(data[0]))


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
        *("short", "long", "formula", "too-large", "negative", "no-bytes"),
        *("fields", "byte-order", "complex", "empty", "version"),
    ],
)
def test_arrays_must_have_the_size_of_their_header(array, saved, forge):
    forge(saved, entries={ARRAY: array})
    for read in (load_model, model_info):
        with pytest.raises(ModelFileError, match="is not a model file"):
            read(saved)


@pytest.mark.parametrize(
    "number", [7, "0", None, 0.5, [0], {"type": "array", "number": 0}], ids=repr
)
def test_references_to_missing_arrays_raise_an_error(number, saved, forge):
    def edit(tree):
        part = tree["predictor"]["parts"][0]["part"]
        part["machine"]["intercepts"]["number"] = number

    forge(saved, edit)
    with pytest.raises(ModelFileError, match="is not a model file, or it is damaged"):
        load_model(saved)


def test_a_file_of_high_compression_is_saved_without_compression(
    tmp_path, data, fitted, monkeypatch
):
    path = tmp_path / "model.graphmargin"
    monkeypatch.setattr("graphmargin.models.archive.ALWAYS_ALLOWED_BYTES", 0)
    monkeypatch.setattr("graphmargin.models.archive.MAX_RATIO", 1)
    save_model(fitted, path)
    np.testing.assert_array_equal(load_model(path).predict(data[0]), fitted.predict(data[0]))


@pytest.mark.parametrize(
    "tree",
    [b"[" * 100_000, b"[" * 900 + b"]" * 900, b"{", b"\xff", b"", b"null", b"[]"],
    ids=["open", "deep", "half", "binary", "empty", "null", "list"],
)
def test_invalid_trees_raise_an_error(tree, saved, forge):
    forge(saved, entries={TREE: tree})
    with pytest.raises(ModelFileError, match=r"is not a model file|has an invalid field `kind`"):
        load_model(saved)
