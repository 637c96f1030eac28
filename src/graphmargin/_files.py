"""Atomic writing of files, which nobody ever sees half written, and their default names."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from pathlib import Path
from secrets import token_hex
from tempfile import TemporaryFile

from graphmargin._errors import InputError
from graphmargin._permissions import permitted_mode
from graphmargin._signals import defer_signals

try:
    import fcntl
except ImportError:  # without locks, drafts of dead processes cannot be recognized
    fcntl = None  # type: ignore[assignment]

DRAFT, DRAFT_END = ".graphmargin-", ".draft"
"""Start and end of the names of drafts, whose length does not depend on the name of the file."""
PRIVATE = 0o600
"""Permissions of a draft, whatever those of the file will be."""
MAX_NAME_BYTES, MAX_PATH_BYTES = 255, 4096
"""Largest lengths of a file name and of a path, if the system does not report them."""
NO_SPACE_ERRORS = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
"""Errors of a full disk, an exhausted quota or a limit on the size of files."""
FILE_KINDS = (
    (stat.S_ISDIR, "a folder"),
    (stat.S_ISFIFO, "a FIFO"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
)

_open_drafts: set[Path] = set()
"""Drafts of this process; a write to one of them is not atomic itself."""


class _Draft:
    """A new, private file in the folder of the one that it will replace, locked by its process."""

    def __init__(self, target: Path) -> None:
        self.target = target
        old = _status(target)
        self._owner = None if old is None else (old.st_uid, old.st_gid)
        while True:
            self.path = target.with_name(_draft_name())
            # A new file has the default mode; a file that replaces a secret one is private at once.
            mode = 0o666 if old is None else PRIVATE
            self._file = os.open(self.path, os.O_CREAT | os.O_EXCL | os.O_RDWR, mode)
            status = os.fstat(self._file)
            if old is None:
                self._mode = status.st_mode & permitted_mode(status.st_gid)
            else:
                self._mode = old.st_mode & 0o777
            if _lock(self._file, wait=True) and _is_same_file(self.path, status):
                break
            os.close(self._file)  # another process has removed it as the draft of a dead process
        self.path.chmod(PRIVATE)
        _open_drafts.add(self.path)

    def sync(self) -> None:
        """Wait until the content is on disk, so that no power failure leaves an empty file."""
        os.fsync(self._file)

    def commit(self) -> None:
        """Replace the file by the draft."""
        if self._owner is not None:
            with suppress(OSError, AttributeError):  # only root can change the owner
                os.chown(self.path, *self._owner)
        self.path.chmod(self._mode)
        self.path.replace(self.target)

    def close(self) -> None:
        """Remove the draft, unless it has replaced the file."""
        _open_drafts.discard(self.path)
        self.path.unlink(missing_ok=True)
        os.close(self._file)


_drafts: ContextVar[list[_Draft] | None] = ContextVar("_drafts", default=None)
"""Drafts that wait for the end of an enclosing `all_or_none`, None outside of one."""


@contextmanager
def all_or_none() -> Iterator[None]:
    """Make the files that are written in the block visible at its end, or none of them if it fails.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with all_or_none():
    ...         atomic_write(Path(folder) / "a.txt", b"a")
    ...         before = (Path(folder) / "a.txt").exists()
    ...     before, (Path(folder) / "a.txt").exists()
    (False, True)
    """
    drafts: list[_Draft] = []
    token = _drafts.set(drafts)
    try:
        yield
        with defer_signals():
            for draft in drafts:
                draft.commit()
            for folder in {draft.target.parent for draft in drafts}:
                _sync_folder(folder)
    finally:
        with defer_signals():
            _drafts.reset(token)
            for draft in drafts:
                draft.close()


@contextmanager
def atomic_path(path: Path) -> Iterator[Path]:
    """Yield a draft to be written, which replaces `path` at the end, unless the block fails.

    At any time there is either the old file or the new one, whatever fails, also the power; missing
    folders are created. A link stays a link: the file that it points to is replaced, and its mode
    is kept. Only its owner can read a draft. Drafts of processes that were killed are removed by
    the next process that writes into the folder. Inside of `all_or_none`, the file is replaced at
    the end of that block.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with atomic_path(Path(folder) / "new" / "a.txt") as draft:
    ...         _ = draft.write_text("text")
    ...     [file.name for file in (Path(folder) / "new").iterdir()]
    ['a.txt']
    """
    if path in _open_drafts:
        yield path
        return
    _check_kind(path)
    target = path.resolve()
    _make_folder(target.parent)
    _remove_dead_drafts(target.parent)
    deferred = _drafts.get()
    draft = None
    try:
        with defer_signals():
            draft = _Draft(target)
        with _errors_name_target(path, draft.path):
            yield draft.path
            draft.sync()
        with defer_signals():
            if deferred is None:
                draft.commit()
                _sync_folder(target.parent)
            else:
                deferred.append(draft)
                draft = None
    finally:
        with defer_signals():
            if draft is not None:
                draft.close()


def atomic_write(path: Path, content: bytes) -> None:
    """Write a file atomically, see `atomic_path`."""
    with atomic_path(path) as draft:
        draft.write_bytes(content)


def check_writable(path: Path, *, inputs: Sequence[Path] = ()) -> None:
    """Raise an error before any work if `path` cannot be written.

    Parameters
    ----------
    path : Path
        File that will be written; nothing is written yet.
    inputs : sequence of Path
        Files that must not be overwritten.

    Raises
    ------
    InputError
        If `path` exists and is not a regular file, is a link to itself or one of `inputs`, or has
        a parent that is a file.
    OSError
        If its folder cannot be created or written to, or its name is too long.

    Examples
    --------
    >>> check_writable(Path("a.csv"), inputs=[Path("./a.csv")])
    Traceback (most recent call last):
    graphmargin._errors.InputError: a.csv is in use by this command already; choose another name
    """
    try:
        _check_kind(path)
        target = path.resolve()
        if any(target == other.resolve() or _is_same(path, other) for other in inputs):
            msg = f"{path} is in use by this command already; choose another name"
            raise InputError(msg)
        folder = target.parent
        while not folder.exists():
            folder = folder.parent
        if not folder.is_dir():
            msg = f"{path}: {folder} is a file, not a folder"
            raise InputError(msg)
        _check_names(target, folder)
        with TemporaryFile(dir=folder):
            pass
        if path.exists():
            path.open("ab").close()
    except OSError as error:
        msg = f"cannot be written: {error.strerror}"
        raise OSError(error.errno, msg, str(path)) from error


def default_output(table: Path, what: str) -> Path:
    """Return the default path of a result, next to the table.

    Examples
    --------
    >>> default_output(Path("data/cats.csv.gz"), "labeled").as_posix()
    'data/cats-labeled.csv.gz'
    >>> default_output(Path(".cats.csv"), "labeled").as_posix()
    '.cats-labeled.csv'
    """
    stem = file_stem(table.name)
    return table.with_name(f"{stem}-{what}{table.name[len(stem) :]}")


def file_stem(name: str) -> str:
    """Return a name without its endings; the leading dot of a hidden file stays.

    Examples
    --------
    >>> file_stem("cats.csv.gz"), file_stem(".cats.csv")
    ('cats', '.cats')
    """
    undotted = name.lstrip(".")
    return name[: len(name) - len(undotted)] + undotted.partition(".")[0]


def _make_folder(folder: Path) -> None:
    """Create a folder and its parents; pathlib would call itself once for every parent."""
    missing = []
    while not folder.exists():
        missing.append(folder)
        folder = folder.parent
    for new in reversed(missing):
        new.mkdir(exist_ok=True)
        _sync_folder(new.parent)


def _sync_folder(folder: Path) -> None:
    """Wait until the names of files in a folder are on disk, if the system can open folders."""
    try:
        file = os.open(folder, os.O_RDONLY)
    except OSError:
        return
    try:
        os.fsync(file)
    except OSError as error:
        if error.errno != errno.EINVAL:  # of file systems that sync no folders
            raise
    finally:
        os.close(file)


def _check_kind(path: Path) -> None:
    """Raise InputError if a path exists and is not a regular file."""
    status = _status(path)
    if status is None or stat.S_ISREG(status.st_mode):
        return
    kind = next((name for is_kind, name in FILE_KINDS if is_kind(status.st_mode)), "a special file")
    msg = f"{path} is {kind}, not a file; choose another name"
    raise InputError(msg)


def _status(path: Path) -> os.stat_result | None:
    """Return the status of the file at a path, None if there is none yet."""
    try:
        return path.stat()
    except FileNotFoundError:
        return None
    except NotADirectoryError:
        return None  # `check_writable` names the parent that is a file
    except OSError as error:
        if error.errno == errno.ELOOP:
            msg = f"{path} is a link to itself; choose another name"
            raise InputError(msg) from error
        raise


def _check_names(path: Path, folder: Path) -> None:
    """Raise OSError if a path, or a name in it below an existing folder, is too long."""
    draft = path.with_name(_draft_name())
    longest = max(len(os.fsencode(part)) for part in path.relative_to(folder).parts)
    if longest > _system_limit(folder, "PC_NAME_MAX", MAX_NAME_BYTES) or len(
        os.fsencode(draft)
    ) >= _system_limit(folder, "PC_PATH_MAX", MAX_PATH_BYTES):
        raise OSError(errno.ENAMETOOLONG, os.strerror(errno.ENAMETOOLONG))


def _draft_name() -> str:
    return f"{DRAFT}{os.getpid()}-{token_hex(8)}{DRAFT_END}"


def _system_limit(folder: Path, name: str, default: int) -> int:
    try:
        return os.pathconf(folder, name)
    except (AttributeError, OSError, ValueError):
        return default


@contextmanager
def _errors_name_target(path: Path, draft: Path) -> Iterator[None]:
    """Name the file, not its draft, in messages of errors, and a way out of a full disk."""
    try:
        yield
    except OSError as error:
        if error.errno in NO_SPACE_ERRORS:
            msg = (
                f"{os.strerror(error.errno)}; nothing was written: free some space, or choose "
                "another folder"
            )
            raise OSError(error.errno, msg, str(path)) from error
        if error.filename is not None and str(error.filename) == str(draft):
            raise OSError(error.errno, error.strerror, str(path)) from error
        raise


def _remove_dead_drafts(folder: Path) -> None:
    """Remove the drafts of processes that were killed, which no process has locked."""
    if fcntl is None:
        return
    for draft in folder.glob(f"{DRAFT}*{DRAFT_END}"):
        try:
            file = os.open(draft, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        except OSError:  # it belongs to another user, or was removed
            continue
        try:
            status = os.fstat(file)
            is_ours = stat.S_ISREG(status.st_mode) and status.st_uid == os.geteuid()
            if is_ours and _lock(file, wait=False):
                draft.unlink(missing_ok=True)
        finally:
            os.close(file)


def _lock(file: int, *, wait: bool) -> bool:
    """Lock a file until it is closed; return False if another process has locked it.

    On a file system without locks, writers continue, and no draft is removed.
    """
    if fcntl is None:
        return wait
    try:
        fcntl.flock(file, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
    except OSError:
        return wait
    return True


def try_lock(file: int) -> bool:
    """Lock an open file until it is closed; return False if another process has locked it.

    On a system or a file system without locks, the answer is True.
    """
    if fcntl is None:
        return True
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return True
    return True


def _is_same_file(path: Path, status: os.stat_result) -> bool:
    try:
        return os.path.samestat(path.stat(), status)
    except FileNotFoundError:
        return False


def _is_same(first: Path, second: Path) -> bool:
    return first.exists() and second.exists() and first.samefile(second)
