import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from reproduction import experiments
from reproduction.__main__ import MAX_JOBS, PACKAGES, main
from reproduction.claims import Claim
from reproduction.experiments import Experiment
from reproduction.section import Section

ROOT = Path(__file__).parents[2]
CLAIMS = (
    Claim("One < two", "36 of 36", "30 of 36 " * 20, holds=False),
    Claim("It is fast", "yes", "yes", holds=True),
    Claim("Many draws", "50", "2", holds=None),
)


def fake(given, error=None):
    def run(options):
        given.append(options)
        if error is not None:
            raise error
        return {"fake": [CLAIMS[0]]}

    return Experiment("a fake", run, lambda _: Section("Fake", "Text.", claims=CLAIMS))


@pytest.fixture
def registry(monkeypatch):
    """Return a function that puts other experiments in place of those of the paper."""
    return lambda **others: monkeypatch.setattr(experiments, "EXPERIMENTS", others)


@pytest.fixture
def given(registry):
    """Return the options that two experiments, fake and other, were called with."""
    options = []
    registry(fake=fake(options), other=fake(options))
    return options


def test_a_quick_figure_has_a_page_a_picture_and_records(tmp_path, capsys):
    assert main(["figure1", "--quick", "--quiet", "--out", str(tmp_path)]) == 0
    assert capsys.readouterr().out.split() == [
        str(tmp_path / f"reproduction.{kind}") for kind in ("md", "html")
    ]
    page = (tmp_path / "reproduction.md").read_text()
    assert "| 218.351 | 218.351 along x1, 218.351 along x2 | yes |" in page
    assert "2 of 2 statements hold." in page
    assert (tmp_path / "images" / "figure1.png").stat().st_size > 10_000
    assert len((tmp_path / "figure1.csv").read_text().splitlines()) == 601


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (["figure0"], "invalid choice: 'figure0'"),
        ([], "required: NAME"),
        (["fake", "--draws", "0"], "argument --draws: must be at least 1, got 0"),
        (["fake", "--jobs", "0"], "argument --jobs: must be at least 1, got 0"),
        (["fake", "--fast"], "unrecognized arguments: --fast"),
    ],
)
def test_bad_arguments_end_with_2_before_anything_is_computed(argv, message, given, capsys):
    with pytest.raises(SystemExit, match="2"):
        main(argv)
    assert message in capsys.readouterr().err
    assert given == []


def test_options_reach_the_experiment(given, tmp_path):
    out = tmp_path / "out"
    argv = ["fake", "--quick", "--draws", "3", "--jobs", "5", "--out", str(out)]
    assert main(argv) == 0
    (options,) = given
    assert (options.quick, options.draws, options.n_jobs) == (True, 3, 5)
    assert (options.folder, options.verbose) == (out, True)
    (run,) = json.loads((out / "run.json").read_text())["runs"]
    assert run["command"] == " ".join(["python -m reproduction", *argv])


def test_names_run_once_and_defaults_of_folder_and_jobs(given, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert main(["other", "fake", "fake"]) == 0
    assert len(given) == 2
    assert (tmp_path / "out" / "reproduction" / "reproduction.html").exists()
    assert 1 <= given[0].n_jobs <= MAX_JOBS


@pytest.mark.usefixtures("given")
def test_claims_and_pages_are_printed(tmp_path, capsys):
    assert main(["fake", "--out", str(tmp_path)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[:2] == ["no         One < two", "           published: 36 of 36"]
    assert "yes        It is fast" in lines
    assert "not tried  Many draws" in lines
    assert max(map(len, lines[:-2])) < 100
    assert lines[-2:] == [str(tmp_path / f"reproduction.{kind}") for kind in ("md", "html")]


def test_after_ctrl_c_the_same_command_continues(registry, tmp_path, capsys):
    registry(fake=fake([]), other=fake([], KeyboardInterrupt()))
    argv = ["all", "--out", str(tmp_path)]
    assert main(argv) == 130
    assert "interrupted; what is finished is kept" in capsys.readouterr().err
    assert "## Fake" in (tmp_path / "reproduction.md").read_text()
    registry(fake=fake([]), other=fake([]))
    assert main(argv) == 0


def test_a_full_disk_and_a_file_as_folder_are_one_line(registry, tmp_path, capsys):
    registry(fake=fake([], OSError(28, "No space left on device")))
    assert main(["fake", "--out", str(tmp_path)]) == 2
    expected = "python -m reproduction: [Errno 28] No space left on device\n"
    assert capsys.readouterr().err == expected
    (tmp_path / "FILE").touch()
    assert main(["fake", "--out", str(tmp_path / "FILE")]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert "`out` must be a folder to write to" in line


def test_a_missing_package_is_named_with_the_way_to_install_it(monkeypatch, capsys):
    monkeypatch.setitem(PACKAGES, "no_such_module", "no-such-package")
    assert main(["figure1"]) == 2
    message = capsys.readouterr().err
    assert "no-such-package is missing; pip install --group reproduction" in message


SLOW = """
import signal, sys, time
from reproduction import experiments
from reproduction.__main__ import main

def run(options):
    print("begun", flush=True)
    time.sleep(60)

signal.signal(signal.SIGINT, signal.default_int_handler)  # a background job ignores it
experiments.EXPERIMENTS = {"slow": experiments.Experiment("slow", run, None)}
sys.exit(main(["slow", "--out", sys.argv[1]]))
"""


@pytest.mark.slow_reproduction
def test_a_real_ctrl_c_is_130_without_a_traceback(tmp_path):
    process = subprocess.Popen(
        [sys.executable, "-c", SLOW, str(tmp_path)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), *sys.path])},
    )
    assert process.stdout.readline() == "begun\n"
    process.send_signal(signal.SIGINT)
    _, message = process.communicate(timeout=30)
    assert process.returncode == 130
    (line,) = message.splitlines()
    assert line.startswith("python -m reproduction: interrupted; ")
