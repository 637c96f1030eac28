"""``graphmargin reproduce``: the experiments of the paper."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path
from textwrap import shorten
from typing import TYPE_CHECKING, Annotated

import typer
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text

from graphmargin.cli.progress import watching
from graphmargin.report.titles import TITLES

if TYPE_CHECKING:
    from graphmargin.experiments.paper.claims import Claim
    from graphmargin.experiments.paper.settings import Settings

ALL = "all"
LONGEST = 100
"""Letters of a cell of the table on the terminal."""
MOST_JOBS = 16
"""By default, for a process needs some 300 MB."""
_LISTED = "\n".join(f"- `{name}`: {title}" for name, title in TITLES.items())
HELP = f"""Repeat the experiments of the paper, and compare with what it says.

{_LISTED}
- `all`: all of them, in this order

The page, `reproduction.html` and `reproduction.md` in the folder that `--out` names, grows with
every experiment; the records are there as Parquet and CSV files. Finished cells are kept:
after Ctrl-C, the same command continues.

Examples:

    graphmargin reproduce figure1
    graphmargin reproduce figure1 figure2 --quick
    graphmargin reproduce table --draws 10 --jobs 4 --out out/table
"""


def reproduce(
    names: Annotated[
        list[str], typer.Argument(metavar="NAME", help=f"{', '.join(TITLES)} or {ALL}.")
    ],
    quick: Annotated[bool, typer.Option("--quick", help="Fewer problems and draws.")] = False,
    draws: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="Random draws of rows and labels.")
    ] = None,
    jobs: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="Processes; by default, one a core.")
    ] = None,
    out: Annotated[Path, typer.Option(metavar="DIR", help="Folder of the results.")] = Path(
        "out/reproduction"
    ),
    quiet: Annotated[
        bool, typer.Option("--quiet", "-q", help="Say nothing but where the page is.")
    ] = False,
) -> None:
    """Run experiments, and print their claims."""
    from joblib import cpu_count

    from graphmargin.experiments.paper.settings import Settings
    from graphmargin.report.reproduction import reproduce as run

    chosen = _chosen(names)
    settings = Settings(out, quick, draws, jobs or min(cpu_count(), MOST_JOBS))
    with watching(quiet=quiet) as watch:
        done = run(chosen, settings, command=_command(chosen, settings), watch=watch)
    console = Console(highlight=False)
    if quiet:
        console.print(Text(str(done.html)), soft_wrap=True)
        return
    _show_claims(console, [claim for claims in done.claims.values() for claim in claims])
    for page in (done.markdown, done.html):
        console.print(Text(str(page)), soft_wrap=True)


def _chosen(names: Sequence[str]) -> tuple[str, ...]:
    for name in names:
        if name not in (*TITLES, ALL):
            msg = f"NAME must be one of {', '.join([*TITLES, ALL])}, got {name!r}"
            raise typer.TyperException(msg)
    return tuple(name for name in TITLES if name in names or ALL in names)


def _command(names: Sequence[str], settings: Settings) -> str:
    words = ["graphmargin", "reproduce", *names, *(["--quick"] if settings.quick else [])]
    words += [] if settings.draws is None else ["--draws", str(settings.draws)]
    return shlex.join([*words, "--jobs", str(settings.n_jobs), "--out", str(settings.folder)])


def _show_claims(console: Console, claims: Sequence[Claim]) -> None:
    if not claims:
        return
    table = Table(box=SIMPLE_HEAD, pad_edge=False, expand=True)
    for header, ratio in (("claim", 3), ("published", 2), ("ours", 3), ("holds?", None)):
        table.add_column(header, ratio=ratio)
    colors = {True: "green", False: "red", None: "dim"}
    for claim in claims:
        # The page has all of it.
        texts = (claim.claim, claim.published, claim.ours)
        cells = [Text(shorten(text, LONGEST, placeholder=" ...")) for text in texts]
        table.add_row(*cells, Text(claim.verdict, style=colors[claim.holds], no_wrap=True))
    console.print(table)
