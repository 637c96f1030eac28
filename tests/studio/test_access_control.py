"""Requests of other pages, machines and programs, which the studio refuses."""

import socket

import pytest

from graphmargin.studio import access_control
from tests.studio.conftest import Client


def test_every_answer_forbids_inline_scripts_frames_and_sniffing(guarded):
    for path in ("/", "/api/state", "/api/rows/0", "/nothing"):
        headers = guarded.get(path).headers
        assert "default-src 'none'; script-src 'self'" in headers["content-security-policy"]
        assert "unsafe" not in headers["content-security-policy"]
        assert headers["x-content-type-options"] == "nosniff"
        assert "access-control-allow-origin" not in headers
    assert guarded.get("/api/rows/0").headers["content-type"] == "application/json"


def test_the_cookie_is_http_only_and_strict(guarded):
    cookie = guarded.http.get(guarded.address).headers["set-cookie"]
    assert "HttpOnly" in cookie
    assert "samesite=strict" in cookie.lower()
    assert guarded.address.partition("token=")[2] not in cookie


@pytest.mark.parametrize("path", ["/", "/?token=wrong", "/?token=", "/api/state", "/page/x.js"])
def test_nothing_is_answered_without_the_token(guarded, path):
    stranger = Client(guarded.address)
    assert stranger.get(path).status_code == 401
    stranger.http.cookies.set(f"graphmargin_studio_{guarded.base.rpartition(':')[2]}", "guess")
    assert stranger.get(path).status_code == 401
    stranger.http.close()


@pytest.mark.parametrize(
    "host",
    ["evil.example", "evil.example:{port}", "127.0.0.1:1", "127.0.0.1", "localhost.evil:{port}"],
)
def test_other_names_in_host_are_refused(guarded, host):
    host = host.format(port=guarded.base.rpartition(":")[2])
    assert guarded.get("/api/state", Host=host).status_code == 421
    assert guarded.http.get(guarded.address, headers={"Host": host}).status_code == 421


@pytest.mark.parametrize(
    "changed",
    [
        {"Origin": "http://evil.example"},
        {"Origin": "null"},
        {"Origin": "http://127.0.0.1"},
        {"Origin": None},
        {"X-Studio": None},
        {"Content-Type": "text/plain"},
        {"Content-Type": "application/x-www-form-urlencoded"},
        {"Sec-Fetch-Site": "cross-site"},
    ],
    ids=lambda changed: " ".join(f"{k}-{v}" for k, v in changed.items()),
)
def test_requests_of_other_pages_are_refused(guarded, changed):
    answer = guarded.post("/api/decisions", {"action": "skip", "rows": [9]}, **changed)
    assert answer.status_code in (403, 415)
    assert guarded.state()["n_skipped"] == 0


def test_reading_from_other_pages_is_refused(guarded):
    assert guarded.get("/api/state", Origin="http://evil.example").status_code == 403
    assert guarded.get("/api/state", **{"Sec-Fetch-Site": "cross-site"}).status_code == 403


def test_large_requests_are_refused_before_they_are_read(guarded, monkeypatch):
    monkeypatch.setattr(access_control, "MAX_BODY", 2000)
    rows = list(range(240)) * 10
    assert guarded.post("/api/decisions", {"action": "skip", "rows": rows}).status_code == 413
    host, port = guarded.base.removeprefix("http://").split(":")
    cookie = "; ".join(f"{k}={v}" for k, v in guarded.http.cookies.items())
    with socket.create_connection((host, int(port))) as stream:
        lines = [f"POST /api/decisions HTTP/1.1\r\nHost: {host}:{port}", f"Cookie: {cookie}"]
        lines += [f"{k}: {v}" for k, v in guarded.headers.items()]
        lines += ["Transfer-Encoding: chunked", "", ""]
        stream.sendall("\r\n".join(lines).encode())
        assert b"411" in stream.recv(1000).splitlines()[0]


@pytest.mark.parametrize(
    "body",
    [b"", b"[]", b"{", b"[" * 100_000, b'{"action": "label", "rows": "all", "class": 0}'],
    ids=["empty", "list", "broken", "deep", "text"],
)
def test_nonsense_is_refused(guarded, body):
    answer = guarded.http.post("/api/decisions", content=body, headers=guarded.headers)
    assert answer.status_code == 400
    assert set(answer.json()) == {"error"}
