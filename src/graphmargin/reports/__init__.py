"""Reports on the graph of a fit, and advice on what to change."""

from graphmargin.reports.graph_reports import GraphReport, graph_report

__all__ = ["GraphReport", "graph_report"]
