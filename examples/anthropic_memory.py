"""An agent of Anthropic's SDK whose memory is in totonoe.

    pip install 'totonoe[server,anthropic]'
    totonoe serve &
    export ANTHROPIC_API_KEY=...
    python examples/anthropic_memory.py "The staging database moved to port 5433."
    python examples/anthropic_memory.py "Which port has the staging database?"

The model keeps its notes in files below /memories. Other agents find each line of them by `recall`.
"""

from __future__ import annotations

import argparse

from anthropic import Anthropic

from totonoe import Client
from totonoe.adapters.anthropic import MemoryTool

SYSTEM = (
    "View /memories before you answer. Write down there what a later conversation will need, one"
    " statement to a line. If an answer ends with a Note that a line says the same as another,"
    " remove one of the two."
)


def main() -> None:
    """Answer one message, with the memory tool at hand."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("message")
    parser.add_argument("--model", default="claude-sonnet-5-5")
    parser.add_argument("--agent", default="claude")
    given = parser.parse_args()
    with Client(agent_id=given.agent) as client:
        runner = Anthropic().beta.messages.tool_runner(
            model=given.model,
            max_tokens=2048,
            system=SYSTEM,
            messages=[{"role": "user", "content": given.message}],
            tools=[MemoryTool(client)],
            betas=["context-management-2025-06-27"],
        )
        for block in runner.until_done().content:
            if block.type == "text":
                print(block.text)


if __name__ == "__main__":
    main()
