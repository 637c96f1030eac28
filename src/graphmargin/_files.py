"""Files that are never seen half written."""

from __future__ import annotations

import errno
import os
import signal
import stat
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from pathlib import Path
from secrets import token_hex
from tempfile import TemporaryFile

from graphmargin._errors import InputError

try:
    import fcntl
except ImportError:  # without locks, nobody can tell the drafts of dead processes
    fcntl = None  # type: ignore[assignment]

DRAFT, DRAFT_END = ".graphmargin-", ".draft"
"""Start and end of the names of drafts, which do not grow with the names of files."""
PRIVATE = 0o600
"""Mode of a draft, whatever the file will have."""
LONGEST_NAME = 255
"""Bytes of a name, at most, where the system does not tell."""
FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
"""Errors of a disk, a quota or a limit that is reached."""
ENDING_SIGNALS = tuple(
    getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)
)
KINDS = (
    (stat.S_ISDIR, "a folder"),
    (stat.S_ISFIFO, "a FIFO"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
)

_open_drafts: set[Path] = set()
"""Drafts of this process: what is written to one of them is written in place."""


class _Draft:
    """A new, private file beside the one that it will replace, locked while its process lives."""

    def __init__(self, target: Path) -> None:
        self.target = target
        old = _status(target)
        self._owner = None if old is None else (old.st_uid, old.st_gid)
        while True:
            self.path = target.with_name(f"{DRAFT}{os.getpid()}-{token_hex(8)}{DRAFT_END}")
            # A new file gets the mode that others get; what is secret stays so from the start.
            mode = 0o666 if old is None else PRIVATE
            self._file = os.open(self.path, os.O_CREAT | os.O_EXCL | os.O_RDWR, mode)
            status = os.fstat(self._file)
            self._mode = stat.S_IMODE(status.st_mode if old is None else old.st_mode) & 0o777
            if _lock(self._file, wait=True) and _is_same_file(self.path, status):
                break
            os.close(self._file)  # another process took it for a draft of a dead one
        self.path.chmod(PRIVATE)
        _open_drafts.add(self.path)

    def commit(self) -> None:
        """Become the file."""
        if self._owner is not None:
            with suppress(OSError, AttributeError):  # only root can give files away
                os.chown(self.path, *self._owner)
        self.path.chmod(self._mode)
        self.path.replace(self.target)

    def close(self) -> None:
        """Remove what is left, if it has not become the file."""
        _open_drafts.discard(self.path)
        self.path.unlink(missing_ok=True)
        os.close(self._file)


_drafts: ContextVar[list[_Draft] | None] = ContextVar("_drafts", default=None)
"""Drafts that wait for the end of `all_or_none`, if there is one around."""


@contextmanager
def all_or_none() -> Iterator[None]:
    """Hold back the files that are written in the block until its end; if it fails, none is.

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
        with _signals_deferred():
            for draft in drafts:
                draft.commit()
    finally:
        with _signals_deferred():
            _drafts.reset(token)
            for draft in drafts:
                draft.close()


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Yield a draft to be written, which becomes `path` at the end, unless something fails.

    Whoever looks, and whatever fails, sees the old file or the new one; missing folders are made.
    A link stays a link: the file that it points to is replaced, and the new one has its mode. While
    it is a draft, only its owner can read it. Drafts of processes that were killed are removed by
    the next one that writes into the folder. Inside of `all_or_none`, the file is replaced at the
    end of that.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with replacing(Path(folder) / "new" / "a.txt") as draft:
    ...         _ = draft.write_text("text")
    ...     [file.name for file in (Path(folder) / "new").iterdir()]
    ['a.txt']
    """
    if path in _open_drafts:
        yield path
        return
    _check_kind(path)
    target = path.resolve()
    target.parent.mkdir(parents=True, exist_ok=True)
    _remove_dead_drafts(target.parent)
    waiting = _drafts.get()
    draft = None
    try:
        with _signals_deferred():
            draft = _Draft(target)
        with _naming(path, draft.path):
            yield draft.path
        with _signals_deferred():
            if waiting is None:
                draft.commit()
            else:
                waiting.append(draft)
                draft = None
    finally:
        with _signals_deferred():
            if draft is not None:
                draft.close()


def atomic_write(path: Path, content: bytes) -> None:
    """Write a file as a whole, see `replacing`."""
    with replacing(path) as draft:
        draft.write_bytes(content)


def check_writable(path: Path, *, inputs: Sequence[Path] = ()) -> None:
    """Raise now what would be raised after all the work, if `path` cannot be written.

    Parameters
    ----------
    path : Path
        Of a file that is to be written; nothing is written yet.
    inputs : sequence of Path
        Files that must not be touched.

    Raises
    ------
    InputError
        If `path` exists and is no regular file, is a link to itself or one of `inputs`, or would be
        in a file.
    OSError
        If its folder cannot be made or written to, or its name is too long.

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
        _check_names(target.relative_to(folder), folder)
        with TemporaryFile(dir=folder):
            pass
        if path.exists():
            path.open("ab").close()
    except OSError as error:
        msg = f"cannot be written: {error.strerror}"
        raise OSError(error.errno, msg, str(path)) from error


def _check_kind(path: Path) -> None:
    """Refuse what exists and is no regular file: it would be replaced by one, or block."""
    status = _status(path)
    if status is None or stat.S_ISREG(status.st_mode):
        return
    kind = next((name for is_kind, name in KINDS if is_kind(status.st_mode)), "something else")
    msg = f"{path}: {kind}, not a file; choose another name"
    raise InputError(msg)


def _status(path: Path) -> os.stat_result | None:
    """Return the status of the file that a path leads to, None if there is none yet."""
    try:
        return path.stat()
    except FileNotFoundError:
        return None
    except NotADirectoryError:
        return None  # `check_writable` says which part of the path is a file
    except OSError as error:
        if error.errno == errno.ELOOP:
            msg = f"{path}: a link that leads to itself; choose another name"
            raise InputError(msg) from error
        raise


def _check_names(path: Path, folder: Path) -> None:
    """Raise OSError if a folder or file of a relative path has a name that is too long."""
    try:
        longest = os.pathconf(folder, "PC_NAME_MAX")
    except (AttributeError, OSError, ValueError):
        longest = LONGEST_NAME
    if any(len(os.fsencode(part)) > longest for part in path.parts):
        raise OSError(errno.ENAMETOOLONG, os.strerror(errno.ENAMETOOLONG))


@contextmanager
def _naming(path: Path, draft: Path) -> Iterator[None]:
    """Let errors name the file in place of its draft, and a full disk the way out."""
    try:
        yield
    except OSError as error:
        if error.errno in FULL:
            msg = (
                f"{os.strerror(error.errno)}; nothing was written: make room there, or choose "
                "another place"
            )
            raise OSError(error.errno, msg, str(path)) from error
        if error.filename is not None and str(error.filename) == str(draft):
            raise OSError(error.errno, error.strerror, str(path)) from error
        raise


def _remove_dead_drafts(folder: Path) -> None:
    """Remove drafts that processes left when they were killed: nobody holds their lock."""
    if fcntl is None:
        return
    for draft in folder.glob(f"{DRAFT}*{DRAFT_END}"):
        try:
            file = os.open(draft, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        except OSError:  # of another user, or gone
            continue
        try:
            status = os.fstat(file)
            is_own = stat.S_ISREG(status.st_mode) and status.st_uid == os.geteuid()
            if is_own and _lock(file, wait=False):
                draft.unlink(missing_ok=True)
        finally:
            os.close(file)


def _lock(file: int, *, wait: bool) -> bool:
    """Lock a file until it is closed; return False if another process has locked it.

    A file system without locks lets a writer go on, and nobody remove its draft.
    """
    if fcntl is None:
        return wait
    try:
        fcntl.flock(file, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
    except OSError:
        return wait
    return True


def _is_same_file(path: Path, status: os.stat_result) -> bool:
    try:
        return os.path.samestat(path.stat(), status)
    except FileNotFoundError:
        return False


def _is_same(first: Path, second: Path) -> bool:
    return first.exists() and second.exists() and first.samefile(second)


@contextmanager
def _signals_deferred() -> Iterator[None]:
    """Put off what ends the process until the end of the block, so that it is done as a whole."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    pending: list[int] = []
    before = {}
    try:
        for number in ENDING_SIGNALS:
            # None is a handler that Python did not set, and cannot set again.
            if callable(signal.getsignal(number)):
                before[number] = signal.signal(number, lambda number, _: pending.append(number))
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        for number in pending[:1]:
            signal.raise_signal(number)
