"""A robot's day: it notes what it sees and does, and in the evening what says the same is merged.

Observations are grouped at the end of the session. A safety rule (category `constraint`) and sensor
data (`perception_type`) are never touched. One call takes the whole run back.

    python examples/robot_day.py           # needs a daemon: make run
"""

from __future__ import annotations

import uuid
from contextlib import suppress

from totonoe import Client
from totonoe.errors import AlreadyExists

COLLECTION = "robot-day"

OBSERVATIONS = (
    ("grip force 12.5N works for cups at the blue station", 0.85),
    ("grip force 12.5N works for cups at the blue station today", 0.80),
    ("grip force 12.5N works well for cups at the blue station", 0.90),
    ("red objects need 15N grip force", 0.85),
)


def main() -> None:
    """Runs one day from the first grasp to the undone end of the session."""
    session = f"day_{uuid.uuid4().hex[:8]}"
    with Client(agent_id="robot-7", collection=COLLECTION) as memory:
        with suppress(AlreadyExists):
            memory.create_collection(COLLECTION)
        memory.remember(
            "Always calibrate the gripper before the first grasp of a day.",
            category="constraint",
            confidence=0.95,
            session_id=session,
        )
        for at, newton in enumerate((12.4, 12.5, 12.6)):
            memory.remember(
                f"Grip force {newton} N at grasp {at}.",
                kind="event",
                perception_type="force",
                session_id=session,
            )
        for text, confidence in OBSERVATIONS:
            answer = memory.remember(
                text,
                category="observation",
                confidence=confidence,
                session_id=session,
                force=True,  # As a recorder does that waits for no guard.
            )
            print("saved", answer.memory_id, text)

        ended = memory.end_session(session)
        print(f"{ended.superseded_count} of {ended.consolidatable_count} observations merged")
        for group in ended.groups:
            for gone in group.superseded:
                print(f"- {gone.snippet!r} is said by {group.snippet!r} ({gone.similarity:.2f})")
        for hit in memory.recall("how hard do I grip a cup", k=2).hits:
            print("recalled:", hit.memory.content)

        taken_back = memory.undo(ended.operation_id, reason="this was only an example")
        print("undone:", taken_back.undone)


if __name__ == "__main__":
    main()
