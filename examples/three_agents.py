"""Three agents in three processes share one collection.

Each agent saves what it learned. What another agent saved before is refused, and the answer names
the memory that says it already. A newer value is saved with a link to the older one.

    python examples/three_agents.py        # needs a daemon: make run
"""

from __future__ import annotations

import subprocess
import sys
from contextlib import suppress

from totonoe import Client
from totonoe.errors import AlreadyExists

COLLECTION = "three-agents"

LEARNED = {
    "planner": (
        "Releases are cut on Tuesdays.",
        "The staging database listens on port 5433.",
        "Ann reviews all changes to the billing code.",
    ),
    "coder": (
        "The staging database listens on port 5433.",
        "The build needs Node 20.",
        "Billing changes need two approvals.",
    ),
    "reviewer": (
        "Releases are cut on Tuesdays.",
        "The staging database listens on port 5440.",
        "The build needs Node 20.",
    ),
}


def save(agent: str) -> None:
    """Saves what one agent learned, and prints what became of each memory."""
    with Client(agent_id=agent, collection=COLLECTION) as memory:
        for text in LEARNED[agent]:
            answer = memory.remember(text)
            if answer.saved:
                print(f"{agent}: saved {answer.memory_id}: {text}")
            else:
                print(f"{agent}: known already as {answer.duplicate_of} ({answer.method}): {text}")


def main() -> None:
    """Starts one process for each agent, then shows what the collection holds."""
    with Client(agent_id="owner") as owner:
        with suppress(AlreadyExists):
            owner.create_collection(COLLECTION)
        agents = [subprocess.Popen([sys.executable, __file__, agent]) for agent in LEARNED]
        failed = [agent.args for agent in agents if agent.wait() != 0]
        if failed:
            raise SystemExit(f"failed: {failed}")
        stored = list(owner.list_all(collection=COLLECTION))
        said = sum(map(len, LEARNED.values()))
        print(f"{said} texts were said, {len(stored)} memories are stored:")
        for hit in owner.recall("port of the staging database", k=2, collection=COLLECTION).hits:
            print(f"- {hit.memory.content} (by {hit.memory.agent_id})")


if __name__ == "__main__":
    if len(sys.argv) == 2:
        save(sys.argv[1])
    else:
        main()
