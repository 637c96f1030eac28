"""No two rows of the same name, in a table that no process holds as a whole.

Every row's name is hashed to 64 bits, and a task for each range of hashes sees all rows whose
hashes are in it. Rows of equal hashes are compared by their names, since among 1e9 different
names two may have the same hash.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from graphmargin._typing import AnyArray, IntArray
from graphmargin.distributed.run import Run, file_name
from graphmargin.distributed.source import Piece, Source, batches_of, cell_at, locate, shown_at
from graphmargin.distributed.storage import Folder
from graphmargin.tables.errors import TableError

HASHES = "id hashes"
STAGE = "ids"
RANGES = "id_ranges.json"
UNIQUE = "ids_differ.json"
BYTES_OF_A_ROW = 64
"""While a range is sorted: hash and row number, their order, and copies in that order."""


def check_ids(run: Run, source: Source, id: str) -> None:
    """Refuse a column that does not name the rows: all cells there, all different.

    Parameters
    ----------
    run : Run
    source : Source
    id : str
        The column.

    Raises
    ------
    TableError
        With one name that is there twice, and where, or the first row without one.
    """
    if run.folder.exists(UNIQUE):
        return
    needed = source.n_rows * BYTES_OF_A_ROW
    n_ranges = run.settled(RANGES, 1 + needed // run.cluster.memory_of_a_task)
    run.stage(HASHES, _hash_ids, source.pieces, id, n_ranges)
    notes = run.stage(STAGE, _find_equal, n_ranges, source.pieces, id)
    pairs = [note["pair"].tolist() for note in notes if len(note["pair"])]
    if pairs:
        n_more = sum(int(note["n_equal"]) for note in notes) - 1
        (first, row), (second, other) = (locate(source.pieces, row) for row in min(pairs))
        msg = (
            f"id {id!r} has {shown_at(first, id, row)} in {first.where(row)} and in "
            f"{second.where(other)}{f', and {n_more:,} more like it' if n_more else ''}; ids must "
            "differ: name another column, or none"
        )
        raise TableError(msg)
    run.folder.write_json(UNIQUE, {"id": id})
    run.folder.remove([HASHES, STAGE])


def _hash_ids(
    folder: Folder, number: int, piece: Piece, id: str, n_ranges: int
) -> dict[str, AnyArray]:
    """Write the hashes of a piece in their order, cut by range, with the rows they belong to."""
    found: list[AnyArray] = []
    for batch in batches_of(piece, [id]):
        column = batch.column(0)
        missing = column.is_null(nan_is_null=True).to_numpy()
        if missing.any():
            row = sum(len(hashes) for hashes in found) + int(np.argmax(missing))
            msg = (
                f"id {id!r} has {int(missing.sum()):,} missing cells, first in "
                f"{piece.where(row)}; fill them, name another column, or none"
            )
            raise TableError(msg)
        found.append(pd.util.hash_array(column.to_numpy(), categorize=False))
    hashes = np.concatenate(found)
    order = np.argsort(hashes)
    hashes = hashes[order]
    edges = np.array([i * 2**64 // n_ranges for i in range(1, n_ranges)], dtype=np.uint64)
    start = np.concatenate([[0], np.searchsorted(hashes, edges), [len(hashes)]])
    (folder / HASHES).write(file_name(number), {"hash": hashes, "row": order}, start=start)
    return {}


def _find_equal(
    folder: Folder, number: int, pieces: Sequence[Piece], id: str
) -> dict[str, AnyArray]:
    """Return the first two rows of the same name in a range, if any, and how many there may be."""
    packs = [(folder / HASHES).read(file_name(i), part=number) for i in range(len(pieces))]
    hashes = np.concatenate([pack["hash"] for pack in packs])
    first = 0
    for pack, piece in zip(packs, pieces, strict=True):
        pack["row"] += first
        first += piece.n_rows
    rows = np.concatenate([pack["row"] for pack in packs])
    del packs
    order = np.lexsort((rows, hashes))
    hashes, rows = hashes[order], rows[order]
    is_equal = hashes[1:] == hashes[:-1]
    suspects = rows[np.r_[is_equal, False] | np.r_[False, is_equal]]
    return {"n_equal": np.array(is_equal.sum()), "pair": _first_pair(suspects, pieces, id)}


def _first_pair(rows: IntArray, pieces: Sequence[Piece], id: str) -> IntArray:
    """Return two rows of the same name, none if all differ: then their hashes are equal by chance.

    Rows of a hash follow each other, so that the loop is short in either case.
    """
    seen: dict[Any, int] = {}
    for row in rows.tolist():
        piece, place = locate(pieces, row)
        name = cell_at(piece, id, place)
        if name in seen:
            return np.array([seen[name], row])
        seen[name] = row
    return np.zeros(0, dtype=np.int64)
