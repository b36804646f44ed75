"""The embedded engine: SQLite files and arrays in this process.

Collections are opened on first use, on a thread of their own, so that nobody's call waits
for another collection's file.
"""

from __future__ import annotations

import base64
import binascii
import functools
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from hashlib import blake2b
from pathlib import Path
from typing import TypeVar

from totonoe_core import limits, plain, validate
from totonoe_core.clock import Clock, system_clock
from totonoe_core.commands import Applied, CollectionInfo, Command, Forget, Forgotten, Remember
from totonoe_core.embedding import EmbeddingService, client_vectors
from totonoe_core.engine import comparing, reading, settings
from totonoe_core.engine.collection import Collection
from totonoe_core.engine.futures import ready, settle, then
from totonoe_core.engine.state import CollectionState
from totonoe_core.errors import (
    AlreadyExists,
    InvalidArgument,
    NotFound,
    Precondition,
    Quota,
    Unavailable,
)
from totonoe_core.guard.policy import (
    PRESETS,
    DecayPolicy,
    DiversityPolicy,
    GuardPolicy,
    Preset,
)
from totonoe_core.ids import new_operation_id
from totonoe_core.queries import (
    Checked,
    CollectionPage,
    CollectionStats,
    Comparison,
    EngineStats,
    Filter,
    Gotten,
    Page,
    Recalled,
    RecallQuery,
)
from totonoe_core.store.catalog import Catalog

T = TypeVar("T")

DEFAULT = "default"
EMBEDDER_WAIT_S = 120.0
CLOSE_WAIT_S = 30.0
SEARCH_THREADS = 2
OPEN_THREADS = 2


class EmbeddedEngine:
    """`Engine` on one data directory, which the caller has locked.

    Parameters
    ----------
    data_dir : Path
        Made if it is missing, mode 0700.
    embedding : EmbeddingService or None
        Started by the caller, closed by `close`. `None`: the clients bring vectors.
    client_vector_dimension : int
        Without an embedder: length of the default collection's vectors; 0: fixed by the
        first one.
    """

    def __init__(
        self,
        data_dir: Path,
        *,
        embedding: EmbeddingService | None,
        client_vector_dimension: int = 0,
        clock: Clock = system_clock,
    ) -> None:
        data_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._embedding = embedding
        self._client_vector_dimension = client_vector_dimension
        self._clock = clock
        self._searchers = ThreadPoolExecutor(SEARCH_THREADS, "search")
        self._openers = ThreadPoolExecutor(OPEN_THREADS, "open")
        self._indexer = ThreadPoolExecutor(1, "index")
        self._catalog = Catalog(data_dir)
        self._catalog_lock = threading.Lock()
        self._names = self._catalog.names()
        self._open: dict[str, Future[Collection]] = {}
        self._open_lock = threading.Lock()
        self._closed = False

    # -- Calls on one collection

    def apply(
        self, collection: str, operation_id: str, commands: Sequence[Command]
    ) -> Future[Applied]:
        """See `Engine.apply`."""
        return self.apply_all(collection, [(operation_id, commands)])[0]

    def apply_all(
        self, collection: str, requests: Sequence[tuple[str, Sequence[Command]]]
    ) -> list[Future[Applied]]:
        """See `Engine.apply_all`."""
        for _, commands in requests:
            if not 1 <= len(commands) <= limits.COMMANDS_PER_OPERATION_MAX:
                raise InvalidArgument(
                    "LIMIT_EXCEEDED",
                    field="commands",
                    got=len(commands),
                    allowed=f"1 to {limits.COMMANDS_PER_OPERATION_MAX}",
                )
        opened = self._opened(collection)
        if opened.done() and opened.exception() is None:
            return opened.result().apply(requests)
        futures: list[Future[Applied]] = [Future() for _ in requests]

        def go_on(done: Future[Collection]) -> None:
            try:
                inner = done.result().apply(requests)
            except BaseException as error:
                for future in futures:
                    future.set_exception(error)
                return
            for future, one in zip(futures, inner, strict=True):
                _pass_on(one, future)

        opened.add_done_callback(go_on)
        return futures

    def check(self, collection: str, command: Remember) -> Future[Checked]:
        """See `Engine.check`."""
        return self._with(collection, lambda found: found.check(command))

    def preview_forget(self, collection: str, command: Forget) -> Future[tuple[int, Forgotten]]:
        """See `Engine.preview_forget`."""
        return self._with(collection, lambda found: found.preview_forget(command))

    def search(self, collection: str, query: RecallQuery) -> Future[Recalled]:
        """See `Engine.search`."""
        return self._with(collection, lambda found: found.search(query))

    def get(self, collection: str, agent_id: str, ids: Sequence[str]) -> Future[Gotten]:
        """See `Engine.get`."""
        return self._with(collection, lambda found: found.get(agent_id, ids))

    def scan(
        self, collection: str, agent_id: str, where: Filter, page_size: int, page_token: str
    ) -> Future[Page]:
        """See `Engine.scan`."""
        return self._with(
            collection, lambda found: found.scan(agent_id, where, page_size, page_token)
        )

    def get_collection(self, name: str) -> Future[CollectionInfo]:
        """See `Engine.get_collection`."""
        return self._with(name, lambda found: ready(found.info))

    def _with(self, name: str, step: Callable[[Collection], Future[T]]) -> Future[T]:
        return then(self._opened(name), step)

    def _opened(self, name: str) -> Future[Collection]:
        """The collection of a name, opened on first use."""
        validate.collection_name(name)
        if self._closed:
            raise _shutting_down()
        with self._open_lock:
            found = self._open.pop(name, None)
            if found is not None:
                # Last in the order: the first one is closed when there are too many.
                self._open[name] = found
                return found
            if name not in self._names and name != DEFAULT:
                raise NotFound("COLLECTION_NOT_FOUND", kind="collection", name=name)
            if len(self._open) >= limits.COLLECTIONS_OPEN_MAX:
                self._close_longest_unused()
            opened = self._open[name] = self._openers.submit(self._open_collection, name)
        opened.add_done_callback(functools.partial(self._forget_failed, name))
        return opened

    def _close_longest_unused(self) -> None:
        """Makes room for one more. Whoever still holds it is told to try again."""
        for name, opened in self._open.items():
            if opened.done() and opened.exception() is None:
                del self._open[name]
                self._openers.submit(opened.result().close, CLOSE_WAIT_S)
                return
        raise Unavailable(
            "OVERLOADED",
            f"{limits.COLLECTIONS_OPEN_MAX} collections are being opened, the most at once",
            retry_delay_ms=limits.RETRY_DELAY_MS,
        )

    def _forget_failed(self, name: str, opened: Future[Collection]) -> None:
        # The next call tries again.
        if opened.cancelled() or opened.exception() is not None:
            with self._open_lock:
                if self._open.get(name) is opened:
                    del self._open[name]

    def _open_collection(self, name: str) -> Collection:
        if name == DEFAULT:
            self._make_default()
        with self._catalog_lock:
            uid = self._names.get(name)
        if uid is None:
            raise NotFound("COLLECTION_NOT_FOUND", kind="collection", name=name)
        return Collection(
            self._catalog.path(uid),
            embedding=self._embedding,
            clock=self._clock,
            searchers=self._searchers,
            indexer=self._indexer,
        )

    # -- Collections

    def _make_default(self) -> None:
        """The default collection exists from the start: it is made when first looked at."""
        with self._catalog_lock:
            missing = DEFAULT not in self._names
        if missing:
            info = self._new_info(
                DEFAULT,
                "",
                PRESETS[Preset.STANDARD],
                DiversityPolicy(),
                DecayPolicy(),
                self._client_vector_dimension if self._embedding is None else 0,
            )
            self._create(info, "default-collection", "", b"")

    def create_collection(
        self,
        name: str,
        operation_id: str,
        *,
        agent_id: str,
        description: str,
        guard: GuardPolicy,
        diversity: DiversityPolicy,
        decay: DecayPolicy,
        client_vector_dimension: int,
    ) -> Future[tuple[CollectionInfo, str, bool]]:
        """See `Engine.create_collection`."""
        validate.collection_name(name)
        validate.operation_id(operation_id)
        validate.number(
            client_vector_dimension,
            "client_vector_dimension",
            0,
            limits.VECTOR_DIMENSION_MAX,
        )
        asked = (name, description, guard, diversity, decay, client_vector_dimension)
        digest = _digest("create", asked)

        def work() -> tuple[CollectionInfo, str, bool]:
            info = self._new_info(
                name, description, guard, diversity, decay, client_vector_dimension
            )
            settings.check(info)
            return self._create(info, operation_id, agent_id, digest)

        return self._on_opener(work)

    def _new_info(
        self,
        name: str,
        description: str,
        guard: GuardPolicy,
        diversity: DiversityPolicy,
        decay: DecayPolicy,
        client_vector_dimension: int,
    ) -> CollectionInfo:
        model = client_vectors(client_vector_dimension)
        if self._embedding is not None and client_vector_dimension == 0:
            # A collection is stamped with the model when it is made, so it must be known.
            model = self._embedding.wait_ready(EMBEDDER_WAIT_S)
        return CollectionInfo(
            name=name,
            description=description,
            guard=guard,
            diversity=diversity,
            decay=decay,
            model=model,
            created_us=self._clock(),
            revision=0,
            settings_revision=0,
        )

    def _create(
        self, info: CollectionInfo, operation_id: str, agent_id: str, digest: bytes
    ) -> tuple[CollectionInfo, str, bool]:
        with self._catalog_lock:
            kept = self._replayed(agent_id, operation_id, digest)
            if kept is not None:
                return plain.loads(CollectionInfo, kept), operation_id, True
            if info.name in self._names:
                if info.name == DEFAULT and operation_id == "default-collection":
                    return info, operation_id, True
                raise AlreadyExists("COLLECTION_EXISTS", kind="collection", name=info.name)
            if len(self._names) >= limits.COLLECTIONS_MAX:
                raise Quota(
                    "QUOTA_EXCEEDED", f"there are {limits.COLLECTIONS_MAX} collections, the most"
                )
            uid = self._catalog.new_uid()
            # The file first: a name without its file must never be listed.
            CollectionState.create(self._catalog.path(uid), info)
            operation_id = operation_id or new_operation_id()
            self._catalog.put(
                uid=uid,
                name=info.name,
                deleted_us=None,
                operation_id=operation_id,
                agent_id=agent_id,
                kind="CreateCollection",
                digest=digest,
                answer=plain.dumps(info),
                time_us=self._clock(),
            )
            self._names[info.name] = uid
        return info, operation_id, False

    def _replayed(self, agent_id: str, operation_id: str, digest: bytes) -> str | None:
        kept = self._catalog.reply(agent_id, operation_id) if operation_id else None
        if kept is None:
            return None
        if kept.digest != digest:
            raise AlreadyExists(
                "OPERATION_ID_REUSED",
                kind="operation id",
                name=operation_id,
                hint="it was used with another payload",
            )
        return kept.answer

    def list_collections(self, page_size: int, page_token: str) -> Future[CollectionPage]:
        """See `Engine.list_collections`."""
        reading.check_page(page_size)
        after = _name_position(page_token)

        def work() -> CollectionPage:
            self._make_default()
            with self._catalog_lock:
                names = sorted(name for name in self._names if name > after)
                revision = self._catalog.revision()
            page = names[:page_size]
            infos = tuple(self._info(name) for name in page)
            token = _name_token(page[-1]) if len(names) > page_size else ""
            return CollectionPage(revision, infos, token)

        return self._searchers.submit(work)

    def _info(self, name: str) -> CollectionInfo:
        """Settings of a collection, read from its file if it is not open."""
        with self._open_lock:
            opened = self._open.get(name)
        if opened is not None and opened.done() and opened.exception() is None:
            return opened.result().info
        with self._catalog_lock:
            uid = self._names.get(name)
        if uid is None:
            raise NotFound("COLLECTION_NOT_FOUND", kind="collection", name=name)
        return CollectionState.read_info(self._catalog.path(uid))

    def delete_collection(
        self, name: str, operation_id: str, *, agent_id: str
    ) -> Future[tuple[int, int, str, bool]]:
        """See `Engine.delete_collection`."""
        validate.collection_name(name)
        validate.operation_id(operation_id)
        if name == DEFAULT:
            raise Precondition("DEFAULT_COLLECTION", "the default collection cannot be deleted")
        digest = _digest("delete", (name,))

        def work() -> tuple[int, int, str, bool]:
            with self._catalog_lock:
                kept = self._replayed(agent_id, operation_id, digest)
                if kept is not None:
                    return int(kept), self._catalog.revision(), operation_id, True
            found = self._opened(name).result()
            live_count = found.stats().result().active_count
            with self._catalog_lock:
                uid = self._names.get(name)
                if uid is None:
                    raise NotFound("COLLECTION_NOT_FOUND", kind="collection", name=name)
                chosen = operation_id or new_operation_id()
                revision = self._catalog.put(
                    uid=uid,
                    name=name,
                    deleted_us=self._clock(),
                    operation_id=chosen,
                    agent_id=agent_id,
                    kind="DeleteCollection",
                    digest=digest,
                    answer=str(live_count),
                    time_us=self._clock(),
                )
                del self._names[name]
            with self._open_lock:
                self._open.pop(name, None)
            found.close(CLOSE_WAIT_S)
            return live_count, revision, chosen, False

        return self._searchers.submit(work)

    # -- Without a collection

    def compare(self, text_a: str, text_b: str) -> Future[Comparison]:
        """See `Engine.compare`."""
        validate.text(text_a, "text_a")
        validate.text(text_b, "text_b")
        if self._embedding is None:
            return ready(comparing.compare(text_a, text_b, None, None))
        service = self._embedding
        return then(
            service.submit([text_a, text_b]),
            lambda vectors: ready(comparing.compare(text_a, text_b, vectors, service.identity)),
        )

    def stats(self, collection: str) -> Future[EngineStats]:
        """See `Engine.stats`."""
        names = [collection] if collection else []

        def work() -> EngineStats:
            if names:
                opened = [self._opened(names[0])]
            else:
                opened = [self._opened(DEFAULT)]
                with self._open_lock:
                    opened = list(dict.fromkeys([*self._open.values(), *opened]))
            figures: list[CollectionStats] = [one.result().stats().result() for one in opened]
            with self._catalog_lock:
                count, revision = len(self._names), self._catalog.revision()
            service = self._embedding
            return EngineStats(
                collections=tuple(sorted(figures, key=lambda one: one.name)),
                collection_count=count,
                revision=revision,
                model=None if service is None else service.identity,
                embedder_state="none" if service is None else service.state,
                embedder_cpu_s=0.0 if service is None else service.stats().cpu_s,
            )

        return self._searchers.submit(work)

    def _on_opener(self, work: Callable[[], T]) -> Future[T]:
        if self._closed:
            raise _shutting_down()
        return self._openers.submit(work)

    def close(self, timeout_s: float) -> None:
        """See `Engine.close`."""
        with self._open_lock:
            if self._closed:
                return
            self._closed = True
            opened = list(self._open.values())
        deadline_s = time.monotonic() + timeout_s
        self._openers.shutdown(wait=False, cancel_futures=True)
        collections = [one.result() for one in opened if one.done() and one.exception() is None]
        if self._embedding is not None:
            self._embedding.close()
        for one in collections:
            one.stop()
        self._searchers.shutdown(wait=True, cancel_futures=True)
        for one in collections:
            one.close(max(0.1, deadline_s - time.monotonic()))
        self._indexer.shutdown(wait=True, cancel_futures=True)
        self._openers.shutdown(wait=True)
        with self._catalog_lock:
            self._catalog.close()


def _pass_on(inner: Future[T], outer: Future[T]) -> None:
    """Lets the outer future end as the inner one; cancelling it cancels the inner one."""
    inner.add_done_callback(
        lambda done: outer.cancel() if done.cancelled() else settle(outer, done.result)
    )
    outer.add_done_callback(lambda done: inner.cancel() if done.cancelled() else None)


def _digest(kind: str, asked: tuple[object, ...]) -> bytes:
    return blake2b((kind + plain.dumps(asked)).encode(), digest_size=16).digest()


def _name_token(name: str) -> str:
    return base64.urlsafe_b64encode(b"c:" + name.encode()).decode()


def _name_position(token: str) -> str:
    if not token:
        return ""
    try:
        data = base64.urlsafe_b64decode(token.encode())
        if not data.startswith(b"c:"):
            raise ValueError("of another call")
        return data[2:].decode()
    except (ValueError, binascii.Error) as error:
        raise InvalidArgument(
            "BAD_PAGE_TOKEN",
            field="page_token",
            got="a token of another call",
            allowed="the next_page_token of the answer before",
        ) from error


def _shutting_down() -> Unavailable:
    return Unavailable(
        "SHUTTING_DOWN", "the daemon is stopping", retry_delay_ms=limits.RETRY_DELAY_MS
    )
