"""Access control: the studio answers requests of its own page, with its secret, of limited size."""

from __future__ import annotations

import hmac
import ipaddress
import json
import re
import secrets
import socket
import threading
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Receive, Scope, Send

MAX_BODY = 8_000_000
"""Largest size of a request in bytes: the numbers of a million rows."""
MAX_LENGTH_DIGITS = 18
LOCAL_NAMES = ("127.0.0.1", "localhost", "::1")
ALL_ADDRESSES = ("0.0.0.0", "::")
HTTP_PORT = "80"
LOG_IN = "/api/login"
"""Path of the request that exchanges a token for the secret."""
SECURITY_HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob:; "
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


class Tokens:
    """Tokens of addresses, each of which logs one page in."""

    def __init__(self) -> None:
        self._unused: set[str] = set()
        self._lock = threading.Lock()

    def issue(self) -> str:
        """Return a new token."""
        token = secrets.token_urlsafe(24)
        with self._lock:
            self._unused.add(token)
        return token

    def redeem(self, given: str) -> bool:
        """Tell whether a token was issued and not used before; it is used now."""
        with self._lock:
            found = [token for token in self._unused if _is_equal(given, token)]
            self._unused.difference_update(found)
        return bool(found)


class AccessControl:
    """Middleware that answers only requests to this server, from its own page, with its secret.

    A page of another site may send requests to this address, or have a name that resolves to it.
    So the names in `Host` and `Origin` must be those of this server, and requests for data have a
    header with the secret, which the page gets in exchange for a token. There is no cookie: a
    browser sends the cookies of a machine to all of its ports, and thus to servers of others.
    Without the secret, a browser gets the files of the page, which are the same for everybody.

    Attributes
    ----------
    secret : str
        The header `X-Studio` of requests for data.
    """

    def __init__(self, app: ASGIApp, *, host: str, port: int) -> None:
        self.app, self.host, self.port = app, _plain_name(host), port
        self.secret = secrets.token_urlsafe(32)

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
            self._check(request)
        except RefusedError as refused:
            response = JSONResponse({"error": str(refused)}, refused.status)
            await response(scope, receive, send_with_headers)
        else:
            await self.app(scope, receive, send_with_headers)

    def _check(self, request: Request) -> None:
        """Raise `RefusedError` if a request must not be answered."""
        path = request.scope["path"]  # what routes are chosen by
        hosts = request.headers.getlist("host")
        if len(hosts) != 1 or not self._is_own_host(hosts[0]):
            raise RefusedError(421, "the name in the address is not that of this server")
        origin = request.headers.get("origin")
        if origin is not None and origin.lower() != f"http://{hosts[0].lower()}":
            raise RefusedError(403, "requests from pages of other sites are refused")
        site = request.headers.get("sec-fetch-site", "none")
        # An address may be a link in a file or a message: it shows the page, and gives no data.
        is_visit = path == "/" and request.headers.get("sec-fetch-dest") == "document"
        if site not in ("none", "same-origin") and not is_visit:
            raise RefusedError(403, "requests from pages of other sites are refused")
        if request.method not in ("GET", "HEAD"):
            self._check_post(request, origin)
        if path.startswith("/api/") and path != LOG_IN:
            self._check_secret(request)

    def _check_post(self, request: Request, origin: str | None) -> None:
        if origin is None or "x-studio" not in request.headers:
            raise RefusedError(403, "only the page of the studio can send this request")
        if request.headers.get("content-type", "").partition(";")[0] != "application/json":
            raise RefusedError(415, "requests must be of type application/json")
        length = request.headers.get("content-length", "")
        if not (length.isascii() and length.isdigit()):
            raise RefusedError(411, "requests must tell their length")
        if len(length) > MAX_LENGTH_DIGITS or int(length) > MAX_BODY:
            raise RefusedError(413, f"requests can have up to {MAX_BODY:,} bytes")

    def _check_secret(self, request: Request) -> None:
        if not _is_equal(request.headers.get("x-studio", ""), self.secret):
            text = "open the newest address that `graphmargin studio` printed in the terminal"
            raise RefusedError(401, text)

    def _is_own_host(self, host: str) -> bool:
        name, port = _split_host(host)
        if port != str(self.port):
            return False
        if name in (*LOCAL_NAMES, self.host):
            return True
        if self.host not in ALL_ADDRESSES:
            return False
        # All addresses of this machine: a name could belong to another site, a number cannot.
        return name == socket.gethostname().lower() or _is_address(name)


def _split_host(host: str) -> tuple[str, str]:
    """Return the name and the port of the header `Host`; browsers leave port 80 out.

    Examples
    --------
    >>> _split_host("LOCALHOST:8000"), _split_host("[2001:DB8:0::1]")
    (('localhost', '8000'), ('2001:db8::1', '80'))
    """
    parts = re.fullmatch(r"(\[[^\]]*\]|[^:\[\]]*)(?::([0-9]{1,5}))?", host)
    return (_plain_name(parts[1]), parts[2] or HTTP_PORT) if parts else ("", "")


def _plain_name(name: str) -> str:
    """Return a name in small letters, and an address of IPv6 in its shortest form."""
    name = name.lower().strip("[]").partition("%")[0]
    return str(ipaddress.ip_address(name)) if _is_address(name) else name


def _is_equal(given: str, expected: str) -> bool:
    return hmac.compare_digest(given.encode(errors="replace"), expected.encode())


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
