"""Exports: the labeled table, a model and a report beside the table."""

import os
import sys

import pandas as pd
import pytest

from tests.studio.conftest import open_studio, serve


def test_exports_are_written_beside_the_table_which_stays_as_it_is(client, table_file):
    before = table_file.read_bytes()
    client.decide(action="label", rows=[0], **{"class": 2})
    client.decide(action="clear", rows=[2])
    files = {
        what: client.post("/api/export", {"what": what}).json()
        for what in ("table", "model", "report")
    }
    names = ["pets-labeled.csv", "pets-labeled.csv.graphmargin", "pets-labeled.csv.html"]
    assert [found["file"] for found in files.values()] == names
    assert all(table_file.with_name(name).exists() for name in names)
    download = client.get(files["table"]["download"])
    assert download.content == table_file.with_name(names[0]).read_bytes()
    assert "attachment" in download.headers["content-disposition"]
    labeled = pd.read_csv(table_file.with_name(names[0]))
    assert labeled.loc[0, ["kind", "kind_source"]].tolist() == ["eel", "given"]
    assert labeled["kind_source"].eq("given").sum() == 2
    assert table_file.read_bytes() == before
    assert client.get("/api/exports/pets.csv").status_code == 404
    client.decide(action="rename_class", name="fish", **{"class": 2})
    client.post("/api/export", {"what": "table"})
    assert pd.read_csv(table_file.with_name(names[0])).loc[0, "kind"] == "fish"


def test_one_class_is_too_few_to_export(client):
    client.decide(action="clear", rows=[1, 2])
    answer = client.post("/api/export", {"what": "table"})
    assert answer.status_code == 400
    assert "another class" in answer.json()["error"]


@pytest.mark.parametrize("make_link", [os.symlink, os.link])
@pytest.mark.parametrize("used", ["pets.csv", "pets.csv.studio.jsonl"])
def test_an_export_does_not_write_through_a_link_into_files_in_use(
    client, table_file, make_link, used
):
    client.decide(action="label", rows=[3, 6], **{"class": 0})
    before = table_file.with_name(used).read_bytes()
    for name in ("pets-labeled.csv", "pets-labeled.csv.graphmargin", "pets-labeled.csv.html"):
        make_link(table_file.with_name(used), table_file.with_name(name))
    for what in ("table", "model", "report"):
        answer = client.post("/api/export", {"what": what, "replace": True})
        assert answer.status_code == 400
        assert f"is a link to {used}" in answer.json()["error"]
    assert table_file.with_name(used).read_bytes() == before


def test_a_file_of_somebody_else_is_replaced_on_request_only(client, table_file):
    path = table_file.with_name("pets-labeled.csv")

    def export(**more):
        return client.post("/api/export", {"what": "table", **more}).status_code

    path.write_text("mine")
    assert [export(), export(replace=1), export(replace="yes")] == [409, 409, 409]
    assert path.read_text() == "mine"
    assert [export(replace=True), export()] == [200, 200]
    path.write_text("changed since")
    assert export() == 409
    assert path.read_text() == "changed since"


@pytest.mark.skipif(sys.platform != "linux", reason="names of files are bytes")
def test_a_name_that_is_no_utf8_has_a_journal_and_exports(table_file):
    path = table_file.with_name(os.fsdecode(b"caf\xe9.2024.csv"))
    table_file.rename(path)
    for n_labels in (4, 5):
        with open_studio(path, ignore=["note"]) as studio, serve(studio) as client:
            client.log_in()
            assert studio.notes == ()
            assert client.get("/api/table").json()["name"] == path.name
            client.decide(action="label", rows=[n_labels], **{"class": 0})
            assert client.state()["n_labels"] == n_labels
            answer = client.post("/api/export", {"what": "table", "replace": True}).json()
            assert answer["file"] == os.fsdecode(b"caf\xe9-labeled.2024.csv")
            content = client.get(answer["download"]).content
            assert content == path.with_name(answer["file"]).read_bytes()


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no modes of this kind")
def test_files_of_a_private_table_are_private(table_file):
    table_file.chmod(0o600)
    with open_studio(table_file) as studio, serve(studio) as client:
        client.log_in()
        client.decide(action="label", rows=[3, 6], **{"class": 0})
        for what in ("table", "model", "report"):
            client.post("/api/export", {"what": what})
    written = [path for path in table_file.parent.iterdir() if path.name.startswith("pets")]
    assert len(written) == 5  # the table, its journal, and three exports
    assert {path.stat().st_mode & 0o777 for path in written} == {0o600}
