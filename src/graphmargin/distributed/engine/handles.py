"""Handles of the arrays that stages keep on storage for each other.

Stages do not import each other: one writes records through a handle, and later ones read them
through the same handle. A record is a named tuple of arrays. A reader passes the type of record
that it wants, which may have only some of the fields; the others are not read.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import ClassVar, NamedTuple, TypeVar

import numpy as np

from graphmargin._typing import AnyArray, BoolArray, FloatArray, IntArray
from graphmargin.distributed.engine.storage import Folder
from graphmargin.margin.machine import MarginMachine
from graphmargin.models.records import ARRAY_RECORDS, decode, encode

StoredRecord = TypeVar("StoredRecord", bound=NamedTuple)


class StoredRecords:
    """Numbered records in a folder: one for each row range or partition, or a single one, 0.

    A subclass names the folder of one kind of record within the folder of a run.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as path:
    ...     rows = StoredRows(Folder(path))
    ...     rows.write(0, Rows(np.array([[1.0], [2.0]]), np.array([1, -1])))
    ...     rows.read(0, Codes).codes.tolist()
    [1, -1]
    """

    name: ClassVar[str] = ""

    def __init__(self, folder: Folder) -> None:
        self.folder = folder / self.name if self.name else folder

    def write(self, number: int, record: NamedTuple, *, start: IntArray | None = None) -> None:
        """Write a record, which `start` cuts into parts, see `Folder.write`."""
        self.folder.write(_file_name(number), record._asdict(), start=start)

    def read(
        self,
        number: int,
        fields: type[StoredRecord],
        *,
        part: int | None = None,
        rows: IntArray | None = None,
    ) -> StoredRecord:
        """Return the given fields of a record, with all rows, those of a part, or sorted `rows`."""
        arrays = self.folder.read(_file_name(number), fields._fields, part=part, rows=rows)
        return fields._make(arrays[name] for name in fields._fields)

    def read_all(
        self, n: int, fields: type[StoredRecord], *, part: int | None = None
    ) -> StoredRecord:
        """Return the first `n` records, or one part of each of them, as a single record."""
        return concatenate_records([self.read(number, fields, part=part) for number in range(n)])


def concatenate_records(records: list[StoredRecord]) -> StoredRecord:
    """Return the record of all rows of several records, in their order."""
    return records[0]._make(map(np.concatenate, zip(*records, strict=True)))


def take_rows(record: StoredRecord, rows: AnyArray | slice) -> StoredRecord:
    """Return some rows of a record, by their numbers, a mask or a slice."""
    return record._make(array[rows] for array in record)


def sort_by_receiver(receiver: IntArray, n_receivers: int) -> tuple[IntArray, IntArray]:
    """Return the order that sorts rows by receiver, and the places where the parts begin.

    Examples
    --------
    >>> order, start = sort_by_receiver(np.array([2, 0, 2]), 3)
    >>> order.tolist(), start.tolist()
    ([1, 0, 2], [0, 1, 1, 3])
    """
    order = np.argsort(receiver, kind="stable")
    return order, np.searchsorted(receiver[order], np.arange(n_receivers + 1))


class Points(NamedTuple):
    """The encoded features of rows."""

    X: FloatArray


class Codes(NamedTuple):
    """The codes of given labels, -1 for unlabeled rows."""

    codes: IntArray


class Rows(NamedTuple):
    """Rows of the input."""

    X: FloatArray
    codes: IntArray


class StoredRows(StoredRecords):
    """The `Rows` of each row range."""

    name = "rows"


class PartitionRows(NamedTuple):
    """Rows in a partition, their numbers in the input, and the partition that owns each."""

    X: FloatArray
    codes: IntArray
    rows: IntArray
    owner: IntArray


class OwnedRows(StoredRecords):
    """The `PartitionRows` of each row range, cut by the partition that owns them."""

    name = "owned"


class ReplicatedRows(StoredRecords):
    """The `PartitionRows` of each row range, cut by the partition that has a replica of them."""

    name = "replicas"


class QueryNeighbors(NamedTuple):
    """Sampled rows in the metric of the graph, and the distances to their nearest neighbors."""

    rows: IntArray
    X: FloatArray
    distances: FloatArray


class ExactNeighbors(StoredRecords):
    """The `QueryNeighbors` of a sample among all rows, for measuring the recall of the graph."""

    name = "exact-neighbors"


class PartitionedPoints(StoredRecords):
    """The `Points` that each partition owns, in the order of the vertices of its graph."""

    name = "points"


class Vertices(NamedTuple):
    """The vertices that a partition owns: the sorted numbers of their rows, and given labels."""

    rows: IntArray
    codes: IntArray


class GraphBlock(NamedTuple):
    """The rows of the weight matrix for the vertices that a partition owns.

    The columns are the m vertices of the partition, followed by its halo: the vertices of other
    partitions that share an edge with one of them, sorted by partition and row.
    """

    rows: IntArray
    codes: IntArray
    indptr: IntArray
    indices: IntArray
    data: FloatArray
    halo_rows: IntArray
    halo_codes: IntArray
    halo_start: IntArray
    """First vertex of each partition in the halo, and the end of the last one."""
    send: IntArray
    """Vertices that are in the halo of other partitions, sorted by partition and row."""
    send_start: IntArray
    """First of them for each partition, and the end of the last one."""


class PartitionedGraph(StoredRecords):
    """The `GraphBlock` of each partition."""

    name = "graph"


class SampledRows(StoredRecords):
    """The sample of `Rows` on which parameters are chosen."""

    name = "sample"


class SparseMatrix(NamedTuple):
    """A sparse matrix, row by row."""

    data: FloatArray
    indices: IntArray
    indptr: IntArray


class SampledGraph(StoredRecords):
    """The graph of the `SampledRows`, a `SparseMatrix`."""

    name = "sample graph"


class Reached(NamedTuple):
    """The mask of the vertices in components with a label."""

    reached: BoolArray


class ReachedVertices(StoredRecords):
    """The mask of `Reached` vertices of each partition."""

    name = "reached"


class Induced(NamedTuple):
    """The labels that the graph induces, -1 where no label reaches, and their confidence."""

    codes: IntArray
    confidence: FloatArray


class Mass(NamedTuple):
    """Class masses."""

    mass: FloatArray


class Solution(NamedTuple):
    """The harmonic solution for the vertices of a partition."""

    codes: IntArray
    confidence: FloatArray
    mass: FloatArray


class StoredSolution(StoredRecords):
    """The harmonic `Solution` of each partition for a finite gamma_g."""

    def __init__(self, folder: Folder, gamma_g: float) -> None:
        super().__init__(folder / f"harmonic-{gamma_g:g}")


class Labels(NamedTuple):
    """The final labels of rows of the input.

    `rows` is sorted, `codes` has -1 for no label, and `is_given` is True for labels of the input.
    """

    rows: IntArray
    codes: IntArray
    confidence: FloatArray
    is_given: BoolArray


class StoredLabels(StoredRecords):
    """The `Labels` of each partition, cut by the row range that the rows come from."""

    name = "labels"


@dataclass(frozen=True)
class StoredMachine:
    """The trained machine in the folder of a run, in the format of model files."""

    parent: Folder
    name: ClassVar[str] = "machine.pack"

    def write(self, machine: MarginMachine) -> None:
        """Write the machine."""
        tree, arrays = encode(machine, ARRAY_RECORDS)
        numbered = {str(number): array for number, array in enumerate(arrays)}
        self.parent.write(self.name, {"tree": np.array(json.dumps(tree)), **numbered})

    def read(self) -> MarginMachine:
        """Return the machine."""
        arrays = self.parent.read(self.name)
        tree = json.loads(str(arrays.pop("tree")))
        machine: MarginMachine = decode(tree, [*arrays.values()], ARRAY_RECORDS)
        return machine


def _file_name(number: int) -> str:
    return f"{number:06d}.pack"
