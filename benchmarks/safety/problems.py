"""Problems where unlabeled rows help, where they cannot help, and where they mislead."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias
from zlib import crc32

import numpy as np
from numpy.random import Generator, SeedSequence, default_rng
from scipy import sparse
from sklearn.preprocessing import normalize

from graphmargin.datasets import load_digits, load_letter, load_segmentation
from reproduction.pairs.splits import standardized

Rows: TypeAlias = tuple[Any, np.ndarray]
"""Features and class codes."""


@dataclass(frozen=True)
class Problem:
    """Rows (sparse or dense), and the class code 0, .., c - 1 of every one of them."""

    name: str
    description: str
    X: Any
    y: np.ndarray


def make_problem(name: str, draw: int) -> Problem:
    """Return the problem of that name.

    Its rows and, where it is generated, its centers, axes and words are drawn anew for every draw.
    """
    description, make = _MAKERS[name]
    X, y = make(default_rng(SeedSequence([crc32(name.encode()), draw])))
    return Problem(name, description, X, y)


def _letter(random: Generator) -> Rows:
    return _some_rows(*load_letter(), 2000, random)


def _digits(random: Generator) -> Rows:
    return _some_rows(*load_digits(), 1500, random)


def _segmentation(random: Generator) -> Rows:
    X, y = load_segmentation()
    return _some_rows(standardized(X), y, 1500, random)


def _some_rows(X: np.ndarray, y: np.ndarray, size: int, random: Generator) -> Rows:
    rows = random.choice(len(y), size=size, replace=False)
    return X[rows], np.unique(y, return_inverse=True)[1][rows]


def _clusters(random: Generator) -> Rows:
    centers = 2.0 * random.normal(size=(16, 10))
    cluster = random.integers(16, size=1200)
    return centers[cluster] + random.normal(size=(1200, 10)), cluster % 2


def _moons(random: Generator) -> Rows:
    y = random.integers(2, size=1200)
    angle = random.uniform(0, np.pi, size=1200)
    sign = 1 - 2 * y
    plane = np.column_stack([np.cos(angle) * sign + y, np.sin(angle) * sign + 0.5 * y])
    return _embed(plane + 0.2 * random.normal(size=plane.shape), 6, 0.2, random), y


def _swiss_roll(random: Generator) -> Rows:
    along, depth = random.uniform(size=(2, 1500))
    angle = 1.5 * np.pi * (1 + 2 * along)
    roll = np.column_stack([angle * np.cos(angle), 21 * depth, angle * np.sin(angle)])
    return roll + 0.5 * random.normal(size=roll.shape), (6 * along).astype(np.int64) % 3


def _gaussians(random: Generator, dimensions: int) -> Rows:
    y = random.integers(2, size=1200)
    shift = 3.0 * _direction(dimensions, random)  # N(0, 1) is below -1.5, Bayes' error, in 6.7 %
    return random.normal(size=(1200, dimensions)) + y[:, None] * shift, y


def _xor(random: Generator) -> Rows:
    corner = random.integers(2, size=(1200, 2))
    blobs = 2.0 * corner - 1 + 0.5 * random.normal(size=(1200, 2))
    return _embed(blobs, 4, 0.5, random), corner[:, 0] ^ corner[:, 1]


def _imbalanced(random: Generator) -> Rows:
    y = (random.random(1500) < 1 / 11).astype(np.int64)
    return random.normal(size=(1500, 5)) + 2.5 * y[:, None] * _direction(5, random), y


def _noisy_features(random: Generator) -> Rows:
    centers = 3.0 * random.permutation(np.array([[0, 0, 0], [1, 1, 0], [0, 1, 1], [1, 0, 1]]))
    cluster = random.integers(4, size=1200)
    informative = centers[cluster] + random.normal(size=(1200, 3))
    return np.hstack([informative, random.normal(size=(1200, 30))]), cluster % 2


def _many_classes(random: Generator) -> Rows:
    centers = 1.5 * random.normal(size=(20, 10))
    y = random.integers(20, size=1500)
    return centers[y] + random.normal(size=(1500, 10)), y


def _text(random: Generator) -> Rows:
    words, topics, classes, n = 4000, 20, 4, 1200
    common = 1.0 / np.arange(1, words + 1)  # Zipf's law
    topic_words = random.dirichlet(np.full(words, 0.05), size=topics)
    y = random.integers(classes, size=n)
    # A document prefers the topics of its class, and visits others.
    taste = np.where(np.arange(topics) % classes == y[:, None], 0.5, 0.04)
    share = random.standard_gamma(taste)
    share *= 0.7 / share.sum(axis=1, keepdims=True)
    length = 50 + random.poisson(100, size=n)
    sizes = random.multinomial(length, np.column_stack([share, np.full(n, 0.3)]))
    counts = sparse.csr_array((n, words))
    for size, chance in zip(sizes.T, [*topic_words, common / common.sum()], strict=True):
        document = np.repeat(np.arange(n, dtype=np.int32), size)
        word = random.choice(words, size=len(document), p=chance).astype(np.int32)
        counts += sparse.csr_array((np.ones(len(word)), (document, word)), shape=(n, words))
    return sparse.csr_array(normalize(counts)), y


def _checkerboard(random: Generator) -> Rows:
    X = random.uniform(0, 3, size=(1500, 2))
    return X, X.astype(np.int64).sum(axis=1) % 2


def _linear_uniform(random: Generator) -> Rows:
    X = random.uniform(-1, 1, size=(1200, 8))
    return X, (X @ random.normal(size=8) > 0).astype(np.int64)


def _crossed_clusters(random: Generator) -> Rows:
    cluster = random.integers(4, size=1200)
    within = random.normal(size=(1200, 4))
    X = np.column_stack([6.0 * cluster + within[:, 0], within[:, 1:]])
    return X @ _rotation(4, random), (within[:, 1] > 0).astype(np.int64)


def _embed(points: np.ndarray, dimensions: int, noise: float, random: Generator) -> np.ndarray:
    """Return the points among further features that are noise, all rotated."""
    n, d = points.shape
    extra = noise * random.normal(size=(n, dimensions - d))
    return np.asarray(np.hstack([points, extra]) @ _rotation(dimensions, random))


def _direction(dimensions: int, random: Generator) -> np.ndarray:
    arrow = random.normal(size=dimensions)
    return np.asarray(arrow / np.linalg.norm(arrow))


def _rotation(dimensions: int, random: Generator) -> np.ndarray:
    return np.asarray(np.linalg.qr(random.normal(size=(dimensions, dimensions)))[0])


_MAKERS: dict[str, tuple[str, Callable[[Generator], Rows]]] = {
    "letter": ("26 letters by 16 numbers each, classes of several shapes", _letter),
    "digits": ("handwritten digits, 64 pixels, one cluster or few for each class", _digits),
    "segmentation": ("patches of outdoor images, 19 standardized features", _segmentation),
    "clusters": ("two classes of 8 Gaussian clusters each, far apart, 10 dimensions", _clusters),
    "moons": (
        "two noisy moons, a curved cluster for each class, rotated into 6 dimensions",
        _moons,
    ),
    "swiss-roll": ("a rolled sheet, three classes that alternate along it", _swiss_roll),
    "gaussians-50": (
        "two overlapping Gaussians in 50 dimensions, no other structure",
        lambda random: _gaussians(random, 50),
    ),
    "gaussians-250": (
        "two overlapping Gaussians in 250 dimensions, no other structure",
        lambda random: _gaussians(random, 250),
    ),
    "xor": ("four touching blobs, opposite ones of the same class, 4 dimensions", _xor),
    "imbalanced": ("two overlapping Gaussians, one of them ten times as frequent", _imbalanced),
    "noisy-features": ("four blobs in 3 features, 30 more features are noise", _noisy_features),
    "many-classes": ("20 classes, a Gaussian blob each, 10 dimensions", _many_classes),
    "text": ("word counts of a topic model, 4 classes, sparse, 4,000 columns", _text),
    "checkerboard": ("uniform points on 3 x 3 alternating fields, no gaps", _checkerboard),
    "linear-uniform": ("uniform points cut by a hyperplane, no clusters at all", _linear_uniform),
    "crossed-clusters": ("four clear clusters, each cut in half by the classes", _crossed_clusters),
}

PROBLEMS: tuple[str, ...] = tuple(_MAKERS)
"""Names of the problems."""
