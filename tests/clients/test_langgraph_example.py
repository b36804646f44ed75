"""The example agent runs, as its first lines say, on a real daemon."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from support.waits import wait_s
from totonoe_server.tools.testing import running_server

EXAMPLE = Path(__file__).parents[2] / "examples" / "langgraph_agent.py"


def test_agent_knows_in_the_next_conversation_what_its_user_said() -> None:
    with running_server() as server:
        done = subprocess.run(
            [sys.executable, str(EXAMPLE)],
            env={**os.environ, "TOTONOE_ADDRESS": server.address},
            capture_output=True,
            text=True,
            timeout=wait_s(),
            check=False,
        )
    assert done.returncode == 0, done.stderr
    first, second, of_ben, *_ = done.stdout.split("  agent: ")[1:]
    assert first.startswith("That is new to me.")
    assert second.startswith("I remember: My favourite tea is jasmine.")
    assert of_ben.startswith("That is new to me."), "it is another user's"
    assert "said before: duplicate of mem_" in done.stdout
