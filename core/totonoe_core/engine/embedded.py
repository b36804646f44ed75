"""The embedded engine: implements the seam on a store and arrays in this process."""

from __future__ import annotations

import time
from concurrent.futures import Future
from dataclasses import fields
from hashlib import blake2b
from typing import TypeVar

from totonoe_core.base import limits, plain
from totonoe_core.base.clock import Clock, system_clock
from totonoe_core.base.errors import Precondition
from totonoe_core.base.fair_pool import ReadPool
from totonoe_core.domain.collections import CollectionInfo, NewCollection, Sees, sees_all
from totonoe_core.domain.figures import EngineFigures
from totonoe_core.domain.queries import CollectionPage, CollectionStats, Comparison, EngineStats
from totonoe_core.domain.snapshots import NO_SCHEDULE, SnapshotSchedule
from totonoe_core.embedding import EmbeddingService
from totonoe_core.engine.catalog.collection_calls import CollectionCalls
from totonoe_core.engine.catalog.collections import DEFAULT, Collections
from totonoe_core.engine.catalog.openings import Monotonic
from totonoe_core.engine.catalog.snapshot_calls import SnapshotCalls
from totonoe_core.engine.catalog.snapshots import Snapshots
from totonoe_core.engine.guarding import compare as comparing
from totonoe_core.engine.jobs.verify import NO_VERIFYING, Pace, Verifying
from totonoe_core.engine.state import paging, reading
from totonoe_core.engine.state.futures import submit, then
from totonoe_core.judging import JudgingService
from totonoe_core.rules import validate
from totonoe_core.store.seam import Store, needed

T = TypeVar("T")

SEARCH_THREADS = 2


class EmbeddedEngine(CollectionCalls, SnapshotCalls):
    """`Engine` on one store, which this process may write.

    Parameters
    ----------
    store : Store
        Keeps the collections.
    embedding : EmbeddingService or None
        Started by the caller, closed by `close`. `None`: the clients bring vectors.
    judging : JudgingService or None
        Judges borderline pairs; closed by `close`. `None`: verdicts stand as they are.
    client_vector_dimension : int
        Without an embedder: length of the default collection's vectors; 0: fixed by the
        first one.
    collection_idle_s : float
        Seconds without a call after which a collection is closed; 0: never.
    collections_open_max : int
        Collections open at once; a call to another one closes the longest unused, or waits.
    memory_budget_bytes : int
        Limit for the arrays and graphs of open collections, above which the longest unused ones
        are closed; 0: none.
    purge_deleted_days : float
        Days after which a deleted collection is purged; 0: never.
    monotonic : callable
        Seconds that never go back, for idle times.
    verify : Pace
        Frequency and speed of verifying open collections.
    snapshot_schedule : SnapshotSchedule
        Schedule of automatic snapshots; by default none.
    """

    def __init__(
        self,
        store: Store,
        *,
        embedding: EmbeddingService | None,
        judging: JudgingService | None = None,
        client_vector_dimension: int = 0,
        clock: Clock = system_clock,
        collection_idle_s: float = 0.0,
        collections_open_max: int = limits.COLLECTIONS_OPEN_MAX,
        memory_budget_bytes: int = 0,
        purge_deleted_days: float = 0.0,
        monotonic: Monotonic = time.monotonic,
        verify: Pace = NO_VERIFYING,
        snapshot_schedule: SnapshotSchedule = NO_SCHEDULE,
    ) -> None:
        if snapshot_schedule.every_h:
            needed(store.copies or store.snapshots, "snapshots", store.name)
        self._embedding = embedding
        self._judging = judging
        self._searchers = ReadPool(SEARCH_THREADS, "search")
        self._collections = Collections(
            store,
            embedding=embedding,
            judging=judging,
            client_vector_dimension=client_vector_dimension,
            clock=clock,
            searchers=self._searchers,
            idle_s=collection_idle_s,
            open_max=collections_open_max,
            memory_budget_bytes=memory_budget_bytes,
            purge_deleted_days=purge_deleted_days,
            monotonic=monotonic,
        )
        self._verifying = Verifying(self._collections.verifiers, verify)
        self.snapshots = Snapshots(self._collections, clock, snapshot_schedule)

    # -- Collections

    def create_collection(
        self, new: NewCollection, operation_id: str, *, agent_id: str
    ) -> Future[tuple[CollectionInfo, str, bool]]:
        """See `Engine.create_collection`."""
        validate.collection_name(new.name)
        validate.operation_id(operation_id)
        validate.number(
            new.client_vector_dimension,
            "client_vector_dimension",
            0,
            limits.VECTOR_DIMENSION_MAX,
        )
        digest = _digest("create", tuple(getattr(new, field.name) for field in fields(new)))
        return self._collections.create(new, operation_id, agent_id, digest)

    def list_collections(
        self, page_size: int, page_token: str, sees: Sees = sees_all
    ) -> Future[CollectionPage]:
        """See `Engine.list_collections`."""
        reading.check_page(page_size)
        given = paging.position(page_token, (str,), "collections")
        after = "" if given is None else str(given[0])

        def work() -> CollectionPage:
            revision, infos, more = self._collections.page(after, page_size, sees)
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

        return self._collections.delete(name, operation_id, agent_id, digest)

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
            return comparing.compare(text_a, text_b, None, None, self._judging)
        service = self._embedding
        return then(
            service.submit([text_a, text_b]),
            lambda vectors: comparing.compare(
                text_a, text_b, vectors, service.identity, self._judging
            ),
        )

    def stats(
        self, collection: str, agent_id: str, sees: Sees | None = None
    ) -> Future[EngineStats]:
        """See `Engine.stats`."""
        seen = sees or sees_all

        def work() -> EngineStats:
            figures = self._figures(collection, agent_id, seen)
            count, revision = self._collections.count(seen)
            service = self._embedding
            return EngineStats(
                collections=tuple(sorted(figures, key=lambda figures: figures.name)),
                collection_count=count,
                revision=revision,
                model=None if service is None else service.identity,
                embedder_state="none" if service is None else service.state,
                embedder_cpu_s=0.0 if service is None else service.stats().cpu_s,
                judge_cpu_s=0.0 if self._judging is None else self._judging.stats().cpu_s,
                open=self._collections.open_figures() if sees is None else None,
                snapshots=self.snapshots.stats(sees),
                lost_catalogue_revisions=self._collections.names.lost_revisions,
            )

        return submit(self._searchers, work)

    def figures(self) -> EngineFigures:
        """See `Engine.figures`."""
        service, written = self._embedding, self._collections.written
        return EngineFigures(
            collections=self._collections.open_ones(),
            open=self._collections.open_figures(),
            decisions=written.decisions(),
            commit_s=written.commit_s.read(),
            commit_operations=written.commit_operations.read(),
            embedder=None if service is None else service.figures(),
        )

    def _figures(self, collection: str, agent_id: str, sees: Sees) -> list[CollectionStats]:
        """Return figures of one collection; without a name, of the default one and all open ones.

        Waits for them. This look does not count as use, so that idle collections still close.
        """
        if collection:
            call = self._collections.call(collection, lambda found: found.stats(agent_id))
            return [call.result()]
        waiting = []
        if sees(DEFAULT):
            waiting.append(self._collections.call(DEFAULT, lambda found: found.stats(agent_id)))
        opened = self._collections.use_open()
        try:
            waiting += [
                opening.future.result().stats(agent_id)
                for opening in opened
                if opening.name != DEFAULT and sees(opening.name)
            ]
            return [future.result() for future in waiting]
        finally:
            for opening in opened:
                self._collections.give_back(opening, used=False)

    def close(self, timeout_s: float) -> None:
        """See `Engine.close`."""
        deadline_s = time.monotonic() + timeout_s
        self.snapshots.stop()
        if not self._collections.stop():
            return
        self._verifying.close()
        self.snapshots.close()
        if self._embedding is not None:
            self._embedding.close()
        if self._judging is not None:
            # Before the collections: decisions that wait for it go on without it.
            self._judging.close()
        self._searchers.shutdown(wait=True, cancel_futures=True)
        self._collections.close(deadline_s)


def _digest(kind: str, asked: tuple[object, ...]) -> bytes:
    return blake2b((kind + plain.dumps(asked)).encode(), digest_size=16).digest()
