"""The guard on a collection: masks and texts in, a report with ids and snippets out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from totonoe_core import limits
from totonoe_core.clock import age_text
from totonoe_core.engine.state import CollectionState
from totonoe_core.guard import candidates
from totonoe_core.guard.candidates import Candidate, Probe
from totonoe_core.index.arrays import RETIRED, View
from totonoe_core.index.collection_index import Features, payload_hash
from totonoe_core.index.selection import Selection, equal, of_kind, readable
from totonoe_core.index.token_index import TokenIndex
from totonoe_core.records import (
    Duplicate,
    Fields,
    GuardReport,
    Kind,
    Method,
    SimilarMemory,
)
from totonoe_core.store.rows import Excerpt
from totonoe_core.text.normalize import canonical_form, snippet


@dataclass(frozen=True, slots=True)
class GuardedText:
    """A text that wants in. `own_slot` is the one an Update replaces; it refuses nothing."""

    agent_id: str
    content: str
    content_hash: bytes
    fields: Fields
    force: bool
    own_slot: int = -1


class Guarding:
    """The guard of one collection, on its writer thread."""

    def __init__(self, state: CollectionState) -> None:
        self._state = state

    def by_text(self, text: GuardedText, now_us: int) -> GuardReport | None:
        """The report if equal text alone refuses; `None` if a vector is needed to say more."""
        index, policy = self._state.index, self._state.info.guard
        nominees = index.slots_with_text(text.content_hash)
        if not policy.exact or not nominees or self._why_not(text):
            return None
        view = index.arrays.writer_view()
        probe = self._probe(view, text, _NO_FEATURES)
        _, comparable = self._asked(view, text)
        refusing = comparable.narrowed(equal("payload_hash", probe.payload))
        report, slot, _ = candidates.exact(probe, policy, refusing)
        if slot < 0:
            return None
        layers = (report, *candidates.skipped("an earlier layer refused")[1:])
        duplicate = self._duplicate(view, slot, 1.0, Method.EXACT, now_us)
        return GuardReport(duplicate, Method.EXACT, 1.0, (), layers)

    def by_all(
        self, text: GuardedText, features: Features, now_us: int
    ) -> tuple[GuardReport, Sequence[Candidate]]:
        """The report of all layers, and the nearest visible memories for links."""
        policy = self._state.info.guard
        view = self._state.index.arrays.writer_view()
        visible, comparable = self._asked(view, text)
        why_not = self._why_not(text)
        probe = self._probe(view, text, features)
        found = candidates.search(
            view,
            probe,
            policy,
            comparable,
            visible,
            refuse=not why_not,
            token_index=self._token_index(),
            prefix=self._state.index.prefix,
            graph=self._state.index.graph,
        )
        duplicate = None
        if found.slot >= 0:
            duplicate = self._duplicate(view, found.slot, found.similarity, found.method, now_us)
        others = [one for one in found.near if one.comparable and one.slot != found.slot]
        similar = self._similar(view, text, others, now_us)
        layers = found.layers or candidates.skipped(why_not)
        report = GuardReport(duplicate, found.method, found.similarity, similar, layers)
        return report, found.near

    def _token_index(self) -> TokenIndex:
        """The index of tokens, brought up to date only where a layer asks it."""
        index = self._state.index
        if self._state.info.guard.jaccard_above is not None:
            index.token_index.catch_up(index.view())
        return index.token_index

    def _why_not(self, text: GuardedText) -> str:
        """Why no layer runs; empty if they do."""
        if text.fields.kind is not Kind.STATE:
            return f"kind {text.fields.kind.value} is a log"
        return "force" if text.force else ""

    def _asked(self, view: View, text: GuardedText) -> tuple[Selection, Selection]:
        """(visible, comparable): live and readable; and of the same kind and state kind."""
        arrays = self._state.index.arrays
        pending = arrays.pending_status
        if text.own_slot >= 0:
            pending = pending | {text.own_slot: RETIRED}
        agent = arrays.agents.find(text.agent_id)
        visible = Selection(view, readable(agent), pending=pending)
        return visible, visible.narrowed(of_kind(text.fields.kind, text.fields.state_kind))

    def _probe(self, view: View, text: GuardedText, features: Features) -> Probe:
        index = self._state.index

        def excerpt(slot: int) -> Excerpt:
            return self._excerpts(view, [slot])[slot]

        return Probe(
            vector=features.vector,
            tokens=features.tokens,
            payload=payload_hash(text.fields.payload),
            session=index.arrays.sessions.find(text.fields.session_id),
            text_nominees=index.slots_with_text(text.content_hash),
            words_nominees=index.slots_with_words(features.canonical),
            confirm_text=lambda slot: excerpt(slot).content_hash == text.content_hash,
            confirm_words=lambda slot: (
                canonical_form(excerpt(slot).content) == canonical_form(text.content)
            ),
        )

    def _excerpts(self, view: View, slots: Sequence[int]) -> dict[int, Excerpt]:
        rows = {int(view.value("row", slot)): slot for slot in slots}
        found = self._state.file.rows.excerpts(list(rows))
        return {rows[row]: excerpt for row, excerpt in found.items()}

    def _duplicate(
        self, view: View, slot: int, similarity: float, method: Method, now_us: int
    ) -> Duplicate:
        found = self._excerpts(view, [slot])[slot]
        return Duplicate(
            memory_id=found.id,
            age=age_text(found.created_us, now_us),
            snippet=snippet(found.content, limits.SNIPPET_CHARS),
            similarity=min(1.0, similarity),
            method=method,
        )

    def _similar(
        self,
        view: View,
        text: GuardedText,
        near: Sequence[Candidate],
        now_us: int,
    ) -> tuple[SimilarMemory, ...]:
        """At most 5 of the nearest of the same kind that are near enough to be told."""
        above = self._state.info.guard.similar_above
        chosen = [one for one in near if max(one.cosine, one.jaccard) > above]
        chosen.sort(key=lambda one: (-max(one.cosine, one.jaccard), one.slot))
        chosen = chosen[: limits.SIMILAR_SHOWN_MAX]
        excerpts = self._excerpts(view, [one.slot for one in chosen])
        return tuple(
            SimilarMemory(
                memory_id=excerpts[one.slot].id,
                cosine_similarity=max(-1.0, min(1.0, one.cosine)),
                jaccard_similarity=one.jaccard,
                snippet=snippet(excerpts[one.slot].content, limits.SNIPPET_CHARS),
                age=age_text(excerpts[one.slot].created_us, now_us),
                same_text=excerpts[one.slot].content_hash == text.content_hash,
            )
            for one in chosen
        )


_NO_FEATURES = Features(np.zeros(0, np.float32), np.zeros(0, np.uint64), 0)
