"""Records as CSV files."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from dataclasses import astuple, fields
from pathlib import Path
from typing import Any

from graphmargin._files import write_atomically


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
