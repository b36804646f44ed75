"""EndSession, CleanUpDuplicates and Decay."""

from __future__ import annotations

from collections.abc import Iterable

from totonoe.v1 import cleanup_pb2 as pb
from totonoe_core.domain import cleanup
from totonoe_core.domain.blast import Blast
from totonoe_core.domain.commands import Applied
from totonoe_core.domain.decay import DecayReport
from totonoe_server.wire.mapping import HEADER, answer_or_preview, decoder, encoder, outcome

end_session_from_wire = decoder(pb.EndSessionRequest, cleanup.EndSession, without=("dry_run",))
clean_up_from_wire = decoder(
    pb.CleanUpDuplicatesRequest, cleanup.CleanUpDuplicates, without=("apply",)
)
decay_from_wire = decoder(pb.DecayRequest, cleanup.Decay, without=("dry_run",))
report_to_wire = encoder(
    DecayReport,
    pb.DecayReport,
    computed={
        "survival": lambda value: [
            pb.Survival(days=days, count=count) for days, count in value.survival
        ]
    },
)
session_ended_to_wire = answer_or_preview(
    cleanup.SessionEnded,
    pb.EndSessionResponse,
    computed={"merged_groups": lambda value: len(value.groups)},
)
_blast_to_wire = encoder(Blast, pb.BlastRadius, given=("recalled_count",))
_cleaned_up_to_wire = encoder(
    cleanup.CleanedUp,
    pb.CleanUpDuplicatesResponse,
    given=(*HEADER, "applied"),
    computed={"blast": lambda value: _radius(value.blast, value.duplicates)},
)
decayed_to_wire = answer_or_preview(
    cleanup.Decayed,
    pb.DecayResponse,
    computed={"blast": lambda value: value.blast and _radius(value.blast, value.closed)},
)


def cleaned_up_to_wire(
    value: cleanup.CleanedUp, revision: int, applied: Applied | None
) -> pb.CleanUpDuplicatesResponse:
    """Return the answer of a CleanUpDuplicates; without `applied` that of a dry run."""
    rest = outcome(applied)
    return _cleaned_up_to_wire(value, revision=revision, applied=not rest.pop("dry_run"), **rest)


def _radius(
    value: Blast, gone: Iterable[cleanup.ReplacedMemory | cleanup.FadedMemory]
) -> pb.BlastRadius:
    return _blast_to_wire(value, recalled_count=sum(memory.recalled for memory in gone))
