"""Links to memories that probably say the same: made by a save, and scored anew with a new text."""

from __future__ import annotations

from collections.abc import Iterable

from totonoe_core.base import limits
from totonoe_core.domain.records import Link, LinkType, Memory, Status
from totonoe_core.engine.guarding.guarding import Guarding
from totonoe_core.engine.guarding.judging import JudgedNeighbour, likely_same
from totonoe_core.engine.guarding.texts import GuardedText
from totonoe_core.engine.state.ledger import Ledger, Operation
from totonoe_core.guard.probability import shipped
from totonoe_core.index.collection_index import Features

TYPE = LinkType.LIKELY_SAME


def link_to(target_id: str, judged: JudgedNeighbour) -> Link:
    """Return the link to a memory that probably says the same."""
    return Link(target_id, TYPE, judged.judgement.same_probability, shipped().version)


def partners(ledger: Ledger, rows: Iterable[int]) -> dict[int, list[tuple[int, Link]]]:
    """Return the likely_same links of some rows, as (row at the other end, link)."""
    links = ledger.rows.links(rows)
    return {
        row: [(target, link) for target, link in held if link.type is TYPE]
        for row, held in links.items()
    }


def score_again(
    ledger: Ledger,
    guarding: Guarding,
    operation: Operation,
    memory: Memory,
    text: GuardedText,
    features: Features,
    known: Iterable[JudgedNeighbour] = (),
    others: Iterable[int] = (),
) -> None:
    """Bring the likely_same links of a memory in line with its present text.

    Parameters
    ----------
    memory : Memory
        As it is now, written already.
    text, features : GuardedText, Features
        Its text for the guard.
    known : iterable of JudgedNeighbour
        Memories that were read beside this text already, and probably say the same.
    others : iterable of int
        Rows of further memories to read, beside those that are linked now.
    """
    held = dict(partners(ledger, [memory.row])[memory.row])
    likely = {int(_row(ledger, neighbour)): neighbour for neighbour in known}
    unread = (held.keys() | set(others)) - likely.keys() - {memory.row}
    read = ledger.rows.memories(sorted(unread))
    slots = [ledger.slot_of(other) for other in read.values() if other.status is Status.ACTIVE]
    if slots:
        neighbours = guarding.beside(text, features, slots, operation.reading)
        likely |= {
            int(_row(ledger, neighbour)): neighbour for neighbour in likely_same(text, neighbours)
        }
    for row in held.keys() - likely.keys():
        ledger.delete_link_pair(operation, memory, row, held[row])
    wanted = sorted(likely.items(), key=lambda item: -item[1].judgement.same_probability)
    targets = ledger.rows.memories(list(likely))
    for row, judged in wanted[: limits.LIKELY_LINKS_PER_SAVE]:
        link = link_to(targets[row].id, judged)
        if held.get(row) == link:
            continue
        counts = ledger.rows.link_counts((memory.row, row))
        if row in held or max(counts.values()) < limits.LINKS_PER_MEMORY_MAX:
            ledger.put_link_pair(operation, memory, targets[row], link)


def _row(ledger: Ledger, judged: JudgedNeighbour) -> int:
    return int(ledger.index.arrays.writer_view().value("row", judged.slot))
