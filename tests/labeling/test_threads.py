"""Commands solve all systems with the number of threads that the user gave."""

import pytest

from graphmargin.harmonic._solvers.system import HarmonicSystem
from graphmargin.labeling.explanation import explain_row
from graphmargin.labeling.labeling_task import task_of
from graphmargin.labeling.suggestions import suggest_rows
from graphmargin.labeling.summary import summarize
from graphmargin.labeling.table_labeling import label_rows


@pytest.fixture
def n_threads(monkeypatch):
    """Return a list of the numbers of threads of the systems that are solved from now on."""
    original, asked = HarmonicSystem.__init__, []

    def spy(self, *system, n_jobs=None, **options):
        asked.append(n_jobs)
        original(self, *system, n_jobs=n_jobs, **options)

    monkeypatch.setattr(HarmonicSystem, "__init__", spy)
    return asked


def test_summaries_are_computed_with_the_threads_of_the_fit(mixed_table, n_threads):
    labeled = label_rows(task_of(mixed_table()[0], "kind"), n_jobs=3)
    n_threads.clear()
    summarize(labeled)
    assert labeled.graph_report(hold_out_labels=True).n_labels > 0
    explain_row(labeled, 0)
    suggest_rows(labeled, 2)
    assert set(n_threads) == {3}
