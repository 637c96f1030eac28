import json

import numpy as np
import pytest

from benchmarks import session
from benchmarks.suites import AT_ZERO, PATH, SEPARATE, Case, Suite


@pytest.fixture
def small_suite(monkeypatch, tmp_path):
    """Three systems: the reference, one that agrees by half, one that fails."""
    systems = (SEPARATE, PATH, AT_ZERO)
    suite = Suite("small", tuple(Case("p", s) for s in systems), AT_ZERO, SEPARATE)
    calls = []

    def in_own_process(case, seed, *, save, **_):
        calls.append((case.system, seed))
        if case.system == AT_ZERO:
            return {"failure": "killed by SIGKILL"}
        np.save(save, [0, 1] if case.system == SEPARATE else [0, 2])
        return {"wall": 1.0}

    monkeypatch.setattr(session, "SUITES", {"small": suite})
    monkeypatch.setattr(session, "RESULTS", tmp_path)
    monkeypatch.setattr(session, "in_own_process", in_own_process)
    return tmp_path / "small.json", calls


def test_systems_take_turns_and_failures_are_not_repeated(small_suite):
    file, calls = small_suite
    results = session.run_suite("small", repeats=2, timeout=1.0)
    assert calls == [(SEPARATE, 0), (PATH, 0), (AT_ZERO, 0), (SEPARATE, 1), (PATH, 1)]
    assert json.loads(file.read_text()) == results
    assert [result.get("agreement") for result in results] == [None, 0.5, None, None, 0.5]
    assert results[2]["failure"] == "killed by SIGKILL"
    assert results[0]["session"]["versions"]["numpy"] == np.__version__


def test_a_part_of_the_rows_is_not_stored(small_suite):
    file, _ = small_suite
    session.run_suite("small", repeats=1, timeout=1.0, rows=100)
    assert not file.exists()
