"""Journals that are killed, filled or replaced at every write: no answered label is lost."""

import errno
import os
import resource
import shutil
import signal
import stat
import subprocess
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from graphmargin.labeling.labeling_task import task_of
from graphmargin.studio.journal import journal_path, open_journal
from graphmargin.studio.journal_file import NotSavedError
from graphmargin.studio.journal_lines import JournalError, entry_values
from graphmargin.studio.session import Decision, decide, label_names
from graphmargin.tables.row_hashes import hash_rows
from tests.studio.conftest import open_studio, serve

CALLS = ("write", "fsync", "ftruncate", "replace")
"""Functions of `os` through which a journal reaches the disk."""
N_ROWS = 12
OPEN_FILES = Path("/proc/self/fd")


def tables():
    """Return a table of two classes, and the same table with a row more."""
    rows = pd.DataFrame({"x": np.arange(N_ROWS + 1.0)})
    rows["kind"] = ["cat", "dog", *[None] * (N_ROWS - 1)]
    return rows.iloc[:N_ROWS], rows


@contextmanager
def opened(folder, table):
    """Yield the open journal of a table as a function that saves a decision, and its session."""
    path = folder / "pets.csv"
    table.to_csv(path, index=False)
    task = task_of(table, "kind", name="pets.csv", min_classes=0)
    hashes = hash_rows(task.table, leave_out="kind")
    journal = open_journal(path, task, hashes)
    session = [journal.session]

    def save(decision):
        after = decide(session[0], decision)
        journal.journal.append(entry_values(decision, hashes))
        session[0] = after

    try:
        yield save, session
    finally:
        journal.close()


def label_some(folder, answer, between=lambda: None):
    """Label rows in two sessions, whose tables differ; call `answer` with each that was saved."""
    for table, rows in zip(tables(), (range(2, 5), range(5, 8)), strict=True):
        with suppress(JournalError, OSError), opened(folder, table) as (save, _):
            for row in rows:
                between()
                with suppress(NotSavedError):
                    save(Decision("label", (row,), row % 2))
                    answer(row)


def labels_of(folder):
    """Return the names of the labels in the journal of a folder, and the notes of the start."""
    with opened(folder, tables()[1]) as (_, session):
        return label_names(session[0])


def check_answered(folder, answered):
    names = labels_of(folder)
    assert [names[row] for row in answered] == [("cat", "dog")[row % 2] for row in answered]


@pytest.fixture
def at_call(monkeypatch):
    """Return a function that does something in place of the n-th call that reaches the disk."""

    @contextmanager
    def patched(number, act):
        count = 0

        def wrap(name, real):
            def call(*parts, **options):
                nonlocal count
                count += 1
                return act(name, real, *parts) if count == number else real(*parts, **options)

            return call

        with monkeypatch.context() as patch:
            for name in CALLS:
                patch.setattr(os, name, wrap(name, getattr(os, name)))
            yield lambda: count

    return patched


def every_call(at_call, tmp_path, act, check):
    """Repeat the sessions with an act at each call, until there is no such call any more."""
    number = 0
    while True:
        number += 1
        folder = tmp_path / str(number)
        folder.mkdir()
        answered = []
        with at_call(number, act(folder)) as count:
            label_some(folder, answered.append)
        if count() < number:
            assert answered == [2, 3, 4, 5, 6, 7]
            return number - 1
        check(folder, answered)
        shutil.rmtree(folder)


def test_a_failure_at_any_write_loses_no_answered_label(at_call, tmp_path):
    def fail(_):
        def act(name, real, *parts):
            if name == "write":  # a part of the line fits
                real(parts[0], parts[1][: len(parts[1]) // 2])
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

        return act

    assert every_call(at_call, tmp_path, fail, check_answered) >= 18


def _send_row(write, pipe, row):
    write(pipe, bytes([row]))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="a process is killed")
def test_a_kill_at_any_write_loses_no_answered_label(at_call, tmp_path):
    def kill(name, real, *parts):
        if name == "write":
            real(parts[0], parts[1][: len(parts[1]) // 2])
        os.kill(os.getpid(), signal.SIGKILL)

    number, status = 0, signal.SIGKILL
    while status == signal.SIGKILL:
        number += 1
        folder = tmp_path / str(number)
        folder.mkdir()
        receive, send = os.pipe()
        answer = partial(_send_row, os.write, send)
        child = os.fork()
        if child == 0:  # no test code runs after it: the process ends here
            with at_call(number, kill):
                label_some(folder, answer)
            os._exit(0)
        os.close(send)
        with os.fdopen(receive, "rb") as pipe:
            answered = list(pipe.read())
        _, status = os.waitpid(child, 0)
        check_answered(folder, answered)
    assert (status, answered) == (0, [2, 3, 4, 5, 6, 7])
    assert number >= 19


class Disk:
    """Contents and names of files as of their last fsync, which a power failure leaves."""

    def __init__(self, folder):
        self.folder, self.contents, self.names = folder, {}, {}

    def sync(self, file):
        status = os.fstat(file)
        if stat.S_ISDIR(status.st_mode):
            files = [path for path in self.folder.iterdir() if path.suffix != ".draft"]
            self.names = {path.name: path.stat().st_ino for path in files}
        else:
            self.contents[status.st_ino] = (OPEN_FILES / str(file)).read_bytes()

    def restore(self, folder):
        folder.mkdir()
        for name, number in self.names.items():
            if name != "pets.csv":
                (folder / name).write_bytes(self.contents.get(number, b""))


class PowerFailure(BaseException):
    pass


@pytest.mark.skipif(not OPEN_FILES.exists(), reason="reads open files by number")
def test_a_power_failure_at_any_write_loses_no_answered_label(tmp_path, monkeypatch):
    number, has_ended = 0, False
    while not has_ended:
        number += 1
        folder, after = tmp_path / str(number), tmp_path / f"{number} after"
        folder.mkdir()
        disk, answered, count = Disk(folder), [], 0
        with monkeypatch.context() as patch:

            def wrap(name, real, disk=disk, number=number, after=after):
                def call(*parts):
                    nonlocal count
                    count += 1
                    if count == number:
                        disk.restore(after)
                    if count >= number:
                        raise PowerFailure
                    real(*parts)
                    if name == "fsync":
                        disk.sync(parts[0])
                    return len(parts[1]) if name == "write" else None

                return call

            for name in CALLS:
                patch.setattr(os, name, wrap(name, getattr(os, name)))
            try:
                label_some(folder, answered.append)
                has_ended = True
                disk.restore(after)
            except PowerFailure:
                pass
        check_answered(after, answered)
    assert answered == [2, 3, 4, 5, 6, 7]
    assert number >= 19


def remove(path):
    path.unlink()


def move(path):
    path.rename(path.with_name("moved"))


def replace_by_copy(path):
    content = path.read_bytes()
    path.unlink()
    path.write_bytes(content)


def replace_by_older(path):
    older = path.with_name("older")
    older.write_bytes(b"".join(path.read_bytes().splitlines(keepends=True)[:1]))
    older.rename(path)


def cut(path):
    os.truncate(path, path.stat().st_size // 2)


def empty(path):
    path.write_bytes(b"")


def replace_by_folder(path):
    path.unlink()
    path.mkdir()


CHANGES = [remove, move, replace_by_copy, replace_by_older, cut, empty, replace_by_folder]


@pytest.mark.parametrize("change", CHANGES, ids=lambda change: change.__name__)
def test_a_journal_that_is_replaced_at_any_write_is_announced(at_call, tmp_path, change):
    table = tables()[0]
    for number in range(1, 7):  # a write and a sync for each of three labels
        folder = tmp_path / f"{change.__name__} {number}"
        folder.mkdir()
        path, answered, texts = journal_path(folder / "pets.csv"), [], []

        def act(_, real, *parts, path=path):
            change(path)
            return real(*parts)

        try:
            with opened(folder, table) as (save, _), at_call(number, act):
                for row in (2, 3, 4):
                    try:
                        save(Decision("label", (row,), row % 2))
                    except NotSavedError as error:
                        texts.append(str(error))
                    else:
                        answered.append(row)
        except JournalError as error:
            texts.append(str(error))
        assert answered == [2, 3, 4][: (number - 1) // 2]
        assert all("moved, replaced or cut" in text for text in texts)
        # Both the page, at each later label, and the terminal, at the end.
        assert len(texts) == 4 - len(answered)
        copy = folder / "pets.csv.studio-1.jsonl"
        assert copy.name in texts[-1]
        if path.is_dir():
            path.rmdir()
        copy.rename(path)
        with opened(folder, table) as (_, session):
            names = label_names(session[0])
        assert [row for row in (2, 3, 4) if names[row] is not None] == answered


def test_a_replaced_journal_of_the_last_label_is_announced_at_the_end(tmp_path):
    with (  # noqa: PT012 - the error comes at the end of the session
        pytest.raises(JournalError, match=r"studio-1\.jsonl has all decisions"),
        opened(tmp_path, tables()[0]) as (save, _),
    ):
        save(Decision("label", (2,), 0))
        remove(journal_path(tmp_path / "pets.csv"))


@contextmanager
def small_disk(folder):
    """Yield a function that leaves some bytes of the disk of a folder, and all again with None.

    It is a file system in memory if the process may mount one, else a limit on the size of files.
    """
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", folder],
        capture_output=True,
        check=False,
    )
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    filler = folder / "filler"

    def leave(n_bytes):
        if mounted.returncode:
            limit = journal_path(folder / "pets.csv").stat().st_size + (n_bytes or 0)
            soft = before[0] if n_bytes is None else limit
            resource.setrlimit(resource.RLIMIT_FSIZE, (soft, before[1]))
        elif n_bytes is None:
            filler.unlink()
        else:
            with suppress(OSError), filler.open("wb", buffering=0) as file:
                while True:
                    file.write(bytes(4096))

    try:
        yield leave
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        if not mounted.returncode:
            subprocess.run(["umount", folder], check=True)


@pytest.mark.skipif(os.name != "posix", reason="limits and mounts of Unix")
def test_a_full_disk_refuses_labels_with_a_sentence_and_loses_none(tmp_path, caplog):
    folder = tmp_path / "small"
    folder.mkdir()
    with small_disk(folder) as leave:
        rows = pd.DataFrame({"x": np.arange(90.0), "kind": ["cat", "dog", *[None] * 88]})
        path = folder / "pets.csv"
        rows.to_csv(path, index=False)
        answered = []
        with open_studio(path) as studio, serve(studio) as client:
            client.log_in()

            def label(row):
                body = {"action": "label", "rows": [row], "class": row % 2}
                answer = client.post("/api/decisions", body)
                if answer.status_code == 200:
                    answered.append(row)
                return answer

            label(2)
            leave(1000)
            refused = next(each for each in map(label, range(3, 80)) if each.status_code != 200)
            assert refused.status_code == 507
            assert "the decision was not saved" in refused.json()["error"]
            assert "the decision was not saved" in caplog.text
            assert client.state()["n_labels"] == 2 + len(answered)
            leave(None)
            assert [label(row).status_code for row in (85, 86, 87)] == [200, 200, 200]
        with open_studio(path) as studio:
            names = label_names(studio.snapshot.session)
            assert studio.notes == ()
    assert [names[row] for row in answered] == [("cat", "dog")[row % 2] for row in answered]
    assert sum(name is not None for name in names) == 2 + len(answered)
