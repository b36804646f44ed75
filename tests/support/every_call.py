"""Calls of every kind into one collection that `compat.make_data.fill` has filled."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from compat.make_data import vector
from support.engines import EVERY_STATUS, Store, dismiss, forget, link, undo, update
from support.telling import AGENTS
from support.waits import wait_s
from totonoe_core.domain.cleanup import Decay
from totonoe_core.domain.consolidate import ConsolidateQuery, ReplayEvents
from totonoe_core.domain.memories import Purge
from totonoe_core.domain.queries import (
    AsOf,
    ChangesQuery,
    EpisodeQuery,
    EpisodesQuery,
    HistoryQuery,
    ListQuery,
    NeighborsQuery,
    OperationFilter,
    OperationsQuery,
    RecallQuery,
)
from totonoe_core.domain.records import ANY_TIME
from totonoe_core.rules.audit import AuditQuery


def ways(store: Store, ids: dict[str, str]) -> dict[str, Callable[[], Any]]:
    """Calls of every kind, by name: those that read before those that write."""
    engine, name = store.engine, "default"
    look = RecallQuery("anna", "lamp cup", vector(1, 2, 3, 4).tobytes(), 50)
    found: dict[str, Callable[[], Any]] = {
        "info": lambda: engine.get_collection(name).result(wait_s()),
        "audit": lambda: engine.read(name, AuditQuery("anna")).result(wait_s()),
        "recall": lambda: store.recall(look),
        "neighbors": lambda: engine.read(name, NeighborsQuery("anna", (ids["lamp"],))).result(
            wait_s()
        ),
        "episode": lambda: engine.read(name, EpisodeQuery("anna", ids["evening"], True)).result(
            wait_s()
        ),
        "consolidate": lambda: list(consolidated(store)),
        "decay": lambda: engine.preview(name, Decay("anna", close_below=0.1)).result(wait_s()),
        "undo dry run": lambda: engine.preview(name, undo(9)).result(wait_s()),
    }
    for agent in AGENTS:
        query = RecallQuery(agent, "lamp", vector(1, 2, 3, 4).tobytes(), 50, as_of=AsOf(20))
        found |= {
            f"{agent} {key}": call
            for key, call in {
                "episodes": lambda agent=agent: engine.read(
                    name, EpisodesQuery(agent, ANY_TIME, "", 100, "")
                ).result(wait_s()),
                "operations": lambda agent=agent: engine.read(
                    name, OperationsQuery(agent, OperationFilter(), 200, "")
                ).result(wait_s()),
                "changes": lambda agent=agent: engine.read(
                    name, ChangesQuery(agent, 0, None)
                ).result(wait_s()),
                "past": lambda agent=agent: engine.read(
                    name, ListQuery(agent, EVERY_STATUS, 200, "", as_of=AsOf(20))
                ).result(wait_s()),
                "recall of the past": lambda query=query: store.recall(query),
            }.items()
        }
    for key, memory_id in ids.items():
        if key != "evening":
            found[f"history of {key}"] = lambda memory_id=memory_id: engine.read(
                name, HistoryQuery("anna", memory_id, 100, "")
            ).result(wait_s())
    return found | {
        "replay": lambda: store.do(ReplayEvents("anna", 100)),
        "save": lambda: store.save("Something quite new", vector=vector(0, -1, -2, 5)),
        "kept answer": lambda: store.apply(forget(ids["back"]), operation_id="forgot-too-much"),
        "update": lambda: store.do(update(ids["cup"], importance=1)),
        "link": lambda: store.do(link(ids["cup"], ids["back"])),
        "dismiss": lambda: store.do(dismiss(ids["lamp"], ids["back"])),
        "undo": lambda: store.do(undo(store.revision)),
        "undo of a merge": lambda: store.do(undo(20)),
        "forget": lambda: store.do(forget(ids["lamp"])),
        "purge": lambda: store.do(Purge("anna", (ids["cup"],))),
    }


def consolidated(store: Store) -> Iterator[Any]:
    run = store.engine.consolidate("default", "", ConsolidateQuery("anna")).result(wait_s())
    while messages := run.read().result(wait_s()):
        yield from messages
