"""Near pairs of one collection for one agent, and the messages on them."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from concurrent.futures import Future
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from totonoe_core.base import limits
from totonoe_core.domain.consolidate import ConsolidateQuery, MergeCandidate, MergeCluster
from totonoe_core.domain.records import Judgement, Memory, Status, Verdict
from totonoe_core.engine.jobs.join import Join, Question, Scope, no_candidates
from totonoe_core.engine.state.comparing import comparison_at
from totonoe_core.engine.state.state import CollectionState
from totonoe_core.guard.verdict import Comparison
from totonoe_core.index.collection_index import text_hash
from totonoe_core.judging import JudgingService, TextPair, cascade
from totonoe_core.judging.hearing import stated_for
from totonoe_core.kernels.cosine import similarity64
from totonoe_core.kernels.jaccard import jaccard_pair
from totonoe_core.rules import consolidate
from totonoe_core.rules.consolidate import Nearest, Pair, keeper
from totonoe_core.store.seam import ReaderPool, Rows
from totonoe_core.text.normalize import snippet


class _ComparedPair(NamedTuple):
    """Two memories, the earlier one first, and how the other relates to it."""

    pair: Pair
    a: Memory
    b: Memory
    similarity: float
    jaccard: float
    compared: Comparison

    @property
    def judgement(self) -> Judgement:
        return self.compared.judgement


class _OpenPair(NamedTuple):
    """A pair that the guard left open, and its texts for the judge."""

    one: _ComparedPair
    texts: TextPair


class PairSearch:
    """The second phase of one Consolidate. One thread at a time.

    Most of its pairs come from a join over public slots that other runs may share. It computes
    alone what others do not have: pairs with a side that only its agent sees, or that is newer than
    that join. So its pairs are those of its own scope, exactly.

    Attributes
    ----------
    scope : Scope
        What its agent saw when it began.
    public : Join
        The join that it shares. Whoever advances it is alone in that (`consolidate._AT_WORK`).
    judging : JudgingService or None
        Only the daemon's own judge is asked.
    """

    def __init__(
        self,
        state: CollectionState,
        readers: ReaderPool,
        query: ConsolidateQuery,
        scope: Scope,
        public: Join,
        judging: JudgingService | None = None,
    ) -> None:
        self._state = state
        self._readers = readers
        self._query = query
        self._judging = judging if judging is not None and judging.is_own else None
        self.scope, self.public = scope, public
        question = Question.of(query)
        own = scope.live.copy()
        own[: len(public.among)] &= ~public.among
        self._has_own = bool(own.any())
        self._own = Join(readers, scope, question, scope.live if self._has_own else own, own)
        self._joins = (self._own, public)
        self._scanned_before = public.scanned_count
        self._nearest: Nearest | None = None

    @property
    def newest_revision(self) -> int:
        """The collection's newest revision now."""
        return self._state.published.revision

    @property
    def memory_count(self) -> int:
        """Number of memories compared."""
        return int(np.count_nonzero(self.scope.live))

    @property
    def pair_count(self) -> int:
        """Number of valid pairs found so far, kept or not."""
        return sum(join.pair_count for join in self._joins)

    @property
    def scanned_count(self) -> int:
        """Number of pairs compared so far, by whomever."""
        return sum(join.scanned_count for join in self._joins)

    @property
    def scanned_now_count(self) -> int:
        """Number of pairs compared since this search began."""
        return self.scanned_count - self._scanned_before

    @property
    def total_count(self) -> int:
        """Number of pairs to compare, once for each of the two measures."""
        return sum(join.total_count for join in self._joins)

    def steps(self) -> Iterator[list[Pair]]:
        """Search for pairs; yield, after each product, those among the nearest so far."""
        nearest: Nearest | None = None
        for join in self._joins:
            seen_count, more = 0, True
            while more:
                # Others may be ahead.
                more = seen_count < len(join.found) or join.advance()
                new: list[Pair] = []
                while seen_count < len(join.found):
                    nearest = nearest or self._empty()
                    new += nearest.add(*join.found[seen_count], _none_out).pairs()
                    seen_count += 1
                yield new
        # `found` has not all of them, and some that are near no more.
        self._nearest = self._empty()
        for join in self._joins:
            self._nearest.add(*join.nearest.kept(), _none_out)

    def _empty(self) -> Nearest:
        """Return no pairs yet, for slots of both joins. After one of them advanced."""
        rank = self._own.rank if self._has_own else self.public.rank
        return Nearest(self._own.question.limit, rank)

    # -- The judge

    def asked(self) -> Iterator[Future[None]]:
        """Put what the guard left open to the daemon's own judge; yield what to wait for.

        The pairs of the answer, the most probable first, a few at a time, so that saves are not
        kept waiting. After all steps, and before `kept`.
        """
        if self._judging is None:
            return
        compared = sorted(
            self._compared(self._nearest_pairs()), key=lambda pair: -pair.judgement.same_probability
        )[: limits.MERGE_CANDIDATES_JUDGED_MAX]
        for begin in range(0, len(compared), limits.JUDGE_PAIRS_PER_SCORE):
            turns = self._turns()
            part = self._compared(
                [
                    comparison.pair
                    for comparison in compared[begin : begin + limits.JUDGE_PAIRS_PER_SCORE]
                ]
            )
            opened = [
                found for comparison in part if (found := self._opened(comparison)) is not None
            ]
            if opened:
                yield self._judging.submit([found.texts for found in opened])
                self._heard(opened, turns)

    def _opened(self, one: _ComparedPair) -> _OpenPair | None:
        """Return a pair for the judge; `None` if it would change nothing."""
        if one.judgement.by_judge:
            return None
        own, other = one.b, one.a
        if not cascade.is_read(one.compared, one.judgement, own.content, other.content):
            return None
        texts = TextPair.of(own.content, own.content_hash, other.content, other.content_hash)
        return _OpenPair(one, texts)

    def _heard(self, opened: Sequence[_OpenPair], turns: dict[Join, int]) -> None:
        """Keep the judgements of pairs of which the judge has an opinion."""
        assert self._judging is not None
        for comparison, texts in opened:
            _, opinion = self._judging.look_up(texts)
            if opinion is not None:
                stated = stated_for(opinion, texts, comparison.b.content)
                pair = cascade.OpenPair(0, comparison.compared, comparison.judgement)
                judgement = cascade.judged_by(pair, stated, self.scope.info.guard)
                if judgement.differs:
                    # The judge is not certain enough to take a pair away; its probability is low.
                    before = comparison.judgement.verdict
                    none = Verdict.RELATED if before is Verdict.DUPLICATE else before
                    judgement = replace(judgement, verdict=none)
                join = self._join_of(comparison.pair)
                compared = replace(comparison.compared, judgement=judgement)
                join.judged.put(comparison.pair, compared, turns[join])

    # -- Messages on pairs

    def kept(self) -> list[Pair]:
        """Return the pairs of the answer, those that most probably say the same first.

        They are among the nearest, and do not certainly differ. After all steps.
        """
        pairs = self._nearest_pairs()
        probability = {
            comparison.pair: comparison.judgement.same_probability
            for comparison in self._compared(pairs)
        }
        # The sort keeps the order of equals: nearest first.
        best = sorted(probability, key=lambda pair: -probability[pair])
        return best[: self._query.max_merge_candidates or limits.MERGE_CANDIDATES_MAX]

    def _nearest_pairs(self) -> list[Pair]:
        assert self._nearest is not None
        return self._nearest.kept().pairs()

    def forget(self) -> None:
        """Drop every judgement, as it quotes texts."""
        for join in self._joins:
            join.judged.forget()

    def candidates(self, pairs: Sequence[Pair]) -> Iterator[MergeCandidate]:
        """Yield candidates of pairs, without those that are none (any more)."""
        for comparison in self._compared(pairs):
            keep, because = keeper(comparison.a, comparison.b, comparison.judgement.verdict)
            yield MergeCandidate(
                memory_a_id=comparison.a.id,
                memory_b_id=comparison.b.id,
                revision_a=comparison.a.revision,
                revision_b=comparison.b.revision,
                distance=1.0 - comparison.similarity,
                jaccard_similarity=comparison.jaccard,
                judgement=comparison.judgement,
                keep_id=keep.id,
                keep_because=because,
                snippet_a=snippet(comparison.a.content, limits.CANDIDATE_SNIPPET_CHARS),
                snippet_b=snippet(comparison.b.content, limits.CANDIDATE_SNIPPET_CHARS),
            )

    def clusters(self) -> list[MergeCluster]:
        """Return groups among the kept pairs. After all steps."""
        memories: dict[int, Memory] = {}
        pairs: list[tuple[int, int]] = []
        for comparison in self._compared(self.kept()):
            memories |= {comparison.a.row: comparison.a, comparison.b.row: comparison.b}
            pairs.append((comparison.a.row, comparison.b.row))
        return consolidate.clusters(pairs, list(memories.values()))

    def _compared(self, pairs: Sequence[Pair]) -> Iterator[_ComparedPair]:
        """Compare pairs, without those that have changed, were dismissed or certainly differ."""
        turns = self._turns()
        with self._readers.rows() as rows:
            memories = self._memories(rows, pairs)
            out = no_candidates(self.scope.view, rows, pairs) if pairs else set()
        view = self.scope.view
        # Without the connection: comparing texts takes long.
        for pair in pairs:
            if pair in out or not memories.keys() >= set(pair):
                continue
            a, b = sorted(
                (memories[slot] for slot in pair), key=lambda memory: (memory.created_us, memory.id)
            )
            slots = np.array(pair, np.int64)
            similarity = float(similarity64(*view.vectors(slots)))
            jaccard = jaccard_pair(*(view.tokens(slot) for slot in pair))
            join = self._join_of(pair)
            compared = join.judged.get(pair)
            if compared is None:
                by_vectors = bool(view.has_vector(slots).all())
                measure = similarity if by_vectors else jaccard
                compared = comparison_at(self.scope.info, b.content, a.content, measure, by_vectors)
                join.judged.put(pair, compared, turns[join])
            if not compared.judgement.differs:
                yield _ComparedPair(pair, a, b, similarity, jaccard, compared)

    def _turns(self) -> dict[Join, int]:
        return {join: join.judged.turn for join in self._joins}

    def _join_of(self, pair: Pair) -> Join:
        """Return the join that keeps the judgement of a pair."""
        among = self.public.among
        shared = all(slot < len(among) and among[slot] for slot in pair)
        return self.public if shared else self._own

    def _memories(self, rows: Rows, pairs: Sequence[Pair]) -> dict[int, Memory]:
        """Return memories by slot, with their access count, if unchanged since the slot."""
        slots = np.array(sorted({slot for pair in pairs for slot in pair}), np.int64)
        numbers = self.scope.view.take("row", slots).tolist()
        hashes = self.scope.view.take("text_hash", slots).tolist()
        read = rows.memories(numbers)
        found = {}
        for slot, row, hashed in zip(slots.tolist(), numbers, hashes, strict=True):
            memory = read.get(row)
            if memory is None or memory.status is not Status.ACTIVE:
                continue
            if memory.fields.private and memory.agent_id != self._query.agent_id:
                continue
            if text_hash(memory.content_hash) != hashed:
                continue
            newest = self.scope.index.slot_by_row.get(row, slot)
            count = int(self.scope.index.arrays.writer_view().value("access_count", newest))
            found[slot] = replace(memory, access_count=count)
        return found


def _none_out(_: Sequence[Pair]) -> Collection[Pair]:
    return ()
