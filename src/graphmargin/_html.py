"""HTML tables for results that notebooks display."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from html import escape

LEFT = "text-align: left"
"""Style of all cells, because notebooks align text to the right."""


def html_table(
    caption: str, rows: Iterable[Sequence[object]], *, header: Sequence[str] = ()
) -> str:
    """Return an HTML table of escaped texts; the first cell of a row is its header.

    Text between backticks is code.

    The table sets no color, so that it follows the light or dark theme of the notebook.

    Examples
    --------
    >>> html_table("labels", [("<b>", 2)])
    '<table><caption style="caption-side: top; text-align: left">labels</caption><tbody><tr>\
<th scope="row" style="text-align: left">&lt;b&gt;</th><td style="text-align: left">2</td></tr>\
</tbody></table>'
    """
    head = "".join(_cell("th", "col", name) for name in header)
    body = "".join(
        f"<tr>{_cell('th', 'row', first)}{''.join(_cell('td', '', text) for text in others)}</tr>"
        for first, *others in rows
    )
    return (
        f'<table><caption style="caption-side: top; {LEFT}">{escape(caption)}</caption>'
        + (f"<thead><tr>{head}</tr></thead>" if head else "")
        + f"<tbody>{body}</tbody></table>"
    )


def _cell(tag: str, scope: str, text: object) -> str:
    names = f' scope="{scope}"' if scope else ""
    content = re.sub("`([^`]+)`", r"<code>\1</code>", escape(str(text)))
    return f'<{tag}{names} style="{LEFT}">{content}</{tag}>'
