"""Graphs of points: k nearest neighbors, edge weights, the Laplacian and components."""

from graphmargin.graph.adjacency import check_graph, knn_graph
from graphmargin.graph.laplacian import components, laplacian
from graphmargin.graph.weights import paper_width

__all__ = ["check_graph", "components", "knn_graph", "laplacian", "paper_width"]
