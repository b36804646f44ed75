"""Tidying and its plans: wire <-> records."""

from __future__ import annotations

from collections.abc import Sequence

from totonoe.v1 import tidy_pb2 as pb
from totonoe_core import limits, tidy_plan
from totonoe_core.commands import Applied, Command, Remembered, Updated
from totonoe_core.errors import InvalidArgument
from totonoe_core.queries import NearCluster, NearGroups, NearPair, NearQuery, TurnRecorded
from totonoe_core.records import Memory, StateKind
from totonoe_core.tidy import PlanApplied, Tidied, TidyUpdate, TidyUpsert
from totonoe_server.codec import (
    STATE_KINDS,
    TIDY_OPS,
    VERDICTS,
    struct_from_wire,
    time_from_wire,
)
from totonoe_server.codec_answers import duplicate_to_wire
from totonoe_server.codec_memory import memory_to_wire

# -- Turns and runs


def recorded_to_wire(value: TurnRecorded) -> pb.RecordTurnResponse:
    """Answer of a RecordTurn."""
    return pb.RecordTurnResponse(
        turn=value.counted.turn,
        began=value.counted.began,
        revision=value.applied.revision,
        replayed=value.applied.replayed,
        operation_id=value.applied.operation_id,
    )


def near_from_wire(request: pb.TidyRequest) -> NearQuery:
    """Which near states a Tidy with `plan` is about."""
    query = NearQuery(request.agent_id)
    return NearQuery(
        agent_id=request.agent_id,
        distance_below=request.distance_below
        if request.HasField("distance_below")
        else query.distance_below,
        clusters_max=request.clusters_max or query.clusters_max,
        page_token=request.page_token,
    )


def doubles_to_wire(tidied: Tidied, at: int, kept: Memory | None) -> pb.TidyDoubles:
    """One group of exact doubles; without the one that stays if it is gone meanwhile."""
    one = tidied.clusters[at]
    return pb.TidyDoubles(
        cluster_id=one.cluster_id,
        kept=memory_to_wire(kept) if kept is not None else None,
        closed_ids=one.closed_ids,
        protected_ids=one.protected_ids,
    )


def done_to_wire(tidied: Tidied, revision: int, applied: Applied | None) -> pb.TidyDone:
    """The end of a Tidy, as far as its exact doubles go; `applied` is `None` for a dry run."""
    closes = bool(tidied.clusters) and not tidied.over
    return pb.TidyDone(
        closed=closes,
        dry_run=applied is None,
        replayed=applied is not None and applied.replayed,
        operation_id=applied.operation_id if applied is not None else "",
        revision=revision,
        read_counts=_counts(tidied.read_counts),
        closed_counts=_counts(tidied.closed_counts),
        merged_count=len(tidied.clusters),
        complete=tidied.complete,
        more=tidied.more,
        over_blast_radius=tidied.over,
        blast_allowed=tidied.allowed,
        blast_today=tidied.today,
    )


def _counts(counts: Sequence[tuple[StateKind, int]]) -> dict[str, int]:
    return {kind.value: count for kind, count in counts}


# -- Clusters


def cluster_to_wire(value: NearCluster) -> pb.TidyCluster:
    """Near states of one kind."""
    return pb.TidyCluster(
        state_kind=STATE_KINDS.to_wire(value.state_kind),
        members=[
            pb.TidyMember(memory=memory_to_wire(one), protected=one.id in value.protected)
            for one in value.members
        ],
        pairs=[_pair_to_wire(pair) for pair in value.pairs],
    )


def _pair_to_wire(value: NearPair) -> pb.TidyPair:
    return pb.TidyPair(
        a_id=value.a_id,
        b_id=value.b_id,
        distance=value.distance,
        verdict=VERDICTS.to_wire(value.verdict),
        valid_together=value.valid_together,
        about_gap_days=value.about_gap_days,
        same_thread=value.same_thread,
        shared_entities=value.shared_entities,
    )


def planned_to_wire(done: pb.TidyDone, found: NearGroups, cluster_count: int) -> None:
    """Adds to the end of a Tidy what it found for a plan."""
    done.plan_read_count = found.read_count
    done.cluster_count = cluster_count
    done.left_out_count = found.left_out_count
    done.next_page_token = found.next_page_token


# -- Plans


def plan_from_wire(request: pb.ApplyTidyPlanRequest) -> tuple[Command, ...]:
    """The commands of an ApplyTidyPlan.

    Raises
    ------
    InvalidArgument
        MISSING_FIELD without a plan; what `tidy_plan.loads` and `updates_from_wire` raise.
    """
    match request.WhichOneof("source"):
        case "plan":
            updates = updates_from_wire(request.plan)
        case "plan_json":
            updates = tidy_plan.loads(request.plan_json)
        case _:
            raise InvalidArgument(
                "MISSING_FIELD", field="source", got="nothing", allowed="plan or plan_json"
            )
    only = request.only
    if len(only) > limits.TIDY_UPDATES_MAX:
        allowed = f"at most {limits.TIDY_UPDATES_MAX}"
        raise InvalidArgument("LIMIT_EXCEEDED", field="only", got=len(only), allowed=allowed)
    return tidy_plan.commands(request.agent_id, updates, tuple(only), request.reason)


def updates_from_wire(plan: pb.TidyPlan) -> tuple[TidyUpdate, ...]:
    """The updates of a plan that came as messages.

    Raises
    ------
    InvalidArgument
        LIMIT_EXCEEDED, UNKNOWN_ENUM, BAD_TIME.
    """
    if len(plan.state_updates) > limits.TIDY_UPDATES_MAX:
        raise InvalidArgument(
            "LIMIT_EXCEEDED",
            field="state_updates",
            got=len(plan.state_updates),
            allowed=f"at most {limits.TIDY_UPDATES_MAX}",
        )
    return tuple(
        _update_from_wire(one, f"state_updates[{at}]") for at, one in enumerate(plan.state_updates)
    )


def _update_from_wire(one: pb.TidyUpdate, field: str) -> TidyUpdate:
    return TidyUpdate(
        op=TIDY_OPS.from_wire(one.op, f"{field}.op"),
        state_id=one.state_id,
        kind=STATE_KINDS.from_wire(one.kind, f"{field}.kind", unset=StateKind.NONE),
        body_text=one.body_text,
        payload=struct_from_wire(one, "payload", f"{field}.payload", limits.PAYLOAD_BYTES_MAX),
        confidence=one.confidence if one.HasField("confidence") else None,
        salience=one.salience if one.HasField("salience") else None,
        valid_from_us=time_from_wire(one, "valid_from_ts", f"{field}.valid_from_ts"),
        valid_to_us=time_from_wire(one, "valid_to_ts", f"{field}.valid_to_ts"),
        last_confirmed_us=time_from_wire(one, "last_confirmed_at", f"{field}.last_confirmed_at"),
        reason=one.reason,
        evidence_ids=tuple(one.evidence_event_ids),
        expected_revision=one.expected_revision,
        vector=one.vector,
    )


def applied_to_wire(applied: Applied, commands: Sequence[Command]) -> pb.ApplyTidyPlanResponse:
    """Answer of an ApplyTidyPlan."""
    head, *results = applied.results
    assert isinstance(head, PlanApplied)
    outcomes: list[pb.TidyOutcome] = [
        pb.TidyOutcome(index=at, fate=fate, memory_id=memory_id)
        for fate, ended in (
            (pb.TIDY_FATE_CLOSED, head.closed),
            (pb.TIDY_FATE_DONE, head.done),
        )
        for at, memory_id in ended
    ]
    merged_count = summary_count = 0
    for at, command, result in zip(head.upserts, commands[1:], results, strict=True):
        assert isinstance(command, TidyUpsert)
        assert isinstance(result, Remembered | Updated)
        outcome = _upserted(at, result)
        if outcome.fate != pb.TIDY_FATE_REFUSED:
            merged_count += 1
            summary_count += _is_summary(command.update, result)
        outcomes.append(outcome)
    outcomes.sort(key=lambda one: one.index)
    return pb.ApplyTidyPlanResponse(
        outcomes=outcomes,
        merged_count=merged_count,
        closed_count=len(head.closed) + len(head.done),
        summary_count=summary_count,
        revision=applied.revision,
        replayed=applied.replayed,
        operation_id=applied.operation_id,
    )


def _upserted(at: int, result: Remembered | Updated) -> pb.TidyOutcome:
    if isinstance(result, Updated):
        memory_id, done, fate = result.memory.id, result.updated, pb.TIDY_FATE_UPDATED
    else:
        fate = pb.TIDY_FATE_UPDATED if result.grown_id else pb.TIDY_FATE_INSERTED
        memory_id, done = result.memory_id, result.saved
    duplicate = None if result.guard is None else result.guard.duplicate
    return pb.TidyOutcome(
        index=at,
        fate=fate if done else pb.TIDY_FATE_REFUSED,
        memory_id=memory_id,
        duplicate=None if done else duplicate_to_wire(duplicate),
    )


def _is_summary(update: TidyUpdate, result: Remembered | Updated) -> bool:
    kind = result.memory.fields.state_kind if isinstance(result, Updated) else update.kind
    return kind is StateKind.SUMMARY
