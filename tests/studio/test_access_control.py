"""Requests of other pages, machines and programs, which the studio refuses."""

import asyncio
import socket

import httpx
import pytest
from starlette.responses import PlainTextResponse

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


@pytest.mark.parametrize(
    "path",
    ["state", "table", "map", "rows/0", "rows/0/image", "list", "predictions", "events", "none"],
)
@pytest.mark.parametrize("secret", ["", "none", "1", "token"])
def test_no_data_is_answered_without_the_secret(guarded, path, secret):
    secret = guarded.addresses[-1] if secret == "token" else secret
    assert guarded.get(f"/api/{path}", **{"X-Studio": secret}).status_code == 401
    cookie = f"graphmargin_studio={guarded.secret}; X-Studio={guarded.secret}"
    answer = guarded.get(f"/api/{path}", **{"X-Studio": secret, "Cookie": cookie})
    assert answer.status_code == 401


@pytest.mark.parametrize(
    "path",
    ["/%61pi/state", "//api/state", "/page/../api/state", "/api/login/../state", "/api%2fstate"],
)
def test_other_spellings_of_a_path_give_no_data(guarded, path):
    stranger = Client(guarded.addresses[-1])
    assert stranger.get(path).status_code in (401, 404, 405)
    stranger.http.close()


def test_the_page_is_the_same_for_everybody_and_sets_no_cookie(guarded):
    stranger = Client(guarded.addresses[-1])
    for path in ("/", "/page/main.js"):
        answer = stranger.get(path)
        assert answer.content == guarded.get(path).content
        assert "set-cookie" not in answer.headers
        assert guarded.secret not in answer.text
    stranger.http.close()


def test_an_address_works_once_and_the_next_one_is_announced(guarded):
    page = Client(guarded.addresses[-1]).log_in()
    assert page.get("/api/state").status_code == 200
    refused = page.post("/api/login", {"token": page.token})
    assert refused.status_code == 401
    assert "used already" in refused.json()["error"]
    assert guarded.get("/api/state").status_code == 200
    assert page.token not in guarded.addresses[-1]
    again = Client(guarded.addresses[-1]).log_in()
    for client in (page, again):
        client.http.close()


@pytest.mark.parametrize("token", ["", "wrong", None, 5, [], "\ud800", "x" * 10_000])
def test_wrong_tokens_are_refused(guarded, token):
    assert guarded.post("/api/login", {"token": token}).status_code == 401


@pytest.mark.parametrize(
    ("host", "port", "sent"),
    [
        ("127.0.0.1", 80, "127.0.0.1"),
        ("127.0.0.1", 80, "127.0.0.1:80"),
        ("LOCALHOST", 8000, "localhost:8000"),
        ("Cats.Example", 8000, "cats.example:8000"),
        ("cats.example", 8000, "CATS.example:8000"),
        ("::1", 8000, "[::1]:8000"),
        ("0:0:0:0:0:0:0:1", 8000, "[::1]:8000"),
        ("2001:DB8::1", 8000, "[2001:db8::1]:8000"),
        ("2001:db8:0:0::1", 80, "[2001:db8::1]"),
        ("fe80::1%eth0", 8000, "[fe80::1]:8000"),
        ("::", 8000, "[2001:db8::1]:8000"),
        ("0.0.0.0", 80, "192.0.2.1"),
    ],
)
def test_browsers_write_the_own_name_in_small_letters_and_leave_port_80_out(host, port, sent):
    app = access_control.AccessControl(PlainTextResponse("page"), host=host, port=port)

    async def ask(*hosts):
        async with httpx.AsyncClient(transport=httpx.ASGITransport(app)) as page:
            headers = [{"Host": each, "Origin": f"http://{each}"} for each in hosts]
            return [await page.get("http://server/", headers=each) for each in headers]

    assert asyncio.run(ask(sent))[0].text == "page"
    others = ("evil.example", f"evil.example:{port}", f"{sent}.evil", f"{sent}:1", "", "[")
    assert {answer.status_code for answer in asyncio.run(ask(*others))} == {421}


@pytest.mark.parametrize(
    "host",
    ["evil.example", "evil.example:{port}", "127.0.0.1:1", "127.0.0.1", "localhost.evil:{port}"],
)
def test_other_names_in_host_are_refused(guarded, host):
    host = host.format(port=guarded.base.rpartition(":")[2])
    assert guarded.get("/api/state", Host=host).status_code == 421
    assert guarded.get("/", Host=host).status_code == 421


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
    site = {"Sec-Fetch-Site": "cross-site"}
    assert guarded.get("/api/state", **site).status_code == 403
    assert guarded.get("/page/main.js", **site).status_code == 403
    assert guarded.get("/", **site).status_code == 403
    visit = {**site, "Sec-Fetch-Dest": "document"}  # somebody follows a link
    assert guarded.get("/", **visit).status_code == 200
    assert guarded.get("/api/state", **visit).status_code == 403


def test_large_requests_are_refused_before_they_are_read(guarded, monkeypatch):
    monkeypatch.setattr(access_control, "MAX_BODY", 2000)
    rows = list(range(240)) * 10
    assert guarded.post("/api/decisions", {"action": "skip", "rows": rows}).status_code == 413
    host, port = guarded.base.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port))) as stream:
        lines = [f"POST /api/decisions HTTP/1.1\r\nHost: {host}:{port}"]
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
