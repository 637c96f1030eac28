import io
import json

import numpy as np
import pandas as pd
import pytest
from rich.console import Console

from graphmargin.cli import main, printing, progress


@pytest.fixture
def printed(monkeypatch, capsys):
    """Return a function that returns the lines of a table on a terminal of some width."""

    def lines(width, *table, **options):
        monkeypatch.setattr(printing, "console", lambda: Console(width=width, no_color=True))
        printing.print_table(*table, **options)
        return [line.rstrip() for line in capsys.readouterr().out.splitlines() if line.strip()]

    return lines


HEADER = ["row", "errors saved", "why", "text", "city"]
ROWS = [("1,057", "1.65", "between two clusters", "a text of a few words", "here")]


def test_columns_that_do_not_fit_are_left_out(printed):
    assert printed(200, HEADER, ROWS)[0].split() == " ".join(HEADER).split()
    header, _, line = printed(60, HEADER, ROWS, n_needed=3)
    assert header.split() == ["row", "errors", "saved", "why"]
    assert line.split() == ["1,057", "1.65", "between", "two", "clusters"]


@pytest.mark.parametrize("width", [30, 40])
def test_a_narrow_terminal_wraps_text_and_not_numbers(width, printed):
    lines = printed(width, HEADER, ROWS, n_needed=3)
    assert max(map(len, lines)) <= width
    text = " ".join(" ".join(lines).split())
    for word in ("1,057", "1.65", "between", "clusters"):
        assert word in text


def test_wrapped_lines_of_a_summary_stay_in_their_column(monkeypatch, capsys, table_file):
    monkeypatch.setattr(printing, "console", lambda: Console(width=50, no_color=True))
    assert main(["label", str(table_file), "-t", "kind"]) == 0
    lines = capsys.readouterr().out.splitlines()
    start = next(i for i, line in enumerate(lines) if line.startswith("accuracy  about "))
    assert lines[start + 1].startswith(" " * 10)
    assert lines[start + 1][10] != " "
    assert max(map(len, lines)) <= 50


def test_numbers_are_aligned_on_the_right(printed):
    lines = printed(80, ["size", "kind"], [("-1.5", "cat"), ("10.25", "dog")])
    assert lines[-2:] == ["  -1.5   cat", " 10.25   dog"]


HOSTILE = "cat\x1b]0;pwned\x07\x9b31m\u202egnp.\r\n\ud800"
"""A name that sets the title of a terminal, its color and its direction of writing."""


def assert_harmless(text):
    assert all(sign.isprintable() or sign == "\n" for sign in text), repr(text)


def test_control_characters_are_escaped(capsys):
    printing.print_table([HOSTILE, "n"], [[HOSTILE, "1"]])
    printing.print_json({HOSTILE: [HOSTILE, "größe 😀"]})
    printing.console().print(printing.line(HOSTILE, (HOSTILE, "bold"), style="dim"))
    output = capsys.readouterr().out
    assert_harmless(output)
    assert output.count("pwned") == 6
    _, _, written = output.partition("{")
    written, _, _ = written.rpartition("}")
    assert json.loads(f"{{{written}}}") == {HOSTILE: [HOSTILE, "größe 😀"]}


def test_control_characters_in_progress_are_escaped(monkeypatch, capsys):
    monkeypatch.setattr(progress, "QUIET_SECONDS", 0.0)
    with progress.show_progress(quiet=False) as listener:
        listener(f"rows of {HOSTILE}")(1.0, HOSTILE)
    assert_harmless(capsys.readouterr().err)
    terminal = Console(force_terminal=True, file=io.StringIO(), width=200, color_system=None)
    with progress._bars(terminal) as bars:
        progress._add_bar(bars, f"[red]{HOSTILE}")(0.5, HOSTILE)
    output = terminal.file.getvalue()
    assert "\x1b]0;" not in output
    assert "\x9b" not in output
    assert "[red]cat" in output


@pytest.fixture
def hostile_files(tmp_path):
    """Return a table and a model whose columns and classes have escapes in their names."""
    rng = np.random.default_rng(0)
    group = np.arange(40) % 2
    names = np.array(["cat\x1b]0;pwned\x07", "dog\x9b31m\u202e"])
    table = pd.DataFrame({"a\x1b[31m": rng.normal(size=40) + 4 * group, "b": rng.normal(size=40)})
    table["kind\x1b[2J"] = np.where(np.arange(40) < 12, names[group], "")
    path = tmp_path / "pets\x1b[31m.csv"
    table.to_csv(path, index=False)
    return path, tmp_path / "model without an ending"


def test_commands_print_no_control_characters_of_a_table(hostile_files, capsys):
    table, model = map(str, hostile_files)
    target = ["-t", "kind\x1b[2J"]
    for argv in (
        ["label", table, *target, "--model", model],
        ["info", model],
        ["info", model, "--json"],
        ["info", table, *target],
        ["predict", model, table, "--out", f"{table}.tsv"],
        ["suggest", table, *target, "-n", "2"],
        ["audit", table, *target],
        ["explain", table, *target, "--row", "20"],
        ["explain", table, *target, "--row", "20", "--json"],
    ):
        assert main(argv) == 0, argv
        output = capsys.readouterr()
        assert_harmless(output.out)
        assert_harmless(output.err)
        assert "x1b" in output.out or "u001b" in output.out or argv[0] == "audit"
    for argv in (
        ["label", table, "-t", "kind\x1b"],
        ["label", f"{table}\x1b"],
        ["predict", table, table],
        ["predict", model, table, "--out", f"{table}\x1b"],
    ):
        assert main(argv) == 2
        assert_harmless(capsys.readouterr().err)


def test_info_recognizes_a_model_by_its_content(hostile_files, capsys):
    table, model = hostile_files
    assert main(["fit", str(table), "-t", "kind\x1b[2J", "--model", str(model), "-q"]) == 0
    for name in ("model", "model.skops", "model.csv", "model.xlsx"):
        renamed = model.with_name(name)
        renamed.write_bytes(model.read_bytes())
        assert main(["info", str(renamed)]) == 0
        assert capsys.readouterr().out.startswith("model ")
