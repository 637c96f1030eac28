"""Algorithms of the neighbor search, which other packages call by `graph.neighbors`."""
