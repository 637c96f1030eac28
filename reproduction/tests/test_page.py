import base64
import re

import pytest

from reproduction.claims import Claim
from reproduction.page import Chapter, anchor, page_html, page_markdown
from reproduction.section import Section, markdown_table

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
COMMAND = "python -m reproduction figure1 --quick"
CHAPTERS = [
    Chapter(FIGURE, COMMAND, "2026-01-01", 3.0, ("abc", "def"), ("numpy 2.0",)),
    Chapter(Section("Table", "Text."), "python -m reproduction table", "", 1.0, ("abc",), ()),
]


@pytest.fixture(scope="module")
def html():
    return page_html(page_markdown(CHAPTERS), {"images/figure1.png": PNG})


def test_claims_come_before_how_to_repeat_and_sections():
    text = page_markdown(CHAPTERS)
    headings = re.findall(r"^## (.+)$", text, flags=re.MULTILINE)
    assert headings == ["Claims", "How to repeat it", "Figure 1: (a)", "Table"]
    assert "| claim | published | ours | holds? |" in text
    assert r"| The cut wins | 36 of 36 | 30 \| 36 | no |" in text
    assert "1 of 2 statements hold." in text
    assert "1 could not be tested" in text
    assert "No claim was tested yet." in page_markdown([])


def test_how_to_repeat_names_command_commits_date_and_versions():
    text = page_markdown(CHAPTERS[:1])
    row = f"| [Figure 1: (a)](#figure-1-a) | `{COMMAND}` | 2026-01-01 | 3.0 | abc, def |"
    assert row in text
    assert f"\n{COMMAND}\n" in text
    assert "Versions: numpy 2.0." in text


def test_html_is_self_contained(html):
    src = f"data:image/png;base64,{base64.b64encode(PNG).decode()}"
    assert re.findall(r"<img [^>]+>", html) == [f'<img src="{src}" alt="two lattices" />']
    assert "<script" not in html
    assert "<link" not in html
    assert not re.search(r'(src|href)="http|url\(|@import', html)
    assert "prefers-color-scheme: dark" in html
    assert 'name="viewport"' in html
    assert "&lt;script&gt;alert(1)&lt;/script&gt; and 1 &lt; 2" in html


def test_verdicts_and_numbers_have_classes(html):
    for verdict, name in [("yes", "yes"), ("no", "no"), ("not tried", "untried")]:
        assert f'<td class="{name}">{verdict}</td>' in html
        assert f".{name} {{ color:" in html
    assert "<td>yes</td>" in html  # what was published is no verdict
    assert '<th class="number">error</th>' in html
    assert '<td class="number">1.5</td>' in html
    assert "<th>method</th>" in html
    assert html.count('<div class="scroll"><table>') == html.count("<table>") == 3


def test_links_to_sections_have_targets(html):
    targets = re.findall(r'href="#([^"]+)"', html)
    assert targets == ["figure-1-a", "table"]
    assert all(f'<h2 id="{target}">' in html for target in targets)
    assert anchor("Table: SVM, MR & GC") == "table-svm-mr--gc"  # as GitHub does


def test_of_a_picture_that_is_elsewhere_only_the_description_is_shown():
    html = page_html("![a <b> plot](http://example.org/a.png)", {})
    assert "<img" not in html
    assert "a &lt;b&gt; plot" in html


@pytest.mark.parametrize("text", ["a|b", r"a\|b"])
def test_cells_of_tables_do_not_end_early(text):
    table = markdown_table(["p"], [[text], ["two\nlines"]])
    assert table.splitlines()[2:] == [r"| a\|b |", "| two lines |"]
