import subprocess

import pytest

import fuzz


@pytest.fixture
def rounds(monkeypatch):
    """Let every round find the same; return the seeds that were tried."""
    tried = []

    def fake(code, said):
        def run_round(seed):
            tried.append(seed)
            return subprocess.CompletedProcess([], code, said, "")

        monkeypatch.setattr(fuzz, "run_round", run_round)
        monkeypatch.setattr("sys.argv", ["fuzz.py", "--minutes", "0.0001", "--jobs", "2"])
        return tried

    return fake


def test_cases_of_all_rounds_are_added_up(rounds, capsys):
    tried = rounds(0, "..\ncases of far rows: 250\ncases of graphs: 30\n5 passed")
    assert fuzz.main() == 0
    assert tried == list(range(len(tried)))
    said = capsys.readouterr().out
    assert f"no finding in {280 * len(tried):,} cases" in said


def test_a_finding_ends_the_run_and_can_be_repeated(rounds, capsys):
    rounds(1, "cases of graphs: 3\nFAILED")
    assert fuzz.main() == 1
    said = capsys.readouterr().out
    assert "FAILED" in said
    assert f"found with: {' '.join(fuzz.command(0))}" in said


def test_commands_are_killed_in_the_first_round_only():
    assert not any("deselect" in word for word in fuzz.command(0))
    assert any("test_killed" in word for word in fuzz.command(1))
