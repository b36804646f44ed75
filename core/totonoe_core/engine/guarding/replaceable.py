"""Memories that a text may replace: those with its key or with some words, if they give way."""

from __future__ import annotations

import numpy as np

from totonoe_core.domain.records import TRUST
from totonoe_core.engine.guarding.texts import GuardedText, Texts
from totonoe_core.engine.state.state import CollectionState
from totonoe_core.index.collection_index import same_key


def holders(state: CollectionState, text: GuardedText) -> tuple[int, ...]:
    """Return slots of the live memories that hold the value of the text's key.

    There may be several, if another agent could not see the private one of two.
    """
    key = text.fields.key
    if key is None:
        return ()
    texts = Texts(state, text)
    slots = np.array(state.index.slots_with_key(key), np.int64)
    held = slots[texts.visible.at(slots)].tolist()
    rows = {int(texts.view.value("row", slot)): slot for slot in held}
    memories = state.file.rows.memories(list(rows))
    return tuple(slot for row, slot in rows.items() if same_key(key, memories[row].fields.key))


def in_words_of(state: CollectionState, text: GuardedText, slot: int) -> tuple[int, ...]:
    """Return slots of live memories, comparable to a text, with the words of another memory.

    They nominate: only their hashes are equal.
    """
    texts = Texts(state, text)
    canonical = int(texts.view.value("canonical_hash", slot))
    slots = np.array(state.index.slots_with_words(canonical), np.int64)
    return tuple(slots[texts.comparable.at(slots)].tolist())


def gives_way(state: CollectionState, text: GuardedText, slot: int) -> bool:
    """Return whether a text may supersede a memory.

    A private one may not hide a public one, nor a less trusted one a memory that its caller does
    not name.
    """
    if text.fields.private and not state.index.arrays.writer_view().value("private", slot):
        return False
    return slot in text.replaced or not is_less_trusted(state, text, slot)


def is_less_trusted(state: CollectionState, text: GuardedText, slot: int) -> bool:
    """Return whether a text comes from a less trusted source than a memory."""
    view = state.index.arrays.writer_view()
    return TRUST[text.fields.source] < int(view.value("source", slot))
