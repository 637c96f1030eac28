"""Files that `label` and `fit` write beside the table: a model and a report, all or none."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from graphmargin.labeling.findings import Findings
    from graphmargin.models.table_model import TableModel


class _Labeled(Protocol):
    def model(self, **details: Any) -> TableModel: ...


def check_files(*files: Path | None) -> None:
    """Refuse files that cannot be written, or that are an earlier one, before the work begins."""
    from graphmargin._files import check_writable

    named = [path for path in files if path is not None]
    for i, path in enumerate(named[1:], start=1):
        check_writable(path, inputs=named[:i])


def draft_files(
    drafts: ExitStack, labeled: _Labeled, findings: Findings, files: Mapping[str, str]
) -> None:
    """Write the drafts of the "model" and the "report" among `files`.

    They become files when `drafts` is closed, when nothing is left that can fail.
    """
    from graphmargin._files import replacing

    if "model" in files:
        from graphmargin.models import save_model

        draft = drafts.enter_context(replacing(Path(files["model"])))
        save_model(labeled.model(**findings.details), draft)
    if "report" in files:
        from graphmargin.report.labeling import labeling_page

        page = labeling_page(
            findings, table_path=files.get("labeled"), model_path=files.get("model")
        )
        drafts.enter_context(replacing(Path(files["report"]))).write_bytes(page.encode())
