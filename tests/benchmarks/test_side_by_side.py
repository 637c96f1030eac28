"""Tests of the comparison of two checkouts."""

from __future__ import annotations

from benchmarks.side_by_side import ratio_table
from benchmarks.suites import Case


def test_ratios_are_of_medians_and_a_failure_is_a_row() -> None:
    def runs(*walls: float) -> list[dict[str, float]]:
        return [{"wall": wall, "cpu": 2 * wall, "memory": 50.0, "error": 0.25} for wall in walls]

    fast, failed = Case("letter", "ours"), Case("letter", "rival", 7)
    table = ratio_table(
        {fast: (runs(1, 2, 9), runs(4, 4, 1)), failed: (runs(1), [{"failure": "no memory"}])}
    )
    assert table[1] == (
        ["letter", "ours", "5", "2.00", "0.50", "4.00", "0.50", "50.00", "1.00", "25.00%", "25.00%"]
    )
    assert table[2] == ["letter", "rival", "7", *[""] * 7, "no memory"]
    assert len({len(row) for row in table}) == 1
