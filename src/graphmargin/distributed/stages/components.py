"""The stage that finds the vertices of a partitioned graph that a label can reach.

The components within each partition are found first. Partitions then send each other the components
of the vertices at cross-partition edges, and the client joins components of different partitions,
which are few if the partitions are regions of space.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from graphmargin._typing import AnyArray, BoolArray, IntArray
from graphmargin.distributed.engine.handles import (
    GraphBlock,
    PartitionedGraph,
    Reached,
    ReachedVertices,
    StoredRecords,
)
from graphmargin.distributed.engine.run import Run
from graphmargin.distributed.engine.storage import Folder
from graphmargin.graph.laplacian import components


class Component(NamedTuple):
    """The numbers of the components of vertices within their partition."""

    component: IntArray


class LocalComponents(StoredRecords):
    """The `Component` of each vertex of a partition, without edges to other partitions."""

    name = "components"


class SentComponents(StoredRecords):
    """The `Component` of the vertices that each partition sends, cut by receiver."""

    name = "sent-components"


class CrossEdges(NamedTuple):
    """The fields of a graph block that contain the edges to other partitions."""

    indptr: IntArray
    indices: IntArray
    halo_start: IntArray


def find_reached(run: Run, n_partitions: int) -> int:
    """Return the number of vertices in components without a label, and write `ReachedVertices`.

    Notes
    -----
    There are three passes over the partitions. What passes through the client grows with the
    number of components of the partitions, and not with the number of vertices.
    """
    local = run.stage(LocalComponents.name, _find_local, n_partitions)
    crossing = run.stage("cross-partition edges", _find_crossing, n_partitions)
    first = np.cumsum([0, *(len(result["sizes"]) for result in local)])
    source = _concatenate([first[i] + result["own"] for i, result in enumerate(crossing)])
    target = _concatenate([first[result["partition"]] + result["foreign"] for result in crossing])
    n = int(first[-1])
    joins = sparse.csr_array((np.ones(len(source)), (source, target)), shape=(n, n))
    joined = components(joins)
    labeled = _concatenate([first[i] + result["labeled"] for i, result in enumerate(local)])
    has_label = np.zeros(n, dtype=bool)
    has_label[joined[labeled]] = True
    reached = has_label[joined]
    run.stage(ReachedVertices.name, _write_reached, np.split(reached, first[1:-1]))
    sizes = _concatenate([result["sizes"] for result in local])
    return int(sizes[~reached].sum())


def _concatenate(arrays: list[AnyArray]) -> IntArray:
    return np.concatenate([np.zeros(0, dtype=np.int64), *arrays])


def _find_local(folder: Folder, partition: int) -> dict[str, Any]:
    """Write the components of the vertices of a partition, and of those that it sends."""
    block = PartitionedGraph(folder).read(partition, GraphBlock)
    m = len(block.codes)
    shape = (m, m + len(block.halo_codes))
    W = sparse.csr_array((block.data, block.indices, block.indptr), shape=shape)
    component = components(W[:, :m])
    LocalComponents(folder).write(partition, Component(component))
    sent = Component(component[block.send])
    SentComponents(folder).write(partition, sent, start=block.send_start)
    return {
        "sizes": np.bincount(component),
        "labeled": np.unique(component[block.codes >= 0]),
    }


def _find_crossing(folder: Folder, partition: int) -> dict[str, Any]:
    """Return the pairs of components of this partition and later ones that share an edge."""
    edges = PartitionedGraph(folder).read(partition, CrossEdges)
    component = LocalComponents(folder).read(partition, Component).component.astype(np.int64)
    n_halo = np.diff(edges.halo_start)
    n_halo[: partition + 1] = 0
    foreign = _concatenate(
        [
            SentComponents(folder).read(sender, Component, part=partition).component
            for sender in np.flatnonzero(n_halo).tolist()
        ]
    )
    owner = np.repeat(np.arange(len(n_halo)), n_halo)
    vertex = np.repeat(np.arange(len(component)), np.diff(edges.indptr))
    halo = edges.indices - len(component) - edges.halo_start[partition + 1]
    crossing = np.flatnonzero(halo >= 0)
    # Triples (component, other partition, its component) as single numbers, for a fast `unique`.
    base = int(foreign.max(initial=0)) + 1
    pair = (component[vertex] * len(n_halo))[crossing] + owner[halo[crossing]]
    pair, foreign = np.divmod(np.unique(pair * base + foreign[halo[crossing]]), base)
    local, other = np.divmod(pair, len(n_halo))
    return {"own": local, "partition": other, "foreign": foreign}


def _write_reached(folder: Folder, partition: int, reached: BoolArray) -> dict[str, Any]:
    """Write the mask of the vertices of a partition that are in components with a label."""
    component = LocalComponents(folder).read(partition, Component).component
    ReachedVertices(folder).write(partition, Reached(reached[component]))
    return {}
