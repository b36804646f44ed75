"""The state machine with pairs that may say the same: consolidate, dismiss.

What a Consolidate must find is worked out over every pair, and what its first phase must link from
what Recalls have answered.
"""

from __future__ import annotations

from collections import Counter
from itertools import combinations
from typing import Any

import numpy as np

from support.engines import DIMENSION, dismiss, undismiss
from support.machine_parts import (
    AGENTS,
    KEYS,
    RARELY,
    WISE,
    Pair,
    State,
    other_way,
    pairs_of,
    thrown,
)
from support.oracles_joins import cosine_pairs
from support.reversing import ReversingMachine
from support.waits import wait_s
from totonoe_core.base import errors
from totonoe_core.domain.calibration import CAREFUL
from totonoe_core.domain.commands import Command
from totonoe_core.domain.consolidate import (
    ConsolidateQuery,
    EventsReplayed,
    MergeCandidate,
    ReplayEvents,
    Score,
    Scored,
)
from totonoe_core.domain.memories import Purge
from totonoe_core.domain.queries import RecallQuery
from totonoe_core.domain.records import Kind, LinkType, Memory, Verdict
from totonoe_core.guard.verdict import judged
from totonoe_core.store import rows as stored
from totonoe_core.store.sqlite.reader import Rows
from totonoe_core.store.sqlite.schema import open_reader

NAMED_HITS = 10
Two = frozenset[str]


class PairingMachine(ReversingMachine):
    """Consolidates what the others leave, and dismisses pairs."""

    def __init__(self) -> None:
        super().__init__()
        self.past_dismissals: list[dict[Two, tuple[Any, ...]]] = [{}]
        self.events: list[list[str]] = []
        self.recalled_together: Counter[Two] = Counter()

    # -- The model's own means

    def keep(self, command: Command) -> None:
        super().keep(command)
        before, after = self.past_dismissals[-1], self.kept_dismissals()
        self.past_dismissals.append(after)
        changed = {two for two in before.keys() | after.keys() if before.get(two) != after.get(two)}
        self.done[-1].dismissed = changed
        if isinstance(command, Purge):
            for two in [group for group in self.recalled_together if group - self.now.keys()]:
                del self.recalled_together[two]

    def kept_dismissals(self) -> dict[Two, tuple[Any, ...]]:
        """Pairs that were dismissed, and the texts that they had then, from the file."""
        connection = open_reader(self.store.file())
        try:
            found = connection.execute(f"SELECT {stored.DISMISSAL_COLUMNS} FROM dismissal")
            kept = [stored.dismissal(row) for row in found]
            ids = {memory.row: memory.id for memory in Rows(connection).all_memories()}
        finally:
            connection.close()
        return {
            frozenset([ids[dismissal.a], ids[dismissal.b]]): (
                {ids[dismissal.a]: dismissal.hash_a, ids[dismissal.b]: dismissal.hash_b},
                dismissal.agent_id,
                dismissal.note,
            )
            for dismissal in kept
        }

    def is_dismissed(self, two: Two) -> bool:
        """Whether a pair was dismissed with the texts that it has now."""
        held = self.past_dismissals[-1].get(two)
        return held is not None and held[0] == {
            memory_id: self.now[memory_id].memory.content_hash for memory_id in two
        }

    def found_by_recall(self, query: RecallQuery, ids: list[str]) -> None:
        if ids and query.as_of is None:
            self.events.append(ids)

    def crashed(self) -> None:
        """The newest Recalls may not have been written yet."""
        connection = open_reader(self.store.file())
        try:
            count = connection.execute("SELECT count(*) FROM recall_event").get
        finally:
            connection.close()
        del self.events[count:]

    # -- Consolidate

    @thrown(
        agent=AGENTS,
        below=[0.02, 0.1, 0.3],
        window_ms=[0, 0, 8, 20],
        since=[0, 0, 3, 10],
        cap=[0, 0, 3],
        replayed=[0, 1, 100],
    )
    def consolidate(
        self, agent: str, below: float, window_ms: int, since: int, cap: int, replayed: int
    ) -> None:
        self.score(agent)
        self.store.clock.advance(1000)
        since = max(0, self.revision - since) if since else 0
        query = ConsolidateQuery(
            agent,
            window_hours=window_ms / 3_600_000,
            distance_below=below,
            max_merge_candidates=cap,
            since_revision=since,
            max_replay_events=replayed,
        )
        run = self.store.engine.consolidate("default", "", query).result(wait_s())
        told: list[Any] = []
        while messages := run.read().result(wait_s()):
            told += [message.told for message in messages]
        run.leave()
        done = told[-1]
        assert done.scored == Scored(), "scored before"
        self.check_replayed(agent, replayed, done.replay)
        expected = self.expected_pairs(agent, query)
        assert done.pair_count == len(expected)
        left = [item for item in expected if not self.is_dismissed(frozenset(item[:2]))]
        left = left[: 8 * cap] if cap else left
        left = [item for item in left if not self.differ(*item[:2])]
        found = [
            (*sorted((candidate.memory_a_id, candidate.memory_b_id)), candidate.distance)
            for candidate in done.candidates
        ]
        # Those that most probably say the same.
        assert set(found) <= set(left)
        assert len(found) == (min(cap, len(left)) if cap else len(left))
        # What is kept was told as it was found.
        early = {
            (item.memory_a_id, item.memory_b_id)
            for item in told
            if isinstance(item, MergeCandidate)
        }
        assert {
            (candidate.memory_a_id, candidate.memory_b_id) for candidate in done.candidates
        } <= early

    def differ(self, one: str, other: str) -> bool:
        """Whether two texts certainly say two things: such a pair is never listed."""
        texts = (self.now[each].memory.content for each in (one, other))
        found = judged(*texts, 0.9, CAREFUL)
        return found.hard or found.verdict in (Verdict.UPDATE, Verdict.CONTRADICTION)

    def score(self, agent: str) -> None:
        """Scores what a Consolidate would, but as an operation apart, whose changes are seen."""
        before = self.now
        found = self.applied(Score(agent)).results[0]
        changed = pairs_of(before).items() ^ pairs_of(self.now).items()
        made = [pair for pair, _ in changed if pair not in pairs_of(before)]
        assert len(made) == len(changed)
        assert {type_ for _, _, type_ in made} <= {LinkType.LIKELY_SAME}
        seen = {key for key, each in before.items() if each.may_be_seen_by(agent)}
        assert found.link_count == sum({memory_id, two} <= seen for memory_id, two, _ in made) // 2
        assert found.left_count == 0
        self.check_untouched(before, set(), set(before))

    def expected_pairs(self, agent: str, query: ConsolidateQuery) -> list[tuple[str, str, float]]:
        """Every pair that counts, nearest first."""
        ones = [
            seen.memory
            for seen in self.now.values()
            if seen.live and seen.memory.fields.kind is Kind.STATE and seen.may_be_seen_by(agent)
        ]
        since_us = self.store.clock.now_us - int(query.window_hours * 3_600_000_000)
        nothing = np.zeros(DIMENSION, np.float32)
        vectors = [np.frombuffer(memory.vector, np.float32) for memory in ones]
        vectors = [vector if len(vector) else nothing for vector in vectors]
        found = []
        for (i, j), distance in cosine_pairs(vectors, query.distance_below).items():
            one, other = ones[i], ones[j]
            if one.fields.state_kind is not other.fields.state_kind:
                continue
            if query.window_hours and max(one.created_us, other.created_us) < since_us:
                continue
            if query.since_revision and max(one.revision, other.revision) <= query.since_revision:
                continue
            low, high = sorted((one.id, other.id))
            found.append((low, high, distance))
        return sorted(found, key=lambda one: (one[2], one[0], one[1]))

    def check_replayed(self, agent: str, events_max: int, found: EventsReplayed) -> None:
        """Each event is used up once; two hits of it gain once, and only what both may know."""
        used, self.events = self.events[:events_max], self.events[events_max:]
        gained: Counter[Two] = Counter()
        for event in used:
            live = [
                memory_id
                for memory_id in event[:NAMED_HITS]
                if memory_id in self.now and self.now[memory_id].live
            ]
            gained.update(
                frozenset(two)
                for two in combinations(live, 2)
                if self.known_to_the_same(*(self.now[memory_id].memory for memory_id in two))
            )
        self.recalled_together += gained
        links = pairs_of(self.now)
        for two, gain in gained.items():
            one, other = sorted(two)
            pair: Pair = (one, other, "coactivated")
            count = self.recalled_together[two]
            if count < 2:
                continue
            held, note = links.get(pair, (0.0, ""))
            steps = gain if pair in links else count - 1
            value = min(1.0, round(held + 0.1 * steps, 9)), note
            links |= {pair: value, other_way(pair): value}
        before = self.now
        assert found.replay_events == len(used)
        seen = {key for key, each in before.items() if each.may_be_seen_by(agent)}
        assert found.coactivation_updates == sum(
            count for two, count in gained.items() if two <= seen
        )
        changed = links.items() - pairs_of(before).items()
        # The revision of an operation that changed nothing that the caller sees is not named.
        assert bool(found.revision) is any(
            {memory_id, two} <= seen for (memory_id, two, _), _ in changed
        )
        if changed:
            self.revision += 1
            self.keep(ReplayEvents(agent, events_max))
        assert pairs_of(self.now) == links
        self.check_untouched(before, set(), set(before))

    @staticmethod
    def known_to_the_same(one: Memory, other: Memory) -> bool:
        if not (one.fields.private or other.fields.private):
            return True
        return one.fields.private is other.fields.private and one.agent_id == other.agent_id

    # -- Dismiss

    @thrown(at=KEYS, to=KEYS, wise=WISE, agent=AGENTS, back=RARELY)
    def dismiss(self, at: int, to: int, wise: bool, agent: str, back: bool) -> None:
        if back and self.past_dismissals[-1]:
            held = sorted(map(sorted, self.past_dismissals[-1]))
            one, other = (self.now[each] for each in held[at % len(held)])
        else:
            one = self.choose(at, agent, wise)
            other = self.choose(to, agent, wise, lambda each: each.live and each is not one)
        two = frozenset([one.memory.id, other.memory.id])
        command = (undismiss if back else dismiss)(one.memory.id, other.memory.id, agent=agent)
        wrong: list[type[errors.TotonoeError]] = []
        if not (one.may_be_seen_by(agent) and other.may_be_seen_by(agent)):
            wrong.append(errors.NotFound)
        if not back and not (one.live and other.live):
            wrong.append(errors.Precondition)
        if back and (one.dead or other.dead):
            wrong.append(errors.NotFound)
        if len(two) == 1:
            wrong.append(errors.InvalidArgument)
        if wrong and not (
            back
            and (one.dead or other.dead)
            and len(two) == 2
            and one.may_be_seen_by(agent)
            and other.may_be_seen_by(agent)
        ):
            self.refuses(command, *wrong)
            return
        before, held_before = self.now, self.past_dismissals[-1]
        changes = two in held_before if back else not self.is_dismissed(two)
        found = self.apply(command, changes=changes)
        assert found.changed is changes
        assert two not in self.past_dismissals[-1] if back else self.is_dismissed(two)
        self.check_untouched(before, set(), set())

    # -- Undo of what dismissed

    def check_restored(self, revision: int, before: State, ready: set[object]) -> None:
        super().check_restored(revision, before, ready)
        was = self.past_dismissals[revision - 1]
        for two in self.done[revision].dismissed & ready:
            assert self.past_dismissals[-1].get(two) == was.get(two)
