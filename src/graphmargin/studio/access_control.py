"""Access control: the studio answers requests of its own page, with its cookie, of limited size."""

from __future__ import annotations

import hmac
import ipaddress
import json
import secrets
import socket
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send

MAX_BODY = 8_000_000
"""Largest size of a request in bytes: the numbers of a million rows."""
LOCAL_NAMES = ("127.0.0.1", "localhost", "[::1]")
SECURITY_HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
        "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cache-Control": "no-store",
}


class RefusedError(Exception):
    """A request that is refused, with the status of the answer."""

    def __init__(self, status: int, text: str) -> None:
        super().__init__(text)
        self.status = status


class AccessControl:
    """Middleware that answers only requests to this server, from its own page, with its cookie.

    A page of another site may send requests to this address, or have a name that resolves to it.
    So the names in `Host` and `Origin` must be those of this server, and the cookie, which other
    sites cannot send, must have the secret of the link with the token.
    """

    def __init__(self, app: ASGIApp, *, token: str, host: str, port: int) -> None:
        self.app, self.token, self.host, self.port = app, token, host, port
        self.cookie, self.secret = f"graphmargin_studio_{port}", secrets.token_urlsafe(32)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or refuse it."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        request = Request(scope, receive)

        async def send_with_headers(message: Any) -> None:
            if message["type"] == "http.response.start":
                pairs = ((k.lower().encode(), v.encode()) for k, v in SECURITY_HEADERS.items())
                message["headers"] = [*message["headers"], *pairs]
            await send(message)

        try:
            response = self._check(request)
        except RefusedError as refused:
            response = JSONResponse({"error": str(refused)}, refused.status)
        await (response or self.app)(scope, receive, send_with_headers)

    def _check(self, request: Request) -> Response | None:
        """Return an answer that ends the request, None if it goes on, or raise `RefusedError`."""
        hosts = request.headers.getlist("host")
        if len(hosts) != 1 or not self._is_own_host(hosts[0]):
            raise RefusedError(421, "the name in the address is not that of this server")
        origin = request.headers.get("origin")
        if origin is not None and origin != f"http://{hosts[0]}":
            raise RefusedError(403, "requests from pages of other sites are refused")
        if request.headers.get("sec-fetch-site", "none") not in ("none", "same-origin"):
            raise RefusedError(403, "requests from pages of other sites are refused")
        if request.method not in ("GET", "HEAD"):
            self._check_post(request, origin)
        given = request.query_params.get("token")
        if request.url.path == "/" and request.method == "GET" and given is not None:
            return self._log_in(given)
        if not _is_equal(request.cookies.get(self.cookie, ""), self.secret):
            text = "open the address with the token that `graphmargin studio` printed"
            raise RefusedError(401, text)
        return None

    def _check_post(self, request: Request, origin: str | None) -> None:
        if origin is None or request.headers.get("x-studio") != "1":
            raise RefusedError(403, "only the page of the studio can send this request")
        if request.headers.get("content-type", "").partition(";")[0] != "application/json":
            raise RefusedError(415, "requests must be of type application/json")
        length = request.headers.get("content-length", "")
        if not length.isdigit():
            raise RefusedError(411, "requests must tell their length")
        if int(length) > MAX_BODY:
            raise RefusedError(413, f"requests can have up to {MAX_BODY:,} bytes")

    def _is_own_host(self, host: str) -> bool:
        name, _, port = host.rpartition(":")
        if port != str(self.port):
            return False
        if name in (*LOCAL_NAMES, self.host):
            return True
        if self.host not in ("0.0.0.0", "::"):
            return False
        # All addresses of this machine: a name could belong to another site, a number cannot.
        return name == socket.gethostname() or _is_address(name.strip("[]"))

    def _log_in(self, token: str) -> Response:
        if not _is_equal(token, self.token):
            text = "the token is wrong; open the address that `graphmargin studio` printed"
            raise RefusedError(401, text)
        response = RedirectResponse("/", 303)
        response.set_cookie(self.cookie, self.secret, httponly=True, samesite="strict", path="/")
        return response


def _is_equal(given: str, expected: str) -> bool:
    return hmac.compare_digest(given.encode(), expected.encode())


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


async def read_json(request: Request) -> dict[str, Any]:
    """Return the JSON object of a request."""
    content = bytearray()
    async for chunk in request.stream():
        content += chunk
        if len(content) > MAX_BODY:
            raise RefusedError(413, f"requests can have up to {MAX_BODY:,} bytes")
    try:
        body = json.loads(bytes(content) or b"{}")
    except (ValueError, RecursionError) as error:
        raise RefusedError(400, "the request is not JSON") from error
    if not isinstance(body, dict):
        raise RefusedError(400, "the request is not a JSON object")
    return body
