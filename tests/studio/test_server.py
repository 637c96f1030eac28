"""The server: what the page gets, and which decisions and files are refused."""

import json
import os
import re
import signal
import socket
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

from graphmargin.cli import main
from tests.studio.conftest import Client, open_studio, serve

PNG = bytes.fromhex("89504e470d0a1a0a")


def predictions(client, since=None):
    answer = client.get("/api/predictions" + ("" if since is None else f"?since={since}"))
    width = 4 if since is None or "x-full" in answer.headers else 8
    return np.frombuffer(answer.content, np.uint8).reshape(-1, width), answer.headers


# The loop


def test_a_person_labels_undoes_and_sees_the_labels_spread(client, blobs):
    _, names = blobs
    state = client.state()
    numbers = {known["name"]: known["id"] for known in state["classes"]}
    assert [known["key"] for known in state["classes"]] == ["1", "2", "3"]
    row = state["queue"][0]["row"]
    for _ in range(9):
        answer = client.decide(
            action="label", rows=[row], **{"class": numbers[names[row]], "by": "key"}
        )
        row = answer["row"]
    state = answer["state"]
    assert state["n_labels"] == 12
    assert sum(known["predicted"] for known in state["classes"]) == 240 - 12
    packed, _ = predictions(client)
    right = [names[i] == list(numbers)[k] for i, k in enumerate(packed[:, 1])]
    assert np.mean(right) > 0.9
    assert client.decide(action="undo")["state"]["n_labels"] == 11
    assert client.decide(action="redo")["state"]["n_labels"] == 12
    state = client.wait_for(lambda state: state["estimate"] is not None)
    assert state["estimate"]["low"] <= state["estimate"]["accuracy"] <= state["estimate"]["high"]
    assert state["history"][-1][0] == 12
    assert state["advice"]["kind"] in ("label", "question")


def test_changed_rows_lead_from_one_version_to_the_next(client):
    packed, headers = predictions(client)
    packed, version = packed.copy(), headers["x-version"]
    client.decide(action="label", rows=[10], **{"class": 1})
    client.decide(action="skip", rows=[11])
    client.decide(action="unsure", rows=[12])
    changed, headers = predictions(client, since=version)
    rows = changed[:, :4].copy().view("<u4")[:, 0]
    packed[rows] = changed[:, 4:]
    assert {10, 11, 12} <= set(rows.tolist())
    assert (packed == predictions(client)[0]).all()
    assert packed[[10, 11, 12], 3].tolist() == [0, 2, 1]
    assert packed[10, :3].tolist() == [1, 1, 255]
    assert "x-full" in predictions(client, since=10**6)[1]


def test_rows_are_listed_filtered_sorted_previewed_and_labeled_by_a_filter(client):
    listed = client.get("/api/list?sort=x&descending=1&limit=3&text=ROW 1").json()
    assert listed["columns"] == ["x", "y", "note"]
    values = [float(row["cells"][0]) for row in listed["rows"]]
    assert values == sorted(values, reverse=True)
    assert listed["total"] == 111
    assert len(client.get("/api/list?label=none&offset=236").json()["rows"]) == 1
    preview = client.post("/api/preview", {"filter": {"text": "ALERT(1)"}, "class": 0}).json()
    assert preview == {"rows": 1, "labeled": 1, "relabeled": 1, "disagree": 0, "examples": [1]}
    answer = client.decide(action="label", filter={"text": "row 23"}, by="filter", **{"class": 2})
    assert answer["state"]["n_labels"] == 3 + 11
    assert client.get("/api/list?label=2").json()["total"] == 12


def test_a_row_has_cells_a_prediction_and_reasons(client):
    client.decide(action="label", rows=[8], **{"class": 2})
    row = client.get("/api/rows/5").json()
    assert dict(row["cells"])["note"] == "row 5 <script>alert(5)</script> of a table"
    assert row["label"] == -1
    assert row["predicted"] == row["distribution"][0][0]
    assert row["because"][0]["share"] > 0
    assert client.get("/api/rows/8").json()["decision"] == "labeled"
    assert client.get("/api/rows/240").status_code == 400
    assert client.get("/api/rows/x").status_code == 400


def test_two_windows_agree_and_the_second_is_told(client):
    with client.stream("/api/events") as events:
        lines = events.iter_lines()
        first = json.loads(next(line for line in lines if line.startswith("data:"))[5:])
        other = Client(client.addresses[-1]).log_in()
        version = other.decide(action="label", rows=[20], **{"class": 0})["state"]["version"]
        assert version > first["version"]
        told = (json.loads(line[5:])["version"] for line in lines if line.startswith("data:"))
        assert any(number >= version for number in told)
    assert client.state()["n_labels"] == 4
    other.http.close()


def test_the_map_comes_from_a_background_thread(client):
    client.wait_for(lambda state: state["map"] == "ready")
    points = np.frombuffer(client.get("/api/map").content, "<f4")
    assert points.shape == (480,)
    assert points.min() == 0
    assert points.max() == 1


def test_classes_come_and_go(client):
    client.decide(action="add_class", name="<b>fish</b>")
    state = client.decide(action="merge_classes", **{"from": 0, "into": 3})["state"]
    assert [known["name"] for known in state["classes"]] == ["dog", "eel", "<b>fish</b>"]
    assert [known["labels"] for known in state["classes"]] == [1, 1, 1]
    state = client.decide(action="rename_class", name="cat", **{"class": 3})["state"]
    assert state["classes"][-1] == {**state["classes"][-1], "name": "cat", "id": 3}
    refused = client.post("/api/decisions", {"action": "add_class", "name": "nan"})
    assert "means unlabeled" in refused.json()["error"]


# Requests that are refused


@pytest.mark.parametrize(
    "body",
    [
        {"action": "label", "rows": [1.5], "class": 0},
        {"action": "label", "rows": [True], "class": 0},
        {"action": "label", "rows": [10**9], "class": 0},
        {"action": "label", "rows": [10**30], "class": 0},
        {"action": "label", "rows": [1], "class": "1"},
        {"action": "label", "filter": {"sort": "../../etc"}, "class": 0},
        {"action": "add_class", "name": "x" * 300},
    ],
    ids=["float", "bool", "large row", "huge row", "text class", "column", "long name"],
)
def test_wrong_decisions_are_refused_with_a_sentence(guarded, body):
    answer = guarded.post("/api/decisions", body)
    assert answer.status_code == 400
    assert answer.json()["error"]
    assert guarded.state()["can_undo"] is None


DIGITS = "9" * 5000


@pytest.mark.parametrize(
    "path",
    [
        *(f"predictions?since={text}" for text in ("²", DIGITS, "-", "1.5", "x")),
        *(f"list?{name}={text}" for name in ("label", "predicted") for text in ("²", DIGITS, "")),
        *(f"list?{name}={text}" for name in ("offset", "limit") for text in ("²", DIGITS, "")),
        "list?max_confidence=x",
        "list?sort=%ED%A0%80",
        *(f"rows/{text}" for text in ("²", DIGITS, "-1", "x", "1e3")),
        *(f"rows/{text}/image" for text in ("²", DIGITS)),
    ],
    ids=lambda path: path.replace(DIGITS, "digits"),
)
def test_numbers_that_are_none_are_refused_with_a_sentence(guarded, path):
    answer = guarded.get(f"/api/{path}")
    assert answer.status_code == 400
    assert len(answer.json()["error"]) < 200


@pytest.mark.parametrize("value", [[], {}, None, "0", 0.0, True, 2**70])
def test_a_preview_needs_the_code_of_a_class(guarded, value):
    assert guarded.post("/api/preview", {"rows": [1], "class": value}).status_code == 400


def test_half_a_surrogate_pair_is_in_no_cell_and_in_no_name(guarded):
    body = {"filter": {"text": "\ud800"}, "class": 0}
    assert guarded.post("/api/preview", body).json()["rows"] == 0
    refused = guarded.post("/api/decisions", {"action": "add_class", "name": "a\ud800"})
    assert (refused.status_code, "U+D800" in refused.text) == (400, True)
    huge = {"filter": {"max_confidence": 10**400}, "class": 0}
    assert guarded.post("/api/preview", huge).status_code == 400


def test_an_error_that_nobody_expects_is_a_sentence_and_a_line_in_the_terminal(
    guarded, caplog, monkeypatch
):
    def fail(*_):
        msg = "out of\nluck \x1b"
        raise RuntimeError(msg)

    monkeypatch.setattr("graphmargin.studio.server.preview_json", fail)
    answer = guarded.post("/api/preview", {"rows": [1], "class": 0})
    assert answer.status_code == 500
    assert answer.json() == {"error": "internal error: RuntimeError: out of luck \\x1b"}
    line = "graphmargin: POST /api/preview: internal error: RuntimeError: out of luck \\x1b"
    assert caplog.messages == [line]
    assert "default-src 'none'" in answer.headers["content-security-policy"]


@pytest.mark.parametrize(
    "path",
    [
        "/page/../server.py",
        "/page/..%2fserver.py",
        "/page/%2e%2e/server.py",
        "/page//etc/passwd",
        "/api/exports/..%2fpets.csv",
        "/api/exports/%2fetc%2fpasswd",
        "/pets.csv",
    ],
)
def test_paths_out_of_the_folder_are_not_found(guarded, path):
    assert guarded.get(path).status_code == 404


@pytest.fixture
def album(tmp_path):
    """Return a table with names of images, some of which must not be served."""
    folder = tmp_path / "album"
    (folder / "sub").mkdir(parents=True)
    (tmp_path / "secret.png").write_bytes(PNG)
    (folder / "a.png").write_bytes(PNG)
    (folder / "sub" / "b.JPG").write_bytes(b"jpeg")
    (folder / "link.png").symlink_to(tmp_path / "secret.png")
    (folder / "text.png").symlink_to(folder / "album.jsonl")
    (folder / "d.svg").write_text("<svg onload='alert(1)'/>")
    names = ["a.png", "sub/b.JPG", "../secret.png", str(tmp_path / "secret.png"), "link.png"]
    names += ["text.png", "none.png", "a\0.png", "d.svg"]
    rows = pd.DataFrame({"x": np.arange(9.0) % 4, "picture": names})
    rows.to_json(folder / "album.jsonl", orient="records", lines=True)
    return folder / "album.jsonl"


def test_images_are_served_from_the_folder_of_the_table_only(album):
    album.write_text("".join(album.read_text().splitlines(keepends=True)[:8]))
    with open_studio(album) as studio, serve(studio) as client:
        client.log_in()
        assert client.get("/api/table").json()["image"] == {"kind": "files", "column": "picture"}
        answers = [client.get(f"/api/rows/{row}/image") for row in range(8)]
    assert [answer.status_code for answer in answers] == [200, 200, *[400] * 6]
    assert [answer.headers["content-type"] for answer in answers[:2]] == ["image/png", "image/jpeg"]


def test_svg_files_are_no_images(album):
    with open_studio(album) as studio, serve(studio) as client:
        client.log_in()
        assert client.get("/api/table").json()["image"] is None
        assert client.get("/api/rows/8/image").status_code == 400


def test_pixels_are_an_image(tmp_path):
    rng = np.random.default_rng(0)
    pixels = pd.DataFrame(rng.integers(0, 17, (20, 16)), columns=[f"pixel{i}" for i in range(16)])
    pixels.to_csv(tmp_path / "digits.csv", index=False)
    with open_studio(tmp_path / "digits.csv", "digit") as studio, serve(studio) as client:
        client.log_in()
        image = client.get("/api/table").json()["image"]
        assert image == {"kind": "pixels", "width": 4, "height": 4}
        answer = client.get("/api/rows/3/image")
        assert answer.headers["content-type"] == "image/png"
        assert answer.content.startswith(PNG)
        assert client.state()["advice"]["kind"] == "start"


# The command


def start_command(folder, *words):
    """Start the command in a process of its own; return it and a client."""
    words = ["-m", "graphmargin", "studio", *map(str, words), "--no-browser"]
    process = subprocess.Popen(
        [sys.executable, *words],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    for text in process.stdout:
        if found := re.search(r"http://\S+", text):
            return process, Client(found.group()).log_in()
    raise AssertionError(process.wait())


def test_a_killed_server_loses_nothing_and_ctrl_c_ends_the_next_one(table_file):
    words = (table_file, "--target", "kind", "--ignore", "note")
    process, client = start_command(table_file.parent, *words)
    client.decide(action="add_class", name="fish")
    for row in (5, 6, 7):
        client.decide(action="label", rows=[row], by="key", **{"class": 3})
    process.kill()
    assert process.wait() == -signal.SIGKILL
    process.stdout.close()
    client.http.close()

    process, client = start_command(table_file.parent, *words)
    state = client.state()
    assert state["n_labels"] == 6
    assert state["can_undo"] == "label row 8 as 'fish'"
    assert client.decide(action="undo")["state"]["n_labels"] == 5
    stream = client.stream("/api/events")
    stream.__enter__()  # an open window does not keep the server from ending
    os.kill(process.pid, signal.SIGINT)
    output, _ = process.communicate(timeout=20)
    assert process.returncode == 0
    assert "ended with 5 labels" in output
    assert "Traceback" not in output
    client.http.close()

    journal, out = table_file.with_name("pets.csv.studio.jsonl"), table_file.with_name("full.csv")
    words = [table_file, "--target", "kind", "--ignore", "note", "--journal", journal, "--out", out]
    assert main(["label", *map(str, words)]) == 0
    labeled = pd.read_csv(out)
    assert labeled.loc[[5, 6], "kind"].tolist() == ["fish", "fish"]
    assert labeled["kind_source"].eq("given").sum() == 5


@pytest.mark.skipif(os.name != "posix", reason="signals of Unix")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_ends_the_command_in_good_order_with_its_code(table_file, number):
    process, client = start_command(table_file.parent, table_file, "-t", "kind", "--ignore", "note")
    client.decide(action="label", rows=[5], **{"class": 1})
    client.http.close()
    os.kill(process.pid, number)
    output, _ = process.communicate(timeout=20)
    assert process.returncode == 128 + number
    assert "ended with 4 labels" in output
    assert "Traceback" not in output


def test_a_replaced_journal_is_announced_on_the_page_and_in_the_terminal(table_file):
    process, client = start_command(table_file.parent, table_file, "-t", "kind", "--ignore", "note")
    client.decide(action="label", rows=[5], **{"class": 1})
    journal = table_file.with_name("pets.csv.studio.jsonl")
    journal.unlink()
    answer = client.post("/api/decisions", {"action": "label", "rows": [6], "class": 1})
    assert answer.status_code == 507
    assert "pets.csv.studio-1.jsonl has all decisions" in answer.json()["error"]
    assert client.state()["n_labels"] == 4
    client.http.close()
    os.kill(process.pid, signal.SIGINT)
    output, _ = process.communicate(timeout=20)
    assert process.returncode == 2
    lines = [" ".join(line.split()) for line in output.splitlines()]
    assert sum("the decision was not saved" in line for line in lines) == 1
    assert "graphmargin: " in lines[-1]
    assert "was moved, replaced or cut" in lines[-1]


def test_the_command_names_what_is_missing(table_file, capsys, monkeypatch):
    assert main(["studio", str(table_file)]) == 2
    assert "Missing option '--target'" in capsys.readouterr().err
    with socket.create_server(("127.0.0.1", 0)) as taken:
        words = ["--target", "kind", "--ignore", "note", "--port", str(taken.getsockname()[1])]
        assert main(["studio", str(table_file), *words]) == 2
    assert "choose another --port" in capsys.readouterr().err
    monkeypatch.setattr("graphmargin.cli.studio.find_spec", lambda _: None)
    assert main(["studio", str(table_file), "--target", "kind"]) == 2
    assert 'pip install "graphmargin[studio]"' in capsys.readouterr().err
