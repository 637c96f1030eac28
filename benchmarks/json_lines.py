"""Files of JSON lines, to which a run appends every result at once, so that it can go on later."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any


def read_lines(file: Path) -> list[dict[str, Any]]:
    """Return the results in a file, none if there is no file."""
    return [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []


def append_line(file: Path, result: dict[str, Any]) -> None:
    """Append a result to a file, which need not exist, nor its folder."""
    file.parent.mkdir(parents=True, exist_ok=True)
    with file.open("a") as stream:
        stream.write(json.dumps(result) + "\n")
