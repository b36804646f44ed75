"""Ends of sessions, exact doubles and what has faded: wire <-> records."""

from __future__ import annotations

from collections.abc import Iterable

from totonoe.v1 import cleanup_pb2 as pb
from totonoe_core import cleanup
from totonoe_core.blast import Blast
from totonoe_core.commands import Applied
from totonoe_core.decay import DecayReport
from totonoe_server.codec import EnumTable, time_to_wire

GROUP_BYS = EnumTable(pb.GroupBy, cleanup.GroupBy, "GROUP_BY_")
MEASURES = EnumTable(pb.Measure, cleanup.Measure, "MEASURE_")

_END = cleanup.EndSession("")
_CLEAN_UP = cleanup.CleanUpDuplicates("")
_DECAY = cleanup.Decay("")


def end_session_from_wire(request: pb.EndSessionRequest) -> cleanup.EndSession:
    """The command of an EndSession."""
    return cleanup.EndSession(
        agent_id=request.agent_id,
        session_id=request.session_id,
        by=GROUP_BYS.from_wire(request.by, "by", unset=_END.by),
        measure=MEASURES.from_wire(request.measure, "measure", unset=_END.measure),
        threshold=request.threshold if request.HasField("threshold") else None,
        reason=request.reason or _END.reason,
    )


def session_ended_to_wire(
    value: cleanup.SessionEnded, revision: int, applied: Applied | None
) -> pb.EndSessionResponse:
    """Answer of an EndSession; without `applied` that of a dry run."""
    return pb.EndSessionResponse(
        revision=revision,
        merged_groups=len(value.groups),
        superseded_count=value.superseded_count,
        compression_ratio=value.compression_ratio,
        avg_similarity=value.avg_similarity,
        groups=[
            pb.MemoryGroup(
                kept_id=group.kept_id,
                snippet=group.snippet,
                category=group.category,
                superseded=map(_replaced_to_wire, group.superseded),
            )
            for group in value.groups
        ],
        consolidatable_count=value.consolidatable_count,
        left_out_count=value.left_out_count,
        unread_pair_count=value.unread_pair_count,
        decay=report_to_wire(value.decay),
        dry_run=applied is None,
        replayed=applied is not None and applied.replayed,
        operation_id="" if applied is None else applied.operation_id,
    )


def clean_up_from_wire(request: pb.CleanUpDuplicatesRequest) -> cleanup.CleanUpDuplicates:
    """The command of a CleanUpDuplicates."""
    return cleanup.CleanUpDuplicates(
        agent_id=request.agent_id,
        limit=request.limit or _CLEAN_UP.limit,
        reason=request.reason or _CLEAN_UP.reason,
    )


def cleaned_up_to_wire(
    value: cleanup.CleanedUp, revision: int, applied: Applied | None
) -> pb.CleanUpDuplicatesResponse:
    """Answer of a CleanUpDuplicates; without `applied` that of a dry run."""
    return pb.CleanUpDuplicatesResponse(
        revision=revision,
        duplicates=map(_replaced_to_wire, value.duplicates),
        more_count=value.more_count,
        blast=_blast_to_wire(value.blast, value.duplicates),
        applied=applied is not None,
        replayed=applied is not None and applied.replayed,
        operation_id="" if applied is None else applied.operation_id,
    )


def decay_from_wire(request: pb.DecayRequest) -> cleanup.Decay:
    """The command of a Decay."""
    return cleanup.Decay(
        agent_id=request.agent_id,
        close_below=request.close_below if request.HasField("close_below") else None,
        limit=request.limit or _DECAY.limit,
        reason=request.reason or _DECAY.reason,
    )


def decayed_to_wire(
    value: cleanup.Decayed, revision: int, applied: Applied | None
) -> pb.DecayResponse:
    """Answer of a Decay; without `applied` that of a dry run or of a report."""
    return pb.DecayResponse(
        revision=revision,
        report=report_to_wire(value.report),
        closed=[
            pb.FadedMemory(
                memory_id=one.memory_id,
                confidence=one.confidence,
                effective_confidence=one.effective_confidence,
                last_access_time=time_to_wire(one.last_access_us),
                snippet=one.snippet,
                recalled=one.recalled,
            )
            for one in value.closed
        ],
        blast=None if value.blast is None else _blast_to_wire(value.blast, value.closed),
        dry_run=applied is None,
        replayed=applied is not None and applied.replayed,
        operation_id="" if applied is None else applied.operation_id,
    )


def report_to_wire(value: DecayReport) -> pb.DecayReport:
    """What has faded."""
    return pb.DecayReport(
        live_count=value.live_count,
        band_counts=value.band_counts,
        faded_count=value.faded_count,
        at_floor_count=value.at_floor_count,
        threshold=value.threshold,
        below_count=value.below_count,
        protected_count=value.protected_count,
        recalled_count=value.recalled_count,
        survival=[pb.Survival(days=days, count=count) for days, count in value.survival],
    )


def _replaced_to_wire(value: cleanup.Replaced) -> pb.ReplacedMemory:
    return pb.ReplacedMemory(
        memory_id=value.memory_id,
        kept_id=value.kept_id,
        similarity=value.similarity,
        snippet=value.snippet,
        recalled=value.recalled,
    )


def _blast_to_wire(
    value: Blast, gone: Iterable[cleanup.Replaced | cleanup.Faded]
) -> pb.BlastRadius:
    return pb.BlastRadius(
        closing=value.closing,
        today=value.today,
        allowed=value.allowed,
        over=value.over,
        recalled_count=sum(one.recalled for one in gone),
    )
