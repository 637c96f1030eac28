"""Problems with known classes, from five hundred rows to a million."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.random import Generator

from graphmargin.datasets import load_digits, load_letter, mask_labels

N_NEW = 100_000
ROWS_AT_ONCE = 1_000_000


@dataclass(frozen=True)
class Problem:
    """Rows, few labels (-1: unlabeled) and the true classes; some problems have new rows."""

    X: Any
    y: Any
    y_few: Any
    X_new: Any = None
    y_new: Any = None
    metric: str = "euclidean"

    @property
    def hidden(self) -> Any:
        """Mask of the unlabeled rows."""
        return self.y_few == -1


def digits(seed: int) -> Problem:
    """5,620 x 64 digits, ten classes, five labels a class."""
    X, y = load_digits()
    return Problem(X, y, mask_labels(y, per_class=5, random_state=seed))


def letter(seed: int) -> Problem:
    """20,000 x 16 letters, 26 classes, ten labels a class."""
    X, letters = load_letter()
    y = np.unique(letters, return_inverse=True)[1]
    return Problem(X, y, mask_labels(y, per_class=10, random_state=seed))


def letter_pair(seed: int) -> Problem:
    """500 x 16 letters E and F, five labels each."""
    X, letters = load_letter()
    rows = np.flatnonzero(np.isin(letters, ["E", "F"]))
    rows = np.sort(np.random.default_rng([4, seed]).choice(rows, 500, replace=False))
    y = (letters[rows] == "F").astype(np.int64)
    return Problem(X[rows], y, mask_labels(y, per_class=5, random_state=seed))


def mixture(
    seed: int, n: int, d: int = 64, *, n_classes: int = 10, labels_per_class: int = 20
) -> Problem:
    """Gaussian mixture of n x d, 12 latent dimensions, 50 clusters, which overlap.

    The clusters are the same for every seed; those of a class are far from each other.
    """
    world = np.random.default_rng(0)
    centers = world.normal(size=(50, 12)) * 1.5
    shapes = world.normal(size=(50, 12, 12)) / np.sqrt(12)
    lift = np.linalg.qr(world.normal(size=(d, 12)))[0].T

    def draw(random: Generator, size: int) -> tuple[Any, Any]:
        cluster = random.integers(50, size=size)
        X = np.empty((size, d), dtype=np.float32)
        for first in range(0, size, ROWS_AT_ONCE):  # a large problem is drawn in parts
            part = slice(first, first + ROWS_AT_ONCE)
            latent = random.normal(size=(len(X[part]), 12))
            for c in range(50):
                rows = cluster[part] == c
                latent[rows] = latent[rows] @ shapes[c] + centers[c]
            X[part] = latent @ lift
            X[part] += 0.1 * random.standard_normal(X[part].shape, dtype=np.float32)
        return X, cluster % n_classes

    random = np.random.default_rng([1, seed])
    X, y = draw(random, n)
    X_new, y_new = draw(random, N_NEW)
    y_few = mask_labels(y, per_class=labels_per_class, random_state=seed)
    return Problem(X, y, y_few, X_new, y_new)


def sheets(seed: int) -> Problem:
    """697,526 x 15, two folded sheets, one tenth as large as the other, 2 percent of labels."""
    world, random = np.random.default_rng(0), np.random.default_rng([2, seed])
    n = 697_526
    y = (random.random(n) < 1 / 11).astype(np.int64)
    plane = random.uniform(-1, 1, size=(n, 3))
    waves = world.normal(size=(3, 15)) * 2.0
    phases = world.uniform(0, 2 * np.pi, size=15)
    X = np.sin(plane @ waves + phases)
    X += y[:, None] * world.normal(size=15) * 0.12
    X += 0.05 * random.normal(size=X.shape)
    return Problem(X, y, _keep_share(y, 13_731 / n, random))


def unit_vectors(seed: int, n: int = 200_000) -> Problem:
    """N x 384 unit vectors like text embeddings, 20 classes of 10 topics, 20 labels each."""
    world, random = np.random.default_rng(0), np.random.default_rng([3, seed])
    d = 384
    topics = world.normal(size=(200, d)) / np.sqrt(d) + world.normal(size=d) / np.sqrt(d)
    axes = world.normal(size=(200, 8, d)).astype(np.float32) / np.sqrt(d)
    topic = random.integers(200, size=n)
    X = np.float32(0.5 / np.sqrt(d)) * random.standard_normal((n, d), dtype=np.float32)
    for t in range(200):
        rows = np.flatnonzero(topic == t)
        local = random.standard_normal((len(rows), 8), dtype=np.float32)
        X[rows] += (topics[t] + 0.35 * local @ axes[t]).astype(np.float32)
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    y = topic % 20
    y_few = mask_labels(y, per_class=20, random_state=seed)
    return Problem(X, y, y_few, metric="cosine")


def many_classes(seed: int, n_classes: int) -> Problem:
    """Gaussian clouds of ten rows of 8 features in each of many classes, three labels a class."""
    random = np.random.default_rng([6, seed])
    y = random.permutation(np.repeat(np.arange(n_classes), 10))
    X = 3.0 * random.normal(size=(n_classes, 8))[y] + random.normal(size=(len(y), 8))
    return Problem(X, y, mask_labels(y, per_class=3, random_state=seed))


def _keep_share(y: Any, share: float, random: Generator) -> Any:
    return np.where(random.random(len(y)) < share, y, -1)


PROBLEMS: dict[str, Callable[[int], Problem]] = {
    "digits": digits,
    "letter": letter,
    "letter-pair": letter_pair,
    "sheets": sheets,
    "mixture-1e3": lambda seed: mixture(seed, 1000),
    "mixture-1e4": lambda seed: mixture(seed, 10_000),
    "mixture-1e5": lambda seed: mixture(seed, 100_000),
    "mixture-2e5": lambda seed: mixture(seed, 200_000),
    "mixture-5e5": lambda seed: mixture(seed, 500_000),
    "mixture-1e6": lambda seed: mixture(seed, 1_000_000),
    "mixture16-4e3": lambda seed: mixture(seed, 4000, 16),
    "mixture16-1e5": lambda seed: mixture(seed, 100_000, 16),
    "mixture19-1e5": lambda seed: mixture(seed, 100_000, 19, n_classes=5, labels_per_class=100),
    "mixture16-1e6": lambda seed: mixture(seed, 1_000_000, 16),
    "mixture16-1e7": lambda seed: mixture(seed, 10_000_000, 16, n_classes=5, labels_per_class=200),
    "classes-10": lambda seed: many_classes(seed, 10),
    "classes-20": lambda seed: many_classes(seed, 20),
    "classes-50": lambda seed: many_classes(seed, 50),
    "classes-100": lambda seed: many_classes(seed, 100),
    "classes-200": lambda seed: many_classes(seed, 200),
    "unit-vectors": unit_vectors,
    "unit-vectors-1e6": lambda seed: unit_vectors(seed, 1_000_000),
}
