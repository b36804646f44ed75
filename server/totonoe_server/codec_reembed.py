"""Reembed: wire <-> records."""

from __future__ import annotations

from totonoe.v1 import reembed_pb2 as pb
from totonoe_core.reembed import Phase, Reembed, ReembedProgress, ReembedState, ReembedTold
from totonoe_server.codec import EnumTable
from totonoe_server.codec_policy import model_to_wire

PHASES = EnumTable(pb.ReembedPhase, Phase, "REEMBED_PHASE_")


def reembed_from_wire(request: pb.ReembedRequest) -> Reembed:
    """The command of a Reembed."""
    return Reembed(agent_id=request.agent_id, reason=request.reason)


def told_to_wire(value: ReembedTold) -> pb.ReembedResponse:
    """One message of a Reembed."""
    if value.progress is not None:
        return pb.ReembedResponse(progress=progress_to_wire(value.progress))
    done = value.done
    assert done is not None
    return pb.ReembedResponse(
        done=pb.ReembedDone(
            before=model_to_wire(done.before),
            after=model_to_wire(done.after),
            memory_count=done.memory_count,
            embedded_count=done.embedded_count,
            calibrated=done.calibrated,
            thresholds_reset=done.thresholds_reset,
            operation_id=value.operation_id,
            revision=value.revision,
            replayed=value.replayed,
        )
    )


def progress_to_wire(value: ReembedProgress) -> pb.ReembedProgress:
    """How far it is."""
    return pb.ReembedProgress(
        phase=PHASES.to_wire(value.phase),
        done_count=value.done_count,
        total_count=value.total_count,
        per_second=value.per_second,
        left_s=value.left_s,
    )


def reembed_stats_to_wire(value: ReembedState | None) -> pb.ReembedStats:
    """Figures of what is under way; empty: nothing is."""
    if value is None:
        return pb.ReembedStats()
    return pb.ReembedStats(
        model=value.model.key, progress=progress_to_wire(value.progress), failure=value.failure
    )
