"""Algorithms of the neighbor search; `graph.adjacency` is their door."""
