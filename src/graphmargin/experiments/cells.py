"""A cell of an experiment: all methods on the same rows and labels. Many cells, in processes."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.random import default_rng
from threadpoolctl import threadpool_limits

from graphmargin._checks import check_choice, check_integer
from graphmargin._typing import AnyArray, ProgressCallback
from graphmargin.datasets import mask_labels
from graphmargin.experiments.methods import METHODS, Method, Methods
from graphmargin.experiments.problems import PROBLEMS, Problem, problem
from graphmargin.experiments.running import attempt, read_csv, run_cells, seeds
from graphmargin.labels import UNLABELED

LABELS = (2, 10, 100)
DRAWS = 10

Cell: TypeAlias = tuple[str, int, int]
"""Problem, number of labels, draw."""


@dataclass(frozen=True)
class Record:
    """What one method did in one cell.

    Attributes
    ----------
    problem, n_labels, draw, method
        Which one it is; `n_labels` as asked for, where classes are more there is one for each.
    test_error : float or None
        Share of wrong predictions on held-out rows; None is a failure.
    transductive_error : float or None
        Share of wrong labels of unlabeled training rows.
    seconds : float
        Wall time of `fit`, or until it failed.
    failure : str
        What the exception said, in one line.

    Examples
    --------
    >>> from graphmargin.experiments import Record
    >>> record = Record("moons", 10, 0, "SVM", test_error=0.1, transductive_error=0.2, seconds=0.3)
    >>> record.title
    'moons, 10 labels, draw 0'
    """

    problem: str
    n_labels: int
    draw: int
    method: str
    test_error: float | None
    transductive_error: float | None
    seconds: float
    failure: str = ""

    @property
    def cell(self) -> Cell:
        """Which rows and labels."""
        return self.problem, self.n_labels, self.draw

    @property
    def part(self) -> str:
        """The method."""
        return self.method

    @property
    def title(self) -> str:
        """The cell in words."""
        return f"{self.problem}, {self.n_labels} labels, draw {self.draw}"


def run_cell(problem: Problem, n_labels: int, draw: int, methods: Methods) -> list[Record]:
    """Return a record for every method, all of them with the same rows and labels.

    Two thirds of the rows, drawn at random, are for training; the others are held out. At least
    one row of every class is labeled. A method that fails is a record as well. Rows, labels and
    seeds depend on the name of the problem, `n_labels` and `draw`, not on the methods.

    Examples
    --------
    >>> from graphmargin import SupervisedSVC
    >>> from graphmargin.experiments import problem, run_cell
    >>> methods = {"SVM": lambda X, seed: SupervisedSVC(random_state=seed)}
    >>> records = run_cell(problem("xor", 0), 100, 0, methods)
    >>> records[0].method, records[0].test_error < 0.2
    ('SVM', True)
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
    held_out = problem.X[test], problem.y[test]
    with threadpool_limits(limits=1):
        return [
            Record(problem.name, n_labels, draw, name, *_measure(method, X, y, few, held_out, seed))
            for name, method in methods.items()
        ]


def run(
    problems: Sequence[str] = PROBLEMS,
    n_labels: Sequence[int] = LABELS,
    draws: int = DRAWS,
    *,
    n_jobs: int = 1,
    out: str | Path | None = None,
    methods: Methods = METHODS,
    progress: ProgressCallback | None = None,
) -> list[Record]:
    """Return the records of all cells, ordered by problem, number of labels, draw and method.

    Parameters
    ----------
    problems : sequence of str, default=PROBLEMS
    n_labels : sequence of int, default=(2, 10, 100)
    draws : int, default=10
        For each of which rows and labels are drawn anew.
    n_jobs : int, default=1
        Number of processes, each with a single thread; -1 is one for each core.
    out : path, optional
        CSV file to which every finished cell is appended at once. What it has already is not
        computed again: an interrupted experiment goes on, and one with more draws or another
        method adds what is new. Remove lines from it to repeat them.
    methods : mapping, default=METHODS
        From names to functions of training rows and a seed that return a classifier.
    progress : callable, optional
        Is told the share of the cells that are done, and which one was last.

    Examples
    --------
    >>> from graphmargin import SupervisedSVC
    >>> from graphmargin.experiments import run
    >>> methods = {"SVM": lambda X, seed: SupervisedSVC(random_state=seed)}
    >>> [record.draw for record in run(["xor"], [10], 2, methods=methods)]
    [0, 1]
    """
    _check_grid(problems, n_labels, draws)
    # All problems are seen early: the first draw of all comes before the second of any.
    cells = [(p, n, d) for d, n, p in itertools.product(range(draws), n_labels, problems)]
    known = run_cells(Record, cells, methods, _compute, n_jobs=n_jobs, out=out, progress=progress)
    return [known[key] for key in itertools.product(problems, n_labels, range(draws), methods)]


def read_records(path: str | Path) -> list[Record]:
    """Return the records in a CSV file that `run` wrote.

    A last line that was not finished is left out.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from graphmargin import SupervisedSVC
    >>> from graphmargin.experiments import read_records, run
    >>> methods = {"SVM": lambda X, seed: SupervisedSVC(random_state=seed)}
    >>> with TemporaryDirectory() as folder:
    ...     records = run(["xor"], [10], 1, methods=methods, out=Path(folder) / "xor.csv")
    ...     read_records(Path(folder) / "xor.csv") == records
    True
    """
    return read_csv(path, Record)


def _measure(
    method: Method, X: Any, y: AnyArray, few: AnyArray, held_out: tuple[Any, AnyArray], seed: int
) -> tuple[float | None, float | None, float, str]:
    """Return both errors, the seconds of `fit`, and the failure if there is one."""
    hidden = few == UNLABELED

    def errors(model: Any) -> tuple[float, float]:
        test_error = float(np.mean(model.predict(held_out[0]) != held_out[1]))
        wrong = _transduction(model, X, hidden) != y[hidden]
        return test_error, float(np.mean(wrong)) if len(wrong) else 0.0

    both, seconds, failure = attempt(lambda: method(X, seed).fit(X, few), errors)
    return *(both or (None, None)), seconds, failure


def _transduction(model: Any, X: Any, hidden: AnyArray) -> AnyArray:
    """Return the labels of the unlabeled rows: the model's own, predicted where it has none."""
    own = getattr(model, "transduction_", None)
    if own is None or (own[hidden] == UNLABELED).any():
        return np.asarray(model.predict(X[hidden])) if hidden.any() else np.empty(0)
    return np.asarray(own[hidden])


def _compute(cell: Cell, methods: Methods) -> list[Record]:
    name, n_labels, draw = cell
    return run_cell(problem(name, draw), n_labels, draw, methods)


def _check_grid(problems: Sequence[str], n_labels: Sequence[int], draws: int) -> None:
    for name in problems:
        check_choice("problems", name, PROBLEMS)
    for count in n_labels:
        check_integer("n_labels", count, low=1)
    check_integer("draws", draws, low=1)
