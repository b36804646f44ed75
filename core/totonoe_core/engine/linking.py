"""Links: those that a new memory gets in the operation that saves it, and Link and Unlink."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from totonoe_core import limits
from totonoe_core.commands import Linked, LinkMemories, Unlinked, UnlinkMemories
from totonoe_core.engine.guarding import Neighbours
from totonoe_core.engine.ledger import Ledger, Operation
from totonoe_core.engine.state import CollectionState
from totonoe_core.errors import InvalidArgument, NotFound
from totonoe_core.records import Finding, Judgement, Link, LinkType, Memory, Verdict
from totonoe_core.store.collection_file import Touched

_LINK_TYPES = {
    Verdict.UPDATE: LinkType.UPDATES,
    Verdict.CONTRADICTION: LinkType.CONTRADICTS,
    Verdict.REFINEMENT: LinkType.REFINES,
}


def put_links(
    state: CollectionState,
    memory: Memory,
    neighbours: Neighbours,
    superseded: Sequence[int],
    touched: Touched,
) -> tuple[Link, ...]:
    """Links both ways to the nearest (000, `save_with_auto_link`); hubs take no more.

    What is superseded and what a verdict names comes first, and whatever the distance.

    Parameters
    ----------
    memory : Memory
        The new one, written already.
    superseded : sequence of int
        The slots whose place it takes, or would if it were not private: all of them are linked,
        however many they are.
    """
    view = state.index.arrays.writer_view()
    texts, held = neighbours.texts, state.file.rows.link_count
    chosen: dict[int, tuple[int, LinkType, float]] = {}
    for slot in superseded:
        row = int(view.value("row", slot))
        if held(row) < limits.LINKS_PER_MEMORY_MAX:
            chosen[row] = slot, LinkType.UPDATES, 1.0
    for slot, type_, confidence in _linkable(neighbours, state.info.guard.link_distance_below):
        if len(chosen) >= limits.AUTO_LINKS_PER_REMEMBER_MAX:
            break
        row = int(view.value("row", slot))
        if row not in chosen and held(row) < limits.AUTO_LINKS_PER_MEMORY_MAX:
            chosen[row] = slot, type_, min(1.0, max(0.0, confidence))
    texts.read([slot for slot, _, _ in chosen.values()])
    made, written = [], []
    for row, (slot, type_, confidence) in chosen.items():
        link = Link(texts.of(slot).id, type_, confidence)
        back = Link(memory.id, type_.inverse, confidence)
        written += [(memory.row, row, link), (row, memory.row, back)]
        touched.links.append((memory.row, row, type_.value))
        made.append(link)
    if written:
        state.file.put_new_links(written, memory.revision)
    return tuple(made)


def _linkable(
    neighbours: Neighbours, distance_below: float
) -> Iterator[tuple[int, LinkType, float]]:
    """Slots to link to with type and confidence, the weightiest first."""
    if distance_below == 0.0:
        return
    for one in neighbours.judged:
        type_ = _link_type(one.judgement)
        if type_ is not None:
            yield one.slot, type_, one.judgement.confidence
    for near in neighbours.near:
        if 1.0 - near.cosine < distance_below:
            yield near.slot, LinkType.RELATED, near.cosine


def _link_type(judgement: Judgement) -> LinkType | None:
    """What a verdict makes of a link; `None`: nothing but nearness links them."""
    type_ = _LINK_TYPES.get(judgement.verdict)
    if type_ is not LinkType.REFINES:
        return type_
    found = {one.finding for one in judgement.evidence}
    adds, lacks = Finding.ADDED in found, Finding.MISSING in found
    if adds is lacks:
        # A judge's word, which does not say which of the two has more.
        return None
    return LinkType.REFINES if adds else LinkType.REFINED_BY


def link(ledger: Ledger, operation: Operation, command: LinkMemories) -> Linked:
    """Links two live memories in both directions, or changes the link that is there."""
    source = ledger.live(command.source_id, command.agent_id)
    target = ledger.live(command.target_id, command.agent_id)
    if source.row == target.row:
        raise InvalidArgument(
            "SELF_LINK", field="target_id", got=target.id, allowed="another memory"
        )
    type_ = command.type
    made = Link(target.id, type_, command.confidence, command.note)
    inverse = Link(source.id, type_.inverse, command.confidence, command.note)
    if ledger.file.link_between(source.row, target.row, type_) is None:
        ledger.check_link_room("source_id", source)
        ledger.check_link_room("target_id", target)
    return Linked(made, inverse, ledger.put_link_pair(operation, source, target, made))


def unlink(ledger: Ledger, operation: Operation, command: UnlinkMemories) -> Unlinked:
    """Takes the link of one type, or every link of two memories away."""
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
