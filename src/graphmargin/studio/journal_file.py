"""The file of a journal: a decision is on disk, in the file that has its name, or it is refused."""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from graphmargin._files import atomic_write, try_lock
from graphmargin._permissions import made_from
from graphmargin.studio.journal_lines import JournalError, parse_journal, seal_line

ENDING = ".studio.jsonl"


class NotSavedError(JournalError):
    """A decision that could not be saved, and is not applied."""

    status = 507


class TableLock:
    """The right to write the journal of a table, which one process has until it closes it.

    It is a lock on the table, so that it outlives a journal that was moved or replaced.
    """

    def __init__(self, table: Path) -> None:
        self._file = _open_locked(table, os.O_RDONLY)

    def close(self) -> None:
        """Close the table, which ends the lock."""
        os.close(self._file)


class Journal:
    """A journal that is open for appending, and locked against other processes.

    Attributes
    ----------
    path : Path
    content : JournalContent
        What the file had when it was opened; an incomplete last line was removed.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._copy: Path | None
        self._file = _open_locked(path, os.O_RDWR | os.O_APPEND)
        try:
            with open(self._file, "rb", closefd=False) as file:
                self.content = parse_journal(path, file.read())
            self._lines, self._check = bytearray(self.content.data), self.content.check
            self._is_misplaced, self._copy = False, None
            self._cut()
        except BaseException:
            os.close(self._file)
            raise

    def append(self, values: Mapping[str, Any]) -> None:
        """Append a line, and return when it is on disk, in the file that has the name.

        Raises
        ------
        NotSavedError
            If it is not. The file then ends with the line before.
        """
        line, check = seal_line(values, self._check)
        try:
            problem = self._misplacement()
            if not problem:
                self._cut()
                self._write(line)
                problem = self._misplacement(len(line))
        except OSError as error:
            problem = f"{self.path}: {error.strerror}; free some space, and decide again"
        if problem:
            with suppress(OSError):  # the next line is not written before this is done
                self._cut()
            msg = f"the decision was not saved: {problem}"
            raise NotSavedError(msg)
        self._lines += line
        self._check = check

    def _write(self, line: bytes) -> None:
        view = memoryview(line)
        while view:
            view = view[os.write(self._file, view) :]
        os.fsync(self._file)

    def _cut(self) -> None:
        """Remove all that follows the last line that is known to be on disk."""
        if os.fstat(self._file).st_size > len(self._lines):
            os.ftruncate(self._file, len(self._lines))
            os.fsync(self._file)

    def _misplacement(self, n_new: int = 0) -> str:
        """Return what is wrong if the open file is not that of the name or was cut, else "".

        It stays wrong until the studio is started again, which reads the whole file.

        Parameters
        ----------
        n_new : int
            Number of bytes that were written after the last line.
        """
        own = os.fstat(self._file)
        try:
            is_in_place = os.path.samestat(self.path.stat(), own)
        except OSError:
            is_in_place = False
        is_whole = own.st_size >= len(self._lines) + n_new
        self._is_misplaced |= not (is_in_place and is_whole)
        if not self._is_misplaced:
            return ""
        if self._copy is None:
            copy = unused_name(self.path)
            with made_from(own):
                atomic_write(copy, bytes(self._lines))
            self._copy = copy
        return (
            f"{self.path} was moved, replaced or cut while the studio was running; "
            f"{self._copy.name} has all decisions before that: end the studio, rename that file to "
            f"{self.path.name}, and start again"
        )

    def close(self) -> None:
        """Close the file, which ends the lock; raise `JournalError` if it is not in its place."""
        try:
            problem = self._misplacement()
        finally:
            self.release()
        if problem:
            raise JournalError(problem)

    def release(self) -> None:
        """Close the file, wherever it is."""
        os.close(self._file)


def _open_locked(path: Path, flags: int) -> int:
    """Return the descriptor of a file that no other process has locked."""
    file = os.open(path, flags)
    # A journal that was replaced meanwhile is in use by the process that replaced it.
    if not try_lock(file) or not os.path.samestat(path.stat(), os.fstat(file)):
        os.close(file)
        msg = f"{path} is in use by another studio; end that one first"
        raise JournalError(msg)
    return file


def unused_name(path: Path) -> Path:
    """Return a name for a copy of a journal that no file has.

    Examples
    --------
    >>> unused_name(Path("cats.csv.studio.jsonl")).name
    'cats.csv.studio-1.jsonl'
    """
    stem = path.name.removesuffix(ENDING)
    numbers = range(1, 10_000)
    names = (path.with_name(f"{stem}.studio-{number}.jsonl") for number in numbers)
    return next(name for name in names if not name.exists())
