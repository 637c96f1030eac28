"""Labeling of a table in the browser: labels spread over the graph as they are given."""

__all__: list[str] = []
