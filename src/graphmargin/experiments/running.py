"""What experiments share: seeds, methods that may fail, and many cells, kept in a CSV file."""

from __future__ import annotations

import csv
import io
import os
import time
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import astuple, fields
from pathlib import Path
from typing import Any, ClassVar, Protocol, TypeAlias, TypeVar, get_type_hints
from zlib import crc32

from joblib import Parallel, delayed, parallel_config
from numpy.random import SeedSequence

from graphmargin._errors import InputError
from graphmargin._typing import ProgressCallback


class Result(Protocol):
    """What one method did in one cell: a dataclass of strings and numbers."""

    __dataclass_fields__: ClassVar[dict[str, Any]]

    @property
    def cell(self) -> Any:
        """Tuple that tells which rows and labels."""

    @property
    def title(self) -> str:
        """The cell in words."""

    @property
    def part(self) -> Any:
        """Which method, or what else there are several of in a cell."""

    @property
    def failure(self) -> str:
        """What the exception said, in one line, or ""."""


class ForeignFileError(InputError):
    """A file to keep records in has something else, or is of another version."""


R = TypeVar("R", bound=Result)
C = TypeVar("C", bound=tuple[Any, ...])
T = TypeVar("T")

Known: TypeAlias = dict[tuple[Any, ...], R]
"""Records by cell and part."""


def seeds(name: str, *numbers: int) -> SeedSequence:
    """Return the seeds of what is random in a cell.

    Examples
    --------
    >>> seeds("moons", 10, 0).entropy
    [2319972685, 10, 0]
    """
    return SeedSequence([crc32(f"cell of {name}".encode()), *numbers])


def attempt(fit: Callable[[], Any], measure: Callable[[Any], T]) -> tuple[T | None, float, str]:
    """Return what is measured of a fitted classifier, the seconds of `fit`, and the failure.

    Examples
    --------
    >>> result, seconds, failure = attempt(lambda: 2.0, lambda model: model / 0)
    >>> result, failure
    (None, 'ZeroDivisionError: float division by zero')
    """
    start = time.perf_counter()
    seconds = None
    with warnings.catch_warnings():
        # Few labels do not reach all components, and label spreading ends after 30 iterations;
        # where it has no class mass at all, it divides by zero and predicts the first class.
        warnings.simplefilter("ignore", UserWarning)
        warnings.simplefilter("ignore", RuntimeWarning)
        try:
            model = fit()
            seconds = time.perf_counter() - start
            return measure(model), seconds, ""
        except Exception as failure:  # noqa: BLE001 - what a method fails with is a result
            text = " ".join(f"{type(failure).__name__}: {failure}".split())
            return None, seconds or time.perf_counter() - start, text


def run_cells(
    kind: type[R],
    cells: Iterable[C],
    parts: Mapping[Any, Any],
    compute: Callable[[C, dict[Any, Any]], list[R]],
    *,
    n_jobs: int = 1,
    out: str | Path | None = None,
    progress: ProgressCallback | None = None,
) -> Known[R]:
    """Return the records of all cells by cell and part, and all others that the file has.

    Parameters
    ----------
    kind : type
        Of the records.
    cells : iterable of tuples
        In the order in which they are computed.
    parts : mapping
        What there is a record of in each cell, such as methods by their names.
    compute : callable
        From a cell, and those of `parts` that are missing there, to their records.
    n_jobs, out, progress
        As in `run`.
    """
    path = None if out is None else Path(out)
    known: Known[R] = {} if path is None else _resume(path, kind)
    todo = {cell: _missing(cell, parts, known) for cell in cells}
    tasks = [delayed(compute)(cell, missing) for cell, missing in todo.items() if missing]
    with parallel_config(backend="loky", inner_max_num_threads=1):
        results = Parallel(n_jobs=n_jobs, return_as="generator_unordered")(tasks)
    for done, records in enumerate(results, start=1):
        known |= _by_key(records)
        if path is not None:
            _write_rows(path, [astuple(record) for record in records])
        if progress is not None:
            progress(done / len(tasks), records[0].title)
    return known


def read_csv(path: str | Path, kind: type[R]) -> list[R]:
    """Return the records in a CSV file, without a last line that was not finished."""
    try:
        text = _finished_lines(Path(path))
    except UnicodeDecodeError as wrong:
        msg = f"`out` must be a file of records, got {path}, which is no text; name another file"
        raise ForeignFileError(msg) from wrong
    rows = csv.DictReader(io.StringIO(text))
    columns = _columns(kind)
    if text and rows.fieldnames != columns:
        msg = (
            f"`out` must be a file of records, with the columns {','.join(columns)}, got "
            f"{text.splitlines()[0]!r} in {path}; name another file"
        )
        raise ForeignFileError(msg)
    parsers = {name: _PARSERS[hint] for name, hint in get_type_hints(kind).items()}
    try:
        return [kind(**{name: parsers[name](row[name]) for name in columns}) for row in rows]
    except (TypeError, ValueError) as wrong:
        msg = (
            f"`out` must be a file of records, got line {rows.line_num} of {path}, which cannot be "
            f"read ({wrong}); mend it, or name another file"
        )
        raise ForeignFileError(msg) from wrong


_PARSERS: dict[Any, Callable[[str], Any]] = {
    str: str,
    int: int,
    float: float,
    float | None: lambda text: float(text) if text else None,
}


def _columns(kind: type[R]) -> list[str]:
    return [field.name for field in fields(kind)]


def _by_key(records: Iterable[R]) -> Known[R]:
    return {(*record.cell, record.part): record for record in records}


def _missing(cell: C, parts: Mapping[Any, Any], known: Known[R]) -> dict[Any, Any]:
    return {name: part for name, part in parts.items() if (*cell, name) not in known}


def _resume(path: Path, kind: type[R]) -> Known[R]:
    """Return what the file has, and leave it ready for more lines."""
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    records = read_csv(path, kind)
    text = _finished_lines(path)
    os.truncate(path, len(text.encode()))
    if not text:
        _write_rows(path, [_columns(kind)])
    return _by_key(records)


def _finished_lines(path: Path) -> str:
    text = path.read_bytes().decode()
    return text[: text.rfind("\n") + 1]


def _write_rows(path: Path, rows: Iterable[Sequence[Any]]) -> None:
    lines = io.StringIO()
    csv.writer(lines, lineterminator="\n").writerows(rows)
    with path.open("a", encoding="utf-8", newline="") as file:
        file.write(lines.getvalue())
