"""Graphs of points: k nearest neighbors, edge weights, the Laplacian and components."""

from graphmargin.graph.adjacency import knn_graph
from graphmargin.graph.laplacian import components, laplacian

__all__ = ["components", "knn_graph", "laplacian"]
