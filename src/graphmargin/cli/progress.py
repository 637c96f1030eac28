"""Progress on stderr: a bar on a terminal, a few plain lines elsewhere."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
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
    from graphmargin._typing import ProgressCallback as Tell
    from graphmargin._typing import ProgressListener

QUIET_SECONDS = 5.0
"""Seconds that a part of a command may take before a log hears of it."""
EVERY_SHARE, EVERY_SECONDS = 0.25, 60.0


@contextmanager
def show_progress(*, quiet: bool) -> Iterator[ProgressListener]:
    """Yield what shows the progress of one thing after the other."""
    console = Console(stderr=True)
    if quiet:
        yield lambda _: lambda _share, _news: None
    elif console.is_terminal:
        with _bars(console) as bars:
            yield lambda name: _bar(bars, name)
    else:
        yield _lines


def _bars(console: Console) -> Progress:
    return Progress(
        TextColumn("{task.fields[name]}"),
        BarColumn(bar_width=20),
        TaskProgressColumn(),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
        TextColumn(
            "[dim]{task.fields[news]}[/dim]",
            table_column=Column(no_wrap=True, overflow="ellipsis"),
        ),
        console=console,
        # Steps take seconds or minutes: an estimate from the last half minute would jump.
        speed_estimate_period=600.0,
    )


def _bar(bars: Progress, name: str) -> Tell:
    task = bars.add_task("", total=None, name=escape(printable(name)), news="begins")

    def tell(share: float | None, news: str) -> None:
        bars.update(
            task,
            total=None if share is None else 1.0,
            completed=share or 0.0,
            news=escape(printable(news)),
        )

    return tell


def _lines(name: str) -> Tell:
    start = said_at = time.monotonic()
    said_share = -EVERY_SHARE

    def tell(share: float | None, news: str) -> None:
        nonlocal said_at, said_share
        now, done = time.monotonic(), share or 0.0
        if now - start < QUIET_SECONDS:
            return
        # The end is told once; between, a line in a while is enough for a log.
        last = done >= 1.0 > said_share
        if last or done - said_share >= EVERY_SHARE or now - said_at >= EVERY_SECONDS:
            said_at, said_share = now, done
            text = f"{name}  {done:4.0%}  {now - start:6.1f} s  {news}"
            sys.stderr.write(f"{printable(text)}\n")

    return tell
