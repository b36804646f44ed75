"""A wire between a daemon and its database, which a test can cut."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Callable

_BYTES = 1 << 16


class Between:
    """Passes bytes from a free port on loopback to a Unix socket, and back.

    Attributes
    ----------
    port : int
    connections_left : int
        Connections that are still passed on; later ones are closed at once.
    cut_at : bytes
        What a client sends before a cut: the server gets it, and its answer is lost with all that
        follows. Empty: nothing is cut. Empty again once it happened.
    wanted, met : bytes and callable
        What a client sends before `met` is called, in place of a cut; then the server gets it.
    go_on : Event
        What the client sends behind that waits for it. Set at first.
    """

    def __init__(self, path: str) -> None:
        self._path = path
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        self.connections_left = 1 << 30
        self.cut_at = b""
        self.cut_count = 0
        self.wanted = b""
        self.met: Callable[[], object] = lambda: None
        self.go_on = threading.Event()
        self.go_on.set()
        self._open: list[socket.socket] = []
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                near, _ = self._listener.accept()
                self.connections_left -= 1
                if self.connections_left < 0:
                    near.close()
                    continue
                far = socket.socket(socket.AF_UNIX)
                far.connect(self._path)
                self._open += [near, far]
                lost = threading.Event()
                for work, ends in ((self._up, (near, far)), (self._down, (near, far))):
                    threading.Thread(target=work, args=(*ends, lost), daemon=True).start()

    def _up(self, near: socket.socket, far: socket.socket, lost: threading.Event) -> None:
        with contextlib.suppress(OSError):
            while data := near.recv(_BYTES):
                if self.cut_at and self.cut_at in data:
                    self.cut_at = b""
                    lost.set()
                met = bool(self.wanted) and self.wanted in data
                if met:
                    self.wanted = b""
                    self.met()
                far.sendall(data)
                if met:
                    self.go_on.wait()
        _end(near, far)

    def _down(self, near: socket.socket, far: socket.socket, lost: threading.Event) -> None:
        with contextlib.suppress(OSError):
            while data := far.recv(_BYTES):
                if lost.is_set():
                    self.cut_count += 1
                    break
                near.sendall(data)
        _end(near, far)

    def cut(self) -> None:
        """End every connection; new ones are passed on."""
        ended, self._open = self._open, []
        _end(*ended)

    def close(self) -> None:
        """End all of it."""
        self.go_on.set()
        self._listener.close()
        self.cut()


def _end(*ends: socket.socket) -> None:
    for end in ends:
        with contextlib.suppress(OSError):
            end.shutdown(socket.SHUT_RDWR)
        end.close()
