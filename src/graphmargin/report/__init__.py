"""The page on a labeled table; nothing here fits."""

__all__: list[str] = []
