"""Handles: a record is read as it was written, in whole, some fields, some rows, or a part."""

from __future__ import annotations

import numpy as np
import pytest

from graphmargin._errors import InputError
from graphmargin.distributed.engine.handles import (
    Codes,
    Rows,
    SampledRows,
    StoredRows,
    StoredSolution,
    sort_by_receiver,
    take_rows,
)
from graphmargin.distributed.engine.storage import Folder

ROWS = Rows(np.arange(10.0).reshape(5, 2), np.array([2, 0, -1, 2, 1], dtype=np.int32))


@pytest.fixture
def folder(tmp_path):
    return Folder(str(tmp_path))


def assert_same(record, expected):
    for array, other in zip(record, expected, strict=True):
        assert array.dtype == other.dtype
        np.testing.assert_array_equal(array, other)


def test_a_record_is_read_as_a_whole_by_field_and_by_row(folder):
    stored = StoredRows(folder)
    stored.write(7, ROWS)
    assert_same(stored.read(7, Rows), ROWS)
    assert_same(stored.read(7, Codes), (ROWS.codes,))
    assert_same(stored.read(7, Rows, rows=np.array([1, 4])), take_rows(ROWS, [1, 4]))


def test_every_receiver_reads_its_part_of_all_records(folder):
    receiver = np.array([1, 0, 1, 2, 1])
    order, start = sort_by_receiver(receiver, 3)
    for number in range(2):
        StoredRows(folder).write(number, take_rows(ROWS, order), start=start)
    for part in range(3):
        expected = np.tile(ROWS.codes[receiver == part], 2)
        assert_same(StoredRows(folder).read_all(2, Codes, part=part), (expected,))


def test_records_of_different_kinds_have_different_folders(folder):
    SampledRows(folder).write(0, ROWS)
    assert_same(SampledRows(folder).read(0, Rows), ROWS)
    StoredSolution(folder, 0.1).write(0, ROWS)
    for other in (StoredRows(folder), StoredSolution(folder, 0.2)):
        with pytest.raises(InputError, match=r"000000\.pack is missing"):
            other.read(0, Codes)
