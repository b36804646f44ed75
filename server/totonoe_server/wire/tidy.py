"""RecordTurn, Tidy and ApplyTidyPlan."""

from __future__ import annotations

from collections.abc import Sequence

from totonoe.v1 import tidy_pb2 as pb
from totonoe_core.base import limits
from totonoe_core.base.errors import InvalidArgument, over_limit
from totonoe_core.domain.commands import Applied, Command
from totonoe_core.domain.memories import Remembered, Updated
from totonoe_core.domain.queries import NearCluster, NearGroups, NearQuery, TurnRecorded
from totonoe_core.domain.records import Memory, StateKind
from totonoe_core.domain.tidy import ClosedDoubles, PlanApplied, Tidied, TidyUpdate, TidyUpsert
from totonoe_core.rules import tidy_plan
from totonoe_server.wire.answers import duplicate_to_wire
from totonoe_server.wire.mapping import HEADER, answer_or_preview, decoder, encoder
from totonoe_server.wire.memories import memory_to_wire
from totonoe_server.wire.scalars import struct_from_wire

# -- Turns and runs


recorded_to_wire = encoder(
    TurnRecorded,
    pb.RecordTurnResponse,
    names={
        "turn": "counted.turn",
        "began": "counted.began",
        **{name: f"applied.{name}" for name in HEADER},
    },
)
near_from_wire = decoder(pb.TidyRequest, NearQuery, without=("apply", "reason", "plan", "limit"))
_doubles_to_wire = encoder(ClosedDoubles, pb.TidyDoubles, given=("kept",))
done_to_wire = answer_or_preview(
    Tidied,
    pb.TidyDone,
    names={"over_blast_radius": "over", "blast_allowed": "allowed", "blast_today": "today"},
    # `planned_to_wire` and the service add these.
    without=("plan_read_count", "cluster_count", "left_out_count", "next_page_token", "seconds"),
    computed={
        "closed": lambda value: bool(value.clusters) and not value.over,
        "merged_count": lambda value: len(value.clusters),
    },
)


def told_doubles_to_wire(found: tuple[ClosedDoubles, Memory | None]) -> pb.TidyResponse:
    """Return the message of a group of exact doubles, with the memory that stays if it is there."""
    closed, memory = found
    kept = None if memory is None else memory_to_wire(memory)
    return pb.TidyResponse(doubles=_doubles_to_wire(closed, kept=kept))


# -- Clusters


cluster_to_wire = encoder(
    NearCluster,
    pb.TidyCluster,
    computed={
        "members": lambda value: [
            pb.TidyMember(memory=memory_to_wire(memory), protected=memory.id in value.protected)
            for memory in value.members
        ]
    },
)


def told_cluster_to_wire(cluster: NearCluster) -> pb.TidyResponse:
    """Return the message of a cluster."""
    return pb.TidyResponse(cluster=cluster_to_wire(cluster))


def planned_to_wire(done: pb.TidyDone, groups: NearGroups, cluster_count: int) -> None:
    """Add the figures of a plan to the end of a Tidy."""
    done.plan_read_count = groups.read_count
    done.cluster_count = cluster_count
    done.left_out_count = groups.left_out_count
    done.next_page_token = groups.next_page_token


# -- Plans


def plan_from_wire(request: pb.ApplyTidyPlanRequest) -> tuple[Command, ...]:
    """Return the commands of an ApplyTidyPlan.

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
        raise over_limit("only", len(only), limits.TIDY_UPDATES_MAX)
    return tidy_plan.commands(request.agent_id, updates, tuple(only), request.reason)


def updates_from_wire(plan: pb.TidyPlan) -> tuple[TidyUpdate, ...]:
    """Return the updates of a plan that came as messages.

    Raises
    ------
    InvalidArgument
        LIMIT_EXCEEDED, UNKNOWN_ENUM, BAD_TIME.
    """
    if len(plan.state_updates) > limits.TIDY_UPDATES_MAX:
        raise over_limit("state_updates", len(plan.state_updates), limits.TIDY_UPDATES_MAX)
    return tuple(
        _update_from_wire(update, f"state_updates[{at}].")
        for at, update in enumerate(plan.state_updates)
    )


_update_from_wire = decoder(
    pb.TidyUpdate,
    TidyUpdate,
    names={
        "valid_from_us": "valid_from_ts",
        "valid_to_us": "valid_to_ts",
        "last_confirmed_us": "last_confirmed_at",
        "evidence_ids": "evidence_event_ids",
    },
    computed={
        "payload": lambda update, at: struct_from_wire(
            update, "payload", f"{at}payload", limits.PAYLOAD_BYTES_MAX
        )
    },
)


def applied_to_wire(applied: Applied, commands: Sequence[Command]) -> pb.ApplyTidyPlanResponse:
    """Return the answer of an ApplyTidyPlan."""
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
    outcomes.sort(key=lambda outcome: outcome.index)
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
        duplicate=None if done or duplicate is None else duplicate_to_wire(duplicate),
    )


def _is_summary(update: TidyUpdate, result: Remembered | Updated) -> bool:
    kind = result.memory.fields.state_kind if isinstance(result, Updated) else update.kind
    return kind is StateKind.SUMMARY
