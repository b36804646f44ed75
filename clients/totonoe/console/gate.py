"""Lets requests through that may come, before anything is routed, and hardens every answer."""

from __future__ import annotations

import hmac
import re
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any, TypeAlias
from urllib.parse import parse_qsl

from totonoe.console import limits
from totonoe.console.sessions import Session, Sessions

Scope: TypeAlias = MutableMapping[str, Any]
Message: TypeAlias = MutableMapping[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[Message]]
Send: TypeAlias = Callable[[Message], Awaitable[None]]
App: TypeAlias = Callable[[Scope, Receive, Send], Awaitable[None]]

CSRF_FIELD = "csrf"
LOGIN_PATH = "/login"
STATIC_PATH = "/static/"
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
)
HEADERS = (
    (b"content-security-policy", POLICY.encode()),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cache-control", b"no-store"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
)
"""Headers of every answer, errors included."""
# Names without any escape, so that a path is what it looks like.
_NAME = r"[A-Za-z0-9_-]+(?:\.[A-Za-z0-9_-]+)*"
_PATH = re.compile(rf"/(?:{_NAME}(?:/{_NAME})*)?\Z")
_SAME_SITE = b"same-origin"
_FORM = b"application/x-www-form-urlencoded"


class Refused(Exception):  # noqa: N818 - named for what happened, as the errors of the client
    """A request that is not let through: a status of HTTP and a sentence for people."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


class Gate:
    """An ASGI application in front of the console.

    A request that is let through has its session under `session`, and the fields of its form under
    `form`, in the state of its scope. Without a session only the login and the files of the pages
    answer; others are asked to sign in by the page `signed_out`.

    Parameters
    ----------
    app : ASGI application
    signed_out : ASGI application
    sessions : Sessions
    port : int
        The one that the console listens on.
    """

    def __init__(self, app: App, signed_out: App, sessions: Sessions, port: int) -> None:
        self._app = app
        self._signed_out = signed_out
        self._sessions = sessions
        self._hosts = {f"127.0.0.1:{port}".encode(), f"localhost:{port}".encode()}
        self.cookie = f"totonoe_console_{port}"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or hand it on."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        if scope["type"] != "http":
            raise ValueError(f"type: got {scope['type']!r}, allowed: http or lifespan")
        answer = _hardened(send)
        try:
            app = await self._let_through(scope, receive)
        except Refused as refused:
            await plain_text(refused.status, str(refused))(scope, receive, answer)
            return
        await app(scope, receive, answer)

    async def _let_through(self, scope: Scope, receive: Receive) -> App:
        """Check a request and return what answers it. Raises `Refused`."""
        self._check_place(scope)
        path, method = scope["path"], scope["method"]
        session = self._session(scope)
        state = scope.setdefault("state", {})
        state["session"], state["form"] = session, {}
        if method == "POST":
            self._check_origin(scope)
        if session is None and path != LOGIN_PATH and not path.startswith(STATIC_PATH):
            return self._signed_out
        if method == "POST":
            state["form"] = await _form(scope, receive)
            if path != LOGIN_PATH:
                _check_word(session, state["form"])
        return self._app

    def _check_place(self, scope: Scope) -> None:
        """Refuse another host, a path that is not in its plain form, and an unknown method."""
        hosts = _values(scope, b"host")
        if len(hosts) != 1 or hosts[0].lower() not in self._hosts:
            raise Refused(421, "This page answers at 127.0.0.1 and localhost with its port only.")
        raw = scope.get("raw_path") or scope["path"].encode()
        if raw.decode("latin-1") != scope["path"] or not _PATH.match(scope["path"]):
            raise Refused(400, "The path is not in its plain form.")
        if len(scope.get("query_string", b"")) > limits.QUERY_BYTES_MAX:
            raise Refused(414, f"The address has over {limits.QUERY_BYTES_MAX:,} bytes.")
        if scope["method"] not in ("GET", "HEAD", "POST"):
            raise Refused(405, "Allowed: GET, HEAD and POST.")

    def _check_origin(self, scope: Scope) -> None:
        """Refuse a form that another page sends.

        Under the policy `no-referrer` browsers say `null` in place of the origin of a form. Then
        Sec-Fetch-Site has to name this page: scripts cannot set it, and a page without an origin
        of its own, as in a sandbox, has `cross-site` there.
        """
        origins = _values(scope, b"origin")
        own = {b"http://" + host for host in self._hosts}
        sites = _values(scope, b"sec-fetch-site")
        is_own = len(origins) == 1 and origins[0] in own and sites in ([], [_SAME_SITE])
        is_null = origins == [b"null"] and sites == [_SAME_SITE]
        if not is_own and not is_null:
            raise Refused(403, "A form is taken from this page only.")

    def _session(self, scope: Scope) -> Session | None:
        """Return the session of the request's cookie."""
        text = b"; ".join(_values(scope, b"cookie")).decode("latin-1")
        for part in text.split(";")[: limits.COOKIES_MAX]:
            name, _, value = part.strip().partition("=")
            if name == self.cookie and (session := self._sessions.find(value)):
                return session
        return None


def plain_text(status: int, message: str) -> App:
    """Return an application that answers with one line."""

    async def answer(_scope: Scope, _receive: Receive, send: Send) -> None:
        body = f"{message}\n".encode()
        headers = [
            (b"content-type", b"text/plain; charset=utf-8"),
            (b"content-length", str(len(body)).encode()),
        ]
        await send({"type": "http.response.start", "status": status, "headers": headers})
        await send({"type": "http.response.body", "body": body})

    return answer


def _values(scope: Scope, name: bytes) -> list[bytes]:
    return [value for key, value in scope["headers"] if key == name]


def _hardened(send: Send) -> Send:
    """Return a `send` that adds HEADERS, in place of what the answer says of them."""
    own = {name for name, _ in HEADERS}

    async def hardened(message: Message) -> None:
        if message["type"] == "http.response.start":
            kept = [header for header in message.get("headers", ()) if header[0].lower() not in own]
            message["headers"] = [*kept, *HEADERS]
        await send(message)

    return hardened


async def _form(scope: Scope, receive: Receive) -> dict[str, list[str]]:
    """Read the fields of a form. Raises `Refused`."""
    kinds = _values(scope, b"content-type")
    if [kind.partition(b";")[0].strip().lower() for kind in kinds] != [_FORM]:
        raise Refused(415, f"Allowed: a form of the type {_FORM.decode()}.")
    body = bytearray()
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise Refused(400, "The form did not come to its end.")
        body += message.get("body", b"")
        if len(body) > limits.FORM_BYTES_MAX:
            raise Refused(413, f"The form has over {limits.FORM_BYTES_MAX:,} bytes.")
        if not message.get("more_body", False):
            break
    try:
        pairs = parse_qsl(
            body.decode("ascii"),
            keep_blank_values=True,
            errors="strict",
            max_num_fields=limits.FORM_FIELDS_MAX,
        )
    except ValueError:
        raise Refused(400, "The form cannot be read.") from None
    fields: dict[str, list[str]] = {}
    for name, value in pairs:
        fields.setdefault(name, []).append(value)
    return fields


def _check_word(session: Session | None, form: dict[str, list[str]]) -> None:
    """Refuse a form without the word of its session."""
    given = form.pop(CSRF_FIELD, [])
    wanted = session.csrf if session else ""
    if len(given) != 1 or not hmac.compare_digest(given[0].encode(), wanted.encode()):
        raise Refused(403, "The form is not of this session: load the page again.")
