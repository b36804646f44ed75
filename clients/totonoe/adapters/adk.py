"""Google ADK: the memory of users behind `BaseMemoryService`. Needs `pip install 'totonoe[adk]'`.

    from google.adk.runners import Runner
    from totonoe import AsyncClient
    from totonoe.adapters.adk import TotonoeMemoryService

    runner = Runner(..., memory_service=TotonoeMemoryService(AsyncClient(collection="support")))

All memories of a user are private to one agent id, made of the app's and the user's name. So no
user finds, or is refused by, what another user said, and one collection serves any number of users.
Events are kept as they are, as a log; what `add_memory` saves passes the guard.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from urllib.parse import quote

try:
    from google.adk.events import Event
    from google.adk.memory import BaseMemoryService
    from google.adk.memory.base_memory_service import SearchMemoryResponse
    from google.adk.memory.memory_entry import MemoryEntry
    from google.adk.sessions import Session
    from google.genai import types
except ModuleNotFoundError as error:
    raise ModuleNotFoundError(
        "the memory service needs the package google-adk: pip install 'totonoe[adk]'",
        name=error.name,
    ) from error

from totonoe.adapters.texts import pieces
from totonoe.aio import AsyncClient
from totonoe.enums import Source, Status
from totonoe.errors import NotFound, OperationIdReused, TotonoeError
from totonoe.memories.drafts import Draft
from totonoe.memories.models import Memory

NO_SESSION = "unknown_session"
EVERY_STATUS = tuple(status for status in Status if status is not Status.UNKNOWN)


class TotonoeMemoryService(BaseMemoryService):
    """Keeps sessions and memories of users in a collection.

    Parameters
    ----------
    client : AsyncClient
        Its collection is used; its agent id is not. The caller closes it.
    limit : int
        Memories that a search returns at most, 1 to 1,000.
    """

    def __init__(self, client: AsyncClient, *, limit: int = 10) -> None:
        if not 1 <= limit <= 1000:
            raise ValueError(f"limit: got {limit}, allowed: 1 to 1000")
        self.client = client
        self._limit = limit

    async def add_session_to_memory(self, session: Session) -> None:
        """Saves the texts of a session. Events that were saved before are not saved again."""
        await self.add_events_to_memory(
            app_name=session.app_name,
            user_id=session.user_id,
            events=session.events,
            session_id=session.id,
        )

    async def add_events_to_memory(
        self,
        *,
        app_name: str,
        user_id: str,
        events: Sequence[Event],
        session_id: str | None = None,
        custom_metadata: Mapping[str, object] | None = None,
    ) -> None:
        """Saves the texts of events, each event once, even if it was deleted since.

        `custom_metadata`, a JSON object, goes into the attributes of each memory.
        """
        agent_id = _agent_id(app_name, user_id)
        session = session_id or NO_SESSION
        saved = {
            memory.attributes.get("event")
            async for memory in self.client.as_agent(agent_id).list_all(
                session_ids=[session], agent_ids=[agent_id], kinds=["event"], statuses=EVERY_STATUS
            )
        }
        drafts = (
            draft
            for event in events
            if not event.partial and event.id not in saved
            for draft in _of_event(event, agent_id, session, custom_metadata)
        )
        # Of an event that has changed since, the first version stands.
        await self._save(drafts, harmless=OperationIdReused)

    async def add_memory(
        self,
        *,
        app_name: str,
        user_id: str,
        memories: Sequence[MemoryEntry],
        custom_metadata: Mapping[str, object] | None = None,
    ) -> None:
        """Saves statements about a user. The guard refuses what a memory of the user says already.

        `custom_metadata` of the call and of the entries goes into the attributes.
        """
        agent_id = _agent_id(app_name, user_id)
        drafts = (
            Draft(
                piece,
                agent_id=agent_id,
                private=True,
                attributes={
                    **dict(custom_metadata or {}),
                    **entry.custom_metadata,
                    **_origin(entry.author, entry.content.role),
                },
                source=_source(entry.author),
            )
            for entry in memories
            for piece in pieces(_text(entry.content))
        )
        await self._save(drafts)

    async def search_memory(
        self, *, app_name: str, user_id: str, query: str
    ) -> SearchMemoryResponse:
        """Returns the memories of a user that answer a query, best first."""
        if not query.strip():
            return SearchMemoryResponse()
        agent_id = _agent_id(app_name, user_id)
        recalled = await self.client.as_agent(agent_id).recall(
            query, k=self._limit, agent_ids=[agent_id]
        )
        return SearchMemoryResponse(memories=[_entry(hit.memory) for hit in recalled.hits])

    async def delete_memory(
        self, *, app_name: str, user_id: str, memory_id: str | None = None
    ) -> None:
        """Forgets one memory of a user; nothing happens if the user has none of this id."""
        if not memory_id:
            return
        agent_id = _agent_id(app_name, user_id)
        own = self.client.as_agent(agent_id)
        with suppress(NotFound):
            if (await own.get(memory_id)).agent_id == agent_id:
                await own.forget(memory_id, reason="deleted through ADK")

    async def _save(
        self, drafts: Iterable[Draft], harmless: type[TotonoeError] | tuple[()] = ()
    ) -> None:
        """Saves all drafts that can be saved, then raises the first error that is not harmless."""
        failed: TotonoeError | None = None
        async for result in self.client.remember_many(drafts):
            error = result.error
            if failed is None and error is not None and not isinstance(error, harmless):
                failed = error
        if failed is not None:
            raise failed


def _agent_id(app_name: str, user_id: str) -> str:
    """`app/user`, where no two pairs of names are equal; a hash of it if it is long."""
    name = f"{quote(app_name, safe='')}/{quote(user_id, safe='')}"
    return name if len(name) <= 128 else "adk/" + hashlib.sha256(name.encode()).hexdigest()


def _text(content: types.Content | None) -> str:
    parts = content.parts if content and content.parts else []
    return "\n".join(part.text for part in parts if part.text and not part.thought)


def _origin(author: str | None, role: str | None) -> Mapping[str, str]:
    return {name: value for name, value in (("author", author), ("role", role)) if value}


def _source(author: str | None) -> Source:
    return Source.USER if author == "user" else Source.AGENT


def _of_event(
    event: Event, agent_id: str, session_id: str, metadata: Mapping[str, object] | None
) -> Iterator[Draft]:
    role = event.content.role if event.content else None
    created = datetime.fromtimestamp(event.timestamp, UTC)
    for number, piece in enumerate(pieces(_text(event.content))):
        yield Draft(
            piece,
            kind="event",
            agent_id=agent_id,
            session_id=session_id,
            private=True,
            attributes={
                **dict(metadata or {}),
                **_origin(event.author, role),
                "event": event.id,
                **({"piece": number} if number else {}),
            },
            source=_source(event.author),
            created_time=min(created, datetime.now(UTC)),
            # Two callers that add an event at the same time make the same operation.
            operation_id=_operation_id(agent_id, session_id, event.id, str(number)),
        )


def _operation_id(*names: str) -> str:
    return "adk_" + hashlib.sha256("\0".join(names).encode()).hexdigest()[:32]


def _entry(memory: Memory) -> MemoryEntry:
    own = ("author", "role", "event", "piece")
    author, role = (memory.attributes.get(name) for name in own[:2])
    return MemoryEntry(
        content=types.Content(parts=[types.Part(text=memory.content)], role=role),
        custom_metadata={
            name: value for name, value in memory.attributes.items() if name not in own
        },
        id=memory.id,
        author=author,
        timestamp=memory.created_time.isoformat(),
    )
