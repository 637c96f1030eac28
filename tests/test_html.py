"""Notebooks show the texts that terminals show, and no text becomes markup."""

from html.parser import HTMLParser

import numpy as np
import pytest

from graphmargin import graph_report, harmonic_solution, suggest_labels
from graphmargin._html import html_table
from graphmargin.methods import Supervised
from graphmargin.search.member import Member
from graphmargin.search.weighing import choose, weigh
from tests.search.problems import trials_of

SCRIPT = "<script>alert('x')</script>"
TAGS = {"table", "caption", "thead", "tbody", "tr", "th", "td"}


class Table(HTMLParser):
    """The caption, the rows of cells and all tags of a table, which must be well-formed."""

    def __init__(self, html):
        super().__init__()
        self.caption, self.rows, self.tags, self.opened = "", [], set(), []
        self.feed(html)
        self.close()
        assert not self.opened

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        self.opened.append(tag)
        if tag == "tr":
            self.rows.append([])
        elif tag in ("th", "td"):
            self.rows[-1].append("")
        assert "color" not in str(attrs)

    def handle_endtag(self, tag):
        assert self.opened.pop() == tag

    def handle_data(self, data):
        if self.opened[-1] == "caption":
            self.caption += data
        else:
            self.rows[-1][-1] += data


def shown(result):
    """Return the table that a notebook shows, which has the tags of a table alone."""
    table = Table(result._repr_html_())
    assert table.tags <= TAGS | {"code"}
    return table


def solution_with_classes(first, second):
    """Return a solution on two cliques of four vertices and a vertex of its own."""
    W = np.zeros((9, 9))
    W[:4, :4] = W[4:8, 4:8] = 1
    W[3, 4] = W[4, 3] = 0.1
    y = [first, first, "", "", second, second, "", "", ""]
    return harmonic_solution(W, y, gamma_g=0.1)


def choice_among(params, n_held_out=4, member=None):
    """Return a choice in which the first candidate is always right, and the last one never."""
    codes = np.arange(n_held_out) % 2
    sides = np.where(codes, -1.0, 1.0)[:, None] * np.linspace(1, -1, len(params))[:, None, None]
    supervised = np.arange(len(params)) == len(params) - 1
    trials = trials_of(sides, codes, params=params, supervised=supervised)
    return choose(trials, np.array([2, 2]), member=member)


def lines_of(rows):
    """Return the lines of a printed choice from the rows of its table."""
    return [
        f"{name}: weight {weight}, {wrong} held-out labels are wrong"
        for name, weight, wrong in rows
    ]


@pytest.mark.parametrize("text", [SCRIPT, 'a "quoted" & <b>', "'", "ä\n"])
def test_every_text_is_escaped(text):
    table = Table(html_table(text, [(text, text)], header=(text, text)))
    assert (table.caption, table.rows) == (text, [[text, text], [text, text]])
    assert table.tags == TAGS


def test_a_table_may_have_no_header_or_no_rows():
    table = Table(html_table("nothing", []))
    assert (table.caption, table.rows) == ("nothing", [])


@pytest.mark.parametrize("name", ["cat", SCRIPT])
def test_graph_report_shows_the_lines_that_it_prints(name):
    report = graph_report(solution_with_classes(name, "dog"))
    table = shown(report)
    assert report.advice
    lines = [f"! {text}" if topic == "advice" else f"{topic}: {text}" for topic, text in table.rows]
    assert lines == str(report).replace("`", "").splitlines()  # backticks are markup
    assert table.caption == "graph report: not compared"


@pytest.mark.parametrize("name", ["cat", SCRIPT])
def test_suggestions_show_the_lines_that_they_print_and_their_gains(name):
    suggestions = suggest_labels(solution_with_classes(name, "dog"), 3)
    table = shown(suggestions)
    header, *rows = table.rows
    assert header == ["vertex", "errors saved", "why"]
    lines = [f"vertex {vertex}: {reason}" for vertex, _, reason in rows]
    assert [table.caption, *lines] == str(suggestions).splitlines()
    assert [gain for _, gain, _ in rows] == [f"{gain:.1f}" for gain in suggestions.gain]
    assert any(name in reason for _, _, reason in rows)


def test_choice_shows_the_lines_that_it_prints():
    params = [{"gamma_g": 0.1, "kernel": SCRIPT}, {"gamma_g": 1.0}, {"gamma_g": np.inf}]
    choice = choice_among(params)
    table = shown(choice)
    header, *rows = table.rows
    assert header == ["candidate", "weight", "wrong held-out labels"]
    assert [table.caption, *lines_of(rows)] == str(choice).splitlines()
    assert rows[0][0] == f"gamma_g=0.1, kernel={SCRIPT!r}"
    assert rows[0][2] == "0 of 4"
    assert [weight for _, weight, _ in rows] == [
        f"{choice.weights[i]:.1%}" for i, _ in choice.blended
    ]
    assert table.caption == (
        f"{choice.verdict} ({choice.reason}); {len(rows)} of 3 candidates are blended"
    )


def test_choice_among_members_shows_all_of_them_with_their_best_candidates():
    members = [Member(name, Supervised.auto(None, "linear")) for name in ("plane", SCRIPT)]
    choice = weigh([choice_among([{"C": 1.0}, {"C": 9.0}], member=member) for member in members])
    table = shown(choice)
    header, *rows = table.rows
    assert header == ["member", "weight", "wrong held-out labels"]
    assert [table.caption, *lines_of(rows)] == str(choice).splitlines()
    assert rows == [[f"{name} (C=1.0)", "50.0%", "0 of 4"] for name in ("plane", SCRIPT)]
    assert table.caption == choice.summary == "classes are separated by a plane: 100%"


def test_choice_without_held_out_labels_shows_that_none_was_wrong():
    table = shown(choice_among([{"C": 1.0}, {"C": 10.0}], n_held_out=0))
    assert table.caption.startswith("not compared (no label could be held out")
    assert {row[-1] for row in table.rows[1:]} == {"0 of 0"}


def test_text_between_backticks_is_code():
    text = html_table("", [("see", "`a<b>`, `c")])
    assert "<code>a&lt;b&gt;</code>, `c</td>" in text
