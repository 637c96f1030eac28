"""Every example of the README and of the pages runs, and prints what the page says.

Blocks of a page share names and an empty folder. `python` blocks are run, as doctests if they have
prompts. `console` blocks are commands after "$ ", and what they print; "..." stands for anything.
`py` and `sh` blocks are shown only: they need a cluster, a file of the reader, or the internet.
"""

import doctest
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from graphmargin.cli import main
from reproduction.__main__ import main as reproduce

ROOT = Path(__file__).parents[2]
OURS = {"graphmargin ": main, "python -m reproduction ": reproduce}
PAGES = [*ROOT.glob("*.md"), ROOT / "docs/api.rst", *sorted((ROOT / "docs").glob("*.md"))]
BLOCK = re.compile(r"^```(python|console)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
COMMAND = re.compile(r"^\$ (.*(?:\n> .*)*)\n((?:(?!\$ ).*\n)*)", re.MULTILINE)
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


def blocks_of(page):
    text = page.read_text()
    if page.suffix == ".rst":
        return [("python", text, 0)]
    return [
        (match[1], match[2], text.count("\n", 0, match.end(1))) for match in BLOCK.finditer(text)
    ]


@pytest.mark.parametrize(
    "page", [page for page in PAGES if blocks_of(page)], ids=lambda page: page.name
)
def test_examples_print_what_the_page_says(page, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MPLBACKEND", "Agg")
    monkeypatch.setenv("COLUMNS", "100")
    names = {"__name__": "__page__"}
    for kind, code, line in blocks_of(page):
        if kind == "console":
            run_commands(code, f"{page.name}:{line}", capsys)
        elif ">>> " in code:
            run_doctest(code, names, page, line)
        else:
            exec(compile("\n" * line + code, str(page), "exec"), names)


def run_doctest(code, names, page, line):
    test = doctest.DocTestParser().get_doctest(code, names, page.name, str(page), line)
    said = []
    doctest.DocTestRunner(optionflags=FLAGS).run(test, out=said.append, clear_globs=False)
    assert not said, "".join(said)
    names.update(test.globs)


def run_commands(code, place, capsys):
    commands = COMMAND.findall(code)
    assert commands, f"{place}: a console block needs a line '$ command'"
    for command, expected in commands:
        status, printed = result_of(command.replace("\n> ", "\n"), capsys)
        same = doctest.OutputChecker().check_output(expected, printed, FLAGS)
        assert same, f"{place}: $ {command}\nthe page says\n{expected}\nbut it printed\n{printed}"
        assert status == 0, f"{place}: $ {command}\nended with {status}"


def result_of(command, capsys):
    """Return the exit code, and what is printed. Ours run here: each import takes 3 seconds."""
    capsys.readouterr()
    for name, run in OURS.items():
        if command.startswith(name) and not set(command) & set("|&;<>$*"):
            return run(shlex.split(command.removeprefix(name))), "".join(capsys.readouterr())
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", "-c", command],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
        env={**os.environ, "PATH": path},
    )
    return done.returncode, done.stdout


def test_a_wrong_output_is_found(capsys):
    for command in ("echo one", "graphmargin --version"):
        with pytest.raises(AssertionError, match="but it printed"):
            run_commands(f"$ {command}\ntwo\n", "here", capsys)
    with pytest.raises(AssertionError, match="ended with 1"):
        run_commands("$ false\n", "here", capsys)
    with pytest.raises(AssertionError, match="Expected"):
        run_doctest(">>> 1 + 1\n3\n", {}, Path("page.md"), 1)
