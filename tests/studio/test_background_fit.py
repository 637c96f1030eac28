"""The automatic choice: it is shown until a label changes, and it can be cancelled."""

import time

from graphmargin._threads import raise_if_cancelled
from graphmargin.studio import background_fit


def test_the_automatic_choice_replaces_the_live_answer_until_a_label_changes(client):
    client.decide(action="label", rows=[3, 6], **{"class": 0})
    client.decide(action="label", rows=[4, 7], **{"class": 1})
    assert client.post("/api/fit", {}).json()["state"]["model"]["fit"] == "running"
    state = client.wait_for(lambda state: state["model"]["fit"] != "running")
    assert state["model"] == {
        "shown": "automatic",
        "fit": "done",
        "progress": 1.0,
        "stage": "",
        "stale_labels": 0,
        "error": None,
    }
    state = client.decide(action="label", rows=[5], **{"class": 2})["state"]
    assert (state["model"]["shown"], state["model"]["stale_labels"]) == ("live", 1)
    state = client.decide(action="undo")["state"]
    assert (state["model"]["shown"], state["model"]["stale_labels"]) == ("automatic", 0)


def test_the_automatic_choice_can_be_cancelled(client, monkeypatch):
    def label_rows(*_, **__):
        while True:
            raise_if_cancelled()
            time.sleep(0.01)

    monkeypatch.setattr(background_fit, "label_rows", label_rows)
    client.post("/api/fit", {})
    state = client.post("/api/fit/cancel", {}).json()["state"]
    assert (state["model"]["fit"], state["model"]["shown"]) == ("idle", "live")
