"""Any bytes to any method, by an identity: a reason each time, no crash, no growth."""

from __future__ import annotations

import os
import threading
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import grpc
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from support.access import VERBS, add_identity, with_token
from support.items import check_item
from support.mutating import Requests, methods
from support.requests_of import KNOWN, calls
from support.waits import wait_s
from totonoe import Client
from totonoe_core.base.limits import COLLECTIONS_OPEN_MAX
from totonoe_server.tools.testing import running_server

CALLS_EACH = 50
SEEDS, SOAK_SEEDS = 200, 20_000
"""At 50 calls each: 10,000 requests, and a million."""
EXAMPLES = 30
ENDLESS_S = 0.05
FIRST_MESSAGES = 2
"""Of a stream: the first one of a Multiplex is about no item."""
FILES_MORE_MAX = 64
FILES_EACH_MAX = 32
THREADS_MORE_MAX = 32


@pytest.fixture(scope="module")
def target(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """A daemon, a channel to it, and metadata of an identity with every verb."""
    data_dir = tmp_path_factory.mktemp("any") / "data"
    token = add_identity(data_dir, "ann", f"*:{','.join(VERBS)}")
    with running_server(data_dir) as server, grpc.insecure_channel(server.address) as channel:
        with Client(server.address, token=token) as client:
            client.create_collection("known")
            client.remember("The port is 8080.", collection="known")
        yield server, channel, token


def end_of(channel: grpc.Channel, token: str, method: Any, data: bytes) -> Any:
    """A call that is under way; for a stream its iterator."""
    path = f"/{method.containing_service.full_name}/{method.name}"
    metadata = with_token(token)
    if method.client_streaming:
        return channel.stream_stream(path)(iter([data]), timeout=wait_s(), metadata=metadata)
    if method.server_streaming:
        limit_s = ENDLESS_S if method.name == "Watch" else wait_s()
        return channel.unary_stream(path)(data, timeout=limit_s, metadata=metadata)
    return channel.unary_unary(path).future(data, timeout=wait_s(), metadata=metadata)


def outcome(call: Any, method: Any, read_failure: Any) -> str:
    try:
        if hasattr(call, "result") and not method.server_streaming:
            call.result()
        else:
            for _, message in zip(range(FIRST_MESSAGES), call, strict=False):
                check_item(method, message)
            call.cancel()
    except grpc.RpcError as error:
        failure = read_failure(error)
        late = failure.code is grpc.StatusCode.DEADLINE_EXCEEDED and method.name == "Watch"
        assert late or failure.reason not in ("", "INTERNAL"), (method.name, failure)
        return str(failure.reason)
    return "OK"


def sent(target: Any, read_failure: Any, batch: list[Any]) -> Counter[str]:
    """Sends requests, all at once, and waits for their ends."""
    _, channel, token = target
    begun = [(end_of(channel, token, method, data), method) for method, data in batch]
    return Counter(outcome(call, method, read_failure) for call, method in begun)


def open_files() -> Counter[str]:
    """How many files are open by collection; those of no collection under the empty name."""
    folder = Path("/proc/self/fd")
    found = [os.path.realpath(path) for path in folder.iterdir()] if folder.exists() else []
    return Counter(text.partition("/collections/")[2].partition("/")[0] for text in found)


def seeded(seed: int) -> list[Any]:
    """As many calls of one seed: sensible, senseless and damaged requests of any method."""
    requests = Requests(seed, KNOWN)
    found = []
    for _ in range(CALLS_EACH):
        method = requests.draw.choice(methods())
        request = requests.request(method)
        whole = requests.draw.random() < 2 / 3
        found.append((method, request.SerializeToString() if whole else requests.damaged(request)))
    return found


def attack(target: Any, read_failure: Any, seeds: range) -> Counter[str]:
    outcomes: Counter[str] = Counter()
    server, _, token = target
    before = open_files(), threading.active_count()
    for seed in seeds:
        outcomes += sent(target, read_failure, seeded(seed))
    files = open_files()
    assert files.pop("", 0) - before[0][""] < FILES_MORE_MAX
    # An idle collection is closed after a while.
    assert len(files) <= COLLECTIONS_OPEN_MAX and max(files.values(), default=0) < FILES_EACH_MAX
    assert threading.active_count() - before[1] < THREADS_MORE_MAX
    with Client(server.address, token=token) as client:
        client.create_collection("afterwards")
        assert client.remember("It still works.", collection="afterwards").saved
        client.delete_collection("afterwards")
    return outcomes


def test_ten_thousand_requests_end_with_an_answer_or_a_reason(
    target: Any, read_failure: Any
) -> None:
    before = open_files().total()
    outcomes = attack(target, read_failure, range(SEEDS))
    assert open_files().total() - before < FILES_MORE_MAX
    assert outcomes.total() == SEEDS * CALLS_EACH
    assert outcomes["OK"] > 500 and len(outcomes) > 8, outcomes


def test_any_request_ends_with_an_answer_or_a_reason(target: Any, read_failure: Any) -> None:
    """Of Hypothesis, which names the smallest request that fails."""

    @settings(
        max_examples=EXAMPLES,
        deadline=None,
        derandomize=True,
        database=None,
        suppress_health_check=list(HealthCheck),
    )
    @given(st.lists(calls(), min_size=1, max_size=10))
    def send(batch: list[Any]) -> None:
        sent(target, read_failure, batch)

    send()


@pytest.mark.soak
@pytest.mark.timeout(4 * 3600)
def test_a_million_requests_end_with_an_answer_or_a_reason(target: Any, read_failure: Any) -> None:
    outcomes = attack(target, read_failure, range(SEEDS, SEEDS + SOAK_SEEDS))
    assert outcomes.total() >= 1_000_000
