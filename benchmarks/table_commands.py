"""The cost and accuracy of the commands for tables.

- digits: the table of handwritten digits as a CSV file with labels in 1 % of the rows, labeled by
  ``graphmargin label``; its error beside that of `MaxMarginGraphCut` on the same numbers.
- mixed: the same task with numbers, categories, dates, text and missing cells in a CSV file.
- predict: a Parquet file of a million rows, by ``graphmargin predict``: seconds, and the peak
  memory of the process, beside a script that reads the whole file and predicts by the same model.

- read: a CSV file of 200,000 rows and 16 columns of numbers, by `read_table` and as numbers, and by
  pandas; the ratio of wall and of processor seconds.
- suggest: 20 suggestions on the graphs of letter and of a mixture of 200,000 rows.

`python -m benchmarks.table_commands` takes five minutes; it accepts names of parts as arguments.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet

from benchmarks.problems import letter, mixture
from graphmargin import HarmonicClassifier, MaxMarginGraphCut, suggest_labels
from graphmargin.datasets import load_digits, mask_labels
from graphmargin.tables.column_parsing import parse_numbers
from graphmargin.tables.reading import read_table

COMMAND = [sys.executable, "-m", "graphmargin"]
N_ROWS, N_FEATURES, N_GROUPS = 1_000_000, 16, 10
DRAWS = 3
READ_TURNS = 11
WORDS = np.array(["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine"])
AT_ONCE = """
import sys, pandas, graphmargin
table = pandas.read_parquet(sys.argv[2])
labels, confidence = graphmargin.load_model(sys.argv[1]).label(table)
table.assign(kind=labels, kind_confidence=confidence).to_parquet(sys.argv[3])
"""


def measure_process(command: list[str]) -> tuple[float, float]:
    """Return the wall seconds of a process and its peak memory in GB."""
    start = time.perf_counter()
    process = subprocess.Popen(command)
    _, status, usage = os.wait4(process.pid, 0)
    if status:
        msg = f"{command} ended with status {status}"
        raise RuntimeError(msg)
    return time.perf_counter() - start, usage.ru_maxrss / 1e6


def digits(folder: Path) -> None:
    """Print errors of the command and of the estimator on the same labels."""
    X, y = load_digits()
    for draw in range(DRAWS):
        few = mask_labels(y, fraction=0.01, random_state=draw)
        table = pd.DataFrame(X, columns=[f"p{i}" for i in range(64)])
        table["digit"] = pd.array(few, dtype="Int64")
        table.loc[few == -1, "digit"] = pd.NA
        errors = _errors(folder, table, "digit", y, few == -1)
        alone = MaxMarginGraphCut(random_state=0).fit(X, few)
        estimator_error = (alone.transduction_ != y)[few == -1].mean()
        print(
            f"digits, 1 % labels, draw {draw}: label {errors:.2%}, estimator {estimator_error:.2%}"
        )


def mixed(folder: Path) -> None:
    """Print errors on a table with columns of all kinds, beside those of its numbers alone."""
    X, y = load_digits()
    rng = np.random.default_rng(0)
    for draw in range(DRAWS):
        few = mask_labels(y, fraction=0.01, random_state=draw)
        table = pd.DataFrame(X[:, 16:48], columns=[f"p{i}" for i in range(32)])
        table = table.mask(rng.random(table.shape) < 0.02)
        other = rng.integers(0, 10, len(y))
        seen = np.where(rng.random(len(y)) < 0.5, y, other)
        table["name"] = [f"n{i:05d}" for i in range(len(y))]
        table["shape"] = np.where(np.isin(seen, (0, 6, 8, 9)), "round", "open")
        table["day"] = pd.Timestamp("2024-01-01") + pd.to_timedelta(30 * seen, unit="D")
        noted = np.where(rng.random(len(y)) < 0.3, y, other)
        table["note"] = [f"looks like {WORDS[k]} to reader {i % 50}" for i, k in enumerate(noted)]
        numbers = table[[name for name in table if name.startswith("p")]]
        digit = np.where(few == -1, None, WORDS[y])
        everything = _errors(folder, table.assign(digit=digit), "digit", WORDS[y], few == -1)
        alone = _errors(folder, numbers.assign(digit=digit), "digit", WORDS[y], few == -1)
        print(f"mixed, 1 % labels, draw {draw}: all {everything:.2%}, numbers alone {alone:.2%}")


def predict(folder: Path) -> None:
    """Print seconds and memory of predictions for a million rows."""
    rng = np.random.default_rng(0)
    centers = rng.normal(size=(N_GROUPS, N_FEATURES)) * 2
    names = [f"x{i}" for i in range(N_FEATURES)]

    def rows(n: int) -> tuple[pd.DataFrame, np.ndarray]:
        group = rng.integers(0, N_GROUPS, n)
        points = centers[group] + rng.normal(size=(n, N_FEATURES))
        table = pd.DataFrame(points, columns=names)
        table["color"] = rng.choice(["red", "green", "blue"], n)
        return table, group

    table, group = rows(10_000)
    table["kind"] = np.where(np.arange(len(group)) < 200, [f"k{g}" for g in group], None)
    table.to_parquet(folder / "few.parquet")
    model, new, out = folder / "few.graphmargin", folder / "new.parquet", folder / "out.parquet"
    fit = ["fit", str(folder / "few.parquet"), "-t", "kind", "--model", str(model), "-q"]
    measure_process([*COMMAND, *fit])
    writer = None
    for _ in range(10):
        part = pa.Table.from_pandas(rows(N_ROWS // 10)[0])
        writer = writer or pa.parquet.ParquetWriter(new, part.schema)
        writer.write_table(part)
    writer.close()
    in_chunks = measure_process(
        [*COMMAND, "predict", str(model), str(new), "--out", str(out), "-q"]
    )
    at_once = measure_process([sys.executable, "-c", AT_ONCE, str(model), str(new), str(out)])
    for name, (seconds, memory) in (("predict", in_chunks), ("all at once", at_once)):
        print(f"{N_ROWS:,} rows, {name}: {seconds:.1f} s, {memory:.2f} GB")
    print(f"memory of all at once: {at_once[1] / in_chunks[1]:.1f} times that of predict")


def read(folder: Path) -> None:
    """Print the medians of reading a file of numbers in turns, and the ratios to pandas."""
    path = folder / "numbers.csv"
    numbers = np.random.default_rng(0).normal(size=(200_000, N_FEATURES))
    pd.DataFrame(numbers, columns=[f"x{i}" for i in range(N_FEATURES)]).to_csv(path, index=False)

    def numbers_of_table() -> None:
        table = read_table(path)
        for name in table:
            parse_numbers(table[name])

    calls = {
        "pandas": partial(pd.read_csv, path),
        "read_table, as text": partial(read_table, path),
        "read_table, as numbers": numbers_of_table,
    }
    for call in calls.values():  # the first calls import modules
        call()
    turns = []
    for _ in range(READ_TURNS):
        for call in calls.values():
            wall, processor = time.perf_counter(), time.process_time()
            call()
            turns.append((time.perf_counter() - wall, time.process_time() - processor))
    seconds = np.array(turns).reshape(READ_TURNS, len(calls), 2)
    ratios = np.median(seconds / seconds[:, :1], axis=0)
    for name, (wall, processor), ratio in zip(
        calls, np.median(seconds, axis=0), ratios, strict=True
    ):
        print(
            f"read, {name}: {wall:.2f} s, {ratio[0]:.2f} times pandas; processor {processor:.2f} "
            f"s, {ratio[1]:.2f} times"
        )


def suggest(_: Path) -> None:
    """Print seconds of suggestions on graphs that were built, after kernels were compiled."""
    for name, problem in (("letter", letter(0)), ("mixture", mixture(0, 200_000))):
        model = HarmonicClassifier(gamma_g=0.1).fit(problem.X, problem.y_few)
        suggest_labels(model.harmonic_solution_, 1)
        seconds = _seconds(partial(suggest_labels, model.harmonic_solution_, 20))
        print(f"20 suggestions, {name}, {len(problem.y):,} rows: {seconds:.1f} s")


def _seconds(call: Callable[[], object]) -> float:
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def _errors(
    folder: Path, table: pd.DataFrame, target: str, y: np.ndarray, hidden: np.ndarray
) -> float:
    """Return the share of wrong labels among those that the command adds."""
    source, out = folder / "table.csv", folder / "out.csv"
    table.to_csv(source, index=False)
    measure_process([*COMMAND, "label", str(source), "-t", target, "--out", str(out), "-q"])
    return float((read_table(out)[target].to_numpy() != y.astype(str))[hidden].mean())


def main() -> None:
    """Run the parts that the command line names, or all of them."""
    with tempfile.TemporaryDirectory() as folder:
        for part in (digits, mixed, predict, read, suggest):
            if part.__name__ in (sys.argv[1:] or part.__name__):
                part(Path(folder))


if __name__ == "__main__":
    main()
