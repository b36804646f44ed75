"""One operation of each kind on a prepared store, and children that die inside of it.

python -m support.operations: reads jobs (JSON lines: directory, kind, statement) and says for each
what became of it: "answered" if it came to that, then how it ended. Each job is a fork that opens
the directory, does the operation and closes, but kills itself with SIGKILL right before that
statement: of SQL, or of what a purge writes and syncs beside it.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest import mock

from support.engines import Store, change, forget, link, remember, unlink, update
from support.forking import dying_at, say_answered, serve
from support.waits import wait_s
from totonoe_core.base import ids
from totonoe_core.domain.commands import Command
from totonoe_core.domain.graph import CreateEpisode, DeleteEpisode
from totonoe_core.domain.memories import Merge, Purge
from totonoe_core.domain.queries import EpisodesQuery, OperationFilter, OperationsQuery
from totonoe_core.domain.records import ANY_TIME, LinkType
from totonoe_core.domain.undo import Undo

SECRET = "the code of the safe is 7391"
NAMES = ("one", "two", "three", "four")


def prepared(directory: Path) -> dict[str, str]:
    """A store with memories, links, an episode and a past; names to ids."""
    store = Store(directory)
    named = {name: store.save(f"about {name}") for name in NAMES}
    named["secret"] = store.save(SECRET)
    store.do(link(named["one"], named["two"], LinkType.CAUSES, confidence=0.9))
    store.do(link(named["two"], named["three"], confidence=0.4))
    store.do(link(named["secret"], named["one"], note="because of the safe"))
    store.do(update(named["secret"], importance=5))
    members = (named["one"], named["secret"])
    named["episode"] = store.do(CreateEpisode("anna", "what happened", members)).episode.id
    store.do(forget(named["four"], reason="no longer so"))
    store.close()
    return named


OPERATIONS: dict[str, Callable[[dict[str, str]], Command]] = {
    "remember": lambda _: remember("something new"),
    "supersede": lambda named: replace(remember("in its place"), supersede_ids=(named["one"],)),
    "update": lambda named: update(named["one"], content="about one, changed", importance=5),
    "forget": lambda named: forget(named["one"], named["two"]),
    "link": lambda named: link(named["one"], named["three"]),
    "unlink": lambda named: unlink(named["one"], named["two"]),
    "merge": lambda named: Merge("anna", named["one"], (named["two"], named["three"])),
    "undo": lambda _: Undo("anna", revision=11),
    "purge": lambda named: Purge("anna", (named["secret"],)),
    "create episode": lambda named: CreateEpisode("anna", "again", (named["two"],)),
    "delete episode": lambda named: DeleteEpisode("anna", named["episode"]),
    "settings": lambda _: change(("guard.preset", "ego"), ("description", "changed")),
}


def seen(store: Store) -> Any:
    """All that the store shows, its operations included."""
    engine = store.engine
    episodes = engine.read("default", EpisodesQuery("anna", ANY_TIME, "", 1000, "")).result(
        wait_s()
    )
    operations = engine.read(
        "default", OperationsQuery("anna", OperationFilter(), 1000, "")
    ).result(wait_s())
    info = engine.get_collection("default").result(wait_s())
    settings = (info.guard, info.description, info.settings_revision)
    return store.revision, store.list(), episodes.episodes, operations.operations, settings


def carry_out(directory: str, kind: str, named: dict[str, str], statement: int) -> None:
    """Does the operation and closes; dies before the numbered statement (-1: none)."""
    store = Store(Path(directory))
    assert store.revision
    connection = (
        store.engine._collections.opened("default").result(wait_s())._state.file._connection
    )
    count = dying_at(statement)

    def counted(call: Callable[..., Any]) -> Callable[..., Any]:
        return lambda *values: count() and call(*values)

    # The writer is idle: nobody uses the connection meanwhile.
    connection.exec_trace = count
    with (
        mock.patch.object(ids.secrets, "token_hex", lambda size: "f" * 2 * size),
        mock.patch.object(os, "pwrite", counted(os.pwrite)),
        mock.patch.object(os, "fsync", counted(os.fsync)),
    ):
        store.apply(OPERATIONS[kind](named), operation_id="op-of-the-test")
        if statement >= 0:
            say_answered()
        store.close()


if __name__ == "__main__":
    serve(carry_out)
