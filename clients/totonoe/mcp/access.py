"""Calls of the daemon on behalf of whoever sent a request."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from contextvars import ContextVar
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

from totonoe import steps
from totonoe.call.channel import DEFAULT_ADDRESS
from totonoe.errors import (
    AlreadyExists,
    DeadlineExceeded,
    NotFound,
    PermissionDenied,
    Unavailable,
    Unreachable,
)
from totonoe.mcp.settings import Settings
from totonoe.mcp.starting import DaemonStarter, StartFailed

if TYPE_CHECKING:
    from totonoe.aio import AsyncClient

R = TypeVar("R")

AGENT_HEADER = "x-totonoe-agent"
SESSION_HEADER = "x-totonoe-session"
NAME_BYTES_MAX = 256
"""Bytes of the name that a host gives itself."""
NOBODY = "mcp"
STARTING_CALL_S = 1.8
"""Seconds that a call may take while a daemon starts."""
STARTING = "The memory is starting; try again in 5 seconds."
TRIES_MAX = 6
"""Tries of a call, within about a second: then the agent hears that the memory is starting."""
BACKOFF_MAX_S = 0.4


class Refused(Exception):  # noqa: N818 - named for what happened, as the errors of the client
    """A call that is not made. The message is for the agent: the field and what is allowed."""


@dataclass(frozen=True, slots=True)
class Caller:
    """Sender of a request: its agent id (empty: that of its identity) and its session."""

    agent: str
    session: str


CALLER: ContextVar[Caller] = ContextVar("caller")


def caller_of(settings: Settings, headers: Mapping[str, str] | None, host_name: str) -> Caller:
    """Return the caller of a request.

    Parameters
    ----------
    headers : mapping or None
        Those of a request over HTTP.
    host_name : str
        The name that the host gives itself by the protocol; empty: none.
    """
    said = headers or {}
    # The daemon takes no name with a line end or a control character, and hosts choose freely.
    printed = "".join(char if char.isprintable() else " " for char in host_name)
    named = " ".join(printed.split()).encode()[:NAME_BYTES_MAX].decode(errors="ignore")
    # A proved identity speaks as its own agent, which the daemon knows by itself.
    default = "" if settings.proved else named or NOBODY
    agent = said.get(AGENT_HEADER, "").strip() or settings.agent or default
    return Caller(agent, said.get(SESSION_HEADER, "").strip() or settings.session)


class Access:
    """Calls one daemon, and starts it where that is allowed.

    Parameters
    ----------
    settings : Settings
    starter : DaemonStarter
    """

    def __init__(self, settings: Settings, starter: DaemonStarter) -> None:
        self.settings = settings
        self._starter = starter
        self._connected: AsyncClient | None = None

    async def close(self) -> None:
        """Close the connection."""
        connected, self._connected = self._connected, None
        if connected is not None:
            await connected.close()

    async def run(self, call: Callable[[AsyncClient], Awaitable[R]]) -> R:
        """Make a call as the sender of the present request.

        Raises
        ------
        Refused
            The daemon starts, or cannot be started.
        TotonoeError
            The call failed.
        """
        client = self._client()
        try:
            answer = await self._tried(client, call)
        except Unreachable:
            raise Refused(self._start()) from None
        except (Unavailable, DeadlineExceeded):
            if self._starter.starting:
                raise Refused(STARTING) from None
            raise
        self._starter.answered()
        return answer

    async def _tried(self, client: AsyncClient, call: Callable[[AsyncClient], Awaitable[R]]) -> R:
        """Make the call, and the collection before it if that is missing."""
        try:
            return await call(client)
        except NotFound as error:
            if error.reason != "COLLECTION_NOT_FOUND" or not self.settings.collection:
                raise
        name = self.settings.collection
        try:
            # Another server of this project may be faster.
            with suppress(AlreadyExists):
                await client.create_collection(name)
        except PermissionDenied:
            place = steps.at(self.settings.address, DEFAULT_ADDRESS)
            raise Refused(
                f"There is no collection {name!r}, and this identity may not create it. Somebody "
                f"who may does: {steps.line(place, 'collections', 'create', name)}"
            ) from None
        return await call(client)

    def _start(self) -> str:
        """Start a daemon, and return the answer for the agent."""
        try:
            self._starter.ensure()
        except StartFailed as failure:
            return str(failure)
        return STARTING

    def _client(self) -> AsyncClient:
        """Return a client that calls as the present caller, over the one connection."""
        if self._connected is None:
            # gRPC is loaded by the first call, so that a host gets the list of tools early.
            from totonoe.aio import AsyncClient
            from totonoe.call.retry import RetryPolicy

            retry = RetryPolicy(attempts_max=TRIES_MAX, backoff_max_s=BACKOFF_MAX_S)
            own = self.settings
            self._connected = AsyncClient(
                own.address,
                collection=own.collection,
                retry=retry,
                token=own.token,
                ca=own.ca,
                cert=own.cert,
                key=own.key,
            )
        client = self._connected.as_agent(CALLER.get().agent)
        limit_s = self.settings.timeout_s
        client._timeout_s = min(STARTING_CALL_S, limit_s) if self._starter.starting else limit_s
        return client
