"""Which vertices a label can reach, on a graph that lies in parts.

The component of a vertex is found within its part first. Parts then tell each other the components
of the vertices that they share an edge with, and the client joins components of different parts:
there are few of them where the parts are regions of space.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from graphmargin._typing import AnyArray, BoolArray, IntArray
from graphmargin.distributed.blocks import GRAPH
from graphmargin.distributed.run import Run, file_name
from graphmargin.distributed.storage import Folder
from graphmargin.graph.laplacian import components

COMPONENTS = "components"
BRIDGES = "bridges"
REACHED = "reached"
"""Folder of a mask for each part: the vertices that are in a component with a label."""


@dataclass(frozen=True)
class Reached:
    """How much of a graph has no label to learn from.

    Attributes
    ----------
    n_unreached_components : int
        Components without a label.
    n_unreached : int
        Vertices in them.
    """

    n_unreached_components: int
    n_unreached: int


def find_reached(run: Run, n_parts: int) -> Reached:
    """Return how many components have no label, and leave in the run's folder which vertices.

    Parameters
    ----------
    run : Run
        Its folder has the parts of the graph.
    n_parts : int

    Notes
    -----
    Three rounds over the parts. What passes through the client grows with the number of components
    of the parts, not with the vertices. Afterwards, `reached` of part i of the folder ``reached``
    is the mask of its home vertices.

    Examples
    --------
    A labeled vertex with a neighbor, and a vertex alone, all in one part:

    >>> import tempfile
    >>> from distributed import Client
    >>> from graphmargin.distributed.cluster import Cluster
    >>> graph = {
    ...     "codes": [0, -1, -1], "indptr": [0, 1, 2, 2], "indices": [1, 0], "data": [1.0, 1.0],
    ...     "halo_codes": [], "halo_start": [0, 0], "send": np.zeros(0, int), "send_start": [0, 0]}
    >>> with (
    ...     tempfile.TemporaryDirectory() as path,
    ...     Client(processes=False, dashboard_address="localhost:0") as client,
    ... ):
    ...     run = Run(Folder(path), Cluster(client))
    ...     (run.folder / "graph").write("000000.pack", graph)
    ...     find_reached(run, 1)
    Reached(n_unreached_components=1, n_unreached=1)
    """
    local = run.stage(COMPONENTS, _find_local, n_parts)
    bridges = run.stage(BRIDGES, _find_bridges, n_parts)
    first = np.cumsum([0, *(len(note["sizes"]) for note in local)])
    own = _joined([first[i] + note["own"] for i, note in enumerate(bridges)])
    foreign = _joined([first[note["part"]] + note["foreign"] for note in bridges])
    n = int(first[-1])
    joins = sparse.csr_array((np.ones(len(own)), (own, foreign)), shape=(n, n))
    whole = components(joins)
    has_label = np.zeros(n, dtype=bool)
    has_label[whole[_joined([first[i] + note["labeled"] for i, note in enumerate(local)])]] = True
    reached = has_label[whole]
    run.stage(REACHED, _mark, np.split(reached, first[1:-1]))
    sizes = _joined([note["sizes"] for note in local])
    return Reached(len(np.unique(whole[~reached])), int(sizes[~reached].sum()))


def _joined(arrays: list[AnyArray]) -> IntArray:
    return np.concatenate([np.zeros(0, dtype=np.int64), *arrays])


def _find_local(folder: Folder, number: int) -> dict[str, Any]:
    """Write the component of the home vertices of a part, and of those that it sends."""
    graph = (folder / GRAPH).read(file_name(number))
    m = len(graph["codes"])
    shape = (m, m + len(graph["halo_codes"]))
    W = sparse.csr_array((graph["data"], graph["indices"], graph["indptr"]), shape=shape)
    component = components(W[:, :m])
    (folder / COMPONENTS).write(
        file_name(number),
        {"sent": component[graph["send"]], "component": component},
        start=graph["send_start"],
    )
    return {
        "sizes": np.bincount(component),
        "labeled": np.unique(component[graph["codes"] >= 0]),
    }


def _find_bridges(folder: Folder, number: int) -> dict[str, Any]:
    """Return which components of a part are joined to which of parts with a larger number."""
    keys = ["indptr", "indices", "halo_start"]
    graph = (folder / GRAPH).read(file_name(number), keys)
    found = folder / COMPONENTS
    component = found.read(file_name(number), ["component"])["component"].astype(np.int64)
    n_halo = np.diff(graph["halo_start"])
    n_halo[: number + 1] = 0
    foreign = _joined(
        [
            found.read(file_name(part), ["sent"], part=number)["sent"]
            for part in np.flatnonzero(n_halo).tolist()
        ]
    )
    owner = np.repeat(np.arange(len(n_halo)), n_halo)
    vertex = np.repeat(np.arange(len(component)), np.diff(graph["indptr"]))
    halo = graph["indices"] - len(component) - graph["halo_start"][number + 1]
    crossing = np.flatnonzero(halo >= 0)
    # One number for each triple (own component, part, its component): fast to make distinct.
    base = int(foreign.max(initial=0)) + 1
    code = (component[vertex] * len(n_halo))[crossing] + owner[halo[crossing]]
    own_and_part, other = np.divmod(np.unique(code * base + foreign[halo[crossing]]), base)
    own, part = np.divmod(own_and_part, len(n_halo))
    return {"own": own, "part": part, "foreign": other}


def _mark(folder: Folder, number: int, reached: BoolArray) -> dict[str, Any]:
    """Write which home vertices of a part are in components with a label."""
    component = (folder / COMPONENTS).read(file_name(number), ["component"])["component"]
    (folder / REACHED).write(file_name(number), {"reached": reached[component]})
    return {}
