"""Vertices that a label can reach, on a graph that lies in partitions.

The component of a vertex is found within its partition first. Partitions then send each other the
components of the vertices at cross-partition edges, and the client joins components of different
partitions: there are few of them where the partitions are regions of space.
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
    Records,
)
from graphmargin.distributed.engine.run import Run
from graphmargin.distributed.engine.storage import Folder
from graphmargin.graph.laplacian import components


class Component(NamedTuple):
    """Numbers of components within a partition."""

    component: IntArray


class LocalComponents(Records):
    """The `Component` of each vertex of a partition, if edges to other partitions are left out."""

    name = "components"


class SentComponents(Records):
    """The `Component` of the vertices that each partition sends, cut by receiver."""

    name = "sent-components"


class CrossEdges(NamedTuple):
    """The fields of a graph block that tell which edges leave its partition."""

    indptr: IntArray
    indices: IntArray
    halo_start: IntArray


def find_reached(run: Run, n_partitions: int) -> int:
    """Return the number of vertices in components without a label, and write which ones these are.

    The result is `ReachedVertices`, a record for each partition of the graph in the run's folder.

    Notes
    -----
    Three passes over the partitions. What passes through the client grows with the number of
    components of the partitions, not with the vertices.
    """
    local = run.stage(LocalComponents.name, _find_local, n_partitions)
    crossing = run.stage("cross-partition edges", _find_crossing, n_partitions)
    first = np.cumsum([0, *(len(result["sizes"]) for result in local)])
    own = _concatenated([first[i] + result["own"] for i, result in enumerate(crossing)])
    foreign = _concatenated([first[result["partition"]] + result["foreign"] for result in crossing])
    n = int(first[-1])
    joins = sparse.csr_array((np.ones(len(own)), (own, foreign)), shape=(n, n))
    whole = components(joins)
    labeled = _concatenated([first[i] + result["labeled"] for i, result in enumerate(local)])
    has_label = np.zeros(n, dtype=bool)
    has_label[whole[labeled]] = True
    reached = has_label[whole]
    run.stage(ReachedVertices.name, _mark_reached, np.split(reached, first[1:-1]))
    sizes = _concatenated([result["sizes"] for result in local])
    return int(sizes[~reached].sum())


def _concatenated(arrays: list[AnyArray]) -> IntArray:
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
    """Return which components of a partition are joined to which of those with larger numbers."""
    edges = PartitionedGraph(folder).read(partition, CrossEdges)
    component = LocalComponents(folder).read(partition, Component).component.astype(np.int64)
    n_halo = np.diff(edges.halo_start)
    n_halo[: partition + 1] = 0
    foreign = _concatenated(
        [
            SentComponents(folder).read(sender, Component, part=partition).component
            for sender in np.flatnonzero(n_halo).tolist()
        ]
    )
    owner = np.repeat(np.arange(len(n_halo)), n_halo)
    vertex = np.repeat(np.arange(len(component)), np.diff(edges.indptr))
    halo = edges.indices - len(component) - edges.halo_start[partition + 1]
    crossing = np.flatnonzero(halo >= 0)
    # One number for each triple (own component, partition, its component): fast to make distinct.
    base = int(foreign.max(initial=0)) + 1
    code = (component[vertex] * len(n_halo))[crossing] + owner[halo[crossing]]
    own_and_partition, other = np.divmod(np.unique(code * base + foreign[halo[crossing]]), base)
    own, others = np.divmod(own_and_partition, len(n_halo))
    return {"own": own, "partition": others, "foreign": other}


def _mark_reached(folder: Folder, partition: int, reached: BoolArray) -> dict[str, Any]:
    """Write which vertices of a partition are in components with a label."""
    component = LocalComponents(folder).read(partition, Component).component
    ReachedVertices(folder).write(partition, Reached(reached[component]))
    return {}
