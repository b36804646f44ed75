"""Bulk: order, packing, bounds, items that fail, streams that break."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

import grpc
import pytest

from support.scripted import fail, scripted
from support.waits import wait_s
from totonoe import AsyncClient, Client, Draft, RetryPolicy, errors
from totonoe.call import status
from totonoe.memories.bulk import ITEMS_PER_MESSAGE_MAX, MESSAGES_IN_FLIGHT_MAX
from totonoe.v1 import memory_service_pb2 as pb

Call = Callable[..., Any]
Requests = Iterator[pb.RememberManyRequest]


def saved(item: pb.RememberRequest) -> pb.RememberManyResult:
    answer = pb.RememberResponse(
        saved=True, memory_id="mem_" + item.memory.content, operation_id=item.operation_id
    )
    return pb.RememberManyResult(answer=answer)


def answer_all(requests: Requests, _context: Any) -> Iterator[pb.RememberManyResponse]:
    for message in requests:
        yield pb.RememberManyResponse(results=[saved(item) for item in message.items])


def ids(results: list[Any]) -> list[str]:
    return [result.remembered.memory_id for result in results]


def test_many_items_are_answered_in_order_in_full_messages(call: Call) -> None:
    sizes = []

    def remember(requests: Requests, context: Any) -> Iterator[pb.RememberManyResponse]:
        def counted() -> Requests:
            for message in requests:
                sizes.append(len(message.items))
                yield message

        yield from answer_all(counted(), context)

    texts = [str(number) for number in range(5 * ITEMS_PER_MESSAGE_MAX + 3)]
    with scripted(RememberMany=remember) as address:
        results = call(address, "remember_many", iter(texts))
    assert ids(results) == ["mem_" + text for text in texts]
    assert [result.index for result in results] == list(range(len(texts)))
    assert [result.item for result in results] == texts
    assert sizes == [ITEMS_PER_MESSAGE_MAX] * 5 + [3]


def test_many_of_nothing_sends_nothing(call: Call) -> None:
    assert call("127.0.0.1:1", "remember_many", []) == []


def test_many_drafts_keep_their_own_agent_and_operation_id(call: Call) -> None:
    seen = []

    def remember(requests: Requests, context: Any) -> Iterator[pb.RememberManyResponse]:
        for message in requests:
            seen.extend(message.items)
            yield next(answer_all(iter([message]), context))

    drafts = [Draft("a", agent_id="x", operation_id="op_1", force=True), Draft("b"), "c"]
    with scripted(RememberMany=remember) as address:
        call(address, "remember_many", drafts, options={"agent_id": "me"})
    assert [item.agent_id for item in seen] == ["x", "me", "me"]
    assert [item.force for item in seen] == [True, False, False]
    assert seen[0].operation_id == "op_1"
    assert seen[1].operation_id != seen[2].operation_id


@pytest.mark.parametrize(("given", "expected"), [(None, "mine"), ("theirs", "theirs")])
def test_many_go_to_the_collection_of_the_draft_the_call_or_the_client(
    call: Call, given: str | None, expected: str
) -> None:
    seen = []

    def remember(requests: Requests, context: Any) -> Iterator[pb.RememberManyResponse]:
        for message in requests:
            seen.extend(message.items)
            yield next(answer_all(iter([message]), context))

    items = ["a", Draft("b", collection="own"), Draft("c", collection="")]
    options = {"collection": "mine"}
    with scripted(RememberMany=remember) as address:
        call(address, "remember_many", items, collection=given, options=options)
    assert [item.collection for item in seen] == [expected, "own", ""]


def test_many_large_items_go_in_small_messages(call: Call) -> None:
    sizes = []

    def remember(requests: Requests, _context: Any) -> Iterator[pb.RememberManyResponse]:
        for message in requests:
            sizes.append(message.ByteSize())
            results = [pb.RememberManyResult(answer=pb.RememberResponse()) for _ in message.items]
            yield pb.RememberManyResponse(results=results)

    with scripted(RememberMany=remember) as address:
        results = call(address, "remember_many", ["x" * 32_000] * 100)
    assert len(results) == 100
    assert max(sizes) < 1.2 * 1024 * 1024


def test_many_item_that_fails_has_its_error_and_the_rest_goes_on(call: Call) -> None:
    def remember(requests: Requests, _context: Any) -> Iterator[pb.RememberManyResponse]:
        for message in requests:
            results = [saved(item) for item in message.items]
            error = pb.ItemError(code=3, reason="EMPTY_TEXT", details={"field": "content"})
            results[1] = pb.RememberManyResult(error=error)
            yield pb.RememberManyResponse(results=results)

    with scripted(RememberMany=remember) as address:
        results = call(address, "remember_many", ["a", " ", "c"])
    assert [result.error is None for result in results] == [True, False, True]
    assert isinstance(results[1].error, errors.InvalidArgument)
    assert (results[1].remembered, results[1].error.details) == (None, {"field": "content"})


def test_many_item_refused_as_busy_is_tried_again_with_its_operation_id(call: Call) -> None:
    alone: list[pb.RememberRequest] = []
    streamed: list[pb.RememberRequest] = []

    def remember_many(requests: Requests, _context: Any) -> Iterator[pb.RememberManyResponse]:
        for message in requests:
            streamed.extend(message.items)
            busy = pb.ItemError(code=14, reason="EMBEDDER_BUSY", details={"retry_delay_ms": "20"})
            results = [saved(item) for item in message.items]
            results[0] = results[2] = pb.RememberManyResult(error=busy)
            yield pb.RememberManyResponse(results=results)

    def remember(request: pb.RememberRequest, context: Any) -> pb.RememberResponse:
        alone.append(request)
        if request.memory.content == "c":
            fail(context, "INVALID_ARGUMENT", "BAD_TIME")
        return saved(request).answer

    with scripted(RememberMany=remember_many, Remember=remember) as address:
        results = call(address, "remember_many", ["a", "b", "c"])
    assert alone == [streamed[0], streamed[2]]
    assert ids(results[:2]) == ["mem_a", "mem_b"]
    assert results[2].error.reason == "BAD_TIME"


@pytest.mark.parametrize("broken_after", [0, 1, 3])
def test_many_stream_that_breaks_goes_on_with_unanswered_messages(
    call: Call, broken_after: int
) -> None:
    opened: list[list[pb.RememberManyRequest]] = []

    def remember(
        requests: Requests, context: grpc.ServicerContext
    ) -> Iterator[pb.RememberManyResponse]:
        seen: list[pb.RememberManyRequest] = []
        opened.append(seen)
        for message in requests:
            seen.append(message)
            if len(opened) == 1 and len(seen) > broken_after:
                fail(context, "UNAVAILABLE", "SHUTTING_DOWN")
            yield pb.RememberManyResponse(results=[saved(item) for item in message.items])

    texts = [str(number) for number in range(5 * ITEMS_PER_MESSAGE_MAX)]
    with scripted(RememberMany=remember) as address:
        results = call(address, "remember_many", texts)
    assert ids(results) == ["mem_" + text for text in texts]
    assert len(opened) >= 2
    assert all(seen[0] == opened[0][broken_after] for seen in opened[1:])


def test_many_stream_unavailable_for_good_raises(call: Call) -> None:
    with scripted() as address:
        pass
    with pytest.raises(errors.Unreachable):
        call(address, "remember_many", ["a"])


def test_many_stream_refused_for_other_reason_raises_at_once(call: Call) -> None:
    tries = []

    def remember(requests: Requests, context: grpc.ServicerContext) -> Iterator[Any]:
        tries.append(1)
        # grpc.aio may tell a write that meets the end before the end itself (grpc#36066).
        next(requests)
        fail(context, "INVALID_ARGUMENT", "LIMIT_EXCEEDED")
        yield

    with scripted(RememberMany=remember) as address, pytest.raises(errors.InvalidArgument):
        call(address, "remember_many", ["a"])
    assert len(tries) == 1


@pytest.mark.parametrize("answers", [[], [pb.RememberManyResponse()]], ids=["ends", "too few"])
def test_many_answers_missing_raises_internal(call: Call, answers: list[Any]) -> None:
    def remember(requests: Requests, _context: Any) -> Iterator[pb.RememberManyResponse]:
        next(requests)
        yield from answers

    with scripted(RememberMany=remember) as address, pytest.raises(errors.Internal):
        call(address, "remember_many", ["a"])


def test_many_answer_that_does_not_come_raises_deadline_exceeded(call: Call) -> None:
    released = threading.Event()

    def remember(requests: Requests, context: Any) -> Iterator[pb.RememberManyResponse]:
        next(requests)
        released.wait(wait_s())
        yield from answer_all(requests, context)

    with scripted(RememberMany=remember) as address:
        with pytest.raises(errors.DeadlineExceeded):
            call(address, "remember_many", ["a"], timeout_s=0.1)
        released.set()


def test_many_item_that_cannot_be_sent_raises_value_error(call: Call) -> None:
    with scripted(RememberMany=answer_all) as address, pytest.raises(ValueError, match="kind"):
        call(address, "remember_many", [Draft("a", kind="nonsense")])


def test_many_input_is_read_no_further_than_the_window() -> None:
    read = 0

    def items() -> Iterator[str]:
        nonlocal read
        for read in range(100_000):
            yield str(read)

    with scripted(RememberMany=answer_all) as address, Client(address) as client:
        results = client.remember_many(items())
        next(results)
        assert read <= MESSAGES_IN_FLIGHT_MAX * ITEMS_PER_MESSAGE_MAX
        results.close()  # type: ignore[attr-defined]


def test_many_given_up_early_ends_the_stream() -> None:
    ended = threading.Event()

    def remember(requests: Requests, context: Any) -> Iterator[pb.RememberManyResponse]:
        context.add_callback(ended.set)
        yield from answer_all(requests, context)

    with scripted(RememberMany=remember) as address, Client(address) as client:
        results = client.remember_many(str(number) for number in range(100_000))
        next(results)
        results.close()  # type: ignore[attr-defined]
        assert ended.wait(wait_s())


def test_many_async_takes_asynchronous_input_and_can_be_given_up() -> None:
    async def items() -> AsyncIterator[str]:
        for number in range(100_000):
            yield str(number)

    async def run(address: str) -> list[Any]:
        seen = []
        async with AsyncClient(address) as client:
            results = client.remember_many(items())
            async for result in results:
                seen.append(result)
                if len(seen) == 200:
                    break
            await results.aclose()  # type: ignore[attr-defined]
        return seen

    with scripted(RememberMany=answer_all) as address:
        seen = asyncio.run(run(address))
    assert ids(seen) == [f"mem_{number}" for number in range(200)]


def test_many_waits_for_busy_items_once_a_message(call: Call, slept_s: list[float]) -> None:
    def remember_many(requests: Requests, _context: Any) -> Iterator[pb.RememberManyResponse]:
        for message in requests:
            busy = pb.ItemError(code=14, reason="EMBEDDER_BUSY", details={"retry_delay_ms": "200"})
            results = [pb.RememberManyResult(error=busy) for _ in message.items]
            yield pb.RememberManyResponse(results=results)

    def remember(request: pb.RememberRequest, _context: Any) -> pb.RememberResponse:
        return saved(request).answer

    with scripted(RememberMany=remember_many, Remember=remember) as address:
        results = call(address, "remember_many", ["a"] * 40, options={"retry": RetryPolicy()})
    assert len(ids(results)) == 40
    assert 0.0 < sum(slept_s) < 4.0, "40 waits of 0.2 s are one wait"


def test_many_async_stream_that_ended_while_idle_is_opened_again() -> None:
    opened: list[int] = []

    def remember(requests: Requests, context: Any) -> Iterator[pb.RememberManyResponse]:
        opened.append(1)
        yield next(answer_all(requests, context))
        if len(opened) == 1:
            fail(context, "UNAVAILABLE", "SHUTTING_DOWN")
        yield from answer_all(requests, context)

    async def items() -> AsyncIterator[str]:
        for number in range(2 * ITEMS_PER_MESSAGE_MAX):
            if number == ITEMS_PER_MESSAGE_MAX + 1:
                await asyncio.sleep(0.1)
            yield str(number)

    async def run(address: str) -> list[Any]:
        async with AsyncClient(address) as client:
            return [result async for result in client.remember_many(items())]

    with scripted(RememberMany=remember) as address:
        results = asyncio.run(run(address))
    assert ids(results) == [f"mem_{number}" for number in range(2 * ITEMS_PER_MESSAGE_MAX)]
    assert len(opened) == 2


def test_failure_that_asyncio_hides_counts_as_a_broken_stream() -> None:
    hidden = errors.Internal("Internal error from Core", code="INTERNAL")
    assert isinstance(status.unmasked(hidden), errors.Unavailable)
    told = errors.Internal("Internal error from Core", code="INTERNAL", reason="INTERNAL")
    for other in (told, errors.Internal("a bug"), errors.DataLoss("from Core")):
        assert status.unmasked(other) is other
