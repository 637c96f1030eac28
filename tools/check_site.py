"""Check the built site: links, pictures, examples, and that every public name has its place.

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
"""Attributes that a browser fetches by itself: nothing of it may be elsewhere."""


@dataclass
class Page(HTMLParser):
    """A page: places to link to, links, files that it loads, pictures without a text.

    A thumbnail is a link: no example, and its title is beside it.
    """

    ids: set[str] = field(default_factory=set)
    links: list[str] = field(default_factory=list)
    loaded: list[str] = field(default_factory=list)
    untold: list[str] = field(default_factory=list)
    has_example: bool = False

    def __post_init__(self) -> None:
        """Prepare the parser, whose own constructor is not called by a dataclass."""
        super().__init__()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Take note of an element."""
        given = {name: value or "" for name, value in attrs}
        if "id" in given:
            self.ids.add(given["id"])
        if tag == "a" and "href" in given:
            self.links.append(given["href"])
        if LOADED.get(tag) in given and given.get("rel") not in ("index", "search", "next", "prev"):
            self.loaded.append(given[LOADED[tag]])
        if tag == "img" and "_thumb." not in given.get("src", ""):
            self.has_example = True
            self.untold += [] if given.get("alt") else [given.get("src", "")]
        self.has_example |= "highlight" in given.get("class", "").split()


def problems(site: Path, packages: list[str]) -> list[str]:
    """Return a line for each problem of the site in a folder."""
    pages = {path: read_page(path) for path in sorted(site.rglob("*.html"))}
    found = [line for path in pages for line in _page_problems(path, site, pages)]
    places = {place for page in pages.values() for place in page.ids}
    return found + [
        f"{package}.{name} has no place in the API reference"
        for package in packages
        for name in importlib.import_module(package).__all__
        if not {f"{package}.{name}", f"graphmargin.{name}", f"module-{package}.{name}"} & places
    ]


def read_page(path: Path) -> Page:
    """Return what the HTML file has."""
    page = Page()
    page.feed(path.read_text(encoding="utf-8"))
    return page


def public_packages() -> list[str]:
    """Return the names of the packages that have public names."""
    inside = pkgutil.iter_modules(graphmargin.__path__, prefix="graphmargin.")
    return ["graphmargin", *(module.name for module in inside if module.ispkg)]


def _page_problems(path: Path, site: Path, pages: dict[Path, Page]) -> list[str]:
    page, name = pages[path], path.relative_to(site)
    found = [f"{name}: the picture {source} has no text" for source in page.untold]
    found += [f"{name}: {url} is loaded from elsewhere" for url in page.loaded if _is_far(url)]
    found += [
        f"{name}: nothing is at {url}"
        for url in sorted({*page.links, *page.loaded})
        if not _is_far(url) and not _is_there(url, path, pages)
    ]
    if not (page.has_example or _is_list(name)):
        found.append(f"{name}: there is no example")
    return found


def _is_list(name: Path) -> bool:
    return str(name) in LISTS or (name.parts[0] == "gallery" and name.name == "index.html")


def _is_far(url: str) -> bool:
    return bool(urlsplit(url).scheme or urlsplit(url).netloc)


def _is_there(url: str, path: Path, pages: dict[Path, Page]) -> bool:
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
    found = problems(site, public_packages())
    for line in found:
        print(line, file=sys.stderr)
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main())
