"""Makes a data directory of today's format, and `told.json`: what was told of it.

    PYTHONPATH=core:tests python tests/compat/make_data.py tests/compat/data/format-N

Run once, by the last version that writes a format; what it made is kept as it is. Ids are made up
by the engine, so that a second run makes another directory of the same kind.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from support.engines import (
    DAY_US,
    HOUR_US,
    Store,
    change,
    dismiss,
    episode,
    forget,
    link,
    merge,
    opened,
    remember,
    undismiss,
    undo,
    unit,
    unlink,
    update,
)
from support.telling import told
from support.waits import wait_s
from totonoe_core.domain.cleanup import Decay
from totonoe_core.domain.collections import NewCollection
from totonoe_core.domain.consolidate import ReplayEvents
from totonoe_core.domain.graph import DeleteEpisode
from totonoe_core.domain.memories import Purge, Remember
from totonoe_core.domain.policy import PRESETS, Preset
from totonoe_core.domain.queries import RecallQuery
from totonoe_core.domain.records import Kind, LinkType, StateKind, TypedKey

DIMENSION = 4


def vector(*values: float) -> Any:
    """A unit vector of four numbers."""
    return unit(values)


LAMP = "The lamp stands on the oak shelf"
KEPT: dict[str, Remember] = {
    "kept-answer": remember("The stairs creak", vector=vector(-4, 0, -1, -1), tags=("noise",)),
    "kept-refusal": remember(LAMP, vector=vector(1, 2, 3, 4)),
}
"""Operations whose answers are kept: asked again they are answered alike."""
PURGED = "The spare key hangs behind the mirror"


def fill(store: Store) -> dict[str, str]:
    """Something of everything; ids by a name of their own."""
    clock = store.clock
    lamp = store.save(LAMP, vector=vector(1, 2, 3, 4), tags=("room", "light"))
    clock.advance(HOUR_US)
    cup = store.save(
        "The blue cup is for guests",
        vector=vector(4, 1, -1, 0),
        external_id="cup-1",
        importance=5,
        attributes={"colour": "blue", "size": {"ml": 250}},
        payload={"seen": [1, 2.5, None, True]},
        category="household",
        session_id="s1",
    )
    door = store.save("The door code is 4711", vector=vector(0, 3, -2, 1), private=True)
    secret = store.save(
        "Ben waters the fern on Mondays",
        agent="ben",
        vector=vector(-1, 1, 4, 0),
        private=True,
        external_id="note-1",
    )
    store.do(update(secret, agent="ben", importance=4))
    event = store.save(
        "The boiler was serviced",
        vector=vector(2, -3, 0, 1),
        kind=Kind.EVENT,
        state_kind=StateKind.NONE,
        session_id="s1",
    )
    task = store.save(
        "Order new filters",
        agent="ben",
        vector=vector(-2, 0, 1, 3),
        state_kind=StateKind.TASK,
        thread_id="t1",
        entities=("filter",),
    )
    clock.advance(HOUR_US)
    store.do(link(lamp, cup, LinkType.RELATED, confidence=0.25, note="same shelf"))
    store.do(link(lamp, cup, LinkType.RELATED, confidence=0.75, note="still the same shelf"))
    store.do(link(cup, event, LinkType.CAUSES))
    store.do(unlink(cup, event, LinkType.CAUSES))
    store.do(update(cup, importance=4, reason="fewer guests"))
    store.do(update(cup, content="The blue cup is for visitors", vector=vector(4, 1, -1, 1)))
    colour = [
        store.save(
            f"The hall is painted {name}",
            vector=vector(*place),
            key=TypedKey("hall", f"colour {number}"),
            force=True,
        )
        for number, (name, place) in enumerate(
            (("green", (3, 3, 1, 0)), ("grey", (3, 2, 1, -1)), ("white", (3, 1, 1, -3)))
        )
    ]
    store.do(merge(colour[0], colour[1], reason="one hall"))
    store.save("The hall is painted yellow", vector=vector(3, 1, 2, -3), force=True, salience=0.75)
    gone = store.save("The old bicycle is in the cellar", vector=vector(-3, -1, 0, 2))
    store.do(forget(gone, reason="sold"))
    back = store.save("The bread knife is in the left drawer", vector=vector(-1, -4, 1, 1))
    store.do(link(back, lamp))
    store.apply(forget(back), operation_id="forgot-too-much")
    store.do(undo("forgot-too-much", reason="it is there"))
    purged = store.save(PURGED, vector=vector(1, -1, 1, -1), external_id="purged-1")
    store.do(link(purged, lamp))
    store.do(update(purged, importance=2))
    walk = store.do(episode("An evening in the flat", lamp, cup, purged, importance=4))
    first = store.do(episode("A visit that was made up", cup))
    store.do(DeleteEpisode("anna", first.episode.id, "made up"))
    store.do(episode("Ben alone", secret, task, agent="ben", private=True))
    store.do(dismiss(lamp, cup, reason="not at all alike"))
    store.do(dismiss(cup, back))
    store.do(undismiss(cup, back))
    store.do(Purge("anna", (purged,), "nobody should know"))
    store.do(change(("description", "a flat"), ("retention.purge_forgotten_days", 400.0)))
    store.do(change(("guard.preset", "robotmem"), ("decay.rate_per_day", 0.02)))
    store.do(change(("guard.preset", "standard")))
    faded = store.save(
        "Somebody hummed in the yard", vector=vector(0, 1, 0, -4), confidence=0.05, force=True
    )
    clock.advance(40 * DAY_US)
    # Twice together makes a link; the third Recall stays to be used up.
    for number in range(3):
        if number == 2:
            store.do(ReplayEvents("anna", 100))
        query = RecallQuery(
            "anna", vector=(vector(1, 2, 3, 4) + vector(4, 1, -1, 1)).tobytes(), k=2
        )
        assert len(store.recall(query).hits) == 2
    saved, refused = (store.do(command, operation_id=name) for name, command in KEPT.items())
    assert (saved.saved, refused.saved) == (True, False)
    closed = store.do(Decay("anna", close_below=0.2))
    ids = {
        "lamp": lamp,
        "stairs": saved.memory_id,
        "cup": cup,
        "door": door,
        "secret": secret,
        "event": event,
        "task": task,
        "gone": gone,
        "back": back,
        "purged": purged,
        "faded": faded,
        "kept": colour[0],
        "merged": colour[1],
        "evening": walk.episode.id,
    }
    assert [memory.memory_id for memory in closed.closed] == [faded], closed
    return ids


def main(target: Path) -> None:
    """Makes the directory, which must not be there."""
    target.mkdir(parents=True)
    with opened(target / "data", client_vector_dimension=DIMENSION) as store:
        ids = fill(store)
        store.engine.create_collection(
            NewCollection(
                "attic",
                description="deleted again",
                guard=PRESETS[Preset.EGO],
                client_vector_dimension=DIMENSION,
            ),
            "make-attic",
            agent_id="anna",
        ).result(wait_s())
        box = remember("A box of old letters", vector=vector(1, 1, 1, 1))
        attic = store.engine.apply("attic", "", [box]).result(wait_s())
        ids["box"] = attic.results[0].memory_id
        store.engine.delete_collection("attic", "delete-attic", agent_id="anna").result(wait_s())
        now_us = store.clock.now_us
        # What was recalled is written with the next upkeep, or when it is closed.
        store.reopen()
        expected = {"now_us": now_us, "ids": ids, "told": told(store)}
    text = json.dumps(expected, ensure_ascii=False, separators=(",", ":"), sort_keys=True)
    (target / "told.json").write_text(text + "\n")
    for log in (target / "data").rglob("*-wal"):
        # Empty by now: closing wrote it back. Readers' leftovers, both of them.
        assert log.stat().st_size == 0
        log.unlink()
        log.with_name("memory.db-shm").unlink()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
