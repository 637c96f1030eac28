"""The files that the studio writes beside its table: the labeled table, a model and a report."""

from __future__ import annotations

import os
from pathlib import Path

from graphmargin._files import check_writable, default_output
from graphmargin._permissions import made_from
from graphmargin.labeling.labeled_table import LabeledTable
from graphmargin.labeling.labeling_task import check_new_columns
from graphmargin.studio.journal import journal_path
from graphmargin.studio.service import Studio
from graphmargin.studio.session import DecisionError, label_names
from graphmargin.tables.writing import table_writer

ENDINGS = {"table": "", "model": ".graphmargin", "report": ".html"}
"""Endings of the files, which follow the name of the labeled table."""


class ExistingFileError(DecisionError):
    """A file that the studio has not written, and that the person may want to keep."""

    status = 409


class Exports:
    """The files that a session has written beside its table."""

    def __init__(self, studio: Studio) -> None:
        self._studio = studio
        self._written: dict[str, tuple[Path, os.stat_result]] = {}

    def find(self, what: str) -> Path | None:
        """Return the path of the table, model or report, None if it was not written yet."""
        return self._written[what][0] if what in self._written else None

    def write(self, what: str, *, may_replace: bool = False) -> Path:
        """Write the labeled table, the model or the report beside the table; return its path.

        Raises
        ------
        ExistingFileError
            If there is a file that this session has not written, unless `may_replace`.
        """
        if what not in ENDINGS:
            msg = f"`what` must be table, model or report, got {what!r}"
            raise DecisionError(msg)
        path = default_output(self._studio.path, "labeled")
        path = path.with_name(path.name + ENDINGS[what])
        self._check(what, path, may_replace=may_replace)
        labeled = _labeled_table(self._studio)
        self._check(what, path, may_replace=may_replace)  # the fit may have taken minutes
        with made_from(self._studio.path):
            if what == "table":
                check_new_columns(labeled.task)
                with table_writer(path, like=self._studio.path) as write:
                    write(labeled.table)
            elif what == "model":
                labeled.save(path)
            else:
                labeled.report(path)
        self._written[what] = path, path.stat()
        return path

    def _check(self, what: str, path: Path, *, may_replace: bool) -> None:
        """Raise an error if a file must not be written."""
        for used in (self._studio.path, journal_path(self._studio.path)):
            if path.exists() and used.exists() and path.samefile(used):
                msg = f"{path.name} is a link to {used.name}, which is in use; remove the link"
                raise DecisionError(msg)
        check_writable(path)
        if path.exists() and not may_replace and not self._is_own(what, path.stat()):
            msg = f"{path.name} exists already, and this session has not written it"
            raise ExistingFileError(msg)

    def _is_own(self, what: str, now: os.stat_result) -> bool:
        """Tell whether a file is as this session wrote it."""
        if what not in self._written:
            return False
        then = self._written[what][1]
        is_same = os.path.samestat(then, now)
        return is_same and (then.st_size, then.st_mtime_ns) == (now.st_size, now.st_mtime_ns)


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
