"""The guard on a collection: masks and texts in, a report with ids and snippets out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace

import numpy as np

from totonoe_core import limits
from totonoe_core.clock import age_text
from totonoe_core.commands import Command, Remember, Update
from totonoe_core.engine.state import CollectionState
from totonoe_core.guard import candidates, verdict
from totonoe_core.guard.ahead import Ahead, Plain, Scanned, Similarities, Vector
from totonoe_core.guard.calibration import CAREFUL, weights_for
from totonoe_core.guard.candidates import Candidate, Probe
from totonoe_core.guard.policy import GuardPolicy
from totonoe_core.guard.weights import Weights
from totonoe_core.index.arrays import RETIRED, View
from totonoe_core.index.collection_index import Features, payload_hash, same_key
from totonoe_core.index.selection import Selection, equal, of_kind, readable
from totonoe_core.index.token_index import TokenIndex
from totonoe_core.judging import Hearing, JudgingService, Pair
from totonoe_core.kernels.cosine import similarity64
from totonoe_core.records import (
    Duplicate,
    Fields,
    GuardReport,
    Judgement,
    Kind,
    Method,
    SimilarMemory,
    Verdict,
)
from totonoe_core.store.rows import Excerpt
from totonoe_core.text.normalize import refusing_hash, snippet


@dataclass(frozen=True, slots=True)
class GuardedText:
    """A text that wants in. `replaced` are the slots whose place it takes; they refuse nothing.

    `policy` is the collection's, with the actions that the call asked for. `ahead` is its vector of
    the model that the collection is being re-embedded with, if it is.
    """

    policy: GuardPolicy
    agent_id: str
    content: str
    content_hash: bytes
    fields: Fields
    force: bool
    replaced: tuple[int, ...] = ()
    ahead: Vector | None = None

    @classmethod
    def of(
        cls,
        command: Remember,
        policy: GuardPolicy,
        replaced: tuple[int, ...],
        ahead: Vector | None = None,
    ) -> GuardedText:
        """The text of a Remember."""
        return cls(
            policy=policy,
            agent_id=command.agent_id,
            content=command.content,
            content_hash=refusing_hash(command.content),
            fields=command.fields,
            force=command.force,
            replaced=replaced,
            ahead=ahead,
        )


class NeedsOpinion(Exception):  # noqa: N818 - not an error: it is decided again in a moment
    """A judge should be asked about pairs of texts before it is decided."""

    def __init__(self, pairs: Sequence[Pair]) -> None:
        super().__init__()
        self.pairs = tuple(pairs)


@dataclass(frozen=True, slots=True)
class Judged:
    """A memory whose text was read."""

    slot: int
    similarity: float
    judgement: Judgement


class Texts:
    """Excerpts of a view's slots for one decision, each read once."""

    def __init__(self, state: CollectionState, view: View) -> None:
        self._state, self.view = state, view
        self._excerpts: dict[int, Excerpt] = {}

    def read(self, slots: Sequence[int]) -> None:
        """Reads those that were not read yet, all by one statement."""
        missing = (slot for slot in slots if slot not in self._excerpts)
        rows = {int(self.view.value("row", slot)): slot for slot in missing}
        if rows:
            found = self._state.file.rows.excerpts(list(rows))
            self._excerpts |= {rows[row]: excerpt for row, excerpt in found.items()}

    def of(self, slot: int) -> Excerpt:
        """The excerpt of a slot's memory."""
        self.read([slot])
        return self._excerpts[slot]


@dataclass(frozen=True, slots=True)
class Neighbours:
    """What a save may link to or take the place of, nearest first."""

    near: tuple[Candidate, ...]
    judged: tuple[Judged, ...]
    texts: Texts


class Guarding:
    """The guard of one collection, on its writer thread."""

    def __init__(self, state: CollectionState, judging: JudgingService | None = None) -> None:
        self._state = state
        self._judging = judging
        self._ahead: Ahead | Plain | None = None

    def expect(self, brought: Iterable[tuple[Sequence[Command], Sequence[Vector | None]]]) -> None:
        """Tells which commands and vectors a batch brings, so that one scan serves many.

        None: it is over.
        """
        vectors = [
            vector
            for commands, theirs in brought
            for command, vector in zip(commands, theirs, strict=True)
            if vector is not None and _guarded(command)
        ]
        self._ahead = self._scans(vectors, graph_needed=True)

    @contextmanager
    def expecting(self, vectors: Sequence[Vector]) -> Iterator[None]:
        """The same for vectors of one command, whose neighbours are not asked for."""
        before, self._ahead = self._ahead, self._scans(vectors, graph_needed=False)
        try:
            yield
        finally:
            self._ahead = before

    def _scans(self, vectors: Sequence[Vector], graph_needed: bool) -> Ahead | Plain | None:
        index = self._state.index
        if not vectors:
            return None
        if not index.prefix.built or (graph_needed and not index.graph.count):
            return Plain(index.arrays, vectors)
        at_least = candidates.scanned_from(self._state.info.guard)
        return None if at_least is None else Ahead(index.arrays, index.prefix, vectors, at_least)

    def by_text(self, text: GuardedText, now_us: int) -> GuardReport | None:
        """The report if equal text alone refuses; `None` if a vector is needed to say more."""
        index, policy = self._state.index, text.policy
        nominees = index.slots_with_text(text.content_hash)
        if not policy.exact or not nominees or self._why_not(text):
            return None
        view = index.arrays.writer_view()
        texts = Texts(self._state, view)
        probe = self._probe(texts, text, _NO_FEATURES, {}, Hearing(None))
        _, comparable = self._asked(view, text)
        refusing = comparable.narrowed(equal("payload_hash", probe.payload))
        report, slot, _ = candidates.exact(probe, policy, refusing)
        if slot < 0:
            return None
        layers = (report, *candidates.skipped("an earlier layer refused")[1:])
        judgement = verdict.judged(text.content, text.content, 1.0, CAREFUL)
        duplicate = self._duplicate(texts, slot, 1.0, Method.EXACT, judgement, now_us)
        return GuardReport(duplicate, Method.EXACT, 1.0, (), layers, Verdict.DUPLICATE)

    def by_all(
        self,
        text: GuardedText,
        features: Features,
        now_us: int,
        may_ask: bool = False,
        neighbours: bool = True,
    ) -> tuple[GuardReport, Neighbours]:
        """The report of all layers, and the neighbours for links and for what is superseded.

        Raises `NeedsOpinion` if it may ask a judge, and nothing refuses without one. Without
        `neighbours` only what refuses is looked for.
        """
        policy = text.policy
        view = self._state.index.arrays.writer_view()
        visible, comparable = self._asked(view, text)
        why_not = self._why_not(text) or ("typed key" if text.fields.key is not None else "")
        judged: dict[int, Judged] = {}
        texts = Texts(self._state, view)
        from_cosine = policy.judged_from
        hearing = (
            Hearing(None) if from_cosine is None else Hearing(self._judging, from_cosine, may_ask)
        )
        probe = self._probe(texts, text, features, judged, hearing)
        found_ahead = None if why_not or probe.blind else self._found_ahead(features.vector)
        found = candidates.search(
            view,
            probe,
            policy,
            comparable,
            visible,
            refuse=not why_not,
            token_index=self._token_index(policy, bool(probe.blind)),
            prefix=self._state.index.prefix,
            graph=self._state.index.graph,
            scanned=found_ahead if isinstance(found_ahead, Scanned) else None,
            known=found_ahead if isinstance(found_ahead, np.ndarray) else None,
            neighbours=neighbours,
        )
        others = [one for one in found.near if one.comparable and one.slot != found.slot]
        shown = self._shown(others, policy.similar_above)
        texts.read([one.slot for one in shown])
        if policy.judged_from is not None and found.slot < 0 and not why_not:
            for one in shown:
                if _words_in_common(view, features, one):
                    probe.judge(one.slot, one.cosine)
        if hearing.wanted and found.slot < 0:
            raise NeedsOpinion(hearing.wanted)
        duplicate = None
        if found.slot >= 0:
            duplicate = self._duplicate(
                texts,
                found.slot,
                found.similarity,
                found.method,
                judged[found.slot].judgement if found.slot in judged else None,
                now_us,
            )
        report = GuardReport(
            duplicate,
            found.method,
            found.similarity,
            self._similar(texts, text, shown, judged, now_us),
            found.layers or candidates.skipped(why_not),
            None if why_not else _verdict(found.slot, judged, bool(shown)),
        )
        read = sorted(judged.values(), key=lambda one: (-one.similarity, one.slot))
        return report, Neighbours(found.near, tuple(read), texts)

    def holders(self, text: GuardedText) -> tuple[int, ...]:
        """Slots of the live memories that hold the value of the text's key.

        More than one where another agent could not see the private one of two.
        """
        key = text.fields.key
        if key is None:
            return ()
        view = self._state.index.arrays.writer_view()
        slots = np.array(self._state.index.slots_with_key(key), np.int64)
        visible, _ = self._asked(view, text)
        rows = {int(view.value("row", slot)): int(slot) for slot in slots[visible.at(slots)]}
        found = self._state.file.rows.memories(list(rows))
        return tuple(slot for row, slot in rows.items() if same_key(key, found[row].fields.key))

    def gives_way(self, text: GuardedText, slot: int) -> bool:
        """Whether a text may take the place of a memory: a private one hides no public one."""
        view = self._state.index.arrays.writer_view()
        return not text.fields.private or bool(view.value("private", slot))

    def _judgement(
        self,
        texts: Texts,
        text: GuardedText,
        payload: int,
        slot: int,
        similarity: float,
        hearing: Hearing,
    ) -> Judgement:
        """The verdict on one memory. Equal content with another payload or key is an update."""
        info = self._state.info
        weights = weights_for(info.calibration, info.model)
        if text.ahead is not None:
            similarity, weights = self._ahead_of(text.ahead, texts, slot, similarity)
        own, other = (text.content, text.content_hash), texts.of(slot)
        compared = verdict.compare(text.content, other.content, similarity, weights)
        other_text = other.content, other.content_hash
        found = hearing.heard(compared, similarity, weights, own, other_text)
        if found.verdict is Verdict.DUPLICATE and texts.view.value("payload_hash", slot) != payload:
            return replace(found, verdict=Verdict.UPDATE)
        return found

    def _ahead_of(
        self, vector: Vector, texts: Texts, slot: int, similarity: float
    ) -> tuple[float, Weights]:
        """How near a memory is by the model that is being prepared, and the weights for that.

        Where its vector of that model is not there yet: the similarity of the words, and weights
        for a model that nothing is known of.
        """
        pending, row = self._state.pending, texts.of(slot).row
        beside = self._state.file.rows.beside.embeddings([row]).get(row)
        if pending is None or beside is None or beside.model_number != pending.model_number:
            return similarity, CAREFUL
        other = np.frombuffer(beside.vector, np.float32)
        return float(similarity64(vector, other)), weights_for(None, pending.model)

    def _token_index(self, policy: GuardPolicy, blind: bool) -> TokenIndex:
        """The index of tokens, brought up to date only where a layer asks it."""
        index = self._state.index
        if policy.jaccard_above is not None or blind:
            index.token_index.catch_up(index.view())
        return index.token_index

    def _found_ahead(self, vector: Vector) -> Scanned | Similarities | None:
        return None if self._ahead is None else self._ahead.of(self._state.index.arrays, vector)

    def _why_not(self, text: GuardedText) -> str:
        """Why no layer runs; empty if they do."""
        if text.fields.kind is not Kind.STATE:
            return f"kind {text.fields.kind.value} is a log"
        return "force" if text.force else ""

    def _asked(self, view: View, text: GuardedText) -> tuple[Selection, Selection]:
        """(visible, comparable): live and readable; and of the same kind and state kind."""
        arrays = self._state.index.arrays
        pending = arrays.pending_status
        if text.replaced:
            pending = pending | dict.fromkeys(text.replaced, RETIRED)
        agent = arrays.agents.find(text.agent_id)
        visible = Selection(view, readable(agent), pending=pending)
        return visible, visible.narrowed(of_kind(text.fields.kind, text.fields.state_kind))

    def _probe(
        self,
        texts: Texts,
        text: GuardedText,
        features: Features,
        judged: dict[int, Judged],
        hearing: Hearing,
    ) -> Probe:
        """What the layers ask with; `judged` takes what is read on the way, each memory once."""
        index = self._state.index
        payload = payload_hash(text.fields)

        def judge(slot: int, similarity: float) -> Judgement:
            if slot not in judged:
                found = self._judgement(texts, text, payload, slot, similarity, hearing)
                judged[slot] = Judged(slot, similarity, found)
            return judged[slot].judgement

        return Probe(
            vector=features.vector,
            tokens=features.tokens,
            payload=payload,
            session=index.arrays.sessions.find(text.fields.session_id),
            text_nominees=index.slots_with_text(text.content_hash),
            words_nominees=index.slots_with_words(features.canonical),
            confirm_text=lambda slot: texts.of(slot).content_hash == text.content_hash,
            judge=judge,
            blind=_BLIND if features.blind else "",
        )

    def _duplicate(
        self,
        texts: Texts,
        slot: int,
        similarity: float,
        method: Method,
        judgement: Judgement | None,
        now_us: int,
    ) -> Duplicate:
        found = texts.of(slot)
        return Duplicate(
            memory_id=found.id,
            age=age_text(found.created_us, now_us),
            snippet=snippet(found.content, limits.SNIPPET_CHARS),
            similarity=min(1.0, similarity),
            method=method,
            judgement=judgement,
        )

    @staticmethod
    def _shown(near: Sequence[Candidate], above: float) -> list[Candidate]:
        """At most 5 of the nearest of the same kind that are near enough to be told."""
        chosen = [one for one in near if max(one.cosine, one.jaccard) > above]
        chosen.sort(key=lambda one: (-max(one.cosine, one.jaccard), one.slot))
        return chosen[: limits.SIMILAR_SHOWN_MAX]

    def _similar(
        self,
        texts: Texts,
        text: GuardedText,
        chosen: Sequence[Candidate],
        judged: Mapping[int, Judged],
        now_us: int,
    ) -> tuple[SimilarMemory, ...]:
        return tuple(
            SimilarMemory(
                memory_id=found.id,
                cosine_similarity=max(-1.0, min(1.0, one.cosine)),
                jaccard_similarity=one.jaccard,
                snippet=snippet(found.content, limits.SNIPPET_CHARS),
                age=age_text(found.created_us, now_us),
                same_text=found.content_hash == text.content_hash,
                judgement=judged[one.slot].judgement if one.slot in judged else None,
            )
            for one in chosen
            for found in (texts.of(one.slot),)
        )


def _guarded(command: Command) -> bool:
    """Whether the guard's layers run for it, as far as the command alone tells."""
    match command:
        case Remember(fields=fields, force=force):
            return not force and fields.kind is Kind.STATE and fields.key is None
        case Update(force=force):
            return not force
        case _:
            return False


def _words_in_common(view: View, own: Features, other: Candidate) -> bool:
    """Whether two texts may have a frame in common, as far as their words tell.

    Reading is the dearest part of a Remember. Of 804 labelled pairs that share less than one word
    in ten, and have more than a few, the verdict says RELATED of 92 %; what else it says is wrong
    more often than not: 34 of the other 60 say the same, of which it knows 2.
    """
    words = len(own.tokens) + len(view.tokens(other.slot))
    return other.jaccard >= _SHARED_WORDS_MIN or words <= _FEW_WORDS


def _verdict(refused_by: int, judged: Mapping[int, Judged], near: bool) -> Verdict:
    """The gravest verdict on any memory that was read."""
    if refused_by >= 0:
        found = judged.get(refused_by)
        return Verdict.DUPLICATE if found is None else found.judgement.verdict
    verdicts = {one.judgement.verdict for one in judged.values()}
    verdicts.add(Verdict.RELATED if near else Verdict.NEW)
    return next(one for one in _GRAVEST_FIRST if one in verdicts)


_GRAVEST_FIRST = (
    Verdict.CONTRADICTION,
    Verdict.UPDATE,
    Verdict.REFINEMENT,
    # Where a policy keeps duplicates.
    Verdict.DUPLICATE,
    Verdict.RELATED,
    Verdict.NEW,
)


_BLIND = "the text has no vector of the collection's model, which the daemon does not run"
_SHARED_WORDS_MIN = 0.1
_FEW_WORDS = 10
_NO_FEATURES = Features(np.zeros(0, np.float32), np.zeros(0, np.uint64), 0)
