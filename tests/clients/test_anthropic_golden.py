"""Golden cases of the memory tool: `tests/golden/memory_tool.json`, which says how it is read."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from anthropic.lib.tools import ToolError

from totonoe import Client
from totonoe.adapters.anthropic import MemoryTool
from totonoe_server.tools.testing import RunningServer

CASES = json.loads(
    (Path(__file__).parents[1] / "golden" / "memory_tool.json").read_text(encoding="utf-8")
)["cases"]


@pytest.mark.parametrize("case", CASES, ids=[case["name"] for case in CASES])
def test_golden_case_is_answered_as_it_says(
    server: RunningServer, collection: str, case: Any
) -> None:
    with Client(server.address, agent_id="ann", collection=collection) as client:
        tool = MemoryTool(client, **case.get("options", {}))
        for number, step in enumerate(case["steps"], 1):
            place = f"step {number}"
            if "lines" in step:
                found = [
                    memory.content for memory in client.list_all() if memory.category != "file"
                ]
                assert sorted(found) == step["lines"], place
                continue
            command = {name: _given(value) for name, value in step["command"].items()}
            if "answer" in step:
                assert tool.call(command) == step["answer"], place
                continue
            with pytest.raises(ToolError) as caught:
                tool.call(command)
            said = str(caught.value)
            if "error" in step:
                assert said == step["error"], place
            else:
                assert said.startswith(step["error_begins"]), place


def _given(value: Any) -> Any:
    if isinstance(value, dict):
        return value["$times"] * value["text"]
    return value
