"""Stages are done once, whatever happens in between."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from graphmargin._errors import InputError
from graphmargin.distributed.cluster_errors import WorkDirError
from graphmargin.distributed.engine.run import locked, marker_name, open_run
from graphmargin.distributed.engine.storage import Folder

SETTINGS = {"k": 5, "columns": ("a", "b"), "width": float("inf")}
FILES = [[str(i), 5] for i in range(1000)]


@pytest.fixture
def folder(tmp_path):
    return Folder(str(tmp_path / "run"))


def square(folder, number, base, log):
    """Write numbers, and leave a trace of every call."""
    (folder / "squares").write(f"{number}.pack", {"x": np.array([base + number]) ** 2})
    (Folder(log) / "calls").write_bytes(f"{number}-{len((Folder(log) / 'calls').names())}", b"")
    return {"value": (base + number) ** 2, "many": np.arange(number)}


def fail_at_two(folder, number, log):
    if number == 2 and not Folder(log).exists("mended"):
        message = "number 2 is broken; repair it"
        raise InputError(message)
    return square(folder, number, 0, log)


def item_and_shared(_folder, number, item, shared):
    return {"sum": np.array([number, *item, shared])}


def calls(log):
    return sorted(name.split("-")[0] for name in (Folder(log) / "calls").names())


def test_results_come_in_order_and_files_are_written(folder, cluster, tmp_path):
    run = open_run(folder, cluster, SETTINGS, resume=False)

    results = run.stage("squares", square, 5, 10, str(tmp_path))

    assert [int(result["value"]) for result in results] == [100, 121, 144, 169, 196]
    assert folder.path("squares") == f"{folder.url}/squares"
    assert [run.folder.read(f"squares/{i}.pack")["x"][0] for i in range(5)] == [
        100,
        121,
        144,
        169,
        196,
    ]
    assert list(run.seconds) == ["squares"]


def test_a_run_that_goes_on_does_nothing_twice_and_has_the_same_results(folder, cluster, tmp_path):
    run = open_run(folder, cluster, SETTINGS, resume=False)
    first = run.stage("squares", square, 4, 1, str(tmp_path))
    (folder / "squares").remove([marker_name(2)])  # as if the worker had died before it

    again = open_run(folder, cluster, SETTINGS, resume=True)
    second = again.stage("squares", square, 4, 1, str(tmp_path))

    assert calls(tmp_path) == ["0", "1", "2", "2", "3"]
    for result, repeated in zip(first, second, strict=True):
        assert list(result) == list(repeated)
        for key, value in result.items():
            assert value.shape == repeated[key].shape
            np.testing.assert_array_equal(value, repeated[key])


def test_results_from_before_a_failure_are_kept(folder, cluster, tmp_path):
    run = open_run(folder, cluster, SETTINGS, resume=False)
    with pytest.raises(InputError, match=r"^number 2 is broken; repair it$"):
        run.stage("squares", fail_at_two, 4, str(tmp_path))
    Folder(str(tmp_path)).write_bytes("mended", b"")
    run.stage("squares", fail_at_two, 4, str(tmp_path))
    assert set(calls(tmp_path)) == {"0", "1", "2", "3"}
    assert calls(tmp_path).count("0") == 1


def test_items_and_shared_arguments_reach_the_task(folder, cluster):
    run = open_run(folder, cluster, SETTINGS, resume=False)
    held = cluster.share("large", 7)
    results = run.stage("sums", item_and_shared, [(1, 2), (3, 4)], held)
    assert [result["sum"].tolist() for result in results] == [[0, 1, 2, 7], [1, 3, 4, 7]]
    assert run.stage("none", item_and_shared, [], held) == []


def test_a_checkpointed_value_does_not_change(folder, cluster):
    run = open_run(folder, cluster, SETTINGS, resume=False)
    assert run.checkpointed("size.json", [1, 2]) == [1, 2]
    assert open_run(folder, cluster, SETTINGS, resume=True).checkpointed("size.json", [3]) == [1, 2]


def test_the_same_run_needs_resume_and_another_one_is_refused(folder, cluster):
    open_run(folder, cluster, SETTINGS, resume=False)
    before = folder.read_bytes("run.json")
    with pytest.raises(InputError, match="already has this run; continue with resume=True"):
        open_run(folder, cluster, SETTINGS, resume=False)
    for resume in (False, True):
        with pytest.raises(InputError, match="has another run: k was 5 and is 6 now"):
            open_run(folder, cluster, {**SETTINGS, "k": 6}, resume=resume)
    assert folder.read_bytes("run.json") == before


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"parameters": {"C": 1.0, "eps": 0.1}}, "eps was 0 and is 0.1 now;"),
        ({"data": [*FILES[:700], ["new", 5], *FILES[701:]]}, "data[700] was ['700', 5] and is"),
        ({"data": FILES[:-1]}, "data[999] was ['999', 5] and is None now;"),
        ({"data": "x" * 10_000}, "and is 'xxx"),
    ],
    ids=["in a mapping", "in a list", "missing", "long"],
)
def test_the_first_difference_of_settings_is_shown_in_one_line(folder, cluster, change, said):
    settings = {"parameters": {"C": 1.0, "eps": 0}, "data": FILES}
    open_run(folder, cluster, settings, resume=False)
    with pytest.raises(InputError) as error:
        open_run(folder, cluster, {**settings, **change}, resume=True)
    assert said in str(error.value)
    assert len(str(error.value)) < 600 + len(folder.url)


def test_settings_may_be_numpy_numbers(folder, cluster):
    open_run(folder, cluster, {"k": np.int64(5), "width": np.float32(0.5)}, resume=False)
    open_run(folder, cluster, {"k": 5, "width": 0.5}, resume=True)
    assert folder.read_json("run.json")["settings"] == {"k": 5, "width": 0.5}


@pytest.mark.parametrize("resume", [False, True])
def test_a_folder_with_other_files_is_refused_and_not_touched(tmp_path, cluster, resume):
    (tmp_path / "thesis.tex").write_text("years of work")
    with pytest.raises(InputError, match=r"has 'thesis\.tex', which is not part of a run"):
        open_run(Folder(str(tmp_path)), cluster, SETTINGS, resume=resume)
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.tex"]


def test_a_folder_that_workers_do_not_see_is_refused(cluster):
    with pytest.raises(WorkDirError, match=r"does not see memory://mine/run\.json; choose"):
        open_run(Folder("memory://mine"), cluster, {}, resume=False)


def test_a_new_folder_may_be_resumed(folder, cluster):
    open_run(folder, cluster, SETTINGS, resume=True)
    assert folder.names() == ["run.json"]


def cut_short(path):
    path.write_bytes(path.read_bytes()[:-1])


def flip_a_bit(path):
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 4
    path.write_bytes(content)


@pytest.mark.parametrize("damage", [Path.unlink, cut_short, flip_a_bit])
@pytest.mark.parametrize("name", ["1.pack", "000001.result", "000001.done"])
def test_a_task_whose_files_are_missing_or_damaged_is_run_again(
    folder, cluster, tmp_path, damage, name
):
    run = open_run(folder, cluster, SETTINGS, resume=False)
    first = run.stage("squares", square, 3, 1, str(tmp_path))
    path = tmp_path / "run" / "squares" / name
    content = path.read_bytes()

    damage(path)
    again = run.stage("squares", square, 3, 1, str(tmp_path))

    assert calls(tmp_path) == ["0", "1", "1", "2"]
    assert path.read_bytes() == content
    assert [int(result["value"]) for result in again] == [int(r["value"]) for r in first]


def test_a_folder_that_was_moved_goes_on_with_its_own_files(folder, cluster, tmp_path):
    run = open_run(folder, cluster, SETTINGS, resume=False)
    run.stage("squares", square, 2, 1, str(tmp_path))
    moved = Folder(shutil.copytree(folder.url, tmp_path / "moved").as_posix())
    (moved / "squares").remove(["1.pack"])

    open_run(moved, cluster, SETTINGS, resume=True).stage("squares", square, 2, 1, str(tmp_path))

    assert calls(tmp_path) == ["0", "1", "1"]
    assert moved.exists("squares/1.pack")


@pytest.mark.parametrize("damage", [cut_short, flip_a_bit])
def test_a_run_without_its_settings_is_refused(folder, cluster, tmp_path, damage):
    open_run(folder, cluster, SETTINGS, resume=False).checkpointed("size", [1, 2])
    damage(tmp_path / "run" / "run.json")
    with pytest.raises(InputError, match=r"run\.json is damaged .*; start again in a new folder$"):
        open_run(folder, cluster, SETTINGS, resume=True)


def test_a_function_of_the_client_is_called_once_unless_its_files_are_damaged(folder, cluster):
    run = open_run(folder, cluster, SETTINGS, resume=False)
    called = []

    def write():
        called.append(run.checkpointed("size", 7))
        folder.write_json("a.json", called)

    run.run_once("writing", write)
    run.checkpointed("later", 8)
    run.run_once("writing", write)
    assert called == [7]
    folder.remove(["a.json"])
    run.run_once("writing", write)
    assert folder.read_json("a.json") == [7, 7]


def test_a_second_run_in_the_same_folder_is_refused_by_name(folder):
    with locked(folder):
        assert folder.names() == []
        message = rf"^work_dir {folder.url} is in use by process {os.getpid()} on .*; wait until"
        with pytest.raises(WorkDirError, match=message), locked(folder):
            pass
    assert not Path(folder.url).exists()
    with locked(folder):
        folder.write_bytes("a", b"")
    assert [path.name for path in Path(folder.url).iterdir()] == ["a"]


def test_the_lock_of_a_killed_process_is_free(folder):
    script = (
        "import os, signal, sys\n"
        "from graphmargin.distributed.engine.run import locked\n"
        "from graphmargin.distributed.engine.storage import Folder\n"
        "with locked(Folder(sys.argv[1])):\n"
        "    os.kill(os.getpid(), signal.SIGKILL)"
    )
    killed = subprocess.run([sys.executable, "-c", script, folder.url], check=False)
    assert killed.returncode == -signal.SIGKILL
    assert Path(folder.url, "run.lock").exists()
    with locked(folder):
        pass
    assert not Path(folder.url, "run.lock").exists()


def test_a_folder_that_cannot_be_locked_is_named(tmp_path):
    (tmp_path / "file").write_text("")
    with (
        pytest.raises(WorkDirError, match=r"file/run cannot be used: Not a directory; choose"),
        locked(Folder(str(tmp_path / "file" / "run"))),
    ):
        pass
