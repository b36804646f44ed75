"""Consolidate over the wire."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import grpc
import pytest

from support.waits import wait_s
from totonoe.v1 import consolidate_pb2 as pb
from totonoe.v1 import memory_service_pb2 as memory_pb
from totonoe.v1 import operations_pb2, types_pb2
from totonoe_core.base import limits
from totonoe_core.domain.consolidate import ConsolidateQuery
from totonoe_core.engine.jobs import join
from totonoe_server.wire.consolidate import consolidate_from_wire

Failure = Wire = Any

TEXTS = ("The lamp in the hall is red.", "The old lamp in the hall is red.")


@pytest.fixture(name="collection")
def _collection(wire: Wire) -> str:
    name = wire.collection()
    for text in TEXTS:
        wire.remember(text, name, force=True)
    return name


def answers(wire: Wire, collection: str, **more: Any) -> list[pb.ConsolidateResponse]:
    values: dict[str, Any] = {"distance_below": 0.5, "agent_id": "anna"} | more
    request = pb.ConsolidateRequest(collection=collection, **values)
    return list(wire.memory.Consolidate(request, timeout=30))


def test_consolidate_streams_progress_candidate_and_the_end(wire: Wire, collection: str) -> None:
    for _ in range(2):
        wire.memory.Recall(memory_pb.RecallRequest(collection=collection, text="lamp in the hall"))
    found = answers(wire, collection)
    assert found[0].WhichOneof("event") == "progress"
    (candidate,) = [response.candidate for response in found if response.HasField("candidate")]
    assert (candidate.snippet_a, candidate.snippet_b) == TEXTS
    assert candidate.judgement.verdict == types_pb2.VERDICT_REFINEMENT
    assert candidate.keep_id in (candidate.memory_a_id, candidate.memory_b_id)
    assert candidate.keep_because == pb.KEEP_REASON_MORE_DETAIL
    done = found[-1].done
    assert list(done.merge_candidates) == [candidate]
    assert (done.replay_events, done.coactivation_updates, done.link_updates) == (2, 2, 1)
    assert (done.memory_count, done.pair_count, done.refreshed_memories) == (2, 1, 2)
    undone = wire.memory.Undo(
        operations_pb2.UndoRequest(collection=collection, target_revision=done.operation_revision)
    )
    assert undone.undone
    assert undone.operation.kind == "Consolidate"


def test_consolidate_again_uses_nothing_up(wire: Wire, collection: str) -> None:
    wire.memory.Recall(memory_pb.RecallRequest(collection=collection, text="lamp"))
    assert answers(wire, collection)[-1].done.replay_events == 1
    assert answers(wire, collection)[-1].done.replay_events == 0


def test_consolidate_retried_with_its_operation_id_replays_the_figures(
    wire: Wire, collection: str
) -> None:
    wire.memory.Recall(memory_pb.RecallRequest(collection=collection, text="lamp"))
    first, again = (answers(wire, collection, operation_id="op")[-1].done for _ in range(2))
    assert (first.replay_events, first.replayed) == (1, False)
    assert (again.replay_events, again.replayed, again.operation_id) == (1, True, "op")


def test_consolidate_resumed_tells_the_rest(wire: Wire, collection: str) -> None:
    whole = answers(wire, collection)
    at = next(place for place, response in enumerate(whole) if response.HasField("candidate"))
    rest = answers(wire, collection, resume_token=whole[at].resume_token)
    assert [
        response.WhichOneof("event") for response in rest if not response.HasField("progress")
    ] == [
        "cluster",
        "done",
    ]
    assert rest[-1] == whole[-1]


def test_consolidate_with_a_token_of_another_collection_is_refused(
    wire: Wire, collection: str, fails: Callable[..., Failure]
) -> None:
    token = answers(wire, collection)[-1].resume_token
    other = pb.ConsolidateRequest(collection=wire.collection(), resume_token=token)
    failure = fails(wire.memory.Consolidate, other)
    assert (failure.code, failure.reason) == (
        grpc.StatusCode.INVALID_ARGUMENT,
        "BAD_PAGE_TOKEN",
    )
    assert failure.details["field"] == "resume_token"


@pytest.mark.parametrize(
    ("asked", "code", "reason"),
    [
        ({"window_hours": -1}, grpc.StatusCode.INVALID_ARGUMENT, "OUT_OF_RANGE"),
        ({"distance_below": 0.51}, grpc.StatusCode.INVALID_ARGUMENT, "OUT_OF_RANGE"),
        ({"jaccard_above": 0.0}, grpc.StatusCode.INVALID_ARGUMENT, "OUT_OF_RANGE"),
        ({"max_merge_candidates": 1001}, grpc.StatusCode.INVALID_ARGUMENT, "OUT_OF_RANGE"),
        ({"since_revision": 2**40}, grpc.StatusCode.OUT_OF_RANGE, "REVISION_OUT_OF_RANGE"),
        ({"collection": "nowhere"}, grpc.StatusCode.NOT_FOUND, "COLLECTION_NOT_FOUND"),
        ({"operation_id": "x" * 129}, grpc.StatusCode.INVALID_ARGUMENT, "LIMIT_EXCEEDED"),
    ],
)
def test_consolidate_bad_requests_say_why(
    wire: Wire,
    collection: str,
    fails: Callable[..., Failure],
    asked: dict[str, Any],
    code: grpc.StatusCode,
    reason: str,
) -> None:
    failure = fails(
        wire.memory.Consolidate, pb.ConsolidateRequest(**({"collection": collection} | asked))
    )
    assert (failure.code, failure.reason) == (code, reason)


def test_consolidate_cancelled_frees_its_thread(wire: Wire, collection: str) -> None:
    call = wire.memory.Consolidate(pb.ConsolidateRequest(collection=collection, distance_below=0.5))
    next(call)
    call.cancel()
    for thread in threading.enumerate():
        if thread.name == "consolidate":
            thread.join(wait_s())
            assert not thread.is_alive()


@pytest.fixture(name="unending")
def _unending(monkeypatch: pytest.MonkeyPatch) -> Iterator[threading.Event]:
    """Runs find what there is and are not through before this is set."""
    through, real = threading.Event(), join.cosine_steps

    def steps(*args: Any, **more: Any) -> Iterator[Any]:
        yield from real(*args, **more)
        while not through.wait(0.005):
            yield SimpleNamespace(looked_count=0, pairs=None)

    monkeypatch.setattr(join, "cosine_steps", steps)
    yield through
    through.set()


def asking(wire: Wire, collection: str = "", **more: Any) -> Any:
    """A stream, and its messages up to the first candidate."""
    request = pb.ConsolidateRequest(collection=collection, distance_below=0.5, **more)
    call = wire.memory.Consolidate(request, timeout=60)
    begun = []
    for message in call:
        begun.append(message)
        if message.HasField("candidate"):
            break
    return call, begun


def test_consolidate_more_than_may_run_is_quota_exceeded_until_one_is_left(
    wire: Wire,
    collection: str,
    unending: threading.Event,
    fails: Callable[..., Failure],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(limits, "CONSOLIDATIONS_MAX", 2)
    calls = [asking(wire, collection, max_merge_candidates=most)[0] for most in (5, 6)]
    # One with the question of another is no more work.
    calls.append(asking(wire, collection, max_merge_candidates=6, agent_id="bert")[0])
    failure = fails(wire.memory.Consolidate, pb.ConsolidateRequest(collection=collection))
    assert (failure.code, failure.reason) == (
        grpc.StatusCode.RESOURCE_EXHAUSTED,
        "QUOTA_EXCEEDED",
    )
    unending.set()
    # What was told to its end is left, and gives way.
    assert [list(call)[-1].WhichOneof("event") for call in calls] == ["done"] * 3
    assert answers(wire, collection)[-1].HasField("done")


def test_consolidate_is_cut_when_the_daemon_stops_and_its_token_says_so_afterwards(
    open_wire: Callable[..., Any],
    unending: threading.Event,
    fails: Callable[..., Failure],
    read_failure: Callable[[grpc.RpcError], Failure],
) -> None:
    # Without an end of its own it would take all of this.
    with open_wire(grace_s=1000.0) as wire:
        for text in TEXTS:
            wire.remember(text, force=True)
        call, begun = asking(wire)
        wire.server.stop()
        with pytest.raises(grpc.RpcError) as caught:
            list(call)
        failure = read_failure(caught.value)
        assert (failure.code, failure.reason) == (grpc.StatusCode.UNAVAILABLE, "SHUTTING_DOWN")
        assert failure.retry_delay_ms
        unending.set()
        wire.server.start()
        again = pb.ConsolidateRequest(distance_below=0.5, resume_token=begun[-1].resume_token)
        failure = fails(wire.memory.Consolidate, again, wait_for_ready=True)
        assert (failure.code, failure.reason) == (
            grpc.StatusCode.INVALID_ARGUMENT,
            "BAD_PAGE_TOKEN",
        )
        assert "run that is gone" in failure.message
        assert answers(wire, "")[-1].done.pair_count == 1


def test_consolidate_of_the_client_goes_on_over_a_restart_and_tells_nothing_twice(
    open_wire: Callable[..., Any], unending: threading.Event
) -> None:
    with open_wire(grace_s=1000.0) as wire, wire.server.client("anna") as client:
        for text in TEXTS:
            wire.remember(text, force=True)
        told = []
        with client.consolidate(distance_below=0.5) as events:
            for event in events:
                told.append(event)
                if event.candidate is not None and not unending.is_set():
                    wire.server.stop()
                    unending.set()
                    wire.server.start()
        assert sum(event.candidate is not None for event in told) == 1
        assert told[-1].done is not None
        assert told[-1].done.pair_count == 1


def test_request_without_fields_asks_for_the_defaults() -> None:
    assert consolidate_from_wire(pb.ConsolidateRequest()) == ConsolidateQuery("")
    zeros = pb.ConsolidateRequest(
        window_hours=0, distance_below=0, max_merge_candidates=0, max_replay_events=0
    )
    assert consolidate_from_wire(zeros) == ConsolidateQuery("", 0.0, 0.0, None, 0, 0, 0)
