"""Consolidations: wire to models."""

from __future__ import annotations

from totonoe import consolidate_models as models
from totonoe.convert import decode_judgement
from totonoe.enums import KeepReason
from totonoe.scalars import EnumCodec
from totonoe.v1 import consolidate_pb2 as pb

KEEP_REASON = EnumCodec(KeepReason, pb.KeepReason, "KEEP_REASON_")


def decode_event(message: pb.ConsolidateResponse) -> models.ConsolidateEvent:
    """One message; a kind that this client does not know has nothing but its token."""
    token = message.resume_token
    match message.WhichOneof("event"):
        case "progress":
            progress = message.progress
            return models.ConsolidateEvent(
                token,
                progress=models.ConsolidateProgress(
                    scanned_count=progress.scanned_count,
                    total_count=progress.total_count,
                    per_second=progress.per_second,
                    left_s=progress.left_s,
                ),
            )
        case "candidate":
            return models.ConsolidateEvent(token, candidate=decode_candidate(message.candidate))
        case "cluster":
            cluster = models.MergeCluster(tuple(message.cluster.memory_ids))
            return models.ConsolidateEvent(token, cluster=cluster)
        case "done":
            return models.ConsolidateEvent(token, done=_decode_done(message.done))
    return models.ConsolidateEvent(token)


def decode_candidate(message: pb.MergeCandidate) -> models.MergeCandidate:
    """Two memories that may say the same."""
    return models.MergeCandidate(
        memory_a_id=message.memory_a_id,
        memory_b_id=message.memory_b_id,
        revision_a=message.revision_a,
        revision_b=message.revision_b,
        distance=message.distance,
        jaccard_similarity=message.jaccard_similarity,
        judgement=decode_judgement(message),
        keep_id=message.keep_id,
        keep_because=KEEP_REASON.decode(message.keep_because),
        snippet_a=message.snippet_a,
        snippet_b=message.snippet_b,
    )


def _decode_done(message: pb.ConsolidateDone) -> models.Consolidated:
    return models.Consolidated(
        revision=message.revision,
        replay_events=message.replay_events,
        coactivation_updates=message.coactivation_updates,
        link_updates=message.link_updates,
        refreshed_memories=message.refreshed_memories,
        merge_candidates=tuple(decode_candidate(one) for one in message.merge_candidates),
        memory_count=message.memory_count,
        pair_count=message.pair_count,
        operation_id=message.operation_id,
        operation_revision=message.operation_revision,
        replayed=message.replayed,
    )
