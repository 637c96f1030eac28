"""Commands that work, as a person would use them."""

import csv
import json
import subprocess
import sys
import time

import numpy as np
import pandas as pd
import pytest

import graphmargin as gm
from graphmargin._texts import format_estimate, format_interval
from graphmargin.cli import main
from graphmargin.labeling import labeling_task
from graphmargin.labeling.labeling_task import read_task
from graphmargin.labeling.table_labeling import label_rows
from graphmargin.tables.reading import read_table


def run(*argv):
    """Return the exit code of a command."""
    return main([str(word) for word in argv])


def test_label_writes_the_result_next_to_the_table(table_file, labeled_pets, capsys):
    before = table_file.read_bytes()
    assert run("label", table_file, "--target", "kind") == 0
    assert table_file.read_bytes() == before
    written = read_table(table_file.with_name("pets-labeled.csv"))
    assert written["kind"].tolist() == labeled_pets.table["kind"].tolist()
    confidence = written["kind_confidence"].astype(float).to_numpy()
    assert confidence == pytest.approx(labeled_pets.confidence, abs=1e-5)
    assert written["kind_source"].tolist() == labeled_pets.sources.tolist()
    assert written.columns.tolist() == labeled_pets.table.columns.tolist()
    output = capsys.readouterr().out
    assert "pets.csv: 150 rows, 15 with a label in kind, 3 classes" in output
    assert "id (an ID: all values differ), country (constant)" in output
    assert "15 given, 135 predicted" in output
    assert "graph " not in output, "the verdict on the graph of one member is no summary"
    assert "pets-labeled.csv" in output


@pytest.mark.parametrize("suffix", ["csv.gz", "tsv", "parquet", "xlsx", "jsonl"])
def test_label_reads_and_writes_every_format(suffix, tmp_path, mixed_table, labeled_pets):
    from graphmargin.tables.writing import table_writer

    table, _ = mixed_table()
    with table_writer(tmp_path / f"pets.{suffix}") as write:
        write(table)
    assert run("label", tmp_path / f"pets.{suffix}", "-t", "kind", "-q") == 0
    written = read_table(tmp_path / f"pets-labeled.{suffix}")
    assert written["kind"].tolist() == labeled_pets.table["kind"].tolist()


def test_label_reads_embeddings(tmp_path):
    X, y = (part[:400] for part in gm.datasets.load_digits())
    few = gm.datasets.mask_labels(y, per_class=4, random_state=0)
    expected = gm.SemiSupervisedEnsemble(random_state=0).fit(X, few).transduction_
    table = pd.DataFrame({"vector": list(X), "y": [None if k < 0 else f"d{k}" for k in few]})
    table.to_parquet(tmp_path / "digits.parquet")
    assert run("label", tmp_path / "digits.parquet", "-t", "y", "-q") == 0
    written = read_table(tmp_path / "digits-labeled.parquet")
    assert (written["y"] == [f"d{k}" for k in expected]).mean() > 0.99
    assert np.array_equal(np.stack(written["vector"]), X)


def test_a_method_is_one_member(table_file, labeled_pets, capsys):
    expected = label_rows(labeled_pets.task, method="cut")
    assert run("label", table_file, "-t", "kind", "--method", "cut", "--json") == 0
    result = json.loads(capsys.readouterr().out)
    assert [member["name"] for member in result["members"]] == ["cut"]
    written = read_table(table_file.with_name("pets-labeled.csv"))
    assert written["kind"].tolist() == expected.table["kind"].tolist()
    assert run("label", table_file, "-t", "kind") == 0
    output = capsys.readouterr().out
    assert "chosen    " in output
    assert "because   " in output


def test_quiet_prints_nothing_and_json_prints_the_summary(table_file, capsys):
    assert run("label", table_file, "-t", "kind", "--quiet") == 0
    output = capsys.readouterr()
    assert output.out + output.err == ""
    assert run("label", table_file, "-t", "kind", "--json") == 0
    output = capsys.readouterr()
    assert output.err == ""
    result = json.loads(output.out)
    assert result["n_rows"] == 150
    assert result["files"] == {"labeled": str(table_file.with_name("pets-labeled.csv"))}
    assert result["n_labels"] == 15
    assert "inf" in [candidate["gamma_g"] for candidate in result["candidates"]]
    assert result["estimate"]["n_held_out"] == 15


def test_the_seconds_are_those_of_the_whole_command(table_file, capsys, monkeypatch):
    late, now = [0.0], time.perf_counter

    def slow(*args, **options):
        late[0] += 1000
        return read_task(*args, **options)

    monkeypatch.setattr(time, "perf_counter", lambda: now() + late[0])
    monkeypatch.setattr(labeling_task, "read_task", slow)
    began = now()
    assert run("label", table_file, "-t", "kind", "--method", "supervised", "--json") == 0
    passed = now() - began
    assert 1000 < json.loads(capsys.readouterr().out)["seconds"] < 1000 + passed


def test_label_and_predict_leave_rows_empty_that_are_not_sure(table_file, tmp_path, capsys):
    model, out = tmp_path / "pets.graphmargin", tmp_path / "out.csv"
    options = ("--min-confidence", "0.95", "--sets", "0.8")
    argv = ("label", table_file, "-t", "kind", "--out", out, "--model", model, *options)
    assert run(*argv) == 0
    output = capsys.readouterr().out
    written = read_table(out)
    is_sure = written["kind_confidence"].astype(float) >= 0.95
    n_empty = int((~is_sure).sum())
    assert 0 < n_empty < 135
    assert f"{n_empty} rows with a confidence below 0.95" in " ".join(output.split())
    assert written["kind"].notna().equals(is_sure)
    assert (
        written["kind_set"]
        .str.split(" | ", regex=False)
        .explode()
        .dropna()
        .isin(["bird", "cat", "dog"])
        .all()
    )
    assert run(*argv, "--json") == 0
    result = json.loads(capsys.readouterr().out)
    assert (result["n_left_empty"], result["min_confidence"]) == (n_empty, 0.95)
    assert sum(result["final_counts"]) == 150 - n_empty
    assert run("predict", model, table_file, "--out", out, *options) == 0
    output = " ".join(capsys.readouterr().out.split())
    predicted = read_table(out)
    n_empty = int(predicted["kind_predicted"].isna().sum())
    assert f"{n_empty} left empty, their confidence is below 0.95" in output
    assert (predicted["kind_confidence"].astype(float) >= 0.95).sum() == 150 - n_empty
    assert predicted["kind_set"].notna().any()
    assert run("predict", model, table_file, "--out", out, "--sets", "0.99") == 0
    assert "! 15 labels can guarantee a coverage of at most 0.938" in capsys.readouterr().out


def test_the_summary_tells_the_accuracy_of_all_rows_of_classes_and_of_the_surest(
    table_file, capsys
):
    assert run("label", table_file, "-t", "kind", "--json") == 0
    result = json.loads(capsys.readouterr().out)
    estimate, surest = result["estimate"], result["surest"]
    low, high = estimate["interval"]
    assert 0 <= low <= estimate["accuracy"] <= high <= 1
    assert len(estimate["recall"]) == len(estimate["precision_interval"]) == 3
    assert run("label", table_file, "-t", "kind") == 0
    output = " ".join(capsys.readouterr().out.split())
    assert f"about {estimate['accuracy']:.0%} (95 % interval: {low:.0%} to" in output
    assert f"{estimate['n_right']} of 15 held-out" in output
    assert f"balanced: {estimate['balanced_accuracy']:.0%}" in output
    assert (f"about {int(100 * surest['accuracy'])}% are right" in output) == (surest["share"] < 1)
    recall, interval = estimate["recall"][0], estimate["recall_interval"][0]
    assert f"{format_estimate(recall)} ({format_interval(interval)})" in output


def test_label_writes_model_and_report(table_file, tmp_path, mixed_table, labeled_pets, capsys):
    model, report = tmp_path / "m" / "pets.graphmargin", tmp_path / "r" / "pets.html"
    model.parent.mkdir()
    report.parent.mkdir()
    argv = ("label", table_file, "-t", "kind", "--model", model, "--report", report)
    assert run(*argv) == 0
    new, _ = mixed_table(60, seed=1)
    loaded = gm.load_model(model)
    X = labeled_pets.task.features.transform(new)
    assert np.array_equal(loaded.predict(new), labeled_pets.fitted.predictor.predict(X))
    page = report.read_text()
    assert "135 rows labeled from 15 labels" in page
    assert str(model) in page
    assert str(report) in capsys.readouterr().out


def test_fit_predict_and_info_work_together(table_file, tmp_path, mixed_table, capsys):
    model = tmp_path / "pets.graphmargin"
    assert run("fit", table_file, "-t", "kind", "--model", model, "--json") == 0
    assert json.loads(capsys.readouterr().out)["files"] == {"model": str(model)}
    new = mixed_table(60, seed=1)[0].drop(columns="kind")
    new.loc[3, "color"] = "never seen"
    new.to_parquet(tmp_path / "new.parquet")
    assert run("predict", model, tmp_path / "new.parquet") == 0
    output = capsys.readouterr().out
    assert "60 rows" in output
    written = read_table(tmp_path / "new-predicted.parquet")
    assert written["kind"].tolist() == gm.load_model(model).predict(new).tolist()
    assert run("info", model) == 0
    output = capsys.readouterr().out
    assert "3: bird, cat, dog" in output
    assert "schema 2" in output
    assert run("info", model, "--json") == 0
    assert json.loads(capsys.readouterr().out)["details"]["labels"] == 15


def test_a_table_with_all_labels_can_be_learned_from(table_file, tmp_path):
    table = read_table(table_file).assign(kind=np.where(np.arange(150) % 3, "x", "y"))
    table.to_csv(table_file, index=False)
    assert run("fit", table_file, "-t", "kind", "--model", tmp_path / "m.graphmargin", "-q") == 0
    assert gm.load_model(tmp_path / "m.graphmargin").classes.tolist() == ["x", "y"]


def test_info_shows_columns_and_labels_of_a_table(table_file, capsys):
    assert run("info", table_file, "-t", "kind") == 0
    output = capsys.readouterr().out
    assert "135 rows without a label" in output
    assert run("info", table_file, "--json", "--ignore", "note") == 0
    result = json.loads(capsys.readouterr().out)
    notes = {use["name"]: use["note"] for use in result["columns"]}
    assert notes["note"] == "ignored"


def odd_cells(n: int = 40) -> pd.DataFrame:
    """Return rows of text that other readers would change, whose kind is told by "size"."""
    rng = np.random.default_rng(0)
    large = np.arange(n) % 2 == 0
    return pd.DataFrame(
        {
            "size": [f"{x:.2f}" for x in rng.normal(size=n) / 10 + large],
            "number": np.arange(n).astype(str),
            "code": [f"{i % 7:03d}" for i in range(n)],
            "long": [f"{12345678901234567890 + i % 5}" for i in range(n)],
            "truth": np.where(large, "TRUE", "FALSE"),
            "grade": np.where(large, "1.50", "2.00"),
            "note": np.where(rng.random(n) < 0.5, "NA", "a\rb"),
            "kind": np.where(np.arange(n) < 10, np.where(large, "TRUE", "no\rpe"), ""),
        }
    )


@pytest.mark.parametrize("separator", [",", ";", "\t", "|"])
def test_text_of_the_table_is_not_changed(tmp_path, separator):
    table = odd_cells()
    table.to_csv(tmp_path / "a.csv", sep=separator, index=False, quoting=csv.QUOTE_ALL)
    assert run("label", tmp_path / "a.csv", "-t", "kind", "-q") == 0
    assert (tmp_path / "a-labeled.csv").read_text().count(separator) > 40 * 9
    written = read_table(tmp_path / "a-labeled.csv")
    others = list(table.columns[:-1])
    assert written[others].to_dict("list") == table[others].to_dict("list")
    assert written["kind"].tolist() == ["TRUE", "no\rpe"] * 20


def test_predict_parses_columns_as_in_training(tmp_path):
    table = odd_cells()
    learned = table.copy()
    learned.loc[[5, 21], ["truth", "grade"]] = "unknown", "n.a."
    for name, rows in (("few", learned), ("same", learned), ("plain", table.drop([5, 21]))):
        rows.to_csv(tmp_path / f"{name}.csv", index=False, quoting=csv.QUOTE_ALL)
    model = tmp_path / "few.graphmargin"
    assert run("fit", tmp_path / "few.csv", "-t", "kind", "--model", model, "-q") == 0
    for name in ("same", "plain"):
        assert run("predict", model, tmp_path / f"{name}.csv", "-q") == 0
    same, plain = (read_table(tmp_path / f"{name}-predicted.csv") for name in ("same", "plain"))
    expected = same.drop([5, 21]).reset_index(drop=True)
    pd.testing.assert_frame_equal(plain, expected)


def test_keep_uses_consecutive_integers(tmp_path, capsys):
    odd_cells().to_csv(tmp_path / "a.csv", index=False, quoting=csv.QUOTE_ALL)
    assert run("info", tmp_path / "a.csv", "-t", "kind", "--keep", "number", "--json") == 0
    roles = {use["name"]: use["role"] for use in json.loads(capsys.readouterr().out)["columns"]}
    assert roles["number"] == "number"
    assert run("info", tmp_path / "a.csv", "-t", "kind", "--json") == 0
    roles = {use["name"]: use["role"] for use in json.loads(capsys.readouterr().out)["columns"]}
    assert roles["number"] == "left out"
    model = tmp_path / "a.graphmargin"
    argv = ("fit", tmp_path / "a.csv", "-t", "kind", "--model", model, "--keep", "number", "-q")
    assert run(*argv) == 0
    assert "number" in {encoder.name for encoder in gm.load_model(model).features.encoders}


def test_suggest_lists_rows(table_file, tmp_path, capsys):
    argv = ("suggest", table_file, "-t", "kind", "-n", "4")
    assert run(*argv, "--json") == 0
    result = json.loads(capsys.readouterr().out)["suggestions"]
    assert len(result) == 4
    assert run(*argv, "--out", tmp_path / "next.csv") == 0
    assert result[0]["reason"] in capsys.readouterr().out
    written = read_table(tmp_path / "next.csv")
    assert written["row"].tolist() == [str(row["row"]) for row in result]
    labels = read_table(table_file)["kind"]
    assert labels.iloc[[row["row"] - 1 for row in result]].isna().all()


def test_audit_lists_wrong_labels(table_file, tmp_path, mixed_table, capsys):
    table, names = mixed_table()
    wrong = names.copy()
    wrong[[30, 60]] = "dog"
    table.assign(kind=wrong).to_csv(table_file, index=False)
    assert run("audit", table_file, "-t", "kind", "--out", tmp_path / "suspicious.csv") == 0
    output = capsys.readouterr().out
    assert "suggested" in output
    written = read_table(tmp_path / "suspicious.csv")
    assert set(written["row"][:2]) == {"31", "61"}
    assert written["probability"].astype(float).between(0.5, 1).all()
    assert run("audit", table_file, "-t", "kind", "-n", "1", "--json") == 0
    result = json.loads(capsys.readouterr().out)
    assert result["n_suspicious"] >= 2
    assert result["threshold"] == 0.5
    assert run("audit", table_file, "-t", "kind", "--threshold", "0.99", "--json") == 0
    assert json.loads(capsys.readouterr().out)["n_suspicious"] < result["n_suspicious"]
    assert 0 < result["expected_false_alarms"] < result["n_suspicious"]
    assert output.startswith(result["summary"])
    assert len(result["suspicious_labels"]) == 1
    assert run("audit", table_file, "-t", "kind", "-n", "1") == 0
    assert "lists all" in capsys.readouterr().out


def test_explain_finds_rows_by_number_and_by_id(table_file, capsys):
    assert run("explain", table_file, "-t", "kind", "--row", "5", "--json") == 0
    by_number = json.loads(capsys.readouterr().out)
    assert run("explain", table_file, "-t", "kind", "--row", "a0004", "--id", "id", "--json") == 0
    assert json.loads(capsys.readouterr().out) == by_number
    assert by_number["label"] == "dog"
    assert run("explain", table_file, "-t", "kind", "--row", "5") == 0
    output = capsys.readouterr().out
    assert "row 5: kind 'dog'" in output
    assert by_number["counterfactual"] in output
    assert run("explain", table_file, "-t", "kind", "--row", "1") == 0
    assert "with its own label held out" in capsys.readouterr().out


def test_seed_and_jobs_reach_the_fit(table_file, monkeypatch):
    from graphmargin.labeling import table_labeling

    asked = {}

    def remember(job_, **options):
        asked.update(options)
        return label_rows(job_)

    monkeypatch.setattr(table_labeling, "label_rows", remember)
    assert run("label", table_file, "-t", "kind", "-q", "--seed", "7", "--jobs", "1") == 0
    assert (asked["seed"], asked["n_jobs"]) == (7, 1)


@pytest.mark.parametrize("command", ["label", "fit", "audit", "suggest", "explain"])
def test_class_weights_reach_the_fit(command, table_file, tmp_path, monkeypatch):
    from graphmargin.labeling import table_labeling

    asked = []

    def remember(job_, **options):
        asked.append(options["class_weight"])
        return label_rows(job_, class_weight=options["class_weight"])

    monkeypatch.setattr(table_labeling, "label_rows", remember)
    extra = {"fit": ["--model", tmp_path / "m.graphmargin"], "explain": ["--row", "30"]}
    for value in ("balanced", "cat=10,dog=0.5"):
        words = [table_file, "-t", "kind", "--class-weight", value, *extra.get(command, [])]
        assert run(command, *words) == 0
    assert asked == ["balanced", {"cat": 10.0, "dog": 0.5}]


def test_a_closed_pipe_is_no_error(table_file):
    """A reader that has had enough, such as head, hears nothing."""
    code = "import sys; from graphmargin.cli import main; sys.exit(main(sys.argv[1:]))"
    process = subprocess.Popen(
        [sys.executable, "-c", code, "info", str(table_file)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    process.stdout.close()
    assert process.stderr.read() == ""
    process.stderr.close()
    assert process.wait() == 1


def test_column_names_are_not_markup(table_file, tmp_path, capsys):
    read_table(table_file).rename(columns={"weight": "[/b]", "kind": "[red]"}).to_csv(
        table_file, index=False
    )
    model = tmp_path / "pets.graphmargin"
    assert run("label", table_file, "-t", "[red]", "--model", model) == 0
    assert run("predict", model, table_file) == 0
    for command in ("info", "suggest", "audit"):
        assert run(command, table_file, "-t", "[red]") == 0
    assert run("explain", table_file, "-t", "[red]", "--row", "5") == 0
    output = capsys.readouterr().out
    assert "[/b]" in output
    assert "[red]_predicted" in output


def test_cells_do_not_replace_the_values_of_a_list(table_file, capsys):
    read_table(table_file).rename(columns={"id": "row"}).to_csv(table_file, index=False)
    assert run("suggest", table_file, "-t", "kind", "-n", "1", "--json") == 0
    (result,) = json.loads(capsys.readouterr().out)["suggestions"]
    assert run("suggest", table_file, "-t", "kind", "-n", "1") == 0
    header, _, line = (row for row in capsys.readouterr().out.splitlines() if row.strip())
    assert header.split()[0] == "row"
    assert "row (cell)" in header
    assert line.split()[0] == str(result["row"])


def test_a_list_without_suspicious_labels_is_a_table_without_rows(tmp_path):
    table, out = tmp_path / "a.csv", tmp_path / "suspicious.csv"
    table.write_text("size,kind\n1.5,cat\n1.6,cat\n9.5,dog\n9.6,dog\n")
    assert run("audit", table, "-t", "kind", "--out", out) == 0
    assert out.read_text() == "row,given,suggested,probability\n"


def test_predict_accepts_a_table_without_rows(table_file, tmp_path, capsys):
    model = tmp_path / "pets.graphmargin"
    assert run("fit", table_file, "-t", "kind", "--model", model, "--quiet") == 0
    read_table(table_file)[:0].to_csv(tmp_path / "none.csv", index=False)
    assert run("predict", model, tmp_path / "none.csv") == 0
    output = capsys.readouterr().out
    assert output.startswith("0 rows\n")
    assert "nan" not in output


def test_warnings_of_the_report_are_on_the_page_only(tmp_path, capsys, recwarn):
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"size": rng.normal(size=100), "kind": ["usual"] * 50 + [None] * 50})
    table.loc[99, "kind"] = "rare"
    table.to_csv(tmp_path / "a.csv", index=False)
    assert run("label", tmp_path / "a.csv", "-t", "kind", "--report", tmp_path / "a.html") == 0
    assert capsys.readouterr().err == ""
    assert not recwarn.list


@pytest.mark.parametrize(
    "classes", [("1e20", "2e20"), ("1e300", "-1e300"), ("18446744073709551616", "3")]
)
def test_classes_of_more_than_64_bits_stay_text(classes, tmp_path):
    rows = [f"{i % 2 + i / 1000},{classes[i % 2] if i < 16 else ''}" for i in range(40)]
    (tmp_path / "a.csv").write_text("\n".join(["size,kind", *rows]) + "\n")
    assert run("label", tmp_path / "a.csv", "-t", "kind", "-q") == 0
    written = (tmp_path / "a-labeled.csv").read_text().splitlines()[1:]
    assert [line.split(",")[1] for line in written] == [classes[i % 2] for i in range(40)]


def test_files_that_are_made_from_a_private_table_are_private(table_file, tmp_path):
    table_file.chmod(0o600)
    model, page = tmp_path / "pets.graphmargin", tmp_path / "pets.html"
    options = ("-t", "kind", "-q")
    assert run("label", table_file, *options, "--model", model, "--report", page) == 0
    assert run("fit", table_file, *options, "--model", tmp_path / "fit.graphmargin") == 0
    assert run("predict", model, table_file, "-q") == 0
    assert run("suggest", table_file, *options, "--out", tmp_path / "next.csv") == 0
    assert run("audit", table_file, *options, "--out", tmp_path / "wrong.jsonl") == 0
    public = tmp_path / "public.csv"
    public.write_bytes(table_file.read_bytes())
    public.chmod(0o644)
    assert run("predict", model, public, "-q") == 0  # the model contains rows of the table
    names = {path.name: path.stat().st_mode & 0o777 for path in tmp_path.iterdir()}
    assert len(names) == 10
    assert names.pop("public.csv") == 0o644
    assert set(names.values()) == {0o600}
