"""Consolidate: wire <-> records."""

from __future__ import annotations

from totonoe.v1 import consolidate_pb2 as pb
from totonoe_core.consolidate import (
    Consolidated,
    ConsolidateMessage,
    ConsolidateProgress,
    ConsolidateQuery,
    KeepReason,
    MergeCandidate,
    MergeCluster,
)
from totonoe_server.codec import EnumTable
from totonoe_server.codec_answers import judgement_to_wire

KEEP_REASONS = EnumTable(pb.KeepReason, KeepReason, "KEEP_REASON_")
_QUERY = ConsolidateQuery("")
_OPTIONAL = (
    "window_hours",
    "distance_below",
    "jaccard_above",
    "max_merge_candidates",
    "max_replay_events",
)


def consolidate_from_wire(request: pb.ConsolidateRequest) -> ConsolidateQuery:
    """The query of a Consolidate."""
    given = {name: getattr(request, name) for name in _OPTIONAL if request.HasField(name)}
    return ConsolidateQuery(
        agent_id=request.agent_id,
        since_revision=request.since_revision,
        resume_token=request.resume_token,
        **given,
    )


def message_to_wire(value: ConsolidateMessage) -> pb.ConsolidateResponse:
    """One message of a Consolidate."""
    message = pb.ConsolidateResponse(resume_token=value.token)
    match value.told:
        case ConsolidateProgress() as told:
            message.progress.CopyFrom(
                pb.ConsolidateProgress(
                    scanned_count=told.scanned_count,
                    total_count=told.total_count,
                    per_second=told.per_second,
                    left_s=told.left_s,
                )
            )
        case MergeCandidate() as told:
            message.candidate.CopyFrom(candidate_to_wire(told))
        case MergeCluster() as told:
            message.cluster.CopyFrom(pb.MergeCluster(memory_ids=told.memory_ids))
        case Consolidated() as told:
            message.done.CopyFrom(done_to_wire(told))
    return message


def candidate_to_wire(value: MergeCandidate) -> pb.MergeCandidate:
    """Two memories that may say the same."""
    return pb.MergeCandidate(
        memory_a_id=value.memory_a_id,
        memory_b_id=value.memory_b_id,
        revision_a=value.revision_a,
        revision_b=value.revision_b,
        distance=value.distance,
        jaccard_similarity=value.jaccard_similarity,
        judgement=judgement_to_wire(value.judgement),
        keep_id=value.keep_id,
        keep_because=KEEP_REASONS.to_wire(value.keep_because),
        snippet_a=value.snippet_a,
        snippet_b=value.snippet_b,
    )


def done_to_wire(value: Consolidated) -> pb.ConsolidateDone:
    """The end of a Consolidate."""
    replay = value.replay
    return pb.ConsolidateDone(
        revision=value.revision,
        replay_events=replay.replay_events,
        coactivation_updates=replay.coactivation_updates,
        link_updates=replay.link_updates,
        refreshed_memories=replay.refreshed_memories,
        merge_candidates=[candidate_to_wire(one) for one in value.candidates],
        memory_count=value.memory_count,
        pair_count=value.pair_count,
        operation_id=value.operation_id,
        operation_revision=replay.revision,
        replayed=value.replayed,
    )
