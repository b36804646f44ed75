"""A daemon for tests: in the process, on a free loopback port, with data of its own.

With pytest, which loads this module by itself::

    def test_remembers(totonoe_server):
        with totonoe_server.client(agent_id="me") as client:
            client.remember("The port is 8080.")

Without it::

    with running_server() as server, server.client(agent_id="me") as client:
        client.remember("The port is 8080.")

Nothing here imports gRPC or the engine before a test asks for a server.
"""

from __future__ import annotations

import logging
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

from totonoe_server import extra

if TYPE_CHECKING:
    import asyncio

    from totonoe import Client
    from totonoe_core.engine.seam.seam import Engine
    from totonoe_server.life.daemon import Daemon

START_LIMIT_S = 120.0
STOP_LIMIT_S = 60.0
KERNELS = "totonoe_core.kernels"
"""Logger that says when kernels compile, which they do at the first start on a machine."""

Tell = Callable[[str], None]


class RunningServer:
    """A daemon in a thread with an event loop of its own.

    Attributes
    ----------
    address : str
        Where it listens (several with commas); the same after a restart.
    metrics_address : str
        Where it serves metrics; empty unless asked for.
    data_dir : Path
        Its data, kept between `stop` and `start`.
    tell : callable
        Gets one line if the start has to wait for kernels that compile; prints it on standard
        error unless another one is set.
    """

    def __init__(self, data_dir: Path, engine: Engine | None = None, **settings: Any) -> None:
        self.data_dir = data_dir
        self.tell: Tell = _on_standard_error
        self.address = str(settings.pop("address", "127.0.0.1:0"))
        self.metrics_address = ""
        self._engine = engine
        self._settings = {"embedder": "hashing", "judge": "none", "grace_s": 5.0} | settings
        self._thread: threading.Thread | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stop_asked: asyncio.Event | None = None
        self._failure: BaseException | None = None

    def start(self) -> None:
        """Starts it, or starts it again on the same data and address. Returns when it serves.

        Raises
        ------
        totonoe_server.life.daemon.StartupError
            It could not start.
        """
        if self._thread is not None:
            raise RuntimeError("it runs already")
        ready = threading.Event()
        self._failure = None
        self._thread = threading.Thread(target=self._run, args=(ready,), name="totonoe-server")
        with _compiling_told(self.tell):
            self._thread.start()
            served = ready.wait(START_LIMIT_S)
        if not served:
            raise TimeoutError(f"the server did not start within {START_LIMIT_S:.0f} s")
        if self._failure is not None:
            self._thread.join(STOP_LIMIT_S)
            self._thread = None
            raise self._failure

    def stop(self) -> None:
        """Stops it as SIGTERM would. Idempotent."""
        thread, self._thread = self._thread, None
        if thread is None:
            return
        assert self._loop is not None and self._stop_asked is not None
        self._loop.call_soon_threadsafe(self._stop_asked.set)
        thread.join(STOP_LIMIT_S)
        if thread.is_alive():
            raise TimeoutError(f"the server did not stop within {STOP_LIMIT_S:.0f} s")
        if self._failure is not None:
            raise self._failure

    def client(self, agent_id: str = "") -> Client:
        """A new client; close it, or use it in a `with` statement."""
        from totonoe import Client

        return Client(self.address.split(",")[0], agent_id=agent_id)

    def _run(self, ready: threading.Event) -> None:
        import asyncio

        try:
            asyncio.run(self._serve(ready))
        except BaseException as error:
            self._failure = error
        finally:
            ready.set()

    async def _serve(self, ready: threading.Event) -> None:
        import asyncio

        from totonoe_server.life.config import load_settings
        from totonoe_server.life.daemon import Daemon

        self._loop = asyncio.get_running_loop()
        self._stop_asked = asyncio.Event()
        # A daemon with a database has no data directory.
        place = {} if "store" in self._settings else {"data_dir": self.data_dir}
        settings = load_settings(address=self.address, **place, **self._settings)
        daemon: Daemon = Daemon(settings, self._engine)
        await daemon.start()
        self.address = ",".join(place.target for place in daemon.addresses)
        self.metrics_address = daemon.metrics_address
        ready.set()
        await self._stop_asked.wait()
        await daemon.stop(settings.grace_s)


def _on_standard_error(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


@contextmanager
def _compiling_told(tell: Tell) -> Iterator[None]:
    """Tell that kernels compile as soon as they do."""

    class LogCollector(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            if record.levelno == logging.INFO:
                tell(f"totonoe: {record.getMessage()}")

    log, handler = logging.getLogger(KERNELS), LogCollector()
    level = log.level
    log.addHandler(handler)
    log.setLevel(logging.INFO)
    try:
        yield
    finally:
        log.setLevel(level)
        log.removeHandler(handler)


@contextmanager
def running_server(
    data_dir: Path | None = None,
    engine: Engine | None = None,
    tell: Tell = _on_standard_error,
    **settings: Any,
) -> Iterator[RunningServer]:
    """A running server for a `with` statement, for use without pytest.

    Parameters
    ----------
    data_dir : Path, optional
        Where its data lies; a temporary directory that goes with it, if not given.
    engine : Engine, optional
        Serve this engine instead of one on `data_dir`.
    tell : callable, optional
        As of `RunningServer`.
    **settings
        As in `totonoe_server.life.config.Settings`. Unless said otherwise: a free port, and the
        embedder `hashing`, which needs no model, and no judge.

    Raises
    ------
    totonoe_server.extra.MissingExtraError
        The extra `server` is not installed.
    """
    extra.require()
    with tempfile.TemporaryDirectory(prefix="totonoe-") as temporary:
        server = RunningServer(data_dir or Path(temporary) / "data", engine, **settings)
        server.tell = tell
        server.start()
        try:
            yield server
        finally:
            server.stop()


try:
    import pytest
except ImportError:
    # `running_server` needs no pytest.
    pass
else:

    @pytest.fixture
    def totonoe_server(request: pytest.FixtureRequest) -> Iterator[RunningServer]:
        """A running totonoe daemon with nothing in it, for one test."""
        try:
            extra.require()
        except extra.MissingExtraError as error:
            hint = f"totonoe_server needs the server: {extra.INSTALL} ({error})"
            pytest.fail(hint, pytrace=False)
        capturing = request.config.pluginmanager.getplugin("capturemanager")

        def tell(line: str) -> None:
            # Whoever waits reads it now, not after the test.
            with capturing.global_and_fixture_disabled() if capturing else nullcontext():
                _on_standard_error(f"\n{line}")

        with running_server(tell=tell) as server:
            yield server
