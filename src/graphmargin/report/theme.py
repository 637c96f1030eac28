"""The style sheet of pages, for light and dark colors and wide and narrow screens."""

from __future__ import annotations

CSS = """\
:root {
  --ink: #1f2328; --paper: #ffffff; --soft: #59636e; --line: #d1d9e0; --band: #f6f8fa;
  --link: #0550ae; --yes: #116329;
}
@media (prefers-color-scheme: dark) {
  :root {
    --ink: #e6edf3; --paper: #0d1117; --soft: #9198a1; --line: #3d444d; --band: #161b22;
    --link: #79c0ff; --yes: #7ee787;
  }
}
* { box-sizing: border-box; }
html { color-scheme: light dark; -webkit-text-size-adjust: 100%; }
body {
  margin: 0; background: var(--paper); color: var(--ink);
  font: 16px/1.55 system-ui, -apple-system, "Segoe UI", Roboto, sans-serif;
}
main { max-width: 60rem; margin: 0 auto; padding: 1.5rem 1rem 4rem; overflow-wrap: break-word; }
h1 { font-size: 1.8rem; line-height: 1.25; }
h2 { margin-top: 2.5rem; padding-bottom: .3rem; border-bottom: 1px solid var(--line); }
a { color: var(--link); }
code { padding: .1em .3em; background: var(--band); border-radius: 4px; font-size: .9em; }
pre { padding: .8rem 1rem; overflow-x: auto; background: var(--band); border-radius: 6px; }
pre code { padding: 0; background: none; }
.scroll {
  max-width: 100%; max-height: 85vh; overflow: auto; margin: 1rem 0;
  border: 1px solid var(--line); border-radius: 6px;
}
table { border-collapse: separate; border-spacing: 0; width: 100%; font-size: .9rem; }
th, td { padding: .4rem .7rem; text-align: left; vertical-align: top; }
td { border-top: 1px solid var(--line); min-width: 7rem; overflow-wrap: normal; }
th { position: sticky; top: 0; background: var(--band); white-space: nowrap; }
.number { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
td.number { min-width: 0; }
@media print { .scroll { max-height: none; overflow: visible; } th { position: static; } }
"""
