"""Exports: the labeled table, a model and a report beside the table."""

import pandas as pd


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
