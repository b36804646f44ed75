"""Ends of sessions, exact doubles and what has faded: wire to models."""

from __future__ import annotations

from totonoe import cleanup_models as models
from totonoe import scalars
from totonoe.enums import GroupBy, Measure
from totonoe.scalars import EnumCodec
from totonoe.v1 import cleanup_pb2

GROUP_BY = EnumCodec(GroupBy, cleanup_pb2.GroupBy, "GROUP_BY_")
MEASURE = EnumCodec(Measure, cleanup_pb2.Measure, "MEASURE_")


def _decode_replaced(message: cleanup_pb2.ReplacedMemory) -> models.ReplacedMemory:
    return models.ReplacedMemory(
        memory_id=message.memory_id,
        kept_id=message.kept_id,
        similarity=message.similarity,
        snippet=message.snippet,
        recalled=message.recalled,
    )


def _decode_report(message: cleanup_pb2.DecayReport) -> models.DecayReport:
    return models.DecayReport(
        live_count=message.live_count,
        band_counts=tuple(message.band_counts),
        faded_count=message.faded_count,
        at_floor_count=message.at_floor_count,
        threshold=message.threshold,
        below_count=message.below_count,
        protected_count=message.protected_count,
        recalled_count=message.recalled_count,
        survival=tuple(models.Survival(one.days, one.count) for one in message.survival),
    )


def _decode_blast(message: cleanup_pb2.BlastRadius) -> models.BlastRadius:
    return models.BlastRadius(
        closing=message.closing,
        today=message.today,
        allowed=message.allowed,
        over=message.over,
        recalled_count=message.recalled_count,
    )


def decode_session_ended(answer: cleanup_pb2.EndSessionResponse) -> models.SessionEnded:
    """Answer of EndSession."""
    return models.SessionEnded(
        revision=answer.revision,
        merged_groups=answer.merged_groups,
        superseded_count=answer.superseded_count,
        compression_ratio=answer.compression_ratio,
        avg_similarity=answer.avg_similarity,
        groups=tuple(
            models.MemoryGroup(
                kept_id=group.kept_id,
                snippet=group.snippet,
                category=group.category,
                superseded=tuple(_decode_replaced(one) for one in group.superseded),
            )
            for group in answer.groups
        ),
        consolidatable_count=answer.consolidatable_count,
        left_out_count=answer.left_out_count,
        unread_pair_count=answer.unread_pair_count,
        decay=_decode_report(answer.decay),
        dry_run=answer.dry_run,
        replayed=answer.replayed,
        operation_id=answer.operation_id,
    )


def decode_cleaned_up(answer: cleanup_pb2.CleanUpDuplicatesResponse) -> models.CleanedUp:
    """Answer of CleanUpDuplicates."""
    return models.CleanedUp(
        revision=answer.revision,
        duplicates=tuple(_decode_replaced(one) for one in answer.duplicates),
        more_count=answer.more_count,
        blast=_decode_blast(answer.blast),
        applied=answer.applied,
        replayed=answer.replayed,
        operation_id=answer.operation_id,
    )


def _decode_faded(message: cleanup_pb2.FadedMemory) -> models.FadedMemory:
    recalled = message.HasField("last_access_time")
    return models.FadedMemory(
        memory_id=message.memory_id,
        confidence=message.confidence,
        effective_confidence=message.effective_confidence,
        last_access_time=scalars.decode_time(message.last_access_time) if recalled else None,
        snippet=message.snippet,
        recalled=message.recalled,
    )


def decode_decayed(answer: cleanup_pb2.DecayResponse) -> models.Decayed:
    """Answer of Decay."""
    return models.Decayed(
        revision=answer.revision,
        report=_decode_report(answer.report),
        closed=tuple(_decode_faded(one) for one in answer.closed),
        blast=_decode_blast(answer.blast) if answer.HasField("blast") else None,
        dry_run=answer.dry_run,
        replayed=answer.replayed,
        operation_id=answer.operation_id,
    )
