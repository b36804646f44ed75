"""Word of commits among daemons, by NOTIFY, so that none waits for its next look.

Nothing depends on it: each daemon looks once a second at what others committed. A notice is sent
behind the commit, and those of some milliseconds together: a transaction that notifies takes a lock
of the whole server when it commits (PostgreSQL, `PreCommit_Notify` in
src/backend/commands/async.c).
"""

from __future__ import annotations

import contextlib
import logging
import selectors
import socket
import threading
import time
from collections.abc import Callable, Set

import psycopg

from totonoe_core.base.errors import TotonoeError
from totonoe_core.store.postgres.connecting import Connect, Connection

Heard = Callable[[Set[str]], None]

_CHANNEL = "totonoe"
_TOGETHER_S = 0.015
_AGAIN_S = 1.0
"""From one try to reach the database to the next; a look of the daemons takes no longer."""
_CLOSE_S = 1.0
_UIDS_MAX = 100
"""Of one notice, whose text the server bounds by 8,000 bytes."""

_log = logging.getLogger(__name__)


class Notices:
    """`Notices` of the seam: one connection that hears and tells, served by one thread.

    Parameters
    ----------
    connect : callable
        Opens a connection to the server itself: a transaction pooler passes no notices on.
    """

    def __init__(self, connect: Connect) -> None:
        self._connect = connect
        self._lock = threading.Lock()
        self._committed: set[str] = set()
        self._waker: socket.socket | None = None
        self._closing = threading.Event()
        self._thread: threading.Thread | None = None

    def hear(self, heard: Heard) -> None:
        """See `Notices.hear` of the seam."""
        woken, self._waker = socket.socketpair()
        woken.setblocking(False)
        self._thread = threading.Thread(
            target=self._run, args=(heard, woken, self._waker), name="notices", daemon=True
        )
        self._thread.start()

    def tell(self, uid: str) -> None:
        """Let other daemons know that a collection has a commit; from any thread, waits for none.

        Dropped while the database does not answer, and where nobody hears.
        """
        if self._waker is None:
            return
        with self._lock:
            first = not self._committed
            self._committed.add(uid)
        if first:
            self._wake(self._waker)

    def close(self) -> None:
        """See `Notices.close` of the seam."""
        self._closing.set()
        if self._thread is not None and self._waker is not None:
            self._wake(self._waker)
            # One that waits for the database ends later, by itself.
            self._thread.join(_CLOSE_S)

    def _wake(self, waker: socket.socket) -> None:
        with contextlib.suppress(OSError):
            waker.send(b"\0")

    def _taken(self) -> list[str]:
        """Return the uids to tell of, each once."""
        with self._lock:
            taken, self._committed = self._committed, set()
        return sorted(taken)

    def _run(self, heard: Heard, woken: socket.socket, waker: socket.socket) -> None:
        with woken, waker:
            while not self._closing.is_set():
                self._hear(heard, woken)

    def _hear(self, heard: Heard, woken: socket.socket) -> None:
        """Serve one connection until it is lost or this is closed."""
        try:
            with contextlib.closing(self._connect()) as connection:
                if self._closing.is_set():
                    return
                connection.execute(f"LISTEN {_CHANNEL}".encode())
                self._serve(connection, heard, woken)
        except (psycopg.Error, TotonoeError) as error:
            _log.warning("no notices of other daemons now: %s", type(error).__name__)
            self._taken()
            self._closing.wait(_AGAIN_S)

    def _serve(self, connection: Connection, heard: Heard, woken: socket.socket) -> None:
        own = connection.info.backend_pid
        with selectors.DefaultSelector() as ready:
            ready.register(connection.fileno(), selectors.EVENT_READ)
            ready.register(woken, selectors.EVENT_READ)
            while True:
                events = [key.fileobj for key, _ in ready.select()]
                if self._closing.is_set():
                    return
                if woken in events:
                    time.sleep(_TOGETHER_S)
                    woken.recv(64)
                    _tell(connection, self._taken())
                found = [notice for notice in connection.notifies(timeout=0) if notice.pid != own]
                if found:
                    heard({uid for notice in found for uid in notice.payload.split()})


def _tell(connection: Connection, uids: list[str]) -> None:
    for at in range(0, len(uids), _UIDS_MAX):
        told = " ".join(uids[at : at + _UIDS_MAX])
        connection.execute(b"SELECT pg_notify(%s, %s)", (_CHANNEL, told))
