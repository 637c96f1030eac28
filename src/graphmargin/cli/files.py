"""Model files and reports, which `label` and `fit` write."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from graphmargin.labeling.findings import Findings
    from graphmargin.models.table_model import TableModel


class _Labeled(Protocol):
    def model(self, **details: Any) -> TableModel: ...


def check_files(*files: Path | None) -> None:
    """Raise an error before the work begins if a file cannot be written or is named twice."""
    from graphmargin._files import check_writable

    named = [path for path in files if path is not None]
    for i, path in enumerate(named[1:], start=1):
        check_writable(path, inputs=named[:i])


def write_files(labeled: _Labeled, findings: Findings, files: Mapping[str, str]) -> None:
    """Write the "model" and the "report" if they are in `files`."""
    from graphmargin._files import atomic_write

    if "model" in files:
        from graphmargin.models import save_model

        save_model(labeled.model(**findings.details), files["model"])
    if "report" in files:
        from graphmargin.report.labeling_page import labeling_page

        page = labeling_page(
            findings, table_path=files.get("labeled"), model_path=files.get("model")
        )
        atomic_write(Path(files["report"]), page.encode(errors="backslashreplace"))
