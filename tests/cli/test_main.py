import os
import signal
import subprocess
import sys
from importlib.metadata import entry_points
from pathlib import Path

import pytest

from graphmargin import __version__
from graphmargin.__main__ import command
from graphmargin.cli import main


def python(*words):
    return subprocess.run([sys.executable, *words], check=False, capture_output=True, text=True)


def test_the_script_calls_main():
    (script,) = entry_points(group="console_scripts", name="graphmargin")
    assert script.load() is command
    assert python("-m", "graphmargin", "--version").stdout == f"graphmargin {__version__}\n"


def test_the_version_is_printed(capsys):
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"graphmargin {__version__}\n"


class _SignalAtImport:
    def __init__(self, number):
        self.number = number

    def find_spec(self, *_):
        signal.raise_signal(self.number)


@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)]
)
def test_a_signal_while_modules_are_imported_is_an_interruption(number, code, capsys, monkeypatch):
    monkeypatch.delitem(sys.modules, "graphmargin.cli.app", raising=False)
    monkeypatch.setattr(sys, "meta_path", [_SignalAtImport(number), *sys.meta_path])
    assert main(["--version"]) == code
    captured = capsys.readouterr()
    assert (captured.out, captured.err.count("\n")) == ("", 1)
    assert captured.err.startswith("graphmargin: interrupted; ")


COMMANDS = ("label", "predict", "suggest", "explain", "audit", "fit", "info", "demo")


@pytest.mark.parametrize("argv", [[], ["--help"], ["-h"]])
def test_help_lists_the_commands(argv, capsys):
    assert main(argv) == 0
    output = capsys.readouterr().out
    assert [command for command in COMMANDS if f" {command} " not in output] == []


def test_an_unknown_command_prints_one_line(capsys):
    assert main(["sugest"]) == 2
    output = capsys.readouterr()
    assert output.out == ""
    assert output.err == "graphmargin: No such command 'sugest'. Did you mean 'suggest'?\n"


@pytest.mark.parametrize("package", ["typer", "rich"])
def test_without_the_extra_one_line_has_its_name(package):
    code = f"import sys; sys.modules[{package!r}] = None; from graphmargin.cli import main"
    done = python("-c", f"{code}; sys.exit(main(['--version']))")
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.endswith('; pip install "graphmargin[cli]"\n')
    assert len(done.stderr.splitlines()) == 1


HEAVY = (
    *("dask", "distributed", "joblib", "matplotlib", "numba", "numpy", "pandas", "pyarrow"),
    *("scipy", "sklearn"),
)


@pytest.mark.parametrize("argv", [["--help"], ["--version"], ["label", "--help"]], ids=" ".join)
def test_help_imports_nothing_that_computes(argv):
    code = (
        f"import sys; from graphmargin.cli import main; main({argv}); "
        f"print([name for name in {HEAVY} if name in sys.modules], file=sys.stderr)"
    )
    assert python("-c", code).stderr == "[]\n"


def test_label_imports_no_scikit_learn(tmp_path):
    table = tmp_path / "pets.csv"
    table.write_text("size,kind\n1.5,cat\n1.25,\n9.5,dog\n9.25,\n")
    code = (
        f"import sys; from graphmargin.cli import main; main(['label', '{table}', '-t', 'kind']); "
        "print([name for name in ('dask', 'matplotlib', 'sklearn') if name in sys.modules])"
    )
    assert python("-c", code).stdout.endswith("[]\n")


@pytest.mark.parametrize("name", COMMANDS)
def test_help_of_every_command_has_examples(name, capsys):
    assert main([name, "--help"]) == 0
    output = capsys.readouterr().out
    assert "Examples:" in output
    assert output.count(f"graphmargin {name}") >= 3


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_shell_completion_is_printed(shell, capsys):
    assert main(["--show-completion", shell]) == 0
    assert "_GRAPHMARGIN_COMPLETE" in capsys.readouterr().out


def test_python_m_graphmargin_runs_commands():
    done = python("-m", "graphmargin", "info", "no-such-file.csv")
    assert done.returncode == 2
    assert "no-such-file.csv" in done.stderr
    assert len(done.stderr.splitlines()) == 1


@pytest.mark.parametrize("options", [[], ["--json"]], ids=["text", "json"])
def test_characters_that_the_encoding_lacks_are_escaped(options, tmp_path):
    path = tmp_path / "größe.csv"
    path.write_text("size,größe\n1.5,klein\n2.5,groß\n3.5,\n4.5,groß\n", encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-m", "graphmargin", "info", str(path), "-t", "größe", *options],
        check=False,
        capture_output=True,
        env={**os.environ, "PYTHONIOENCODING": "ascii"},
    )
    assert done.returncode == 0, done.stderr
    assert rb"gro\xdf" in done.stdout


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="the system has no full device")
def test_a_full_standard_output_prints_one_line(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("size,kind\n1.5,a\n2.5,b\n")
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "graphmargin", "info", str(path)],
            check=False,
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
        )
    assert done.returncode in (2, 120)  # 120 is Python's own, if it cannot write at its end
    assert "standard output: No space left on device" in done.stderr
