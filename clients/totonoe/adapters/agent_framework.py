"""Microsoft Agent Framework: memories in the context. Needs the extra `totonoe[agent-framework]`.

    from agent_framework import Agent
    from totonoe import AsyncClient
    from totonoe.adapters.agent_framework import TotonoeContextProvider

    memory = TotonoeContextProvider(AsyncClient(agent_id="ann"))
    agent = Agent(client=..., context_providers=[memory])

Before a run the provider recalls what fits the input and adds a tool `remember`, with which the
model saves what a later conversation will need. After a run it keeps what the user said, as a log.
One provider serves one user: give each user's client an agent id, or a collection, of its own.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice
from typing import Annotated, Any

try:
    from agent_framework import AgentSession, ContextProvider, Message, SessionContext, tool
except ModuleNotFoundError as error:
    raise ModuleNotFoundError(
        "the context provider needs the package agent-framework-core: "
        "pip install 'totonoe[agent-framework]'",
        name=error.name,
    ) from error

from totonoe.adapters.texts import pieces
from totonoe.aio import AsyncClient
from totonoe.errors import TotonoeError
from totonoe.fence import between_markers, indented, quoted
from totonoe.words.text import keyed


class TotonoeContextProvider(ContextProvider):
    """Recalls before a run, lets the model remember, and logs what the user said.

    Parameters
    ----------
    client : AsyncClient
        Its agent id and its collection are used. The caller closes it.
    limit : int
        Memories that are added to a context at most, 1 to 50.
    min_relevance : float
        Leave out memories of lower relevance, 0 to 1.
    private : bool
        What is saved is seen by the client's agent id only.
    log : bool
        Keep what the user said, as events. Events are never refused and never merged.
    """

    DEFAULT_SOURCE_ID = "totonoe"

    def __init__(
        self,
        client: AsyncClient,
        *,
        source_id: str = DEFAULT_SOURCE_ID,
        limit: int = 8,
        min_relevance: float = 0.1,
        private: bool = False,
        log: bool = True,
    ) -> None:
        super().__init__(source_id)
        if not 1 <= limit <= 50:
            raise ValueError(f"limit: got {limit}, allowed: 1 to 50")
        self._client = client
        self._limit = limit
        self._min_relevance = min_relevance
        self._private = private
        self._log = log

    async def before_run(
        self,
        *,
        agent: Any,  # noqa: ARG002 - the interface has it
        session: AgentSession,
        context: SessionContext,
        state: dict[str, Any],  # noqa: ARG002 - the interface has it
    ) -> None:
        """Adds the memories that fit the input, and the tool `remember`."""
        for query in islice(pieces(_said(context.input_messages)), 1):
            recalled = await self._client.recall(
                query, k=self._limit, min_relevance=self._min_relevance
            )
            # What was said in this session stands in the conversation already.
            notes = [
                f"- {hit.memory.created_time:%Y-%m-%d} {indented(keyed(hit.memory))}"
                for hit in recalled.hits
                if hit.memory.session_id != session.session_id
            ]
            if notes:
                context.extend_messages(self, [Message("user", [between_markers(notes)])])
        context.extend_tools(self.source_id, [tool(self._remembering(session.session_id))])

    async def after_run(
        self,
        *,
        agent: Any,  # noqa: ARG002 - the interface has it
        session: AgentSession,
        context: SessionContext,
        state: dict[str, Any],  # noqa: ARG002 - the interface has it
    ) -> None:
        """Keeps what the user said in this run."""
        if not self._log:
            return
        for said in pieces(_said(context.input_messages)):
            await self._client.remember(
                said,
                kind="event",
                source="user",
                session_id=session.session_id,
                private=self._private,
            )

    def _remembering(self, session_id: str) -> Any:
        async def remember(
            content: Annotated[str, "One self-contained fact, decision or preference."],
        ) -> str:
            """Save one durable fact, decision or preference that a later conversation will need.

            A restatement is refused and the existing memory is named: that is success.
            """
            try:
                answer = await self._client.remember(
                    content, session_id=session_id, private=self._private
                )
            except TotonoeError as error:
                return f"Not saved: {error}"
            if answer.duplicate is None:
                return f"Saved (id: {answer.memory_id})."
            return f"Known already (id: {answer.duplicate_of}): {quoted(answer.duplicate)}"

        return remember


def _said(messages: Iterable[Message]) -> str:
    """Return the texts of the user's messages, joined by line ends."""
    texts = (message.text for message in messages if message.role == "user")
    return "\n".join(text for text in texts if text.strip())
