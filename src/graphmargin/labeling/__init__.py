"""A table in which a few rows have a label: what a person wants done with it."""

__all__: list[str] = []
