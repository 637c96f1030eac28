"""Pages on what experiments found; nothing here fits."""

__all__: list[str] = []
