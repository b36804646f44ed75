"""The embedded engine: SQLite files and arrays in this process."""

from __future__ import annotations

import functools
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from hashlib import blake2b
from pathlib import Path
from typing import TypeVar

from totonoe_core import limits, plain, validate
from totonoe_core.audit import AuditQuery, AuditReport
from totonoe_core.cleanup import (
    CleanedUp,
    CleanUpDuplicates,
    Decay,
    Decayed,
    EndSession,
    SessionEnded,
)
from totonoe_core.clock import Clock, system_clock
from totonoe_core.commands import (
    Applied,
    Calibrate,
    Calibrated,
    CollectionInfo,
    Command,
    Forget,
    Forgotten,
    Purge,
    Purged,
    Remember,
    Undo,
    Undone,
)
from totonoe_core.consolidate import ConsolidateQuery
from totonoe_core.embedding import EmbeddingService
from totonoe_core.engine import comparing, paging, reading
from totonoe_core.engine.collection import Collection
from totonoe_core.engine.collections import DEFAULT, Collections
from totonoe_core.engine.futures import fail, ready, settle, submit, then
from totonoe_core.engine.seam import Consolidation
from totonoe_core.errors import (
    InvalidArgument,
    Precondition,
)
from totonoe_core.guard.policy import (
    NO_RETENTION,
    STANDARD_BLAST,
    STANDARD_TIDY,
    BlastPolicy,
    DecayPolicy,
    DiversityPolicy,
    GuardPolicy,
    RetentionPolicy,
    TidyPolicy,
)
from totonoe_core.judging import JudgingService
from totonoe_core.queries import (
    AsOf,
    Changes,
    Checked,
    CollectionPage,
    CollectionStats,
    Comparison,
    EngineStats,
    EpisodePage,
    EpisodeRead,
    Filter,
    Gotten,
    HistoryPage,
    NearCluster,
    NearGroups,
    NearQuery,
    Neighborhood,
    NeighborsQuery,
    OperationFilter,
    OperationPage,
    Page,
    Recalled,
    RecallQuery,
    TurnRecorded,
)
from totonoe_core.records import TimeRange
from totonoe_core.tidy import Tidied, Tidy
from totonoe_core.why_not import WhyNot

T = TypeVar("T")

SEARCH_THREADS = 2


class EmbeddedEngine:
    """`Engine` on one data directory, which the caller has locked.

    Parameters
    ----------
    data_dir : Path
        Made if it is missing, mode 0700.
    embedding : EmbeddingService or None
        Started by the caller, closed by `close`. `None`: the clients bring vectors.
    judging : JudgingService or None
        Asked about borderline pairs; closed by `close`. `None`: verdicts stand as they are.
    client_vector_dimension : int
        Without an embedder: length of the default collection's vectors; 0: fixed by the
        first one.
    """

    def __init__(
        self,
        data_dir: Path,
        *,
        embedding: EmbeddingService | None,
        judging: JudgingService | None = None,
        client_vector_dimension: int = 0,
        clock: Clock = system_clock,
    ) -> None:
        self._embedding = embedding
        self._judging = judging
        self._searchers = ThreadPoolExecutor(SEARCH_THREADS, "search")
        self._collections = Collections(
            data_dir,
            embedding=embedding,
            judging=judging,
            client_vector_dimension=client_vector_dimension,
            clock=clock,
            searchers=self._searchers,
        )

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
        opened = self._collections.opened(collection)
        if opened.done() and opened.exception() is None:
            return opened.result().apply(requests)
        futures: list[Future[Applied]] = [Future() for _ in requests]

        def go_on(done: Future[Collection]) -> None:
            # From here on they are under way, and can no longer be cancelled.
            going = [
                (future, request)
                for future, request in zip(futures, requests, strict=True)
                if future.set_running_or_notify_cancel()
            ]
            try:
                inner = done.result().apply([request for _, request in going])
            except BaseException as error:
                for future, _ in going:
                    fail(future, error)
                return
            for (future, _), one in zip(going, inner, strict=True):
                one.add_done_callback(functools.partial(_pass_on, future))

        opened.add_done_callback(go_on)
        return futures

    def check(self, collection: str, command: Remember) -> Future[Checked]:
        """See `Engine.check`."""
        return self._with(collection, lambda found: found.check(command))

    def preview_forget(self, collection: str, command: Forget) -> Future[tuple[int, Forgotten]]:
        """See `Engine.preview_forget`."""
        return self._with(collection, lambda found: found.preview_forget(command))

    def preview_forget_filter(
        self, collection: str, agent_id: str, where: Filter
    ) -> Future[tuple[int, Forgotten, int]]:
        """See `Engine.preview_forget_filter`."""
        return self._with(collection, lambda found: found.reads.forget_filter(agent_id, where))

    def preview_undo(self, collection: str, command: Undo) -> Future[tuple[int, Undone]]:
        """See `Engine.preview_undo`."""
        return self._with(collection, lambda found: found.preview_undo(command))

    def preview_purge(self, collection: str, command: Purge) -> Future[tuple[int, Purged]]:
        """See `Engine.preview_purge`."""
        return self._with(collection, lambda found: found.preview_purge(command))

    def preview_tidy(self, collection: str, command: Tidy) -> Future[tuple[int, Tidied]]:
        """See `Engine.preview_tidy`."""
        return self._with(collection, lambda found: found.preview_tidy(command))

    def tidy_groups(self, collection: str, query: NearQuery) -> Future[NearGroups]:
        """See `Engine.tidy_groups`."""
        return self._with(collection, lambda found: found.reads.tidy_groups(query))

    def tidy_clusters(
        self, collection: str, agent_id: str, group: Sequence[int]
    ) -> Future[list[NearCluster]]:
        """See `Engine.tidy_clusters`."""
        return self._with(collection, lambda found: found.reads.tidy_clusters(agent_id, group))

    def record_turn(self, collection: str, agent_id: str) -> Future[TurnRecorded]:
        """See `Engine.record_turn`."""
        return self._with(collection, lambda found: found.turns.record(agent_id))

    def preview_calibration(
        self, collection: str, command: Calibrate
    ) -> Future[tuple[int, Calibrated]]:
        """See `Engine.preview_calibration`."""
        return self._with(collection, lambda found: found.preview_calibration(command))

    def preview_end_session(
        self, collection: str, command: EndSession
    ) -> Future[tuple[int, SessionEnded]]:
        """See `Engine.preview_end_session`."""
        return self._with(collection, lambda found: found.reads.preview_end_session(command))

    def preview_clean_up(
        self, collection: str, command: CleanUpDuplicates
    ) -> Future[tuple[int, CleanedUp]]:
        """See `Engine.preview_clean_up`."""
        return self._with(collection, lambda found: found.reads.preview_clean_up(command))

    def preview_decay(self, collection: str, command: Decay) -> Future[tuple[int, Decayed]]:
        """See `Engine.preview_decay`."""
        return self._with(collection, lambda found: found.reads.preview_decay(command))

    def search(self, collection: str, query: RecallQuery) -> Future[Recalled]:
        """See `Engine.search`."""
        return self._with(collection, lambda found: found.search(query))

    def why_not(self, collection: str, memory_id: str, query: RecallQuery) -> Future[WhyNot]:
        """See `Engine.why_not`."""
        return self._with(collection, lambda found: found.why_not(memory_id, query))

    def get(
        self,
        collection: str,
        agent_id: str,
        ids: Sequence[str],
        *,
        as_of: AsOf | None = None,
        follow_superseded: bool = False,
    ) -> Future[Gotten]:
        """See `Engine.get`."""
        return self._with(
            collection, lambda found: found.reads.get(agent_id, ids, as_of, follow_superseded)
        )

    def scan(
        self,
        collection: str,
        agent_id: str,
        where: Filter,
        page_size: int,
        page_token: str,
        *,
        as_of: AsOf | None = None,
    ) -> Future[Page]:
        """See `Engine.scan`."""
        return self._with(
            collection,
            lambda found: found.reads.scan(agent_id, where, page_size, page_token, as_of),
        )

    def neighbors(self, collection: str, query: NeighborsQuery) -> Future[Neighborhood]:
        """See `Engine.neighbors`."""
        return self._with(collection, lambda found: found.reads.neighbors(query))

    def history(
        self, collection: str, agent_id: str, memory_id: str, page_size: int, page_token: str
    ) -> Future[HistoryPage]:
        """See `Engine.history`."""
        return self._with(
            collection,
            lambda found: found.reads.history(agent_id, memory_id, page_size, page_token),
        )

    def operations(
        self,
        collection: str,
        agent_id: str,
        where: OperationFilter,
        page_size: int,
        page_token: str,
    ) -> Future[OperationPage]:
        """See `Engine.operations`."""
        return self._with(
            collection, lambda found: found.reads.operations(agent_id, where, page_size, page_token)
        )

    def episode(
        self, collection: str, agent_id: str, episode_id: str, include_memories: bool
    ) -> Future[EpisodeRead]:
        """See `Engine.episode`."""
        return self._with(
            collection, lambda found: found.reads.episode(agent_id, episode_id, include_memories)
        )

    def episodes(
        self,
        collection: str,
        agent_id: str,
        time: TimeRange,
        memory_id: str,
        page_size: int,
        page_token: str,
    ) -> Future[EpisodePage]:
        """See `Engine.episodes`."""
        return self._with(
            collection,
            lambda found: found.reads.episodes(agent_id, time, memory_id, page_size, page_token),
        )

    def changes(
        self, collection: str, agent_id: str, after_revision: int, where: Filter | None
    ) -> Future[Changes]:
        """See `Engine.changes`."""
        return self._with(
            collection, lambda found: found.reads.changes(agent_id, after_revision, where)
        )

    def await_change(self, collection: str, after_revision: int) -> Future[int]:
        """See `Engine.await_change`."""
        return self._with(collection, lambda found: found.waiters.wait(after_revision))

    def audit(self, collection: str, query: AuditQuery) -> Future[AuditReport]:
        """See `Engine.audit`."""
        return self._with(collection, lambda found: found.reads.audit(query))

    def consolidate(
        self, collection: str, operation_id: str, query: ConsolidateQuery
    ) -> Future[Consolidation]:
        """See `Engine.consolidate`."""
        return self._with(collection, lambda found: found.consolidating.start(operation_id, query))

    def get_collection(self, name: str) -> Future[CollectionInfo]:
        """See `Engine.get_collection`."""
        return self._with(name, lambda found: ready(found.info))

    def _with(self, name: str, step: Callable[[Collection], Future[T]]) -> Future[T]:
        return then(self._collections.opened(name), step)

    # -- Collections

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
        retention: RetentionPolicy = NO_RETENTION,
        blast: BlastPolicy = STANDARD_BLAST,
        tidy: TidyPolicy = STANDARD_TIDY,
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
        asked = (
            name,
            description,
            guard,
            diversity,
            decay,
            client_vector_dimension,
            retention,
            blast,
            tidy,
        )
        digest = _digest("create", asked)
        return self._collections.create(
            name,
            operation_id,
            agent_id=agent_id,
            description=description,
            guard=guard,
            diversity=diversity,
            decay=decay,
            client_vector_dimension=client_vector_dimension,
            retention=retention,
            blast=blast,
            tidy=tidy,
            digest=digest,
        )

    def list_collections(self, page_size: int, page_token: str) -> Future[CollectionPage]:
        """See `Engine.list_collections`."""
        reading.check_page(page_size)
        given = paging.position(page_token, (str,), "collections")
        after = "" if given is None else str(given[0])

        def work() -> CollectionPage:
            revision, infos, more = self._collections.page(after, page_size)
            token = paging.token((infos[-1].name,), "collections") if more else ""
            return CollectionPage(revision, tuple(infos), token)

        return submit(self._searchers, work)

    def delete_collection(
        self, name: str, operation_id: str, *, agent_id: str
    ) -> Future[tuple[int, int, str, bool]]:
        """See `Engine.delete_collection`."""
        validate.collection_name(name)
        validate.operation_id(operation_id)
        if name == DEFAULT:
            raise Precondition("DEFAULT_COLLECTION", "the default collection cannot be deleted")
        digest = _digest("delete", (name,))

        return submit(
            self._searchers,
            lambda: self._collections.delete(name, operation_id, agent_id, digest),
        )

    def restore_collection(
        self, name: str, operation_id: str, *, target_operation_id: str, agent_id: str
    ) -> Future[tuple[CollectionInfo, str, bool]]:
        """See `Engine.restore_collection`."""
        validate.collection_name(name)
        validate.operation_id(operation_id)
        validate.text(target_operation_id, "target_operation_id", limits.OPERATION_ID_BYTES_MAX)
        digest = _digest("restore", (name, target_operation_id))
        asked = (name, operation_id, target_operation_id, agent_id, digest)
        return submit(self._searchers, lambda: self._collections.restore(*asked))

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

        def work() -> EngineStats:
            opened = [self._collections.opened(collection or DEFAULT)]
            if not collection:
                opened = list(dict.fromkeys([*self._collections.open_ones(), *opened]))
            figures: list[CollectionStats] = [one.result().stats().result() for one in opened]
            count, revision = self._collections.count()
            service = self._embedding
            return EngineStats(
                collections=tuple(sorted(figures, key=lambda one: one.name)),
                collection_count=count,
                revision=revision,
                model=None if service is None else service.identity,
                embedder_state="none" if service is None else service.state,
                embedder_cpu_s=0.0 if service is None else service.stats().cpu_s,
            )

        return submit(self._searchers, work)

    def close(self, timeout_s: float) -> None:
        """See `Engine.close`."""
        deadline_s = time.monotonic() + timeout_s
        if not self._collections.stop():
            return
        if self._embedding is not None:
            self._embedding.close()
        if self._judging is not None:
            # Before the collections: what waits for it is decided without it.
            self._judging.close()
        self._searchers.shutdown(wait=True, cancel_futures=True)
        self._collections.close(deadline_s)


def _pass_on(outer: Future[T], inner: Future[T]) -> None:
    settle(outer, inner.result)


def _digest(kind: str, asked: tuple[object, ...]) -> bytes:
    return blake2b((kind + plain.dumps(asked)).encode(), digest_size=16).digest()
