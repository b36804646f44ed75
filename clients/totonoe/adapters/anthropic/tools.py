"""The tools that the SDK's tool runner calls."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from anthropic.lib.tools import BetaAbstractMemoryTool, BetaAsyncAbstractMemoryTool, ToolError
from anthropic.types.beta import (
    BetaCacheControlEphemeralParam,
    BetaMemoryTool20250818Command,
    BetaMemoryTool20250818CreateCommand,
    BetaMemoryTool20250818DeleteCommand,
    BetaMemoryTool20250818InsertCommand,
    BetaMemoryTool20250818RenameCommand,
    BetaMemoryTool20250818StrReplaceCommand,
    BetaMemoryTool20250818ViewCommand,
)

from totonoe.adapters.anthropic.files import Files
from totonoe.adapters.anthropic.notes import Notes
from totonoe.adapters.steps import Steps, run, run_async
from totonoe.errors import TotonoeError

if TYPE_CHECKING:
    from totonoe.aio import AsyncClient
    from totonoe.client import Client

_FIELDS: Mapping[str, Mapping[str, str]] = {
    "view": {"path": "text", "view_range": "two whole numbers, or none"},
    "create": {"path": "text", "file_text": "text"},
    "str_replace": {"path": "text", "old_str": "text", "new_str": "text"},
    "insert": {"path": "text", "insert_line": "a whole number", "insert_text": "text"},
    "delete": {"path": "text"},
    "rename": {"old_path": "text", "new_path": "text"},
}


def _fits(value: object, allowed: str) -> bool:
    if allowed == "text":
        return isinstance(value, str)
    if allowed == "a whole number":
        return type(value) is int
    return value is None or (isinstance(value, list) and all(type(item) is int for item in value))


def _steps(files: Files, command: object) -> Steps[str]:
    """Return the steps of a command. Raises `ToolError` that names a field and what is allowed."""
    name = getattr(command, "command", None)
    if not isinstance(name, str) or name not in _FIELDS:
        raise ToolError(f"Unknown command: {name}. Allowed: {', '.join(_FIELDS)}.")
    fields: dict[str, Any] = {}
    for field, allowed in _FIELDS[name].items():
        fields[field] = getattr(command, field, None)
        if not _fits(fields[field], allowed):
            got = type(fields[field]).__name__
            raise ToolError(f"Invalid `{field}` parameter: got {got}; allowed: {allowed}.")
    made: Steps[str] = getattr(files, name)(**fields)
    return made


def _check_input(value: object) -> None:
    name = value.get("command") if isinstance(value, Mapping) else value
    if not isinstance(value, Mapping) or not isinstance(name, str) or name not in _FIELDS:
        raise ToolError(f"Unknown command: {name}. Allowed: {', '.join(_FIELDS)}.")


@contextmanager
def _as_tool_error() -> Iterator[None]:
    """Raise `ToolError` for a failed call that the steps of a command do not handle."""
    try:
        yield
    except TotonoeError as error:
        raise ToolError(f"The memory did not take the command: {error}") from error


def _files(collection: str | None, private: bool, notes: bool) -> Files:
    return Files(collection, private, Notes(collection, private) if notes else None)


class MemoryTool(BetaAbstractMemoryTool):
    """Anthropic's memory tool; its files are memories of a collection.

    It answers with the strings of the SDK's `BetaLocalFilesystemMemoryTool`. What the guard finds
    in new lines follows as a Note.

    Parameters
    ----------
    client : Client
        Its agent owns the files. Stays open until you close it.
    collection : str or None
        Where the files are. `None`: the client's collection.
    private : bool
        New files, and their lines, are visible to the client's agent only.
    notes : bool
        Save bullets and paragraphs of files as memories of their own, through the guard.
    cache_control : dict or None
        As in the SDK: a cache breakpoint at the tool's definition.
    """

    def __init__(
        self,
        client: Client,
        *,
        collection: str | None = None,
        private: bool = False,
        notes: bool = True,
        cache_control: BetaCacheControlEphemeralParam | None = None,
    ) -> None:
        super().__init__(cache_control=cache_control)
        self._client = client
        self._files = _files(collection, private, notes)

    def call(self, input: object) -> str:
        """Carry out the input of a tool call. Raises `ToolError`, whose text the model reads."""
        _check_input(input)
        return str(super().call(input))

    def execute(self, command: BetaMemoryTool20250818Command) -> str:
        """Carry out a command. Raises `ToolError`."""
        with _as_tool_error():
            return run(self._client, _steps(self._files, command))

    def view(self, command: BetaMemoryTool20250818ViewCommand) -> str:
        """Show a file with line numbers, or what is below a directory."""
        return self.execute(command)

    def create(self, command: BetaMemoryTool20250818CreateCommand) -> str:
        """Make a file."""
        return self.execute(command)

    def str_replace(self, command: BetaMemoryTool20250818StrReplaceCommand) -> str:
        """Replace a text that occurs once in a file."""
        return self.execute(command)

    def insert(self, command: BetaMemoryTool20250818InsertCommand) -> str:
        """Insert lines into a file."""
        return self.execute(command)

    def delete(self, command: BetaMemoryTool20250818DeleteCommand) -> str:
        """Forget a file or a directory."""
        return self.execute(command)

    def rename(self, command: BetaMemoryTool20250818RenameCommand) -> str:
        """Move a file or a directory."""
        return self.execute(command)

    def clear_all_memory(self) -> str:
        """Forget all files and directories, and the lines that only they hold."""
        with _as_tool_error():
            return run(self._client, self._files.clear_all_memory())


class AsyncMemoryTool(BetaAsyncAbstractMemoryTool):
    """The same tool for an `AsyncClient` and the SDK's asynchronous tool runner.

    See `MemoryTool`.
    """

    def __init__(
        self,
        client: AsyncClient,
        *,
        collection: str | None = None,
        private: bool = False,
        notes: bool = True,
        cache_control: BetaCacheControlEphemeralParam | None = None,
    ) -> None:
        super().__init__(cache_control=cache_control)
        self._client = client
        self._files = _files(collection, private, notes)

    async def call(self, input: object) -> str:
        """Carry out the input of a tool call. Raises `ToolError`, whose text the model reads."""
        _check_input(input)
        return str(await super().call(input))

    async def execute(self, command: BetaMemoryTool20250818Command) -> str:
        """Carry out a command. Raises `ToolError`."""
        with _as_tool_error():
            return await run_async(self._client, _steps(self._files, command))

    async def view(self, command: BetaMemoryTool20250818ViewCommand) -> str:
        """Show a file with line numbers, or what is below a directory."""
        return await self.execute(command)

    async def create(self, command: BetaMemoryTool20250818CreateCommand) -> str:
        """Make a file."""
        return await self.execute(command)

    async def str_replace(self, command: BetaMemoryTool20250818StrReplaceCommand) -> str:
        """Replace a text that occurs once in a file."""
        return await self.execute(command)

    async def insert(self, command: BetaMemoryTool20250818InsertCommand) -> str:
        """Insert lines into a file."""
        return await self.execute(command)

    async def delete(self, command: BetaMemoryTool20250818DeleteCommand) -> str:
        """Forget a file or a directory."""
        return await self.execute(command)

    async def rename(self, command: BetaMemoryTool20250818RenameCommand) -> str:
        """Move a file or a directory."""
        return await self.execute(command)

    async def clear_all_memory(self) -> str:
        """Forget all files and directories, and the lines that only they hold."""
        with _as_tool_error():
            return await run_async(self._client, self._files.clear_all_memory())
