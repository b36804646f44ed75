"""HTTP servers in this process that stand for those of model vendors."""

from __future__ import annotations

import json
import threading
from abc import ABC, abstractmethod
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from support.waits import wait_s


class _Quiet(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, *_: object) -> None:
        """Clients that went away before the answer are part of the tests."""


class JsonServer(ABC):
    """Answers each POST by `status_of` and `answer`; waits while `hang` is not set."""

    def __init__(self) -> None:
        self.raw: bytes | None = None
        self.hang = threading.Event()
        self.hang.set()
        self.requests: list[tuple[str, dict[str, Any], dict[str, str]]] = []
        self.headers: dict[str, str] = {}
        owner = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["content-length"])))
                owner.requests.append((self.path, body, dict(self.headers)))
                owner.hang.wait(wait_s())
                status = owner.status_of(body)
                answer = owner.answer(body, status)
                self.send_response(status)
                for name, value in owner.headers.items():
                    self.send_header(name, value)
                self.send_header("content-length", str(len(answer)))
                self.end_headers()
                self.wfile.write(answer)

            def log_message(self, *_: object) -> None:
                pass

        self._http = _Quiet(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._http.server_address[1]}/v1"
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.01,))
        self._thread.start()

    @abstractmethod
    def status_of(self, body: dict[str, Any]) -> int: ...

    @abstractmethod
    def answer(self, body: dict[str, Any], status: int) -> bytes: ...

    def close(self) -> None:
        self.hang.set()
        self._http.shutdown()
        self._http.server_close()
        self._thread.join(wait_s())
