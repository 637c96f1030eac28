"""One page of sections: as Markdown, and as HTML that needs no other file."""

from __future__ import annotations

import base64
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from itertools import pairwise
from typing import Any

from markdown_it import MarkdownIt

from graphmargin.report.theme import CSS
from reproduction.claims import Claim
from reproduction.section import Section, markdown_table

TITLE = "Semi-supervised learning with max-margin graph cuts: the experiments, repeated"
PAPER = (
    "B. Kveton, M. Valko, A. Rahimi and L. Huang: *Semi-Supervised Learning with Max-Margin Graph "
    "Cuts*, AISTATS 2010."
)
INSTALLATION = "pip install --editable . --group reproduction  # in a clone of the repository"
HOLDS = "holds?"
VERDICT_CLASSES = {"yes": "yes", "no": "no", "not tried": "untried"}
STYLES = """\
:root { --yes-band: #dafbe1; --no: #a40e26; --no-band: #ffebe9; }
@media (prefers-color-scheme: dark) {
  :root { --yes-band: #12261e; --no: #ffa198; --no-band: #321a1c; }
}
img {
  display: block; max-width: 100%; height: auto; margin: 1rem auto; padding: .5rem;
  background: #ffffff; border: 1px solid var(--line); border-radius: 6px;
}
td.yes, td.no, td.untried { min-width: 0; }
.yes, .no, .untried { font-weight: 600; white-space: nowrap; }
.yes { color: var(--yes); background: var(--yes-band); }
.no { color: var(--no); background: var(--no-band); }
.untried { color: var(--soft); }
"""
"""Styles of pictures and verdicts, beside those that pages of the library have."""


@dataclass(frozen=True)
class Chapter:
    """A section, and what it takes to repeat it.

    Attributes
    ----------
    section : Section
    command : str
        Command that computes it again.
    date : str
        Time when it was finished.
    seconds : float
        Time that it took, in all runs that worked on it.
    commits : tuple of str
        Commits of all runs that computed a part of it.
    versions : tuple of str
        Versions of Python and packages, a line for each combination among those runs.
    """

    section: Section
    command: str
    date: str
    seconds: float
    commits: tuple[str, ...]
    versions: tuple[str, ...]


def page_markdown(chapters: Sequence[Chapter]) -> str:
    """Return the page as Markdown: the claims, how to repeat it, and a part for each chapter."""
    claims = [claim for chapter in chapters for claim in chapter.section.claims]
    parts = [f"# {TITLE}", PAPER, "## Claims", *_claims(claims), "## How to repeat it"]
    parts += _repetition(chapters)
    for chapter in chapters:
        parts += [f"## {chapter.section.title}", chapter.section.markdown.strip()]
    return "\n\n".join(parts) + "\n"


def page_html(markdown: str, images: Mapping[str, bytes]) -> str:
    r"""Return a Markdown page as HTML that needs no other file and no network.

    Parameters
    ----------
    markdown : str
        HTML in it is shown as text. Columns of numbers are aligned on the right, and verdicts
        under "holds?" have a color.
    images : mapping from str to bytes
        The PNG file of every picture, by the address that it has in `markdown`. Of a picture that
        is not here, only the description is shown.

    Examples
    --------
    >>> page = page_html("# A title\n\n1 < 2\n", {})
    >>> "<title>A title</title>" in page, "1 &lt; 2" in page
    (True, True)
    """
    parser = MarkdownIt("commonmark", {"html": False}).enable("table")
    tokens = parser.parse(markdown)
    headings = _name_headings(tokens)
    _embed(tokens, images)
    _mark_cells(tokens)
    body = parser.renderer.render(tokens, parser.options, {})
    body = body.replace("<table>", '<div class="scroll"><table>')
    body = body.replace("</table>", "</table></div>")
    title = escape(headings[0] if headings else TITLE)
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="color-scheme" content="light dark">\n'
        f"<title>{title}</title>\n<style>\n{CSS}{STYLES}</style>\n</head>\n"
        f"<body>\n<main>\n{body}</main>\n</body>\n</html>\n"
    )


def anchor(title: str) -> str:
    """Return the name of a heading in an address, as GitHub forms it.

    Examples
    --------
    >>> anchor("Figure 2: k = 5, (b)")
    'figure-2-k--5-b'
    """
    return re.sub(r"[^\w\- ]", "", title.strip().lower()).replace(" ", "-")


def _claims(claims: Sequence[Claim]) -> list[str]:
    if not claims:
        return ["No claim was tested yet."]
    tried = [claim for claim in claims if claim.holds is not None]
    held = sum(claim.holds is True for claim in tried)
    text = (
        f"{held} of {len(tried)} statements hold. The column *published* has what the paper says; "
        "some statements are ours."
    )
    if len(tried) < len(claims):
        text += f" {len(claims) - len(tried)} could not be tested by what was run."
    rows = [(claim.claim, claim.published, claim.ours, claim.verdict) for claim in claims]
    return [text, markdown_table(["claim", "published", "ours", HOLDS], rows, numbers=False)]


def _repetition(chapters: Sequence[Chapter]) -> list[str]:
    rows = [
        (
            f"[{chapter.section.title}](#{anchor(chapter.section.title)})",
            f"`{chapter.command}`",
            chapter.date,
            f"{chapter.seconds:.1f}",
            ", ".join(chapter.commits),
        )
        for chapter in chapters
    ]
    versions = dict.fromkeys(line for chapter in chapters for line in chapter.versions)
    commands = dict.fromkeys(chapter.command for chapter in chapters)
    head = ["section", "command", "finished", "seconds", "commit"]
    return [
        "\n".join(["```sh", INSTALLATION, *commands, "```"]),
        "Seeds depend only on the setting, so every run draws the same rows and labels. Seconds "
        "are the sum over all runs of a section.",
        markdown_table(head, rows, numbers=False),
        "Versions: " + "; ".join(versions or ["not known"]) + ".",
    ]


def _name_headings(tokens: Sequence[Any]) -> list[str]:
    """Give every heading the name by which links find it; return the headings."""
    headings = []
    for heading, inline in pairwise(tokens):
        if heading.type == "heading_open":
            heading.attrSet("id", anchor(inline.content))
            headings.append(inline.content)
    return headings


def _embed(tokens: Sequence[Any], images: Mapping[str, bytes]) -> None:
    """Put the pictures into the page; in place of others, the description."""
    for inline in tokens:
        for token in inline.children or ():
            if token.type != "image":
                continue
            png = images.get(token.attrs["src"])
            if png is None:
                token.type, token.tag = "text", ""
            else:
                code = base64.b64encode(png).decode()
                token.attrSet("src", f"data:image/png;base64,{code}")


def _mark_cells(tokens: Sequence[Any]) -> None:
    """Give classes to verdicts, and to columns of numbers."""
    columns: dict[int, list[tuple[Any, str]]] = {}
    index = 0
    for token, inline in pairwise(tokens):
        if token.type == "tr_open":
            index = 0
        elif token.type in ("th_open", "td_open"):
            columns.setdefault(index, []).append((token, inline.content))
            index += 1
        elif token.type == "table_close":
            for cells in columns.values():
                _mark_column(cells)
            columns = {}


_NUMBER = re.compile(r"[-+\u2212]?(\d[\d.,]*|inf)([eE][-+]?\d+)?( ?(%|s|min|\u00b1 ?[\d.]+))?")


def _mark_column(cells: Sequence[tuple[Any, str]]) -> None:
    body = [text.strip("*` ") for _, text in cells[1:]]
    values = [text for text in body if text not in ("", "-", "\u2013", "\u2014")]
    if values and all(_NUMBER.fullmatch(text) for text in values):
        for token, _ in cells:
            token.attrJoin("class", "number")
    for (token, _), text in zip(cells[1:], body, strict=True):
        if cells[0][1] == HOLDS and text in VERDICT_CLASSES:
            token.attrJoin("class", VERDICT_CLASSES[text])
