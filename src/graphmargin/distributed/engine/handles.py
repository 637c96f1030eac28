"""Handles of what lies on storage between the stages of a run, each with its fields.

A stage does not import another one: it writes records through a handle, and later stages read them
through the same handle. A record is a named tuple of arrays. A reader names the type of record that
it wants; if that has a part of the fields alone, the others are not read.
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

Record = TypeVar("Record", bound=NamedTuple)


class Records:
    """Numbered records in a folder: one for each row range or partition, or a single one, 0.

    A subclass is a kind of record that all runs have, and names its folder within that of the run.

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

    def exists(self, number: int) -> bool:
        """Tell whether a record was written."""
        return self.folder.exists(_file_name(number))

    def write(self, number: int, record: NamedTuple, *, start: IntArray | None = None) -> None:
        """Write a record; `start` cuts it into parts, see `Folder.write`."""
        self.folder.write(_file_name(number), record._asdict(), start=start)

    def read(
        self,
        number: int,
        fields: type[Record],
        *,
        part: int | None = None,
        rows: IntArray | None = None,
    ) -> Record:
        """Return some fields of a record: all of it, one of its parts, or some sorted rows."""
        arrays = self.folder.read(_file_name(number), fields._fields, part=part, rows=rows)
        return fields._make(arrays[name] for name in fields._fields)

    def read_all(self, n: int, fields: type[Record], *, part: int | None = None) -> Record:
        """Return the first `n` records, or one part of each of them, one after the other."""
        return joined([self.read(number, fields, part=part) for number in range(n)])


def joined(records: list[Record]) -> Record:
    """Return a record whose arrays are those of several records, one after the other."""
    return records[0]._make(map(np.concatenate, zip(*records, strict=True)))


def taken(record: Record, rows: AnyArray | slice) -> Record:
    """Return some rows of a record, by their numbers, a mask or a slice."""
    return record._make(array[rows] for array in record)


def cut_by(receiver: IntArray, n_receivers: int) -> tuple[IntArray, IntArray]:
    """Return the order of rows that sorts them by receiver, and where the parts begin.

    Examples
    --------
    >>> order, start = cut_by(np.array([2, 0, 2]), 3)
    >>> order.tolist(), start.tolist()
    ([1, 0, 2], [0, 1, 1, 3])
    """
    order = np.argsort(receiver, kind="stable")
    return order, np.searchsorted(receiver[order], np.arange(n_receivers + 1))


class Points(NamedTuple):
    """The encoded features of rows."""

    X: FloatArray


class Codes(NamedTuple):
    """The codes of given labels, -1 for none."""

    codes: IntArray


class Rows(NamedTuple):
    """Rows of the input."""

    X: FloatArray
    codes: IntArray


class StoredRows(Records):
    """The `Rows` of each row range."""

    name = "rows"


class PartitionRows(NamedTuple):
    """Rows of a partition, with their numbers in the input and the partition that owns each."""

    X: FloatArray
    codes: IntArray
    rows: IntArray
    owner: IntArray


class OwnedRows(Records):
    """The `PartitionRows` of each row range, cut by the partition that owns them."""

    name = "owned"


class ReplicatedRows(Records):
    """The `PartitionRows` of each row range, cut by the partition that has a replica of them."""

    name = "replicas"


class QueryNeighbors(NamedTuple):
    """Sampled rows in the metric of the graph, and the distances of their nearest neighbors."""

    rows: IntArray
    X: FloatArray
    distances: FloatArray


class ExactNeighbors(Records):
    """The `QueryNeighbors` of a sample among all rows, by which the recall is measured."""

    name = "exact-neighbors"


class PartitionedPoints(Records):
    """The `Points` that each partition owns, in the order of the vertices of its graph."""

    name = "points"


class Vertices(NamedTuple):
    """The vertices that a partition owns: numbers of their rows, sorted, and given labels."""

    rows: IntArray
    codes: IntArray


class GraphBlock(NamedTuple):
    """The rows of the weight matrix at the vertices that a partition owns.

    The columns are the m vertices of the partition, and then its halo: vertices of other
    partitions that share an edge with it, sorted by partition and row.
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
    """Own vertices that are in the halo of other partitions, sorted by partition and row."""
    send_start: IntArray
    """First of those for each partition, and the end of the last ones."""


class PartitionedGraph(Records):
    """The `GraphBlock` of each partition."""

    name = "graph"


class SampledRows(Records):
    """The `Rows` that parameters are chosen on."""

    name = "sample"


class SparseMatrix(NamedTuple):
    """A sparse matrix, row by row."""

    data: FloatArray
    indices: IntArray
    indptr: IntArray


class SampledGraph(Records):
    """The graph of the `SampledRows`, a `SparseMatrix`."""

    name = "sample graph"


class Reached(NamedTuple):
    """A mask of the vertices that are in a component with a label."""

    reached: BoolArray


class ReachedVertices(Records):
    """The mask of `Reached` vertices of each partition."""

    name = "reached"


class Induced(NamedTuple):
    """Labels that the graph induces (-1: no label reaches the vertex), and their confidence."""

    codes: IntArray
    confidence: FloatArray


class Mass(NamedTuple):
    """Class masses."""

    mass: FloatArray


class Solution(NamedTuple):
    """The harmonic solution at the vertices of a partition."""

    codes: IntArray
    confidence: FloatArray
    mass: FloatArray


class StoredSolution(Records):
    """The harmonic `Solution` for one gamma_g, which is finite, in each partition."""

    def __init__(self, folder: Folder, gamma_g: float) -> None:
        super().__init__(folder / f"harmonic-{gamma_g:g}")


class Labels(NamedTuple):
    """Final labels of rows of the input.

    `rows` are sorted, `codes` are -1 for no label, and `source` is a place in
    `graphmargin.labeling.findings.SOURCES`.
    """

    rows: IntArray
    codes: IntArray
    confidence: FloatArray
    source: IntArray


class StoredLabels(Records):
    """The `Labels` of each partition, cut by the row range that the rows come from."""

    name = "labels"


@dataclass(frozen=True)
class StoredMachine:
    """The trained machine in the folder of a run, written as in a model file."""

    parent: Folder
    name: ClassVar[str] = "machine.pack"

    def exists(self) -> bool:
        """Tell whether a machine was written."""
        return self.parent.exists(self.name)

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
