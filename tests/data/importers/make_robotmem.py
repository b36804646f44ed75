"""Make robotmem.db.gz with robotmem 0.1.3: `python make_robotmem.py` where it is installed.

The package refuses texts that it takes for duplicates within one collection, so each fact has its
own.
"""

from __future__ import annotations

import sqlite3
import tempfile
from pathlib import Path

from robotmem.sdk import RobotMemory
from texts import FACTS, pack


def main() -> None:
    """Write the database; its log is folded in."""
    with tempfile.TemporaryDirectory() as folder:
        fill(Path(folder) / "robotmem.db")
        pack(Path(folder) / "robotmem.db", "robotmem.db")


def fill(path: Path) -> None:
    """Learn the facts, save a perception, forget one memory."""
    with RobotMemory(db_path=path, embed_backend="none") as memory:
        session = memory.start_session(context={"robot": "arm-1"})
        for place, fact in enumerate(FACTS):
            context = {"task": {"success": place % 2 == 0}}
            memory.learn(fact, context, session_id=session, collection=f"bench-{place}")
        memory.save_perception(
            "The gripper slipped at 12.5 N.",
            "tactile",
            data='{"force_n": [0.0, 12.5]}',
            metadata='{"sensor": "left"}',
            session_id=session,
        )
        wrong = memory.learn("The arm has seven fingers.", collection="bench-x")["memory_id"]
        memory.forget(wrong, reason="wrong count")
        memory.end_session(session, outcome_score=0.8)
    database = sqlite3.connect(path)
    # Fixed times, so that no clock of a machine that runs the tests is behind them.
    for column in ("created_at", "updated_at"):
        database.execute(f"UPDATE memories SET {column} = printf('2026-03-01T09:%02d:00.000', id)")
    database.commit()
    database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    database.execute("PRAGMA journal_mode=DELETE")
    database.execute("VACUUM")
    database.close()


if __name__ == "__main__":
    main()
