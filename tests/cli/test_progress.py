"""Progress of commands: a bar on a terminal, a few lines elsewhere."""

import pytest

from graphmargin._progress import notify, progress_listener, report_stage
from graphmargin.cli import progress
from graphmargin.cli.progress import show_progress


def test_a_log_has_few_lines(monkeypatch, capsys):
    monkeypatch.setattr(progress, "QUIET_SECONDS", 0.0)
    with show_progress(quiet=False) as listener:
        report = listener("table")
        for step in range(1, 1001):
            report(step / 1000, f"row {step}")
        report(1.0, "again")
    lines = capsys.readouterr().err.splitlines()
    assert 4 <= len(lines) <= 6
    assert lines[-1].startswith("table  100%")
    assert lines[-1].endswith("row 1000")


def test_a_terminal_shows_a_bar(monkeypatch, capsys):
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "100")
    with show_progress(quiet=False) as listener:
        listener("table")(1.0, "half [of it]")
    output = capsys.readouterr().err
    assert "100%" in output
    assert "\N{BOX DRAWINGS HEAVY HORIZONTAL}" in output
    assert "half [of it]" in output


@pytest.mark.parametrize(("quiet", "text"), [(False, "compiling kernels\n"), (True, "")])
def test_a_notice_is_a_line_in_a_log_unless_it_is_quiet(capsys, quiet, text):
    with (
        show_progress(quiet=quiet) as listener,
        progress_listener(listener),
        report_stage("table", verbose=0),
    ):
        notify("compiling kernels")
    assert capsys.readouterr().err == text


def test_a_notice_stays_on_a_terminal_beside_the_bars(monkeypatch, capsys):
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "100")
    with show_progress(quiet=False) as listener:
        notify("compiling [once]")
        listener("table")(1.0, "done")
    output = capsys.readouterr().err
    assert "compiling [once]\n" in output
    assert "100%" in output
