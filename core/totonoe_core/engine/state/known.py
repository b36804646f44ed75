"""Relations of recalled memories: others that update, contradict or outdate them.

    updated by         a link says so, or it was superseded
    contradicted by    a link says so
    outdated by        what updates another copy of it: a memory of equal text, or probably the same

A link says how two texts relate, not that one of them is wrong: a set has several members.
`replaces` decides that, by the texts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache

from totonoe_core.base import limits
from totonoe_core.base.clock import age_text
from totonoe_core.base.kept import kept
from totonoe_core.domain.calibration import CAREFUL, bundled, weights_for
from totonoe_core.domain.collections import CollectionInfo
from totonoe_core.domain.queries import OtherMemory
from totonoe_core.domain.records import TRUST, Finding, LinkType, Memory, Status
from totonoe_core.domain.weights import Weights
from totonoe_core.engine.state.comparing import similarity_of
from totonoe_core.guard.exclusive import certainly_exclusive
from totonoe_core.guard.verdict import judged
from totonoe_core.index.collection_index import CollectionIndex
from totonoe_core.store.records import LikelyPair
from totonoe_core.store.seam import Rows
from totonoe_core.text.normalize import snippet
from totonoe_core.text.tokens import compared_tokens, tokens

_COMPARED_KEPT_CHARS = 1_000_000
_NONE: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Relations:
    """Live memories that speak against one memory: row numbers, each tuple newest first."""

    updated_by: tuple[int, ...] = _NONE
    contradicted_by: tuple[int, ...] = _NONE
    outdated_by: tuple[int, ...] = _NONE


class KnownRelations:
    """Relations of the memories of one answer. Each memory is read once, many at a time.

    Parameters
    ----------
    read : callable
        Takes row numbers; returns those memories that the caller may see, in any state, with their
        links.
    among : callable
        Takes row numbers; returns the pairs among them that are probably the same.
    """

    def __init__(
        self,
        index: CollectionIndex,
        info: CollectionInfo,
        rows: Rows,
        read: Callable[[list[int]], list[Memory]],
        among: Callable[[list[int]], Iterable[LikelyPair]],
    ) -> None:
        self._index, self._info, self._rows = index, info, rows
        self._read, self._among = read, among
        self._memories: dict[int, Memory] = {}
        self._relations: dict[int, Relations] = {}
        self._likely: dict[int, set[int]] = {}
        self._outdated_through: dict[tuple[int, int], int] = {}
        self._compared_count = 0

    def relate(self, memories: Sequence[Memory]) -> None:
        """Find the relations of memories that were read with their links."""
        memories = [memory for memory in memories if memory.row not in self._relations]
        self._memories |= {memory.row: memory for memory in memories}
        updated = {memory.row: self._linked(memory, LinkType.UPDATED_BY) for memory in memories}
        denied = {memory.row: self._linked(memory, LinkType.CONTRADICTS) for memory in memories}
        self._find_likely(memories, updated)
        copies = {memory.row: self._copies(memory) for memory in memories}
        self._fetch((*updated.values(), *denied.values(), *copies.values()))
        beyond = {
            copy: self._linked(self._memories[copy], LinkType.UPDATED_BY)
            for held in copies.values()
            for copy in held
            if copy in self._memories
        }
        self._fetch(beyond.values())
        self._fetch_successors()
        for memory in memories:
            row, held = memory.row, copies[memory.row]
            by = [other for other in updated[row] if not self._restates(other, memory)]
            if memory.status is Status.SUPERSEDED:
                by.append(row)
            updaters = self._live(by) - {row}
            again: set[int] = set()
            for copy in held:
                newer = self._live(beyond.get(copy, ()))
                self._outdated_through |= {(other, row): copy for other in newer}
                again |= newer
            self._relations[row] = Relations(
                self._newest_first(updaters),
                self._newest_first(self._live(denied[row]) - {row}),
                self._newest_first(again - updaters - set(held) - {row}),
            )

    def newer_than(self, row: int) -> tuple[int, ...]:
        """Return the rows that may be newer statements of what a related memory says."""
        relations, own = self._relations[row], self._memories[row]
        later = (
            other for other in relations.contradicted_by if _age(self._memories[other]) > _age(own)
        )
        return (*relations.updated_by, *relations.outdated_by, *later)

    def others(
        self, row: int, now_us: int
    ) -> tuple[tuple[OtherMemory, ...], tuple[OtherMemory, ...], tuple[OtherMemory, ...]]:
        """Return what updates a memory, contradicts it and outdates it, as an answer shows it."""
        relations = self._relations[row]
        updated, contradicted, outdated = (
            tuple(self._shown(other, now_us) for other in held[: limits.KNOWN_PER_HIT_MAX])
            for held in (relations.updated_by, relations.contradicted_by, relations.outdated_by)
        )
        return updated, contradicted, outdated

    def replaces(self, newer: int, older: int, query: str) -> bool:
        """Return whether one memory takes the place of another for a query.

        Both cannot be true at once, or a person says so, and the query does not name what only the
        older says. What outdates a memory is compared with that copy of it that it updates. After
        NEWER_COMPARED_MAX pairs the answer is no.
        """
        if self._compared_count >= limits.NEWER_COMPARED_MAX:
            return False
        self._compared_count += 1
        if newer in self._relations[older].outdated_by:
            older = self._outdated_through[newer, older]
        new, old = self._memories[newer], self._memories[older]
        similarity, by_vectors = similarity_of(self._info, new, old)
        weights = weights_for(self._info.calibration, self._info.model) if by_vectors else CAREFUL
        known = by_vectors and bundled(self._info.model)
        exclusive, values = _compared(new.content, old.content, similarity, weights, known)
        # A less trusted memory stands first only if somebody said so.
        exclusive = exclusive and TRUST[new.fields.source] >= TRUST[old.fields.source]
        if not (exclusive or old.superseded_by == new.id or self._linked_by_hand(newer, older)):
            return False
        return not any(_names(query, value) for value in values)

    def _linked_by_hand(self, newer: int, older: int) -> bool:
        """Return whether a call of Link says that a memory updates or contradicts another."""
        history = self._rows.history
        for type_ in (LinkType.UPDATES, LinkType.CONTRADICTS):
            link = history.link_now(newer, older, type_)
            made = None if link is None else history.operation(link.since)
            if made is not None and made.kind == "Link":
                return True
        return False

    def _linked(self, memory: Memory, type_: LinkType) -> tuple[int, ...]:
        """Return the rows that a memory's links of a type lead to, the strongest first."""
        ids = [link.target_id for link in memory.links if link.type is type_]
        if not ids:
            return _NONE
        view, slot_by_id = self._index.arrays.writer_view(), self._index.slot_by_id
        slots = [slot_by_id.get(memory_id) for memory_id in ids[: limits.RELATIONS_FOLLOWED_MAX]]
        return tuple(int(view.value("row", slot)) for slot in slots if slot is not None)

    def _find_likely(self, memories: Sequence[Memory], updated: dict[int, tuple[int, ...]]) -> None:
        """Find which rows about these memories are probably the same, in one read."""
        wanted: set[int] = set()
        for memory in memories:
            likely = self._linked(memory, LinkType.LIKELY_SAME)
            updates = self._linked(memory, LinkType.UPDATES) if updated[memory.row] else ()
            if likely or updates:
                wanted.update((memory.row, *likely, *updates, *updated[memory.row]))
        if wanted:
            for pair in self._among(sorted(wanted)):
                self._likely.setdefault(pair.low, set()).add(pair.high)
                self._likely.setdefault(pair.high, set()).add(pair.low)

    def _copies(self, memory: Memory) -> tuple[int, ...]:
        """Return the rows that say what a memory says: of equal text, or probably the same."""
        found = self._likely.get(memory.row, set()) | self._of_equal_text(memory)
        return tuple(sorted(found - {memory.row})[: limits.RELATIONS_FOLLOWED_MAX])

    def _of_equal_text(self, memory: Memory) -> set[int]:
        view = self._index.arrays.writer_view()
        slots = self._index.slots_with_text(memory.content_hash)
        return {int(view.value("row", slot)) for slot in slots}

    def _restates(self, row: int, memory: Memory) -> bool:
        """Return whether what updates a memory says again what the memory itself updates."""
        updates = self._linked(memory, LinkType.UPDATES)
        if not updates or row not in self._memories:
            return False
        same = self._likely.get(row, set()) | self._of_equal_text(self._memories[row])
        return not same.isdisjoint(updates)

    def _fetch(self, groups: Iterable[Iterable[int]]) -> None:
        """Read memories that are not read yet, all at once."""
        wanted = {row for group in groups for row in group} - self._memories.keys() - {-1}
        if wanted:
            self._memories |= {memory.row: memory for memory in self._read(sorted(wanted))}

    def _fetch_successors(self) -> None:
        """Read what superseded the memories that were read."""
        for _ in range(limits.RELATIONS_FOLLOWED_MAX):
            count = len(self._memories)
            self._fetch(
                [[self._row_of(memory.superseded_by) for memory in self._memories.values()]]
            )
            if len(self._memories) == count:
                return

    def _row_of(self, memory_id: str) -> int:
        """Return the row of an id; -1, which no memory has, if there is none."""
        slot = self._index.slot_by_id.get(memory_id) if memory_id else None
        return -1 if slot is None else int(self._index.arrays.writer_view().value("row", slot))

    def _live(self, rows: Iterable[int]) -> set[int]:
        """Return the live memories among rows, and those that superseded others of them."""
        found = set()
        for row in rows:
            memory = self._memories.get(row)
            for _ in range(limits.RELATIONS_FOLLOWED_MAX):
                if memory is None or memory.status is not Status.SUPERSEDED:
                    break
                memory = self._memories.get(self._row_of(memory.superseded_by))
            if memory is not None and memory.status is Status.ACTIVE:
                found.add(memory.row)
        return found

    def _newest_first(self, rows: Iterable[int]) -> tuple[int, ...]:
        return tuple(sorted(rows, key=lambda row: _age(self._memories[row]), reverse=True))

    def _shown(self, row: int, now_us: int) -> OtherMemory:
        memory = self._memories[row]
        text = snippet(memory.content, limits.SNIPPET_CHARS)
        return OtherMemory(memory.id, age_text(memory.created_us, now_us), text)


@kept(_COMPARED_KEPT_CHARS)
def _compared(
    new: str, old: str, similarity: float, weights: Weights, bundled: bool
) -> tuple[bool, tuple[str, ...]]:
    """Return whether two texts exclude each other, and what the older says in place of the newer.

    Kept, since it takes a millisecond or two and hits come again.
    """
    judgement = judged(new, old, similarity, weights, bundled=bundled)
    # What is denied is no value: both texts name it.
    values = tuple(
        old[line.other[0] : line.other[1]]
        for line in judgement.evidence
        if line.finding is not Finding.POLARITY and line.own[1] and line.other[1]
    )
    return bool(certainly_exclusive(new, old, judgement)), values


def forget_cached() -> None:
    """Empty the caches, which hold texts. Called by Purge."""
    _compared.cache_clear()
    _said.cache_clear()


def _age(memory: Memory) -> tuple[int, int]:
    return memory.created_us, memory.row


@lru_cache(maxsize=64)
def _said(text: str) -> tuple[frozenset[str], frozenset[str]]:
    """Return the tokens of a text with its values in one notation, and as they are written."""
    return frozenset(compared_tokens(text)), frozenset(tokens(text))


def _names(query: str, value: str) -> bool:
    """Return whether a query holds a value, in any notation."""
    pairs = zip(_said(value), _said(query), strict=True)
    return any(held and held <= asked for held, asked in pairs)
