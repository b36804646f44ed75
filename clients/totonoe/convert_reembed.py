"""Re-embeddings: wire to models."""

from __future__ import annotations

from totonoe import reembed_models as models
from totonoe.convert_admin import REEMBED_PHASE, decode_model
from totonoe.v1 import reembed_pb2 as pb


def decode_event(message: pb.ReembedResponse) -> models.ReembedEvent:
    """One message; a kind that this client does not know has nothing."""
    match message.WhichOneof("event"):
        case "progress":
            return models.ReembedEvent(progress=_decode_progress(message.progress))
        case "done":
            return models.ReembedEvent(done=_decode_done(message.done))
    return models.ReembedEvent()


def _decode_progress(message: pb.ReembedProgress) -> models.ReembedProgress:
    return models.ReembedProgress(
        phase=REEMBED_PHASE.decode(message.phase),
        done_count=message.done_count,
        total_count=message.total_count,
        per_second=message.per_second,
        left_s=message.left_s,
    )


def _decode_done(message: pb.ReembedDone) -> models.Reembedded:
    return models.Reembedded(
        before=decode_model(message.before),
        after=decode_model(message.after),
        memory_count=message.memory_count,
        embedded_count=message.embedded_count,
        calibrated=message.calibrated,
        thresholds_reset=message.thresholds_reset,
        operation_id=message.operation_id,
        revision=message.revision,
        replayed=message.replayed,
    )


def decode_cancelled(answer: pb.CancelReembedResponse) -> models.ReembedCancelled:
    """Answer of CancelReembed."""
    return models.ReembedCancelled(answer.cancelled, answer.dropped_count)
