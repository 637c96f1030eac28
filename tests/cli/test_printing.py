import pytest
from rich.console import Console

from graphmargin.cli import printing


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
def test_numbers_stay_whole_and_text_is_there_on_a_narrow_terminal(width, printed):
    lines = printed(width, HEADER, ROWS, n_needed=3)
    assert max(map(len, lines)) <= width
    text = " ".join(" ".join(lines).split())
    for word in ("1,057", "1.65", "between", "clusters"):
        assert word in text


def test_numbers_are_on_the_right(printed):
    lines = printed(80, ["size", "kind"], [("-1.5", "cat"), ("10.25", "dog")])
    assert lines[-2:] == ["  -1.5   cat", " 10.25   dog"]
