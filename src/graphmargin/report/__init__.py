"""The report on a labeled table, an HTML page."""

__all__: list[str] = []
