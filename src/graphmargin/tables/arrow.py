"""Arrow's tables: cut into chunks, and as pandas frames whose types do not depend on the chunk."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import pandas as pd
import pyarrow as pa

# pandas would turn whole numbers and truth values into something else where a cell is missing.
_NULLABLE = {
    pa.bool_(): pd.BooleanDtype(),
    pa.int8(): pd.Int8Dtype(),
    pa.int16(): pd.Int16Dtype(),
    pa.int32(): pd.Int32Dtype(),
    pa.int64(): pd.Int64Dtype(),
    pa.uint8(): pd.UInt8Dtype(),
    pa.uint16(): pd.UInt16Dtype(),
    pa.uint32(): pd.UInt32Dtype(),
    pa.uint64(): pd.UInt64Dtype(),
}


def in_chunks(
    batches: Iterable[pa.RecordBatch], schema: pa.Schema, n_rows: int
) -> Iterator[pa.Table]:
    """Yield the rows of batches in tables of `n_rows`, at least one; the last one has the rest.

    Examples
    --------
    >>> batch = pa.record_batch({"x": [1, 2, 3]})
    >>> [chunk.num_rows for chunk in in_chunks([batch, batch], batch.schema, 4)]
    [4, 2]
    """
    held: list[pa.RecordBatch] = []
    n_held = 0
    is_first = True
    for batch in batches:
        rest = batch
        while n_held + rest.num_rows >= n_rows:
            cut = n_rows - n_held
            yield pa.Table.from_batches([*held, rest.slice(0, cut)], schema).combine_chunks()
            held, n_held, rest = [], 0, rest.slice(cut)
            is_first = False
        held.append(rest)
        n_held += rest.num_rows
    if n_held or is_first:
        yield pa.Table.from_batches(held, schema).combine_chunks()


def frame_of(table: pa.Table) -> pd.DataFrame:
    """Return a frame whose types depend on the schema alone, not on what is in the cells.

    Whole numbers and truth values may be missing, dictionaries are decoded, lists are arrays,
    decimal numbers stay exact, and maps stay maps.

    Examples
    --------
    >>> frame_of(pa.table({"x": [1, None]})).dtypes.tolist()
    [Int64Dtype()]
    """
    plain = pa.schema(
        [
            field.with_type(field.type.value_type) if pa.types.is_dictionary(field.type) else field
            for field in table.schema
        ]
    )
    return table.cast(plain).to_pandas(types_mapper=_pandas_type, ignore_metadata=True)


def _pandas_type(kind: pa.DataType) -> pd.api.extensions.ExtensionDtype | None:
    if pa.types.is_decimal(kind) or pa.types.is_map(kind):
        return pd.ArrowDtype(kind)
    return _NULLABLE.get(kind)
