"""All that an engine tells of a data directory, as plain JSON: to compare formats by."""

from __future__ import annotations

import json
from typing import Any

from support.engines import EVERY_STATUS, WAIT_S, Store, unit
from totonoe_core import plain
from totonoe_core.queries import AsOf, OperationFilter, RecallQuery
from totonoe_core.records import ANY_TIME

AGENTS = ("anna", "ben")
_PAGE = 200  # more than there is: one page of each


def told(store: Store) -> dict[str, Any]:
    """What each agent is told by every call that reads; changes nothing.

    Fields at their default are left out (`plain`), so that a version that knows more fields
    tells the same.
    """
    engine, name = store.engine, store.collection
    found: dict[str, Any] = {
        "collection": _plain(engine.get_collection(name).result(WAIT_S)),
        "collections": _plain(engine.list_collections(_PAGE, "").result(WAIT_S)),
    }
    for agent in AGENTS:
        memories = store.list(agent)
        past = {
            str(revision): engine.scan(
                name, agent, EVERY_STATUS, _PAGE, "", as_of=AsOf(revision)
            ).result(WAIT_S)
            for revision in range(1, store.revision + 1, 5)
        }
        query = RecallQuery(agent, "lamp shelf", unit([1, 2, 3, 4]).tobytes(), _PAGE, touch=False)
        hits = store.recall(query).hits
        found[agent] = {
            "memories": [_plain(one) for one in memories],
            "histories": {
                one.id: _plain(engine.history(name, agent, one.id, _PAGE, "").result(WAIT_S))
                for one in memories
            },
            "operations": _plain(
                engine.operations(name, agent, OperationFilter(), _PAGE, "").result(WAIT_S)
            ),
            "episodes": _plain(
                engine.episodes(name, agent, ANY_TIME, "", _PAGE, "").result(WAIT_S)
            ),
            "changes": _plain(engine.changes(name, agent, 0, None).result(WAIT_S)),
            "past": {revision: _plain(page) for revision, page in past.items()},
            "recalled": [hit.memory.id for hit in hits],
        }
    return found


def _plain(value: Any) -> Any:
    return json.loads(plain.dumps(value))
