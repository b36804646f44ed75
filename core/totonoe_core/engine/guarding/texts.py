"""Texts that the guard compares: a new one, and those of the memories beside it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from totonoe_core.domain import expiry
from totonoe_core.domain.memories import Remember
from totonoe_core.domain.policy import GuardPolicy
from totonoe_core.domain.records import BY_TRUST, FILE_CATEGORY, Fields, Kind, Source
from totonoe_core.engine.state.state import CollectionState
from totonoe_core.guard.candidates import Candidate
from totonoe_core.guard.prefetched import Vector
from totonoe_core.index.arrays import NEVER, RETIRED, View
from totonoe_core.index.collection_index import Features
from totonoe_core.index.lexical import name_of
from totonoe_core.index.masks import Mask
from totonoe_core.index.selection import (
    Columns,
    Condition,
    Selection,
    differing,
    equal,
    none,
    of_kind,
    readable,
)
from totonoe_core.kernels.cosine import similarity64
from totonoe_core.kernels.jaccard import jaccard_pair
from totonoe_core.store.rows import Excerpt
from totonoe_core.text.normalize import refusing_hash


@dataclass(frozen=True, slots=True)
class GuardedText:
    """A text for the guard. `replaced` are the slots that it replaces; they refuse nothing.

    `distinct` are slots that the caller declared to say something else: nobody is asked about them.
    `policy` is the collection's, with the actions of the call. `next_vector` is the text's
    vector of the next model, during a re-embedding.
    """

    policy: GuardPolicy
    agent_id: str
    content: str
    content_hash: bytes
    fields: Fields
    force: bool
    replaced: tuple[int, ...] = ()
    distinct: frozenset[int] = frozenset()
    next_vector: Vector | None = None

    @classmethod
    def of(
        cls,
        command: Remember,
        policy: GuardPolicy,
        replaced: tuple[int, ...],
        distinct: frozenset[int],
    ) -> GuardedText:
        """Prepare the text of a Remember."""
        return cls(
            policy=policy,
            agent_id=command.agent_id,
            content=command.content,
            content_hash=refusing_hash(command.content),
            fields=command.fields,
            force=command.force,
            replaced=replaced,
            distinct=distinct,
        )

    @property
    def why_never_refused(self) -> str:
        """Return the reason why nothing may refuse the text; empty if a memory may."""
        if self.fields.kind is not Kind.STATE:
            return f"kind {self.fields.kind.value} is a log"
        if not self.fields.compared:
            return f"category {FILE_CATEGORY} is kept whole"
        return "force" if self.force else ""


_NO_FEATURES = Features(np.zeros(0, np.float32), np.zeros(0, np.uint64), 0)


class Texts:
    """A text, and for one decision the memories beside it in one view, each read once.

    Parameters
    ----------
    state : CollectionState
        Of the memories. For its writer's thread.
    text : GuardedText
    features : Features
        Of the text; without them only equal text can be found.

    Attributes
    ----------
    view : View
        All slots, also those that the running operation wrote.
    features : Features
        With an empty vector while the slots of the view have no dimension.
    blind : str
        The reason why no vector of the text can be compared; empty if one can.
    """

    def __init__(
        self, state: CollectionState, text: GuardedText, features: Features = _NO_FEATURES
    ) -> None:
        self.state, self.text = state, text
        self.view: View = state.index.arrays.writer_view()
        vector = self.view.comparable(features.vector)
        self.features = replace(features, vector=vector)
        self.blind = "" if len(vector) else _NO_OTHER
        if features.blind:
            self.blind = _BLIND if state.info.model.embeds else _NO_MODEL
        self._excerpts: dict[int, Excerpt] = {}

    @cached_property
    def visible(self) -> Selection:
        """Select the slots of the text's namespace that are live, and that its agent may read.

        Whole files are beside no text, and nothing is beside them.
        """
        arrays, text = self.state.index.arrays, self.text
        pending = arrays.pending_status
        if text.replaced:
            pending = pending | dict.fromkeys(text.replaced, RETIRED)
        agent = arrays.agents.find(text.agent_id)
        namespace = arrays.namespaces.find(name_of(text.fields.namespace))
        conditions = [readable(agent), equal("namespace", namespace)]
        files = arrays.categories.find(FILE_CATEGORY)
        if text.fields.category == FILE_CATEGORY:
            conditions.append(none())
        elif files != -1:
            conditions.append(differing("category", files))
        return Selection(self.view, *conditions, pending=pending)

    @cached_property
    def comparable(self) -> Selection:
        """Select the visible slots of the text's kind and state kind, which may refuse it."""
        fields = self.text.fields
        comparable = self.visible.narrowed(of_kind(fields.kind, fields.state_kind))
        if self.state.index.arrays.expires_next_us != NEVER:
            comparable = comparable.narrowed(_as_lasting(fields))
        return comparable

    def read(self, slots: Sequence[int]) -> None:
        """Read the missing excerpts, all by one statement."""
        missing = (slot for slot in slots if slot not in self._excerpts)
        rows = {int(self.view.value("row", slot)): slot for slot in missing}
        if rows:
            excerpts = self.state.file.rows.excerpts(list(rows))
            self._excerpts |= {rows[row]: excerpt for row, excerpt in excerpts.items()}

    def of(self, slot: int) -> Excerpt:
        """Return the excerpt of a slot's memory."""
        self.read([slot])
        return self._excerpts[slot]

    def source_of(self, slot: int) -> Source:
        """Return where the text of a slot's memory comes from."""
        return BY_TRUST[int(self.view.value("source", slot))]

    def is_equal(self, slot: int) -> bool:
        """Return whether a memory has the text's words, with the same marks and capitals."""
        return self.of(slot).content_hash == self.text.content_hash

    def by_words(self, slot: int) -> bool:
        """Return whether a memory is compared by its words, for lack of two vectors."""
        return bool(self.blind) or not self.view.has_vector(np.array([slot], np.int64))[0]

    def shared_words(self, slot: int) -> float:
        """Return the Jaccard similarity of the text and a memory, 0 to 1."""
        return jaccard_pair(self.features.tokens, self.view.tokens(slot))

    def similarity(self, slot: int) -> float:
        """Return the similarity for the verdict on a memory: of the vectors, else of the words."""
        if self.by_words(slot):
            return self.shared_words(slot)
        return float(similarity64(self.features.vector, self.view.vectors(np.array([slot]))[0]))

    def similarity_of(self, candidate: Candidate) -> float:
        """Return the same from the similarities of a candidate."""
        return candidate.jaccard if self.by_words(candidate.slot) else candidate.cosine


_BLIND = "the text has no vector of the collection's model, which the daemon does not run"
_NO_MODEL = (
    "the text has no vector: its client gave none, and the collection has no model. Start the "
    "daemon with an embedder, then a re-embedding gives vectors to all texts"
)
_NO_OTHER = "no memory of the collection has a vector yet"


def _as_lasting(fields: Fields) -> Condition:
    """Select slots that a text with these fields does not outlive: others must not refuse it.

    A slot that reads put off by as long as the text lasts as long: its refusal is a read.
    """
    instant = NEVER if fields.expires_us is None else fields.expires_us
    after = expiry.after_us(fields)

    def condition(columns: Columns) -> Mask:
        mask: Mask = columns("expires") >= instant
        if after:
            mask |= columns("expires_after") >= after
        return mask

    return condition
