import os
from dataclasses import dataclass, replace
from typing import ClassVar

import pytest
from joblib.externals.loky import get_reusable_executor

from graphmargin._progress import progress_listener
from reproduction.records import NotARecordsFileError, Record, read_csv, write_csv
from reproduction.runner import run_settings

SETTINGS = [("b", 0), ("a", 0), ("b", 1)]
POWERS = {(1,): None, (2,): None}


@dataclass(frozen=True)
class Power(Record):
    setting_fields: ClassVar = ("name", "draw")
    part_fields: ClassVar = ("power",)

    name: str
    draw: int
    power: int
    value: float
    root: float | None = None


RECORDS = [
    Power("a, \N{GREEK SMALL LETTER GAMMA}", 0, 1, 1 / 3, None),
    Power('"', 2**40, 2, float("inf"), 5e-324),
]


def compute(setting, parts):
    name, draw = setting
    return [Power(name, draw, power, ((ord(name) + draw) / 7) ** power) for (power,) in parts]


@pytest.fixture
def counted():
    """Return a function that computes, and the list of what it has computed."""
    calls = []

    def count(setting, parts):
        calls.extend((*setting, *part) for part in parts)
        return compute(setting, parts)

    return count, calls


def test_records_are_read_as_they_were_written(tmp_path):
    write_csv(tmp_path / "a.csv", RECORDS)
    assert read_csv(tmp_path / "a.csv", Power) == RECORDS


def test_records_are_in_the_order_of_settings_and_parts():
    records = run_settings(Power, SETTINGS, POWERS, compute)
    assert [(record.setting, record.part) for record in records] == [
        (setting, part) for setting in SETTINGS for part in POWERS
    ]


def test_finished_settings_are_not_computed_again(tmp_path, counted):
    count, calls = counted
    out = tmp_path / "new" / "powers.csv"
    first = run_settings(Power, SETTINGS[:2], POWERS, count, out=out)
    assert len(calls) == 4
    assert run_settings(Power, SETTINGS[:2], POWERS, count, out=out) == first
    assert len(calls) == 4
    more = run_settings(Power, SETTINGS, {**POWERS, (3,): None}, count, out=out)
    assert [record for record in more if record.draw == 0 and record.power < 3] == first
    assert calls[4:] == [("b", 0, 3), ("a", 0, 3), ("b", 1, 1), ("b", 1, 2), ("b", 1, 3)]


@pytest.mark.parametrize("share", [0.05, 0.5, 0.95])
def test_an_interrupted_run_continues_to_the_same_records(tmp_path, counted, share):
    out = tmp_path / "powers.csv"
    records = run_settings(Power, SETTINGS, POWERS, compute, out=out)
    whole = out.read_bytes()
    os.truncate(out, int(share * len(whole)))
    assert not out.read_bytes().endswith(b"\n")
    count, calls = counted
    assert run_settings(Power, SETTINGS, POWERS, count, out=out) == records
    assert sorted(out.read_bytes().splitlines()) == sorted(whole.splitlines())
    assert 0 < len(calls) <= 6


@pytest.mark.slow_reproduction
def test_processes_return_the_records_of_one(tmp_path):
    """A class of this file is not known to other processes, one of a package is."""
    from reproduction.pairs.run import PairRecord, run_pair_setting, with_kernels

    settings = [("digits", "0-1", 5, draw, "random", "raw", "scaled") for draw in range(2)]
    run = (PairRecord, settings, with_kernels(["SVM"], ["rbf"]), run_pair_setting)
    alone, together = run_settings(*run), run_settings(*run, n_jobs=2, out=tmp_path / "pairs.csv")
    get_reusable_executor().shutdown(wait=True)  # no idle process stays for the tests to come
    assert [replace(record, seconds=0.0) for record in alone] == [
        replace(record, seconds=0.0) for record in together
    ]


def test_progress_is_reported_setting_by_setting():
    reports = []
    with progress_listener(lambda _: lambda *report: reports.append(report)):
        run_settings(Power, SETTINGS[:2], POWERS, compute, stage="powers")
    assert reports[1:-1] == [(0.5, "b, 0"), (1.0, "a, 0")]


@pytest.mark.parametrize(
    "content",
    [
        b"a,b\n1,2\n",
        b"\x00\xa1garbage\n",
        b"name,draw,power,value,root\na,four,1,0,\n",
        b"name,draw,power,value,root\na,4,1\n",
    ],
    ids=["other columns", "no text", "no number", "short line"],
)
def test_a_file_without_records_is_named_and_not_changed(tmp_path, content):
    out = tmp_path / "other.csv"
    out.write_bytes(content)
    with pytest.raises(NotARecordsFileError, match=r"other\.csv must be a file of records"):
        run_settings(Power, SETTINGS, POWERS, compute, out=out)
    assert out.read_bytes() == content
