"""Progress on stderr: bars on a terminal, and a few plain lines elsewhere."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING

from rich.console import Console
from rich.markup import escape
from rich.progress import (
    BarColumn,
    Progress,
    TaskProgressColumn,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.table import Column

from graphmargin._errors import printable

if TYPE_CHECKING:
    from graphmargin._typing import ProgressCallback, ProgressListener

QUIET_SECONDS = 5.0
"""Seconds that a stage may take before a line is printed."""
SHARE_BETWEEN_LINES, SECONDS_BETWEEN_LINES = 0.25, 60.0


@contextmanager
def show_progress(*, quiet: bool) -> Iterator[ProgressListener]:
    """Yield a listener that shows the progress of each stage; show notices as lines."""
    from graphmargin._progress import notices_to  # it imports NumPy, which help pages do without

    console = Console(stderr=True)
    if quiet:
        with notices_to(lambda _: None):
            yield lambda _: lambda _share, _news: None
    elif console.is_terminal:
        # A line on the console of the bars stays above them.
        write = partial(console.print, markup=False, highlight=False, soft_wrap=True)
        with _bars(console) as bars, notices_to(lambda text: write(printable(text))):
            yield lambda name: _add_bar(bars, name)
    else:
        with notices_to(_write_line):
            yield _line_printer


def _bars(console: Console) -> Progress:
    return Progress(
        TextColumn("{task.fields[name]}"),
        BarColumn(bar_width=20),
        TaskProgressColumn(),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
        TextColumn(
            "[dim]{task.fields[message]}[/dim]",
            table_column=Column(no_wrap=True, overflow="ellipsis"),
        ),
        console=console,
        # Steps take seconds or minutes, so that an estimate from half a minute would jump.
        speed_estimate_period=600.0,
    )


def _add_bar(bars: Progress, name: str) -> ProgressCallback:
    task = bars.add_task("", total=None, name=escape(printable(name)), message="started")

    def report_progress(share: float | None, message: str) -> None:
        bars.update(
            task,
            total=None if share is None else 1.0,
            completed=share or 0.0,
            message=escape(printable(message)),
        )

    return report_progress


def _line_printer(name: str) -> ProgressCallback:
    start = last_time = time.monotonic()
    last_share = -SHARE_BETWEEN_LINES

    def report_progress(share: float | None, message: str) -> None:
        nonlocal last_time, last_share
        now, done = time.monotonic(), share or 0.0
        if now - start < QUIET_SECONDS:
            return
        is_end = done >= 1.0 > last_share
        is_share_due = done - last_share >= SHARE_BETWEEN_LINES
        if is_end or is_share_due or now - last_time >= SECONDS_BETWEEN_LINES:
            last_time, last_share = now, done
            text = f"{name}  {done:4.0%}  {now - start:6.1f} s  {message}"
            _write_line(text)

    return report_progress


def _write_line(text: str) -> None:
    sys.stderr.write(f"{printable(text)}\n")
    sys.stderr.flush()
