"""Links: those of a new memory, made in the operation that saves it, and Link and Unlink."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np

from totonoe_core.base import limits
from totonoe_core.base.errors import InvalidArgument, NotFound
from totonoe_core.domain.graph import Linked, LinkMemories, Unlinked, UnlinkMemories
from totonoe_core.domain.records import (
    Finding,
    Judgement,
    Link,
    LinkType,
    Memory,
    OutdatedMatch,
    Verdict,
)
from totonoe_core.engine.guarding.answering import Neighbours
from totonoe_core.engine.guarding.likely import link_to
from totonoe_core.engine.state.ledger import Ledger, Operation
from totonoe_core.engine.state.state import CollectionState
from totonoe_core.store.records import Touched
from totonoe_core.store.seam import Rows

_LINK_TYPES = {
    Verdict.UPDATE: LinkType.UPDATES,
    Verdict.CONTRADICTION: LinkType.CONTRADICTS,
    Verdict.REFINEMENT: LinkType.REFINES,
    Verdict.CONTAINED: LinkType.REFINED_BY,
}


def choose(
    state: CollectionState,
    neighbours: Neighbours,
    superseded: Sequence[int],
    outdated: OutdatedMatch | None = None,
    asked_ids: Sequence[str] = (),
    *,
    has_vector: bool,
    distance_below: float,
    count_max: int,
) -> dict[tuple[int, LinkType], Link]:
    """Return links from a memory to the nearest (docs/sources.md, 000, `save_with_auto_link`).

    By row and type; the memory itself need not be there yet.

    Hubs get no more links. Superseded memories and those named by a verdict come first, at any
    distance. Links to memories that probably say the same are made beside these, and not counted.

    Parameters
    ----------
    superseded : sequence of int
        The slots that it supersedes, or would if it were not private; all of them are linked.
    outdated : OutdatedMatch or None
        What the memory says again. It is linked to the replacement as the older of the two, and
        updates nothing.
    asked_ids : sequence of str
        Live memories that it may replace: somebody will be asked. These links are made beside all
        others, and not counted.
    has_vector : bool
        Whether the memory has one; without, no memory is near.
    distance_below : float
        Cosine distance below which a memory is near, 0 to 2; 0: only `superseded` are linked.
    count_max : int
        Further links in all.
    """
    view = state.index.arrays.writer_view()
    texts = neighbours.texts
    linkable = list(_linkable(state, neighbours, has_vector, distance_below))
    newer = None if outdated is None else state.index.slot_by_id.get(outdated.replaced_by_id)
    asked = [slot for slot in map(state.index.slot_by_id.get, asked_ids) if slot is not None]
    likely = [
        neighbour for neighbour in neighbours.likely if neighbour.slot not in (*superseded, *asked)
    ]
    counted = [*superseded, *asked, *(neighbour.slot for neighbour in likely)]
    counted += [slot for slot, _, _ in linkable[: 2 * count_max]]
    counted += [] if newer is None else [newer]
    held = _LinkCounts(state.file.rows, [int(view.value("row", slot)) for slot in counted])
    chosen: dict[int, tuple[int, LinkType, float]] = {}
    for slot in superseded:
        row = int(view.value("row", slot))
        if held(row) < limits.LINKS_PER_MEMORY_MAX:
            chosen[row] = slot, LinkType.UPDATES, 1.0
    if outdated is not None:
        assert newer is not None, "it is live"
        row = int(view.value("row", newer))
        if held(row) < limits.LINKS_PER_MEMORY_MAX:
            chosen[row] = newer, LinkType.UPDATED_BY, 1.0
    for slot, type_, confidence in linkable:
        if len(chosen) >= count_max:
            break
        if outdated is not None and type_ is LinkType.UPDATES:
            type_ = LinkType.UPDATED_BY
        row = int(view.value("row", slot))
        if row not in chosen and held(row) < limits.AUTO_LINKS_PER_MEMORY_MAX:
            chosen[row] = slot, type_, min(1.0, max(0.0, confidence))
    texts.read(
        [
            *(slot for slot, _, _ in chosen.values()),
            *(neighbour.slot for neighbour in likely),
            *asked,
        ]
    )
    links = {
        (row, type_): Link(texts.of(slot).id, type_, confidence)
        for row, (slot, type_, confidence) in chosen.items()
    }
    for neighbour in likely:
        excerpt = texts.of(neighbour.slot)
        if held(excerpt.row) < limits.LINKS_PER_MEMORY_MAX:
            links[excerpt.row, LinkType.LIKELY_SAME] = link_to(excerpt.id, neighbour)
    for excerpt in map(texts.of, asked):
        if held(excerpt.row) < limits.LINKS_PER_MEMORY_MAX:
            links[excerpt.row, LinkType.MAY_REPLACE] = Link(excerpt.id, LinkType.MAY_REPLACE, 1.0)
    return links


def put_links(
    state: CollectionState,
    memory: Memory,
    links: Mapping[tuple[int, LinkType], Link],
    touched: Touched,
) -> tuple[Link, ...]:
    """Write the links that were chosen for a new memory, in both directions; return them."""
    made, written = [], []
    for (row, type_), link in links.items():
        back = replace(link, target_id=memory.id, type=type_.inverse)
        written += [(memory.row, row, link), (row, memory.row, back)]
        touched.links.append((memory.row, row, type_.value))
        made.append(link)
    if written:
        state.file.put_new_links(written, memory.revision)
    return tuple(made)


class _LinkCounts:
    """Calls return how many links a row holds; most counts are read at once."""

    def __init__(self, rows: Rows, wanted: Sequence[int]) -> None:
        self._rows = rows
        self._counts = rows.link_counts(wanted) if wanted else {}

    def __call__(self, row: int) -> int:
        if row not in self._counts:
            self._counts |= self._rows.link_counts((row,))
        return self._counts[row]


def link_updated(
    ledger: Ledger, operation: Operation, memory: Memory, others: Sequence[Memory]
) -> tuple[Link, ...]:
    """Link a live memory to those it supersedes; without room there is no link."""
    made = []
    for other in others:
        link = Link(other.id, LinkType.UPDATES, 1.0)
        counts = ledger.rows.link_counts((memory.row, other.row))
        held = ledger.file.link_between(memory.row, other.row, link.type)
        if held is None and max(counts.values()) < limits.LINKS_PER_MEMORY_MAX:
            ledger.put_link_pair(operation, memory, other, link)
            made.append(link)
    return tuple(made)


def _linkable(
    state: CollectionState, neighbours: Neighbours, has_vector: bool, distance_below: float
) -> Iterator[tuple[int, LinkType, float]]:
    """Yield slots to link to with type and confidence, the most important first."""
    if distance_below == 0.0:
        return
    nearness = {
        candidate.slot: max(candidate.cosine, candidate.jaccard) for candidate in neighbours.near
    }
    for neighbour in neighbours.judged:
        type_ = _link_type(neighbour.judgement)
        if type_ is not None:
            yield neighbour.slot, type_, nearness.get(neighbour.slot, neighbour.similarity)
    if not has_vector:
        return
    slots = np.array([near.slot for near in neighbours.near], np.int64)
    comparable = state.index.arrays.writer_view().has_vector(slots).tolist()
    for near in itertools.compress(neighbours.near, comparable):
        if 1.0 - near.cosine < distance_below:
            yield near.slot, LinkType.RELATED, near.cosine


def _link_type(judgement: Judgement) -> LinkType | None:
    """Return a verdict's type of link; `None` if only nearness links them."""
    type_ = _LINK_TYPES.get(judgement.verdict)
    findings = {line.finding for line in judgement.evidence}
    if type_ is not LinkType.REFINES or Finding.JUDGE in findings:
        return type_
    adds, lacks = Finding.ADDED in findings, Finding.MISSING in findings
    return type_ if adds and not lacks else None


def link(ledger: Ledger, operation: Operation, command: LinkMemories) -> Linked:
    """Link two live memories in both directions, or change the link that is there.

    Without a note the link keeps its own.
    """
    source = ledger.live(command.source_id, command.agent_id)
    target = ledger.live(command.target_id, command.agent_id)
    if source.row == target.row:
        raise InvalidArgument(
            "SELF_LINK", field="target_id", got=target.id, allowed="another memory"
        )
    type_ = command.type
    held = ledger.file.link_between(source.row, target.row, type_)
    note = command.note or ("" if held is None else held.note)
    made = Link(target.id, type_, command.confidence, note)
    inverse = Link(source.id, type_.inverse, command.confidence, note)
    if held is None:
        ledger.check_link_room("source_id", source)
        ledger.check_link_room("target_id", target)
    return Linked(made, inverse, ledger.put_link_pair(operation, source, target, made))


def unlink(ledger: Ledger, operation: Operation, command: UnlinkMemories) -> Unlinked:
    """Remove the link of one type, or every link between two memories."""
    source = ledger.visible(command.source_id, command.agent_id)
    target = ledger.visible(command.target_id, command.agent_id)
    removed = []
    for target_row, link in ledger.rows.links([source.row])[source.row]:
        if target_row == target.row and command.type in (None, link.type):
            ledger.delete_link_pair(operation, source, target_row, link)
            removed.append(link)
    if not removed:
        raise NotFound(
            "LINK_NOT_FOUND", kind="link", name=f"{command.source_id} - {command.target_id}"
        )
    return Unlinked(tuple(removed))
