"""Files that `label` and `fit` write: checks, models and report pages."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from graphmargin.models.table_model import TableModel
    from graphmargin.report.content import Report
    from graphmargin.report.summary import Summary


class _Labeled(Protocol):
    def model(self, **details: Any) -> TableModel: ...


def check_files(*files: Path | None) -> None:
    """Raise an error before the work begins if a file cannot be written or is named twice."""
    from graphmargin._files import check_writable

    named = [path for path in files if path is not None]
    for i, path in enumerate(named[1:], start=1):
        check_writable(path, inputs=named[:i])


def write_model_and_page(
    labeled: _Labeled, summary: Summary, report: Report | None, files: Mapping[str, str]
) -> None:
    """Write the "model" of `files`, and the page on a report to the "report" of `files`."""
    if "model" in files:
        from graphmargin.models import save_model

        save_model(labeled.model(**summary.details), files["model"])
    if report is not None:
        from graphmargin.report.labeling_page import write_labeling_page

        write_labeling_page(
            report,
            Path(files["report"]),
            table_path=files.get("labeled"),
            model_path=files.get("model"),
        )
