"""Tables with a JSON object in each line."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator
from pathlib import Path

import pandas as pd

from graphmargin.tables.columns import column_names
from graphmargin.tables.errors import TableError
from graphmargin.tables.objects import Kinds, column_of, kinds_of
from graphmargin.tables.streams import opened


def json_lines_chunks(path: Path, n_rows: int) -> Iterator[pd.DataFrame]:
    r"""Yield chunks of a file with a JSON object in each line; keys that a line lacks are missing.

    The file is read twice: columns, and their types, are those of the whole file.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "a.jsonl"
    ...     _ = path.write_text('{"x": 1}\n{"x": 2.5}\n')
    ...     [chunk["x"].tolist() for chunk in json_lines_chunks(path, 1)]
    [[1.0], [2.5]]
    """
    kinds: dict[str, Kinds] = {}
    for rows in _batched(_objects(path), 10_000):
        for name in dict.fromkeys(itertools.chain.from_iterable(rows)):
            kinds[name] = kinds.get(name, frozenset()) | kinds_of(row.get(name) for row in rows)
    names = column_names(kinds, path)
    for rows in _batched(_objects(path), n_rows):
        yield pd.DataFrame(
            {
                name: column_of([row.get(key) for row in rows], kinds[key])
                for name, key in zip(names, kinds, strict=True)
            }
        )


def _objects(path: Path) -> Iterator[dict[str, object]]:
    with opened(path) as stream:
        for i, line in enumerate(stream, start=1):
            if line.isspace():
                continue
            text = line.decode("utf-8-sig" if i == 1 else "utf-8")
            try:
                row = json.loads(text, object_pairs_hook=_unique)
            except _RepeatedKeyError as error:
                msg = f"{path}: line {i} has two values of {error}; keep one"
                raise TableError(msg) from error
            except (ValueError, RecursionError) as error:
                msg = f"{path}: line {i} is not JSON: {error}"
                raise TableError(msg) from error
            if not isinstance(row, dict):
                msg = f'{path}: line {i} is not a JSON object such as {{"x": 1.5}}'
                raise TableError(msg)
            yield row


class _RepeatedKeyError(Exception):
    """A key that occurs twice in a JSON object."""


def _unique(pairs: list[tuple[str, object]]) -> dict[str, object]:
    row = dict(pairs)
    if len(row) < len(pairs):
        keys = [key for key, _ in pairs]
        raise _RepeatedKeyError(repr(next(key for key in keys if keys.count(key) > 1)))
    return row


def _batched(rows: Iterator[dict[str, object]], n_rows: int) -> Iterator[list[dict[str, object]]]:
    while batch := list(itertools.islice(rows, n_rows)):
        yield batch
