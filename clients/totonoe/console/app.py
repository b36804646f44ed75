"""The application of the console: its routes, its files, and the login."""

from __future__ import annotations

import hashlib
import re
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from importlib.resources import files
from typing import Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from totonoe.console import gate, limits
from totonoe.console.pages import (
    collections,
    health,
    memory,
    review,
    search,
    timeline,
    waiting,
)
from totonoe.console.sessions import Logins, Sessions
from totonoe.console.settings import Settings
from totonoe.console.view import Form, View
from totonoe.errors import TotonoeError

Page = Callable[[View, Request], Awaitable[Response]]

HTMX_SHA256 = "a0abb04f2f45a1f89d1d4844023245537e5e6014c87b144553e0607b4cc32130"
"""Of `dist/htmx.min.js` in the package htmx.org 4.0.1 of npm."""
_NAMED = re.compile(r"/c/([^/]+)")
_FILES = {
    "console.css": "text/css; charset=utf-8",
    "console.js": "text/javascript; charset=utf-8",
    "login.js": "text/javascript; charset=utf-8",
    "htmx.min.js": "text/javascript; charset=utf-8",
    "htmx.LICENSE": "text/plain; charset=utf-8",
}


def make_app(settings: Settings, logins: Logins, sessions: Sessions | None = None) -> gate.App:
    """Make the application, guarded.

    Parameters
    ----------
    settings : Settings
    logins : Logins
        Tokens that let a browser in.
    sessions : Sessions, optional
        Those that are open already; none, if not given.

    Raises
    ------
    ValueError
        The vendored htmx is not the one that it should be.
    """
    open_sessions = sessions or Sessions()
    view = View(settings)

    async def sign_in(request: Request) -> Response:
        if not logins.use(Form.sent(request).text("t")):
            return view.page(request, "login", 403, refused=True)
        if request.state.session is not None:
            open_sessions.end(request.state.session)
        session = open_sessions.open()
        answer = RedirectResponse("/", 303)
        answer.set_cookie(
            guarded.cookie,
            session.id,
            max_age=int(limits.SESSION_S),
            httponly=True,
            samesite="strict",
        )
        return answer

    async def login(request: Request) -> Response:
        return view.page(request, "login", refused=False)

    async def sign_out(request: Request) -> Response:
        open_sessions.end(request.state.session)
        request.state.session = None
        answer = view.page(request, "signed_out", said=None, ended=True)
        answer.delete_cookie(guarded.cookie, httponly=True, samesite="strict")
        return answer

    async def signed_out(scope: gate.Scope, receive: gate.Receive, send: gate.Send) -> None:
        request = Request(scope, receive)
        answer = view.page(request, "signed_out", 401, said=None, ended=False)
        await answer(scope, receive, send)

    @asynccontextmanager
    async def lifespan(_app: Starlette) -> AsyncIterator[None]:
        yield
        await view.close()

    routes = [
        Route("/login", login, methods=["GET"]),
        Route("/login", sign_in, methods=["POST"]),
        Route("/logout", sign_out, methods=["POST"]),
        Route("/static/{name}", _files(), methods=["GET"]),
        *(
            Route(
                before + (path if path != "/" else "") or "/", _bound(page, view), methods=[method]
            )
            for before in ("", "/c/{collection}")
            for module in (review, waiting, memory, search, timeline, health, collections)
            for method, path, page in module.ROUTES
        ),
    ]
    app = Starlette(routes=routes, exception_handlers=_handlers(view), lifespan=lifespan)
    app.router.redirect_slashes = False
    guarded = gate.Gate(app, signed_out, open_sessions, settings.port)
    return guarded


def _files() -> Callable[[Request], Awaitable[Response]]:
    """Return what answers with a file of the pages. Raises `ValueError` as `make_app`."""
    static = _static()

    async def file(request: Request) -> Response:
        name = request.path_params["name"]
        if name not in static:
            raise HTTPException(404)
        return Response(static[name], media_type=_FILES[name])

    return file


def _handlers(view: View) -> dict[Any, Any]:
    """Return what answers for each kind of failure."""

    async def failed(request: Request, error: Exception) -> Response:
        return _of_request(view, request).failure(request, error)

    async def other(request: Request, error: Exception) -> Response:
        status = error.status_code if isinstance(error, HTTPException) else 404
        if request.state.session is None:
            return Response("Not found.\n" if status == 404 else "Not allowed.\n", status)
        return _of_request(view, request).page(request, "no_page", status, said=None)

    return {TotonoeError: failed, ValueError: failed, HTTPException: other}


def _bound(page: Page, view: View) -> Callable[[Request], Awaitable[Response]]:
    """Return a page of one console."""

    async def answer(request: Request) -> Response:
        return await page(_of_request(view, request), request)

    return answer


def _of_request(view: View, request: Request) -> View:
    """Return the view of the collection that the address names."""
    # Pages that are not there have no parameters.
    named = _NAMED.match(request.url.path)
    return view.of(named[1]) if named else view


def _static() -> dict[str, bytes]:
    """Read the files of the pages once, and check the one that others wrote."""
    folder = files("totonoe.console") / "static"
    found = {name: (folder / name).read_bytes() for name in _FILES}
    if hashlib.sha256(found["htmx.min.js"]).hexdigest() != HTMX_SHA256:
        raise ValueError("htmx.min.js: allowed: the file of htmx.org 4.0.1, unchanged")
    return found
