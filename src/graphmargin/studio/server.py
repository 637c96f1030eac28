"""The web server of the studio: routes and events; it binds to this machine."""

from __future__ import annotations

import asyncio
import secrets
import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from importlib.resources import files
from typing import Any, TypeAlias
from urllib.parse import quote

import numpy as np
import uvicorn
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route
from starlette.types import ASGIApp

from graphmargin._errors import InputError
from graphmargin._typing import IntArray
from graphmargin.studio.access_control import AccessControl, RefusedError, read_json
from graphmargin.studio.service import Snapshot, Studio
from graphmargin.studio.session import Decision, DecisionError, active_class
from graphmargin.studio.views import (
    check_row,
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


def make_app(studio: Studio, *, token: str, host: str, port: int) -> tuple[ASGIApp, Events]:
    """Return the application, and its events."""
    events, pages = Events(), _page_files()
    studio.listeners.append(events.publish)

    async def page(request: Request) -> Response:
        name = request.path_params.get("name", "index.html")
        if name not in pages:
            return JSONResponse({"error": f"there is no file {name!r}"}, 404)
        content, kind = pages[name]
        return Response(content, media_type=kind)

    async def map_points(_: Request) -> Response:
        if studio.map is None:
            text = "the map is being computed; ask again in a second"
            return JSONResponse({"error": text}, 404, {"Retry-After": "1"})
        return Response(studio.map, media_type=BYTES)

    async def image(request: Request) -> Response:
        number = check_row(request.path_params["row"], len(studio.task.table))
        content, kind = await run_in_threadpool(studio.view.image, number)
        return Response(content, media_type=kind)

    async def predictions(request: Request) -> Response:
        since, changed, now = request.query_params.get("since", ""), None, studio.snapshot
        if since.isdigit():
            changed = studio.changed_since(int(since))
        headers = {"X-Version": str(now.version)}
        if since and changed is None:
            headers["X-Full"] = "1"
        return Response(predictions_bytes(now, changed), headers=headers, media_type=BYTES)

    async def download(request: Request) -> Response:
        path = studio.exports.get(request.path_params["name"])
        if path is None:
            return JSONResponse({"error": "this file was not exported in this session"}, 404)
        content = await run_in_threadpool(path.read_bytes)
        headers = {"Content-Disposition": f"attachment; filename*=UTF-8''{quote(path.name)}"}
        return Response(content, headers=headers, media_type=BYTES)

    async def stream(_: Request) -> Response:
        chunks = events.stream(studio.snapshot.version)
        return StreamingResponse(chunks, media_type="text/event-stream")

    def decide(body: dict[str, Any]) -> dict[str, Any]:
        decision = _decision(studio, body)
        return {**_version(studio.decide(decision)), "row": studio.next_row(decision)}

    def preview(body: dict[str, Any]) -> dict[str, Any]:
        now = studio.snapshot
        number = active_class(now.session, body.get("class")).number
        return preview_json(now, _rows(studio, body), number)

    def export(body: dict[str, Any]) -> dict[str, Any]:
        path = studio.export(str(body.get("what")))
        return {"file": path.name, "download": f"/api/exports/{quote(path.name)}"}

    routes = [
        Route("/", page),
        Route("/page/{name}", page),
        Route("/api/table", _get(lambda _: table_json(studio))),
        Route("/api/state", _get(lambda _: state_json(studio.snapshot))),
        Route("/api/map", map_points),
        Route("/api/rows/{row:int}", _get(lambda r: row_json(studio, r.path_params["row"]))),
        Route("/api/rows/{row:int}/image", image),
        Route("/api/list", _get(lambda r: list_json(studio, dict(r.query_params)))),
        Route("/api/predictions", predictions),
        Route("/api/exports/{name}", download),
        Route("/api/events", stream),
        Route("/api/decisions", _post(decide), methods=["POST"]),
        Route("/api/preview", _post(preview), methods=["POST"]),
        Route("/api/fit", _post(lambda _: _version(studio.start_fit())), methods=["POST"]),
        Route("/api/fit/cancel", _post(lambda _: _version(studio.cancel_fit())), methods=["POST"]),
        Route("/api/export", _post(export), methods=["POST"]),
    ]
    app = Starlette(
        routes=routes, exception_handlers=dict.fromkeys((InputError, RefusedError), _refuse)
    )
    return AccessControl(app, token=token, host=host, port=port), events


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


def _version(now: Snapshot) -> dict[str, Any]:
    return {"version": now.version, "state": state_json(now)}


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


async def _refuse(_: Request, error: Exception) -> Response:
    return JSONResponse({"error": str(error)}, getattr(error, "status", 400))


def _rows(studio: Studio, body: dict[str, Any]) -> IntArray:
    """Return the rows that a request names, one by one or by a filter."""
    if isinstance(body.get("filter"), dict):
        return studio.rows_of(body["filter"])
    rows = body.get("rows")
    if not isinstance(rows, list) or not all(type(row) is int for row in rows):
        msg = "`rows` must be a list of row numbers"
        raise DecisionError(msg)
    n = len(studio.task.table)
    for row in rows:
        check_row(row, n)
    return np.array(rows, dtype=np.int64)


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
    suggested = _class(body, "suggested") if body.get("suggested") else 0
    return Decision(
        action, rows, _class(body, "class"), by=str(body.get("by", "")), suggested=suggested
    )


def _class(body: dict[str, Any], name: str) -> int:
    number = body.get(name)
    if type(number) is not int:
        msg = f"`{name}` must be the number of a class, got {number!r}"
        raise DecisionError(msg)
    return number


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
