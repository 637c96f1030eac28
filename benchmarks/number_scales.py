"""The error of the ensemble on raw columns, beside rows that are standardized or left as they are.

Tables are as their authors measured them; words are indicators. Each draw has at most 1,500 rows
and some labels a class. Three fits of `SemiSupervisedEnsemble` have the same rows and labels: with
`scale="none"` on the raw rows, with `scale="none"` on rows that `StandardScaler` has seen, and with
the default on the raw rows. Principal components of digits show what the rule does to columns that
have different scales but one unit. Prints mean errors in percent and the CPU time of each:

    python -m benchmarks.number_scales [--labels 10] [--draws 5] [TABLE ...]

It takes about five minutes.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable

import numpy as np
from sklearn import datasets
from sklearn.decomposition import PCA
from sklearn.preprocessing import StandardScaler

from benchmarks.common_tables import common_table
from benchmarks.keel import Table, raw_keel_table
from benchmarks.report import plain
from graphmargin import SemiSupervisedEnsemble
from graphmargin.datasets import load_digits, load_letter, load_segmentation, mask_labels

MAX_ROWS = 1500
KEEL = (
    *("vowel", "sonar", "penbased", "satimage", "texture", "movement_libras", "phoneme", "pima"),
    *("vehicle", "spambase", "ionosphere", "magic", "wisconsin", "heart", "australian", "bupa"),
    *("saheart", "german", "banana", "marketing", "twonorm", "ring"),
)
COMMON = (
    *("glass", "ecoli", "yeast", "newthyroid", "abalone", "dermatology", "spectfheart", "kc1"),
    *("cm1", "pc1", "page-blocks", "haberman", "cleveland", "hypothyroid", "balance"),
)


def _numbers(columns: list[np.ndarray]) -> np.ndarray:
    """Return columns of numbers as they are, and an indicator for each word of the others."""
    parts = []
    for column in columns:
        if column.dtype.kind in "biuf":
            parts.append(column.astype(np.float64)[:, None])
            continue
        words = np.array([str(word).strip() for word in column])
        distinct = np.unique(words)
        parts.append((words[:, None] == distinct[len(distinct) == 2 :]).astype(np.float64))
    return np.hstack(parts)


def _of_columns(load: Callable[[str], tuple[list[np.ndarray], np.ndarray]], name: str) -> Table:
    columns, labels = load(name)
    return _numbers(columns), np.array([str(label).strip() for label in labels])


def _components() -> Table:
    X, y = load_digits()
    return PCA().fit_transform(X), y


TABLES: dict[str, Callable[[], Table]] = {
    "wine": lambda: datasets.load_wine(return_X_y=True),
    "breast cancer": lambda: datasets.load_breast_cancer(return_X_y=True),
    "iris": lambda: datasets.load_iris(return_X_y=True),
    "digits": load_digits,
    "digits, components": _components,
    "letter": load_letter,
    "segmentation": load_segmentation,
    **{name: lambda name=name: _of_columns(raw_keel_table, name) for name in KEEL},
    **{name: lambda name=name: _of_columns(common_table, name) for name in COMMON},
}
SYSTEMS = ("as given", "standardized", "default")


def errors(table: Table, per_class: int, draw: int) -> tuple[list[float], list[float]]:
    """Return the errors in percent on unlabeled rows, and the CPU seconds, of all systems."""
    rows = np.random.default_rng(draw).permutation(len(table[1]))[:MAX_ROWS]
    X, y = table[0][rows], np.unique(table[1][rows], return_inverse=True)[1]
    kept = (np.bincount(y) >= 2 * per_class)[y]
    X, y = np.ascontiguousarray(X[kept]), np.unique(y[kept], return_inverse=True)[1]
    few = mask_labels(y, per_class=per_class, random_state=draw)
    hidden = few == -1
    wrong, seconds = [], []
    for system in SYSTEMS:
        start = time.process_time()
        Z = StandardScaler().fit_transform(X) if system == "standardized" else X
        scale = "auto" if system == "default" else "none"
        model = SemiSupervisedEnsemble(scale=scale, random_state=0).fit(Z, few)
        seconds.append(time.process_time() - start)
        wrong.append(100 * float(np.mean(model.transduction_[hidden] != y[hidden])))
    return wrong, seconds


def main() -> None:
    """Print a line for each table when it is done, and the means."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.number_scales", description=__doc__)
    parser.add_argument("tables", nargs="*", metavar="TABLE", help=", ".join(TABLES))
    parser.add_argument("--labels", type=int, default=10, help="labels a class")
    parser.add_argument("--draws", type=int, default=5)
    given = parser.parse_args()
    warnings.simplefilter("ignore")  # rows that no label reaches are expected with few labels
    rows, means, times = [], [], []
    for name in given.tables or TABLES:
        table = TABLES[name]()
        drawn = [errors(table, given.labels, draw) for draw in range(given.draws)]
        mean = np.mean([wrong for wrong, _ in drawn], axis=0)
        means.append(mean)
        times.append(np.mean([seconds for _, seconds in drawn], axis=0))
        rows.append([name, *(f"{error:.1f}" for error in mean), f"{mean[2] - mean[:2].min():+.1f}"])
        print(*rows[-1], sep="  ", flush=True)
    rows.append(["mean", *(f"{error:.2f}" for error in np.mean(means, axis=0)), ""])
    rows.append(["CPU s", *(f"{seconds:.2f}" for seconds in np.mean(times, axis=0)), ""])
    print(plain([["table", *SYSTEMS, "default - best"], *rows]))


if __name__ == "__main__":
    main()
