"""Tidy with a plan that a model made: clusters go to the model, its plan comes back as a file.

The plan in `tidy_plan.json` stands for the model's answer. It is applied as one operation: if a
state changed since the model saw it, nothing is applied. A new text passes the guard. One undo
reverses all of it.

    python examples/tidy_plan.py           # needs a daemon: make run
"""

from __future__ import annotations

import json
from contextlib import suppress
from pathlib import Path

from totonoe import Client
from totonoe.errors import AlreadyExists
from totonoe.tidy.models import TidyCluster

COLLECTION = "tidy-plan"

NOTES = {
    "office-move-1": "The office moves to Kyoto on 3 May.",
    "office-move-2": "The office moves to Kyoto on 3 May; pack your desk the day before.",
}


def main() -> None:
    """Saves two notes, shows the clusters that a model would get, and applies its plan."""
    with Client(agent_id="secretary", collection=COLLECTION) as memory:
        with suppress(AlreadyExists):
            memory.create_collection(COLLECTION)
        for external_id, text in NOTES.items():
            memory.remember(text, external_id=external_id, force=True)

        revisions = {}
        for event in memory.tidy(plan=True, distance_below=0.3):
            if isinstance(event, TidyCluster):
                for member in event.members:
                    print("for the model:", member.memory.external_id, member.memory.content)
                    revisions[f"ext:{member.memory.external_id}"] = member.memory.revision

        plan = json.loads(Path(__file__).with_suffix(".json").read_text("utf-8"))
        for update in plan["state_updates"]:
            update["expected_revision"] = revisions[update["state_id"]]
        done = memory.apply_tidy_plan(plan, reason="plan of the model")
        for outcome in done.outcomes:
            print(outcome.fate, outcome.memory_id)
        print("now:", memory.get("ext:office-move-1").content)
        print("undone:", memory.undo(done.operation_id).undone)


if __name__ == "__main__":
    main()
