"""Labeling, prediction, explanation and audit of tables in which a few rows have a label."""

__all__: list[str] = []
