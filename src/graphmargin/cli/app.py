"""All commands, and what their failures mean."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Annotated

import typer

from graphmargin import __version__
from graphmargin.cli.reproduce import HELP, reproduce

app = typer.Typer(
    name="graphmargin",
    help="Semi-supervised learning with max-margin graph cuts.",
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command("reproduce", help=HELP)(reproduce)


def run(argv: Sequence[str] | None = None) -> int:
    """Return the exit code; what is wrong with the input is one line on stderr."""
    try:
        code = app(
            args=None if argv is None else list(argv),
            prog_name="graphmargin",
            standalone_mode=False,
        )
    except (typer.TyperException, OSError) as wrong:
        # What the system refuses is a path that the user named, or a disk that is full.
        said = str(wrong) if isinstance(wrong, OSError) else wrong.format_message()
        context = getattr(wrong, "ctx", None)
        prog = context.command_path if context else "graphmargin"
        sys.stderr.write(f"{prog}: {' '.join(said.split())}\n")
        return 2
    return code if isinstance(code, int) else 0


def _show_version(asked: bool) -> None:
    if asked:
        typer.echo(f"graphmargin {__version__}")
        raise typer.Exit


@app.callback(invoke_without_command=True)
def _options(
    context: typer.Context,
    version: Annotated[  # noqa: ARG001 - its callback answers
        bool,
        typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version."),
    ] = False,
) -> None:
    """Semi-supervised learning with max-margin graph cuts."""
    if context.invoked_subcommand is None:
        typer.echo(context.get_help(), nl=False)
