"""From a partly labeled table to a label for every row, and a model for new ones."""

from __future__ import annotations

import time
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from graphmargin._progress import progress_listener
from graphmargin._typing import AnyArray, FloatArray, IntArray, ProgressListener
from graphmargin.estimators.max_margin_graph_cut import MaxMarginGraphCut
from graphmargin.harmonic.solution import HarmonicSolution, solve_path
from graphmargin.labeling.findings import GIVEN, INDUCED, MODEL
from graphmargin.models.table_model import TableModel
from graphmargin.selection.choice import Choice
from graphmargin.selection.execution import UnreachedWarning
from graphmargin.selection.graph_reports import GraphReport, graph_report
from graphmargin.tables.column_names import ColumnUse, check_not_taken
from graphmargin.tables.errors import TableError
from graphmargin.tables.features import TableFeatures
from graphmargin.tables.reading import read_table
from graphmargin.tables.target import Target, read_target

if TYPE_CHECKING:
    import pandas as pd

N_NEIGHBORS = 5
"""Of a row in the graph, as in `MaxMarginGraphCut`; fewer in a table of fewer rows."""
CLEAR_GAMMA_G = 0.01
"""Where labels are explained or doubted and no gamma_g was chosen: little goes down the sink."""


@dataclass(frozen=True)
class Job:
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
        """How all columns but the target are used."""
        return tuple(use for use in self.features.columns_ if use.name != self.target.name)

    @property
    def n_neighbors(self) -> int:
        """Of a row in the graph."""
        return min(N_NEIGHBORS, len(self.X) - 1)


def open_job(
    path: Path,
    target: str,
    *,
    unlabeled: Sequence[str] = (),
    ignore: Sequence[str] = (),
    keep: Sequence[str] = (),
) -> Job:
    """Read a table from a file, see `job_of`."""
    table = read_table(path)
    return job_of(table, target, name=path.name, unlabeled=unlabeled, ignore=ignore, keep=keep)


def job_of(
    table: pd.DataFrame,
    target: str,
    *,
    name: str = "table",
    unlabeled: Sequence[str] = (),
    ignore: Sequence[str] = (),
    keep: Sequence[str] = (),
) -> Job:
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
    >>> job = job_of(table, "kind", unlabeled=["?"])
    >>> job.n_labels, job.target.classes.tolist(), job.X.shape
    (2, ['cat', 'dog'], (4, 1))
    """
    found = read_target(table, target, unlabeled=unlabeled)
    features = TableFeatures(ignore=(target, *ignore), keep=tuple(keep))
    X = features.fit_transform(table)
    return Job(name, table, found, features, X)


@dataclass(frozen=True)
class Labeled:
    """A label for every row of a job, where it comes from, and how sure it is.

    Attributes
    ----------
    job : Job
    cut : MaxMarginGraphCut
        Its classes are the codes of those of the target.
    warnings : tuple of str
        That the fit gave.
    seconds : float
        That it took.
    """

    job: Job
    cut: MaxMarginGraphCut
    warnings: tuple[str, ...]
    seconds: float

    @property
    def choice(self) -> Choice:
        """The choice of parameters, which a table always has."""
        return cast("Choice", self.cut.choice_)

    @property
    def codes(self) -> IntArray:
        """Class of every row."""
        return np.asarray(self.cut.transduction_)

    @cached_property
    def confidence(self) -> FloatArray:
        """Best minus second best class probability; 1 for labels that were given."""
        return np.where(self.job.target.labeled, 1.0, self.cut.confidence_)

    @cached_property
    def sources(self) -> AnyArray:
        """Where every label comes from, see `graphmargin.labeling.findings`."""
        agreed = self.cut.harmonic_solution_.codes == self.codes
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
        return TableModel(features, self.cut.predictor_, target.classes, target.name, known)

    @cached_property
    def solution(self) -> HarmonicSolution:
        """Harmonic solution that explains labels: the chosen one, or one where labels travel.

        Its classes are those of the target, not their codes.
        """
        found = self.cut.harmonic_solution_
        if np.isinf(found.gamma_g):
            found = solve_path(found.problem, [CLEAR_GAMMA_G], n_jobs=self.cut.n_jobs)[0]
        labels = replace(found.problem.labels, classes=self.job.target.classes)
        return replace(found, problem=replace(found.problem, labels=labels))


def label_rows(
    job: Job, *, n_jobs: int | None = None, seed: int = 0, watch: ProgressListener | None = None
) -> Labeled:
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
    >>> found = label_rows(job_of(table, "kind"))
    >>> found.table["kind"].tolist(), found.sources.tolist()
    (['cat', 'cat', 'dog', 'dog'], ['given', 'induced', 'given', 'induced'])
    """
    start = time.perf_counter()
    cut = MaxMarginGraphCut(n_neighbors=job.n_neighbors, n_jobs=n_jobs, random_state=seed)
    with warnings.catch_warnings(record=True) as caught, progress_listener(watch):
        warnings.simplefilter("always")
        # The advice tells this one in the words of tables.
        warnings.simplefilter("ignore", UnreachedWarning)
        cut.fit(job.X, job.target.codes)
    said = tuple(dict.fromkeys(str(warning.message) for warning in caught))
    return Labeled(job, cut, said, time.perf_counter() - start)


def table_report(labeled: Labeled, *, hide_labels: bool) -> GraphReport:
    """Return the report on the graph, with the classes of the table; see `graph_report`."""
    cut = labeled.cut
    report = graph_report(
        cut.harmonic_solution_,
        eps=cut.parameters_.eps,
        choice=labeled.choice,
        recall=cut.graph_recall_,
        hide_labels=hide_labels,
        n_jobs=cut.n_jobs,
    )
    return replace(report, classes=labeled.job.target.classes)


def check_new_columns(job: Job) -> None:
    """Refuse a table in which the columns of the result are taken.

    Examples
    --------
    >>> import pandas as pd
    >>> table = pd.DataFrame({"x": [1.5, 2, 3], "y": ["a", "b", ""], "y_source": ["", "", ""]})
    >>> check_new_columns(job_of(table, "y"))  # doctest: +ELLIPSIS
    Traceback (most recent call last):
        ...
    graphmargin.tables.errors.TableError: table has a column 'y_source', ...
    """
    name = job.target.name
    check_not_taken([f"{name}_confidence", f"{name}_source"], job.table.columns, job.name)


def check_unlabeled(job: Job) -> None:
    """Refuse a table in which no label is missing, and ask about a class that may mean it.

    Examples
    --------
    >>> import pandas as pd
    >>> table = pd.DataFrame({"x": [1.5, 2, 3, 5], "y": ["a", "?", "b", "?"]})
    >>> check_unlabeled(job_of(table, "y"))  # doctest: +ELLIPSIS
    Traceback (most recent call last):
        ...
    graphmargin.tables.errors.TableError: ... if '?' (2 rows) means that there is none, ...
    """
    target = job.target
    if not target.labeled.all():
        return
    counts = np.bincount(target.codes)
    marker, n_marked = str(target.classes[counts.argmax()]), counts.max()
    asked = (
        f"if {marker!r} ({n_marked:,} rows) means that there is none, pass "
        f"--unlabeled={quote(marker)}; "
        if 2 * n_marked >= len(job.table)
        else ""
    )
    msg = (
        f"all {len(job.table):,} rows of {job.name} have a label in {target.name!r}: nothing to "
        f"fill in; {asked}`graphmargin fit` learns a model from them, `graphmargin audit` doubts "
        "them"
    )
    raise TableError(msg)
