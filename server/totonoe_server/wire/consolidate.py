"""Consolidate: its query, and the messages of its stream."""

from __future__ import annotations

from totonoe.v1 import consolidate_pb2 as pb
from totonoe_core.domain.consolidate import (
    Consolidated,
    ConsolidateMessage,
    ConsolidateProgress,
    ConsolidateQuery,
    MergeCandidate,
    MergeCluster,
)
from totonoe_server import advice
from totonoe_server.wire.mapping import decoder, encoder

consolidate_from_wire = decoder(pb.ConsolidateRequest, ConsolidateQuery)
progress_to_wire = encoder(ConsolidateProgress, pb.ConsolidateProgress)
candidate_to_wire = encoder(MergeCandidate, pb.MergeCandidate)
cluster_to_wire = encoder(MergeCluster, pb.MergeCluster)
done_to_wire = encoder(
    Consolidated,
    pb.ConsolidateDone,
    names={
        "merge_candidates": "candidates",
        "operation_revision": "replay.revision",
        "replay_events": "replay.replay_events",
        "coactivation_updates": "replay.coactivation_updates",
        "link_updates": "replay.link_updates",
        "refreshed_memories": "replay.refreshed_memories",
        "scored_count": "scored.scored_count",
        "likely_link_count": "scored.link_count",
        "unscored_count": "scored.left_count",
    },
    computed={
        "advice": lambda value: advice.PAIRS if value.candidates else "",
        "scaffold": lambda value: advice.REVIEW_PAIRS if value.candidates else "",
    },
)


def message_to_wire(value: ConsolidateMessage) -> pb.ConsolidateResponse:
    """Return one message of the stream."""
    token = value.token
    match value.told:
        case ConsolidateProgress() as told:
            return pb.ConsolidateResponse(resume_token=token, progress=progress_to_wire(told))
        case MergeCandidate() as told:
            return pb.ConsolidateResponse(resume_token=token, candidate=candidate_to_wire(told))
        case MergeCluster() as told:
            return pb.ConsolidateResponse(resume_token=token, cluster=cluster_to_wire(told))
        case Consolidated() as told:
            return pb.ConsolidateResponse(resume_token=token, done=done_to_wire(told))
