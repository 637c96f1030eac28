"""Records as a Parquet file, with typed columns and where they come from."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from types import NoneType
from typing import Any, get_args, get_type_hints

from graphmargin._files import write_atomically
from graphmargin.experiments.provenance import provenance

_TYPES = {str: "string", int: "int64", float: "float64", bool: "bool"}
METADATA_KEY = b"graphmargin"


def write_parquet(
    path: str | Path, records: Sequence[Any], metadata: Mapping[str, Any] | None = None
) -> None:
    """Write records to a Parquet file that is never seen half written.

    Parameters
    ----------
    path : path
    records : sequence of dataclass instances
        At least one, all of the same class, whose fields are str, int, float or bool, or one of
        them or None: such columns have nulls.
    metadata : mapping, optional
        Stored as JSON in the file's metadata under "graphmargin"; by default, `provenance()`.

    Raises
    ------
    ModuleNotFoundError
        Without pyarrow; the message names the extra.

    Examples
    --------
    >>> import tempfile
    >>> from graphmargin.experiments.paper.claims import Claim
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_parquet(f"{folder}/claims.parquet", [Claim("GC wins", "36", "30", None)])
    ...     import pyarrow.parquet
    ...     pyarrow.parquet.read_table(f"{folder}/claims.parquet").to_pylist()
    [{'claim': 'GC wins', 'published': '36', 'ours': '30', 'holds': None}]
    """
    try:
        import pyarrow as pa
        from pyarrow import parquet
    except ModuleNotFoundError as missing:
        msg = "Parquet files need pyarrow; pip install 'graphmargin[cli]'"
        raise ModuleNotFoundError(msg, name="pyarrow") from missing
    if not records:
        msg = "`records` must not be empty: columns are those of the records"
        raise ValueError(msg)
    columns = _columns(type(records[0]))
    schema = pa.schema(
        [pa.field(name, pa.type_for_alias(t), nullable=n) for name, (t, n) in columns.items()],
        metadata={METADATA_KEY: json.dumps(metadata or provenance()).encode()},
    )
    values = {name: [getattr(record, name) for record in records] for name in columns}
    sink = pa.BufferOutputStream()
    parquet.write_table(pa.table(values, schema=schema), sink)
    write_atomically(Path(path), sink.getvalue().to_pybytes())


def _columns(kind: type) -> dict[str, tuple[str, bool]]:
    """Return the Arrow type of every field of a dataclass, and whether it may be None."""
    hints = get_type_hints(kind)
    return {field.name: _column(field.name, hints[field.name]) for field in fields(kind)}


def _column(name: str, hint: Any) -> tuple[str, bool]:
    options = set(get_args(hint)) or {hint}
    kinds = options - {NoneType}
    if len(kinds) != 1 or not kinds <= set(_TYPES):
        msg = f"field `{name}` must be str, int, float or bool, or one of them or None, got {hint}"
        raise TypeError(msg)
    return _TYPES[kinds.pop()], NoneType in options
