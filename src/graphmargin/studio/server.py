"""The web server of the studio: routes and events; it binds to this machine."""

from __future__ import annotations

import asyncio
import secrets
import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from importlib.resources import files
from pathlib import Path
from typing import Any, TypeAlias
from urllib.parse import quote

import uvicorn
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route
from starlette.types import ASGIApp

from graphmargin._errors import InputError
from graphmargin._typing import IntArray
from graphmargin.labels import UNLABELED
from graphmargin.studio.access_control import AccessControl, RefusedError, read_json
from graphmargin.studio.export import export
from graphmargin.studio.service import Studio
from graphmargin.studio.session import Decision, DecisionError, active_class, check_rows
from graphmargin.studio.table_view import select_rows
from graphmargin.studio.views import (
    list_json,
    predictions_bytes,
    preview_json,
    row_json,
    state_json,
    table_json,
)

PING_SECONDS = 15.0
BYTES = "application/octet-stream"
PAGE_TYPES = {
    ".html": "text/html",
    ".css": "text/css",
    ".js": "text/javascript",
    ".svg": "image/svg+xml",
}

Endpoint: TypeAlias = Callable[[Request], Awaitable[Response]]


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

    def __init__(self, studio: Studio, events: Events) -> None:
        self._studio, self._events = studio, events
        self._page, self._exports = _page_files(), dict[str, Path]()

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
            Route("/api/rows/{row:int}", _get(lambda r: row_json(studio, r.path_params["row"]))),
            Route("/api/rows/{row:int}/image", self._image),
            Route("/api/list", _get(lambda r: list_json(studio, dict(r.query_params)))),
            Route("/api/predictions", self._predictions),
            Route("/api/exports/{name}", self._download),
            Route("/api/events", self._stream),
            Route("/api/decisions", _post(self._decide), methods=["POST"]),
            Route("/api/preview", _post(self._preview), methods=["POST"]),
            Route("/api/fit", _post(self._start_fit), methods=["POST"]),
            Route("/api/fit/cancel", _post(self._cancel_fit), methods=["POST"]),
            Route("/api/export", _post(self._export), methods=["POST"]),
        ]

    async def _file(self, request: Request) -> Response:
        name = request.path_params.get("name", "index.html")
        if name not in self._page:
            return JSONResponse({"error": f"there is no file {name!r}"}, 404)
        content, kind = self._page[name]
        return Response(content, media_type=kind)

    async def _map(self, _: Request) -> Response:
        if self._studio.map is None:
            text = "the map is being computed; ask again in a second"
            return JSONResponse({"error": text}, 404, {"Retry-After": "1"})
        return Response(self._studio.map, media_type=BYTES)

    async def _image(self, request: Request) -> Response:
        row = request.path_params["row"]
        check_rows([row], len(self._studio.task.table))
        content, kind = await run_in_threadpool(self._studio.view.image, row)
        return Response(content, media_type=kind)

    async def _predictions(self, request: Request) -> Response:
        since, now, changed = request.query_params.get("since", ""), self._studio.snapshot, None
        if since.isdecimal():
            changed = self._studio.changed_since(int(since))
        headers = {"X-Version": str(now.version)}
        if since and changed is None:
            headers["X-Full"] = "1"
        return Response(predictions_bytes(now, changed), headers=headers, media_type=BYTES)

    async def _download(self, request: Request) -> Response:
        path = self._exports.get(request.path_params["name"])
        if path is None:
            return JSONResponse({"error": "this file was not exported in this session"}, 404)
        content = await run_in_threadpool(path.read_bytes)
        headers = {"Content-Disposition": f"attachment; filename*=UTF-8''{quote(path.name)}"}
        return Response(content, headers=headers, media_type=BYTES)

    async def _stream(self, _: Request) -> Response:
        chunks = self._events.stream(self._studio.snapshot.version)
        return StreamingResponse(chunks, media_type="text/event-stream")

    def _decide(self, body: dict[str, Any]) -> dict[str, Any]:
        decision = _decision(self._studio, body)
        now = self._studio.decide(decision)
        return {"state": state_json(now), "row": now.next_row(decision)}

    def _preview(self, body: dict[str, Any]) -> dict[str, Any]:
        now = self._studio.snapshot
        code = active_class(now.session, body.get("class")).code
        return preview_json(now, _rows(self._studio, body), code)

    def _start_fit(self, _: dict[str, Any]) -> dict[str, Any]:
        self._studio.fit.start(self._studio.snapshot.session)
        return {"state": state_json(self._studio.snapshot)}

    def _cancel_fit(self, _: dict[str, Any]) -> dict[str, Any]:
        self._studio.fit.cancel()
        return {"state": state_json(self._studio.snapshot)}

    def _export(self, body: dict[str, Any]) -> dict[str, Any]:
        path = export(self._studio, str(body.get("what")))
        self._exports[path.name] = path
        return {"file": path.name, "download": f"/api/exports/{quote(path.name)}"}


def _get(answer: Callable[[Request], dict[str, Any]]) -> Endpoint:
    """Return an endpoint that answers with JSON, computed in a thread."""

    async def endpoint(request: Request) -> Response:
        return JSONResponse(await run_in_threadpool(answer, request))

    return endpoint


def _post(answer: Callable[[dict[str, Any]], dict[str, Any]]) -> Endpoint:
    """Return an endpoint that takes and answers with JSON, computed in a thread."""

    async def endpoint(request: Request) -> Response:
        return JSONResponse(await run_in_threadpool(answer, await read_json(request)))

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


def make_app(studio: Studio, *, token: str, host: str, port: int) -> tuple[ASGIApp, Events]:
    """Return the application, and its events."""
    events = Events()
    studio.listeners.append(events.publish)
    handlers = dict.fromkeys((InputError, RefusedError), _refuse)
    app = Starlette(routes=Api(studio, events).routes, exception_handlers=handlers)
    return AccessControl(app, token=token, host=host, port=port), events


async def _refuse(_: Request, error: Exception) -> Response:
    return JSONResponse({"error": str(error)}, getattr(error, "status", 400))


class StudioServer(uvicorn.Server):
    """A server whose event streams end with it."""

    def __init__(self, config: uvicorn.Config, events: Events) -> None:
        super().__init__(config)
        self._events = events

    def handle_exit(self, sig: int, frame: Any) -> None:
        """End on a signal, and end the streams, which would last forever."""
        self._events.publish(None)
        super().handle_exit(sig, frame)

    def stop(self) -> None:
        """End the server from another thread."""
        self._events.publish(None)
        self.should_exit = True


def make_server(studio: Studio, *, host: str, port: int) -> tuple[StudioServer, socket.socket, str]:
    """Return a server, the socket that it listens on, and the address with the token."""
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
    number = int(listening.getsockname()[1])
    token = secrets.token_urlsafe(24)
    app, events = make_app(studio, token=token, host=host, port=number)
    config = uvicorn.Config(
        app,
        log_level="critical",
        access_log=False,
        lifespan="off",
        server_header=False,
        timeout_graceful_shutdown=2,
    )
    name = "127.0.0.1" if host in ("0.0.0.0", "::") else f"[{host}]" if ":" in host else host
    return StudioServer(config, events), listening, f"http://{name}:{number}/?token={token}"
