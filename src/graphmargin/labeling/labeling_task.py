"""Labels for all rows of a partly labeled table, and a model for new ones."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from graphmargin._progress import progress_listener
from graphmargin._typing import AnyArray, FloatArray, IntArray, ProgressListener
from graphmargin.harmonic.solution import HarmonicSolution, solve_path
from graphmargin.labeling.findings import GIVEN, INDUCED, MODEL
from graphmargin.labels import encode_labels
from graphmargin.margin.kernels import Kernel
from graphmargin.models.table_model import TableModel
from graphmargin.selection.choice import Choice
from graphmargin.selection.cut_trials import max_blended, try_cuts
from graphmargin.selection.cuts import FittedCut, blend_cuts
from graphmargin.selection.execution import Execution, UnreachedWarning
from graphmargin.selection.graph_reports import GraphReport, graph_report
from graphmargin.selection.held_out import default_held_out
from graphmargin.selection.parameters import GraphParameters, KernelParameters, Parameters
from graphmargin.selection.tasks import choose_among, make_tasks
from graphmargin.tables.column_names import ColumnUse, check_not_taken
from graphmargin.tables.reading import read_table
from graphmargin.tables.table_errors import TableError
from graphmargin.tables.table_features import TableFeatures, fit_transform
from graphmargin.tables.target import Target, read_target

if TYPE_CHECKING:
    import pandas as pd

N_NEIGHBORS = 5
"""Number of neighbors in the graph, as in `MaxMarginGraphCut`; fewer in a table of fewer rows."""
EXPLANATION_GAMMA_G = 0.01
"""The gamma_g that explains and checks labels if none was chosen: little goes to the sink."""


@dataclass(frozen=True)
class LabelingTask:
    """A table with a column of labels, some of them missing.

    Attributes
    ----------
    name : str
        Of the file.
    table : DataFrame
        As it was read.
    target : Target
        Its classes, and the class of every row that has a label.
    features : TableFeatures
        Fitted on all rows.
    X : array of shape (n_rows, n_features)
    """

    name: str
    table: pd.DataFrame
    target: Target
    features: TableFeatures
    X: FloatArray

    @property
    def n_labels(self) -> int:
        """Rows with a label."""
        return int(self.target.labeled.sum())

    @property
    def columns(self) -> tuple[ColumnUse, ...]:
        """The use of all columns but the target."""
        return tuple(use for use in self.features.columns if use.name != self.target.name)


def read_task(
    path: Path,
    target: str,
    *,
    unlabeled: Sequence[str] = (),
    ignore: Sequence[str] = (),
    keep: Sequence[str] = (),
) -> LabelingTask:
    """Read a table from a file, see `task_of`."""
    table = read_table(path)
    return task_of(table, target, name=path.name, unlabeled=unlabeled, ignore=ignore, keep=keep)


def task_of(
    table: pd.DataFrame,
    target: str,
    *,
    name: str = "table",
    unlabeled: Sequence[str] = (),
    ignore: Sequence[str] = (),
    keep: Sequence[str] = (),
) -> LabelingTask:
    """Return a table as features and classes.

    Parameters
    ----------
    table : DataFrame
    target : str
        Column of the labels.
    name : str
        Of the table, for messages.
    unlabeled : sequence of str
        Values of the target that mean that there is no label, beside empty cells.
    ignore : sequence of str
        Columns that are no features.
    keep : sequence of str
        Columns that are features although they look like an ID.

    Examples
    --------
    >>> import pandas as pd
    >>> table = pd.DataFrame({"size": [1.0, 1.1, 5.0, 5.2], "kind": ["cat", None, "dog", "?"]})
    >>> job = task_of(table, "kind", unlabeled=["?"])
    >>> job.n_labels, job.target.classes.tolist(), job.X.shape
    (2, ['cat', 'dog'], (4, 1))
    """
    found = read_target(table, target, unlabeled=unlabeled)
    features, X = fit_transform(table, ignore=(target, *ignore), keep=keep)
    return LabelingTask(name, table, found, features, X)


@dataclass(frozen=True)
class LabeledTable:
    """A label for every row of a job, where it comes from, and how sure it is.

    Attributes
    ----------
    job : Job
    fitted : FittedCut
        Its classes are the codes of those of the target.
    n_jobs : int or None
        Threads.
    warnings : tuple of str
        That the fit gave.
    seconds : float
        That it took.
    """

    job: LabelingTask
    fitted: FittedCut
    n_jobs: int | None
    warnings: tuple[str, ...]
    seconds: float

    @property
    def choice(self) -> Choice:
        """The choice of parameters, which a table always has."""
        return cast("Choice", self.fitted.choice)

    @property
    def codes(self) -> IntArray:
        """Class of every row."""
        return self.fitted.codes

    @cached_property
    def confidence(self) -> FloatArray:
        """Best minus second best class probability; 1 for labels that were given."""
        return np.where(self.job.target.labeled, 1.0, self.fitted.confidence)

    @cached_property
    def sources(self) -> AnyArray:
        """The source of every label, see `graphmargin.labeling.findings`."""
        agreed = self.fitted.solution.codes == self.codes
        found = np.where(agreed, INDUCED, MODEL)
        return np.where(self.job.target.labeled, GIVEN, found)

    @property
    def table(self) -> pd.DataFrame:
        """The table with a label in every row, its confidence and its source."""
        import pandas as pd

        target = self.job.target
        filled = self.job.table.copy()
        labels = pd.Series(target.classes[self.codes], index=filled.index)
        given = filled[target.name]
        # Text stays as it was given; a column of another type gets that of the classes.
        is_text = pd.api.types.is_string_dtype(given.dtype)
        filled[target.name] = given.where(target.labeled, labels) if is_text else labels
        filled[f"{target.name}_confidence"] = np.round(self.confidence, 6)
        filled[f"{target.name}_source"] = self.sources
        return filled

    def model(self, **details: Any) -> TableModel:
        """Return what labels new rows; `details` are kept in its file, with what means no label."""
        features, target = self.job.features, self.job.target
        known = {**details, "unlabeled": list(target.rule.texts)}
        return TableModel(features, self.fitted.predictor, target.classes, target.name, known)

    @cached_property
    def solution(self) -> HarmonicSolution:
        """Harmonic solution that explains labels: the chosen one, or one where labels travel.

        Its classes are those of the target, not their codes.
        """
        found = self.fitted.solution
        if np.isinf(found.gamma_g):
            found = solve_path(found.problem, [EXPLANATION_GAMMA_G], n_jobs=self.n_jobs)[0]
        labels = replace(found.problem.labels, classes=self.job.target.classes)
        return replace(found, problem=replace(found.problem, labels=labels))


def label_rows(
    job: LabelingTask,
    *,
    n_jobs: int | None = None,
    seed: int = 0,
    watch: ProgressListener | None = None,
) -> LabeledTable:
    """Fit the max-margin graph cut with parameters that are chosen safely, and label all rows.

    Parameters
    ----------
    job : Job
    n_jobs : int, optional
        Threads.
    seed : int
        Of folds and samples.
    watch : callable, optional
        Is told the stages of the fit, see `graphmargin._progress.progress_listener`.

    Examples
    --------
    >>> import pandas as pd
    >>> table = pd.DataFrame({"size": [1.0, 1.1, 5.0, 5.2], "kind": ["cat", None, "dog", None]})
    >>> found = label_rows(task_of(table, "kind"))
    >>> found.table["kind"].tolist(), found.sources.tolist()
    (['cat', 'cat', 'dog', 'dog'], ['given', 'induced', 'given', 'induced'])
    """
    start = time.perf_counter()
    labels, execution = encode_labels(job.target.codes), Execution(n_jobs, seed)
    with progress_listener(watch):
        tasks = make_tasks(job.X, labels, None, [table_parameters(len(job.X))], execution)
        trials = try_cuts(tasks, default_held_out(labels, seed), execution)
        choice = choose_among(trials, max_blended(trials))
        fitted = blend_cuts(trials, choice, execution)
    # The advice says in the words of tables that no label reaches some rows.
    texts = [w.text for w in fitted.warnings if w.category is not UnreachedWarning]
    return LabeledTable(job, fitted, n_jobs, tuple(texts), time.perf_counter() - start)


def table_parameters(n_rows: int) -> Parameters:
    """Return the parameters of the cut for a table: the defaults of `MaxMarginGraphCut`."""
    return Parameters(
        kernel=KernelParameters(Kernel("rbf"), "paper"),
        graph=GraphParameters(min(N_NEIGHBORS, n_rows - 1), "paper", "euclidean"),
        gamma_g=None,
        C=None,
        class_mass_normalization=None,
    )


def table_report(labeled: LabeledTable, *, hide_labels: bool) -> GraphReport:
    """Return the report on the graph, with the classes of the table; see `graph_report`."""
    fitted = labeled.fitted
    report = graph_report(
        fitted.solution,
        eps=fitted.task.parameters.eps,
        choice=labeled.choice,
        recall=fitted.task.recall,
        hold_out_labels=hide_labels,
        n_jobs=labeled.n_jobs,
    )
    return replace(report, classes=labeled.job.target.classes)


def check_new_columns(job: LabelingTask) -> None:
    """Refuse a table in which the columns of the result are taken.

    Examples
    --------
    >>> import pandas as pd
    >>> table = pd.DataFrame({"x": [1.5, 2, 3], "y": ["a", "b", ""], "y_source": ["", "", ""]})
    >>> check_new_columns(task_of(table, "y"))  # doctest: +ELLIPSIS
    Traceback (most recent call last):
        ...
    graphmargin.tables.table_errors.TableError: table has a column 'y_source', ...
    """
    name = job.target.name
    check_not_taken([f"{name}_confidence", f"{name}_source"], job.table.columns, job.name)


def check_unlabeled(job: LabelingTask) -> None:
    """Refuse a table in which no label is missing, and ask about a class that may mean it.

    Examples
    --------
    >>> import pandas as pd
    >>> table = pd.DataFrame({"x": [1.5, 2, 3, 5], "y": ["a", "?", "b", "?"]})
    >>> check_unlabeled(task_of(table, "y"))  # doctest: +ELLIPSIS
    Traceback (most recent call last):
        ...
    graphmargin.tables.table_errors.TableError: ... if '?' (2 rows) means that there is none, ...
    """
    target = job.target
    if not target.labeled.all():
        return
    counts = np.bincount(target.codes)
    marker, n_marked = str(target.classes[counts.argmax()]), counts.max()
    hint = (
        f"if {marker!r} ({n_marked:,} rows) means that there is none, pass "
        f"--unlabeled={quote(marker)}; "
        if 2 * n_marked >= len(job.table)
        else ""
    )
    raise TableError(nothing_to_label(len(job.table), job.name, target.name, hint))


def nothing_to_label(n_rows: int, table: str, target: str, hint: str = "") -> str:
    """Return the message that refuses a table in which every row has a label."""
    return (
        f"all {n_rows:,} rows of {table} have a label in {target!r}: nothing to fill in; {hint}"
        "`graphmargin fit` learns a model from them, `graphmargin audit` doubts them"
    )
