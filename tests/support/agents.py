"""The official MCP client, for tests that are no coroutines."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import anyio.from_thread
from mcp import Client
from mcp_types import CallToolResult, Implementation

PROTOCOLS = {"auto": "2026-07-28", "legacy": "2025-11-25"}
"""Modes of the client, and the protocol that each speaks with a server of today."""


class Agent:
    """A connected client whose calls block.

    Attributes
    ----------
    progress : list of (float, float or None)
        Notifications of progress, in order.
    """

    def __init__(self, client: Client, portal: Any) -> None:
        self.client = client
        self._portal = portal
        self.progress: list[tuple[float, float | None]] = []

    def call(self, tool: str, **arguments: Any) -> CallToolResult:
        async def noted(seen: float, total: float | None, _: str | None) -> None:
            self.progress.append((seen, total))

        found = partial(self.client.call_tool, tool, arguments, progress_callback=noted)
        answer: CallToolResult = self._portal.call(found)
        return answer

    def text(self, tool: str, **arguments: Any) -> str:
        """Return the text of an answer that is no error."""
        answer = self.call(tool, **arguments)
        assert not answer.is_error, answer
        return text_of(answer)

    def data(self, tool: str, **arguments: Any) -> dict[str, Any]:
        """Return the structure of an answer that is no error. The client checks its schema."""
        answer = self.call(tool, **arguments)
        assert not answer.is_error, answer
        assert isinstance(answer.structured_content, dict)
        return answer.structured_content

    def error(self, tool: str, **arguments: Any) -> str:
        """Return the text of an answer that is an error."""
        answer = self.call(tool, **arguments)
        assert answer.is_error, answer
        return text_of(answer)

    def ask(self, method: str, *arguments: Any) -> Any:
        """Call a method of the client."""
        return self._portal.call(getattr(self.client, method), *arguments)


def text_of(answer: CallToolResult) -> str:
    """Return the one text of an answer."""
    (content,) = answer.content
    assert content.type == "text"
    return content.text


@contextmanager
def agent(server: Any, mode: str = "auto", name: str = "host") -> Iterator[Agent]:
    """Connect to an `MCPServer`, a command, a transport or a URL."""
    client = Client(server, mode=mode, client_info=Implementation(name=name, version="1"))
    with (
        anyio.from_thread.start_blocking_portal() as portal,
        portal.wrap_async_context_manager(client) as connected,
    ):
        assert connected.protocol_version == PROTOCOLS[mode]
        yield Agent(connected, portal)
