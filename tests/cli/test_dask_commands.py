"""``label`` and ``predict`` with --dask: what they do on one machine, on a cluster."""

from __future__ import annotations

import io
import json
from contextlib import redirect_stdout
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import graphmargin as gm
from graphmargin.cli import dask_commands, main
from graphmargin.distributed import pipeline
from graphmargin.distributed.cluster_errors import ClusterError
from graphmargin.distributed.engine import cluster as workers
from graphmargin.distributed.engine.run import locked
from graphmargin.distributed.engine.storage import Folder
from graphmargin.distributed.pipeline import FittedOnCluster
from graphmargin.tables.reading import read_table

N_ROWS = 600


@pytest.fixture(scope="module")
def address(cluster):
    """Return the address of a cluster of two worker processes."""
    return cluster.client.scheduler.address


@pytest.fixture(autouse=True)
def _environment(monkeypatch):
    """Give back the variable of the log, which commands set for their process."""
    monkeypatch.setenv(dask_commands.LOGGING_VARIABLE, "critical")


def run(*argv):
    return main([str(word) for word in argv])


def failing(message):
    def fail(*_, **__):
        raise ClusterError(message)

    return fail


def read_folder(folder):
    parts = [read_table(path) for path in sorted(folder.glob("part-*.parquet"))]
    return pd.concat(parts, ignore_index=True)


@pytest.fixture(scope="module")
def pets(tmp_path_factory, mixed_table):
    """Return a folder: "pets" has the table in two files, "pets.parquet" in one."""
    folder = tmp_path_factory.mktemp("tables")
    table = mixed_table(N_ROWS)[0]
    table.to_parquet(folder / "pets.parquet", index=False)
    (folder / "pets").mkdir()
    table[:350].to_parquet(folder / "pets" / "2.parquet", index=False, row_group_size=150)
    table[350:].to_parquet(folder / "pets" / "10.parquet", index=False)
    return folder


@pytest.fixture(scope="module")
def here(pets):
    """Return the table that one machine labels."""
    assert run("label", pets / "pets.parquet", "-t", "kind", "-q") == 0
    return read_table(pets / "pets-labeled.parquet")


@pytest.fixture(scope="module")
def summary(pets, address):
    """Label the folder on the cluster, and return what is printed."""
    with redirect_stdout(io.StringIO()) as out:
        words = ("label", pets / "pets", "-t", "kind", "--dask", address, "--json")
        files = ("--model", pets / "pets.graphmargin", "--report", pets / "pets.html")
        assert run(*words, *files) == 0
    return json.loads(out.getvalue())


@pytest.fixture(scope="module")
def there(summary):
    """Return the table that the cluster labels."""
    return read_folder(Path(summary["files"]["labeled"]))


def test_labels_are_those_of_one_machine(here, there):
    assert there.dtypes.to_dict() == here.dtypes.to_dict()
    kept = [name for name in here.columns if not name.startswith("kind")]
    pd.testing.assert_frame_equal(there[kept], here[kept])
    assert there["kind"].tolist() == here["kind"].tolist()
    given = here["kind_source"] == "given"
    assert (there["kind_source"] == "given").tolist() == given.tolist()
    assert (there["kind_confidence"][given] == 1).all()
    # Both blend the same candidates, but one machine adds probabilities of the graph, and machines
    # that learn from landmarks are close, not equal.
    difference = (there["kind_confidence"] - here["kind_confidence"]).abs()
    assert difference.mean() < 0.01
    assert difference.max() < 0.1


def test_the_summary_agrees_with_the_files(pets, summary, here, there):  # noqa: ARG001
    assert summary["files"] == {
        "labeled": str(pets / "pets-labeled"),
        "model": str(pets / "pets.graphmargin"),
        "report": str(pets / "pets.html"),
    }
    assert summary["table"] == "pets"
    use = summary["cluster"]
    assert summary["n_rows"] == use["sampled_rows"] == N_ROWS
    assert summary["n_labels"] == use["tried_labeled"] == N_ROWS // 10
    assert use["tried_unlabeled"] == N_ROWS - N_ROWS // 10
    counts = there["kind"].value_counts()
    assert dict(zip(summary["classes"], summary["final_counts"], strict=True)) == counts.to_dict()
    sources = {"given": summary["n_labels"], "predicted": summary["n_predicted"]}
    assert there["kind_source"].value_counts().to_dict() == sources
    assert summary["estimate"]["n_held_out"] == N_ROWS // 10
    assert 0.9 < use["graph_recall"] <= 1
    assert sum(summary["assumptions"].values()) == pytest.approx(1)
    left_out = {use["name"] for use in summary["columns"] if use["role"] == "left out"}
    assert left_out == {"id", "country"}
    assert not {"map", "suspicious_labels"} & set(summary)
    # The work is done, and nobody asked to keep what was between.
    assert sorted(path.name for path in pets.iterdir() if "labeled" in path.name) == [
        "pets-labeled",
        "pets-labeled.parquet",
    ]


def test_the_report_has_no_sections_that_need_all_rows(pets, summary):
    page = (pets / "pets.html").read_text(encoding="utf-8")
    assert f"learned from {N_ROWS} rows" in page
    for name, count in zip(summary["classes"], summary["final_counts"], strict=True):
        assert name in page
        assert f">{count:,}<" in page
    assert [
        part for part in ("graph", "uncertain", "suspicious", "use") if f'id="{part}"' in page
    ] == ["use"]


def test_the_model_predicts_the_same_labels_with_and_without_dask(pets, there, address, tmp_path):
    argv = ("predict", pets / "pets.graphmargin", pets / "pets", "--out", tmp_path / "out")
    with redirect_stdout(io.StringIO()) as out:
        assert run(*argv, "--dask", address, "--json") == 0
    summary_json = json.loads(out.getvalue())
    result = read_folder(tmp_path / "out")
    single = tmp_path / "single.parquet"
    with redirect_stdout(io.StringIO()) as out:
        words = ("predict", pets / "pets.graphmargin", pets / "pets.parquet", "--out", single)
        assert run(*words, "--json") == 0
    assert summary_json["files"] == {"predicted": str(tmp_path / "out")}
    single_summary = json.loads(out.getvalue())
    means = [each["predicted"].pop("mean_confidence") for each in (summary_json, single_summary)]
    assert means[0] == pytest.approx(means[1])
    assert summary_json["predicted"] == single_summary["predicted"]
    pd.testing.assert_frame_equal(result, read_table(single))
    new = (there["kind_source"] != "given").to_numpy()
    assert (result["kind_predicted"] == there["kind"])[new].all()
    assert result["kind_confidence"][new].to_numpy() == pytest.approx(
        there["kind_confidence"][new].to_numpy(), abs=2e-6
    )
    model = gm.load_model(pets / "pets.graphmargin")
    assert model.classes.tolist() == sorted(set(there["kind"]))
    assert model.details["rows"] == N_ROWS


def test_an_interrupted_run_is_resumed(pets, there, address, tmp_path, monkeypatch, capsys):
    out, work = tmp_path / "out", tmp_path / "work"
    argv = ("label", pets / "pets", "-t", "kind", "--dask", address, "--out", out, "-q")
    argv = (*argv, "--work-dir", work, "--model", tmp_path / "pets.graphmargin")

    with monkeypatch.context() as patch:
        patch.setattr(pipeline, "train", failing("no worker is left"))
        # Nothing to resume is no error.
        assert run(*argv, "--resume") == 2
    line = capsys.readouterr().err
    assert line.endswith(f"the checkpoints are in {work}: continue with --resume\n")
    markers = {path: path.stat().st_mtime_ns for path in work.rglob("*.done")}
    assert any(path.parent.name == "rows" for path in markers)
    assert run(*argv) == 2
    assert capsys.readouterr().err.endswith("continue with --resume, or choose another folder\n")

    write = FittedOnCluster.write

    def interrupt(*arguments):
        write(*arguments)
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(FittedOnCluster, "write", interrupt)
        assert run(*argv, "--resume") == 130
    assert "--resume" in capsys.readouterr().err
    assert sorted(path.name for path in tmp_path.iterdir()) == ["work"]

    assert run(*argv, "--resume") == 0
    assert capsys.readouterr() == ("", "")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out", "pets.graphmargin", "work"]
    assert {path: path.stat().st_mtime_ns for path in markers} == markers
    pd.testing.assert_frame_equal(read_folder(out), there)


def test_a_run_with_other_settings_is_not_resumed(pets, address, tmp_path, refused, monkeypatch):
    argv = ("label", pets / "pets.parquet", "-t", "kind", "--dask", address)
    argv = (*argv, "--out", tmp_path / "out", "--work-dir", tmp_path / "work", "--resume")

    with monkeypatch.context() as patch:
        patch.setattr(pipeline, "partition_rows", failing("enough"))
        assert run(*argv, "-q") == 2
    line = refused(*argv, "-q", "--unlabeled", "?")
    assert "--work-dir" in line
    assert "has another run" in line
    assert "resume" not in line


def test_a_second_command_in_the_same_work_folder_is_refused(pets, address, tmp_path, refused):
    words = ("label", pets / "pets.parquet", "-t", "kind", "--dask", address, "--resume", "-q")
    with locked(Folder(str(tmp_path / "work"))):
        line = refused(*words, "--out", tmp_path / "out", "--work-dir", tmp_path / "work")
    assert f"--work-dir {tmp_path / 'work'} is in use by process" in line
    assert line.endswith("wait until it ends, or choose another folder")
    assert not (tmp_path / "out").exists()


def test_minus_one_is_a_class_unless_it_means_unlabeled(address, tmp_path):
    y = np.arange(90) % 2 * 2 - 1
    X = np.random.default_rng(0).normal(10 * y[:, None], 1, (90, 2))
    given = np.where(np.arange(90) < 30, y, 7)
    pd.DataFrame({"a": X[:, 0], "b": X[:, 1], "y": given}).to_parquet(tmp_path / "a.parquet")
    argv = ("label", tmp_path / "a.parquet", "-t", "y", "--unlabeled", "7", "--dask", address)
    assert run(*argv, "-q") == 0
    result = read_folder(tmp_path / "a-labeled")
    assert result["y"].tolist() == y.tolist()
    assert (result["y_source"] == "given").tolist() == (np.arange(90) < 30).tolist()


def test_a_bad_table_leaves_no_work_folder(address, refused, tmp_path):
    table = tmp_path / "a.parquet"
    pd.DataFrame({"a": np.arange(50.0), "y": ["x"] + [None] * 49}).to_parquet(table)
    line = refused("label", table, "-t", "y", "--dask", address)
    assert "at least two classes" in line
    assert "--resume" not in line
    assert [path.name for path in tmp_path.iterdir()] == ["a.parquet"]


@pytest.mark.usefixtures("summary")
def test_a_local_cluster_prints_nothing_when_quiet(pets, tmp_path, capfd):
    out = tmp_path / "out"
    words = ("predict", pets / "pets.graphmargin", pets / "pets.parquet", "--dask", "local")
    assert run(*words, "--out", out, "--quiet") == 0
    assert capfd.readouterr() == ("", "")
    assert len(read_folder(out)) == N_ROWS


@pytest.mark.usefixtures("summary")
def test_the_summary_has_the_lines_of_a_cluster(pets, address, tmp_path, capsys):
    words = ("predict", pets / "pets.graphmargin", pets / "pets", "--dask", address)
    assert run(*words, "--out", tmp_path / "out") == 0
    output = capsys.readouterr()
    assert "600 rows, mean confidence" in output.out
    assert "60 of 60 agree with given labels" in output.out
    assert "distributed" not in output.err


@pytest.mark.parametrize(
    ("words", "output"),
    [
        (["--report", "{pets}/new/a.html", "--out", "{pets}/new"], "outside of it"),
        (["--report", "{pets}/a", "--model", "{pets}/a"], "a is in use by this command already"),
        (["--jobs", "2"], "--jobs cannot be used with --dask"),
        (["--min-confidence", "0.9"], "--min-confidence cannot be used with --dask"),
        (["--sets", "0.9"], "--sets cannot be used with --dask"),
        (["--target", "kin"], "did you mean 'kind'?"),
        (["--out", "{pets}/pets/new"], "where it would be read as input"),
        (["--model", "{pets}/new/pets.graphmargin", "--out", "{pets}/new"], "outside of it"),
        (["--model", "{pets}/pets/2.parquet"], "2.parquet is in use by this command already"),
        (["--out", "nowhere://a/b"], "nowhere"),
    ],
)
def test_bad_options_are_rejected_before_any_work(words, output, pets, refused, tmp_path):
    given = [word.format(pets=pets) for word in words]
    out = [] if "--out" in words else ["--out", tmp_path / "out"]
    line = refused("label", pets / "pets", "-t", "kind", "--dask", "local", *out, *given)
    assert output in line


def test_missing_files_are_rejected(refused, tmp_path):
    for path, output in (("no.parquet", "no.parquet does not exist"), ("*.parquet", "--out")):
        assert output in refused("label", tmp_path / path, "-t", "kind", "--dask", "local")


def test_options_of_clusters_need_dask(refused, pets):
    for option, *value in (["--resume"], ["--work-dir", "a"]):
        line = refused("label", pets / "pets.parquet", "-t", "kind", option, *value)
        assert line == f"graphmargin: {option} needs --dask"
    # Without a cluster, a table is a file, as ever.
    line = refused("label", pets / "pets", "-t", "kind")
    assert "is a folder; pass one of its files. With --dask, it may be a folder of Parquet" in line


def test_options_of_columns_reach_the_cluster(refused, pets, monkeypatch):
    from graphmargin._errors import InputError
    from graphmargin.distributed import dask_tables

    def refuse(*_, ignore, keep, category, **__):
        msg = f"{ignore} {keep} {category}"
        raise InputError(msg)

    monkeypatch.setattr(dask_tables, "open_table", refuse)
    columns = ("--ignore", "a", "--keep", "b", "--category", "c", "--category", "d")
    line = refused("label", pets / "pets", "-t", "kind", "--dask", "local", *columns)
    assert "['a'] ['b'] ['c', 'd']" in line


@pytest.mark.usefixtures("summary")
def test_predict_rejects_bad_options_before_any_work(pets, address, refused, monkeypatch):
    words = ("predict", pets / "pets.graphmargin", pets / "pets", "--dask", address)
    line = refused(*words, "--out", pets / "pets" / "new")
    assert "where it would be read as input" in line
    line = refused(*words, "--out", pets / "pets-labeled")
    assert "; choose a new folder" in line
    message = "predicting: no worker is left; start more, and continue with resume=True"
    monkeypatch.setattr(workers.Cluster, "run", failing(message))
    line = refused(*words, "-q")
    assert line.endswith("start more, and start the command again")


@pytest.mark.usefixtures("summary")
@pytest.mark.parametrize("command", ["label", "predict"])
def test_missing_dask_names_the_extra(command, pets, refused, tmp_path, monkeypatch):
    monkeypatch.setattr(dask_commands, "find_spec", lambda _: None)
    words = {
        "label": ["label", pets / "pets", "-t", "kind"],
        "predict": ["predict", pets / "pets.graphmargin", pets / "pets"],
    }
    line = refused(*words[command], "--dask", "local", "--out", tmp_path / "out")
    assert line.endswith(
        '--dask needs the packages cryptography, dask, distributed; pip install "graphmargin[dask]"'
    )
