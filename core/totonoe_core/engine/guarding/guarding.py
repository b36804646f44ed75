"""The guard on a collection: masks and texts in, a report with ids and snippets out."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from totonoe_core.base import limits
from totonoe_core.base.clock import age_text
from totonoe_core.domain import expiry
from totonoe_core.domain.calibration import CAREFUL, bundled, weights_for
from totonoe_core.domain.memories import Remember
from totonoe_core.domain.policy import Action, GuardPolicy
from totonoe_core.domain.records import (
    FILE_CATEGORY,
    TRUST,
    Duplicate,
    Fields,
    GuardReport,
    Judgement,
    Kind,
    LayerReport,
    Method,
    SimilarMemory,
    Verdict,
)
from totonoe_core.domain.weights import Weights
from totonoe_core.engine.state.state import CollectionState
from totonoe_core.guard import candidates, verdict
from totonoe_core.guard.ahead import Scanned, Vector
from totonoe_core.guard.candidates import Candidate, Found, Probe
from totonoe_core.guard.cosines import similarities64_at
from totonoe_core.guard.separate import is_separate
from totonoe_core.guard.verdict import Comparison
from totonoe_core.index.arrays import KINDS, NEVER, RETIRED, STATE_KINDS, View
from totonoe_core.index.collection_index import Features, payload_hash, same_key
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
from totonoe_core.index.token_index import jaccard_at
from totonoe_core.judging import JudgingService, Pair, cascade
from totonoe_core.judging.hearing import Hearing, stated_for
from totonoe_core.kernels.cosine import similarity64
from totonoe_core.kernels.jaccard import jaccard_pair
from totonoe_core.store.rows import Excerpt
from totonoe_core.text.normalize import refusing_hash, snippet
from totonoe_core.text.reading.budget import ReadingBudget


@dataclass(frozen=True, slots=True)
class GuardedText:
    """A text for the guard. `replaced` are the slots that it replaces; they refuse nothing.

    `distinct` are slots that the caller declared to say something else: nobody is asked about them.
    `policy` is the collection's, with the actions of the call. `ahead` is the text's vector of the
    next model, during a re-embedding.
    """

    policy: GuardPolicy
    agent_id: str
    content: str
    content_hash: bytes
    fields: Fields
    force: bool
    replaced: tuple[int, ...] = ()
    distinct: frozenset[int] = frozenset()
    ahead: Vector | None = None

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


class NeedsOpinion(Exception):  # noqa: N818 - not an error: it is decided again in a moment
    """A judge should decide on pairs of texts first."""

    def __init__(self, pairs: Sequence[Pair]) -> None:
        super().__init__()
        self.pairs = tuple(pairs)


@dataclass(frozen=True, slots=True)
class Judged:
    """A memory whose text was read; `compared` is what was found, before payload and judge."""

    slot: int
    similarity: float
    judgement: Judgement
    compared: Comparison


@dataclass(frozen=True, slots=True)
class _Pair:
    """A memory whose text will be read.

    `other_words` is true if the hashes of the words differ. `by_words` is true if `similarity` is
    that of the words, because the text or the memory has no vector.
    """

    slot: int
    similarity: float
    other_words: bool
    by_words: bool


class Texts:
    """Excerpts of a view's slots for one decision, each read once."""

    def __init__(self, state: CollectionState, view: View) -> None:
        self._state, self.view = state, view
        self._excerpts: dict[int, Excerpt] = {}

    def read(self, slots: Sequence[int]) -> None:
        """Read the missing excerpts, all by one statement."""
        missing = (slot for slot in slots if slot not in self._excerpts)
        rows = {int(self.view.value("row", slot)): slot for slot in missing}
        if rows:
            found = self._state.file.rows.excerpts(list(rows))
            self._excerpts |= {rows[row]: excerpt for row, excerpt in found.items()}

    def of(self, slot: int) -> Excerpt:
        """Return the excerpt of a slot's memory."""
        self.read([slot])
        return self._excerpts[slot]


@dataclass(frozen=True, slots=True)
class Neighbours:
    """Memories that a save may link to or supersede, nearest first.

    `likely` are those that probably say the same, the most probable first. `reading` is the rest of
    the decision's budget. `unread` is true if the daemon's own judge had no time for some of them.
    """

    near: tuple[Candidate, ...]
    judged: tuple[Judged, ...]
    likely: tuple[Judged, ...]
    texts: Texts
    reading: ReadingBudget
    unread: bool = False


class Guarding:
    """The guard of one collection, on its writer thread."""

    def __init__(self, state: CollectionState, judging: JudgingService | None = None) -> None:
        self._state = state
        self._judging = judging

    @property
    def has_own_judge(self) -> bool:
        """Return whether the daemon's own judge reads what the layers leave open."""
        return self._judging is not None and self._judging.is_own

    def by_text(self, text: GuardedText, now_us: int) -> GuardReport | None:
        """Return the report if equal text alone refuses; `None` if a vector is needed to decide."""
        index, policy = self._state.index, text.policy
        nominees = index.slots_with_text(text.content_hash)
        if not policy.exact or not nominees or self._why_not(text):
            return None
        view = index.arrays.writer_view()
        texts = Texts(self._state, view)
        probe = self._probe(texts, text, _NO_FEATURES, {}, Hearing(None), ReadingBudget(0))
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
        reading: ReadingBudget | None = None,
    ) -> tuple[GuardReport, Neighbours]:
        """Return the report of all layers, and the neighbours for links and superseding.

        Raises `NeedsOpinion` if it may ask a judge and nothing refuses without one. The daemon's
        own judge reads after all layers (`judging.cascade`). Without `neighbours` only refusals are
        searched. READ_PIECES_MAX are read, the nearest first, and no more than `reading`, the
        budget of the operation, has left.
        """
        policy = text.policy
        view = self._state.index.arrays.writer_view()
        blind = self._blind(view, features)
        features = replace(features, vector=view.comparable(features.vector))
        visible, comparable = self._asked(view, text)
        why_not = self._why_not(text) or ("typed key" if text.fields.key is not None else "")
        judged: dict[int, Judged] = {}
        texts = Texts(self._state, view)
        from_cosine = policy.judged_from
        own_judge = from_cosine is not None and self.has_own_judge
        hearing = (
            Hearing(None)
            if from_cosine is None or own_judge
            else Hearing(self._judging, from_cosine, may_ask)
        )
        budget = ReadingBudget(limits.READ_PIECES_MAX, within=reading)
        probe = self._probe(texts, text, features, judged, hearing, budget, blind)
        index = self._state.index
        found_ahead = (
            None if why_not or probe.blind else self._state.scans.of(index, features.vector, policy)
        )
        found = candidates.search(
            view,
            probe,
            policy,
            comparable,
            visible,
            refuse=not why_not,
            token_index=index.token_index,
            prefix=index.prefix,
            graph=index.graph,
            scanned=found_ahead if isinstance(found_ahead, Scanned) else None,
            known=found_ahead if isinstance(found_ahead, np.ndarray) else None,
            neighbours=neighbours,
            nominate=own_judge,
        )
        others = [one for one in found.near if one.comparable and one.slot != found.slot]
        shown = self._shown(others, policy.similar_above)
        texts.read([one.slot for one in shown])
        if not why_not:
            beside = _beside_the_layers(view, features, policy, found.slot, others, shown)
            for slot, similarity in beside:
                probe.judge(slot, similarity)
        if hearing.wanted and found.slot < 0:
            raise NeedsOpinion(hearing.wanted)
        unread = False
        if own_judge and not why_not and found.slot < 0:
            found, unread = self._by_own_judge(texts, text, features, found, probe, judged, may_ask)
            shown = [one for one in shown if one.slot != found.slot]
        if found.slot < 0:
            _keep_to_the_answer(policy, judged)
        report = self._reported(texts, text, found, shown, judged, now_us, why_not)
        nearest_first = sorted(judged.values(), key=lambda one: (-one.similarity, one.slot))
        likely = self.likely(text, nearest_first)
        if report.duplicate is None:
            report = self._with_one(report, texts, text, features, nearest_first, likely, now_us)
        return report, Neighbours(found.near, tuple(nearest_first), likely, texts, budget, unread)

    def _reported(
        self,
        texts: Texts,
        text: GuardedText,
        found: Found,
        shown: Sequence[Candidate],
        judged: dict[int, Judged],
        now_us: int,
        why_not: str,
    ) -> GuardReport:
        """Return the report of the layers; `why_not` is the reason why none ran."""
        duplicate = None
        if found.slot >= 0:
            read = judged.get(found.slot)
            judgement = None if read is None else read.judgement
            duplicate = self._duplicate(
                texts, found.slot, found.similarity, found.method, judgement, now_us
            )
        return GuardReport(
            duplicate,
            found.method,
            found.similarity,
            self._similar(texts, text, shown, judged, now_us),
            found.layers or candidates.skipped(why_not),
            None if why_not else _verdict(found.slot, judged, bool(shown)),
        )

    def _by_own_judge(
        self,
        texts: Texts,
        text: GuardedText,
        features: Features,
        found: Found,
        probe: Probe,
        judged: dict[int, Judged],
        may_ask: bool,
    ) -> tuple[Found, bool]:
        """Let the daemon's own judge read what nothing settled; return who refuses by it.

        The second value is true if it had no time for a pair. What was read only for the judge, and
        has no opinion, does not stay in `judged`.
        """
        service, view = self._judging, texts.view
        assert service is not None
        before = set(judged)
        texts.read([one.slot for one in found.nominated])
        for one in found.nominated:
            probe.judge(one.slot, _compared_by(view, features, one))
        content = {slot: texts.of(slot) for slot in judged}
        pairs = [
            cascade.Open(slot, one.compared, one.judgement)
            for slot, one in judged.items()
            if self._is_for_own_judge(text, content[slot].content, one)
        ]
        wanted: list[Pair] = []
        opinions, unread = 0, False
        for pair in cascade.chosen(pairs):
            other = content[pair.slot]
            put = Pair.of(text.content, text.content_hash, other.content, other.content_hash)
            known, opinion = service.look_up(put)
            if opinion is not None:
                of_own = stated_for(opinion, put, text.content)
                judgement = cascade.judged_by(pair, of_own, text.policy)
                judgement = _by_trust(view, text, pair.slot, judgement)
                judged[pair.slot] = replace(judged[pair.slot], judgement=judgement)
                before.add(pair.slot)
                opinions += 1
            elif not known and may_ask and service.accepts:
                wanted.append(put)
            else:
                unread |= not known or service.is_late(put)
        if wanted:
            raise NeedsOpinion(wanted)
        for slot in judged.keys() - before:
            del judged[slot]
        certain = [
            one
            for one in judged.values()
            if one.judgement.by_judge
            and one.judgement.verdict is Verdict.DUPLICATE
            and text.policy.action(one.judgement) is Action.REFUSE
        ]
        report = LayerReport(
            Method.JUDGE, opinions > 0, "" if opinions else "no pair has its opinion"
        )
        layers = (*found.layers, report)
        if not certain:
            return replace(found, layers=layers), unread
        most = min(certain, key=lambda one: (-one.judgement.same_probability, one.slot))
        found = replace(
            found,
            slot=most.slot,
            method=Method.JUDGE,
            similarity=min(1.0, most.similarity),
            layers=layers,
        )
        return found, False

    @staticmethod
    def _is_for_own_judge(text: GuardedText, other: str, one: Judged) -> bool:
        return cascade.is_open(
            one.compared, one.judgement, text.content, other
        ) or cascade.may_replace(one.compared, one.judgement, text.policy, text.content, other)

    def likely(self, text: GuardedText, judged: Iterable[Judged]) -> tuple[Judged, ...]:
        """Return the memories that probably say the same, the most probable first.

        At most LIKELY_LINKS_PER_SAVE. A memory that the text supersedes is no question.
        """
        likely = [one for one in judged if text.policy.is_likely(one.judgement)]
        return tuple(_open(text, likely)[: limits.LIKELY_LINKS_PER_SAVE])

    def beside(
        self, text: GuardedText, features: Features, slots: Sequence[int], reading: ReadingBudget
    ) -> tuple[Judged, ...]:
        """Judge some memories whatever their similarity; nobody is asked for an opinion."""
        view = self._state.index.arrays.writer_view()
        texts, judged = Texts(self._state, view), dict[int, Judged]()
        features = replace(features, vector=view.comparable(features.vector))
        budget = ReadingBudget(limits.READ_PIECES_MAX, within=reading)
        probe = self._probe(texts, text, features, judged, Hearing(None), budget)
        texts.read(slots)
        for slot in slots:
            if _by_words(view, features, slot):
                similarity = jaccard_pair(features.tokens, view.tokens(slot))
            else:
                similarity = similarity64(features.vector, view.vectors(np.array([slot]))[0])
            probe.judge(slot, similarity)
        return tuple(judged.values())

    def holders(self, text: GuardedText) -> tuple[int, ...]:
        """Return slots of the live memories that hold the value of the text's key.

        There may be several, if another agent could not see the private one of two.
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

    def in_words_of(self, text: GuardedText, slot: int) -> tuple[int, ...]:
        """Return slots of live memories, comparable to a text, with the words of another memory.

        They nominate: only their hashes are equal.
        """
        view = self._state.index.arrays.writer_view()
        canonical = int(view.value("canonical_hash", slot))
        slots = np.array(self._state.index.slots_with_words(canonical), np.int64)
        _, comparable = self._asked(view, text)
        return tuple(slots[comparable.at(slots)].tolist())

    def gives_way(self, text: GuardedText, slot: int) -> bool:
        """Return whether a text may supersede a memory.

        A private one may not hide a public one, nor a less trusted one a memory that its caller
        does not name.
        """
        if text.fields.private and not self._state.index.arrays.writer_view().value(
            "private", slot
        ):
            return False
        return slot in text.replaced or not self.is_less_trusted(text, slot)

    def is_less_trusted(self, text: GuardedText, slot: int) -> bool:
        """Return whether a text comes from a less trusted source than a memory."""
        view = self._state.index.arrays.writer_view()
        return TRUST[text.fields.source] < int(view.value("source", slot))

    def most_alike(
        self, text: GuardedText, own: Features, rows: Sequence[int], count: int
    ) -> list[int]:
        """Return slots of superseded memories that may say the same as a text.

        They have its kind and payload, and enough words in common or a vector near enough for the
        guard to read a live one. The agent may see them. Most words in common first.
        """
        index, fields = self._state.index, text.fields
        view = index.arrays.writer_view()
        found = [index.slot_by_row.get(row) for row in rows]
        slots = np.array(sorted(slot for slot in found if slot is not None), np.int64)
        agent = index.arrays.agents.find(text.agent_id)
        kept = view.take("kind", slots) == KINDS[fields.kind]
        kept &= view.take("state_kind", slots) == STATE_KINDS[fields.state_kind]
        kept &= view.take("payload_hash", slots) == np.uint64(payload_hash(fields))
        kept &= (view.take("private", slots) == 0) | (view.take("agent", slots) == agent)
        slots = slots[kept]
        words = jaccard_at(view, own.tokens, slots)
        enough = words > candidates.WORDS_ABOVE
        vector = view.comparable(own.vector)
        if not own.blind and len(vector) and text.policy.judged_from is not None:
            near = similarities64_at(view, vector, slots)
            enough |= near >= text.policy.judged_from
        order = np.lexsort((slots[enough], -words[enough]))[:count]
        return [int(slot) for slot in slots[enough][order]]

    def _judgement(
        self,
        texts: Texts,
        text: GuardedText,
        payload: int,
        pair: _Pair,
        hearing: Hearing,
        budget: ReadingBudget,
    ) -> tuple[Judgement, Comparison]:
        """Return the verdict on one memory, and what was found.

        Equal content with another payload or key updates.
        """
        info, slot, similarity = self._state.info, pair.slot, pair.similarity
        weights, known = CAREFUL, False
        if text.ahead is not None:
            similarity, weights = self._ahead_of(text.ahead, texts, slot, similarity)
        elif not pair.by_words:
            weights, known = weights_for(info.calibration, info.model), bundled(info.model)
        own, other = (text.content, text.content_hash), texts.of(slot)
        compared = verdict.compare(
            text.content, other.content, similarity, weights, budget, pair.other_words, known
        )
        other_text = other.content, other.content_hash
        compared = replace(compared, judgement=text.policy.settled(compared.judgement))
        if (
            compared.whole_sentences
            and text.policy.on_contained is Action.REFUSE
            and compared.judgement.verdict is Verdict.CONTAINED
            and is_separate(text.content, other.content, budget)
        ):
            compared = compared.separate()
        # Settled again: a judge may call the same what it gives a low probability.
        heard = hearing.heard(compared, similarity, weights, own, other_text)
        found = _by_trust(texts.view, text, slot, text.policy.settled(heard))
        if texts.view.value("payload_hash", slot) != payload:
            other_payload = _WITH_OTHER_PAYLOAD.get(found.verdict, found.verdict)
            return replace(found, verdict=other_payload, hard=True), compared
        return found, compared

    def _ahead_of(
        self, vector: Vector, texts: Texts, slot: int, similarity: float
    ) -> tuple[float, Weights]:
        """Return a memory's similarity by the next model, and the weights for it.

        Without a vector of that model yet: the similarity of the words, and careful weights.
        """
        pending, row = self._state.pending, texts.of(slot).row
        beside = self._state.file.rows.beside.embeddings([row]).get(row)
        if pending is None or beside is None or beside.model_number != pending.model_number:
            return similarity, CAREFUL
        other = np.frombuffer(beside.vector, np.float32)
        return float(similarity64(vector, other)), weights_for(None, pending.model)

    def _why_not(self, text: GuardedText) -> str:
        """Return the reason why no layer runs; empty if they run."""
        if text.fields.kind is not Kind.STATE:
            return f"kind {text.fields.kind.value} is a log"
        if not text.fields.compared:
            return f"category {FILE_CATEGORY} is kept whole"
        return "force" if text.force else ""

    def _asked(self, view: View, text: GuardedText) -> tuple[Selection, Selection]:
        """Return (visible, comparable) of the text's namespace.

        That is live and readable; and of the same kind and state kind. Whole files are beside no
        text, and nothing is beside them.
        """
        arrays = self._state.index.arrays
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
        visible = Selection(view, *conditions, pending=pending)
        comparable = visible.narrowed(of_kind(text.fields.kind, text.fields.state_kind))
        if arrays.expires_next_us != NEVER:
            comparable = comparable.narrowed(_as_lasting(text.fields))
        return visible, comparable

    def _probe(
        self,
        texts: Texts,
        text: GuardedText,
        features: Features,
        judged: dict[int, Judged],
        hearing: Hearing,
        budget: ReadingBudget,
        blind: str = "",
    ) -> Probe:
        """Prepare the probe of the layers; `judged` collects the memories read, each once."""
        index = self._state.index
        payload = payload_hash(text.fields)

        def judge(slot: int, similarity: float) -> Judgement:
            if slot not in judged:
                other_words = int(texts.view.value("canonical_hash", slot)) != features.canonical
                pair = _Pair(slot, similarity, other_words, _by_words(texts.view, features, slot))
                found, compared = self._judgement(texts, text, payload, pair, hearing, budget)
                judged[slot] = Judged(slot, similarity, found, compared)
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
            fetch=texts.read,
            blind=blind,
            lacking=index.arrays.may_lack,
            trust=TRUST[text.fields.source],
        )

    def _blind(self, view: View, features: Features) -> str:
        """Return the reason why no vector of a text can be compared; empty if one can."""
        if not features.blind:
            return "" if len(view.comparable(features.vector)) else _NO_OTHER
        return _BLIND if self._state.info.model.embeds else _NO_MODEL

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

    def _with_one(
        self,
        report: GuardReport,
        texts: Texts,
        text: GuardedText,
        own: Features,
        judged: Sequence[Judged],
        likely: Sequence[Judged],
        now_us: int,
    ) -> GuardReport:
        """Return the report with the memory to ask about, or else with the one to show."""
        shown = likely or _open(
            text, [one for one in judged if text.policy.is_shown(one.judgement)]
        )
        if not shown:
            return report
        found = _as_candidate(texts.view, own, shown[0])
        (memory,) = self._similar(texts, text, [found], {shown[0].slot: shown[0]}, now_us)
        return replace(report, question=memory) if likely else replace(report, nearest=memory)

    def with_linked(
        self,
        report: GuardReport,
        text: GuardedText,
        own: Features,
        linked: Iterable[str],
        neighbours: Neighbours,
        now_us: int,
    ) -> GuardReport:
        """Return the report with every memory that a save was linked to among the similar ones."""
        shown = {one.memory_id for one in report.similar}
        slots = self._state.index.slot_by_id
        missing = [slots.get(one) for one in dict.fromkeys(linked) if one not in shown]
        judged = {one.slot: one for one in neighbours.judged}
        found = {one.slot: one for one in neighbours.near}
        view = neighbours.texts.view
        found |= {
            slot: _as_candidate(view, own, one)
            for slot, one in judged.items()
            if slot in missing and slot not in found
        }
        # A memory that the caller named was not compared, and needs no showing.
        chosen = [found[slot] for slot in missing if slot is not None and slot in found]
        neighbours.texts.read([one.slot for one in chosen])
        added = self._similar(neighbours.texts, text, chosen, judged, now_us)
        return replace(report, similar=(*report.similar, *added)) if added else report

    @staticmethod
    def _shown(near: Sequence[Candidate], above: float) -> list[Candidate]:
        """Return at most 5 of the nearest of the same kind that are near enough to show."""
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
                revision=found.revision,
            )
            for one in chosen
            for found in (texts.of(one.slot),)
        )


def _open(text: GuardedText, judged: Iterable[Judged]) -> list[Judged]:
    """Return the memories whose relation to a text is open, the most probably same first.

    The caller declared no difference, and the text supersedes none of them by its verdict.
    """
    found = [
        one
        for one in judged
        if one.slot not in text.distinct
        and text.policy.action(one.judgement) is not Action.SUPERSEDE
    ]
    return sorted(found, key=lambda one: (-one.judgement.same_probability, one.slot))


def _by_trust(view: View, text: GuardedText, slot: int, judgement: Judgement) -> Judgement:
    """Call RELATED what would refuse a text although the memory comes from a less trusted source.

    Both stay, and somebody is asked whether they say the same.
    """
    if int(view.value("source", slot)) >= TRUST[text.fields.source]:
        return judgement
    if text.policy.action(judgement) is not Action.REFUSE:
        return judgement
    return replace(judgement, verdict=Verdict.RELATED)


def _by_words(view: View, own: Features, slot: int) -> bool:
    """Return whether a text and a memory are compared by words, for lack of two vectors."""
    return own.blind or not view.has_vector(np.array([slot], np.int64))[0]


def _as_candidate(view: View, own: Features, asked: Judged) -> Candidate:
    """Return a memory that was read with both its similarities."""
    return Candidate(
        slot=asked.slot,
        cosine=0.0 if _by_words(view, own, asked.slot) else asked.similarity,
        jaccard=jaccard_pair(own.tokens, view.tokens(asked.slot)),
        comparable=True,
    )


def _compared_by(view: View, own: Features, other: Candidate) -> float:
    """Return the similarity for the verdict on a memory: of the vectors, else of the words."""
    return other.jaccard if _by_words(view, own, other.slot) else other.cosine


def _beside_the_layers(
    view: View,
    own: Features,
    policy: GuardPolicy,
    refused_by: int,
    others: Sequence[Candidate],
    shown: Sequence[Candidate],
) -> list[tuple[int, float]]:
    """Return the slots that are read although no layer asks, with the similarity to compare by.

    A saved text is compared with the memories that are shown; a refused one with those that its
    duplicate may supersede.
    """
    from_cosine = policy.judged_from
    if from_cosine is None:
        return []
    if refused_by < 0:
        worth = [one for one in shown if _words_in_common(view, own, one)]
        return [(one.slot, _compared_by(view, own, one)) for one in worth]
    if not policy.supersedes:
        return []
    compared = [(one, _compared_by(view, own, one)) for one in others]
    return [(one.slot, value) for one, value in compared if one in shown or value >= from_cosine]


def _words_in_common(view: View, own: Features, other: Candidate) -> bool:
    """Return whether two texts may have a frame in common, judging by their words.

    Reading is the costliest part of a Remember. Of 56 labelled pairs in reach (cosine 0.6 to 0.75)
    that share one to two words in ten, and have more than a few, the verdict is RELATED for 50, and
    5 are likely the same, 3 of them rightly. Without them, on real notes, a Remember reads half as
    many texts, and asks fewer questions, of which more are right (docs/quality.md).
    """
    words = len(own.tokens) + len(view.tokens(other.slot))
    return other.jaccard >= _SHARED_WORDS_MIN or words <= _FEW_WORDS


def _keep_to_the_answer(policy: GuardPolicy, judged: dict[int, Judged]) -> None:
    """Call RELATED what no layer refused, although the policy refuses its verdict.

    Such a pair is only shown. The layers did not read it: more pairs reach a layer than it reads.
    """
    for slot, one in judged.items():
        if policy.action(one.judgement) is Action.REFUSE:
            judged[slot] = replace(one, judgement=replace(one.judgement, verdict=Verdict.RELATED))


def _verdict(refused_by: int, judged: Mapping[int, Judged], near: bool) -> Verdict:
    """Return the gravest verdict on any memory that was read."""
    if refused_by >= 0:
        found = judged.get(refused_by)
        return Verdict.DUPLICATE if found is None else found.judgement.verdict
    verdicts = {one.judgement.verdict for one in judged.values()}
    verdicts.add(Verdict.RELATED if near else Verdict.NEW)
    return next(one for one in _GRAVEST_FIRST if one in verdicts)


_WITH_OTHER_PAYLOAD = {
    Verdict.DUPLICATE: Verdict.UPDATE,
    Verdict.CONTAINED: Verdict.RELATED,
}
_GRAVEST_FIRST = (
    Verdict.CONTRADICTION,
    Verdict.UPDATE,
    Verdict.REFINEMENT,
    Verdict.CONTAINED,
    # For a policy that keeps duplicates.
    Verdict.DUPLICATE,
    Verdict.RELATED,
    Verdict.NEW,
)


_BLIND = "the text has no vector of the collection's model, which the daemon does not run"
_NO_MODEL = (
    "the text has no vector: its client gave none, and the collection has no model. Start the "
    "daemon with an embedder, then a re-embedding gives vectors to all texts"
)
_NO_OTHER = "no memory of the collection has a vector yet"
_SHARED_WORDS_MIN = 0.2
_FEW_WORDS = 10
_NO_FEATURES = Features(np.zeros(0, np.float32), np.zeros(0, np.uint64), 0)


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
