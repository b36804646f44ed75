"""Random requests to every method: each answers, or fails with a reason; the server stays well."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from typing import Any

import grpc
import pytest
from google.protobuf.descriptor import MethodDescriptor

from support.items import check_item
from support.mutating import Requests, methods
from totonoe.call.multiplex import ItemFailed
from totonoe.v1 import admin_service_pb2 as admin_pb
from totonoe.v1 import memory_service_pb2 as pb

CALL_LIMIT_S = 30.0
STREAM_LIMIT_S = 0.2
FIRST_MESSAGES = 20
ENDLESS = ("Watch",)
PER_METHOD = 6
SOAK_SEEDS = 70
"""At 6 for each of 48 methods: 20,160 requests."""


def known_of(wire: Any, collection: str) -> dict[str, list[Any]]:
    """Sensible values by field name, of a new collection with a few memories in it."""
    wire.admin.CreateCollection(admin_pb.CreateCollectionRequest(name=collection))
    ids = [
        wire.remember(text, collection, agent_id="anna").memory_id
        for text in ("The port is 8080.", "Ann manages Bob.", "倉庫の鍵は青い棚の裏にある")
    ]
    wire.memory.Link(
        pb.LinkRequest(
            collection=collection, agent_id="anna", source_id=ids[0], target_id=ids[1], type=1
        )
    )
    names = ("memory_id", "ids", "id", "source_id", "target_id", "keep_id", "remove_ids", "id_a")
    return {
        **{name: [*ids, "ext:one"] for name in (*names, "id_b", "supersede_ids", "memory_ids")},
        "collection": [collection, collection, "", "made"],
        "name": ["made", "another"],
        "content": ["The port is 8081.", "Bob is managed by Ann.", "New.", "青い棚の鍵"],
        "text": ["port", "who manages Bob", "鍵"],
        "category": ["", "gotcha"],
        "session_id": ["", "s1"],
        "agent_id": ["anna", "berta", ""],
        "operation_id": ["", "o1", "o2"],
        "k": [1, 10],
        "page_size": [0, 1, 100],
        "limit": [0, 1, 10],
        "kind": [1, 2, 3],
        "state_kind": [0, 1],
        "confidence": [0.5, 1.0],
        "importance": [1, 3],
        "timeout_ms": [0, 10],
    }


def ask(wire: Any, method: MethodDescriptor, data: bytes) -> grpc.StatusCode:
    """How a call with these bytes as its request ends; an answer of a stream is cut short."""
    path = f"/{method.containing_service.full_name}/{method.name}"
    if method.client_streaming:
        stream = wire.channel.stream_stream(path)(iter([data]), timeout=CALL_LIMIT_S)
    elif method.server_streaming:
        limit_s = STREAM_LIMIT_S if method.name in ENDLESS else CALL_LIMIT_S
        stream = wire.channel.unary_stream(path)(data, timeout=limit_s)
    else:
        stream = iter([wire.channel.unary_unary(path)(data, timeout=CALL_LIMIT_S)])
    first = 1 if method.name in ENDLESS else FIRST_MESSAGES
    for _, message in zip(range(first), stream, strict=False):
        check_item(method, message)
    if hasattr(stream, "cancel"):
        stream.cancel()
    return grpc.StatusCode.OK


def attack(
    wire: Any, read_failure: Callable[..., Any], seeds: Iterator[int] | range, caplog: Any
) -> Counter[str]:
    """Sends requests to every method; returns how often they ended how."""
    outcomes: Counter[str] = Counter()
    for seed in seeds:
        requests = Requests(seed, known_of(wire, f"mutated-{seed}"))
        for method in methods():
            for number in range(PER_METHOD):
                request = requests.request(method)
                whole = number % 3 > 0
                data = request.SerializeToString() if whole else requests.damaged(request)
                what = f"seed {seed}: {method.name} number {number}"
                try:
                    outcomes[ask(wire, method, data).name] += 1
                except grpc.RpcError as error:
                    failure = read_failure(error)
                    outcomes[f"{failure.code.name} {failure.reason}"] += 1
                    if failure.code is grpc.StatusCode.DEADLINE_EXCEEDED:
                        # An item of Multiplex says itself how long it may take.
                        assert method.name in ENDLESS or isinstance(error, ItemFailed), what
                        continue
                    assert failure.reason not in ("", "INTERNAL"), (what, failure, request)
    # gRPC itself logs an error when an answer finds its client gone.
    ours = [record for record in caplog.records if not record.name.startswith("grpc.")]
    assert not [record.getMessage() for record in ours if record.levelname == "ERROR"]
    wire.admin.CreateCollection(admin_pb.CreateCollectionRequest(name="afterwards"))
    assert wire.remember("It still works.", "afterwards").saved
    found = wire.memory.Recall(pb.RecallRequest(collection="afterwards", text="still"), timeout=30)
    assert len(found.hits) == 1
    return outcomes


def test_random_requests_are_answered_or_refused_with_a_reason(
    open_wire: Callable[..., AbstractContextManager[Any]], read_failure: Any, caplog: Any
) -> None:
    with open_wire() as wire:
        outcomes = attack(wire, read_failure, range(1), caplog)
    assert outcomes["OK"] > 20
    assert len(outcomes) > 10, outcomes


@pytest.mark.soak
@pytest.mark.timeout(3600)
def test_20000_random_requests_are_answered_or_refused_with_a_reason(
    open_wire: Callable[..., AbstractContextManager[Any]],
    read_failure: Any,
    caplog: Any,
    capsys: pytest.CaptureFixture[str],
) -> None:
    with open_wire() as wire:
        outcomes = attack(wire, read_failure, range(1, 1 + SOAK_SEEDS), caplog)
    assert outcomes.total() >= 20_000
    with capsys.disabled():
        print(f"\n{outcomes.total()} requests: {dict(outcomes.most_common())}")
