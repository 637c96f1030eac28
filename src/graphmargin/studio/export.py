"""The files that the studio writes beside its table: the labeled table, a model and a report."""

from __future__ import annotations

from pathlib import Path

from graphmargin._files import default_output, file_stem
from graphmargin.labeling.labeled_table import LabeledTable
from graphmargin.labeling.labeling_task import check_new_columns
from graphmargin.labeling.summary import summarize
from graphmargin.labeling.table_report import report_on
from graphmargin.models import save_model
from graphmargin.report.labeling_page import write_labeling_page
from graphmargin.studio.service import Studio
from graphmargin.studio.session import DecisionError, label_names
from graphmargin.tables.writing import table_writer

ENDINGS = {"table": "", "model": ".graphmargin", "report": ".html"}
"""Endings of the files; that of the labeled table is the one of the table."""


def export(studio: Studio, what: str) -> Path:
    """Write the labeled table, the model or the report beside the table, and return its path."""
    if what not in ENDINGS:
        msg = f"`what` must be table, model or report, got {what!r}"
        raise DecisionError(msg)
    labeled = _labeled_table(studio)
    path = default_output(studio.path, "labeled")
    if what == "table":
        check_new_columns(labeled.task)
        with table_writer(path, like=studio.path) as write:
            write(labeled.table)
    else:
        path = path.with_name(file_stem(path.name) + ENDINGS[what])
        if what == "model":
            save_model(labeled.model(**summarize(labeled).details), path)
        else:
            write_labeling_page(report_on(labeled), path)
    return path


def _labeled_table(studio: Studio) -> LabeledTable:
    """Return the table labeled by the automatic choice on the labels as they are now."""
    while True:
        session, result = studio.snapshot.session, studio.fit.state.result
        # A class that was renamed keeps its code.
        if result and (label_names(result.session) == label_names(session)).all():
            return result.labeled
        studio.fit.start(session)
        studio.fit.wait()
        if studio.fit.state.status == "failed":
            raise DecisionError(studio.fit.state.error)
        if studio.fit.state.status == "idle":
            msg = "the automatic choice was cancelled; export again"
            raise DecisionError(msg)
