"""One page of sections: as Markdown, and as HTML that needs no other file."""

from __future__ import annotations

import base64
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from itertools import pairwise
from typing import Any

from graphmargin.experiments.paper.claims import Claim
from graphmargin.report.section import Section
from graphmargin.report.theme import CSS

TITLE = "Semi-supervised learning with max-margin graph cuts: the experiments, repeated"
PAPER = (
    "B. Kveton, M. Valko, A. Rahimi and L. Huang: *Semi-Supervised Learning with Max-Margin Graph "
    "Cuts*, AISTATS 2010."
)


@dataclass(frozen=True)
class Chapter:
    """A section, and what it takes to repeat it.

    Attributes
    ----------
    section : Section
    command : str
        That computes it again.
    date : str
        When it was finished.
    seconds : float
        That it took, in all runs that worked on it.
    commits : tuple of str
        Of all runs that computed a part of it.
    versions : tuple of str
        Of Python and packages, a line for each combination among those runs.
    """

    section: Section
    command: str
    date: str
    seconds: float
    commits: tuple[str, ...]
    versions: tuple[str, ...]


def page_markdown(chapters: Sequence[Chapter]) -> str:
    """Return the page as Markdown: the claims, how to repeat it, and a part for each chapter.

    Examples
    --------
    >>> claims = (Claim("The cut wins", "36 of 36", "36 of 36", holds=True),)
    >>> section = Section("Figure 1", "Two lattices.", claims=claims)
    >>> command = "graphmargin reproduce figure1"
    >>> text = page_markdown([Chapter(section, command, "2026-01-01", 3.0, ("abc",), ())])
    >>> [line for line in text.splitlines() if line.startswith("## ")]
    ['## Claims', '## How to repeat it', '## Figure 1']
    >>> "| The cut wins | 36 of 36 | 36 of 36 | yes |" in text
    True
    """
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
    parser = _parser()
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
        f"<title>{title}</title>\n<style>\n{CSS}</style>\n</head>\n"
        f"<body>\n<main>\n{body}</main>\n</body>\n</html>\n"
    )


def markdown_table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    r"""Return a table in Markdown; what would end a cell or a line is escaped.

    Examples
    --------
    >>> print(markdown_table(["p", "q"], [["a|b", "2"]]))
    | p | q |
    |---|---|
    | a\|b | 2 |
    """
    lines = [" | ".join(_cell(text) for text in row) for row in [header, *rows]]
    rule = "|" + "---|" * len(header)
    return "\n".join([f"| {lines[0]} |", rule, *(f"| {line} |" for line in lines[1:])])


def anchor(title: str) -> str:
    """Return the name of a heading in an address, as GitHub forms it.

    Examples
    --------
    >>> anchor("Figure 2: k = 5, (b)")
    'figure-2-k--5-b'
    """
    return re.sub(r"[^\w\- ]", "", title.strip().lower()).replace(" ", "-")


def _cell(text: str) -> str:
    return re.sub(r"(?<!\\)\|", r"\|", " ".join(text.split()))


def _claims(claims: Sequence[Claim]) -> list[str]:
    if not claims:
        return ["None was tried yet."]
    tried = [claim for claim in claims if claim.holds is not None]
    held = sum(claim.holds is True for claim in tried)
    text = (
        f"{held} of {len(tried)} statements hold. Some are not the paper's own; what it says is "
        "under *published*."
    )
    if len(tried) < len(claims):
        text += f" {len(claims) - len(tried)} could not be tried with what was run."
    rows = [(claim.claim, claim.published, claim.ours, claim.verdict) for claim in claims]
    return [text, markdown_table(["claim", "published", "ours", _HOLDS], rows)]


def _repetition(chapters: Sequence[Chapter]) -> list[str]:
    commands = [chapter.command for chapter in chapters]
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
    lines = ['pip install "graphmargin[cli]"', *dict.fromkeys(commands)]
    return [
        "\n".join(["```sh", *lines, "```"]),
        "Seeds derive from what is computed: every run draws the same rows and labels. Seconds are "
        "those of all runs that worked on it.",
        markdown_table(["section", "command", "finished", "seconds", "commit"], rows),
        "Versions: " + "; ".join(versions or ["not known"]) + ".",
    ]


def _parser() -> Any:
    try:
        from markdown_it import MarkdownIt
    except ModuleNotFoundError as missing:
        msg = "pages in HTML need markdown-it-py; pip install 'graphmargin[cli]'"
        raise ModuleNotFoundError(msg, name="markdown_it") from missing
    return MarkdownIt("commonmark", {"html": False}).enable("table")


def _name_headings(tokens: Sequence[Any]) -> list[str]:
    """Give every heading the name by which links find it; return the headings."""
    found = []
    for heading, inline in pairwise(tokens):
        if heading.type == "heading_open":
            heading.attrSet("id", anchor(inline.content))
            found.append(inline.content)
    return found


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
    column: dict[int, list[tuple[Any, str]]] = {}
    index = 0
    for token, inline in pairwise(tokens):
        if token.type == "tr_open":
            index = 0
        elif token.type in ("th_open", "td_open"):
            column.setdefault(index, []).append((token, inline.content))
            index += 1
        elif token.type == "table_close":
            for cells in column.values():
                _mark_column(cells)
            column = {}


_NUMBER = re.compile(r"[-+\u2212]?(\d[\d.,]*|inf)([eE][-+]?\d+)?( ?(%|s|min|\u00b1 ?[\d.]+))?")
_HOLDS = "holds?"
_VERDICTS = {"yes": "yes", "no": "no", "not tried": "untried"}


def _mark_column(cells: Sequence[tuple[Any, str]]) -> None:
    body = [text.strip("*` ") for _, text in cells[1:]]
    said = [text for text in body if text not in ("", "-", "\u2013", "\u2014")]
    if said and all(_NUMBER.fullmatch(text) for text in said):
        for token, _ in cells:
            token.attrJoin("class", "number")
    for (token, _), text in zip(cells[1:], body, strict=True):
        if cells[0][1] == _HOLDS and text in _VERDICTS:
            token.attrJoin("class", _VERDICTS[text])
