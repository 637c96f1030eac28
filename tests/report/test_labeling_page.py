"""The page on a labeled table, read as text; the browser's tests look at it."""

import base64
import hashlib
import json
import re
from dataclasses import replace
from html.parser import HTMLParser

import numpy as np
import pytest

from graphmargin.report.labeling_page import labeling_page
from graphmargin.report.summary import MemberSummary
from tests.report.changes import change


class Text(HTMLParser):
    """Collects the words of each section, and the text of scripts."""

    def __init__(self, page):
        super().__init__()
        self.open, self.words, self.scripts, self.tags = [], {}, [], []
        self.feed(page)

    def handle_starttag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))
        if tag == "section":
            self.open.append(dict(attributes)["id"])
        if tag == "script":
            self.scripts.append("")

    def handle_endtag(self, tag):
        if tag == "section":
            self.open.pop()

    def handle_data(self, data):
        if self.cdata_elem == "script":
            self.scripts[-1] += data
        elif self.cdata_elem is None:
            part = self.open[-1] if self.open else ""
            self.words.setdefault(part, []).extend(data.split())

    def section(self, name):
        return " ".join(self.words[name])


@pytest.fixture
def page(report):
    return labeling_page(report, table_path="out.csv", model_path="my model.graphmargin")


def test_the_head_has_the_main_results(page):
    text = Text(page).section("")
    assert "1,742 rows labeled from 55 labels" in text
    assert "about 96 % 88 % to 99.6 %" in text
    assert "53 of 55 held-out labels were right" in text
    assert "1,797 rows, 2.8 s." in text
    assert "75.0 % classes follow clusters" in text
    assert "Class 'eel' has 5 labels." in text


def test_sections_have_a_fixed_order(page):
    order = re.findall(r'<section id="(\w+)">', page)
    assert order == [
        *("classes", "quality", "graph", "coverage", "confidence", "path", "choice"),
        *("uncertain", "suspicious", "columns", "report", "use"),
    ]


def test_sections_show_the_report(page):
    text = Text(page)
    assert "cat 30 1,000 dog 20 700 eel 5 97" in text.section("classes")
    quality = text.section("quality")
    assert "balanced accuracy, is 91 %" in quality
    assert "eel 92 80 % 40 % to 97 % 90 % 50 % to 99 %" in quality
    assert "threshold of 0.2 would find about 100 rows of the class, 93 % of them all" in quality
    assert "0.05 0 0 - -" in quality
    coverage = text.section("coverage")
    assert "Of the surest 60 % of the rows, about 99 % are right." in coverage
    assert "--min-confidence 0.961" in coverage
    assert "60.0 % 0.961 99.4 % 90 % to 99.9 % 35" in coverage
    assert "24 of 1,797 rows; on a circle" in text.section("graph")
    assert "supervised 80.0 % - 0.0 % 25.0 %" in text.section("path")
    assert "3 combinations of parameters" in text.section("choice")
    assert "Supervised learning has 25.0 % of the weight" in text.section("choice")
    assert "supervised 1 25.0 % -" in text.section("choice")
    assert "1,234 dog cat 2 % 31 cm" in text.section("uncertain")
    assert "7 eel dog 93 % long ... long and smooth" in text.section("suspicious")
    assert "1 of 55 held-out labels looks wrong." in text.section("suspicious")
    assert "Numbers are divided by their spread." in text.section("columns")
    assert "number size, weight 2 category coat 4 left out id 0" in text.section("columns")
    assert "graph: 1,797 points" in text.section("report")
    commands = text.section("use")
    assert "graphmargin predict 'my model.graphmargin' new.csv --out labeled.csv" in commands
    assert 'model = gm.load_model("my model.graphmargin")' in commands


def test_bars_have_the_length_of_shares(page):
    # The widest share is 1000 / 1797 of the cats; the labels' share of cats is 30 / 55.
    rows = re.findall(r'<td class="track">(.*?)</td>', page, re.DOTALL)
    widths = [[float(w) for w in re.findall(r"width:([\d.]+)%", row)] for row in rows]
    assert widths[0] == [pytest.approx(100 * (30 / 55) / (1000 / 1797), abs=0.005), 100.0]
    assert widths[2][1] == pytest.approx(9.7)


def test_map_data_are_in_the_order_of_the_points(page, report):
    parser = Text(page)
    data = json.loads(parser.scripts[0])
    points = [attributes for tag, attributes in parser.tags if "p" in _classes(tag, attributes)]
    assert len(points) == len(data["points"]) == 24
    for attributes, (row, code, _, is_given, cells) in zip(points, data["points"], strict=True):
        i = report.map.rows.index(row)
        assert float(attributes["x"]) == pytest.approx(16 + 768 * report.map.x[i], abs=0.06)
        assert float(attributes["y"]) == pytest.approx(624 - 608 * report.map.y[i], abs=0.06)
        assert f"k{code}" in attributes["class"].split()
        assert ("given" in attributes["class"].split()) == is_given == report.map.is_given[i]
        assert dict(zip(data["columns"], cells, strict=True)) == report.map.cells[i]
    rows = [point[0] for point in data["points"]]
    assert sorted(tuple(sorted((rows[a], rows[b]))) for a, b in data["edges"]) == [
        (row, row + 1) for row in range(101, 124)
    ]


def test_missing_parts_become_sentences(report):
    notes = ("least_certain", "suspicious_labels")
    lists = ("columns", "candidates", "graph_lines", "warnings")
    empty = change(
        report,
        **dict.fromkeys((*notes, *lists), ()),
        **{"estimate": None, "path": {}, "map": None},
        **{"surest": None, "coverage": None, "thresholds": ()},
        histogram=(0, 0),
    )
    page = labeling_page(empty, table_path=None, model_path=None)
    text = Text(page)
    assert "Unknown No label could be held out" in text.section("")
    assert "<b>Warnings</b>" not in page
    assert "The labeled table is in" not in page
    for name in ("quality", "graph", "coverage", "confidence", "path", "choice", "uncertain"):
        assert text.section(name).endswith(".")
    for name in ("suspicious", "columns"):
        assert text.section(name).endswith(".")
    assert "--model FILE" in text.section("use")
    assert text.scripts == []


def test_members_of_the_ensemble_have_a_section(report):
    members = (
        MemberSummary("cut", "classes follow clusters", 0.75, 0.96),
        MemberSummary("supervised", "a smooth boundary", 0.25, 0.9),
    )
    assumptions = {member.assumption: member.weight for member in members}
    shown = change(report, members=members, assumptions=assumptions)
    text = Text(labeling_page(shown, table_path=None, model_path=None))
    assert "75.0 % classes follow clusters 25.0 % a smooth boundary" in text.section("")
    text = text.section("members")
    assert "cut 75.0 % 96.0 % supervised 25.0 % 90.0 %" in text


def test_rows_that_are_left_empty_are_counted_and_not_labeled(report):
    less = change(report, min_confidence=0.95, n_left_empty=42, n_predicted=1700)
    text = Text(labeling_page(less, table_path=None, model_path=None)).section("")
    assert "1,700 rows labeled from 55 labels" in text
    assert "42 rows with a confidence below 0.95 got no label." in text
    text = Text(labeling_page(report, table_path=None, model_path=None)).section("")
    assert "got no label" not in text


def test_no_estimate_is_a_certainty(report):
    certain = np.ones(3)
    estimate = replace(
        report.summary.estimate,
        accuracy=1.0,
        interval=(0.0, 1.0),
        recall=certain,
        recall_interval=np.tile([0.0, 1.0], (3, 1)),
    )
    text = Text(labeling_page(change(report, estimate=estimate), table_path=None, model_path=None))
    assert "about 99.9 % 0.1 % to 99.9 %" in text.section("")
    assert "eel 92 99.9 % 0.1 % to 99.9 % 90 %" in text.section("quality")


def test_backticks_become_code(report):
    warning = "1 row cannot be reached: see `graphmargin suggest`, `a"
    page = labeling_page(
        change(report, warnings=(warning,), audit_note="Use `--threshold`."),
        table_path=None,
        model_path=None,
    )
    assert "reached: see <code>graphmargin suggest</code>, `a</li>" in page
    assert "Use <code>--threshold</code>." in page


def test_if_all_rows_are_sure_no_threshold_is_told(report):
    surest = replace(report.summary.surest, share=1.0)
    page = labeling_page(change(report, surest=surest), table_path=None, model_path=None)
    coverage = Text(page).section("coverage")
    assert "Of all rows, about 99.4 % are right." in coverage
    assert "--min-confidence" not in coverage


def test_the_page_says_why_labels_were_not_audited(report):
    reason = "The graph does not help, so it cannot tell which labels look wrong."
    unaudited = change(report, suspicious_labels=None, audit_note=reason)
    page = labeling_page(unaudited, table_path=None, model_path=None)
    assert reason in Text(page).section("suspicious")


def test_no_text_of_the_table_becomes_markup(hostile):
    report, text = hostile
    page = labeling_page(report, table_path=text, model_path=text)
    parser = Text(page)
    assert "img" not in {tag for tag, _ in parser.tags}
    assert page.count("</script>") == 2
    assert not [name for _, attrs in parser.tags for name in attrs if name.startswith("on")]
    assert "{{ 7 * 7 }}" in page
    assert json.loads(parser.scripts[0])["classes"][0] == text
    assert not set("<>&\u2028") & set(parser.scripts[0])


def test_the_policy_allows_this_script_and_no_other(page):
    parser = Text(page)
    digest = base64.b64encode(hashlib.sha256(parser.scripts[1].encode()).digest()).decode()
    policy = next(attrs["content"] for _, attrs in parser.tags if "http-equiv" in attrs)
    assert f"script-src 'sha256-{digest}';" in policy
    assert policy.startswith("default-src 'none';")


def test_the_page_loads_no_other_file(page):
    addresses = [
        attrs[name] for _, attrs in Text(page).tags for name in ("src", "href") if name in attrs
    ]
    assert all(address.startswith("#") or address == "data:," for address in addresses)
    assert "http" not in page.replace("http-equiv", "")
    assert "url(" not in page


def test_two_thousand_points_stay_below_a_megabyte(report, make_map):
    cells = {f"column {i}": "a value, shortened" for i in range(6)}
    large = make_map(2000, 3, cells)
    large = replace(
        large, edges=tuple((i, (7 * i + k) % 2000) for i in range(2000) for k in range(4))
    )
    page = labeling_page(change(report, map=large), table_path=None, model_path=None)
    assert len(page.encode()) < 10**6


def test_singular_and_plural_follow_the_numbers(report):
    def shown(**changes):
        return Text(labeling_page(change(report, **changes), table_path=None, model_path=None))

    first, *_ = report.summary.candidates
    assert "1 row labeled from 1 label " in shown(n_predicted=1, n_labels=1).section("")
    single = shown(candidates=(first,)).section("choice")
    assert "one has a weight in the blend" in single
    many = shown(candidates=(replace(first, weight=0.05),) * 20).section("choice")
    assert "12 more have 60.0 % of the weight together." in many


def _classes(tag, attributes):
    return attributes.get("class", "").split() if tag == "use" else []
