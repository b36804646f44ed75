"""Two agents change the same memories at once: one wins, the other is told so."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import grpc
import pytest

from support.waits import wait_s
from totonoe.v1 import graph_pb2, operations_pb2, types_pb2
from totonoe.v1 import memory_service_pb2 as pb

ROUNDS = 12


def at_once(number: int, *calls: Callable[[], Any]) -> list[Any]:
    """What each call answers, or the error that it fails with, all begun together.

    Which of them has the better start changes from round to round.
    """
    together = threading.Barrier(len(calls))

    def run(call: Callable[[], Any]) -> Any:
        together.wait(wait_s())
        try:
            return call()
        except grpc.RpcError as error:
            return error

    with ThreadPoolExecutor(len(calls)) as pool:
        turn = 1 if number % 2 else -1
        return list(pool.map(run, calls[::turn]))[::turn]


def one_won(read_failure: Any, answers: list[Any], *reasons: str) -> int:
    """Place of the one that won; the others failed for one of the reasons."""
    failed = [isinstance(answer, grpc.RpcError) for answer in answers]
    assert failed.count(False) == 1, answers
    for answer in answers:
        if isinstance(answer, grpc.RpcError):
            assert read_failure(answer).reason in reasons
    return failed.index(False)


@pytest.fixture
def made(wire) -> Callable[[int], tuple[str, list[Any]]]:
    """Makes a collection with two linked memories: its name and they themselves."""

    def make(number: int) -> tuple[str, list[Any]]:
        collection = wire.collection()
        texts = (f"The pump {number} is on.", f"Ada likes tea number {number}.")
        ids = [wire.remember(text, collection).memory_id for text in texts]
        request = pb.LinkRequest(collection=collection, source_id=ids[0], target_id=ids[1])
        wire.memory.Link(request, timeout=10)
        return collection, read(wire, collection, ids)

    return make


def read(wire: Any, collection: str, ids: list[str]) -> list[Any]:
    """Memories by id."""
    got = wire.memory.Get(pb.GetRequest(collection=collection, ids=ids), timeout=10)
    return list(got.memories)


def merge_of(collection: str, keep: Any, remove: Any) -> graph_pb2.MergeRequest:
    """A Merge of what was read."""
    return graph_pb2.MergeRequest(
        collection=collection, keep_id=keep.id, remove_ids=[remove.id],
        expected_revisions={keep.id: keep.revision, remove.id: remove.revision},
    )  # fmt: skip


def test_two_merges_of_the_same_pair(wire, made, read_failure):
    for number in range(ROUNDS):
        collection, (one, other) = made(number)
        answers = at_once(
            number,
            lambda c=collection, a=one, b=other: wire.memory.Merge(merge_of(c, a, b), timeout=10),
            lambda c=collection, a=one, b=other: wire.memory.Merge(merge_of(c, b, a), timeout=10),
        )
        winner = one_won(read_failure, answers, "STALE_REVISION")
        kept, gone = (one, other) if winner == 0 else (other, one)
        now = {memory.id: memory for memory in read(wire, collection, [one.id, other.id])}
        assert now[kept.id].status == types_pb2.STATUS_ACTIVE
        assert now[gone.id].superseded_by == kept.id
        assert list(now[kept.id].links) == []


def test_merge_against_forget(wire, made, read_failure):
    for number in range(ROUNDS):
        collection, (one, other) = made(number)
        forget = pb.ForgetRequest(
            collection=collection, ids=[other.id], expected_revisions={other.id: other.revision}
        )
        answers = at_once(
            number,
            lambda c=collection, a=one, b=other: wire.memory.Merge(merge_of(c, a, b), timeout=10),
            lambda request=forget: wire.memory.Forget(request, timeout=10),
        )
        # Forgotten first it is also no longer there to be merged.
        winner = one_won(read_failure, answers, "STALE_REVISION")
        now = read(wire, collection, [one.id, other.id])
        assert now[1].status == (
            types_pb2.STATUS_SUPERSEDED if winner == 0 else types_pb2.STATUS_FORGOTTEN
        )
        assert list(now[0].links) == []
        assert now[0].revision == (answers[0].revision if winner == 0 else one.revision)


def test_undo_against_update(wire, made, read_failure):
    for number in range(ROUNDS):
        collection, (one, _) = made(number)

        def update(category: str, revision: int, collection=collection, name=one.id) -> Any:
            request = pb.UpdateRequest(
                collection=collection, memory_id=name, expected_revision=revision,
                memory={"category": category}, update_mask={"paths": ["category"]},
            )  # fmt: skip
            return wire.memory.Update(request, timeout=10)

        first = update("first", one.revision)
        undo = operations_pb2.UndoRequest(collection=collection, target_revision=first.revision)
        answers = at_once(
            number,
            lambda request=undo: wire.memory.Undo(request, timeout=10),
            lambda again=update, revision=first.revision: again("second", revision),
        )
        winner = one_won(read_failure, answers, "UNDO_CONFLICT", "STALE_REVISION")
        (now,) = read(wire, collection, [one.id])
        assert now.category == ("" if winner == 0 else "second")
        assert now.revision == answers[winner].revision
