"""All commands, and what their failures mean."""

from __future__ import annotations

import errno
import io
import os
import signal
import sys
import threading
import traceback
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from typing import Annotated, Any

import typer

from graphmargin import __version__
from graphmargin._errors import InputError, printable
from graphmargin.cli import audit, demo, explain, info, label, predict, suggest

EXTRA = ("jinja2", "openpyxl", "pandas", "pyarrow")
"""Packages that commands need."""
INTERRUPTED = 130
"""Exit code that typer makes of Ctrl-C."""
STOPPING_SIGNALS = tuple(
    getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)
)
"""Signals that end a command as Ctrl-C does, so that it can remove its drafts."""
TRACEBACK = "GRAPHMARGIN_TRACEBACK"
"""Variable of the environment that asks for the traceback of an internal error."""

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
app.command("explain", help=explain.HELP)(explain.explain)
app.command("audit", help=audit.HELP)(audit.audit)
app.command("fit", help=label.FIT_HELP)(label.fit)
app.command("info", help=info.HELP)(info.info)
app.command("demo", help=demo.HELP)(demo.demo)


def run(argv: Sequence[str] | None = None) -> int:
    """Return the exit code; what is wrong is one line on stderr."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # a terminal may not have all letters of a table
            stream.reconfigure(errors="backslashreplace")
    with _stopping_signals() as received:
        code = _run(argv)
    return 128 + received[0] if received and code == INTERRUPTED else code


@contextmanager
def _stopping_signals() -> Iterator[list[int]]:
    """Raise KeyboardInterrupt for signals that end a process; yield the list of those that came."""
    received: list[int] = []
    before: dict[int, Any] = {}

    def stop(number: int, _: object) -> None:
        received.append(number)
        raise KeyboardInterrupt

    if threading.current_thread() is threading.main_thread():
        for number in STOPPING_SIGNALS:
            if signal.getsignal(number) == signal.SIG_DFL:  # nohup has it ignored
                before[number] = signal.signal(number, stop)
    try:
        yield received
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _run(argv: Sequence[str] | None) -> int:
    try:
        code = app(
            args=None if argv is None else list(argv),
            prog_name="graphmargin",
            standalone_mode=False,
        )
    except SystemExit as end:  # of completion, and of rich where nobody reads its output any more
        return int(end.code or 0)
    except typer.TyperException as wrong:
        context = getattr(wrong, "ctx", None)
        return _say(wrong.format_message(), context.command_path if context else "graphmargin")
    except InputError as wrong:
        return _say(str(wrong))
    except KeyboardInterrupt:
        code = INTERRUPTED
    except OSError as wrong:
        # What the system refuses is a path that the user named, or a disk that is full.
        if wrong.filename is None and wrong.errno == errno.ENOSPC:  # files would have been named
            return _say(f"standard output: {wrong.strerror}; make room where it is written to")
        return _say(f"{wrong.filename}: {wrong.strerror}" if wrong.filename else str(wrong))
    except Exception as unexpected:  # noqa: BLE001 - a person with a table wants a line, not a stack
        if os.environ.get(TRACEBACK):
            traceback.print_exc()
        what = f"{type(unexpected).__name__}: {unexpected}"
        _say(f"internal error, {what} ({TRACEBACK}=1 shows where)")
        return 1
    if code == INTERRUPTED:
        _say(
            "interrupted; no file is half written, and what `label --dask` has finished is kept "
            "for --resume"
        )
    return code if isinstance(code, int) else 0


def _say(text: str, who: str = "graphmargin") -> int:
    sys.stderr.write(f"{who}: {printable(' '.join(text.split()))}\n")
    return 2


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
        return
    missing = [package for package in EXTRA if find_spec(package) is None]
    if missing:
        msg = f'commands need {", ".join(missing)}; pip install "graphmargin[cli]"'
        raise typer.TyperException(msg)
