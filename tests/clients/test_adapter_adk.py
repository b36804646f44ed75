"""Google ADK's memory service: the same answers as ADK expects, users kept apart, nothing twice."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from itertools import count
from typing import Any

import pytest
from google.adk.agents import LlmAgent
from google.adk.events import Event
from google.adk.memory.memory_entry import MemoryEntry
from google.adk.models import BaseLlm, LlmResponse
from google.adk.runners import Runner
from google.adk.sessions import InMemorySessionService, Session
from google.adk.tools import load_memory
from google.genai import types

from totonoe import AsyncClient
from totonoe.adapters import adk
from totonoe.adapters.adk import TotonoeMemoryService
from totonoe.errors import InvalidArgument
from totonoe_server.tools.testing import RunningServer

ANN = {"app_name": "support", "user_id": "ann"}
BEN = {"app_name": "support", "user_id": "ben"}
COLLECTIONS = (f"adk-{number}" for number in count())


def event(text: str, name: str, author: str = "user", **fields: Any) -> Event:
    content = types.Content(role="user", parts=[types.Part(text=text)])
    return Event(id=name, author=author, content=content, timestamp=1_767_225_600.0, **fields)


def session(*events: Event, user_id: str = "ann", name: str = "s1") -> Session:
    return Session(id=name, app_name="support", user_id=user_id, events=list(events))


def entry(text: str, **fields: Any) -> MemoryEntry:
    return MemoryEntry(content=types.Content(parts=[types.Part(text=text)]), **fields)


def run(
    server: RunningServer,
    use: Callable[[TotonoeMemoryService], Awaitable[Any]],
    **options: Any,
) -> Any:
    async def main() -> Any:
        collection = next(COLLECTIONS)
        async with AsyncClient(server.address, collection=collection) as client:
            await client.create_collection(collection)
            return await use(TotonoeMemoryService(client, **options))

    return asyncio.run(main())


def texts(found: Any) -> list[str]:
    return [memory.content.parts[0].text for memory in found.memories]


def test_session_added_twice_is_saved_once_with_author_and_time(
    server: RunningServer,
) -> None:
    told = session(event("My cat is called Miso.", "e1"), event("Noted.", "e2", "helper"))

    async def use(service: TotonoeMemoryService) -> Any:
        await service.add_session_to_memory(told)
        await service.add_session_to_memory(told)
        return await service.search_memory(**ANN, query="what is my cat called")

    found = run(server, use)
    assert sorted(texts(found)) == ["My cat is called Miso.", "Noted."]
    first = next(memory for memory in found.memories if "Miso" in memory.content.parts[0].text)
    assert (first.author, first.content.role) == ("user", "user")
    assert first.timestamp == "2026-01-01T00:00:00+00:00"
    assert first.id.startswith("mem_")
    assert first.custom_metadata == {}


def test_users_neither_find_nor_refuse_nor_delete_each_others_memories(
    server: RunningServer,
) -> None:
    async def use(service: TotonoeMemoryService) -> Any:
        for user in (ANN, BEN):
            await service.add_memory(**user, memories=[entry("The user is allergic to nuts.")])
        await service.add_memory(app_name="other", user_id="ann", memories=[entry("A third one.")])
        ann = (await service.search_memory(**ANN, query="allergic to nuts")).memories
        ben = (await service.search_memory(**BEN, query="allergic to nuts")).memories
        await service.delete_memory(**BEN, memory_id=ann[0].id)
        after = await service.search_memory(**ANN, query="allergic to nuts")
        public = await service.client.list()
        return ann, ben, after, public

    ann, ben, after, public = run(server, use)
    assert len(ann) == len(ben) == 1
    assert ann[0].id != ben[0].id
    assert [memory.id for memory in after.memories] == [ann[0].id]
    assert public.memories == ()


def test_names_that_would_join_to_the_same_agent_are_kept_apart(
    server: RunningServer,
) -> None:
    async def use(service: TotonoeMemoryService) -> Any:
        await service.add_memory(app_name="a/b", user_id="c", memories=[entry("Likes tea.")])
        await service.add_memory(app_name="x" * 300, user_id="c", memories=[entry("Likes rum.")])
        return [
            texts(await service.search_memory(app_name=app, user_id=user, query="likes"))
            for app, user in (("a", "b/c"), ("a/b", "c"), ("x" * 300, "c"), ("x" * 300, "d"))
        ]

    assert run(server, use) == [[], ["Likes tea."], ["Likes rum."], []]


def test_statement_said_again_is_one_memory(server: RunningServer) -> None:
    async def use(service: TotonoeMemoryService) -> Any:
        twice = [entry("The user lives in Oslo.", author="helper", custom_metadata={"source": "x"})]
        await service.add_memory(**ANN, memories=twice, custom_metadata={"batch": 1})
        await service.add_memory(**ANN, memories=twice)
        return await service.search_memory(**ANN, query="where does the user live")

    (only,) = run(server, use).memories
    assert (only.author, only.custom_metadata) == ("helper", {"batch": 1, "source": "x"})


def test_deleted_event_does_not_come_back_with_its_session(
    server: RunningServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    told = session(event("The door code is 4711.", "e1"), event("The light is on.", "e2"))

    async def use(service: TotonoeMemoryService) -> Any:
        await service.add_session_to_memory(told)
        found = (await service.search_memory(**ANN, query="door code")).memories
        await service.delete_memory(**ANN, memory_id=found[0].id)
        await service.delete_memory(**ANN, memory_id=found[0].id)
        await service.delete_memory(**ANN)
        # As after the days for which the daemon keeps the answers of operations.
        monkeypatch.setattr(adk, "_operation_id", lambda *_: "")
        await service.add_session_to_memory(told)
        return await service.search_memory(**ANN, query="door code")

    assert texts(run(server, use)) == ["The light is on."]


def test_event_without_text_partial_event_and_empty_query_save_and_find_nothing(
    server: RunningServer,
) -> None:
    call = types.Part(function_call=types.FunctionCall(name="f", args={}))
    silent = Event(id="e1", author="a", content=types.Content(parts=[call]))
    events = [silent, Event(id="e2", author="a"), event("Half a sen", "e3", partial=True)]
    events.append(event(" \n", "e4"))

    async def use(service: TotonoeMemoryService) -> Any:
        await service.add_events_to_memory(**ANN, events=events)
        await service.add_events_to_memory(**ANN, events=[event("Kept.", "e5")])
        return (
            await service.search_memory(**ANN, query=" "),
            await service.search_memory(**ANN, query="sentence"),
        )

    empty, found = run(server, use)
    assert empty.memories == []
    assert texts(found) == ["Kept."]


def test_event_longer_than_a_memory_is_kept_whole(server: RunningServer) -> None:
    long = "".join(f"行{number}の話。" for number in range(6000))

    async def use(service: TotonoeMemoryService) -> Any:
        await service.add_events_to_memory(**ANN, events=[event(long, "e1")])
        own = service.client.as_agent("support/ann")
        return [memory async for memory in own.list_all(kinds=["event"])]

    kept = sorted(run(server, use), key=lambda memory: memory.attributes.get("piece", 0))
    assert len(kept) == 3
    assert "".join(memory.content for memory in kept) == long


def test_metadata_that_is_no_json_is_an_error_that_names_the_field(
    server: RunningServer,
) -> None:
    async def use(service: TotonoeMemoryService) -> Any:
        await service.add_memory(
            **ANN, memories=[entry("Likes jazz.")], custom_metadata={"x": "y" * 20_000}
        )

    with pytest.raises(InvalidArgument, match="attributes"):
        run(server, use)


def test_limit_outside_its_range_is_refused(server: RunningServer) -> None:
    async def use(service: TotonoeMemoryService) -> Any:
        for number in range(5):
            await service.add_memory(**ANN, memories=[entry(f"Room {number} has a lamp.")])
        return await service.search_memory(**ANN, query="lamp")

    assert len(run(server, use, limit=2).memories) == 2
    for limit in (0, 1001):
        with pytest.raises(ValueError, match=f"limit: got {limit}, allowed: 1 to 1000"):
            run(server, use, limit=limit)


class Asking(BaseLlm):
    """A model that loads memories, then says what it got."""

    async def generate_content_async(self, llm_request: Any, **_: Any) -> Any:
        last = llm_request.contents[-1].parts[-1]
        if last.function_response is None:
            call = types.FunctionCall(name="load_memory", args={"query": "cat"})
            part = types.Part(function_call=call)
        else:
            part = types.Part(text=str(last.function_response.response))
        yield LlmResponse(content=types.Content(role="model", parts=[part]))


def test_agent_of_adk_finds_in_a_second_session_what_was_said_in_the_first(
    server: RunningServer,
) -> None:
    async def use(service: TotonoeMemoryService) -> str:
        await service.add_session_to_memory(session(event("My cat is called Miso.", "e1")))
        sessions = InMemorySessionService()
        await sessions.create_session(**ANN, session_id="s2")
        agent = LlmAgent(name="helper", model=Asking(model="scripted"), tools=[load_memory])
        runner = Runner(
            app_name="support", agent=agent, session_service=sessions, memory_service=service
        )
        question = types.Content(role="user", parts=[types.Part(text="What is my cat called?")])
        said = []
        async for answer in runner.run_async(user_id="ann", session_id="s2", new_message=question):
            said += [part.text for part in answer.content.parts if part.text]
        return "\n".join(said)

    assert "My cat is called Miso." in run(server, use)
