"""Registration of all commands, and their exit codes."""

from __future__ import annotations

import errno
import io
import os
import sys
import traceback
from collections.abc import Sequence
from importlib.util import find_spec
from typing import Annotated

import typer

from graphmargin import __version__
from graphmargin._errors import InputError, printable
from graphmargin.cli import audit, demo, explain, info, label, predict, studio, suggest
from graphmargin.cli.options import columns_to_choose, with_option_names

REQUIRED_PACKAGES = ("jinja2", "openpyxl", "pandas", "pyarrow")
"""Packages that commands import."""
INTERRUPTED_CODE = 130
"""Code that typer returns after Ctrl-C."""
TRACEBACK_VARIABLE = "GRAPHMARGIN_TRACEBACK"
"""Environment variable that shows the traceback of an internal error."""

app = typer.Typer(
    name="graphmargin",
    help="Semi-supervised learning with max-margin graph cuts.",
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command("label", help=label.LABEL_HELP)(label.label)
app.command("predict", help=predict.HELP)(predict.predict)
app.command("suggest", help=suggest.HELP)(suggest.suggest)
app.command("studio", help=studio.HELP)(studio.studio)
app.command("explain", help=explain.HELP)(explain.explain)
app.command("audit", help=audit.HELP)(audit.audit)
app.command("fit", help=label.FIT_HELP)(label.fit)
app.command("info", help=info.HELP)(info.info)
app.command("demo", help=demo.HELP)(demo.demo)


def run(argv: Sequence[str] | None = None) -> int:
    """Run a command line and return its exit code; an error is one line on stderr.

    An interruption is raised as KeyboardInterrupt.
    """
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # the encoding may lack characters of a table
            stream.reconfigure(errors="backslashreplace")
    try:
        code = app(
            args=None if argv is None else list(argv),
            prog_name="graphmargin",
            standalone_mode=False,
        )
    except SystemExit as end:  # raised by completion, and by rich if its output pipe is closed
        return int(end.code or 0)
    except typer.TyperException as error:
        context = getattr(error, "ctx", None)
        command = context.command_path if context else "graphmargin"
        text = error.format_message() + _rejected_value(error)
        if context and getattr(getattr(error, "param", None), "name", None) == "target":
            text = f"{text} {columns_to_choose(context)}"
        return _print_error(text, command)
    except InputError as error:
        return _print_error(with_option_names(str(error)))
    except OSError as error:
        # The user can correct a system error: it is about a path on the command line, or the disk.
        if error.filename is None and error.errno == errno.ENOSPC:  # no file, hence stdout
            return _print_error(f"standard output: {error.strerror}; free some space")
        return _print_error(f"{error.filename}: {error.strerror}" if error.filename else str(error))
    except MemoryError as error:
        return _print_error(_out_of_memory(error))
    except Exception as unexpected:  # noqa: BLE001 - a person with a table wants a line, not a stack
        if os.environ.get(TRACEBACK_VARIABLE):
            traceback.print_exc()
        what = f"{type(unexpected).__name__}: {unexpected}"
        _print_error(f"internal error: {what}; set {TRACEBACK_VARIABLE}=1 to see the traceback")
        return 1
    if code == INTERRUPTED_CODE:
        raise KeyboardInterrupt
    return code if isinstance(code, int) else 0


def _out_of_memory(error: MemoryError) -> str:
    """Return a sentence on a lack of memory, with the size of what did not fit, if it is known."""
    size = f" ({error})" if str(error) else ""
    return (
        f"there is not enough memory{size}; use fewer rows or columns (--ignore), a machine with "
        "more memory, or a cluster (--dask)"
    )


def _rejected_value(error: typer.TyperException) -> str:
    """Return the value that typer could not convert, which its own message leaves out."""
    from pydantic import ValidationError

    cause = error.__cause__
    if not isinstance(cause, ValidationError):
        return ""
    value = repr(cause.errors()[0]["input"])
    return "" if value in error.format_message() else f", got {value}"


def _print_error(text: str, command: str = "graphmargin") -> int:
    sys.stderr.write(f"{command}: {printable(' '.join(text.split()))}\n")
    return 2


def _show_version(requested: bool) -> None:
    if requested:
        typer.echo(f"graphmargin {__version__}")
        raise typer.Exit


@app.callback(invoke_without_command=True)
def _main(
    context: typer.Context,
    version: Annotated[  # noqa: ARG001 - its callback prints the version
        bool,
        typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version."),
    ] = False,
) -> None:
    """Semi-supervised learning with max-margin graph cuts."""
    if context.invoked_subcommand is None:
        typer.echo(context.get_help(), nl=False)
        return
    missing = [package for package in REQUIRED_PACKAGES if find_spec(package) is None]
    if missing:
        msg = f'commands need the packages {", ".join(missing)}; pip install "graphmargin[cli]"'
        raise typer.TyperException(msg)
