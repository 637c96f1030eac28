"""Check the links, pictures and examples of the built site, and that all public names are in it.

Run by `make docs`, after Sphinx. Prints a line for each problem; ends with 1 if there is one.
"""

from __future__ import annotations

import argparse
import importlib
import pkgutil
import sys
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import graphmargin

LISTS = ("genindex.html", "search.html", "py-modindex.html", "changelog.html")
"""Pages that need no example, beside those that list the gallery."""
LOADED = {"img": "src", "script": "src", "link": "href", "source": "src", "iframe": "src"}
"""Attributes with files that a browser loads, which must be part of the site."""


@dataclass
class Page(HTMLParser):
    """A page: its anchors, its links, the files that it loads, and pictures without a text.

    A thumbnail counts as a link, whose title is beside it, and not as an example.
    """

    ids: set[str] = field(default_factory=set)
    links: list[str] = field(default_factory=list)
    loaded: list[str] = field(default_factory=list)
    without_text: list[str] = field(default_factory=list)
    has_example: bool = False

    def __post_init__(self) -> None:
        """Prepare the parser, whose own constructor is not called by a dataclass."""
        super().__init__()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Store the anchor, link, file or picture of an element."""
        given = {name: value or "" for name, value in attrs}
        if "id" in given:
            self.ids.add(given["id"])
        if tag == "a" and "href" in given:
            self.links.append(given["href"])
        if LOADED.get(tag) in given and given.get("rel") not in ("index", "search", "next", "prev"):
            self.loaded.append(given[LOADED[tag]])
        if tag == "img" and "_thumb." not in given.get("src", ""):
            self.has_example = True
            self.without_text += [] if given.get("alt") else [given.get("src", "")]
        self.has_example |= "highlight" in given.get("class", "").split()


def problems(site: Path, packages: list[str]) -> list[str]:
    """Return a line for each problem of the site in a folder."""
    pages = {path: read_page(path) for path in sorted(site.rglob("*.html"))}
    lines = [line for path in pages for line in _page_problems(path, site, pages)]
    places = {place for page in pages.values() for place in page.ids}
    return lines + [
        f"{package}.{name} is not in the API reference"
        for package in packages
        for name in importlib.import_module(package).__all__
        if not {f"{package}.{name}", f"graphmargin.{name}", f"module-{package}.{name}"} & places
    ]


def read_page(path: Path) -> Page:
    """Return the parsed page of an HTML file."""
    page = Page()
    page.feed(path.read_text(encoding="utf-8"))
    return page


def public_packages() -> list[str]:
    """Return the names of the packages that have public names."""
    inside = pkgutil.iter_modules(graphmargin.__path__, prefix="graphmargin.")
    return ["graphmargin", *(module.name for module in inside if module.ispkg)]


def _page_problems(path: Path, site: Path, pages: dict[Path, Page]) -> list[str]:
    page, name = pages[path], path.relative_to(site)
    lines = [f"{name}: the picture {source} has no text" for source in page.without_text]
    lines += [f"{name}: {url} is loaded from elsewhere" for url in page.loaded if _is_external(url)]
    lines += [
        f"{name}: the link {url} leads nowhere"
        for url in sorted({*page.links, *page.loaded})
        if not _is_external(url) and not _exists(url, path, pages)
    ]
    if not (page.has_example or _is_list(name)):
        lines.append(f"{name}: the page has no example")
    return lines


def _is_list(name: Path) -> bool:
    return str(name) in LISTS or (name.parts[0] == "gallery" and name.name == "index.html")


def _is_external(url: str) -> bool:
    return bool(urlsplit(url).scheme or urlsplit(url).netloc)


def _exists(url: str, path: Path, pages: dict[Path, Page]) -> bool:
    parts = urlsplit(url)
    target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
    if parts.fragment and target in pages:
        return unquote(parts.fragment) in pages[target].ids
    return target.is_file()


def main() -> int:
    """Check the site that the command line names."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("site", type=Path, help="folder of the built site")
    site = parser.parse_args().site.resolve()
    if not (site / "index.html").exists():
        parser.error(f"{site} has no index.html; `make docs` builds the site")
    lines = problems(site, public_packages())
    for line in lines:
        print(line, file=sys.stderr)
    return int(bool(lines))


if __name__ == "__main__":
    sys.exit(main())
