"""Permissions of new files, which are no more than those of the files they are made from."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from pathlib import Path

_inputs: ContextVar[tuple[os.stat_result, ...]] = ContextVar("_inputs", default=())
"""Files of `made_from`, whose permissions limit those of new files."""


@contextmanager
def made_from(*inputs: Path | os.stat_result) -> Iterator[None]:
    """Give files that are new in the block no more permissions than the files they are made from.

    The owner may always read and write them. Inputs are paths, or the statuses of open files; those
    that are not local files set no limit.

    Examples
    --------
    >>> import tempfile
    >>> from graphmargin._files import atomic_write
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     table, model = Path(folder) / "a.csv", Path(folder) / "a.graphmargin"
    ...     _ = table.write_bytes(b"x")
    ...     table.chmod(0o600)
    ...     with made_from(table):
    ...         atomic_write(model, b"x")
    ...     model.stat().st_mode == table.stat().st_mode
    True
    """
    token = _inputs.set((*_inputs.get(), *_statuses(inputs)))
    try:
        yield
    finally:
        _inputs.reset(token)


def _statuses(inputs: Sequence[Path | os.stat_result]) -> list[os.stat_result]:
    """Return the statuses of those inputs that are local files."""
    statuses = []
    for file in inputs:
        with suppress(OSError):
            statuses.append(file if isinstance(file, os.stat_result) else file.stat())
    return statuses


def permitted_mode(group: int) -> int:
    """Return the permissions that a new file of a group may have inside of `made_from`."""
    mode = 0o777
    for status in _inputs.get():
        others = status.st_mode & 0o007
        # Who may read the table as one of its group need not be in another group.
        of_group = status.st_mode & 0o070 if status.st_gid == group else others << 3
        mode &= 0o700 | of_group | others
    return mode
