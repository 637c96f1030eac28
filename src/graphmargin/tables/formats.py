"""Which files are tables, by the end of their names."""

from __future__ import annotations

from pathlib import Path
from typing import Literal, TypeAlias

from graphmargin.tables.errors import TableError

Format: TypeAlias = Literal["csv", "tsv", "parquet", "excel", "json lines", "npz"]

FORMATS: dict[str, Format] = {
    ".csv": "csv",
    ".csv.gz": "csv",
    ".tsv": "tsv",
    ".tab": "tsv",
    ".tsv.gz": "tsv",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".xlsx": "excel",
    ".jsonl": "json lines",
    ".ndjson": "json lines",
    ".jsonl.gz": "json lines",
    ".npz": "npz",
}


def format_of(path: Path) -> Format:
    """Return the format of a file from the end of its name, in any case.

    Examples
    --------
    >>> format_of(Path("Results.CSV.gz"))
    'csv'
    """
    name = path.name.lower()
    for ending, known in FORMATS.items():
        if name.endswith(ending):
            return known
    msg = f"{path}: not a known kind of table; names may end in {', '.join(FORMATS)}"
    raise TableError(msg)


def is_compressed(path: Path) -> bool:
    """Whether the file is packed by gzip.

    Examples
    --------
    >>> is_compressed(Path("a.csv.gz"))
    True
    """
    return path.suffix.lower() == ".gz"
