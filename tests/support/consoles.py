"""A console in this process: requests over ASGI, as bytes, so that nothing tidies a path first."""

from __future__ import annotations

import asyncio
import html
import re
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import uvicorn

from support.waits import wait_s, wait_until
from totonoe.console.app import make_app
from totonoe.console.serving import login_address
from totonoe.console.sessions import Logins, Sessions
from totonoe.console.settings import Settings

PORT = 7768
HOST = f"127.0.0.1:{PORT}"
ORIGIN = f"http://{HOST}"
_FORM = re.compile(r'<form\b[^>]*action="([^"]*)"[^>]*>(.*?)</form>', re.S)
_AREA = re.compile(r'<textarea\b[^>]*name="(\w+)"[^>]*>(.*?)</textarea>', re.S)


@dataclass(frozen=True)
class Answer:
    """One answer."""

    status: int
    headers: list[tuple[str, str]]
    body: str

    def header(self, name: str) -> str:
        """The one value of a header; empty: there is none."""
        found = [value for key, value in self.headers if key == name]
        assert len(found) <= 1, found
        return found[0] if found else ""

    @property
    def text(self) -> str:
        """What a reader sees: without tags, with white space folded."""
        bare = re.sub(r"<(head|script)\b.*?</\1>|<[^>]*>", " ", self.body, flags=re.S)
        return " ".join(html.unescape(bare).split())

    def form(self, action: str, label: str = "") -> dict[str, list[str]]:
        """The hidden fields and texts of the form with an action, and a word of its button."""
        for match in re.finditer(
            r"<form\b[^>]*action=\"([^\"]*)\"[^>]*>(.*?)</form>", self.body, re.S
        ):
            if match[1] == action and label in match[2]:
                return _fields(match[2])
        raise AssertionError(f"no form {action} {label!r} in {self.text[:500]}")


def _fields(source: str) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for tag in re.findall(r"<input\b[^>]*>", source):
        said = dict(re.findall(r"([a-z]+)=\"([^\"]*)\"", tag))
        if said.get("type") in (None, "hidden", "number") and "name" in said:
            found.setdefault(said["name"], []).append(html.unescape(said.get("value", "")))
    for name, text in re.findall(
        r"<textarea\b[^>]*name=\"(\w+)\"[^>]*>(.*?)</textarea>", source, re.S
    ):
        found[name] = [html.unescape(text)]
    return found


class ConsoleRun:
    """A console and one browser in front of it; it keeps the cookie."""

    def __init__(self, app: Any, logins: Logins, loop: asyncio.AbstractEventLoop) -> None:
        self.app = app
        self.logins = logins
        self.cookie = ""
        self._loop = loop

    def other(self) -> ConsoleRun:
        """Another browser of the same console, which is not signed in."""
        return ConsoleRun(self.app, self.logins, self._loop)

    def send(
        self,
        method: str,
        target: str,
        body: bytes = b"",
        headers: list[tuple[str, str]] | None = None,
        raw_path: bytes | None = None,
    ) -> Answer:
        """Send a request as it is; `raw_path` is the path before a server unescaped it."""
        scope = self._scope(method, target, headers, raw_path)
        sent: list[Any] = []
        coming = [{"type": "http.request", "body": body, "more_body": False}]

        async def receive() -> Any:
            return coming.pop(0) if coming else {"type": "http.disconnect"}

        async def send(message: Any) -> None:
            sent.append(message)

        async def run() -> None:
            async with asyncio.timeout(wait_s()):
                await self.app(scope, receive, send)

        self._loop.run_until_complete(run())
        start = sent[0]
        text = b"".join(item.get("body", b"") for item in sent[1:]).decode()
        named = [(name.decode().lower(), value.decode()) for name, value in start["headers"]]
        return Answer(start["status"], named, text)

    def _scope(
        self,
        method: str,
        target: str,
        headers: list[tuple[str, str]] | None = None,
        raw_path: bytes | None = None,
    ) -> dict[str, Any]:
        path, _, query = target.partition("?")
        said = [("host", HOST)] if headers is None else headers
        if self.cookie:
            said = [*said, ("cookie", self.cookie)]
        return {
            "type": "http",
            "http_version": "1.1",
            "method": method,
            "scheme": "http",
            "path": path,
            "raw_path": path.encode() if raw_path is None else raw_path,
            "query_string": query.encode(),
            "root_path": "",
            "headers": [(name.encode(), value.encode()) for name, value in said],
            "server": ("127.0.0.1", PORT),
            "client": ("127.0.0.1", 1),
            "state": {},
        }

    def stream(self, target: str, count: int) -> list[str]:
        """The first parts of a body that does not end; then the browser goes away."""
        with self.streams(target, 1, count) as [parts]:
            return parts

    @contextmanager
    def streams(self, target: str, readers: int, count: int = 1) -> Iterator[list[list[str]]]:
        """Readers of a body that does not end, each with its first parts; they leave at the end."""
        gone = asyncio.Event()
        parts: list[list[str]] = [[] for _ in range(readers)]
        enough = [asyncio.Event() for _ in range(readers)]

        async def receive() -> Any:
            await gone.wait()
            return {"type": "http.disconnect"}

        async def read(at: int) -> None:
            async def send(message: Any) -> None:
                if body := message.get("body", b"").decode():
                    parts[at].append(body)
                if len(parts[at]) >= count:
                    enough[at].set()

            await self.app(self._scope("GET", target), receive, send)

        async def begin() -> list[asyncio.Task[None]]:
            tasks = [asyncio.create_task(read(at)) for at in range(readers)]
            async with asyncio.timeout(wait_s()):
                for event in enough:
                    await event.wait()
            return tasks

        async def end(tasks: list[asyncio.Task[None]]) -> None:
            gone.set()
            async with asyncio.timeout(wait_s()):
                await asyncio.gather(*tasks)

        tasks = self._loop.run_until_complete(begin())
        try:
            yield parts
        finally:
            self._loop.run_until_complete(end(tasks))

    def get(self, target: str) -> Answer:
        """A page, as a browser asks for it."""
        return self.send("GET", target)

    def post(self, target: str, fields: dict[str, Any], **headers: str) -> Answer:
        """A form, as a browser sends it; `headers` with `_` replace those of a browser."""
        said = {
            "host": HOST,
            "origin": ORIGIN,
            "sec-fetch-site": "same-origin",
            "content-type": "application/x-www-form-urlencoded",
        } | {name.replace("_", "-"): value for name, value in headers.items()}
        kept = [(name, value) for name, value in said.items() if value]
        return self.send("POST", target, urlencode(fields, doseq=True).encode(), kept)

    def submit(self, page: Answer, action: str, label: str = "", **changed: Any) -> Answer:
        """Send a form of a page, and follow where it leads."""
        done = self.post(action, page.form(action, label) | changed)
        return self.get(done.header("location")) if done.status == 303 else done

    def sign_in(self) -> ConsoleRun:
        """Use a new login."""
        answer = self.post("/login", {"t": self.logins.make()})
        assert answer.status == 303, answer.text
        self.cookie = answer.header("set-cookie").partition(";")[0]
        return self

    def csrf_of_session(self) -> str:
        """The word in the forms of this session."""
        found = re.search(r'name="csrf" value="(\w+)"', self.get("/nowhere").body)
        assert found is not None
        return found[1]


@contextmanager
def console(
    address: str, folder: Path, sessions: Sessions | None = None, **settings: Any
) -> Iterator[ConsoleRun]:
    """A console of a daemon, with a browser that is not signed in."""
    logins = Logins(folder / "logins")
    loop = asyncio.new_event_loop()
    app = make_app(Settings(address, port=PORT, **settings), logins, sessions)
    try:
        yield ConsoleRun(app, logins, loop)
    finally:
        loop.run_until_complete(_end(app))
        loop.close()


class ServedConsole:
    """A console on a port of this machine, in a thread, as `totonoe console` serves it.

    Attributes
    ----------
    url : str
        Its address, without a path.
    """

    def __init__(self, address: str, folder: Path, **settings: Any) -> None:
        self._socket = socket.socket()
        self._socket.bind(("127.0.0.1", 0))
        port = self._socket.getsockname()[1]
        self.url = f"http://127.0.0.1:{port}"
        self._port = port
        self._logins = Logins(folder / "logins")
        app = make_app(Settings(address, port=port, **settings), self._logins)
        config = uvicorn.Config(
            app,
            log_config=None,
            access_log=False,
            http="h11",
            ws="none",
            lifespan="on",
            timeout_graceful_shutdown=1,
        )
        self._server = uvicorn.Server(config)
        self._thread = threading.Thread(target=self._server.run, args=([self._socket],))

    def login_address(self) -> str:
        """A new address that lets one browser in."""
        return login_address(self._port, self._logins.make())

    def __enter__(self) -> ServedConsole:
        self._thread.start()
        wait_until(lambda: self._server.started)
        return self

    def __exit__(self, *_: object) -> None:
        self._server.should_exit = True
        self._thread.join(wait_s())
        self._socket.close()
        assert not self._thread.is_alive()


async def _end(app: Any) -> None:
    """Run the application's start and end, as a server does."""
    coming = [{"type": "lifespan.startup"}, {"type": "lifespan.shutdown"}]

    async def receive() -> Any:
        return coming.pop(0)

    async def send(_message: Any) -> None:
        """What the application answers says nothing more."""

    await app({"type": "lifespan", "state": {}}, receive, send)
