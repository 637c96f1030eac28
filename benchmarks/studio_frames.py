"""Frames of the studio's page in Chromium: the map is panned and zoomed, the table scrolled.

Starts `graphmargin studio` on a table of many rows and moves the mouse as a person does:

    python -m benchmarks.studio_frames [--rows 100000]

A frame of 16.7 ms is one of 60 in a second. Chromium without a window draws on the processor, so a
machine with a graphics card has more room. It takes about two minutes.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.report import plain

N_CLASSES = 10
N_MOVES = 120
HEADER = ["move", "frames", "median ms", "p95 ms", "above 34 ms"]
RECORD = """() => {
    window.frames_ = [];
    let before = performance.now();
    const next = (now) => {
        window.frames_.push(now - before);
        before = now;
        window.recording_ = requestAnimationFrame(next);
    };
    window.recording_ = requestAnimationFrame(next);
}"""
STOP = "() => { cancelAnimationFrame(window.recording_); return window.frames_.slice(1); }"


def write_table(path: Path, n_rows: int) -> None:
    """Write points around ten centers in ten dimensions, with five labels for each."""
    import pandas as pd

    rng = np.random.default_rng(0)
    codes = rng.integers(N_CLASSES, size=n_rows)
    values = 4 * rng.normal(size=(N_CLASSES, 10))[codes] + rng.normal(size=(n_rows, 10))
    table = pd.DataFrame(values.astype(np.float32), columns=[f"x{j}" for j in range(10)])
    labels = np.full(n_rows, None, dtype=object)
    for code in range(N_CLASSES):
        labels[np.flatnonzero(codes == code)[:5]] = f"class {code}"
    table.assign(kind=labels).to_parquet(path)


def start_studio(table: Path) -> tuple[subprocess.Popen[str], str]:
    """Return the process of a studio and the address that it prints."""
    process = subprocess.Popen(
        [sys.executable, "-m", "graphmargin", "studio", table, "-t", "kind", "--no-browser"],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env={**os.environ, "COLUMNS": "500"},
    )
    assert process.stdout is not None
    printed = []
    for line in process.stdout:
        printed.append(line)
        if address := re.search(r"http://\S+\?token=\S+", line):
            return process, address[0]
    raise RuntimeError("".join(printed))


def pan(page: Any) -> None:
    """Drag the map in circles."""
    page.mouse.move(300, 300)
    page.mouse.down()
    for step in range(N_MOVES):
        angle = step / 10
        page.mouse.move(300 + 80 * np.cos(angle), 300 + 80 * np.sin(angle))
    page.mouse.up()


def zoom(page: Any) -> None:
    """Zoom in and out at a place."""
    page.mouse.move(250, 250)
    for step in range(N_MOVES):
        page.mouse.wheel(0, -60 if step < N_MOVES / 2 else 60)


def hover(page: Any) -> None:
    """Move the mouse over the points."""
    for step in range(N_MOVES):
        page.mouse.move(150 + 3 * step, 300 + 60 * np.sin(step / 8))


def scroll(page: Any) -> None:
    """Scroll the table."""
    page.mouse.move(300, 780)
    for _ in range(N_MOVES):
        page.mouse.wheel(0, 900)


def measure(page: Any, act: Callable[[Any], None]) -> list[float]:
    """Return the milliseconds between frames while a person does something."""
    page.evaluate(RECORD)
    act(page)
    return [float(time) for time in page.evaluate(STOP)]


def main() -> None:
    """Print the frames of each way to move."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=100_000)
    n_rows = parser.parse_args().rows
    from playwright.sync_api import sync_playwright

    chromium = shutil.which("chromium") or shutil.which("google-chrome")
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        table = Path(folder) / "points.parquet"
        write_table(table, n_rows)
        process, address = start_studio(table)
        try:
            browser = playwright.chromium.launch(executable_path=chromium)
            page = browser.new_page(viewport={"width": 1280, "height": 860})
            page.set_default_timeout(600_000)
            page.goto(address)
            page.wait_for_selector("#map-panel[data-rows]")
            page.wait_for_timeout(1000)
            lines: list[list[str]] = []
            for act in (pan, zoom, hover, scroll):
                times = measure(page, act)
                low, high = np.percentile(times, [50, 95])
                late = np.mean(np.array(times) > 34)
                times_ms = [f"{low:.1f}", f"{high:.1f}", f"{late:.0%}"]
                lines.append([act.__name__, str(len(times)), *times_ms])
            print(plain([HEADER, *lines]))
            browser.close()
        finally:
            process.kill()
            process.wait()


if __name__ == "__main__":
    main()
