"""Model files and reports, which commands and the studio write."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from graphmargin._files import atomic_write

if TYPE_CHECKING:
    from graphmargin.labeling.findings import Findings
    from graphmargin.models.table_model import TableModel


class _Labeled(Protocol):
    def model(self, **details: Any) -> TableModel: ...


def write_files(labeled: _Labeled, findings: Findings, files: Mapping[str, str]) -> None:
    """Write the "model" and the "report" if they are in `files`."""
    if "model" in files:
        from graphmargin.models import save_model

        save_model(labeled.model(**findings.details), files["model"])
    if "report" in files:
        from graphmargin.report.labeling_page import labeling_page

        page = labeling_page(
            findings, table_path=files.get("labeled"), model_path=files.get("model")
        )
        atomic_write(Path(files["report"]), page.encode(errors="backslashreplace"))
