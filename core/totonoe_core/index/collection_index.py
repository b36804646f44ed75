"""The in-memory index of one collection: arrays, maps and inverted indexes."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from totonoe_core.base import plain
from totonoe_core.domain import expiry
from totonoe_core.domain.policy import Tokenizer
from totonoe_core.domain.records import TRUST, Fields, Memory, Status, TypedKey, said_payload
from totonoe_core.index.arrays import (
    KINDS,
    NEVER,
    NO_TIME,
    RETIRED,
    STATE_KINDS,
    STATUSES,
    Arrays,
    View,
)
from totonoe_core.index.hnsw import Graph
from totonoe_core.index.keys import Keys, key_words
from totonoe_core.index.lexical import (
    InvertedIndex,
    hashes_of,
    label_terms,
    name_of,
    namespace_terms,
    nested_terms,
)
from totonoe_core.index.numbers import Numbers, numbers_in
from totonoe_core.index.prefix import Prefix
from totonoe_core.index.slot_map import SlotById, SlotByRow, SlotMap
from totonoe_core.index.token_index import TokenIndex
from totonoe_core.text.normalize import canonical_hash, fold_space
from totonoe_core.text.tokens import (
    compared_tokens,
    search_terms,
    token_hashes,
    whitespace_tokens,
)

Mark = tuple[int, dict[int, int], dict[int, int], int, list[int]]
"""First unwritten slot, the changes that wait for `publish`, the dimension, and name counts."""


def text_hash(content_hash: bytes) -> int:
    """Return the 64 bits of a content hash that the arrays keep; they nominate, never decide."""
    return int.from_bytes(content_hash[:8], "little")


def payload_hash(fields: Fields) -> int:
    """Return a 64-bit hash of payload, typed key and namespace, by which equal texts differ.

    0 for none of them.
    """
    payload = said_payload(fields.payload)
    if not payload and fields.key is None and not fields.namespace:
        return 0
    said = plain.dumps(payload) + ("" if fields.key is None else _key(fields.key))
    # NUL separates them: no key has it.
    return _hash64(f"{said}\0{name_of(fields.namespace)}" if fields.namespace else said)


def key_hash(key: TypedKey | None) -> int:
    """Return a 64-bit hash of a typed key, case and white space folded; 0 for none. Nominates."""
    return 0 if key is None else _hash64(_key(key))


def same_key(one: TypedKey | None, other: TypedKey | None) -> bool:
    """Return whether both keys name the same value."""
    return one is not None and other is not None and _key(one) == _key(other)


def _key(key: TypedKey) -> str:
    # U+001F separates them: no label has it, since white space in labels is folded.
    folded = (fold_space(part).casefold() for part in (key.subject, key.attribute))
    return "\x1f".join(folded)


def _hash64(text: str) -> int:
    return int.from_bytes(blake2b(text.encode(), digest_size=8).digest(), "little") or 1


def guard_tokens(content: str, tokenizer: Tokenizer) -> NDArray[np.uint64]:
    """Return sorted token hashes for the Jaccard layer."""
    if tokenizer is Tokenizer.WHITESPACE:
        return token_hashes(whitespace_tokens(content))
    return token_hashes(compared_tokens(content))


def memory_terms(memory: Memory) -> list[str]:
    """Return the terms by which a memory is found: those of its text, and of its typed key."""
    key = memory.fields.key
    named = () if key is None else (key.subject, key.attribute)
    return [term for text in (memory.content, *named) for term in search_terms(text)]


def vector_of(memory: Memory, dimension: int) -> NDArray[np.float32]:
    """Return float32[dimension]: the vector of a memory, or zero, to which nothing is near."""
    found = np.frombuffer(memory.vector, np.float32)
    return found if len(found) else np.zeros(dimension, np.float32)


@dataclass(frozen=True, slots=True)
class Features:
    """Features of a text for the guard, computed once for each memory."""

    vector: NDArray[np.float32]
    tokens: NDArray[np.uint64]
    canonical: int

    @property
    def blind(self) -> bool:
        """True if the text has no vector: it is zero."""
        return not self.vector.any()

    @property
    def stored(self) -> bytes:
        """The vector as a row stores it: empty if there is none."""
        return b"" if self.blind else self.vector.tobytes()

    @classmethod
    def of(cls, content: str, vector: NDArray[np.float32], tokenizer: Tokenizer) -> Features:
        """Compute the features of a text with its unit vector."""
        return cls(vector, guard_tokens(content, tokenizer), canonical_hash(content))


Added = tuple[Memory, Features, int | None]
"""A memory, its features, and the slot of its earlier version: see `CollectionIndex.add`."""


class CollectionIndex:
    """Arrays, maps and inverted indexes of one collection.

    The writer thread alone writes it. `slot_by_id`, `slot_by_row` and the text maps also hold
    uncommitted slots: readers check a slot against their view. `prefix` and `graph` lag behind: a
    background thread updates them. `model_number` says which of the collection's models made the
    vectors.
    """

    def __init__(self, dimension: int, tokenizer: Tokenizer, model_number: int = 0) -> None:
        self.tokenizer = tokenizer
        self.model_number = model_number
        self.arrays = Arrays(dimension)
        self.prefix = Prefix(self.arrays)
        self.graph = Graph(self.arrays)
        self.token_index = TokenIndex()
        self.terms = InvertedIndex()
        self.labels = InvertedIndex()
        self.numbers = Numbers()
        self.keys = Keys()
        self.slot_by_id = SlotById(self.arrays)
        self.slot_by_row = SlotByRow()
        self._slots_by_text = SlotMap(self.arrays, "text_hash")
        self._slots_by_words = SlotMap(self.arrays, "canonical_hash")
        self._slots_by_key = SlotMap(self.arrays, "key_hash")
        self._unpublished: list[Memory] = []

    def beside(self, dimension: int, model_number: int) -> CollectionIndex:
        """Return the same memories for vectors of another model, all zero yet.

        All else is shared, so that it costs only its vectors. It is private until `take_place`.
        """
        made = copy.copy(self)
        made.model_number = model_number
        made.arrays = self.arrays.beside(dimension)
        made.prefix = Prefix(made.arrays)
        made.graph = Graph(made.arrays)
        made.keys = self.keys.beside()
        return made

    def take_place(self) -> None:
        """Make the shared maps read these arrays from now on. Writer only, nothing unpublished."""
        maps = (self._slots_by_text, self._slots_by_words, self._slots_by_key)
        for lookup in (self.slot_by_id, *maps):
            lookup.read_in(self.arrays)

    def vector(self, row: int) -> NDArray[np.float32]:
        """Return the vector of a row's newest slot; zero if it has none. Writer only."""
        chunk, at = self.arrays.writer_view().chunk_of(self.slot_by_row[row])
        found: NDArray[np.float32] = chunk.vectors[at]
        return found

    def add(self, memory: Memory, features: Features, replaces: int | None = None) -> int:
        """Give a memory a new slot that readers see after `publish`.

        `replaces` is the slot of its earlier version: its access figures are copied, and it retires
        on publish.
        """
        return self.add_all([(memory, features, replaces)])

    def add_all(self, added: Sequence[Added]) -> int:
        """Give memories new slots as `add` does, and return the first; each of them comes once."""
        if not added:
            return self.arrays.end
        arrays = self.arrays
        values = [self._values(memory, features) for memory, features, _ in added]
        for (_, _, replaces), own in zip(added, values, strict=True):
            if replaces is not None:
                view = arrays.writer_view()
                own["last_access"] = view.value("last_access", replaces)
                own["access_count"] = view.value("access_count", replaces)
                arrays.pending_status[replaces] = RETIRED
        vectors = [features.vector for _, features, _ in added]
        first = arrays.append_all(values, vectors, [features.tokens for _, features, _ in added])
        for slot, (memory, _, replaces) in enumerate(added, first):
            if replaces is not None:
                arrays.set_replaced_by(replaces, slot)
            self.slot_by_row[memory.row] = slot
            self._unpublished.append(memory)
        self.slot_by_id.add_all(first, [memory.id for memory, _, _ in added])
        for slots, name, without_zero in (
            (self._slots_by_text, "text_hash", False),
            (self._slots_by_words, "canonical_hash", False),
            (self._slots_by_key, "key_hash", True),
        ):
            slots.add_all(first, np.array([own[name] for own in values], np.uint64), without_zero)
        return first

    def _values(self, memory: Memory, features: Features) -> dict[str, Any]:
        """Return the values of a slot in all columns."""
        arrays, fields = self.arrays, memory.fields
        return {
            "row": memory.row,
            "id_bits": SlotById.bits(memory.id),
            "status": STATUSES[memory.status],
            "kind": KINDS[fields.kind],
            "state_kind": STATE_KINDS[fields.state_kind],
            "private": fields.private,
            "source": TRUST[fields.source],
            "importance": fields.importance,
            "agent": arrays.agents.code(memory.agent_id),
            "session": arrays.sessions.code(fields.session_id),
            "thread": arrays.threads.code(fields.thread_id),
            "category": arrays.categories.code(fields.category),
            "life_stage": arrays.life_stages.code(fields.life_stage),
            "namespace": arrays.namespaces.code(name_of(fields.namespace)),
            "created": memory.created_us,
            "updated": memory.updated_us,
            "about_from": _time(fields.about_time.from_us),
            "about_to": _time(fields.about_time.to_us),
            "valid_from": _time(fields.valid_from_us),
            "valid_to": _time(fields.valid_to_us),
            "expires": NEVER if fields.expires_us is None else fields.expires_us,
            "expires_after": expiry.after_us(fields),
            "last_access": _time(memory.last_access_us),
            "access_count": memory.access_count,
            "confidence": fields.confidence,
            "payload_hash": payload_hash(fields),
            "key_hash": key_hash(fields.key),
            "text_hash": text_hash(memory.content_hash),
            "canonical_hash": features.canonical,
            "term_count": 0,
            "replaced_by": NEVER,
        }

    def set_status(self, slot: int, status: Status, updated_us: int) -> None:
        """Change a slot's status, possibly to the same, and its updated time, on publish."""
        if self.arrays.status(slot) != STATUSES[status]:
            self.arrays.pending_status[slot] = STATUSES[status]
            self.arrays.revive(slot)
        self.arrays.pending_updated[slot] = updated_us

    def set_access(self, slot: int, last_us: int, count: int) -> None:
        """Set the access figures of an unpublished slot. Writer only."""
        chunk, at = self.arrays.writer_view().chunk_of(slot)
        chunk.columns["last_access"][at] = last_us
        chunk.columns["access_count"][at] = count

    def slots_with_text(self, content_hash: bytes) -> tuple[int, ...]:
        """Return slots whose text may be equal: equal in 64 bits of the hash."""
        return self._slots_by_text.slots(text_hash(content_hash))

    def slots_with_words(self, canonical: int) -> tuple[int, ...]:
        """Return slots that may have the same words in the same order: equal hash."""
        return self._slots_by_words.slots(canonical)

    def slots_with_key(self, key: TypedKey) -> tuple[int, ...]:
        """Return slots that may hold the value of a typed key: equal hash."""
        return self._slots_by_key.slots(key_hash(key))

    def mark(self) -> Mark:
        """Return the writer's position, for `rollback`."""
        arrays = self.arrays
        pending_status, pending_updated = dict(arrays.pending_status), dict(arrays.pending_updated)
        counts = [names.count for names in arrays.names]
        return arrays.end, pending_status, pending_updated, arrays.dimension, counts

    def rollback(self, mark: Mark) -> None:
        """Take back every slot and status change since the mark."""
        end, pending_status, pending_updated, dimension, name_counts = mark
        self.take_place()
        view = self.arrays.writer_view()
        for slot in range(self.arrays.end - 1, end - 1, -1):
            memory = self._unpublished.pop()
            self._slots_by_text.take_back(int(view.value("text_hash", slot)))
            self._slots_by_words.take_back(int(view.value("canonical_hash", slot)))
            if key := int(view.value("key_hash", slot)):
                self._slots_by_key.take_back(key)
            self.slot_by_id.take_back(memory.id)
            earlier = self.slot_by_id.get(memory.id)
            if earlier is None:
                del self.slot_by_row[memory.row]
            else:
                self.slot_by_row[memory.row] = earlier
                self.arrays.set_replaced_by(earlier, NEVER)
        self.arrays.truncate(end)
        for names, count in zip(self.arrays.names, name_counts, strict=True):
            names.truncate(count)
        self.arrays.expires_next_us = NO_TIME
        if self.arrays.dimension != dimension:
            # The first vector was taken back.
            self.arrays.set_dimension(dimension)
        for held, before in (
            (self.arrays.pending_status, pending_status),
            (self.arrays.pending_updated, pending_updated),
        ):
            held.clear()
            held.update(before)

    def lacking_count(self) -> int:
        """Count the memories without a vector. Writer only."""
        view, slots = self.arrays.writer_view(), self.slot_by_row.slots()
        there = slots[view.take("status", slots) != STATUSES[Status.PURGED]]
        return int(np.count_nonzero(~view.has_vector(there)))

    def slot_in_view(self, row: int, view: View) -> int:
        """Return the newest slot of a row within a reader's view, or -1. Slow: for a rare race."""
        slots = np.flatnonzero(view.column("row") == row)
        return int(slots[-1]) if len(slots) else -1

    def publish(self) -> None:
        """Publish all that was decided; words and labels become visible first."""
        view = self.arrays.writer_view()
        first = self.arrays.end - len(self._unpublished)
        terms = list(map(memory_terms, self._unpublished))
        counts = list(map(len, terms))
        hashes = hashes_of(chain.from_iterable(terms), self.terms.key)
        self.terms.add_slots(first, np.cumsum([0, *counts]), hashes)
        for slot, memory in enumerate(self._unpublished, first):
            chunk, at = view.chunk_of(slot)
            chunk.columns["term_count"][at] = counts[slot - first]
            fields = memory.fields
            if fields.key is not None:
                self.keys.note(slot, int(chunk.columns["key_hash"][at]), key_words(fields.key))
            if fields.tags or fields.entities or fields.attributes or fields.namespace:
                labels = [
                    *label_terms(fields.tags, fields.entities, fields.attributes),
                    *nested_terms(fields.attributes),
                    *namespace_terms(fields.namespace),
                ]
                self.labels.add(slot, labels)
            if fields.attributes:
                self.numbers.add(slot, numbers_in(fields.attributes), self.labels.key)
        self._unpublished.clear()
        self.arrays.publish()
        self.token_index.catch_up(self.view())

    def purge(self, memory_id: str) -> None:
        """Empty every version of a memory whose purge is published.

        What remains is its id and row and, in the inverted indexes, that some slot had a term with
        some hash; the hash keys exist only in memory and in checkpoints, which hold no such slot.
        """
        view = self.arrays.writer_view()
        for slot in self.slot_by_id.versions(memory_id):
            key = int(view.value("key_hash", slot))
            self.arrays.empty(slot)
            self.numbers.empty(slot)
            if key and not self._slots_by_key.slots(key):
                self.keys.drop(key)

    def set_aside(self, row: int) -> None:
        """Hide a row from all searches; no change may wait to be published. Writer only."""
        slot = self.slot_by_row.get(row)
        if slot is not None:
            self.arrays.pending_status[slot] = RETIRED
            # Its id still leads to the row, which says that it is set aside.
            del self.slot_by_row[row]
            self.publish()

    def touch(self, slots: NDArray[np.int64], now_us: int) -> None:
        """Count an access of each slot. Any thread; a race may lose a count."""
        view = self.arrays.view()
        for slot in slots.tolist():
            chunk, at = view.chunk_of(slot)
            chunk.columns["last_access"][at] = now_us
            chunk.columns["access_count"][at] += 1

    def refresh(self, slots: NDArray[np.int64], now_us: int) -> None:
        """Set the last access of slots, without counting it. Writer only."""
        view = self.arrays.writer_view()
        for slot in slots.tolist():
            chunk, at = view.chunk_of(slot)
            chunk.columns["last_access"][at] = now_us

    def access(self) -> dict[int, tuple[int, int]]:
        """Return last access (us) and count by row, of recalled memories. Writer only."""
        view = self.arrays.writer_view()
        slots = self.slot_by_row.slots()
        slots = slots[view.take("access_count", slots) > 0]
        names = ("row", "last_access", "access_count")
        rows, last_us, counts = (view.take(name, slots).tolist() for name in names)
        return {row: (last, count) for row, last, count in zip(rows, last_us, counts, strict=True)}

    def set_access_of(
        self, slots: NDArray[np.int64], last_us: NDArray[np.int64], counts: NDArray[np.int64]
    ) -> None:
        """Set the access figures of published slots, before anybody reads them."""
        view = self.arrays.view()
        for base, size, chunk in view.parts():
            here = np.flatnonzero((slots >= base) & (slots < base + size))
            at = slots[here] - base
            chunk.columns["last_access"][at] = last_us[here]
            chunk.columns["access_count"][at] = counts[here]

    def fill_maps(self, others: Iterable[tuple[str, int]]) -> None:
        """Build the maps of adopted arrays, in which each slot is another memory.

        `others` are the ids that no column holds, with their slots.
        """
        self.slot_by_id.fill(others)
        self.slot_by_row.fill(self.view().column("row"))
        self._slots_by_text.fill()
        self._slots_by_words.fill()
        self._slots_by_key.fill(without_zero=True)

    def expired(self, view: View, now_us: int) -> NDArray[np.bool_] | None:
        """Return the slots of a view that have expired: bool[view.count]; `None`: surely none."""
        if self.arrays.expires_next_us > now_us:
            return None
        instant: NDArray[np.int64] = view.column("expires")
        later = np.flatnonzero((instant != NEVER) & (view.column("expires_after") > 0))
        instant[later] = self._put_off(view, later)
        found: NDArray[np.bool_] = instant <= now_us
        return found if found.any() else None

    def due(self, now_us: int) -> list[int]:
        """Return the slots to be forgotten since they have expired, ascending. Writer only."""
        if self.arrays.expires_next_us > now_us:
            return []
        view = self.arrays.writer_view()
        slots = np.flatnonzero(view.column("expires") != NEVER)
        slots = slots[view.take("replaced_by", slots) == NEVER]
        instant = self._put_off(view, slots)
        dead = {STATUSES[status] for status in expiry.GONE} | {RETIRED}
        there = [self.arrays.status(slot) not in dead for slot in slots.tolist()]
        slots, instant = slots[there], instant[there]
        due = instant <= now_us
        if not due.any():
            self.arrays.expires_next_us = int(instant.min(initial=NEVER))
        return [int(slot) for slot in slots[due]]

    def _put_off(self, view: View, slots: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the instants of some slots that expire, as far as reads have put them off."""
        instant, after = view.take("expires", slots), view.take("expires_after", slots)
        last = view.take("last_access", slots)
        read = (after > 0) & (last != NO_TIME)
        return np.where(read, np.maximum(instant, last + after), instant)

    def retired_count(self) -> int:
        """Count published slots that are no memory's newest, or a purged one's."""
        status = self.view().column("status")
        return int(np.count_nonzero((status == RETIRED) | (status == STATUSES[Status.PURGED])))

    def view(self) -> View:
        """Return the view of readers."""
        return self.arrays.view()

    def nbytes(self) -> int:
        """Bytes of all arrays, without the graph and the few strings."""
        parts = (
            self.arrays,
            self.prefix,
            self.token_index,
            self.terms,
            self.labels,
            self.numbers,
            self.keys,
        )
        return sum(part.nbytes() for part in parts) + self.map_bytes()

    def map_bytes(self) -> int:
        """Bytes of the maps from ids, rows and hashes to slots."""
        hashes = (self._slots_by_text, self._slots_by_words, self._slots_by_key)
        return sum(lookup.nbytes() for lookup in (self.slot_by_id, self.slot_by_row, *hashes))


def _time(value: int | None) -> int:
    return NO_TIME if value is None else value
