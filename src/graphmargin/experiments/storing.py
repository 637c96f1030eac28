"""Files that are never seen half written."""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Sequence
from dataclasses import astuple, fields
from pathlib import Path
from typing import Any


def write_atomically(path: Path, content: bytes) -> None:
    """Write a file as a whole: whoever looks, and whatever fails, sees the old one or the new one.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_atomically(Path(folder) / "new" / "a.txt", b"text")
    ...     [file.name for file in (Path(folder) / "new").iterdir()]
    ['a.txt']
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    # A process of its own has a draft of its own; the same folder is the same file system.
    draft = path.with_name(f".{path.name}.{os.getpid()}.draft")
    try:
        draft.write_bytes(content)
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)


def write_csv(path: Path, records: Sequence[Any]) -> None:
    r"""Write dataclass instances, all of the same class and at least one, as a CSV file.

    Examples
    --------
    >>> import tempfile
    >>> from graphmargin.experiments.paper.claims import Claim
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_csv(Path(folder) / "a.csv", [Claim("GC wins", "36", "30", None)])
    ...     (Path(folder) / "a.csv").read_text()
    'claim,published,ours,holds\nGC wins,36,30,\n'
    """
    lines = io.StringIO()
    writer = csv.writer(lines, lineterminator="\n")
    writer.writerow([field.name for field in fields(records[0])])
    writer.writerows(astuple(record) for record in records)
    write_atomically(path, lines.getvalue().encode())
