"""Start, serve, stop: the life of one daemon inside one event loop.

Start: lock the data directory (of a database: one for derived files), start the embedder, open the
engine, load the kernels, bind, say SERVING. What takes long to import is imported once the
embedder's process is under way.
Whatever fails on the way undoes what was done before it and ends in one clear line.
Stop: say NOT_SERVING, take no new calls, let running ones end within the grace time,
close the engine, give the directory back.
"""

from __future__ import annotations

import asyncio
import dataclasses
import functools
import gc
import math
import os
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from grpc import aio
from grpc_health.v1 import health, health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection

from totonoe.v1 import admin_service_pb2_grpc, memory_service_pb2_grpc
from totonoe_core.base import clock, limits
from totonoe_core.base.errors import NotFound, TotonoeError
from totonoe_server.access.errors import FileError
from totonoe_server.access.expiry import Expiries
from totonoe_server.access.gate import Gate
from totonoe_server.access.metering import Figures
from totonoe_server.access.stored_book import StoredBook
from totonoe_server.access.transport import CertificateError, Certificates
from totonoe_server.life.addresses import (
    Address,
    AddressError,
    check_free,
    clear_stale_socket,
    parse_addresses,
    settled,
)
from totonoe_server.life.config import Settings, parse_metrics_address
from totonoe_server.life.connections import make_server
from totonoe_server.life.interceptors import Interceptor
from totonoe_server.life.process import (
    collections_open_max,
    machine_bytes,
    package_version,
    raise_open_files,
)
from totonoe_server.life.reload import Reloader
from totonoe_server.life.seat import ALONE, Seat
from totonoe_server.life.watchdog import ENGINE_CLOSE_S
from totonoe_server.logger import logger
from totonoe_server.services.process import Process
from totonoe_server.wire.methods import SERVICES

if TYPE_CHECKING:
    from totonoe_core.embedding import EmbeddingService
    from totonoe_core.engine.factory import Database, DataDir
    from totonoe_core.engine.seam.seam import Engine
    from totonoe_core.judging import JudgeSettings, JudgingService
    from totonoe_server.life.metrics import MetricsServer
    from totonoe_server.life.tracing import Tracing
    from totonoe_server.services.admin import AdminService
    from totonoe_server.services.memory import MemoryService

FORCED_CLOSE_S = 2.0
EMBEDDER_LOAD_S = 300.0
FLUSH_S = 0.25
"""For what is on its way: calls in, answers and changes of health out."""
QUIET_S_MAX = 2.0
"""Callers that come again and again hold up the end of the port for this long at most."""
_SERVING = health_pb2.HealthCheckResponse.SERVING
_NOT_SERVING = health_pb2.HealthCheckResponse.NOT_SERVING
_FREE_PORT_TRIES = 3

_T = TypeVar("_T")


class StartupError(Exception):
    """The daemon cannot start. The message is one line for whoever started it."""


class Daemon:
    """One daemon. Not restartable: make a new one.

    Parameters
    ----------
    settings : Settings
    engine : Engine, optional
        Serves this one instead of opening the data directory; the caller keeps it, locks
        what it needs, and it is closed all the same.
    seat : Seat, optional
        Its place among several that were started together.
    """

    def __init__(
        self, settings: Settings, engine: Engine | None = None, seat: Seat = ALONE
    ) -> None:
        self.settings = settings
        self.seat = seat
        self.addresses: tuple[Address, ...] = ()
        self.metrics_address = ""
        self.local_dir = settings.data_dir
        self.gate = Gate(stored_book(settings) if settings.store else settings.data_dir)
        self.interceptor = Interceptor(self.gate)
        self.interceptor.call_log.set_level(settings.log_calls)
        self.memory_service: MemoryService | None = None
        self.admin_service: AdminService | None = None
        self._given_engine = engine
        self._engine: Engine | None = None
        self._embedding: EmbeddingService | None = None
        self._judging: JudgingService | None = None
        self._data_dir: DataDir | Database | None = None
        self._server: aio.Server | None = None
        self._health = health.aio.HealthServicer()
        self._metrics: MetricsServer | None = None
        self._tracing: Tracing | None = None
        self._model_watch: asyncio.Task[None] | None = None
        self._gate_watch: asyncio.Task[None] | None = None
        self._expiry_watch: asyncio.Task[None] | None = None
        self._certificates: Certificates | None = None
        self._expiries = Expiries(self.gate, None)
        self._stopping = threading.Event()

    def join_reload(self, reloader: Reloader) -> None:
        """Takes over settings that are changed while it runs."""
        reloader.on(("log_calls",), lambda new: self.interceptor.call_log.set_level(new.log_calls))

    async def start(self) -> None:
        """Serves when it returns.

        Raises
        ------
        StartupError
            Nothing is left behind: no lock, no process, no port.
        """
        started_s = time.monotonic()
        started_us = clock.system_clock()
        try:
            with _as_startup_error(self.settings, self.seat):
                self.addresses = tuple(settled(place) for place in self.settings.addresses)
                await _to_the_end(self.gate.load)
                certificates = _certificates(self.settings, self.addresses, self.gate)
                self._certificates = certificates
                self._expiries = Expiries(self.gate, certificates)
                engine = self._given_engine
                if engine is None:
                    engine = await _to_the_end(self._open)
                self._engine = engine
                await _to_the_end(self.gate.load_key)
                process = Process(
                    started_us, package_version(), self._expiries.earliest_s, self.seat.number
                )
                self._tracing = self.interceptor.tracing = _open_tracing(
                    self.settings, process.version
                )
                await self._serve(engine, process)
                self._metrics = self._open_metrics(engine, process)
        except BaseException:
            await self._release(FORCED_CLOSE_S)
            raise
        logger.info(
            "ready",
            address=",".join(place.target for place in self.addresses),
            **self._kept_at(),
            embedder=self.settings.embedder,
            model=self._embedding.state if self._embedding else "none",
            judge=self._judging.settings.kind if self._judging else "none",
            version=package_version(),
            start_s=round(time.monotonic() - started_s, 2),
            **({"metrics": self.metrics_address} if self._metrics else {}),
            **({"traces": self.settings.tracing_endpoint} if self._tracing else {}),
        )
        # The first comparison takes half a second: not in the first Remember, and nobody waits.
        loading = threading.Thread(target=self._load_the_rest, name="word lists", daemon=True)
        loading.start()
        self._gate_watch = asyncio.create_task(self.gate.watch())
        self._expiry_watch = asyncio.create_task(self._expiries.watch())
        if self._embedding is not None:
            self._model_watch = asyncio.create_task(self._report_model(self._embedding))

    def _load_the_rest(self) -> None:
        self.gate.seal.load()
        load_words(self._stopping)

    async def stop(self, grace_s: float) -> None:
        """Ends running calls within `grace_s`, cuts off the rest, closes. Idempotent.

        A second call with a shorter time, while the first still waits, shortens it.
        """
        await self._health.enter_graceful_shutdown()
        if self._server is not None:
            await self._drain(self._server, grace_s)
            figures = self.interceptor.figures
            logger.info("stopped", calls=sum(figures.ended.values()), **figures.ended)
        await self._release(ENGINE_CLOSE_S if grace_s else FORCED_CLOSE_S)

    async def _drain(self, server: aio.Server, grace_s: float) -> None:
        """Refuses new calls and waits for running ones.

        The refusing is ours: gRPC's own would cancel calls that wait to be taken up, and
        answer no health check any more. Health watchers are not waited for: they never end.
        """
        self.interceptor.drain()
        if self.memory_service is not None:
            # They would never end by themselves, or not soon.
            self.memory_service.watching.stop()
            self.memory_service.end_streams()
        if self.admin_service is not None:
            self.admin_service.end_streams()
        figures = self.interceptor.figures
        with suppress(TimeoutError):
            async with asyncio.timeout(grace_s):
                await self._quiet()
        if not figures.idle.is_set():
            self.interceptor.cut_off()
            with suppress(TimeoutError):
                async with asyncio.timeout(FLUSH_S):
                    await figures.idle.wait()
        await server.stop(FLUSH_S if figures.idle.is_set() else None)

    async def _quiet(self) -> None:
        """Wait until no call runs and none came in for FLUSH_S: those have their answer.

        gRPC cancels calls that wait to be taken up when the port closes, without a reason.
        """
        figures, loop = self.interceptor.figures, asyncio.get_running_loop()
        begun, until_s = -1, math.inf
        while begun != figures.begun and loop.time() < until_s:
            begun = figures.begun
            await asyncio.sleep(FLUSH_S)
            await figures.idle.wait()
            until_s = min(until_s, loop.time() + QUIET_S_MAX)

    def _open(self) -> Engine:
        """Locks, starts the embedder in the background, opens the engine, warms it up."""
        # Kernels are cached where all daemons and tools of this user find them; this has
        # to be settled before the first import of numba, which the engine does.
        from totonoe_core.engine.factory import (
            EngineSettings,
            compile_kernels,
            prepare_kernels,
        )

        prepare_kernels()
        from totonoe_core.domain.snapshots import SnapshotSchedule
        from totonoe_core.embedding import open_service
        from totonoe_core.judging import open_service as open_judging

        files = raise_open_files()
        if files < limits.OPEN_FILES_MIN:
            raise StartupError(
                f"This process may open {files} files, and needs {limits.OPEN_FILES_MIN}: see "
                "ulimit -n"
            )
        open_engine = self._open_database() if self.settings.store else self._open_data_dir()
        for place in self.addresses:
            if place.target not in self.seat.shared:
                check_free(place)
        self._embedding = open_service(
            _embedder_settings(self.settings), workers=self.settings.embedder_workers
        )
        self._judging = open_judging(judge_settings(self.settings))
        budget_mb = self.settings.memory_budget_mb
        settings = EngineSettings(
            collection_idle_s=self.settings.collection_idle_s,
            collections_open_max=collections_open_max(),
            memory_budget_bytes=budget_mb << 20 or machine_bytes() // 2 // self.seat.count,
            purge_deleted_days=self.settings.purge_deleted_days,
            verify_interval_h=self.settings.verify_interval_h,
            verify_share=self.settings.verify_share,
            snapshot_schedule=SnapshotSchedule(
                self.settings.snapshot_every_h, self.settings.snapshot_keep
            ),
        )
        # Half of the time of a start, while the embedder loads its model beside it.
        engine = open_engine(self._embedding, self._judging, settings)
        self._engine = engine
        compile_kernels()
        return engine

    def _open_data_dir(self) -> Callable[..., Engine]:
        """Locks the data directory; returns what opens an engine on it."""
        from totonoe_core.engine.factory import DataDir

        data_dir = DataDir(self.settings.data_dir)
        closed_count = data_dir.tighten()
        if closed_count:
            logger.warning("files were open to other users: closed", count=closed_count)
        data_dir.lock(self._holder)
        self._data_dir = data_dir
        return data_dir.open

    def _open_database(self) -> Callable[..., Engine]:
        """Takes a directory for derived files; returns what opens an engine on the database."""
        database = database_of(self.settings)
        self.local_dir = database.lock(self.settings.derived_dir, self._holder)
        self._data_dir = database
        return functools.partial(database.open, self.local_dir)

    @property
    def _holder(self) -> str:
        return ",".join(place.target for place in self.addresses)

    def _kept_at(self) -> dict[str, str]:
        """Return the place of the collections, for the log."""
        if isinstance(self.gate.book, StoredBook):
            return {"store": self.gate.book.name, "derived": str(self.local_dir)}
        return {"data_dir": str(self.settings.data_dir)}

    async def _serve(self, engine: Engine, process: Process) -> None:
        from totonoe_server.services.admin import AdminService
        from totonoe_server.services.memory import MemoryService

        server = make_server(self.interceptor, shares_ports=bool(self.seat.shared))
        self._server = server
        self.gate.meters.read = functools.partial(_size, engine)
        self.memory_service = MemoryService(engine)
        self.interceptor.serve_items(self.memory_service)
        memory_service_pb2_grpc.add_MemoryServiceServicer_to_server(self.memory_service, server)
        self.admin_service = AdminService(engine, process)
        admin_service_pb2_grpc.add_AdminServiceServicer_to_server(self.admin_service, server)
        health_pb2_grpc.add_HealthServicer_to_server(self._health, server)
        names = (*SERVICES, health.SERVICE_NAME, reflection.SERVICE_NAME)
        reflection.enable_server_reflection(names, server)
        for name in ("", *SERVICES):
            await self._health.set(name, _NOT_SERVING)
        for place in self.addresses:
            _bind(server, place, self._certificates)
        await server.start()
        for name in ("", *SERVICES):
            await self._health.set(name, _SERVING)

    def _open_metrics(self, engine: Engine, process: Process) -> MetricsServer | None:
        """Serves metrics where the settings say so."""
        place = parse_metrics_address(self.settings.metrics_address)
        if place is None:
            return None
        from totonoe_server.life.metrics import DaemonCollector, MetricsServer

        collector = DaemonCollector(
            self.interceptor.figures,
            engine.figures,
            self._expiries.earliest_s,
            self.local_dir,
            process,
        )
        try:
            metrics = MetricsServer(*place, collector)
        except OSError as error:
            why = error.strerror or error
            raise StartupError(
                f"Cannot serve metrics on {self.settings.metrics_address}: {why}"
            ) from error
        self.metrics_address = metrics.address
        return metrics

    async def _report_model(self, embedding: EmbeddingService) -> None:
        """Says when the model has loaded, or why it will not. Writes with a vector, and
        everything else, are served meanwhile."""
        try:
            identity = await asyncio.to_thread(embedding.wait_ready, EMBEDDER_LOAD_S)
        except TotonoeError as error:
            logger.error("the embedder did not start", reason=error.reason, why=error.message)
        else:
            logger.info("model ready", model=identity.name, dimension=identity.dimension)

    async def _release(self, close_s: float) -> None:
        """Gives back whatever is held, in the reverse order."""
        self._stopping.set()
        metrics, self._metrics = self._metrics, None
        if metrics is not None:
            await asyncio.to_thread(metrics.close)
        server, self._server = self._server, None
        if server is not None:
            await server.stop(None)
        for place in self.addresses:
            if server is not None and place.path is not None:
                place.path.unlink(missing_ok=True)
        closing: list[Callable[[], None]] = []
        tracing, self._tracing = self._tracing, None
        if tracing is not None:
            closing.append(tracing.close)
        engine, self._engine = self._engine, None
        if engine is not None:
            closing.append(functools.partial(engine.close, close_s))
        # Beside each other, so that a collector that does not answer takes no time of its own.
        await asyncio.gather(*map(asyncio.to_thread, closing))
        embedding, self._embedding = self._embedding, None
        if embedding is not None:
            await asyncio.to_thread(embedding.close)
        judging, self._judging = self._judging, None
        if judging is not None:
            await asyncio.to_thread(judging.close)
            logger.info("judge stopped", **dataclasses.asdict(judging.stats()))
        endless = [task for task in (self._gate_watch, self._expiry_watch) if task is not None]
        self._gate_watch = self._expiry_watch = None
        for task in endless:
            task.cancel()
            await asyncio.wait((task,))
        watch, self._model_watch = self._model_watch, None
        if watch is not None:
            await watch
        data_dir, self._data_dir = self._data_dir, None
        if data_dir is not None:
            data_dir.release()
        await asyncio.to_thread(self.gate.book.close)


def database_of(settings: Settings) -> Database:
    """The database that the settings name. Raises `StartupError` without the extra `postgres`."""
    return database_at(settings.store, pooled=settings.store_pooler)


def database_at(url: str, *, pooled: bool) -> Database:
    """The database of an address. Raises `StartupError` without the extra `postgres`."""
    from totonoe_core.engine.factory import Database

    try:
        return Database(url, pooled=pooled)
    except ImportError as error:
        raise StartupError(
            "store needs packages that are not installed: pip install 'totonoe[postgres]'"
        ) from error


def stored_book(settings: Settings) -> StoredBook:
    """The identities in the database that the settings name; nothing is opened yet."""
    from totonoe_core.engine.factory import database_name

    return StoredBook(lambda: database_of(settings).access(), database_name(settings.store))


def load_words(stop: threading.Event) -> None:
    """Loads what English texts are compared with, and tries again if that fails; for a thread.

    That is word lists, and the trees of the probability. `text.reading.loading` loads other
    languages when a text needs them. After WORDS_TRIES_MAX tries the first Remember loads.
    """
    for _ in range(limits.WORDS_TRIES_MAX):
        try:
            from totonoe_core.domain.shipped import WEIGHTS
            from totonoe_core.guard.verdict import compare

            compare("Warm water", "Cold tea", 0.5, WEIGHTS, bundled=True)
        except Exception as error:
            why = error.strerror if isinstance(error, OSError) else type(error).__name__
            logger.warning("word lists are not loaded yet", why=why, retry_s=limits.WORDS_RETRY_S)
            if stop.wait(limits.WORDS_RETRY_S):
                return
        else:
            gc.freeze()
            return


async def _to_the_end(work: Callable[[], _T]) -> _T:
    """Runs in a thread. Cancelled, it still waits: what is half open cannot be given back."""
    running = asyncio.ensure_future(asyncio.to_thread(work))
    try:
        return await asyncio.shield(running)
    except asyncio.CancelledError:
        await asyncio.wait((running,))
        raise


async def _size(engine: Engine, collection: str, agent_id: str) -> Figures:
    """The size of a collection, for quotas; of one that is not there, nothing."""
    from totonoe_server.services.pending import answer_of

    try:
        (stats,) = (await answer_of(engine.stats(collection, agent_id))).collections
    except NotFound:
        return Figures(0, 0)
    return Figures(stats.total_count, stats.file_bytes)


def _certificates(
    settings: Settings, addresses: Iterable[Address], gate: Gate
) -> Certificates | None:
    """The certificate, if there is one.

    Raises
    ------
    AddressError
        An address that other machines reach lacks a certificate or a grant. All that is missing is
        said at once.
    """
    missing = []
    if not settings.tls_cert:
        missing.append("a certificate (--tls-cert and --tls-key)")
    if not gate.grants_somebody:
        missing.append("a grant (`totonoe tokens create`)")
    far = next((place for place in addresses if not place.local), None)
    if far is not None and missing:
        raise AddressError(
            f"Refusing to listen on {far.target}, which other machines can reach, without "
            + " and ".join(missing)
        )
    if not settings.tls_cert:
        return None
    return Certificates(settings.tls_cert, settings.tls_key, settings.tls_client_ca)


def _bind(server: aio.Server, place: Address, certificates: Certificates | None) -> None:
    """Bind one address.

    With a certificate all TCP ports speak TLS, so that no port of a daemon is open by mistake.
    """
    if place.path is not None:
        _bind_socket(server, place.path, place.target)
        return
    # gRPC picks a free port first and binds it then: another process may be quicker.
    tries = 1 if place.port else _FREE_PORT_TRIES
    for left in reversed(range(tries)):
        try:
            if certificates is None:
                server.add_insecure_port(place.target)
            else:
                server.add_secure_port(place.target, certificates.credentials())
            return
        except RuntimeError:
            if not left:
                raise


def _bind_socket(server: aio.Server, path: Path, target: str) -> None:
    """Bind a Unix socket, with mode 0600 from its first moment on."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    clear_stale_socket(path)
    before = os.umask(0o177)
    try:
        server.add_insecure_port(target)
    finally:
        os.umask(before)


def _open_tracing(settings: Settings, version: str) -> Tracing | None:
    """Begin to send traces where the settings say so.

    Raises
    ------
    StartupError
        The extra is not installed, or OpenTelemetry finds a wrong variable in the environment.
    """
    if not settings.tracing_endpoint:
        return None
    try:
        from totonoe_server.life.tracing import Tracing
    except ImportError as error:
        raise StartupError(
            "tracing_endpoint needs packages that are not installed: pip install 'totonoe[otel]'"
        ) from error
    try:
        return Tracing(settings.tracing_endpoint, version)
    except (ValueError, RuntimeError) as error:
        raise StartupError(f"Cannot send traces to {settings.tracing_endpoint}: {error}") from error


def _embedder_settings(settings: Settings) -> Any:
    from totonoe_core.embedding import EmbedderSettings

    return EmbedderSettings(
        kind=settings.embedder,
        model=settings.embedder_model,
        path=settings.embedder_path,
        base_url=settings.embedder_base_url,
        api_key_env=settings.embedder_api_key_env,
        dimension=settings.embedder_dimension,
        timeout_s=settings.embedder_timeout_s,
    )


def judge_settings(settings: Settings) -> JudgeSettings:
    """Return the judge's part of the settings. Raises `Precondition` (JUDGE_MISCONFIGURED)."""
    from totonoe_core.judging import JudgeSettings
    from totonoe_core.judging.settings import has_own_judge

    return JudgeSettings(
        kind=settings.judge or ("own" if has_own_judge() else "none"),
        processes=settings.judge_processes,
        url=settings.judge_url,
        model=settings.judge_model,
        api_key_env=settings.judge_api_key_env,
        dialect=settings.judge_dialect,
        agreed_from=settings.judge_agreed_from,
        deadline_s=settings.judge_deadline_s,
        asked_from=settings.judge_from,
        refinements=settings.judge_refinements,
    )


@contextmanager
def _as_startup_error(settings: Settings, seat: Seat = ALONE) -> Iterator[None]:
    """Whatever hinders the start, as one line."""
    try:
        yield
    except StartupError:
        raise
    except TotonoeError as error:
        raise StartupError(error.message) from error
    except (AddressError, FileError, CertificateError) as error:
        raise StartupError(str(error)) from error
    except OSError as error:
        place = error.filename or settings.data_dir
        raise StartupError(f"{place}: {error.strerror or error}") from error
    except RuntimeError as error:
        # The only RuntimeError of gRPC at start: the port could not be bound.
        if "bind" not in str(error):
            raise
        raise StartupError(_not_bound(settings, seat, error)) from error


def _not_bound(settings: Settings, seat: Seat, error: RuntimeError) -> str:
    """Return why an address could not be bound: gRPC does not say it, so it is tried again."""
    try:
        for address in parse_addresses(settings.address):
            if address.target not in seat.shared:
                check_free(address)
    except (AddressError, OSError) as found:
        return str(found)
    return f"Cannot listen on {settings.address}: {error}"
