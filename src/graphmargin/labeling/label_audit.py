"""Audit of given labels: which of them are probably wrong."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from graphmargin._texts import format_count
from graphmargin.confidence.label_errors import label_errors
from graphmargin.labeling.row_preview import row_notes
from graphmargin.report.content import RowNote

if TYPE_CHECKING:  # which calls these functions
    from graphmargin.labeling.labeled_table import LabeledTable


@dataclass(frozen=True)
class LabelAudit:
    """Given labels of a table that are probably wrong.

    Attributes
    ----------
    notes : tuple of RowNote or None
        The most likely error first. The `label` of a note is the given one, `other` is the most
        likely class with this label held out, and `score` is the probability that the given label
        is wrong, which is above the threshold. None if no label could be held out.
    n_checked : int
        Number of labels that were held out.
    expected_false_alarms : float
        Expected number of listed labels that are right.
    summary : str
        A sentence with these numbers, or on why no label was checked.
    """

    notes: tuple[RowNote, ...] | None
    n_checked: int
    expected_false_alarms: float
    summary: str


def audit_labels(labeled: LabeledTable, threshold: float = 0.5) -> LabelAudit:
    """Return the given labels that are probably wrong, by the classifier that labeled the table.

    Each label was held out while parameters were chosen (a sample of about 1,000 if there are
    more), so that nothing is fitted again. Labels are listed if they are wrong with a probability
    above `threshold`, in [0, 1). See `graphmargin.confidence.LabelErrors`.

    Examples
    --------
    >>> import pandas as pd
    >>> from graphmargin.labeling.table_labeling import label_rows
    >>> from graphmargin.labeling.labeling_task import task_of
    >>> size = [1 + i / 100 for i in range(60)] + [5 + i / 100 for i in range(60)]
    >>> kind = ["cat"] * 60 + ["dog"] * 59 + [None]
    >>> kind[3] = "dog"
    >>> labeled = label_rows(task_of(pd.DataFrame({"size": size, "kind": kind}), "kind"))
    >>> audit = audit_labels(labeled)
    >>> audit.summary
    '1 of 119 held-out labels looks wrong (probability above 0.5; 0.4 false alarms expected).'
    >>> [(note.row, note.label, note.other) for note in audit.notes]
    [(4, 'dog', 'cat')]
    """
    task, held_out = labeled.task, labeled.fitted.held_out
    if held_out is None:
        reason = (
            "No label could be held out, so it is unknown which labels look wrong; label two or "
            "more rows of a class."
        )
        return LabelAudit(None, 0, 0.0, reason)
    errors = label_errors(held_out, task.target.classes, threshold)
    listed, n_checked = errors.listed, len(errors.rows)
    summary = f"{errors.summary}."
    if n_checked < task.n_labels:
        others = format_count(task.n_labels - n_checked, "other label")
        were = "was" if task.n_labels - n_checked == 1 else "were"
        summary += f" {others} {were} not held out, nor checked."
    return LabelAudit(
        row_notes(
            task,
            errors.rows[listed].tolist(),
            errors.given_labels[listed].tolist(),
            errors.suggested_labels[listed].tolist(),
            errors.probability[listed].tolist(),
        ),
        n_checked,
        errors.expected_false_alarms,
        summary[0].upper() + summary[1:],
    )
