import base64
import re
from html.parser import HTMLParser

import pytest

from graphmargin.experiments.paper.claims import Claim
from graphmargin.report.page import Chapter, anchor, markdown_table, page_html, page_markdown
from graphmargin.report.section import Section

PNG = b"\x89PNG not really"
CLAIMS = (
    Claim("The cut wins", "36 of 36", "30 | 36", holds=False),
    Claim("a < b", "yes", "1", holds=True),
    Claim("Many draws", "50", "2", holds=None),
)
FIGURE = Section(
    "Figure 1: (a)",
    "![two lattices](images/figure1.png)\n\n<script>alert(1)</script> and 1 < 2\n\n"
    "| method | error |\n|---|---|\n| SVM | 1.5 |\n| GC | - |\n",
    claims=CLAIMS,
)
COMMAND = "graphmargin reproduce figure1 --quick"
CHAPTER = Chapter(FIGURE, COMMAND, "2026-01-01", 3.0, ("abc", "def"), ("numpy 2.0",))
OTHER = Chapter(Section("Table", "Text."), "graphmargin reproduce table", "", 1.0, ("abc",), ())
VOID = {"meta", "img", "br", "hr", "link", "input"}


class Parsed(HTMLParser):
    """Elements with their attributes, and whether all of them are closed in order."""

    def __init__(self, text):
        super().__init__()
        self.elements, self.texts, self._open = [], [], []
        self.feed(text)
        self.close()
        assert self._open == []

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self._open.append(tag)

    def handle_endtag(self, tag):
        assert tag in VOID or self._open.pop() == tag

    def handle_data(self, data):
        self.texts.append(data)

    def all(self, tag):
        return [attributes for name, attributes in self.elements if name == tag]


@pytest.fixture(scope="module")
def html():
    return page_html(page_markdown([CHAPTER, OTHER]), {"images/figure1.png": PNG})


def test_claims_come_before_how_to_repeat_and_sections():
    text = page_markdown([CHAPTER, OTHER])
    headings = re.findall(r"^## (.+)$", text, flags=re.MULTILINE)
    assert headings == ["Claims", "How to repeat it", "Figure 1: (a)", "Table"]
    assert "| claim | published | ours | holds? |" in text
    assert r"| The cut wins | 36 of 36 | 30 \| 36 | no |" in text
    assert "1 of 2 statements hold." in text
    assert "1 could not be tried" in text


def test_how_to_repeat_names_command_commits_date_and_versions():
    text = page_markdown([CHAPTER])
    row = f"| [Figure 1: (a)](#figure-1-a) | `{COMMAND}` | 2026-01-01 | 3.0 | abc, def |"
    assert row in text
    assert f"\n{COMMAND}\n" in text
    assert "Versions: numpy 2.0." in text


def test_a_page_of_nothing():
    assert "None was tried yet." in page_markdown([])


def test_html_is_well_formed_and_self_contained(html):
    page = Parsed(html)
    assert page.all("img") == [
        {
            "src": f"data:image/png;base64,{base64.b64encode(PNG).decode()}",
            "alt": "two lattices",
        }
    ]
    assert not page.all("script")
    assert not page.all("link")
    assert "url(" not in html
    assert "@import" not in html
    assert not re.search(r'(src|href)="http', html)


def test_html_of_sections_is_text(html):
    assert "&lt;script&gt;alert(1)&lt;/script&gt; and 1 &lt; 2" in html
    assert "a &lt; b" in html


def test_verdicts_are_words_and_classes(html):
    for verdict, name in [("yes", "yes"), ("no", "no"), ("not tried", "untried")]:
        assert f'<td class="{name}">{verdict}</td>' in html
        assert f".{name} {{ color:" in html
    assert "<td>yes</td>" in html  # what was published is no verdict


def test_numbers_are_on_the_right_also_their_header(html):
    assert '<th class="number">error</th>' in html
    assert '<td class="number">1.5</td>' in html
    assert "<th>method</th>" in html
    assert html.count('<div class="scroll"><table>') == html.count("<table>") == 3


def test_links_to_sections_have_targets(html):
    page = Parsed(html)
    names = {attributes.get("id") for _, attributes in page.elements}
    targets = {attributes["href"] for attributes in page.all("a")}
    assert targets == {"#figure-1-a", "#table"}
    assert all(target[1:] in names for target in targets)


def test_light_and_dark_and_phones(html):
    assert "prefers-color-scheme: dark" in html
    assert ("meta", {"name": "color-scheme", "content": "light dark"}) in Parsed(html).elements
    assert 'name="viewport"' in html


def test_of_a_picture_that_is_elsewhere_only_the_description_is_shown():
    page = Parsed(page_html("![a <b> plot](http://example.org/a.png)", {}))
    assert not page.all("img")
    assert "a <b> plot" in "".join(page.texts)


@pytest.mark.parametrize("text", ["a|b", r"a\|b"])
def test_cells_of_tables_do_not_end_early(text):
    table = markdown_table(["p"], [[text], ["two\nlines"]])
    assert table.splitlines()[2:] == [r"| a\|b |", "| two lines |"]


def test_anchors_are_those_of_github():
    assert anchor("Table: SVM, MR & GC") == "table-svm-mr--gc"
