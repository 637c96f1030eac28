"""All methods on the same rows and labels, for many problems, numbers of labels and draws."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, ClassVar, TypeAlias

import numpy as np
from numpy.random import default_rng
from sklearn.semi_supervised import LabelSpreading, SelfTrainingClassifier
from threadpoolctl import threadpool_limits

from benchmarks.safety.problems import PROBLEMS, Problem, make_problem
from graphmargin import HarmonicClassifier, ManifoldSVC, MaxMarginGraphCut, SupervisedSVC
from graphmargin.datasets import mask_labels
from graphmargin.graph.weights import paper_width
from graphmargin.labels import UNLABELED
from reproduction.records import Record
from reproduction.runner import run_settings, seeds, time_fit

Method: TypeAlias = Callable[[Any, int], Any]
"""Function from training rows and a seed to a classifier, which is fitted with -1 for no label."""

LABELS = (2, 10, 100)
DRAWS = 10
SUPERVISED, CUT = "supervised SVM", "cut"


def self_training(X: Any, seed: int) -> Any:
    """Return scikit-learn's self-training of an SVM, with its defaults for the best rows to add.

    These are ten rows in each of ten rounds; a threshold would ask for probabilities that one
    label a class cannot give. All rows decide the width of the kernel, as for the other methods.
    """
    machine = SupervisedSVC(C=10.0, width=paper_width(X), n_jobs=1, random_state=seed)
    return SelfTrainingClassifier(machine, criterion="k_best")


METHODS: Mapping[str, Method] = {
    SUPERVISED: lambda _, seed: SupervisedSVC(C="auto", n_jobs=1, random_state=seed),
    "LabelSpreading": lambda _, __: LabelSpreading(kernel="knn", n_jobs=1),
    "SelfTraining": self_training,
    "HarmonicClassifier": lambda _, seed: HarmonicClassifier(
        gamma_g="auto", n_jobs=1, random_state=seed
    ),
    "ManifoldSVC": lambda _, seed: ManifoldSVC(
        gamma_u="auto", C="auto", n_jobs=1, random_state=seed
    ),
    CUT: lambda _, seed: MaxMarginGraphCut(n_jobs=1, random_state=seed),
}
"""The SVM on the labeled rows, and all who claim to do better with the unlabeled ones."""


@dataclass(frozen=True)
class SafetyRecord(Record):
    """The errors of one method on one draw of a problem.

    Attributes
    ----------
    problem, n_labels, draw, method
        Which one it is; where classes are more than `n_labels`, there is one label for each.
    test_error : float or None
        Share of wrong predictions on held-out rows; None is a failure.
    transductive_error : float or None
        Share of wrong labels of unlabeled training rows.
    seconds : float
        Wall time of `fit`, or until it failed.
    failure : str
        Text of the exception in one line.
    """

    setting_fields: ClassVar = ("problem", "n_labels", "draw")
    part_fields: ClassVar = ("method",)

    problem: str
    n_labels: int
    draw: int
    method: str
    test_error: float | None
    transductive_error: float | None
    seconds: float
    failure: str = ""


def run_problem(
    problem: Problem, n_labels: int, draw: int, methods: Mapping[str, Method]
) -> list[SafetyRecord]:
    """Return a record for every method, all of them with the same rows and labels.

    Two thirds of the rows, drawn at random, are for training; the others are held out. At least
    one row of every class is labeled. A method that fails is a record as well. Rows, labels and
    seeds depend on the name of the problem, `n_labels` and `draw`, not on the methods.
    """
    random = default_rng(seeds(problem.name, n_labels, draw))
    order = random.permutation(len(problem.y))
    train, test = np.split(order, [round(2 / 3 * len(order))])
    if n_labels > len(train):
        msg = (
            f"`n_labels` must be at most {len(train)}, the number of training rows of "
            f"{problem.name!r}, got {n_labels}; ask for fewer labels"
        )
        raise ValueError(msg)
    X, y = problem.X[train], problem.y[train]
    seed = int(random.integers(2**31))
    few = mask_labels(y, fraction=n_labels / len(y), random_state=seed)
    unlabeled = few == UNLABELED

    def errors(model: Any) -> tuple[float, float]:
        test_error = float(np.mean(model.predict(problem.X[test]) != problem.y[test]))
        wrong = _transduction(model, X, unlabeled) != y[unlabeled]
        return test_error, float(np.mean(wrong)) if len(wrong) else 0.0

    def fit(method: Method) -> Any:
        return method(X, seed).fit(X, few)

    records = []
    with threadpool_limits(limits=1):
        for name, method in methods.items():
            both, seconds, failure = time_fit(partial(fit, method), errors)
            results = (*(both or (None, None)), seconds, failure)
            records.append(SafetyRecord(problem.name, n_labels, draw, name, *results))
    return records


def run(
    problems: Sequence[str] = PROBLEMS,
    n_labels: Sequence[int] = LABELS,
    draws: int = DRAWS,
    *,
    methods: Mapping[str, Method] = METHODS,
    out: Path | None = None,
    n_jobs: int = 1,
    verbose: bool = False,
) -> list[SafetyRecord]:
    """Return the records of all draws, those of the first draw first.

    What `out`, a CSV file, has already is not computed again: an interrupted run is resumed, and
    one with more draws or another method adds what is new. Remove lines from it to repeat them.
    """
    # All problems are seen early: the first draw of all comes before the second of any.
    settings = [(p, n, d) for d, n, p in itertools.product(range(draws), n_labels, problems)]
    parts = {(name,): method for name, method in methods.items()}
    return run_settings(
        *(SafetyRecord, settings, parts, _compute),
        out=out,
        n_jobs=n_jobs,
        stage="safety",
        verbose=verbose,
    )


def _compute(
    setting: tuple[str, int, int], parts: Mapping[tuple[str], Method]
) -> list[SafetyRecord]:
    name, n_labels, draw = setting
    methods = {method: make for (method,), make in parts.items()}
    return run_problem(make_problem(name, draw), n_labels, draw, methods)


def _transduction(model: Any, X: Any, unlabeled: np.ndarray) -> np.ndarray:
    """Return the labels of the unlabeled rows: the model's own, predicted where it has none."""
    labels = getattr(model, "transduction_", None)
    if labels is None or (labels[unlabeled] == UNLABELED).any():
        return model.predict(X[unlabeled]) if unlabeled.any() else np.empty(0)
    return labels[unlabeled]
