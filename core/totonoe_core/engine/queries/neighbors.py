"""Neighbors: follows links by spreading activation."""

from __future__ import annotations

from collections.abc import Sequence

from totonoe_core.base import limits
from totonoe_core.base.errors import NotFound
from totonoe_core.domain.queries import Neighbor, Neighborhood, NeighborsQuery
from totonoe_core.domain.records import Link
from totonoe_core.engine.state.ledger import DEAD
from totonoe_core.engine.state.sight import Sight, may_see
from totonoe_core.engine.state.state import CollectionState
from totonoe_core.rules.association import spread
from totonoe_core.store.seam import Rows


def neighbors(state: CollectionState, rows: Rows, query: NeighborsQuery) -> Neighborhood:
    """Return the memories reached over links (`association.spread`), the most activated first.

    Memories that are private to another agent are neither reached nor passed. One unknown id to
    start from is `NotFound`.
    """
    revision = state.published.revision
    row_of: dict[str, int] = {}
    for memory_id in query.ids:
        found = state.find(rows, memory_id, query.agent_id)
        if found is None:
            raise NotFound("MEMORY_NOT_FOUND", kind="memory", name=memory_id)
        row_of[found.id] = found.row
    sight = Sight(state.index, rows, query.agent_id)

    def links_of(wanted: Sequence[str]) -> dict[str, list[Link]]:
        by_row = rows.links([row_of[memory_id] for memory_id in wanted])
        links: dict[str, list[Link]] = {}
        for memory_id in wanted:
            links[memory_id] = []
            for row, link in by_row[row_of[memory_id]]:
                if sight.sees(row):
                    row_of[link.target_id] = row
                    links[memory_id].append(link)
        return links

    types = frozenset(query.types)
    found_all = spread(
        tuple(row_of),
        links_of,
        lambda link: link.confidence >= query.min_confidence and (not types or link.type in types),
        depth=query.depth,
        hop_decay=query.hop_decay,
        links_max=limits.NEIGHBOR_LINKS_MAX,
    )
    ranked = sorted(
        found_all.reached.items(), key=lambda item: (-item[1].activation, item[1].depth, item[0])
    )[: query.limit]
    memories = rows.memories([row_of[memory_id] for memory_id, _ in ranked])
    # Read after the links, so that memories hidden or forgotten meanwhile are left out.
    kept = [
        (memory, reached)
        for memory_id, reached in ranked
        if (memory := memories.get(row_of[memory_id])) is not None
        and memory.status not in DEAD
        and may_see(memory, query.agent_id)
    ]
    shown = state.shown(rows, [memory for memory, _ in kept], query.agent_id)
    return Neighborhood(
        revision=revision,
        neighbors=tuple(
            Neighbor(memory, reached.depth, reached.activation, reached.via_id, reached.via)
            for memory, (_, reached) in zip(shown, kept, strict=True)
        ),
        truncated=found_all.truncated,
    )
