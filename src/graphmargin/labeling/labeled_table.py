"""Labels of all rows of a table, their confidence and source, and a model for new rows."""

from __future__ import annotations

import time
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from graphmargin._progress import progress_listener
from graphmargin._typing import AnyArray, BoolArray, FloatArray, IntArray, ProgressListener
from graphmargin.confidence.held_out_predictions import HeldOutPredictions
from graphmargin.confidence.prediction_sets import (
    coverage_warning,
    prediction_sets,
    set_thresholds,
)
from graphmargin.harmonic.solution import HarmonicSolution, solve_path
from graphmargin.labeling.label_sources import GIVEN, INDUCED, MODEL
from graphmargin.labeling.labeling_task import LabelingTask
from graphmargin.labeling.output_cells import label_cells, set_cells
from graphmargin.labels import EncodedLabels
from graphmargin.margin.class_weights import ClassWeight, class_weights
from graphmargin.models.table_model import TableModel
from graphmargin.reports.graph_reports import GraphReport, graph_report
from graphmargin.selection.choice import Choice
from graphmargin.selection.cuts import FittedCut
from graphmargin.selection.ensemble import FittedEnsemble, fit_ensemble
from graphmargin.selection.execution import Execution, UnreachedWarning
from graphmargin.selection.families import (
    Family,
    default_families,
    named_family,
    try_family,
)
from graphmargin.selection.held_out import HeldOutLabels, default_held_out
from graphmargin.selection.tasks import make_tasks
from graphmargin.tables.table_errors import TableError

if TYPE_CHECKING:
    import pandas as pd

EXPLANATION_GAMMA_G = 0.01
"""The gamma_g that explains labels if none was chosen; few walks end in the sink."""
QUICK_FAMILIES = ("harmonic", "linear-low-density")
"""Families of the ensemble that are tried under every metric; the others take longer."""


@dataclass(frozen=True)
class LabeledTable:
    """A table with a label for every row, and the fit that predicted the labels.

    Attributes
    ----------
    task : LabelingTask
    fitted : FittedEnsemble
        The fitted classifier.
    cut : FittedCut
        The max-margin graph cut under the metric with the largest weight, which tells about the
        graph. It is one of the ensemble's families, unless none of them is a cut under this metric.
    n_jobs : int or None
        Number of threads.
    warnings : tuple of str
        Warnings of the fit.
    seconds : float
        Time of the fit.
    min_confidence : float
        Confidence below which rows get no label.
    coverage : float or None
        Coverage of the prediction sets; None if there are none.
    """

    task: LabelingTask
    fitted: FittedEnsemble
    cut: FittedCut
    n_jobs: int | None
    warnings: tuple[str, ...]
    seconds: float
    min_confidence: float = 0.0
    coverage: float | None = None

    @property
    def cut_choice(self) -> Choice:
        """The choice among the candidates of the cut, which a table always has."""
        return cast("Choice", self.cut.choice)

    @property
    def metric(self) -> str:
        """Name of the metric with the largest weight, which is that of the graph."""
        return self.fitted.choice.heaviest_metric

    @property
    def codes(self) -> IntArray:
        """Class of every row."""
        return self.fitted.codes

    @cached_property
    def confidence(self) -> FloatArray:
        """Probability that the label of each row is right; 1 for given labels."""
        return np.where(self.task.target.labeled, 1.0, self.fitted.confidence)

    @property
    def is_answered(self) -> BoolArray:
        """Mask of the rows with a label in the result: all whose confidence is not too low."""
        return np.asarray(self.confidence >= self.min_confidence)

    @property
    def sets(self) -> BoolArray:
        """Prediction sets of shape (n, c); the set of a row with a given label has this alone."""
        held_out = cast("HeldOutPredictions", self.fitted.held_out)  # `label_rows` checks it
        thresholds = set_thresholds(held_out, cast("float", self.coverage))
        predicted = prediction_sets(self.fitted.label_distributions, thresholds)
        given = np.eye(len(self.task.target.classes), dtype=np.bool_)[self.codes]
        return np.where(self.task.target.labeled[:, None], given, predicted)

    @cached_property
    def sources(self) -> AnyArray:
        """The source of every label, see `graphmargin.labeling.label_sources`."""
        agreed = self.cut.solution.codes == self.codes
        return np.where(self.task.target.labeled, GIVEN, np.where(agreed, INDUCED, MODEL))

    @property
    def table(self) -> pd.DataFrame:
        """The table with its labels, and columns for their confidence, source and prediction set.

        Rows whose confidence is below `min_confidence` have neither a label nor a source.
        """
        import pandas as pd

        target = self.task.target
        filled = self.task.table.copy()
        is_answered, labels, sources = self.is_answered, target.classes[self.codes], self.sources
        if not is_answered.all():
            labels, sources = (label_cells(column, is_answered) for column in (labels, sources))
        labels = pd.Series(labels, index=filled.index)
        given = filled[target.name]
        # Text stays as it was given; a column of another type gets that of the classes.
        is_text = pd.api.types.is_string_dtype(given.dtype)
        filled[target.name] = given.where(target.labeled, labels) if is_text else labels
        filled[f"{target.name}_confidence"] = np.round(self.confidence, 6)
        filled[f"{target.name}_source"] = sources
        if self.coverage is not None:
            filled[f"{target.name}_set"] = set_cells(self.sets, target.classes)
        return filled

    def model(self, **details: Any) -> TableModel:
        """Return the model for new rows; its file has `details` and the texts of unlabeled rows."""
        features, target = self.task.features, self.task.target
        return TableModel(
            features,
            self.fitted.predictor,
            target.name,
            self.fitted.held_out,
            {**details, "unlabeled": list(target.rule.texts)},
        )

    @cached_property
    def solution(self) -> HarmonicSolution:
        """Harmonic solution that explains labels.

        It is that of the chosen gamma_g or, if supervised learning was chosen, that of
        `EXPLANATION_GAMMA_G`.
        """
        solution = self.cut.solution
        if np.isinf(solution.gamma_g):
            (solution,) = solve_path(solution.problem, [EXPLANATION_GAMMA_G], n_jobs=self.n_jobs)
        return solution

    def graph_report(self, *, hold_out_labels: bool) -> GraphReport:
        """Return the report on the graph of the cut, see `graphmargin.graph_report`."""
        return graph_report(
            self.cut.solution,
            eps=self.cut.task.parameters.eps,
            choice=self.cut_choice,
            recall=self.cut.task.recall,
            hold_out_labels=hold_out_labels,
            n_jobs=self.n_jobs,
        )


def label_rows(
    task: LabelingTask,
    *,
    method: str = "auto",
    min_confidence: float = 0.0,
    coverage: float | None = None,
    class_weight: ClassWeight = None,
    n_jobs: int | None = None,
    seed: int = 0,
    listener: ProgressListener | None = None,
) -> LabeledTable:
    """Return the table with all rows labeled by an ensemble, or by one family of classifiers.

    Parameters
    ----------
    task : LabelingTask
    method : str, default="auto"
        "auto" is the ensemble of the default families; else the name of a family, see
        `graphmargin.selection.families.named_family`.
    min_confidence : float, default=0
        Confidence below which rows get no label.
    coverage : float in (0, 1), optional
        Coverage of prediction sets, which the result then has.
    class_weight : None, "balanced" or mapping from class to float, optional
        Costs of errors in each class, as in `SemiSupervisedEnsemble`.
    n_jobs : int, optional
        Number of threads.
    seed : int
        Seed of folds and samples.
    listener : callable, optional
        Receives the progress of each stage, see `graphmargin._progress.progress_listener`.

    Raises
    ------
    TableError
        If there shall be prediction sets, but no label can be held out.

    Examples
    --------
    >>> import pandas as pd
    >>> from graphmargin.labeling.labeling_task import task_of
    >>> table = pd.DataFrame({"size": [1.0, 1.1, 5.0, 5.2], "kind": ["cat", None, "dog", None]})
    >>> labeled = label_rows(task_of(table, "kind"))
    >>> labeled.table["kind"].tolist(), labeled.sources.tolist()
    (['cat', 'cat', 'dog', 'dog'], ['given', 'induced', 'given', 'induced'])
    """
    start = time.perf_counter()
    labels, execution = task.target.labels, Execution(n_jobs, seed)
    held_out = default_held_out(labels, seed)
    if coverage is not None and not held_out.folds:
        msg = "--sets needs labels that can be held out; label two or more rows of a class"
        raise TableError(msg)
    counts = np.bincount(labels.codes[labels.labeled])
    costs = class_weights(class_weight, labels.classes, counts)
    families = table_families(task, method, labels, held_out)
    with progress_listener(listener):
        fitted = fit_ensemble(
            task.X, labels, [family.with_costs(costs) for family in families], held_out, execution
        )
        cut = _graph_cut(task, fitted, labels, costs, held_out, execution)
    # The advice on tables also says that no label reaches some rows.
    texts = [w.text for w in fitted.warnings if w.category is not UnreachedWarning]
    if coverage is not None and fitted.held_out is not None:
        texts.append(coverage_warning(fitted.held_out, coverage))
    return LabeledTable(
        task=task,
        fitted=fitted,
        cut=cut,
        n_jobs=n_jobs,
        warnings=tuple(filter(None, texts)),
        seconds=time.perf_counter() - start,
        min_confidence=min_confidence,
        coverage=coverage,
    )


def _graph_cut(
    task: LabelingTask,
    fitted: FittedEnsemble,
    labels: EncodedLabels,
    costs: tuple[float, ...] | None,
    held_out: HeldOutLabels,
    execution: Execution,
) -> FittedCut:
    """Return the cut under the metric with the largest weight: reports and explanations show it.

    It is fitted here if the ensemble left it out.
    """
    heaviest = fitted.choice.heaviest_metric
    metric = next(metric for metric in task.features.metrics if metric.name == heaviest)
    family = named_family("cut", labels).with_costs(costs).under(metric)
    if family.name in fitted.members:
        return cast("FittedCut", fitted.members[family.name])
    tried = fitted.tried.get(family.name)
    if tried is None:
        rows = metric.scale(task.X)
        tasks = make_tasks(rows, labels, None, family.parameters, execution)
        tried = try_family(family, tasks, held_out, execution)
    return cast("FittedCut", tried.fit(execution))


def table_families(
    task: LabelingTask, method: str, labels: EncodedLabels, held_out: HeldOutLabels
) -> list[Family]:
    """Return the families that label a table, those under the metric of all columns first.

    If the features have a second metric and labels are held out, which can tell the metrics apart,
    the `QUICK_FAMILIES` are also tried under the second one. A single family that was requested is
    tried under both.

    Examples
    --------
    >>> import pandas as pd
    >>> from graphmargin.labeling.labeling_task import task_of
    >>> table = pd.DataFrame(
    ...     {
    ...         "size": [1.0, 1.1, 5.0, 5.2],
    ...         "color": ["red", "blue", "red", "blue"],
    ...         "kind": ["cat", "cat", "dog", None],
    ...     }
    ... )
    >>> task = task_of(table, "kind")
    >>> labels = task.target.labels
    >>> families = table_families(task, "auto", labels, default_held_out(labels, 0))
    >>> [family.name for family in families[5:]]
    ['harmonic (light categories)', 'linear-low-density (light categories)']
    """
    names = default_families(*task.X.shape) if method == "auto" else (method,)
    families = [named_family(name, labels) for name in names]
    if not held_out.folds:
        return families
    quick = [family for family in families if method != "auto" or family.name in QUICK_FAMILIES]
    others = task.features.metrics[1:]
    return families + [family.under(metric) for metric in others for family in quick]
