import json
import signal
import subprocess
import sys

import pytest

from graphmargin.cli import main, progress
from graphmargin.cli import reproduce as command
from graphmargin.experiments.paper.claims import Claim
from graphmargin.report import reproduction
from graphmargin.report.reproduction import Experiment
from graphmargin.report.section import Section

CLAIMS = (
    Claim("[bold] one < two", "36 of 36", "30 of 36", holds=False),
    Claim("It is fast", "yes", "yes", holds=True),
    Claim("Many draws", "50", "2", holds=None),
)


def fake(asked, error=None):
    def run(settings):
        asked.append(settings)
        settings.progress(0.5, "half [of it]")
        if error is not None:
            raise error
        settings.progress(1.0, "all")
        return {"fake": [CLAIMS[0]]}

    return Experiment("a fake", run, lambda _: Section("Fake", "Text.", claims=CLAIMS))


@pytest.fixture
def registry(monkeypatch):
    """Return a function that puts other experiments in place of those of the paper."""

    def replace(**experiments):
        monkeypatch.setattr(command, "TITLES", dict.fromkeys(experiments, "a fake"))
        monkeypatch.setattr(reproduction, "EXPERIMENTS", experiments)

    return replace


@pytest.fixture
def asked(registry):
    """Return the settings that two experiments, fake and other, were called with."""
    found = []
    registry(fake=fake(found), other=fake(found))
    return found


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (["figure0"], "NAME must be one of fake, other, all, got 'figure0'"),
        (["fake", "figure0"], "got 'figure0'"),
        ([], "Missing argument 'NAME'"),
        (["fake", "--draws", "0"], "Invalid value for '--draws'"),
        (["fake", "--draws", "many"], "Invalid value for '--draws'"),
        (["fake", "--jobs", "0"], "Invalid value for '--jobs'"),
        (["fake", "--fast"], "No such option: --fast"),
        (
            ["fake", "--out", "FILE"],
            "`out` must be a folder to write to, got 'FILE' (it is a file)",
        ),
        (["fake", "--out", "FILE/below"], "`out` must be a folder to write to, got 'FILE/below'"),
    ],
)
def test_bad_input_is_one_line_before_anything_is_computed(
    argv, message, asked, tmp_path, monkeypatch, capsys
):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "FILE").touch()
    assert main(["reproduce", *argv]) == 2
    said = capsys.readouterr()
    assert message in said.err
    assert said.err.startswith("graphmargin")
    assert len(said.err.splitlines()) == 1
    assert said.out == ""
    assert asked == []


def test_options_reach_the_experiment(asked, tmp_path):
    out = tmp_path / "out"
    argv = ["fake", "--quick", "--draws", "3", "--jobs", "5", "--out", str(out)]
    assert main(["reproduce", *argv]) == 0
    (settings,) = asked
    assert (settings.quick, settings.draws, settings.n_jobs) == (True, 3, 5)
    assert settings.folder == out / "cells"
    (run,) = json.loads((out / "run.json").read_text())["runs"]
    assert run["command"] == " ".join(["graphmargin", "reproduce", *argv])


def test_default_folder_and_jobs(asked, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert main(["reproduce", "fake"]) == 0
    assert (tmp_path / "out" / "reproduction" / "reproduction.html").exists()
    assert 1 <= asked[0].n_jobs <= command.MOST_JOBS


@pytest.mark.parametrize("names", [["all"], ["other", "fake", "fake"]])
def test_all_and_several_names_run_each_once(names, asked, tmp_path):
    assert main(["reproduce", *names, "--out", str(tmp_path)]) == 0
    assert len(asked) == 2


@pytest.mark.usefixtures("asked")
def test_claims_and_pages_are_printed(tmp_path, capsys):
    assert main(["reproduce", "fake", "--out", str(tmp_path)]) == 0
    said = capsys.readouterr()
    lines = [line.strip() for line in said.out.splitlines()]
    assert lines[-2:] == [str(tmp_path / f"reproduction.{kind}") for kind in ("md", "html")]
    rows = [line.split() for line in lines if line.startswith(("[bold]", "It is", "Many"))]
    assert [row[-1] for row in rows] == ["no", "yes", "tried"]
    assert "50%" in said.err
    assert "half [of it]" in said.err


@pytest.mark.usefixtures("asked")
def test_quiet_says_where_the_page_is_and_nothing_else(tmp_path, capsys):
    assert main(["reproduce", "fake", "--quiet", "--out", str(tmp_path)]) == 0
    said = capsys.readouterr()
    assert said.out == f"{tmp_path / 'reproduction.html'}\n"
    assert said.err == ""


def test_after_ctrl_c_the_same_command_continues(registry, tmp_path, capsys):
    registry(fake=fake([]), other=fake([], KeyboardInterrupt()))
    argv = ["reproduce", "all", "--out", str(tmp_path)]
    assert main(argv) == 130
    last = capsys.readouterr().err.splitlines()[-1]
    assert last.startswith("graphmargin: interrupted; ")
    assert "what `reproduce` and `label --dask` have finished is kept" in last
    assert "## Fake" in (tmp_path / "reproduction.md").read_text()
    registry(fake=fake([]), other=fake([]))
    assert main(argv) == 0


def test_a_full_disk_is_one_line(registry, tmp_path, capsys):
    registry(fake=fake([], OSError(28, "No space left on device")))
    assert main(["reproduce", "fake", "--quiet", "--out", str(tmp_path)]) == 2
    assert capsys.readouterr().err == "graphmargin: [Errno 28] No space left on device\n"


@pytest.mark.usefixtures("asked")
def test_a_terminal_has_a_bar(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "100")
    assert main(["reproduce", "fake", "--out", str(tmp_path)]) == 0
    said = capsys.readouterr().err
    assert "100%" in said
    assert "\N{BOX DRAWINGS HEAVY HORIZONTAL}" in said


def test_lines_are_sparse(capsys):
    with progress.watching() as watch:
        tell = watch("table")
        for step in range(1, 1001):
            tell(step / 1000, f"cell {step}")
        tell(1.0, "again")
    lines = capsys.readouterr().err.splitlines()
    assert 4 <= len(lines) <= 6
    assert lines[-1].startswith("table  100%")
    assert lines[-1].endswith("cell 1000")


SLOW = """
import signal, sys, time
from graphmargin.cli import main, reproduce
from graphmargin.report import reproduction
from graphmargin.report.reproduction import Experiment

def run(settings):
    print("begun", flush=True)
    time.sleep(60)

signal.signal(signal.SIGINT, signal.default_int_handler)  # a background job ignores it
slow = {"slow": Experiment("slow", run, None)}
reproduce.TITLES = reproduction.EXPERIMENTS = slow
sys.exit(main(["reproduce", "slow", "--out", sys.argv[1]]))
"""


def test_a_real_ctrl_c_is_130_without_a_traceback(tmp_path):
    process = subprocess.Popen(
        [sys.executable, "-c", SLOW, str(tmp_path)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout.readline() == "begun\n"
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=30)
    assert process.returncode == 130
    (line,) = said.splitlines()
    assert line.startswith("graphmargin: interrupted; ")


@pytest.mark.parametrize(
    "content",
    [
        b"a,b\n1,2\n",
        b"\x00\xa1garbage\n",
        b"pair,draw,gamma_g,eps,risk,train_error,test_error,share\nA-B,four,1,0,0,0,0,1\n",
        b"pair,draw,gamma_g,eps,risk,train_error,test_error,share\nA-B,4,1\n",
    ],
    ids=["other columns", "no text", "no number", "short line"],
)
def test_cells_of_something_else_are_one_line(content, tmp_path, capsys):
    (tmp_path / "cells").mkdir()
    (tmp_path / "cells" / "figure3.csv").write_bytes(content)
    assert main(["reproduce", "figure3", "--quick", "--quiet", "--out", str(tmp_path)]) == 2
    said = capsys.readouterr().err
    assert "must be a file of records" in said
    assert said.count("\n") == 1
    assert (tmp_path / "cells" / "figure3.csv").read_bytes() == content
