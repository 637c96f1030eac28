"""Commands that are killed at random moments: old files or new ones, all or none, and no drafts."""

import os
import random
import signal
import subprocess
import sys
import time

import numpy as np
import pandas as pd
import pytest

from graphmargin.cli import main

MOMENTS = int(os.environ.get("GRAPHMARGIN_KILL_MOMENTS", "6"))
SEED = int(os.environ.get("GRAPHMARGIN_KILL_SEED", "0"))
SIGNALS = (signal.SIGTERM, signal.SIGHUP, signal.SIGINT, signal.SIGKILL)
CODES = {signal.SIGTERM: 143, signal.SIGHUP: 129, signal.SIGINT: 130, signal.SIGKILL: -9}
FILES = ("out.csv", "model.graphmargin", "report.html")
# Imports take most of the time; moments are counted from the end of them.
RUN = (
    "import sys; import pandas, pyarrow, sklearn, scipy, jinja2; "
    "import graphmargin.labeling.table_report, graphmargin.report.labeling_page; "
    "import graphmargin.models, graphmargin.tables.writing; from graphmargin.cli import main; "
    "print('ready', flush=True); code = main(sys.argv[1:]); print('done', flush=True); "
    "sys.exit(code)"
)


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    rng = np.random.default_rng(0)
    group = np.arange(300) % 2
    frame = pd.DataFrame(rng.normal(size=(300, 3)) + 2 * group[:, None], columns=[*"abc"])
    frame["kind"] = np.where(np.arange(300) < 30, np.array(["cat", "dog"])[group], "")
    path = tmp_path_factory.mktemp("table") / "pets.csv"
    frame.to_csv(path, index=False)
    return path


def command(table, folder):
    pairs = zip(("--out", "--model", "--report"), FILES, strict=True)
    options = [word for option, name in pairs for word in (option, str(folder / name))]
    return ["label", str(table), "-t", "kind", *options, "--jobs", "1"]


def start(table, folder):
    process = subprocess.Popen(
        [sys.executable, "-c", RUN, *command(table, folder)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout.readline() == "ready\n"
    return process


def contents(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def wait_for_draft(process, folder):
    while process.poll() is None and not list(folder.glob(".graphmargin*")):
        time.sleep(0.0005)


@pytest.fixture(scope="module")
def whole_run(table, tmp_path_factory):
    """Return the seconds until the command writes its first draft, and until it is done."""
    folder = tmp_path_factory.mktemp("whole")
    assert main(command(table, folder)) == 0  # what is compiled is in the cache then
    process, begin = start(table, folder), time.monotonic()
    wait_for_draft(process, folder)
    first_draft = time.monotonic() - begin
    while process.stdout.readline() not in ("done\n", ""):
        pass
    seconds = time.monotonic() - begin
    process.communicate()
    assert process.returncode == 0
    assert sorted(contents(folder)) == sorted(FILES)
    return first_draft, seconds


def moments():
    """Return signals and moments: shares of the run, or of the part in which it writes files."""
    random_moments = random.Random(SEED)
    return [
        (SIGNALS[i % len(SIGNALS)], bool(i % 2) ^ bool(i // 4 % 2), random_moments.random())
        for i in range(MOMENTS)
    ]


@pytest.mark.parametrize(("number", "while_writing", "share"), moments())
def test_a_killed_command_leaves_all_old_or_all_new_files_and_no_drafts(
    count_case, table, whole_run, tmp_path, number, while_writing, share
):
    count_case("killed commands")
    old = dict.fromkeys(FILES, b"old")
    for name, content in old.items():
        (tmp_path / name).write_bytes(content)
    process = start(table, tmp_path)
    first_draft, seconds = whole_run
    begin = time.monotonic()
    if while_writing:
        wait_for_draft(process, tmp_path)
        time.sleep(share * max(0.0, seconds - first_draft))
    else:
        time.sleep(share * seconds)
    if process.poll() is None:
        process.send_signal(number)
    output, errors = process.communicate(timeout=60)
    assert time.monotonic() - begin < seconds + 20
    # The command may be done, and Python about to end, when the signal comes.
    codes = (0, -number, CODES[number]) if "done" in output else (CODES[number],)
    assert process.returncode in codes, errors
    assert "done" in output or "Traceback" not in errors
    after = contents(tmp_path)
    if number == signal.SIGKILL:  # drafts may be left: the next run removes them
        drafts = [path for path in tmp_path.iterdir() if path.name not in FILES]
        assert all(path.stat().st_mode & 0o777 == 0o600 for path in drafts)
        assert main(command(table, tmp_path)) == 0
    assert sorted(contents(tmp_path)) == sorted(FILES)
    assert len({after[name] != b"old" for name in FILES}) == 1
