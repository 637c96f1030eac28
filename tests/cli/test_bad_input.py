"""Whatever is wrong with what a user names: exit code 2, one line, nothing half written."""

import errno
import inspect
import os
import signal
import subprocess
import sys
from contextlib import contextmanager

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet
import pytest

import graphmargin as gm
from graphmargin.cli import app, main
from graphmargin.cli.options import OPTIONS

COMMANDS = ("label", "suggest", "audit", "explain", "fit", "info")


def command_line(command, table, target="kind"):
    """Return a command line on a table, with what it needs beside."""
    extra = {"explain": ["--row", "1"], "fit": ["--model", f"{table}.graphmargin"]}
    return [command, table, "--target", target, *extra.get(command, [])]


@pytest.mark.parametrize("command", ["label", "fit", "audit", "suggest", "explain"])
@pytest.mark.parametrize(
    ("value", "part"),
    [
        ("ballanced", "neither 'balanced' nor"),
        ("cat=much", "neither 'balanced' nor"),
        ("cat=2,", "neither 'balanced' nor"),
        ("cat=-1", "'cat'"),
        ("cat=nan", "'cat'"),
        ("lion=2", "class 'lion', which no label has; classes are 'bird', 'cat', 'dog'"),
    ],
)
def test_bad_class_weights_are_refused(command, value, part, refused, table_file):
    assert part in refused(*command_line(command, table_file), "--class-weight", value)


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_rejects_a_bad_table(command, refused, table_file, tmp_path):
    (tmp_path / "folder.csv").mkdir()
    for name in ("no.csv", "folder.csv"):
        assert name in refused(*command_line(command, tmp_path / name))
    line = refused(*command_line(command, table_file, "kindd"))
    assert "'kindd'" in line
    assert "weight" in line
    if command == "info":  # which describes every table
        return
    table = pd.read_csv(table_file)
    table.assign(kind=None).to_csv(table_file, index=False)
    assert "no label" in refused(*command_line(command, table_file))
    table.assign(kind=table["kind"].where(table["kind"] == "cat")).to_csv(table_file, index=False)
    assert "are cat" in refused(*command_line(command, table_file))


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        (
            "a.sav",
            "x",
            "a.sav: tables that end in .sav cannot be read or written (formats: CSV .csv",
        ),
        ("a.csv", "", "a.csv"),
        ("a.csv", "a,kind\n", "a.csv has no rows, only a header (columns: 'a', 'kind'); add rows"),
        ("a.csv", "a,a,kind\n1,2,cat\n3,4,dog\n5,6,\n", "'a'"),
        ("a.csv", "id,same,kind\n1,x,cat\n2,x,dog\n3,x,\n", "same"),
    ],
    ids=["format", "empty", "header", "names", "nothing-to-learn-from"],
)
def test_files_that_are_no_tables_are_rejected(name, text, message, refused, tmp_path):
    (tmp_path / name).write_text(text)
    assert message in refused(*command_line("label", tmp_path / name))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--target", "weight"], "weight"),
        (["--ignore", "nothing"], "--ignore: there is no column 'nothing'"),
        (["--keep", "kind"], "--keep: 'kind' is the target, which is no feature"),
        (["--category", "kind"], "--category: 'kind' is the target, which is no feature"),
        (["--category", "nothing"], "--category: there is no column 'nothing'"),
        (["--category", "age", "--ignore", "age"], "'age' is in both --category and --ignore"),
        (["--out", "a.doc"], ".parquet"),
        (["--out", "same.csv", "--report", "same.csv"], "same.csv"),
        (["--method", "forest"], "'forest' is not one of auto, cut, linear-cut, harmonic"),
        (["--method", "harmonic", "--dask", "local"], "with --dask, the method is 'cut'"),
    ],
)
def test_bad_options_are_rejected(options, message, refused, table_file, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert message in refused(*command_line("label", table_file), *options)


@pytest.mark.parametrize(
    ("option", "value", "remedy"),
    [
        ("--min-confidence", "95", "from 0 to 1, such as 0.95"),
        ("--min-confidence", "95%", "valid number"),
        ("--sets", "99", "between 0 and 1, such as 0.9"),
        ("--jobs", "0", "greater than or equal to 1"),
    ],
)
def test_the_message_has_the_option_its_value_and_the_range(
    option, value, remedy, refused, table_file
):
    line = refused(*command_line("label", table_file), option, value)
    for part in (option, value, remedy):
        assert part in line.partition("label: ")[2]


def test_the_message_about_an_excel_file_says_which_sheet_is_read(refused, table_file, tmp_path):
    path = tmp_path / "pets.xlsx"
    with pd.ExcelWriter(path) as book:
        pd.DataFrame({"note": ["some pets"]}).to_excel(book, sheet_name="notes", index=False)
        pd.read_csv(table_file).to_excel(book, sheet_name="pets", index=False)
    for command in ("label", "info"):
        line = refused(*command_line(command, path))
        assert "pets.xlsx (first sheet): --target: there is no column 'kind'" in line


@pytest.mark.parametrize("suffix", ["csv", "tsv", "parquet", "xlsx", "jsonl", "csv.gz"])
def test_random_bytes_are_rejected(suffix, refused, tmp_path):
    path = tmp_path / f"garbage.{suffix}"
    path.write_bytes(np.random.default_rng(0).bytes(5000))
    assert "garbage" in refused(*command_line("label", path))


def test_a_truncated_parquet_file_is_rejected(refused, tmp_path, mixed_table):
    path = tmp_path / "pets.parquet"
    mixed_table()[0].to_parquet(path)
    path.write_bytes(path.read_bytes()[:-100])
    assert "pets.parquet" in refused(*command_line("label", path))


@pytest.mark.parametrize("command", ["label", "suggest"])
def test_a_table_with_all_labels_is_rejected(command, refused, table_file):
    table = pd.read_csv(table_file)
    table.assign(kind=np.where(table["weight"] > 5, "cat", "dog")).to_csv(table_file, index=False)
    assert "all 150 rows" in refused(*command_line(command, table_file))


def test_the_message_suggests_the_value_that_may_mean_unlabeled(refused, table_file):
    table = pd.read_csv(table_file)
    table.assign(kind=table["kind"].fillna("to do")).to_csv(table_file, index=False)
    line = refused(*command_line("label", table_file))
    assert "if 'to do' (135 rows) means unlabeled, add --unlabeled='to do'" in line
    for n_classes in (2, 3):
        table.assign(kind=np.arange(150) % n_classes).to_csv(table_file, index=False)
        assert "--unlabeled" not in refused(*command_line("label", table_file))


def test_a_table_with_a_column_of_the_result_is_rejected(refused, table_file):
    pd.read_csv(table_file).assign(kind_source="").to_csv(table_file, index=False)
    assert "'kind_source'" in refused(*command_line("label", table_file))


@pytest.mark.parametrize("row", ["0", "151", "a0001", "-3"])
def test_a_row_number_out_of_range_is_rejected(row, refused, table_file):
    line = refused("explain", table_file, "-t", "kind", f"--row={row}")
    assert row in line


def test_an_unknown_or_ambiguous_id_is_rejected(refused, table_file):
    start = ("explain", table_file, "-t", "kind")
    assert "no row" in refused(*start, "--row", "zz", "--id", "id")
    assert "150 rows" in refused(*start, "--row", "here", "--id", "country")
    assert "'nope'" in refused(*start, "--row", "here", "--id", "nope")


@pytest.mark.parametrize("option", ["--out", "--model", "--report"])
def test_an_output_that_cannot_be_written_is_rejected(option, refused, table_file, tmp_path):
    (tmp_path / "file").write_text("")
    (tmp_path / "folder.csv").mkdir()
    start = command_line("label", table_file)
    assert "file" in refused(*start, option, tmp_path / "file" / "a.csv")
    assert "folder.csv" in refused(*start, option, tmp_path / "folder.csv")
    assert "pets.csv" in refused(*start, option, table_file)


@pytest.mark.parametrize("option", ["--out", "--model", "--report"])
def test_a_folder_that_does_not_exist_is_refused_before_any_work(
    option, refused, table_file, tmp_path, monkeypatch
):
    from graphmargin.labeling import labeling_task

    monkeypatch.setattr(labeling_task, "read_task", None)
    path = tmp_path / "new" / "pets.csv"
    line = refused(*command_line("label", table_file), option, path)
    assert f"{option} {path}: the folder {path.parent} does not exist; make it first" in line
    for command in ("suggest", "audit"):
        assert "make it first" in refused(*command_line(command, table_file), "--out", path)


@pytest.mark.parametrize("command", ["label", "fit"])
@pytest.mark.parametrize("name", ["r.pdf", "r"])
def test_a_report_that_is_no_web_page_is_refused_before_any_work(
    command, name, refused, table_file, tmp_path, monkeypatch
):
    from graphmargin.labeling import labeling_task

    monkeypatch.setattr(labeling_task, "read_task", None)
    line = refused(*command_line(command, table_file), "--report", tmp_path / name)
    assert f"--report {tmp_path / name}: the report is a web page; choose a name that" in line


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("x.docx", "x.docx: tables that end in .docx cannot be read or written (formats: CSV .csv"),
        ("x.json", "x.json: tables that end in .json cannot be read or written; JSON lines, which"),
        ("x", "x: names without an ending cannot be read or written (formats: CSV .csv"),
    ],
)
def test_an_input_that_cannot_be_read_is_named_and_not_its_output(
    name, hint, model_file, refused, tmp_path
):
    (tmp_path / name).write_text("x")
    for argv in (command_line("label", tmp_path / name), ("predict", model_file, tmp_path / name)):
        line = refused(*argv)
        assert hint in line
        assert "-labeled" not in line
        assert "-predicted" not in line


@pytest.mark.parametrize("command", ["label", "fit", "audit", "suggest", "explain", "studio"])
def test_the_columns_are_listed_if_the_target_is_missing(command, refused, table_file):
    argv = command_line(command, table_file)
    del argv[2:4]
    line = refused(*argv)
    assert "Missing option '--target'" in line
    assert "pets.csv has: 'id', 'weight', 'age'" in line


def test_a_missing_target_of_a_bad_table_gives_the_error_of_the_table(refused, tmp_path):
    (tmp_path / "a.csv").write_text("")
    assert "a.csv: the file is empty" in refused("label", tmp_path / "a.csv")
    assert "Missing argument 'TABLE'" in refused("label")


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("size#kind\n1#cat\n", "the header has no separator that is known: a comma, a semicolon"),
        ("1.5,cat\n2.5,dog\n", "the first line of the file must have the names of the columns"),
        ("size,Kinds\n1,cat\n", "did you mean 'Kinds'?"),
    ],
    ids=["separator", "header", "case"],
)
def test_a_target_that_does_not_exist_gets_a_hint(text, hint, refused, tmp_path):
    (tmp_path / "a.csv").write_text(text)
    assert f"--target: there is no column 'kind'; {hint}" in refused(
        *command_line("label", tmp_path / "a.csv")
    )


@pytest.mark.parametrize("command", [*COMMANDS, "predict", "studio"])
def test_a_url_is_no_file(command, model_file, refused):
    url = "https://example.org/pets.csv"
    argv = ("predict", model_file, url) if command == "predict" else command_line(command, url)
    line = refused(*argv)
    assert f"'{url}' is a URL; download the file, and pass its path" in line
    assert ("With --dask" in line) == (command in ("label", "predict"))


def test_messages_name_options_that_exist():
    (command,) = (c for c in app.app.registered_commands if c.name == "label")
    parameters = inspect.signature(command.callback).parameters
    assert set(OPTIONS) - {"coverage"} <= set(parameters)
    assert OPTIONS["coverage"] == "--sets"


@pytest.mark.parametrize("option", ["--out", "--model", "--report"])
def test_an_irregular_output_file_is_rejected(option, refused, table_file, tmp_path, monkeypatch):
    from graphmargin.labeling import labeling_task

    monkeypatch.setattr(labeling_task, "read_task", None)  # before any work
    os.mkfifo(tmp_path / "fifo.csv")
    (tmp_path / "null.csv").symlink_to("/dev/null")
    (tmp_path / "loop.csv").symlink_to("loop.csv")
    start = command_line("label", table_file)
    assert "a FIFO, not a file" in refused(*start, option, tmp_path / "fifo.csv")
    assert "a device, not a file" in refused(*start, option, tmp_path / "null.csv")
    assert "a link to itself" in refused(*start, option, tmp_path / "loop.csv")
    assert "File name too long" in refused(*start, option, tmp_path / f"{'x' * 300}.csv")


@pytest.mark.parametrize("command", ["label", "suggest", "audit", "explain", "fit"])
def test_seeds_out_of_range_are_rejected(command, refused, table_file):
    for seed in (2**32, -1):
        assert "--seed" in refused(*command_line(command, table_file), f"--seed={seed}")


@pytest.mark.parametrize("command", [*COMMANDS, "predict"])
def test_an_irregular_input_file_is_rejected(command, refused, tmp_path):
    os.mkfifo(tmp_path / "fifo.csv")
    argv = command_line(command, tmp_path / "fifo.csv")
    if command == "predict":
        argv = ["predict", tmp_path / "fifo.csv", tmp_path / "fifo.csv"]
    assert "is not a regular file" in refused(*argv)


@contextmanager
def small_files():
    """Let the system refuse to write on after 2,000 bytes, which is what a full disk does."""
    import resource  # which Windows does not have

    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (2000, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


@pytest.mark.skipif(sys.platform == "win32", reason="Windows does not limit the size of files")
def test_a_full_disk_keeps_the_old_table(table_file, tmp_path, refused):
    out = tmp_path / "out.csv"
    out.write_text("old")
    argv = [str(word) for word in command_line("label", table_file)]
    assert main([*argv, "--quiet"]) == 0  # what is not compiled yet is, and kept in its cache
    with small_files():
        line = refused(*argv, "--quiet", "--out", out)
    assert f"{out}: File too large; nothing was written: free some space" in line


@pytest.mark.parametrize("option", ["--model", "--report"])
def test_a_full_disk_is_an_error_of_one_line(option, table_file, tmp_path, monkeypatch, refused):
    from pathlib import Path

    def full(self, _content):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(self))

    monkeypatch.setattr(Path, "write_bytes", full)
    path = tmp_path / "file.html"
    line = refused(*command_line("label", table_file), option, path, "--quiet")
    assert f"{path}: No space left on device; nothing was written: free" in line


@pytest.fixture
def model_file(labeled_pets, tmp_path):
    """Return a model of the table."""
    path = tmp_path / "pets.graphmargin"
    gm.save_model(labeled_pets.model(), path)
    return path


def test_bad_model_files_are_rejected(model_file, table_file, tmp_path, refused):
    bad = tmp_path / "bad.graphmargin"
    start = ("predict", bad, table_file, "--out", tmp_path / "out.csv")
    assert "bad.graphmargin" in refused(*start)
    bad.mkdir()
    assert "bad.graphmargin" in refused(*start)
    bad.rmdir()
    for content in (b"", b"garbage", model_file.read_bytes()[:-200]):
        bad.write_bytes(content)
        assert "bad.graphmargin" in refused(*start)
        assert "bad.graphmargin" in refused("info", bad)


def test_info_on_a_model_refuses_options_of_tables(model_file, refused):
    line = refused("info", model_file, "--target", "kind")
    assert "--target is for tables, and FILE is a model" in line


def test_a_model_for_arrays_is_rejected(table_file, tmp_path, refused):
    path = tmp_path / "svc.graphmargin"
    gm.save_model(gm.SupervisedSVC().fit([[0.0], [1.0]], ["low", "high"]), path)
    assert "SupervisedSVC" in refused("predict", path, table_file, "--out", tmp_path / "out.csv")


def test_a_table_that_does_not_fit_the_model_is_rejected(
    model_file, tmp_path, refused, mixed_table
):
    table = mixed_table()[0].drop(columns="kind")
    path = tmp_path / "new.csv"
    start = ("predict", model_file, path, "--out", tmp_path / "out.csv")
    table.drop(columns="weight").to_csv(path, index=False)
    assert "'weight'" in refused(*start)
    table.assign(weight="heavy").to_csv(path, index=False)
    line = refused(*start)
    assert "'weight'" in line
    assert "heavy" in line
    table.assign(kind_confidence=1).to_csv(path, index=False)
    assert "'kind_confidence'" in refused(*start)


def fail():
    msg = "a bug"
    raise KeyError(msg)


@pytest.mark.parametrize(
    ("event", "code", "message"),
    [
        (fail, 1, f"internal error: KeyError: 'a bug'; set {app.TRACEBACK_VARIABLE}=1"),
        (lambda: signal.raise_signal(signal.SIGINT), 130, "interrupted"),
        (lambda: signal.raise_signal(signal.SIGTERM), 143, "interrupted"),
        (lambda: signal.raise_signal(signal.SIGHUP), 129, "interrupted"),
    ],
    ids=["internal-error", "ctrl-c", "kill", "hang-up"],
)
def test_internal_errors_and_interruptions_print_one_line(
    event, code, message, monkeypatch, refused, table_file
):
    from graphmargin.labeling import table_labeling

    monkeypatch.setattr(table_labeling, "label_rows", lambda *_, **__: event())
    assert message in refused(*command_line("label", table_file), code=code)


def test_sighup_under_nohup_is_ignored(monkeypatch, refused, table_file):
    from graphmargin.labeling import table_labeling

    def hang_up_and_fail(*_, **__):
        signal.raise_signal(signal.SIGHUP)
        fail()

    monkeypatch.setattr(table_labeling, "label_rows", hang_up_and_fail)
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        assert "a bug" in refused(*command_line("label", table_file), code=1)
    finally:
        signal.signal(signal.SIGHUP, before)
    assert signal.getsignal(signal.SIGTERM) == signal.SIG_DFL


def test_the_variable_shows_a_traceback(monkeypatch, capsys, table_file):
    from graphmargin.labeling import table_labeling

    monkeypatch.setattr(table_labeling, "label_rows", None)
    monkeypatch.setenv(app.TRACEBACK_VARIABLE, "1")
    assert main([str(word) for word in command_line("label", table_file)]) == 1
    assert capsys.readouterr().err.startswith("Traceback")


def test_the_message_names_missing_packages_and_the_extra(monkeypatch, refused, table_file):
    monkeypatch.setattr(app, "REQUIRED_PACKAGES", ("no_such_package",))
    line = refused(*command_line("label", table_file))
    assert 'no_such_package; pip install "graphmargin[cli]"' in line


@pytest.mark.parametrize("value", ["-0.1", "1.1", "nan", "inf", "most"])
def test_confidences_and_coverages_are_shares(value, table_file, refused):
    for option in ("--min-confidence", "--sets"):
        assert option in refused(*command_line("label", table_file), f"{option}={value}")


def test_a_coverage_is_neither_nothing_nor_everything(table_file, refused):
    for value in ("0", "1"):
        line = refused(*command_line("label", table_file), "--sets", value)
        assert "such as 0.9" in line


def test_sets_must_not_replace_a_column(table_file, refused):
    pd.read_csv(table_file).assign(kind_set="").to_csv(table_file, index=False)
    assert "'kind_set'" in refused(*command_line("label", table_file), "--sets", "0.9")


MEMORY_SCRIPT = """
import resource, sys
from pathlib import Path
from graphmargin.cli import main
import graphmargin.labeling.column_overview, pyarrow.parquet
pages = int(Path("/proc/self/statm").read_text().split()[0])
resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + 2**29,) * 2)
sys.exit(main(sys.argv[1:]))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux limits the memory of a process")
def test_a_table_that_does_not_fit_into_memory_is_an_error_of_one_line(tmp_path):
    """A small Parquet file may have many equal rows."""
    column = pa.array(np.zeros(20_000_000))
    table = pa.table({"x": column, "y": column, "z": column})
    pyarrow.parquet.write_table(table, tmp_path / "zeros.parquet")
    assert (tmp_path / "zeros.parquet").stat().st_size < 300_000
    command = [sys.executable, "-c", MEMORY_SCRIPT, "info", str(tmp_path / "zeros.parquet")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    (line,) = done.stderr.splitlines()
    assert line.startswith("graphmargin: there is not enough memory")
    assert done.returncode == 2
