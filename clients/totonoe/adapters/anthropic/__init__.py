"""Anthropic's memory tool (`memory_20250818`) on a collection.

from anthropic import Anthropic
from totonoe import Client
from totonoe.adapters.anthropic import MemoryTool

with Client(agent_id="planner") as client:
    runner = Anthropic().beta.messages.tool_runner(tools=[MemoryTool(client)], ...)
"""

try:
    from totonoe.adapters.anthropic.tools import AsyncMemoryTool, MemoryTool
except ModuleNotFoundError as error:
    if (error.name or "").partition(".")[0] != "anthropic":
        raise
    raise ModuleNotFoundError(
        "the memory tool needs the package anthropic: pip install 'totonoe[anthropic]'",
        name=error.name,
    ) from None

__all__ = ["AsyncMemoryTool", "MemoryTool"]
