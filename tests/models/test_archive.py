import io
import json
import zipfile

import numpy as np
import pytest
from scipy import sparse

from graphmargin import SupervisedSVC
from graphmargin.models import ModelFileError, load_model, model_info, save_model
from graphmargin.models.archive import DESCRIPTION, OBJECTS, SMALL, pack


def npy(array, **options):
    stream = io.BytesIO()
    np.save(stream, array, **options)
    return stream.getvalue()


def first_array(entries):
    return next(name for name in entries if name.endswith(".npy"))


def test_edited_number_without_a_new_digest(saved, entries_of, as_archive):
    entries = entries_of(saved)
    name = first_array(entries)
    array = np.load(io.BytesIO(entries[name]))
    array.flat[0] = 7
    saved.write_bytes(as_archive({**entries, name: npy(array)}))
    for read in (load_model, model_info):
        with pytest.raises(ModelFileError, match=r"was damaged or edited after it was saved"):
            read(saved)


def test_edited_description(saved, entries_of, as_archive):
    entries = entries_of(saved)
    description = json.loads(entries[DESCRIPTION])
    description["classes"][0] = "harmless"
    saved.write_bytes(as_archive({**entries, DESCRIPTION: json.dumps(description)}))
    with pytest.raises(ModelFileError, match="digest differs"):
        model_info(saved)


def test_added_entry_without_a_new_digest(saved, entries_of, as_archive):
    entries = {**entries_of(saved), "more.npy": npy(np.zeros(3))}
    saved.write_bytes(as_archive(entries))
    with pytest.raises(ModelFileError, match="digest differs"):
        load_model(saved)


def test_other_compression_and_order_of_entries_mean_nothing(saved, entries_of, as_archive, data):
    before = load_model(saved).predict_proba(data[0])
    saved.write_bytes(as_archive(dict(reversed(entries_of(saved).items()))))
    np.testing.assert_array_equal(load_model(saved).predict_proba(data[0]), before)


@pytest.mark.parametrize("missing", [DESCRIPTION, OBJECTS])
def test_missing_entries_are_named(missing, saved, entries_of, as_archive):
    entries = {k: v for k, v in entries_of(saved).items() if k != missing}
    saved.write_bytes(as_archive(entries))
    with pytest.raises(ModelFileError, match=f"model.skops is no model .* holds no {missing}"):
        load_model(saved)


def test_missing_array(saved, entries_of, as_archive):
    entries = entries_of(saved)
    description = json.loads(entries.pop(DESCRIPTION))
    del description["digest"], entries[first_array(entries)]
    saved.write_bytes(pack(as_archive(entries), description))
    with pytest.raises(ModelFileError, match="is no model file, or it is damaged"):
        load_model(saved)


@pytest.mark.parametrize(
    "array",
    [
        npy(np.zeros(3))[:-1],
        npy(np.zeros(3)) + b"0",
        npy(np.zeros(1)).replace(b"(1,)", b"(9**9,)"),
        npy(np.zeros(1)).replace(b"(1,), }      ", b"(999999999,), }"),
        npy(np.array([{}], dtype=object), allow_pickle=True),
        npy(np.zeros(3, dtype=[])),
        b"",
        b"\x93NUMPY\x03\x00",
    ],
    ids=["short", "long", "formula", "claims-more", "objects", "no-bytes", "empty", "version"],
)
def test_arrays_must_be_what_they_claim(array, saved, forge, entries_of):
    forge(saved, entries={first_array(entries_of(saved)): array})
    for read in (load_model, model_info):
        with pytest.raises(ModelFileError, match="is no model file"):
            read(saved)


def test_arrays_of_a_sparse_matrix_must_be_what_they_claim(tmp_path, data, forge, entries_of):
    path = tmp_path / "model.skops"
    save_model(SupervisedSVC().fit(sparse.csr_array(data[0]), data[1]), path)
    name = next(name for name in entries_of(path) if name.endswith(".npz"))
    bomb = io.BytesIO()
    with zipfile.ZipFile(bomb, "w", zipfile.ZIP_DEFLATED) as inner:
        inner.writestr("data.npy", npy(np.zeros(SMALL)))
    forge(path, entries={name: bomb.getvalue()})
    with pytest.raises(ModelFileError, match="would unpack to"):
        load_model(path)


def test_archive_that_unpacks_to_far_more_than_it_is(saved):
    with zipfile.ZipFile(saved, "a", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("zeros.npy", npy(np.zeros(SMALL)))
    with pytest.raises(ModelFileError, match=r"its [\d,]+ bytes would unpack to 134,"):
        load_model(saved)


def test_what_would_look_like_a_bomb_is_saved_without_compression(tmp_path, data, monkeypatch):
    path, model = tmp_path / "model.skops", SupervisedSVC().fit(*data)
    monkeypatch.setattr("graphmargin.models.archive.SMALL", 0)
    monkeypatch.setattr("graphmargin.models.archive.MAX_RATIO", 1)
    save_model(model, path)
    np.testing.assert_array_equal(load_model(path).predict(data[0]), model.predict(data[0]))


def test_entries_of_the_same_name(saved):
    with (
        zipfile.ZipFile(saved, "a") as archive,
        pytest.warns(UserWarning, match="Duplicate name"),
    ):
        archive.writestr(OBJECTS, "{}")
    with pytest.raises(ModelFileError, match="of the same name"):
        load_model(saved)


def test_other_compression_is_refused(saved, entries_of):
    entries = entries_of(saved)
    with zipfile.ZipFile(saved, "w", zipfile.ZIP_LZMA) as archive:
        for name, content in entries.items():
            archive.writestr(name, content)
    with pytest.raises(ModelFileError, match="compressed in a way"):
        load_model(saved)


def test_deep_nesting(saved, entries_of, as_archive):
    entries = entries_of(saved)
    description = json.loads(entries.pop(DESCRIPTION))
    del description["digest"]
    deep = as_archive({**entries, OBJECTS: b"[" * 100_000})
    saved.write_bytes(pack(deep, description))
    with pytest.raises(ModelFileError, match=r"damaged \(RecursionError"):
        load_model(saved)


@pytest.mark.parametrize("description", ["[]", "7", "{", '{"schema": "new"}', '{"schema": true}'])
def test_odd_descriptions(description, saved, entries_of, as_archive):
    saved.write_bytes(as_archive({**entries_of(saved), DESCRIPTION: description}))
    for read in (load_model, model_info):
        with pytest.raises(ModelFileError, match=r"model\.skops is no model file"):
            read(saved)
