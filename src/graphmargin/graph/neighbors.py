"""The neighbor search, whose algorithms are behind this module."""

from graphmargin.graph._search.neighbors import (
    NeighborSearch,
    check_n_neighbors,
    draw_seed,
    nearest_neighbors,
)

__all__ = ["NeighborSearch", "check_n_neighbors", "draw_seed", "nearest_neighbors"]
