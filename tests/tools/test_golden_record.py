import numpy as np
import pytest

import golden_record

RECORD = {
    "labels": np.array(["a", "b", "b"]),
    "mask": np.array([True, False]),
    "values": np.array([[1.0, -20.0], [np.nan, np.inf]]),
    "error": np.array(0.25),
    "none": np.empty((0, 3)),
}


@pytest.fixture
def compare(tmp_path, capsys):
    """Return a function that compares files with changed entries: exit status and lines."""

    def run(**changes):
        changed = {name: new for name, new in (RECORD | changes).items() if new is not None}
        np.savez(tmp_path / "old.npz", **RECORD)
        np.savez(tmp_path / "new.npz", **changed)
        files = [str(tmp_path / name) for name in ("old.npz", "new.npz")]
        status = golden_record.main(["compare", *files])
        return status, capsys.readouterr().out.splitlines()

    return run


@pytest.mark.parametrize("factor", [1.0, 1 + 1e-10])
def test_records_are_equal_up_to_rounding(compare, factor):
    assert compare(values=RECORD["values"] * factor) == (0, ["5 equal"])


@pytest.mark.parametrize(
    ("changes", "line"),
    [
        ({"labels": np.array(["a", "c", "a"])}, "differs: labels (3,): 2 of 3 differ"),
        ({"labels": np.array([0, 1, 1])}, "differs: labels <U1 (3,) became int64 (3,)"),
        ({"mask": np.ones(1, dtype=bool)}, "differs: mask bool (2,) became bool (1,)"),
        (
            {"values": RECORD["values"] + 2},
            "differs: values (2, 2): absolute 2, relative 0.1",
        ),
        (
            {"values": RECORD["values"] * (1 + 1e-7)},
            "small: values (2, 2): absolute 2e-06, relative 1e-07",
        ),
        (
            {"values": np.nan_to_num(RECORD["values"], nan=0.0, posinf=np.inf)},
            "differs: values (2, 2): absolute inf, relative inf",
        ),
        ({"error": np.array(0.5)}, "differs: error (): absolute 0.25, relative 0.5"),
        ({"error": None}, "missing in the new record: error"),
    ],
)
def test_a_difference_is_a_line_and_a_failure(compare, changes, line):
    status = line.partition(":")[0]
    assert compare(**changes) == (1, [line, *_closing({"equal": 4, status: 1})])


def test_an_entry_may_be_missing_in_the_old_record(compare):
    line = "missing in the old record: more"
    assert compare(more=np.ones(2)) == (1, [line, "5 equal, 1 missing in the old record"])


def test_a_record_without_a_common_entry_is_a_failure(compare):
    status, lines = compare(**dict.fromkeys(RECORD))
    assert (status, lines[-1]) == (1, "5 missing in the new record")


def test_every_case_has_a_name_of_its_own():
    names = [golden_record.case_name(*case) for case in golden_record.CASES]
    assert len(set(names)) == len(names)


def _closing(counts):
    return [", ".join(f"{count} {status}" for status, count in sorted(counts.items()))]
