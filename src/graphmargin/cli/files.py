"""Files that `label` and `fit` write: checks, models and report pages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from graphmargin._errors import InputError

if TYPE_CHECKING:
    from graphmargin.models.table_model import TableModel
    from graphmargin.report.content import Report
    from graphmargin.report.summary import Summary


class _Labeled(Protocol):
    def model(self, **details: Any) -> TableModel: ...


def check_files(files: Mapping[str, Path | None], *, inputs: Sequence[Path] = ()) -> None:
    """Raise an error before the work begins if a file cannot be written or is named twice.

    Parameters
    ----------
    files : mapping from str to Path or None
        Files by the options that name them.
    inputs : sequence of Path
        Files that must not be overwritten.
    """
    from graphmargin._files import check_writable

    used = list(inputs)
    for option, path in files.items():
        if path is None:
            continue
        if not path.parent.exists():
            msg = f"{option} {path}: the folder {path.parent} does not exist; make it first"
            raise InputError(msg)
        check_writable(path, inputs=used)
        if option == "--report":
            from graphmargin.report.labeling_page import check_page_name  # imports NumPy

            check_page_name(path, f"{option} {path}")
        used.append(path)


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
