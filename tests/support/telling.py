"""All that an engine tells of a data directory, as plain JSON: to compare formats by."""

from __future__ import annotations

import json
from typing import Any

from support.engines import EVERY_STATUS, Store, unit
from support.waits import wait_s
from totonoe_core.base import plain
from totonoe_core.domain.queries import (
    AsOf,
    ChangesQuery,
    EpisodesQuery,
    HistoryQuery,
    ListQuery,
    OperationFilter,
    OperationsQuery,
    RecallQuery,
)
from totonoe_core.domain.records import ANY_TIME

AGENTS = ("anna", "ben")
_PAGE = 200  # more than there is: one page of each


def told(store: Store) -> dict[str, Any]:
    """What each agent is told by every call that reads; changes nothing.

    Fields at their default are left out (`plain`), so that a version that knows more fields
    tells the same.
    """
    engine, name = store.engine, store.collection
    found: dict[str, Any] = {
        "collection": _plain(engine.get_collection(name).result(wait_s())),
        "collections": _plain(engine.list_collections(_PAGE, "").result(wait_s())),
    }
    for agent in AGENTS:
        memories = store.list(agent)
        past = {
            str(revision): engine.read(
                name, ListQuery(agent, EVERY_STATUS, _PAGE, "", as_of=AsOf(revision))
            ).result(wait_s())
            for revision in range(1, store.revision + 1, 5)
        }
        query = RecallQuery(agent, "lamp shelf", unit([1, 2, 3, 4]).tobytes(), _PAGE, touch=False)
        hits = store.recall(query).hits
        found[agent] = {
            "memories": [_plain(memory) for memory in memories],
            "histories": {
                memory.id: _plain(
                    engine.read(name, HistoryQuery(agent, memory.id, _PAGE, "")).result(wait_s())
                )
                for memory in memories
            },
            "operations": _plain(
                engine.read(name, OperationsQuery(agent, OperationFilter(), _PAGE, "")).result(
                    wait_s()
                )
            ),
            "episodes": _plain(
                engine.read(name, EpisodesQuery(agent, ANY_TIME, "", _PAGE, "")).result(wait_s())
            ),
            "changes": _plain(engine.read(name, ChangesQuery(agent, 0, None)).result(wait_s())),
            "past": {revision: _plain(page) for revision, page in past.items()},
            "recalled": [hit.memory.id for hit in hits],
        }
    return found


def _plain(value: Any) -> Any:
    return json.loads(plain.dumps(value))
