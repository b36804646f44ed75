"""Tidying and its plans: models and messages, both ways side by side."""

from __future__ import annotations

from collections.abc import Iterable

from totonoe import scalars
from totonoe import tidy_models as models
from totonoe.convert import STATE_KIND, VERDICT, decode_duplicate, decode_memory
from totonoe.enums import TidyFate, TidyOp, TidyPhase
from totonoe.scalars import EnumCodec
from totonoe.v1 import tidy_pb2 as pb

OP = EnumCodec(TidyOp, pb.TidyOp, "TIDY_OP_")
FATE = EnumCodec(TidyFate, pb.TidyFate, "TIDY_FATE_")
PHASE = EnumCodec(TidyPhase, pb.TidyPhase, "TIDY_PHASE_")


def decode_recorded(answer: pb.RecordTurnResponse) -> models.TurnRecorded:
    """Answer of RecordTurn."""
    return models.TurnRecorded(
        answer.turn, answer.began, answer.revision, answer.replayed, answer.operation_id
    )


def decode_event(message: pb.TidyResponse) -> models.TidyEvent:
    """One message of a Tidy. One of a later version counts as progress."""
    match message.WhichOneof("message"):
        case "doubles":
            return _decode_doubles(message.doubles)
        case "cluster":
            return _decode_cluster(message.cluster)
        case "done":
            return _decode_done(message.done)
    one = message.progress
    return models.TidyProgress(PHASE.decode(one.phase), one.done, one.total, one.seconds)


def _decode_doubles(message: pb.TidyDoubles) -> models.TidyDoubles:
    return models.TidyDoubles(
        cluster_id=message.cluster_id,
        kept=decode_memory(message.kept) if message.HasField("kept") else None,
        closed_ids=tuple(message.closed_ids),
        protected_ids=tuple(message.protected_ids),
    )


def _decode_cluster(message: pb.TidyCluster) -> models.TidyCluster:
    return models.TidyCluster(
        state_kind=STATE_KIND.decode_optional(message.state_kind),
        members=tuple(
            models.TidyMember(decode_memory(one.memory), one.protected) for one in message.members
        ),
        pairs=tuple(
            models.TidyPair(
                a_id=pair.a_id,
                b_id=pair.b_id,
                distance=pair.distance,
                verdict=VERDICT.decode(pair.verdict),
                valid_together=pair.valid_together,
                about_gap_days=pair.about_gap_days if pair.HasField("about_gap_days") else None,
                same_thread=pair.same_thread,
                shared_entities=tuple(pair.shared_entities),
            )
            for pair in message.pairs
        ),
    )


def _decode_done(message: pb.TidyDone) -> models.TidyDone:
    return models.TidyDone(
        closed=message.closed,
        dry_run=message.dry_run,
        read_counts=dict(message.read_counts),
        closed_counts=dict(message.closed_counts),
        merged_count=message.merged_count,
        complete=message.complete,
        more=message.more,
        over_blast_radius=message.over_blast_radius,
        blast_allowed=message.blast_allowed,
        blast_today=message.blast_today,
        plan_read_count=message.plan_read_count,
        cluster_count=message.cluster_count,
        left_out_count=message.left_out_count,
        next_page_token=message.next_page_token,
        seconds=message.seconds,
        revision=message.revision,
        replayed=message.replayed,
        operation_id=message.operation_id,
    )


# -- plans


def encode_plan(updates: Iterable[models.TidyUpdate]) -> pb.TidyPlan:
    """The message of a plan. Raises `ValueError` or `TypeError` that name the field."""
    return pb.TidyPlan(
        state_updates=[_encode_update(one, f"plan[{at}]") for at, one in enumerate(updates)]
    )


def _encode_update(value: models.TidyUpdate, field: str) -> pb.TidyUpdate:
    if not isinstance(value, models.TidyUpdate):
        raise TypeError(f"{field}: got a {type(value).__name__}, allowed: a TidyUpdate")
    message = pb.TidyUpdate(
        op=OP.encode(value.op, f"{field}.op"),
        state_id=value.state_id,
        kind=None if value.kind is None else STATE_KIND.encode(value.kind, f"{field}.kind"),
        body_text=value.body_text,
        confidence=value.confidence,
        salience=value.salience,
        reason=value.reason,
        evidence_event_ids=scalars.encode_texts(
            value.evidence_event_ids, f"{field}.evidence_event_ids"
        ),
        expected_revision=value.expected_revision,
        vector=b"" if value.vector is None else scalars.encode_vector(value.vector),
    )
    if value.payload:
        message.payload.CopyFrom(scalars.encode_struct(value.payload, f"{field}.payload"))
    for name in ("valid_from_ts", "valid_to_ts", "last_confirmed_at"):
        moment = getattr(value, name)
        if moment is not None:
            getattr(message, name).CopyFrom(scalars.encode_time(moment, f"{field}.{name}"))
    return message


def decode_applied(answer: pb.ApplyTidyPlanResponse) -> models.PlanApplied:
    """Answer of ApplyTidyPlan."""
    return models.PlanApplied(
        outcomes=tuple(
            models.TidyOutcome(
                index=one.index,
                fate=FATE.decode(one.fate),
                memory_id=one.memory_id,
                duplicate=decode_duplicate(one),
            )
            for one in answer.outcomes
        ),
        merged_count=answer.merged_count,
        closed_count=answer.closed_count,
        summary_count=answer.summary_count,
        revision=answer.revision,
        replayed=answer.replayed,
        operation_id=answer.operation_id,
    )
