"""Watch by both clients, and by the command line."""

from __future__ import annotations

import asyncio
import json
import random
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from support.scripted import fail, scripted
from support.serving import serving
from support.waits import wait_s
from totonoe import AsyncClient, Client, LinkType, RetryPolicy, errors
from totonoe.enums import ChangeType
from totonoe.v1 import operations_pb2 as op
from totonoe.v1 import types_pb2
from totonoe.watch.course import WatchCourse

Call = Callable[..., Any]
QUICK = RetryPolicy(attempts_max=3, backoff_initial_s=0.01, backoff_max_s=0.02)


def message(revision: int, *contents: str) -> op.WatchResponse:
    """A change that made memories; without any a heartbeat."""
    if not contents:
        return op.WatchResponse(revision=revision, heartbeat=op.Heartbeat())
    change = op.Change(
        operation=op.Operation(
            revision=revision, operation_id=f"op_{revision}", agent_id="anna", kind="Remember"
        )
    )
    change.operation.time.FromSeconds(1_790_000_000)
    for number, content in enumerate(contents):
        change.memories.add(
            type=op.CHANGE_TYPE_CREATED,
            memory_id=f"mem_{revision}{number}",
            memory=types_pb2.Memory(id=f"mem_{revision}{number}", content=content),
        )
    return op.WatchResponse(revision=revision, change=change)


class Script:
    """Streams one after another; each ends in order or with an error."""

    def __init__(self, *streams: Any) -> None:
        self.streams = list(streams)
        self.asked: list[op.WatchRequest] = []

    def __call__(self, request: op.WatchRequest, context: Any) -> Iterator[op.WatchResponse]:
        self.asked.append(op.WatchRequest.FromString(request.SerializeToString()))
        for stream in self.streams.pop(0):
            if isinstance(stream, tuple):
                fail(context, *stream[:2], metadata=stream[2] if len(stream) > 2 else None)
            yield stream


def revisions(events: list[Any]) -> list[int]:
    return [event.revision for event in events]


def asked_after(script: Script) -> list[int | None]:
    return [
        request.after_revision if request.HasField("after_revision") else None
        for request in script.asked
    ]


STOPPING = ("UNAVAILABLE", "SHUTTING_DOWN")
BEHIND = ("OUT_OF_RANGE", "REVISION_OUT_OF_RANGE")
SLOW = ("RESOURCE_EXHAUSTED", "WATCH_TOO_SLOW", {"after_revision": "1"})


def test_events_as_models(call: Call) -> None:
    full = message(5, "The port is 8080.")
    full.change.memories.add(type=op.CHANGE_TYPE_FORGOTTEN, memory_id="mem_9")
    link = types_pb2.Link(target_id="mem_9", type=types_pb2.LINK_TYPE_CAUSES, confidence=0.5)
    full.change.links.add(source_id="mem_50", link=link, removed=True)
    script = Script([message(4), full])
    with scripted(Watch=script) as address:
        heartbeat, event = call(
            address,
            "watch",
            heartbeat_s=2.0,
            tags=["x"],
            collection="work",
            options={"agent_id": "ben"},
        )
    assert (heartbeat.revision, heartbeat.change) == (4, None)
    operation = event.change.operation
    assert (operation.revision, operation.agent_id, operation.kind) == (5, "anna", "Remember")
    created, gone = event.change.memories
    assert (created.type, created.memory.content) == (ChangeType.CREATED, "The port is 8080.")
    assert (gone.type, gone.memory_id, gone.memory) == (ChangeType.FORGOTTEN, "mem_9", None)
    (one,) = event.change.links
    assert (one.source_id, one.link.type, one.removed) == ("mem_50", LinkType.CAUSES, True)
    (request,) = script.asked
    assert (request.collection, request.agent_id, request.heartbeat_s) == ("work", "ben", 2.0)
    assert list(request.filter.tags) == ["x"] and not request.HasField("after_revision")


def test_without_conditions_there_is_no_filter(call: Call) -> None:
    script = Script([message(4)])
    with scripted(Watch=script) as address:
        call(address, "watch", 3)
    assert not script.asked[0].HasField("filter")
    assert asked_after(script) == [3]


@pytest.mark.parametrize("broken", [STOPPING, SLOW])
def test_goes_on_from_the_last_revision(call: Call, broken: Any) -> None:
    script = Script([message(0), message(1, "a"), broken], [broken], [message(2, "b")])
    with scripted(Watch=script) as address:
        events = call(address, "watch")
    assert revisions(events) == [0, 1, 2]
    assert asked_after(script) == [None, 1, 1]


def test_of_several_daemons_one_may_be_behind_and_of_one_none(
    call: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Else a client begins with any of them.
    monkeypatch.setattr(random, "randrange", lambda _: 0)
    ahead = Script([message(7), STOPPING], [message(8, "b")])
    late = Script([BEHIND])
    with scripted(Watch=ahead) as one, scripted(Watch=late) as other:
        assert revisions(call(f"{one},{other}", "watch")) == [7, 8]
    assert (asked_after(ahead), asked_after(late)) == ([None, 7], [7])
    alone = Script([BEHIND])
    with scripted(Watch=alone) as one, pytest.raises(errors.OutOfRange):
        call(one, "watch", 9)
    assert len(alone.asked) == 1


def test_parts_of_a_change_count_with_the_last(call: Call) -> None:
    first = message(7, "a")
    first.revision = 4
    script = Script([first, STOPPING], [first, message(7, "b")])
    with scripted(Watch=script) as address:
        assert revisions(call(address, "watch", 4)) == [4, 4, 7]
    assert asked_after(script) == [4, 4]


def test_before_the_first_event_the_policy_holds(call: Call) -> None:
    script = Script(*[[STOPPING]] * 3)
    with scripted(Watch=script) as address, pytest.raises(errors.Unavailable):
        call(address, "watch", options={"retry": QUICK})
    assert len(script.asked) == 3
    with pytest.raises(errors.Unreachable):
        call("127.0.0.1:1", "watch", options={"retry": QUICK})


def test_after_the_first_event_it_does_not_give_up(call: Call) -> None:
    script = Script([message(1, "a"), STOPPING], *[[STOPPING]] * 9, [message(2, "b")])
    with scripted(Watch=script) as address:
        assert revisions(call(address, "watch", 0, options={"retry": QUICK})) == [1, 2]


def test_one_try_is_one_try(call: Call) -> None:
    script = Script([message(1, "a"), STOPPING])
    with scripted(Watch=script) as address, pytest.raises(errors.Unavailable):
        call(address, "watch", options={"retry": RetryPolicy(attempts_max=1)})


def test_other_errors_end_it(call: Call) -> None:
    script = Script([message(1, "a"), ("DATA_LOSS", "CORRUPT_ROW")])
    with scripted(Watch=script) as address, pytest.raises(errors.DataLoss):
        call(address, "watch")
    script = Script([("OUT_OF_RANGE", "REVISION_OUT_OF_RANGE")])
    with scripted(Watch=script) as address, pytest.raises(errors.OutOfRange):
        call(address, "watch", 99)


def test_patience_has_no_end() -> None:
    course = WatchCourse(op.WatchRequest(), QUICK, 30.0)
    course.took(message(1))
    failure = errors.Unavailable("no")
    assert all((course.wait_s(failure) or 1.0) <= 0.02 for _ in range(3000))


def holding(ended: threading.Event) -> Callable[..., Iterator[op.WatchResponse]]:
    """A stream that says one thing and then lives until its caller ends it."""

    def watch(_request: Any, context: Any) -> Iterator[op.WatchResponse]:
        context.add_callback(ended.set)
        yield message(1)
        ended.wait(wait_s())

    return watch


def test_closing_ends_the_call() -> None:
    ended = threading.Event()
    with scripted(Watch=holding(ended)) as address, Client(address) as client:
        events = client.watch()
        assert next(events).revision == 1
        events.close()
        assert ended.wait(wait_s())
        assert list(events) == []
        events.close()


def test_closing_by_another_thread_ends_the_waiting() -> None:
    ended = threading.Event()
    with scripted(Watch=holding(ended)) as address, Client(address) as client:
        with client.watch() as events:
            first = next(events)
            rest: list[Any] = []
            waiting = threading.Thread(target=lambda: rest.extend(events))
            waiting.start()
            events.close()
            waiting.join(wait_s())
            assert (first.revision, rest, waiting.is_alive()) == (1, [], False)
        assert ended.wait(wait_s())


def test_dropped_iterator_ends_the_call() -> None:
    ended = threading.Event()
    with scripted(Watch=holding(ended)) as address, Client(address) as client:
        for _ in client.watch():
            break
        assert ended.wait(wait_s())


def test_closing_the_asyncio_iterator_ends_the_call() -> None:
    ended = threading.Event()

    async def run(address: str) -> None:
        async with AsyncClient(address) as client:
            events = client.watch()
            assert (await anext(events)).revision == 1
            await events.aclose()
            assert await asyncio.to_thread(ended.wait, 20)

    with scripted(Watch=holding(ended)) as address:
        asyncio.run(run(address))


# -- With a daemon


def test_goes_on_over_a_restart_of_the_daemon() -> None:
    seen: list[str] = []
    begun = threading.Event()

    def follow(client: Client) -> None:
        with client.watch(0, heartbeat_s=300) as events:
            for event in events:
                begun.set()
                memories = event.change.memories if event.change else ()
                seen.extend(change.memory.content for change in memories)
                if len(seen) == 3:
                    return

    with (
        serving() as server,
        Client(server.address) as client,
        Client(server.address) as writer,
    ):
        following = threading.Thread(target=follow, args=(client,))
        following.start()
        assert begun.wait(wait_s())
        writer.remember("Before the restart.")
        server.stop()
        server.start()
        writer.remember("After it, something else.")
        writer.remember("The last words of all.")
        following.join(wait_s())
    assert seen == ["Before the restart.", "After it, something else.", "The last words of all."]


# -- The command


def test_command_shows_a_line_for_each_change(run: Call) -> None:
    full = message(5, "The port\nis 8080.")
    full.change.operation.reason = "as\x1b asked"
    full.change.memories.add(type=op.CHANGE_TYPE_FORGOTTEN, memory_id="mem_9")
    link = types_pb2.Link(target_id="mem_9", type=types_pb2.LINK_TYPE_CAUSES, note="so")
    full.change.links.add(source_id="mem_50", link=link)
    settings = message(6, "")
    del settings.change.memories[:]
    settings.change.operation.settings = True
    settings.change.operation.kind = "UpdateCollection"
    pair = message(7, "")
    del pair.change.memories[:]
    pair.change.operation.kind = "Dismiss"
    pair.change.operation.memory_ids[:] = ["mem_1", "mem_2"]
    script = Script([message(4), full, settings, pair])
    result = run("watch", "--from", "4", "--tag", "x", Watch=script)
    assert result.exit_code == 0
    begin = "2026-09-21T14:13:20Z       5  anna  "
    assert result.output.splitlines() == [
        begin + "created  mem_50  The port is 8080. (as\ufffd asked)",
        begin + "forgotten  mem_9 (as\ufffd asked)",
        begin + "linked  mem_50 causes mem_9  so",
        "2026-09-21T14:13:20Z       6  anna  UpdateCollection  settings",
        "2026-09-21T14:13:20Z       7  anna  Dismiss  mem_1, mem_2",
    ]
    (request,) = script.asked
    assert request.after_revision == 4 and list(request.filter.tags) == ["x"]


def test_command_as_json_is_a_line_for_each_event(run: Call) -> None:
    result = run("watch", "--json", Watch=Script([message(4), message(5, "The port is 8080.")]))
    heartbeat, event = map(json.loads, result.output.splitlines())
    assert heartbeat == {"revision": 4, "change": None}
    assert event["change"]["operation"]["kind"] == "Remember"
    (memory,) = event["change"]["memories"]
    assert (memory["type"], memory["memory"]["memory_id"]) == ("created", "mem_50")


def test_interrupt_ends_the_command_cleanly(run: Call, monkeypatch: Any) -> None:
    def interrupted(*_: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("totonoe.cli.show.watch.change_lines", interrupted)
    result = run("watch", Watch=Script([message(5, "The port is 8080.")]))
    assert (result.exit_code, result.output) == (0, "")


def test_command_tells_errors(run: Call) -> None:
    result = run("watch", "--from", "9", Watch=Script([("OUT_OF_RANGE", "REVISION_OUT_OF_RANGE")]))
    assert result.exit_code == 1
    assert run("watch", "--since", "someday").exit_code == 2
