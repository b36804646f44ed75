"""The calls about tidying: turns, exact doubles, clusters for a plan, and plans."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator
from concurrent.futures import Future

from totonoe.v1 import tidy_pb2 as pb
from totonoe_core.domain.commands import Applied
from totonoe_core.domain.queries import ClustersQuery, GetQuery
from totonoe_core.domain.records import Memory
from totonoe_core.domain.tidy import Tidied, Tidy
from totonoe_server.logger import logger
from totonoe_server.services.building import Encoded, built, many_built, ready, run
from totonoe_server.services.calls import UNMEASURED_MEMORIES_MAX, Calls, Context
from totonoe_server.services.pending import answer_of
from totonoe_server.wire import tidy as codec
from totonoe_server.wire.scalars import collection_name


class TidyCalls(Calls):
    """RecordTurn, Tidy and ApplyTidyPlan over an engine."""

    async def RecordTurn(self, request: pb.RecordTurnRequest, _: Context) -> pb.RecordTurnResponse:
        """Counts a turn."""
        collection = collection_name(request.collection)
        future = self._engine.record_turn(collection, request.operation_id, request.agent_id)
        recorded = await answer_of(future)
        if recorded.run is not None:
            begun_s = time.monotonic()
            recorded.run.add_done_callback(lambda run: _log_run(run, collection, begun_s))
        return codec.recorded_to_wire(recorded)

    async def Tidy(
        self, request: pb.TidyRequest, _: Context
    ) -> AsyncIterator[Encoded | pb.TidyResponse]:
        """Closes or tells exact doubles, and tells clusters of near states."""
        begun_s = time.monotonic()
        collection = collection_name(request.collection)
        # Checked before anything is closed.
        query = codec.near_from_wire(request)
        groups = None
        if request.plan:
            yield _progress(pb.TIDY_PHASE_NEIGHBORS, begun_s)
            groups = await answer_of(self._engine.read(collection, query))
        yield _progress(pb.TIDY_PHASE_DOUBLES, begun_s)
        command = Tidy(request.agent_id, request.reason, limit=request.limit)
        applied: Applied | None = None
        tidied: Tidied
        if request.apply:
            applied = await self._apply(request, command)
            (result,), revision = applied.results, applied.revision
            assert isinstance(result, Tidied)
            tidied = result
        else:
            previewed = await answer_of(self._engine.preview(collection, command))
            revision, tidied = previewed.revision, previewed.answer
        async for doubles in self._doubles(request, tidied):
            yield doubles
        done = codec.done_to_wire(tidied, revision, applied)
        if groups is not None:
            count = 0
            for at, group in enumerate(groups.groups):
                yield _progress(pb.TIDY_PHASE_CLUSTERS, begun_s, at, len(groups.groups))
                future = self._engine.read(collection, ClustersQuery(request.agent_id, group))
                for cluster in await answer_of(many_built(future, codec.told_cluster_to_wire)):
                    count += 1
                    yield cluster
            codec.planned_to_wire(done, groups, count)
        done.seconds = time.monotonic() - begun_s
        if applied is not None:
            _log(collection, tidied, done.seconds)
        yield pb.TidyResponse(done=done)

    async def _doubles(self, request: pb.TidyRequest, tidied: Tidied) -> AsyncIterator[Encoded]:
        """The groups, with those that stay as they are now."""
        collection, clusters = collection_name(request.collection), tidied.clusters
        for start in range(0, len(clusters), UNMEASURED_MEMORIES_MAX):
            part = clusters[start : start + UNMEASURED_MEMORIES_MAX]
            # Twice the first: of one id alone an unknown one would be an error.
            ids = (part[0].kept_id, *(doubles.kept_id for doubles in part))
            gotten = await answer_of(
                self._engine.read(collection, GetQuery(request.agent_id, tuple(ids)))
            )
            kept: dict[str, Memory] = {memory.id: memory for memory in gotten.memories}
            pairs = ready(tuple((doubles, kept.get(doubles.kept_id)) for doubles in part))
            for doubles in await answer_of(many_built(pairs, codec.told_doubles_to_wire)):
                yield doubles

    async def ApplyTidyPlan(self, request: pb.ApplyTidyPlanRequest, _: Context) -> Encoded:
        """Carries out a plan."""
        begun_s = time.monotonic()
        collection = collection_name(request.collection)
        commands = await answer_of(run(lambda: codec.plan_from_wire(request)))
        future = self._engine.apply(collection, request.operation_id, commands)
        encoded = await answer_of(
            built(future, lambda applied: codec.applied_to_wire(applied, commands))
        )
        answer = encoded.message
        logger.info(
            "tidy plan applied",
            collection=collection,
            merged=answer.merged_count,
            closed=answer.closed_count,
            summaries=answer.summary_count,
            seconds=round(time.monotonic() - begun_s, 3),
        )
        return encoded


def _progress(
    phase: pb.TidyPhase, begun_s: float, done: int = 0, total: int = 0
) -> pb.TidyResponse:
    seconds = time.monotonic() - begun_s
    progress = pb.TidyProgress(phase=phase, done=done, total=total, seconds=seconds)
    return pb.TidyResponse(progress=progress)


def _log(collection: str, tidied: Tidied, seconds: float) -> None:
    """Figures only: no text of a memory."""
    logger.info(
        "tidied",
        collection=collection,
        read={kind.value: count for kind, count in tidied.read_counts},
        closed=0 if tidied.over else sum(len(doubles.closed_ids) for doubles in tidied.clusters),
        merged=len(tidied.clusters),
        over_blast_radius=tidied.over,
        seconds=round(seconds, 3),
    )


def _log_run(run: Future[Applied], collection: str, begun_s: float) -> None:
    """The end of a run that a turn began. From any thread."""
    if run.cancelled() or run.exception() is not None:
        logger.warning("not tidied", collection=collection)
        return
    (tidied,) = run.result().results
    assert isinstance(tidied, Tidied)
    _log(collection, tidied, time.monotonic() - begun_s)
