"""Graphs in parts on storage, as the stages before leave them."""

import numpy as np
from scipy import sparse

from graphmargin.distributed.run import file_name
from graphmargin.graph import check_graph


def write_parts(folder, W, codes, part, n_parts):
    """Write ``graph/`` packs for a symmetric W, whose vertex i lies in part ``part[i]``."""
    W, codes, part = check_graph(W), np.asarray(codes, dtype=np.int32), np.asarray(part)
    for number in range(n_parts):
        rows = np.flatnonzero(part == number)
        mine = sparse.coo_array(W[rows])
        away = part[mine.col] != number
        halo = np.unique(mine.col[away])
        halo = halo[np.argsort(part[halo], kind="stable")]
        # Each row once for every part that it has a neighbor in, sorted by part.
        sent = np.unique(np.column_stack([part[mine.col], mine.row])[away], axis=0)
        block = sparse.csr_array(W[rows][:, np.concatenate([rows, halo])])
        parts = np.arange(n_parts + 1)
        pack = {
            "rows": rows,
            "codes": codes[rows],
            "indptr": block.indptr.astype(np.int64),
            "indices": block.indices.astype(np.int32),
            "data": block.data.astype(np.float64),
            "halo_rows": halo,
            "halo_codes": codes[halo],
            "halo_start": np.searchsorted(part[halo], parts),
            "send": sent[:, 1].astype(np.int32),
            "send_start": np.searchsorted(sent[:, 0], parts),
        }
        (folder / "graph").write(file_name(number), pack)


def read_whole(folder, name, part, n_parts):
    """Return the arrays of a solution in the order of the vertices."""
    packs = [(folder / name).read(file_name(number)) for number in range(n_parts)]
    order = np.argsort(part, kind="stable")
    whole = {}
    for key in packs[0]:
        joined = np.concatenate([pack[key] for pack in packs])
        whole[key] = np.empty_like(joined)
        whole[key][order] = joined
    return whole
