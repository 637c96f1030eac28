"""Measure how far confidence can be trusted, with this version of the library and another one."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from benchmarks.confidence.run import NEW, OLD, run
from benchmarks.confidence.summary import summary
from benchmarks.confidence.tables import PER_CLASS, TABLES
from benchmarks.json_lines import read_lines
from benchmarks.measure import ROOT

BEGIN = "<!-- begin: python -m benchmarks.confidence -->"
END = "<!-- end: python -m benchmarks.confidence -->"
OUT = ROOT / "out" / "benchmarks" / "confidence.jsonl"


def main(argv: Sequence[str] | None = None) -> None:
    """Measure what the command line asks for, and print the tables as Markdown."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.confidence", description=__doc__)
    parser.add_argument(
        "other", nargs="?", type=Path, help="root of another checkout, measured on the same draws"
    )
    parser.add_argument("--draws", type=int, default=5, metavar="N", help="(%(default)s)")
    parser.add_argument(
        "--sets", nargs="+", choices=TABLES, default=list(TABLES), metavar="NAME", help="(all)"
    )
    parser.add_argument(
        "--labels", nargs="+", type=int, default=PER_CLASS, metavar="N", help="of each class"
    )
    parser.add_argument(
        "--out", type=Path, default=OUT, metavar="FILE", help="keeps what is done, for a rerun"
    )
    parser.add_argument(
        "--report", action="store_true", help="print the tables of the file, and measure nothing"
    )
    parser.add_argument(
        "--page", type=Path, metavar="FILE.md", help="write the tables between its two markers"
    )
    given = parser.parse_args(argv)
    if not given.report:
        roots = {NEW: ROOT}
        if given.other is not None:
            if not (given.other / "src" / "graphmargin").is_dir():
                parser.error(f"{given.other} is not a checkout of graphmargin")
            roots[OLD] = given.other.resolve()
        run(roots, given.sets, given.labels, given.draws, given.out)
    text = summary([result for result in read_lines(given.out) if result["table"] in given.sets])
    if given.page is None:
        print(text)
    else:
        given.page.write_text(between_markers(given.page.read_text(), text))


def between_markers(page: str, text: str) -> str:
    """Return a page with the text in place of what is between its markers, `BEGIN` and `END`."""
    before, begin, rest = page.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        msg = f"the page must have the lines {BEGIN!r} and {END!r}"
        raise ValueError(msg)
    return f"{before}{BEGIN}\n\n{text}\n\n{END}{after}"


if __name__ == "__main__":
    main()
