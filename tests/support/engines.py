"""Engines for tests: a clock that is told the time, vectors by rule, an embedder in process."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import replace
from hashlib import blake2b
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import apsw
import numpy as np
import pytest

from support.kept import FILES, chosen
from support.waits import wait_s, wait_until
from totonoe_core.base import plain
from totonoe_core.base.errors import TotonoeError, Unavailable
from totonoe_core.domain.collections import ChangeSettings, CollectionInfo
from totonoe_core.domain.commands import Applied, Command
from totonoe_core.domain.consolidate import Consolidated, ConsolidateQuery
from totonoe_core.domain.dismissals import Dismiss, Undismiss
from totonoe_core.domain.filter import Filter
from totonoe_core.domain.graph import CreateEpisode, LinkMemories, UnlinkMemories
from totonoe_core.domain.memories import Forget, Merge, Remember, Remembered, Update
from totonoe_core.domain.queries import GetQuery, ListQuery, Query
from totonoe_core.domain.records import Fields, LinkType, Memory, Status
from totonoe_core.domain.undo import Undo
from totonoe_core.embedding import chunks
from totonoe_core.embedding.hashing import HashingEmbedder
from totonoe_core.embedding.vectors import mean_of_chunks
from totonoe_core.engine.embedded import EmbeddedEngine
from totonoe_core.store import rows, seam
from totonoe_core.store.sqlite.store import SqliteStore

DIMENSION = 8
NOON = 1_790_000_000_000_000
HOUR_US = 3_600_000_000
DAY_US = 24 * HOUR_US
EVERY_STATUS = Filter(statuses=tuple(Status))


class FakeClock:
    """A clock that stands still until it is told to go on."""

    def __init__(self, now_us: int = NOON) -> None:
        self.now_us = now_us

    def __call__(self) -> int:
        return self.now_us

    def advance(self, by_us: int) -> None:
        self.now_us += by_us


def unit(values: Any) -> np.ndarray:
    """float32[dim] of unit norm, as the engine stores a given vector."""
    array = np.asarray(values, dtype="<f4").astype(np.float64)
    return (array / np.sqrt(np.square(array).sum())).astype(np.float32)


def vector_of(text: str, dimension: int = DIMENSION) -> np.ndarray:
    """A unit vector that belongs to a text; different texts have unrelated ones."""
    seed = int.from_bytes(blake2b(text.encode(), digest_size=8).digest(), "little")
    return unit(np.random.default_rng(seed).normal(size=dimension))


def vector_at(base: np.ndarray, cosine: float, seed: int = 0) -> np.ndarray:
    """A unit vector at a cosine (up to float32 rounding) from another one."""
    other = np.random.default_rng(seed).normal(size=len(base))
    other -= (other @ base.astype(np.float64)) * base
    other /= np.linalg.norm(other)
    return unit(cosine * base.astype(np.float64) + np.sqrt(1.0 - cosine**2) * other)


def remember(
    content: str,
    *,
    agent: str = "anna",
    vector: np.ndarray | None = None,
    force: bool = False,
    text_only: bool = False,
    **fields: Any,
) -> Remember:
    """A Remember with the text's own vector, another one, or none."""
    if vector is None and not text_only:
        vector = vector_of(content)
    given = b"" if vector is None else np.asarray(vector, "<f4").tobytes()
    return Remember(agent, content, Fields(**fields), given, force)


def update(memory_id: str, *, agent: str = "anna", **named: Any) -> Update:
    """An Update of the named fields; a new text brings its own vector, or an empty one: none."""
    options = {
        name: named.pop(name) for name in ("expected_revision", "reason", "force") if name in named
    }
    content, vector = named.pop("content", ""), named.pop("vector", None)
    has_vector = vector is not None and len(vector)
    mask = [*named, *(["content"] if content else []), *(["vector"] if has_vector else [])]
    if content and vector is None:
        vector = vector_of(content)
    given = b"" if vector is None else np.asarray(vector, "<f4").tobytes()
    return Update(agent, memory_id, tuple(mask), Fields(**named), content, given, **options)


def forget(*ids: str, agent: str = "anna", reason: str = "") -> Forget:
    return Forget(agent, ids, reason)


def link(
    source: str, target: str, type_: LinkType = LinkType.RELATED, agent: str = "anna", **more: Any
) -> LinkMemories:
    """A link of confidence 0.5."""
    return LinkMemories(agent, source, target, type_, more.pop("confidence", 0.5), **more)


def unlink(
    source: str, target: str, type_: LinkType | None = None, agent: str = "anna"
) -> UnlinkMemories:
    """The end of a link, or of all between two."""
    return UnlinkMemories(agent, source, target, type_)


def change(*changes: tuple[str, Any], agent: str = "anna", **more: Any) -> ChangeSettings:
    return ChangeSettings(agent, changes, **more)


def episode(summary: str, *memory_ids: str, agent: str = "anna", **more: Any) -> CreateEpisode:
    """An episode to be made."""
    return CreateEpisode(agent, summary, memory_ids, **more)


def dismiss(one: str, other: str, *, agent: str = "anna", reason: str = "") -> Dismiss:
    """A pair that is no duplicate."""
    return Dismiss(agent, one, other, reason)


def undismiss(one: str, other: str, *, agent: str = "anna") -> Undismiss:
    """A pair that may be one again."""
    return Undismiss(agent, one, other)


def undo(target: int | str, *, agent: str = "anna", **more: Any) -> Undo:
    """An Undo of a revision or of an operation id."""
    if isinstance(target, int):
        return Undo(agent, revision=target, **more)
    return Undo(agent, operation_id=target, **more)


def kept_at(path: Path) -> seam.Store:
    """The store at a directory; with TOTONOE_TEST_STORE=postgresql a database in its place."""
    if chosen() == FILES:
        return SqliteStore(path)
    from support.postgres import store_at

    return store_at(path)


class Store:
    """One collection of an engine, with answers in place of futures."""

    def __init__(
        self,
        path: Path,
        *,
        collection: str = "default",
        clock: FakeClock | None = None,
        keep: Callable[[Path], seam.Store] | None = None,
        **more: Any,
    ) -> None:
        self.path, self.collection, self.more, self._keep = path, collection, more, keep
        self.clock = clock or FakeClock()
        if more.get("embedding") is None:
            more.setdefault("client_vector_dimension", DIMENSION)
        self.engine = self._opened()

    def _opened(self) -> EmbeddedEngine:
        more = {"embedding": None} | self.more
        self.kept = (self._keep or kept_at)(self.path)
        return EmbeddedEngine(self.kept, clock=self.clock, **more)

    def reopen(self) -> None:
        """Closes the engine and opens its directory again."""
        self.engine.close(wait_s())
        self.engine = self._opened()

    def alter(self, sql: str, bindings: tuple[Any, ...] = ()) -> None:
        """Changes the file behind the engine's back, when its writer lets the file go."""
        connection = apsw.Connection(str(self.file()))
        try:
            connection.set_busy_timeout(int(wait_s() * 1e3))
            connection.execute(sql, bindings)
        finally:
            connection.close()

    def apply(self, *commands: Command, operation_id: str = "") -> Applied:
        """One operation."""
        return self.engine.apply(self.collection, operation_id, commands).result(wait_s())

    def do(self, command: Command, operation_id: str = "") -> Any:
        """The result of one command."""
        return self.apply(command, operation_id=operation_id).results[0]

    def refused(self, command: Command, kind: type[TotonoeError] = TotonoeError) -> Any:
        """The error with which a command is refused, which changes nothing."""
        before = self.revision
        with pytest.raises(kind) as caught:
            self.do(command)
        assert self.revision == before
        return caught.value

    def save(self, content: str, **more: Any) -> str:
        """Id of a new memory."""
        answer: Remembered = self.do(remember(content, **more))
        assert answer.saved, answer
        return answer.memory_id

    def get(self, *ids: str, agent: str = "anna") -> Any:
        """Memories by id."""
        return self.read(GetQuery(agent, tuple(ids)))

    def one(self, memory_id: str, agent: str = "anna") -> Memory:
        return self.get(memory_id, agent=agent).memories[0]

    def read(self, query: Query[Any]) -> Any:
        return self.engine.read(self.collection, query).result(wait_s())

    def pages(self, query: Any) -> Iterator[Any]:
        """All pages from that of a query on."""
        for _ in range(1000):
            page = self.read(query)
            yield page
            if not page.next_page_token:
                return
            query = replace(query, page_token=page.next_page_token)
        raise AssertionError("pages that do not end")

    def recall(self, query: Any) -> Any:
        return self.read(query)

    def check(self, command: Remember) -> Any:
        """Answer of a Check."""
        return self.preview(command).answer

    def preview(self, command: Command) -> Any:
        """What a command would do."""
        return self.engine.preview(self.collection, command).result(wait_s())

    def list(
        self, agent: str = "anna", where: Filter = EVERY_STATUS, page_size: int = 1000
    ) -> list[Memory]:
        """All memories that an agent may see, page by page."""
        pages = self.pages(ListQuery(agent, where, page_size))
        return [memory for page in pages for memory in page.memories]

    def consolidate(self, agent: str = "anna", **asked: Any) -> Consolidated:
        """Last message of a Consolidate over all times."""
        query = ConsolidateQuery(agent, window_hours=0.0, **asked)
        run = self.engine.consolidate(self.collection, "", query).result(wait_s())
        while messages := run.read().result(wait_s()):
            last = messages[-1].told
        assert isinstance(last, Consolidated)
        return last

    def likely(self, memory_id: str) -> dict[str, float]:
        """Memories at the other end of likely_same links, with the probability."""
        links = self.one(memory_id).links
        return {
            link.target_id: link.confidence for link in links if link.type is LinkType.LIKELY_SAME
        }

    def stats(self, agent: str = "anna") -> Any:
        """Figures of the collection."""
        return self.engine.stats(self.collection, agent).result(wait_s()).collections[0]

    @property
    def revision(self) -> int:
        """The collection's revision."""
        return self.info().revision

    def info(self) -> CollectionInfo:
        """The collection and its settings."""
        return self.engine.get_collection(self.collection).result(wait_s())

    def create_snapshot(self, operation_id: str = "", name: str = "") -> Any:
        """Answer of a CreateSnapshot."""
        return self.engine.create_snapshot(
            self.collection, operation_id, agent_id="anna", name=name, comment=""
        ).result(wait_s())

    def restore_collection(self, name: str, deleted_by: str, operation_id: str = "") -> Any:
        """Answer of a RestoreCollection of what an operation deleted."""
        return self.engine.restore_collection(
            name, operation_id, target_operation_id=deleted_by, agent_id="anna"
        ).result(wait_s())

    def set(self, *changes: tuple[str, Any]) -> None:
        """Changes settings."""
        self.apply(change(*changes))

    def file(self) -> Path:
        """The file of the first collection that was made; skips the test if there are no files."""
        if self.kept.copies is None:
            pytest.skip("the test opens a collection's file, which this store has not")
        return next(iter((self.path / "collections").glob("*/memory.db")))

    def close(self) -> None:
        """Closes the engine."""
        self.engine.close(wait_s())


@contextmanager
def opened(path: Path, **more: Any) -> Iterator[Store]:
    """A store that is closed in the end."""
    store = Store(path, **more)
    try:
        yield store
    finally:
        store.close()


class InProcessEmbedding:
    """What the engine uses of `EmbeddingService`, on an embedder in this process.

    Like the service it cuts long texts into chunks, answers by future and refuses after
    `close`. Like the service with a text in its cache it answers at once.
    """

    def __init__(self, embedder: Any = None) -> None:
        self.embedder = embedder or HashingEmbedder(64)
        self.identity = self.embedder.identity
        self.state = "ready"
        self.texts: list[str] = []

    def wait_ready(self, timeout_s: float) -> Any:  # noqa: ARG002 - it is ready
        return self.identity

    def stats(self) -> Any:
        return SimpleNamespace(cpu_s=0.0)

    def forget_cached(self) -> None:
        """It keeps none."""

    def vectors(self, texts: Sequence[str]) -> np.ndarray:
        """float32[n, dim] of unit norm."""
        rows = []
        for text in texts:
            parts = chunks(text)
            rows.append(mean_of_chunks(self.embedder.embed(parts), parts))
        return np.array(rows, np.float32)

    def submit(self, texts: Sequence[str]) -> Future[np.ndarray]:
        if self.state != "ready":
            raise Unavailable("SHUTTING_DOWN", "the embedder is shutting down", retry_delay_ms=1)
        self.texts += texts
        future: Future[np.ndarray] = Future()
        future.set_result(self.vectors(texts))
        return future

    def close(self) -> None:
        self.state = "stopped"


class HeldEmbedding(InProcessEmbedding):
    """An embedder that answers when the test lets it."""

    def __init__(self, embedder: Any = None) -> None:
        super().__init__(embedder)
        self.held: list[tuple[list[str], Future[np.ndarray]]] = []

    def submit(self, texts: Sequence[str]) -> Future[np.ndarray]:
        self.texts += texts
        future: Future[np.ndarray] = Future()
        self.held.append((list(texts), future))
        return future

    def wait_held(self, count: int = 1) -> None:
        """Wait until so many requests are held: other threads hand them in."""
        wait_until(lambda: len(self.held) >= count, lambda: self.held)

    def release(self, error: BaseException | None = None, text: str = "") -> None:
        """Answers, or fails, what was asked so far; with a `text` only what asks for that one."""
        asked, self.held = self.held, []
        held = [array for array in asked if not text or text in array[0]]
        self.held += [array for array in asked if array not in held]
        for texts, future in held:
            if error is None:
                future.set_result(self.vectors(texts))
            else:
                future.set_exception(error)


def numbered(prefix: str) -> Iterator[str]:
    """prefix 1, prefix 2, ..."""
    return (f"{prefix} {number}" for number in itertools.count(1))


def merge(keep: str, *removed: str, agent: str = "anna", **more: Any) -> Merge:
    """A Merge; a new text brings its own vector unless it is `text_only`."""
    content, vector = more.get("content", ""), more.pop("vector", None)
    if more.pop("text_only", False):
        vector = b""
    elif vector is None:
        vector = np.asarray(vector_of(content), "<f4").tobytes() if content else b""
    else:
        vector = np.asarray(vector, "<f4").tobytes()
    return Merge(agent, keep, removed, vector=vector, **more)


def _of_uid(session: Any) -> Callable[[str], Any]:
    return lambda query: session.execute(f"{query} WHERE uid = $1")


def contents(store: Store) -> dict[str, Any]:
    """All that a collection holds, as it is kept, but for when it was last changed."""
    catalog = store.engine._collections.names
    uid = catalog.by_name.get(store.collection) or next(iter(catalog.by_name.values()))
    pool = store.kept.readers(catalog.catalog.place(uid, ""), 1)
    with pool.rows() as found:
        # SQL that both stores understand, through the connection of either.
        select = found._connection.execute if store.kept.copies else _of_uid(found._session)
        memories = [replace(memory, revision=0, updated_us=0) for memory in found.all_memories()]
        links = found.links([memory.row for memory in memories])
        sealed = select(f"SELECT {rows.EPISODE_COLUMNS} FROM episode")
        sealed_pairs = select(f"SELECT {rows.DISMISSAL_COLUMNS} FROM dismissal")
        dismissals = {replace(rows.dismissal(row), revision=0) for row in sealed_pairs}
        episodes = [replace(rows.episode(row), revision=0) for row in sealed]
        info = plain.loads(CollectionInfo, found.setting("collection") or "")
    pool.close()
    episodes.sort(key=lambda one: one.id)
    return {
        "memories": {memory.id: memory for memory in memories},
        "links": {(row, to, link.type): link for row in links for to, link in links[row]},
        "dismissals": dismissals,
        "episodes": episodes,
        "settings": replace(info, revision=0, settings_revision=0),
    }
