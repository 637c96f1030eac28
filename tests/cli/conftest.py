"""Files to run commands on, and what is expected of all commands that refuse something."""

import pytest

from graphmargin.cli import main


@pytest.fixture
def table_file(tmp_path, mixed_table):
    """Return a CSV file of 150 rows, 15 of which have a label in "kind"."""
    table, _ = mixed_table()
    path = tmp_path / "pets.csv"
    table.to_csv(path, index=False)
    return path


@pytest.fixture
def refused(capsys, tmp_path):
    """Return a function that runs a command and checks: exit code 2, one line, nothing written."""

    def check(*argv, code=2):
        before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
        capsys.readouterr()
        assert main([str(word) for word in argv]) == code
        output = capsys.readouterr()
        assert output.out == ""
        (line,) = output.err.splitlines()
        assert line.startswith("graphmargin")
        assert "Traceback" not in line
        after = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
        assert after == before
        return line

    return check
