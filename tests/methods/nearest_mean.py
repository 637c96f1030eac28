"""Nearest class means: a method of your own, which CONTRIBUTING.md quotes."""

from dataclasses import dataclass
from functools import partial

import numpy as np
from scipy.special import softmax

from graphmargin.search import FittedMember, Method, Trials


@dataclass(frozen=True)
class ClassMeans:
    """The part that labels new rows: a class is likely if its mean is near."""

    means: np.ndarray

    def probabilities(self, X):
        """Return the class probabilities of new rows."""
        scores = X @ self.means.T - (self.means**2).sum(axis=1) / 2
        return softmax(scores / (self.means.var(axis=0).sum() or 1.0), axis=1)

    def label(self, X):
        """Return the class codes and the class probabilities of new rows."""
        distributions = self.probabilities(X)
        return distributions.argmax(axis=1), distributions


@dataclass(frozen=True)
class NearestMean(Method):
    """A row has the class of the nearest mean, after some steps of soft k-means."""

    steps: tuple[int, ...] = (0, 10)

    @property
    def assumption(self):
        return "classes are round"

    def candidates(self, data):
        """Return the candidates to try."""
        return [{"steps": steps} for steps in self.steps]

    def try_(self, data, candidates, progress):
        """Return the predictions of all candidates for the held-out labels."""
        supervised = [candidate["steps"] == 0 for candidate in candidates]
        return Trials.from_parts(data, candidates, partial(train, data.X), supervised=supervised)

    def fit(self, data, choice):
        """Return the chosen candidate, trained on all labels."""
        return FittedMember.from_part(train(data.X, data.labels, choice.best_params), data)


def train(X, labels, candidate):
    """Return the class means; each step adds unlabeled rows, weighted by their probabilities."""
    shares = given = labels.one_hot
    for _ in range(candidate["steps"] + 1):
        part = ClassMeans(shares.T @ X / shares.sum(axis=0)[:, None])
        shares = np.where(labels.labeled[:, None], given, part.probabilities(X))
    return part
