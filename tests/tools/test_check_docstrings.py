"""Tests of the check of docstrings."""

from __future__ import annotations

import pytest

from check_docstrings import fragments, main

GOOD = '''"""Tables of numbers."""

LIMIT = 3
"""Rows, at most, of a table."""


class Table:
    """A table."""

    rows: int
    """Number of its rows."""

    def first(self):
        """Return what comes first."""
        return "of course"
'''


@pytest.mark.parametrize(
    ("good", "bad", "line"),
    [
        ("Tables of numbers.", "What a table has.", 1),
        ("Rows, at most, of", "Of", 4),
        ("A table.", "Which table, and why.", 8),
        ("Number of its rows.", "For its rows.", 11),
        ("Return what comes first.", "Whether it is first.", 14),
    ],
)
def test_fragments_of_modules_classes_and_constants_are_found(tmp_path, capsys, good, bad, line):
    path = tmp_path / "table.py"
    path.write_text(GOOD)
    assert not list(fragments(path))
    assert main([str(tmp_path)]) == 0
    path.write_text(GOOD.replace(good, bad))
    (finding,) = fragments(path)
    assert finding.line == line
    assert main([str(tmp_path)]) == 1
    assert capsys.readouterr().out.startswith(f"{path}:{line}: ")
