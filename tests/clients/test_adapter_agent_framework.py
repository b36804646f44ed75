"""Microsoft's Agent Framework: a real agent with a scripted model recalls, remembers and logs."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from itertools import count
from typing import Any

import pytest
from agent_framework import (
    Agent,
    BaseChatClient,
    ChatResponse,
    Content,
    FunctionInvocationLayer,
    Message,
)

from totonoe import AsyncClient
from totonoe.adapters.agent_framework import TotonoeContextProvider
from totonoe.errors import Unavailable
from totonoe.fence import LEAD
from totonoe_server.tools.testing import RunningServer

COLLECTIONS = (f"af-{number}" for number in count())


class Scripted(FunctionInvocationLayer, BaseChatClient):  # type: ignore[misc]
    """A model that says what its script says: a text, or the arguments of a tool call."""

    def __init__(self, *script: str | dict[str, str]) -> None:
        super().__init__()
        self.script = list(script)
        self.seen: list[list[str]] = []
        self.results: list[str] = []

    async def _inner_get_response(self, *, messages: Any, **_: Any) -> ChatResponse:
        self.seen.append([message.text for message in messages])
        self.results += [
            str(content.result)
            for message in messages
            for content in message.contents
            if content.type == "function_result"
        ]
        said = self.script.pop(0)
        content = (
            Content.from_text(said)
            if isinstance(said, str)
            else Content.from_function_call(call_id="c1", name="remember", arguments=said)
        )
        return ChatResponse(messages=[Message("assistant", [content])])


def run(
    server: RunningServer, use: Callable[[AsyncClient], Awaitable[Any]], collection: str = ""
) -> Any:
    async def main() -> Any:
        name = collection or next(COLLECTIONS)
        async with AsyncClient(server.address, agent_id="ann", collection=name) as client:
            await client.create_collection(name)
            return await use(client)

    return asyncio.run(main())


def test_agent_recalls_in_the_next_session_what_its_model_saved(server: RunningServer) -> None:
    fact = "Ann wants commit messages of at most 50 characters."
    model = Scripted({"content": fact}, "Noted.", {"content": fact}, "I know.")

    async def use(client: AsyncClient) -> Any:
        agent = Agent(client=model, context_providers=[TotonoeContextProvider(client)])
        await agent.run("Keep my commit messages short, 50 characters.")
        await agent.run("How many characters may commit messages of Ann have?")
        return [memory async for memory in client.list_all()]

    stored = run(server, use)
    assert sorted((memory.kind, memory.content) for memory in stored) == [
        ("event", "How many characters may commit messages of Ann have?"),
        ("event", "Keep my commit messages short, 50 characters."),
        ("state", fact),
    ]
    (state,) = [memory for memory in stored if memory.kind == "state"]
    assert model.results[0] == f"Saved (id: {state.id})."
    assert model.results[-1] == f"Known already (id: {state.id}): {fact}"
    assert not any(LEAD in text for text in model.seen[0])
    (notes,) = [text for text in model.seen[2] if text.startswith(LEAD)]
    assert f"{state.created_time:%Y-%m-%d} {fact}" in notes
    assert "Keep my commit messages short" in notes


def test_what_was_said_in_this_session_is_not_recalled_into_it(server: RunningServer) -> None:
    model = Scripted("Hello.", "Yes.")

    async def use(client: AsyncClient) -> None:
        agent = Agent(client=model, context_providers=[TotonoeContextProvider(client)])
        session = agent.create_session()
        await agent.run("The red box is in the attic.", session=session)
        await agent.run("Where is the red box?", session=session)

    run(server, use)
    assert sum("The red box is in the attic." in text for text in model.seen[1]) == 1


@pytest.mark.parametrize("private", [True, False])
def test_private_memories_are_for_the_own_agent_id_only(
    server: RunningServer, private: bool
) -> None:
    async def use(client: AsyncClient) -> Any:
        provider = TotonoeContextProvider(client, private=private)
        agent = Agent(client=Scripted({"content": "Pay day is the 25th."}, "Ok."))
        agent.context_providers.append(provider)
        await agent.run("Pay day is the 25th, remember that.")
        other = client.as_agent("ben")
        return len((await other.list()).memories)

    assert run(server, use) == (0 if private else 2)


def test_log_can_be_switched_off_and_empty_input_saves_nothing(server: RunningServer) -> None:
    async def use(client: AsyncClient) -> Any:
        for log, text in ((False, "Nothing of this is kept."), (True, " ")):
            provider = TotonoeContextProvider(client, log=log)
            await Agent(client=Scripted("Ok."), context_providers=[provider]).run(text)
        return (await client.list()).memories

    assert run(server, use) == ()


def test_refused_argument_reaches_the_model_as_a_reason(server: RunningServer) -> None:
    model = Scripted({"content": ""}, "Sorry.")

    async def use(client: AsyncClient) -> None:
        provider = TotonoeContextProvider(client, log=False)
        await Agent(client=model, context_providers=[provider]).run("Save nothing.")

    run(server, use)
    assert model.results[0].startswith("Not saved: memory.content: ")


def test_long_input_is_logged_whole(server: RunningServer) -> None:
    long = "very " * 8000 + "long"

    async def use(client: AsyncClient) -> Any:
        provider = TotonoeContextProvider(client)
        await Agent(client=Scripted("Ok."), context_providers=[provider]).run(long)
        return [memory.content async for memory in client.list_all()]

    assert sorted(map(len, run(server, use))) == sorted((32_768, len(long) - 32_768))


def test_daemon_that_is_gone_is_an_error_and_not_a_silent_lack_of_memory() -> None:
    async def use() -> None:
        async with AsyncClient("127.0.0.1:1", timeout_s=0.2) as client:
            provider = TotonoeContextProvider(client)
            await Agent(client=Scripted("Ok."), context_providers=[provider]).run("Hello?")

    with pytest.raises(Unavailable):
        asyncio.run(use())


@pytest.mark.parametrize("limit", [0, 51])
def test_limit_outside_its_range_is_refused(limit: int) -> None:
    with pytest.raises(ValueError, match=f"limit: got {limit}, allowed: 1 to 50"):
        TotonoeContextProvider(AsyncClient("127.0.0.1:1"), limit=limit)
