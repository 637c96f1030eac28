import io
import subprocess
import sys
import zipfile

import numpy as np
import pytest

from graphmargin._archives import ALWAYS_ALLOWED_BYTES
from graphmargin.models import ModelFileError, load_model, model_info, save_model
from graphmargin.models.archive import DESCRIPTION, MAX_JSON_BYTES, TREE, parse_json

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
    monkeypatch.setattr("graphmargin._archives.ALWAYS_ALLOWED_BYTES", 0)
    monkeypatch.setattr("graphmargin.models.archive.MAX_RATIO", 1)
    save_model(fitted, path)
    np.testing.assert_array_equal(load_model(path).predict(data[0]), fitted.predict(data[0]))


@pytest.mark.parametrize(
    ("name", "n", "message"),
    [
        (DESCRIPTION, 38_000_000, "its graphmargin.json has 114,000,002 bytes"),
        (TREE, 38_000_000, "its model.json has 114,000,002 bytes"),
        (TREE, 20_000_000, "its model.json has more than 1,048,576 brackets"),
    ],
)
def test_json_that_fills_the_memory_is_not_parsed(name, n, message, saved, entries_of):
    """Every list in it takes 56 bytes; the digest need not be right, because it comes later."""
    padding = {"padding": np.random.default_rng(0).bytes(650_000)}
    entries = {**entries_of(saved), **padding, name: b"[" + b"[]," * (n - 1) + b"[]] "}
    with zipfile.ZipFile(saved, "w", zipfile.ZIP_DEFLATED) as archive:
        for entry, content in entries.items():
            archive.writestr(entry, content)
    script = (
        "import resource, sys\n"
        "from graphmargin.models import ModelFileError, load_model, model_info\n"
        "before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\n"
        "for read in (load_model, model_info):\n"
        "    try:\n"
        "        read(sys.argv[1])\n"
        "    except ModelFileError as error:\n"
        "        print(error)\n"
        "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)\n"
    )
    command = [sys.executable, "-c", script, str(saved)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    *errors, kilobytes = done.stdout.splitlines()
    assert len(errors) == 2
    assert all(message in error for error in errors)
    if sys.platform == "linux":  # whose unit of ru_maxrss is known
        assert int(kilobytes) < 200_000


def test_text_that_could_not_be_loaded_is_not_saved(fitted, tmp_path, monkeypatch):
    monkeypatch.setitem(MAX_JSON_BYTES, TREE, 1000)
    with pytest.raises(ModelFileError, match="bytes of text, more than a file may have in model"):
        save_model(fitted, tmp_path / "a.graphmargin")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity", "1e999"])
@pytest.mark.parametrize("name", [DESCRIPTION, TREE])
def test_numbers_that_json_does_not_have_are_refused(name, number, saved, entries_of, as_archive):
    entries = entries_of(saved)
    entries[name] = entries[name].replace(b"{", f'{{"x": {number}, '.encode(), 1)
    with pytest.raises(ValueError, match=f"{number} is not a finite number"):
        parse_json(entries[name])
    saved.write_bytes(as_archive(entries))
    with pytest.raises(ModelFileError):
        load_model(saved)


@pytest.mark.parametrize(
    "tree",
    [b"[" * 100_000, b"[" * 900 + b"]" * 900, b"{", b"\xff", b"", b"null", b"[]"],
    ids=["open", "deep", "half", "binary", "empty", "null", "list"],
)
def test_invalid_trees_raise_an_error(tree, saved, forge):
    forge(saved, entries={TREE: tree})
    with pytest.raises(ModelFileError, match=r"is not a model file|has an invalid field `kind`"):
        load_model(saved)
