import errno
import os
import signal
import socket
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from graphmargin import _files
from graphmargin._errors import InputError
from graphmargin._files import all_or_none, atomic_path, atomic_write, check_writable
from graphmargin._permissions import made_from


def test_a_link_stays_a_link(tmp_path):
    target, link = tmp_path / "real" / "a.txt", tmp_path / "a.txt"
    link.symlink_to(target)
    for text in ("first", "second"):
        with atomic_path(link) as draft:
            draft.write_text(text)
        assert link.is_symlink()
        assert target.read_text() == text
    assert list(target.parent.iterdir()) == [target]


def test_a_failure_keeps_the_old_file(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("old")
    with pytest.raises(ZeroDivisionError), atomic_path(path) as draft:
        draft.write_text(str(1 / 0))
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_threads_that_write_one_file_see_whole_files_only(tmp_path):
    path = tmp_path / "a.txt"
    path.write_bytes(b"0" * 100_000)

    def write_and_read(thread):
        for _ in range(30):
            atomic_write(path, str(thread).encode() * 100_000)
            content = path.read_bytes()
            assert len(content) == 100_000
            assert len(set(content)) == 1

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(write_and_read, range(4)))
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o644, 0o666])
def test_a_new_file_has_the_mode_of_the_old_one_and_a_draft_is_private(mode, tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("old")
    path.chmod(mode)
    with atomic_path(path) as draft:
        assert draft.stat().st_mode & 0o777 == 0o600
        draft.write_text("new")
        assert draft.stat().st_mode & 0o777 == 0o600
    assert path.read_text() == "new"
    assert path.stat().st_mode & 0o777 == mode


@pytest.mark.parametrize("umask", [0o022, 0o077])
def test_the_mode_of_a_file_without_a_predecessor_is_that_of_the_user(umask, tmp_path):
    before = os.umask(umask)
    try:
        with atomic_path(tmp_path / "a.txt") as draft:
            assert draft.stat().st_mode & 0o777 == 0o600
            draft.write_text("new")
    finally:
        os.umask(before)
    assert (tmp_path / "a.txt").stat().st_mode & 0o777 == 0o666 & ~umask


@pytest.fixture
def usual_umask():
    before = os.umask(0o022)
    yield
    os.umask(before)


@pytest.mark.usefixtures("usual_umask")
@pytest.mark.parametrize("mode", [0o400, 0o600, 0o640, 0o644, 0o666])
def test_a_new_file_has_no_more_permissions_than_the_files_it_is_made_from(mode, tmp_path):
    table, new, old = tmp_path / "in.csv", tmp_path / "new", tmp_path / "old"
    for path in (table, old):
        path.write_text("x")
    table.chmod(mode)
    old.chmod(0o664)
    with made_from(tmp_path / "missing.csv", table), all_or_none():
        atomic_write(new, b"x")
        atomic_write(old, b"x")
    assert new.stat().st_mode & 0o777 == 0o644 & (mode | 0o600)
    assert old.stat().st_mode & 0o777 == 0o664
    atomic_write(tmp_path / "other", b"x")
    assert (tmp_path / "other").stat().st_mode & 0o777 == 0o644


@pytest.mark.skipif(os.geteuid() != 0, reason="only a superuser can give files away")
def test_permissions_of_a_group_do_not_pass_to_another_group(tmp_path):
    table = tmp_path / "in.csv"
    table.write_text("x")
    os.chown(table, -1, os.getegid() + 1)
    table.chmod(0o660)
    with made_from(table):
        atomic_write(tmp_path / "new", b"x")
    assert (tmp_path / "new").stat().st_mode & 0o777 == 0o600


@pytest.mark.skipif(sys.platform != "linux", reason="names of open files are those of Linux")
def test_contents_are_on_disk_before_the_renames_and_names_after_them(tmp_path, monkeypatch):
    """A file system may rename a file before it writes its content, unless it is told to."""
    (tmp_path / "a").write_text("old")
    synced = []

    def sync(file):
        path = Path(f"/proc/self/fd/{file}").readlink()
        in_place = sorted(each.name for each in tmp_path.iterdir() if each.suffix != ".draft")
        is_folder = path.is_dir()
        synced.append(
            (path.name if is_folder else path.read_text(), in_place, (tmp_path / "a").read_text())
        )
        real_sync(file)

    real_sync = os.fsync
    monkeypatch.setattr(os, "fsync", sync)
    with all_or_none():
        for name in "ab":
            with atomic_path(tmp_path / name) as draft:
                draft.write_text(f"new {name}")
    assert synced == [
        ("new a", ["a"], "old"),
        ("new b", ["a"], "old"),
        (tmp_path.name, ["a", "b"], "new a"),
    ]
    synced.clear()
    atomic_write(tmp_path / "c", b"new c")
    assert [name for name, *_ in synced] == ["new c", tmp_path.name]


def make_fifo(path):
    os.mkfifo(path)


def make_socket(path):
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(os.path.relpath(path))


def make_device(path):
    path.symlink_to("/dev/null")


def make_folder(path):
    path.mkdir()


def make_loop(path):
    path.symlink_to(path)


@pytest.mark.parametrize("make", [make_fifo, make_socket, make_device, make_folder, make_loop])
@pytest.mark.parametrize("through_link", [False, True], ids=["itself", "link"])
def test_paths_that_are_not_regular_files_are_refused_and_not_changed(
    make, through_link, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    place = path = tmp_path / "special"
    make(place)
    if through_link:
        path = tmp_path / "link"
        path.symlink_to(place)
    kind = place.lstat().st_mode
    with pytest.raises(InputError, match=r"not a file|a link to itself"):
        check_writable(path)
    with pytest.raises(InputError, match=r"not a file|a link to itself"):
        atomic_write(path, b"new")
    assert place.lstat().st_mode == kind
    assert not list(tmp_path.glob(".graphmargin*"))


def test_long_names_are_written_or_refused_before_the_work(tmp_path):
    longest = tmp_path / ("x" * 255)
    check_writable(longest)
    atomic_write(longest, b"new")
    for path in (tmp_path / ("x" * 256), tmp_path / ("ü" * 128), tmp_path / "no" / ("x" * 256)):
        with pytest.raises(OSError, match="cannot be written: File name too long"):
            check_writable(path)
    with pytest.raises(OSError, match="cannot be written: File name too long"):
        check_writable(tmp_path / "/".join(["x" * 200] * 30))
    assert list(tmp_path.iterdir()) == [longest]


def test_many_new_folders_are_created_or_refused_before_the_work(tmp_path):
    path = tmp_path / "/".join(["x"] * 1500) / "a.txt"
    check_writable(path)
    atomic_write(path, b"new")
    assert path.read_bytes() == b"new"
    longest = (4096 - len(str(tmp_path)) - len("//a.txt?")) // 2
    for n in (longest, 2500):  # a draft has a longer name than the file
        with pytest.raises(OSError, match="cannot be written: File name too long"):
            check_writable(tmp_path / "/".join(["y"] * n) / "a.txt")
    assert [each.name for each in tmp_path.iterdir()] == ["x"]
    path.unlink()
    while (path := path.parent) != tmp_path:  # pytest would call itself for every folder
        path.rmdir()


def test_all_files_or_none_are_written(tmp_path):
    first, second = tmp_path / "a.txt", tmp_path / "b.txt"
    first.write_text("old")

    def fail_in_the_end():
        with all_or_none():
            atomic_write(first, b"new")
            atomic_write(second, b"new")
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail_in_the_end()
    assert first.read_text() == "old"
    assert list(tmp_path.iterdir()) == [first]
    with all_or_none():
        atomic_write(first, b"new")
        atomic_write(second, b"new")
        assert first.read_text() == "old"
        assert not second.exists()
    assert first.read_text() == second.read_text() == "new"
    assert sorted(tmp_path.iterdir()) == [first, second]


def test_a_draft_can_be_written_as_a_whole(tmp_path):
    with atomic_path(tmp_path / "a.txt") as draft:
        atomic_write(draft, b"new")
        assert list(tmp_path.iterdir()) == [draft]
    assert (tmp_path / "a.txt").read_bytes() == b"new"


def test_drafts_of_killed_processes_are_removed_and_those_of_others_are_not(tmp_path):
    code = (
        "import sys, time; from pathlib import Path; from graphmargin._files import atomic_path\n"
        "with atomic_path(Path(sys.argv[1])) as draft:\n"
        "    draft.write_text('secret'); print(draft, flush=True); time.sleep(60)"
    )
    command = [sys.executable, "-c", code, str(tmp_path / "a.txt")]
    writers = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    try:
        drafts = [Path(writer.stdout.readline().strip()) for writer in writers]
        assert all(draft.read_text() == "secret" for draft in drafts)
        writers[0].kill()
        writers[0].wait()
        atomic_write(tmp_path / "b.txt", b"new")
        assert [draft.exists() for draft in drafts] == [False, True]
    finally:
        for writer in writers:
            writer.kill()
            writer.wait()
            writer.stdout.close()
    (tmp_path / ".graphmargin-link.draft").symlink_to(tmp_path / "b.txt")
    os.mkfifo(tmp_path / ".graphmargin-fifo.draft")
    atomic_write(tmp_path / "c.txt", b"new")
    assert not drafts[1].exists()
    assert (tmp_path / "b.txt").read_bytes() == b"new"
    assert len(list(tmp_path.glob(".graphmargin*"))) == 2


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EDQUOT, errno.EFBIG])
def test_a_full_disk_is_reported_with_the_file_and_what_to_do(code, tmp_path):
    path = tmp_path / "a.txt"
    error = OSError(code, os.strerror(code))
    with (
        pytest.raises(OSError, match="nothing was written: free some space") as raised,
        atomic_path(path),
    ):
        raise error
    assert raised.value.filename == str(path)
    assert os.strerror(code) in raised.value.strerror
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("moment", ["commit", "close"])
def test_ctrl_c_at_the_end_waits_until_all_files_are_in_place(moment, tmp_path, monkeypatch):
    method = getattr(_files._Draft, moment)

    def interrupted(draft):
        signal.raise_signal(signal.SIGINT)
        method(draft)

    monkeypatch.setattr(_files._Draft, moment, interrupted)

    def write_all():
        with all_or_none():
            for name in "abc":
                atomic_write(tmp_path / name, b"new")

    with pytest.raises(KeyboardInterrupt):
        write_all()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a", "b", "c"]


def test_a_check_of_writable_output_leaves_no_files(tmp_path):
    table = tmp_path / "in.csv"
    table.write_text("x")
    check_writable(tmp_path / "new" / "deeper" / "out.parquet", inputs=[table])
    check_writable(tmp_path / "out.csv", inputs=[table])
    assert list(tmp_path.iterdir()) == [table]


def test_output_that_cannot_be_written_is_refused(tmp_path):
    table = tmp_path / "in.csv"
    table.write_text("x")
    (tmp_path / "folder.csv").mkdir()
    (tmp_path / "link.csv").symlink_to(table)
    (tmp_path / "hard.csv").hardlink_to(table)
    cases = {
        "folder.csv": "a folder, not a file",
        "in.csv": "is in use by this command already",
        "folder.csv/../in.csv": "is in use by this command already",
        "link.csv": "is in use by this command already",
        "hard.csv": "is in use by this command already",
        "in.csv/out.csv": "is a file, not a folder",
    }
    for name, message in cases.items():
        with pytest.raises(InputError, match=message):
            check_writable(tmp_path / name, inputs=[table])


def test_a_folder_without_permission_is_refused(monkeypatch, tmp_path):
    def refused(**_):
        raise PermissionError(13, "Permission denied")

    # A superuser may write everywhere, so that only the system's answer can be made up.
    monkeypatch.setattr("graphmargin._files.TemporaryFile", refused)
    with pytest.raises(PermissionError, match=r"cannot be written: Permission denied: .*out\.csv"):
        check_writable(tmp_path / "out.csv", inputs=[])
