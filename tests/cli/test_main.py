import subprocess
import sys
from importlib.metadata import entry_points

import pytest

import graphmargin
from graphmargin.cli import main


def test_the_script_is_main():
    (script,) = entry_points(group="console_scripts", name="graphmargin")
    assert script.load() is main


def test_version(capsys):
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"graphmargin {graphmargin.__version__}\n"


@pytest.mark.parametrize("argv", [[], ["--help"], ["-h"]])
def test_help_lists_the_commands(argv, capsys):
    assert main(argv) == 0
    assert "reproduce" in capsys.readouterr().out


def test_an_unknown_command_is_one_line(capsys):
    assert main(["reprodce"]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err == "graphmargin: No such command 'reprodce'. Did you mean 'reproduce'?\n"


@pytest.mark.parametrize("package", ["typer", "rich"])
def test_without_the_extra_one_line_names_it(package, monkeypatch, capsys):
    for name in [name for name in sys.modules if name.startswith("graphmargin.cli.")]:
        monkeypatch.delitem(sys.modules, name)
    for name in [name for name in sys.modules if name.partition(".")[0] == package]:
        monkeypatch.setitem(sys.modules, name, None)
    assert main(["--version"]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.endswith('; pip install "graphmargin[cli]"\n')
    assert len(said.err.splitlines()) == 1


def test_python_m_graphmargin():
    done = subprocess.run(
        [sys.executable, "-m", "graphmargin", "reproduce", "figure0"],
        check=False,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 2
    assert done.stderr.startswith("graphmargin: NAME must be one of figure1, ")
    assert len(done.stderr.splitlines()) == 1
