"""Tables with a label for every row: what they say, show and save."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from graphmargin._typing import AnyArray, BoolArray, FloatArray, IntArray
from graphmargin.confidence.held_out_predictions import HeldOutPredictions
from graphmargin.confidence.prediction_sets import prediction_sets, set_thresholds
from graphmargin.harmonic.solution import HarmonicSolution, solve_path
from graphmargin.labeling.label_audit import LabelAudit, audit_labels
from graphmargin.labeling.labeling_task import LabelingTask
from graphmargin.labeling.output_cells import label_cells, set_cells
from graphmargin.labeling.suggestions import SuggestedRow, suggest_rows
from graphmargin.labeling.summary import summarize
from graphmargin.labeling.table_report import report_on
from graphmargin.methods.harmonic import WalkDetails
from graphmargin.models.model_file import save_model
from graphmargin.models.table_model import TableModel
from graphmargin.report.content import Report
from graphmargin.report.labeling_page import check_page_name, write_labeling_page
from graphmargin.report.summary import Summary
from graphmargin.report.summary_texts import summary_html, summary_text
from graphmargin.reports.graph_reports import GraphReport, graph_report
from graphmargin.search.choice import Choice
from graphmargin.search.search import Fitted

if TYPE_CHECKING:
    import pandas as pd

EXPLANATION_GAMMA_G = 0.01
"""The gamma_g that explains labels if none was chosen; few walks end in the sink."""


@dataclass(frozen=True, repr=False)
class LabeledTable:
    """A table with a label for every row, and the fit that predicted the labels.

    It is printed, and shown in notebooks, as the summary of ``graphmargin label``.

    Attributes
    ----------
    task : LabelingTask
    fitted : Fitted
        The fitted ensemble.
    cut : WalkDetails
        The graph and the harmonic solution of the max-margin graph cut.
    cut_choice : Choice
        The choice among the candidates of the cut. It is one of the ensemble's members, unless
        another method was requested.
    n_jobs : int or None
        Number of threads.
    warnings : tuple of str
        Warnings of the fit.
    seconds : float
        Time from the start of the call to the end of the fit.
    min_confidence : float
        Confidence below which rows get no label.
    coverage : float or None
        Coverage of the prediction sets; None if there are none.

    Examples
    --------
    >>> import pandas as pd
    >>> from graphmargin import label_table
    >>> size = [center + step / 10 for center in (1, 5) for step in range(8)]
    >>> pets = pd.DataFrame({"size": size, "kind": ["cat", "cat", *[None] * 6] + ["dog"] * 8})
    >>> labeled = label_table(pets, "kind")
    >>> labeled.summary.n_labels, labeled.summary.n_predicted
    (10, 6)
    >>> len(labeled.suggest(3)), labeled.label_errors().n_checked
    (3, 10)
    """

    task: LabelingTask
    fitted: Fitted
    cut: WalkDetails
    cut_choice: Choice
    n_jobs: int | None
    warnings: tuple[str, ...]
    seconds: float
    min_confidence: float = 0.0
    coverage: float | None = None

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
        """Mask of the rows with a label in the result: those whose confidence is not too low."""
        return np.asarray(self.confidence >= self.min_confidence)

    @property
    def sets(self) -> BoolArray:
        """Prediction sets of shape (n, c); the set of a row with a given label has this alone."""
        held_out = cast("HeldOutPredictions", self.fitted.held_out)  # `label_rows` checks it
        thresholds = set_thresholds(held_out, cast("float", self.coverage))
        predicted = prediction_sets(self.fitted.label_distributions, thresholds)
        given = np.eye(len(self.task.target.classes), dtype=np.bool_)[self.codes]
        return np.where(self.task.target.labeled[:, None], given, predicted)

    @property
    def sources(self) -> AnyArray:
        """The source of every label: "given" in the table, or "predicted"."""
        return np.where(self.task.target.labeled, "given", "predicted")

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
        is_text = all(isinstance(cell, str) for cell in given[target.labeled])
        filled[target.name] = given.where(target.labeled, labels) if is_text else labels
        filled[f"{target.name}_confidence"] = np.round(self.confidence, 6)
        filled[f"{target.name}_source"] = sources
        if self.coverage is not None:
            filled[f"{target.name}_set"] = set_cells(self.sets, target.classes)
        return filled

    @cached_property
    def summary(self) -> Summary:
        """The main results, which ``graphmargin label --json`` prints."""
        return summarize(self)

    @cached_property
    def content(self) -> Report:
        """The content of the report page."""
        return report_on(self)

    def report(
        self,
        path: str | PathLike[str],
        *,
        table_path: str | None = None,
        model_path: str | None = None,
    ) -> None:
        """Write the report, an HTML page that needs no other file.

        Parameters
        ----------
        path : path-like
            A name that ends in ``.html``.
        table_path, model_path : str, optional
            Paths of the labeled table and of the model, which the page then names.
        """
        path = check_page_name(Path(path))
        write_labeling_page(self.content, path, table_path=table_path, model_path=model_path)

    def suggest(self, n: int = 20) -> tuple[SuggestedRow, ...]:
        """Return the rows to label next, the one whose label avoids most errors first.

        Rows are counted from 1. ``pandas.DataFrame(labeled.suggest())`` is a table of them.
        """
        return suggest_rows(self, n)

    def label_errors(self, threshold: float = 0.5) -> LabelAudit:
        """Return the given labels that are wrong with a probability above a threshold in [0, 1)."""
        return audit_labels(self, threshold)

    def save(self, path: str | PathLike[str]) -> None:
        """Write the model for new rows, see `graphmargin.save_model`."""
        save_model(self.model(**self.summary.details), path)

    def __repr__(self) -> str:
        """Return the summary as lines of text."""
        return summary_text(self.summary)

    def _repr_html_(self) -> str:
        """Return the summary as tables for a notebook."""
        return summary_html(self.summary)

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
            choice=self.cut_choice,
            recall=self.cut.recall,
            hold_out_labels=hold_out_labels,
            n_jobs=self.n_jobs,
        )
