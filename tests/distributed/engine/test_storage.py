"""Packs: what is written is read, in whole or in part, and nothing is ever half there."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphmargin._errors import InputError
from graphmargin.distributed.engine.storage import DRAFT, Folder

ARRAYS = {
    "float": np.arange(12.0).reshape(6, 2),
    "float32": np.linspace(0, 1, 6, dtype=np.float32),
    "int": np.arange(6) - 3,
    "text": np.array(["a", "", "ccc", "dé", "e", "f"]),
    "bool": np.arange(6) % 2 == 0,
    "cube": np.arange(6 * 2 * 3, dtype=np.int16).reshape(6, 2, 3),
}


@pytest.fixture(params=["path", "url"])
def folder(tmp_path, request):
    place = tmp_path / "a"
    return Folder(str(place) if request.param == "path" else place.as_uri())


def test_arrays_of_all_types_are_read_as_they_were_written(folder):
    folder.write("p", ARRAYS)

    arrays = folder.read("p")

    assert list(arrays) == list(ARRAYS)
    for key, array in ARRAYS.items():
        assert arrays[key].dtype == array.dtype
        np.testing.assert_array_equal(arrays[key], array)


def test_shapes_are_kept_and_memory_order_does_not_matter(folder):
    arrays = {
        "scalar": np.float64(3.5),
        "no axis": np.array(3),
        "no row": np.zeros((0, 4)),
        "no column": np.zeros((4, 0)),
        "order": np.asfortranarray(np.arange(12.0).reshape(3, 4))[:, ::2],
    }
    folder.write("p", arrays)
    for key, array in folder.read("p").items():
        assert array.shape == np.shape(arrays[key])
        np.testing.assert_array_equal(array, arrays[key])


def test_a_part_has_the_rows_between_its_start_and_the_next(folder):
    start = np.array([0, 2, 2, 6])
    folder.write("p", ARRAYS, start=start)
    for part in range(3):
        arrays = folder.read("p", ["cube", "text"], part=part)
        assert list(arrays) == ["cube", "text"]
        for key, array in arrays.items():
            np.testing.assert_array_equal(array, ARRAYS[key][start[part] : start[part + 1]])
    assert "start" not in folder.read("p")
    np.testing.assert_array_equal(folder.read("p", ["start"])["start"], start)


@given(st.sets(st.integers(0, 99_999), max_size=20))
def test_selected_rows_are_those_of_the_array(tmp_path_factory, rows):
    X = np.arange(200_000.0).reshape(100_000, 2)
    folder = Folder(str(tmp_path_factory.getbasetemp() / "rows"))
    if not folder.exists("p"):
        folder.write("p", {"X": X, "n": np.arange(100_000, dtype=np.int32)})
    sorted_rows = np.array(sorted(rows), dtype=np.int64)

    arrays = folder.read("p", rows=sorted_rows)

    np.testing.assert_array_equal(arrays["X"], X[sorted_rows])
    np.testing.assert_array_equal(arrays["n"], sorted_rows)
    assert arrays["X"].shape == (len(sorted_rows), 2)


def test_objects_are_refused(folder):
    with pytest.raises(TypeError, match="`x` has objects"):
        folder.write("p", {"x": np.array([{}])})
    assert folder.names() == []


def _cut_short(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-1])


def _cut_header(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:40])


def _claim_a_long_header(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[16:24] = b"\xff" * 8
    path.write_bytes(content)


def _empty(path: Path) -> None:
    path.write_bytes(b"")


@pytest.mark.parametrize(
    ("damage", "why"),
    [
        (_cut_short, "ends too early"),
        (_cut_header, "header"),
        (_claim_a_long_header, "header"),
        (_empty, "not a file of graphmargin"),
        (Path.unlink, "missing"),
    ],
)
def test_a_damaged_pack_is_named_with_what_to_do(tmp_path, damage, why):
    folder = Folder(str(tmp_path))
    folder.write("p", {"x": np.arange(5)})
    damage(tmp_path / "p")
    with pytest.raises(InputError, match=f"{tmp_path}/p is .*{why}.*; remove the folder"):
        folder.read("p")


def test_a_damaged_json_is_named(tmp_path):
    folder = Folder(str(tmp_path))
    folder.write_json("a.json", {"n": [1, 2.5, None, "x"]})
    assert folder.read_json("a.json") == {"n": [1, 2.5, None, "x"]}
    (tmp_path / "a.json").write_text("{")
    with pytest.raises(InputError, match=r"a\.json is damaged .*; start again in a new folder"):
        folder.read_json("a.json")


def write_half(folder, name):
    with folder.writing(name) as file:
        file.write(b"half")
        message = "while writing"
        raise RuntimeError(message)


def test_a_failed_write_keeps_the_old_file(tmp_path):
    folder = Folder(str(tmp_path))
    folder.write_bytes("a", b"old")
    with pytest.raises(RuntimeError, match="while writing"):
        write_half(folder, "a")
    assert folder.read_bytes("a") == b"old"
    assert [path.name for path in tmp_path.iterdir()] == ["a"]


def write_often(value: int, url: str) -> None:
    for _ in range(20):
        Folder(url).write("p", {"x": np.full(20_000, value)})


def test_readers_never_see_a_mixture_of_two_writers(cluster, tmp_path):
    folder = Folder(str(tmp_path))
    folder.write("p", {"x": np.zeros(20_000, dtype=int)})
    writers = cluster.submit("write", write_often, [1, 2], folder.url)
    while not all(writer.done() for writer in writers):
        assert np.ptp(folder.read("p")["x"]) == 0
    assert {writer.status for writer in writers} == {"finished"}
    assert [path.name for path in tmp_path.iterdir()] == ["p"]


def test_drafts_of_dead_processes_are_not_listed(tmp_path):
    (tmp_path / f"a.123{DRAFT}").write_bytes(b"half")
    assert Folder(str(tmp_path)).names() == []


def test_files_and_folders_are_removed_if_they_exist(folder):
    folder.write_bytes("a", b"")
    (folder / "b").write_bytes("c", b"")
    folder.remove(["a", "missing"])
    assert folder.names() == ["b"]
    folder.remove()
    assert folder.names() == []
    folder.remove()


def test_a_relative_path_is_the_same_folder_elsewhere(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    folder = Folder.at("a/b")
    monkeypatch.chdir("/")
    folder.write_bytes("x", b"1")
    assert (tmp_path / "a" / "b" / "x").exists()
    assert folder.is_local


def test_an_object_store_gets_whole_objects():
    folder = Folder.at("memory://bucket/run/")
    assert not folder.is_local
    try:
        folder.write("p", ARRAYS, start=np.array([0, 6]))
        with pytest.raises(RuntimeError, match="while writing"):
            write_half(folder, "q")
        assert folder.names() == ["p"]
        np.testing.assert_array_equal(folder.read("p", part=0)["cube"], ARRAYS["cube"])
        (folder / "inner").write_json("a.json", 1)
        assert folder.names() == ["inner", "p"]
    finally:
        folder.remove()
    assert folder.names() == []


@pytest.mark.parametrize(
    ("place", "message"), [("nowhere://a", "nowhere://a"), ("", "'' is not a path")]
)
def test_a_path_without_a_file_system_is_refused(place, message):
    with pytest.raises(InputError, match=message):
        Folder.at(place)
