"""The web server of the studio: routes and events; it binds to this machine."""

from __future__ import annotations

import asyncio
import json
import logging
import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from importlib.resources import files
from typing import Any, TypeAlias

import uvicorn
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from graphmargin._errors import InputError, one_line, printable
from graphmargin._typing import IntArray
from graphmargin.labels import UNLABELED
from graphmargin.studio.access_control import (
    ALL_ADDRESSES,
    LOG_IN,
    AccessControl,
    RefusedError,
    Tokens,
    read_json,
)
from graphmargin.studio.export import Exports
from graphmargin.studio.service import Studio
from graphmargin.studio.session import (
    Decision,
    DecisionError,
    active_class,
    check_rows,
    read_integer,
)
from graphmargin.studio.table_view import select_rows
from graphmargin.studio.views import (
    list_json,
    predictions_bytes,
    preview_json,
    row_json,
    state_json,
    table_json,
)

_logger = logging.getLogger(__name__)

LOCAL_HOST = "127.0.0.1"
PING_SECONDS = 15.0
BYTES = "application/octet-stream"
PAGE_TYPES = {
    ".html": "text/html",
    ".css": "text/css",
    ".js": "text/javascript",
    ".svg": "image/svg+xml",
}

Endpoint: TypeAlias = Callable[[Request], Awaitable[Response]]


class JsonResponse(JSONResponse):
    """JSON in ASCII, which can hold names of files that are no UTF-8."""

    def render(self, content: Any) -> bytes:
        """Return the bytes of the answer."""
        return json.dumps(content, allow_nan=False, separators=(",", ":")).encode()


class Events:
    """Streams of events, one for each window; any thread may publish."""

    def __init__(self) -> None:
        self._loop: asyncio.AbstractEventLoop | None = None
        self._queues: set[asyncio.Queue[int | None]] = set()

    def publish(self, version: int | None) -> None:
        """Tell all windows about a version; None ends their streams."""
        loop = self._loop
        if loop is not None and not loop.is_closed():
            loop.call_soon_threadsafe(self._put, version)

    def _put(self, version: int | None) -> None:
        for queue in self._queues:
            queue.put_nowait(version)

    async def stream(self, version: int) -> AsyncIterator[str]:
        """Yield the events of a window, from a version on, and a comment from time to time."""
        self._loop = asyncio.get_running_loop()
        queue: asyncio.Queue[int | None] = asyncio.Queue()
        self._queues.add(queue)
        try:
            yield _event(version)
            while True:
                try:
                    latest = await asyncio.wait_for(queue.get(), PING_SECONDS)
                except TimeoutError:
                    yield ": ping\n\n"
                    continue
                while latest is not None and not queue.empty():
                    latest = queue.get_nowait()
                if latest is None:
                    return
                yield _event(latest)
        finally:
            self._queues.discard(queue)


def _event(version: int) -> str:
    return f'event: state\ndata: {{"version": {version}}}\n\n'


class Api:
    """The answers to the requests of the page."""

    def __init__(self, studio: Studio, events: Events, log_in: Callable[[str], str]) -> None:
        self._studio, self._events, self._log_in = studio, events, log_in
        self._page, self._exports = _page_files(), Exports(studio)

    @property
    def routes(self) -> list[Route]:
        """The route of each request."""
        studio = self._studio
        return [
            Route("/", self._file),
            Route("/page/{name}", self._file),
            Route("/api/table", _get(lambda _: table_json(studio))),
            Route("/api/state", _get(lambda _: state_json(studio.snapshot))),
            Route("/api/map", self._map),
            Route("/api/rows/{row}", _get(lambda r: row_json(studio, _row(r)))),
            Route("/api/rows/{row}/image", self._image),
            Route("/api/list", _get(lambda r: list_json(studio, dict(r.query_params)))),
            Route("/api/predictions", self._predictions),
            Route("/api/exports/{what}", self._download),
            Route("/api/events", self._stream),
            Route(LOG_IN, _post(self._exchange), methods=["POST"]),
            Route("/api/decisions", _post(self._decide), methods=["POST"]),
            Route("/api/preview", _post(self._preview), methods=["POST"]),
            Route("/api/fit", _post(self._start_fit), methods=["POST"]),
            Route("/api/fit/cancel", _post(self._cancel_fit), methods=["POST"]),
            Route("/api/export", _post(self._export), methods=["POST"]),
        ]

    async def _file(self, request: Request) -> Response:
        name = request.path_params.get("name", "index.html")
        if name not in self._page:
            return JsonResponse({"error": f"there is no file {name!r}"}, 404)
        content, kind = self._page[name]
        return Response(content, media_type=kind)

    async def _map(self, _: Request) -> Response:
        if self._studio.map is None:
            text = "the map is being computed; ask again in a second"
            return JsonResponse({"error": text}, 404, {"Retry-After": "1"})
        return Response(self._studio.map, media_type=BYTES)

    async def _image(self, request: Request) -> Response:
        row = _row(request)
        check_rows([row], len(self._studio.task.table))
        content, kind = await run_in_threadpool(self._studio.view.image, row)
        return Response(content, media_type=kind)

    async def _predictions(self, request: Request) -> Response:
        since, now, changed = request.query_params.get("since", ""), self._studio.snapshot, None
        if since:
            changed = self._studio.changed_since(read_integer("since", since))
        headers = {"X-Version": str(now.version)}
        if since and changed is None:
            headers["X-Full"] = "1"
        return Response(predictions_bytes(now, changed), headers=headers, media_type=BYTES)

    async def _download(self, request: Request) -> Response:
        path = self._exports.find(request.path_params["what"])
        if path is None:
            return JsonResponse({"error": "this file was not exported in this session"}, 404)
        content = await run_in_threadpool(path.read_bytes)
        return Response(content, headers={"Content-Disposition": "attachment"}, media_type=BYTES)

    async def _stream(self, _: Request) -> Response:
        chunks = self._events.stream(self._studio.snapshot.version)
        return StreamingResponse(chunks, media_type="text/event-stream")

    def _exchange(self, body: dict[str, Any]) -> dict[str, Any]:
        return {"secret": self._log_in(str(body.get("token")))}

    def _decide(self, body: dict[str, Any]) -> dict[str, Any]:
        decision = _decision(self._studio, body)
        now = self._studio.decide(decision)
        return {"state": state_json(now), "row": now.next_row(decision)}

    def _preview(self, body: dict[str, Any]) -> dict[str, Any]:
        now = self._studio.snapshot
        code = active_class(now.session, _class(body, "class")).code
        return preview_json(now, _rows(self._studio, body), code)

    def _start_fit(self, _: dict[str, Any]) -> dict[str, Any]:
        self._studio.fit.start(self._studio.snapshot.session)
        return {"state": state_json(self._studio.snapshot)}

    def _cancel_fit(self, _: dict[str, Any]) -> dict[str, Any]:
        self._studio.fit.cancel()
        return {"state": state_json(self._studio.snapshot)}

    def _export(self, body: dict[str, Any]) -> dict[str, Any]:
        what, may_replace = str(body.get("what")), body.get("replace") is True
        path = self._exports.write(what, may_replace=may_replace)
        return {"file": path.name, "download": f"/api/exports/{what}"}


def _get(answer: Callable[[Request], dict[str, Any]]) -> Endpoint:
    """Return an endpoint that answers with JSON, computed in a thread."""

    async def endpoint(request: Request) -> Response:
        return JsonResponse(await run_in_threadpool(answer, request))

    return endpoint


def _post(answer: Callable[[dict[str, Any]], dict[str, Any]]) -> Endpoint:
    """Return an endpoint that takes and answers with JSON, computed in a thread."""

    async def endpoint(request: Request) -> Response:
        return JsonResponse(await run_in_threadpool(answer, await read_json(request)))

    return endpoint


def _page_files() -> dict[str, tuple[bytes, str]]:
    """Return the files of the page, by name, with their types."""
    folder = files("graphmargin.studio") / "page"
    found = {file.name: file for file in folder.iterdir() if file.is_file()}
    ending = {name: f".{name.rpartition('.')[2]}" for name in found}
    return {
        name: (file.read_bytes(), PAGE_TYPES[ending[name]])
        for name, file in found.items()
        if ending[name] in PAGE_TYPES
    }


def _row(request: Request) -> int:
    return read_integer("row", request.path_params["row"])


def _rows(studio: Studio, body: dict[str, Any]) -> IntArray:
    """Return the rows that a request names, one by one or by a filter."""
    if isinstance(body.get("filter"), dict):
        return select_rows(studio.view, studio.snapshot, body["filter"])
    rows = body.get("rows")
    if not isinstance(rows, list) or not all(type(row) is int for row in rows):
        msg = "`rows` must be a list of row numbers"
        raise DecisionError(msg)
    return check_rows(rows, len(studio.task.table))


def _decision(studio: Studio, body: dict[str, Any]) -> Decision:
    """Return the decision of a request."""
    action = str(body.get("action"))
    if action in ("undo", "redo"):
        return Decision(action)
    if action == "add_class":
        return Decision(action, name=str(body.get("name", "")))
    if action == "rename_class":
        return Decision(action, label=_class(body, "class"), name=str(body.get("name", "")))
    if action == "merge_classes":
        return Decision(action, label=_class(body, "from"), into=_class(body, "into"))
    rows = tuple(_rows(studio, body).tolist())
    if action != "label":
        return Decision(action, rows)
    suggested = _class(body, "suggested") if "suggested" in body else UNLABELED
    return Decision(
        action, rows, _class(body, "class"), by=str(body.get("by", "")), suggested=suggested
    )


def _class(body: dict[str, Any], name: str) -> int:
    code = body.get(name)
    if type(code) is not int:
        msg = f"`{name}` must be the code of a class, got {code!r}"
        raise DecisionError(msg)
    return code


class Server(uvicorn.Server):
    """A server whose event streams end with it, and the addresses that log a page in.

    Parameters
    ----------
    studio : Studio
    listening : socket.socket
        The socket that it listens on.
    host : str
        The name or address that it was asked to listen on.
    announce : callable
        Function of an address, which is called with a new one whenever the last one was used.
    """

    def __init__(
        self,
        studio: Studio,
        listening: socket.socket,
        host: str,
        announce: Callable[[str], object],
    ) -> None:
        port = int(listening.getsockname()[1])
        self._listening, self._announce = listening, announce
        self._tokens, self._announced = Tokens(), ""
        name = LOCAL_HOST if host in ALL_ADDRESSES else f"[{host}]" if ":" in host else host
        self.origin = f"http://{name}:{port}"
        self._events = Events()
        studio.listeners.append(self._events.publish)
        # Starlette has a separate place for the handler of errors that nobody expects.
        handlers = {InputError: _refuse, RefusedError: _refuse, Exception: _fail}
        api = Api(studio, self._events, self._log_in)
        app = Starlette(routes=api.routes, exception_handlers=handlers)
        self._control = AccessControl(app, host=host, port=port)
        config = uvicorn.Config(
            self._control,
            log_level="critical",
            access_log=False,
            lifespan="off",
            server_header=False,
            timeout_graceful_shutdown=2,
        )
        super().__init__(config)

    def serve_until_stopped(self) -> None:
        """Answer requests until a signal or `stop`."""
        try:
            self.run(sockets=[self._listening])
        finally:
            self._listening.close()

    def new_address(self) -> str:
        """Return an address that logs one page in.

        The token follows "#", so that browsers do not send it to any server.
        """
        return f"{self.origin}/#token={self._tokens.issue()}"

    def announce_address(self) -> None:
        """Announce an address, and another one as soon as it was used."""
        self._announced = self.new_address()
        self._announce(self._announced)

    def _log_in(self, token: str) -> str:
        """Return the secret in exchange for a token."""
        if not self._tokens.redeem(token):
            text = "this address was used already; open the newest one in the terminal"
            raise RefusedError(401, text)
        if self._announced.endswith(f"#token={token}"):
            self.announce_address()
        return self._control.secret

    def handle_exit(self, sig: int, frame: Any) -> None:
        """End on a signal, and end the streams, which would last forever."""
        self._events.publish(None)
        super().handle_exit(sig, frame)

    def stop(self) -> None:
        """End the server from another thread."""
        self._events.publish(None)
        self.should_exit = True


async def _refuse(request: Request, error: Exception) -> Response:
    """Answer with the message of an error, and tell the terminal if the server is the cause."""
    status = getattr(error, "status", 400)
    if status >= 500:
        _tell_terminal(request, str(error))
    return JsonResponse({"error": str(error)}, status)


async def _fail(request: Request, error: Exception) -> Response:
    """Answer with a sentence on an error that nobody expects, and tell the terminal."""
    text = f"internal error: {type(error).__name__}: {one_line(error)}"
    _tell_terminal(request, text)
    return JsonResponse({"error": text}, 500)


def _tell_terminal(request: Request, text: str) -> None:
    _logger.error("graphmargin: %s %s: %s", request.method, printable(request.url.path), text)


def make_server(
    studio: Studio, *, host: str, port: int, announce: Callable[[str], object]
) -> Server:
    """Return a server that listens on a port; 0 is a free one."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listening = socket.socket(family, socket.SOCK_STREAM)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((host, port))
    except OSError as error:
        listening.close()
        msg = f"cannot listen on port {port} of {host}: {error.strerror}; choose another --port"
        raise InputError(msg) from error
    listening.listen()  # a browser that is faster than the server waits
    return Server(studio, listening, host, announce)
