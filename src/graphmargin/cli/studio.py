"""The command ``graphmargin studio``, which labels a table in the browser."""

from __future__ import annotations

import os
import webbrowser
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from html import escape
from importlib.util import find_spec
from pathlib import Path
from tempfile import mkstemp
from typing import TYPE_CHECKING, Annotated

import typer

from graphmargin.cli.options import (
    Category,
    Ignore,
    Keep,
    Unlabeled,
    check_file,
    columns_to_choose,
)
from graphmargin.cli.printing import console, line, print_warnings

if TYPE_CHECKING:
    from graphmargin.studio.service import Studio

REQUIRED_PACKAGES = ("starlette", "uvicorn")
LOCAL_HOST = "127.0.0.1"
DEMO_FOLDER = Path("graphmargin-studio")

HELP = """Label a table in the browser.

The page shows all rows as a map, offers the rows whose labels help most, and spreads every label
over the graph at once. It estimates the accuracy, and says when more labels change little. Every
decision is appended to a journal beside the table, from which a later session continues. The table
itself is not changed. The page writes the labeled table, a model and a report, as does
`graphmargin label --journal`.

Without a table, it opens handwritten digits; one of each kind has a label.

Examples:

    graphmargin studio cats.csv --target kind
    graphmargin studio
"""


def _check_table(context: typer.Context, path: Path | None) -> Path | None:
    return None if path is None else check_file(context, path)


def studio(
    context: typer.Context,
    table: Annotated[
        Path | None,
        typer.Argument(
            metavar="[TABLE]",
            callback=_check_table,
            help="A CSV, TSV, Parquet, Excel or JSON lines file; by default, digits.",
        ),
    ] = None,
    target: Annotated[
        str | None,
        typer.Option(
            "--target",
            "-t",
            metavar="COLUMN",
            help="Column with the labels; a name that is not in the table is a new column.",
        ),
    ] = None,
    unlabeled: Unlabeled = [],  # noqa: B006 - typer copies it
    ignore: Ignore = [],  # noqa: B006 - typer copies it
    keep: Keep = [],  # noqa: B006 - typer copies it
    category: Category = [],  # noqa: B006 - typer copies it
    host: Annotated[
        str,
        typer.Option(
            metavar="ADDRESS", help="Address to listen on; by default, this machine alone."
        ),
    ] = LOCAL_HOST,
    port: Annotated[
        int, typer.Option(min=0, max=65535, metavar="N", help="Port; by default, a free one.")
    ] = 0,
    no_browser: Annotated[
        bool, typer.Option("--no-browser", help="Print the address, but do not open it.")
    ] = False,
) -> None:
    """Serve the page until Ctrl-C."""
    missing = [package for package in REQUIRED_PACKAGES if find_spec(package) is None]
    if missing:
        msg = (
            f'the studio needs the packages {", ".join(missing)}; pip install "graphmargin[studio]"'
        )
        raise typer.TyperException(msg)
    if table is None:
        table, target = _write_digits(), "digit"
    elif target is None:
        msg = f"Missing option '--target' / '-t'. {columns_to_choose(context)}, or a new name"
        raise typer.TyperException(msg)
    from graphmargin.labeling.labeling_task import read_task
    from graphmargin.studio.server import make_server
    from graphmargin.studio.service import Studio

    console().print(line(f"reading {table} and building its graph"))
    task = read_task(
        table,
        target,
        unlabeled=unlabeled,
        ignore=ignore,
        keep=keep,
        category=category,
        min_classes=0,
    )
    session = Studio(task, table)
    try:
        server = make_server(session, host=host, port=port, announce=_print_address)
        print_warnings(task.warnings)
        for note in session.notes:
            console().print(line(note, style="yellow"))
        if host != LOCAL_HOST:
            text = (
                f"listening on {host}: everyone who can reach this address and has the token sees "
                "the table and can label it, and nothing is encrypted"
            )
            console().print(line(text, style="yellow"))
        server.announce_address()
        console().print(line("Ctrl-C ends it; every decision is on disk already", style="dim"))
        with nullcontext() if no_browser else _browser(server.new_address(), table.parent):
            server.serve_until_stopped()
    except KeyboardInterrupt:
        pass  # uvicorn has ended the server, and raises the signal again
    finally:
        session.close()
    _print_end(session)


def _print_address(address: str) -> None:
    console().print(line(f"studio    {address}"))


@contextmanager
def _browser(address: str, folder: Path) -> Iterator[None]:
    """Open an address in the browser by a file that leads to it, which is there in the block.

    Everyone on this machine can read the arguments of the browser, but only its owner the file.
    """
    number, name = mkstemp(".html", ".graphmargin-", folder)
    file = Path(name)
    try:
        os.close(number)
        file.write_text(
            '<!DOCTYPE html><meta charset="utf-8"><title>graphmargin studio</title>'
            f'<meta http-equiv="refresh" content="0; url={escape(address)}">'
            f'<a href="{escape(address)}">Open the studio</a>'
        )
        webbrowser.open(file.resolve().as_uri())
        yield
    finally:
        file.unlink(missing_ok=True)


def _print_end(session: Studio) -> None:
    from graphmargin.studio.journal import journal_path

    console().print(line(f"ended with {session.snapshot.session.n_labels:,} labels"))
    console().print(line(f"journal   {journal_path(session.path)}"))


def _write_digits() -> Path:
    """Write the digits, unless they are there already, and return their path."""
    from graphmargin.labeling.example_tables import studio_table
    from graphmargin.tables.writing import table_writer

    path = DEMO_FOLDER / "digits.csv"
    if not path.exists():
        with table_writer(path) as write:
            write(studio_table())
    return path
