"""Reembed: its command, the messages of its stream, and its figures in Stats."""

from __future__ import annotations

from totonoe.v1 import reembed_pb2 as pb
from totonoe_core.domain.reembed import (
    Reembed,
    Reembedded,
    ReembedMessage,
    ReembedProgress,
    ReembedState,
)
from totonoe_server.wire.mapping import HEADER, decoder, encoder

reembed_from_wire = decoder(pb.ReembedRequest, Reembed)
progress_to_wire = encoder(ReembedProgress, pb.ReembedProgress)
_done_to_wire = encoder(Reembedded, pb.ReembedDone, given=HEADER)
_state_to_wire = encoder(ReembedState, pb.ReembedStats, names={"model": "model.key"})


def told_to_wire(value: ReembedMessage) -> pb.ReembedResponse:
    """Return one message of the stream."""
    if value.progress is not None:
        return pb.ReembedResponse(progress=progress_to_wire(value.progress))
    assert value.done is not None
    header = {name: getattr(value, name) for name in HEADER}
    return pb.ReembedResponse(done=_done_to_wire(value.done, **header))


def reembed_stats_to_wire(value: ReembedState | None) -> pb.ReembedStats:
    """Return the figures of the work under way; an empty message without any."""
    return pb.ReembedStats() if value is None else _state_to_wire(value)
