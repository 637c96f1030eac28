"""A table, and a real server on a free port with a client."""

import json
import threading
import time
from contextlib import contextmanager

import httpx
import numpy as np
import pandas as pd
import pytest

from graphmargin.labeling.labeling_task import read_task
from graphmargin.studio.server import make_server
from graphmargin.studio.service import Studio


@pytest.fixture(scope="session")
def blobs():
    """Return a table of 240 rows in three groups with three labels, and the group of each row."""
    rng = np.random.default_rng(0)
    group = np.arange(240) % 3
    points = rng.normal(size=(240, 2)) + 6 * np.eye(3)[group, :2]
    names = np.array(["cat", "dog", "eel"], dtype=object)[group]
    table = pd.DataFrame({"x": points[:, 0].round(4), "y": points[:, 1].round(4)})
    table["note"] = [f"row {i} <script>alert({i})</script> of a table" for i in range(240)]
    table["kind"] = np.where(np.arange(240) < 3, names, None)
    return table, names


@pytest.fixture
def table_file(blobs, tmp_path):
    path = tmp_path / "pets.csv"
    blobs[0].to_csv(path, index=False)
    return path


@contextmanager
def open_studio(path, target="kind", **options):
    studio = Studio(read_task(path, target, min_classes=0, **options), path)
    try:
        yield studio
    finally:
        studio.close()


class Client:
    """A page: its requests, after it has exchanged the token of an address for the secret."""

    def __init__(self, address):
        self.base, _, self.token = address.partition("/#token=")
        self.http = httpx.Client(base_url=self.base, timeout=60)
        self.secret = "none"

    def log_in(self):
        answer = self.post("/api/login", {"token": self.token})
        assert answer.status_code == 200, answer.text
        self.secret = answer.json()["secret"]
        return self

    @property
    def headers(self):
        return {
            "X-Studio": self.secret,
            "Origin": self.base,
            "Content-Type": "application/json",
        }

    def get(self, path, **headers):
        return self.http.get(path, headers={"X-Studio": self.secret, **headers})

    def stream(self, path):
        return self.http.stream("GET", path, headers={"X-Studio": self.secret})

    def post(self, path, body, **changed):
        headers = {k: v for k, v in {**self.headers, **changed}.items() if v is not None}
        return self.http.request("POST", path, content=json.dumps(body), headers=headers)

    def decide(self, **body):
        answer = self.post("/api/decisions", body)
        assert answer.status_code == 200, answer.text
        return answer.json()

    def state(self):
        return self.get("/api/state").json()

    def wait_for(self, condition, seconds=30.0):
        until = time.monotonic() + seconds
        while not condition(state := self.state()):
            assert time.monotonic() < until, state
            time.sleep(0.02)
        return state


@contextmanager
def serve(studio):
    """Yield a client that has not logged in; `addresses` are those that were announced."""
    addresses = []
    server = make_server(studio, host="127.0.0.1", port=0, announce=addresses.append)
    server.announce_address()
    thread = threading.Thread(target=server.serve_until_stopped, daemon=True)
    thread.start()
    client = Client(addresses[0])
    client.addresses = addresses
    try:
        yield client
    finally:
        client.http.close()
        server.stop()
        thread.join(10)
        assert not thread.is_alive()


@pytest.fixture
def client(table_file):
    with open_studio(table_file, ignore=["note"]) as studio, serve(studio) as client:
        yield client.log_in()


@pytest.fixture(scope="module")
def guarded(tmp_path_factory, blobs):
    """Return the client of a server that no attack changes."""
    path = tmp_path_factory.mktemp("guarded") / "pets.csv"
    blobs[0].to_csv(path, index=False)
    with open_studio(path, ignore=["note"]) as studio, serve(studio) as client:
        yield client.log_in()
        assert client.state()["can_undo"] is None
