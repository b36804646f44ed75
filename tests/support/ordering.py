"""The state machine with all that puts a collection in order: consolidate, dismiss, clean-up, tidy.

What each must find is worked out over every memory and every pair, from what the calls that read
say. Texts are those of `machine_parts`: two of them are similar above 0.5 only if they are the
same words.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import replace
from itertools import combinations
from typing import Any

import numpy as np
from hypothesis.stateful import invariant

from support.engines import DAY_US, WAIT_S, dismiss, undismiss
from support.machine_parts import (
    AGENTS,
    KEYS,
    RARELY,
    TEXTS,
    VECTORS,
    WISE,
    Pair,
    Seen,
    State,
    other_way,
    pairs_of,
    said_beside,
    thrown,
)
from support.models import refusing_form, words_of
from support.oracles_joins import cosine_pairs
from support.reversing import ReversingMachine
from totonoe_core import errors
from totonoe_core.cleanup import CleanUpDuplicates, Decay, EndSession, GroupBy
from totonoe_core.commands import Command, Purge, Undo
from totonoe_core.consolidate import ConsolidateQuery, EventsReplayed, MergeCandidate, ReplayEvents
from totonoe_core.queries import Filter, RecallQuery
from totonoe_core.records import TIDY_KEY, Fields, Kind, Memory, StateKind, Status
from totonoe_core.store import rows as stored
from totonoe_core.store.reader import Rows
from totonoe_core.store.schema import open_reader
from totonoe_core.tidy import Tidy, TidyOp, TidyUpdate
from totonoe_core.tidy_plan import commands as plan_commands

BY_RULE = ("EndSession", "CleanUpDuplicates", "Decay", "Tidy")
COUNTED = (*BY_RULE, "ApplyTidyPlan")
ROWS_MIN = 6
"""So many may go by rule on one day: few enough for the machine to meet it."""
NAMED_HITS = 10
Two = frozenset[str]


def protected(fields: Fields) -> bool:
    """What no rule may close: 002, "Protected", and logs and long moods."""
    return (
        fields.kind is not Kind.STATE
        or fields.state_kind is StateKind.LONG_MOOD
        or fields.category in ("constraint", "postmortem", "gotcha")
        or fields.confidence >= 0.95
        or fields.perception_type != ""
    )


def sameness(memory: Memory, text: str) -> tuple[Any, ...]:
    """What memories have in common that say one text, for whatever agent."""
    fields = memory.fields
    return (
        text,
        fields.kind,
        fields.state_kind,
        fields.private,
        repr(said_beside(fields)),
    )


def together(ones: Iterable[Memory], key: Callable[[Memory], Any]) -> list[list[Memory]]:
    """Those with an equal key, where there is more than one."""
    groups: dict[Any, list[Memory]] = {}
    for one in ones:
        groups.setdefault(key(one), []).append(one)
    return [group for group in groups.values() if len(group) > 1]


class OrderingMachine(ReversingMachine):
    """Puts in order what the others leave."""

    SETTINGS = (("blast.rows_min", ROWS_MIN),)

    def __init__(self) -> None:
        super().__init__()
        self.past_dismissals: list[dict[Two, tuple[Any, ...]]] = [{}]
        self.dismissal_touch: dict[Two, int] = {}
        self.events: list[list[str]] = []
        self.recalled_together: Counter[Two] = Counter()

    # -- The model's own means

    def keep(self, command: Command) -> None:
        super().keep(command)
        before, after = self.past_dismissals[-1], self.kept_dismissals()
        self.past_dismissals.append(after)
        changed = {two for two in before.keys() | after.keys() if before.get(two) != after.get(two)}
        self.done[-1].dismissed = changed
        self.dismissal_touch |= dict.fromkeys(changed, self.revision)
        if isinstance(command, Purge):
            for two in [one for one in self.recalled_together if one - self.now.keys()]:
                del self.recalled_together[two]

    def kept_dismissals(self) -> dict[Two, tuple[Any, ...]]:
        """Pairs that were dismissed, and the texts that they had then, from the file."""
        connection = open_reader(self.store.file())
        try:
            found = connection.execute(f"SELECT {stored.DISMISSAL_COLUMNS} FROM dismissal")
            kept = [stored.dismissal(row) for row in found]
            ids = {one.row: one.id for one in Rows(connection).all_memories()}
        finally:
            connection.close()
        return {
            frozenset([ids[one.a], ids[one.b]]): (
                {ids[one.a]: one.hash_a, ids[one.b]: one.hash_b},
                one.agent_id,
                one.note,
            )
            for one in kept
        }

    def is_dismissed(self, two: Two) -> bool:
        """Whether a pair was dismissed with the texts that it has now."""
        held = self.past_dismissals[-1].get(two)
        return held is not None and held[0] == {
            one: self.now[one].memory.content_hash for one in two
        }

    def shown(self, agent: str) -> list[Memory]:
        """Live memories as an agent reads them, with their access figures."""
        return self.store.list(agent, Filter())

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
        run = self.store.engine.consolidate("default", "", query).result(WAIT_S)
        told: list[Any] = []
        while messages := run.read().result(WAIT_S):
            told += [one.told for one in messages]
        run.leave()
        done = told[-1]
        self.check_replayed(agent, replayed, done.replay)
        expected = self.expected_pairs(agent, query)
        assert done.pair_count == len(expected)
        left = [one for one in expected if not self.is_dismissed(frozenset(one[:2]))]
        left = left[:cap] if cap else left
        found = [
            (*sorted((one.memory_a_id, one.memory_b_id)), one.distance) for one in done.candidates
        ]
        assert found == left
        # What is kept was told as it was found.
        early = {
            (one.memory_a_id, one.memory_b_id) for one in told if isinstance(one, MergeCandidate)
        }
        assert {(one.memory_a_id, one.memory_b_id) for one in done.candidates} <= early

    def expected_pairs(self, agent: str, query: ConsolidateQuery) -> list[tuple[str, str, float]]:
        """Every pair that counts, nearest first."""
        ones = [
            one.memory
            for one in self.now.values()
            if one.live and one.memory.fields.kind is Kind.STATE and one.may_be_seen_by(agent)
        ]
        since_us = self.store.clock.now_us - int(query.window_hours * 3_600_000_000)
        vectors = [np.frombuffer(one.vector, np.float32) for one in ones]
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
            live = [one for one in event[:NAMED_HITS] if one in self.now and self.now[one].live]
            gained.update(
                frozenset(two)
                for two in combinations(live, 2)
                if self.known_to_the_same(*(self.now[one].memory for one in two))
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
        seen = {one for one, each in before.items() if each.may_be_seen_by(agent)}
        assert found.coactivation_updates == sum(
            count for two, count in gained.items() if two <= seen
        )
        assert bool(found.revision) is (links != pairs_of(before))
        if found.revision:
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

    # -- What goes by rule

    def by_rule(self, command: Command, going: set[str], more: tuple[Command, ...] = ()) -> Any:
        """The answer; `None`: it was more than a day allows, and nothing was changed."""
        info = self.store.engine.get_collection("default").result(WAIT_S)
        live = sum(one.live for one in self.now.values())
        allowed = max(info.blast.rows_min, int(live * info.blast.percent / 100.0))
        since_us = self.store.clock.now_us - DAY_US
        least = most = 0
        undone = {one.undoes for one in self.done}
        for revision, done in enumerate(self.done):
            if done.kind in COUNTED and done.time_us > since_us:
                gone = self.taken_out(revision)
                most += len(gone)
                least += 0 if revision in undone else len(gone & self.now.keys())
        before = self.now
        try:
            answer = self.applied(command, more=more)
        except errors.Quota:
            assert len(going) + most > allowed
            assert self.observe() == before
            return None
        assert not going or isinstance(command, EndSession) or len(going) + least <= allowed
        return answer

    def taken_out(self, revision: int) -> set[str]:
        """What an operation took out of sight."""
        before, after = self.past[revision - 1], self.past[revision]
        return {one for one, seen in before.items() if seen.live and not after[one].live}

    def check_gone(self, before: State, gone: dict[str, str], status: Status) -> None:
        """Those are gone, each in favour of what it says, and nothing else is different."""
        assert self.taken_out(self.revision) == set(gone) if gone else before is self.now
        for one, kept in gone.items():
            memory = self.now[one].memory
            assert (memory.status, memory.superseded_by) == (status, kept)

    @thrown(agent=AGENTS, by=[GroupBy.SESSION, GroupBy.AGENT, GroupBy.AGENT])
    def end_session(self, agent: str, by: GroupBy) -> None:
        command = EndSession(agent, "s" if by is GroupBy.SESSION else "", by)

        def asked(memory: Memory) -> bool:
            if by is GroupBy.AGENT:
                return memory.agent_id == agent
            return memory.fields.session_id == "s"

        heads = [one for one in self.shown(agent) if asked(one) and not protected(one.fields)]
        stands_for = self.stands_for(agent, {one.id for one in heads}, asked)
        # Only what stands for its own words alone may be put with others.
        whole = [one for one in heads if stands_for[one.id] == {words_of(one.content)}]
        groups = together(
            whole, lambda one: (sameness(one, words_of(one.content)), one.fields.category)
        )
        going = {}
        for group in groups if len(heads) >= 3 else ():
            kept, *others = sorted(
                group,
                key=lambda one: (
                    -one.fields.confidence,
                    -one.access_count,
                    -one.created_us,
                    one.id,
                ),
            )
            going |= {one.id: kept.id for one in others}
        before = self.now
        preview = self.store.engine.preview_end_session("default", command).result(WAIT_S)[1]
        answer = self.by_rule(command, set(going))
        found = answer.results[0]
        assert preview.groups == found.groups
        assert found.consolidatable_count == len(heads)
        assert {
            one.memory_id: group.kept_id for group in found.groups for one in group.superseded
        } == going
        self.check_gone(before, going, Status.SUPERSEDED)
        self.check_untouched(before, set(going), set())

    def stands_for(
        self, agent: str, heads: set[str], asked: Callable[[Memory], bool]
    ) -> dict[str, set[str]]:
        """For each head its words, and those of what it took the place of at ends of sessions."""
        found = {one: {words_of(self.now[one].memory.content)} for one in heads}
        earlier = {
            one: seen.memory
            for one, seen in self.now.items()
            if seen.memory.status is Status.SUPERSEDED
            if seen.may_be_seen_by(agent) and asked(seen.memory)
            if self.done[seen.memory.revision].kind == "EndSession"
        }
        for memory in earlier.values():
            by = memory.superseded_by
            while by in earlier:
                by = earlier[by].superseded_by
            if by in found:
                found[by].add(words_of(memory.content))
        return found

    @thrown(agent=AGENTS, limit=[1, 200, 200])
    def clean_up_duplicates(self, agent: str, limit: int) -> None:
        going: list[tuple[Memory, str]] = []
        for group in together(
            (one for one in self.shown(agent) if one.fields.kind is Kind.STATE),
            lambda one: sameness(one, refusing_form(one.content)),
        ):
            kept, *others = sorted(
                group,
                key=lambda one: (
                    not protected(one.fields),
                    -one.fields.confidence,
                    -one.created_us,
                    one.id,
                ),
            )
            going += [(one, kept.id) for one in others if not protected(one.fields)]
        going.sort(key=lambda one: (one[0].created_us, one[0].id))
        gone = {one.id: kept for one, kept in going[:limit]}
        before = self.now
        answer = self.by_rule(CleanUpDuplicates(agent, limit), set(gone))
        if answer is None:
            return
        found = answer.results[0]
        assert {one.memory_id: one.kept_id for one in found.duplicates} == gone
        assert found.more_count == len(going) - len(gone)
        self.check_gone(before, gone, Status.SUPERSEDED)
        self.check_untouched(before, set(gone), set())

    @thrown(agent=AGENTS, below=[None, 0.2, 0.5, 0.79])
    def decay(self, agent: str, below: float | None) -> None:
        now_us = self.store.clock.now_us + 1000
        faded = {}
        for one in self.shown(agent):
            since_us = one.created_us if one.last_access_us is None else one.last_access_us
            days, base = (now_us - since_us) / DAY_US, one.fields.confidence
            effective = max(min(base, 0.05), base * 0.99**days) if days > 1.0 else base
            if below is not None and effective < below and not protected(one.fields):
                faded[one.id] = ""
        before = self.now
        answer = self.by_rule(Decay(agent, below), set(faded))
        if answer is None:
            return
        assert {one.memory_id for one in answer.results[0].closed} == set(faded)
        self.check_gone(before, faded, Status.CLOSED)
        for one in faded:
            fields = before[one].memory.fields
            end_us = min(fields.valid_to_us or now_us, now_us)
            assert self.now[one].memory.fields == replace(fields, valid_to_us=end_us)
        self.check_untouched(before, set(faded), set())

    @thrown(agent=AGENTS)
    def tidy(self, agent: str) -> None:
        now_us = self.store.clock.now_us + 1000
        valid = [
            one
            for one in self.shown(agent)
            if one.fields.kind is Kind.STATE
            if one.fields.valid_to_us is None or one.fields.valid_to_us > now_us
        ]
        gone, kept_ids = {}, set()
        for group in together(valid, lambda one: sameness(one, one.content)):
            kept, *others = sorted(
                group, key=lambda one: (-one.fields.confidence, -one.created_us, one.id)
            )
            closed = {one.id: "" for one in others if not protected(one.fields)}
            gone |= closed
            kept_ids |= {kept.id} if closed else set()
        before = self.now
        answer = self.by_rule(Tidy(agent), set(gone))
        if answer is None:
            return
        clusters = answer.results[0].clusters
        assert {one for each in clusters for one in each.closed_ids} == set(gone)
        assert {one.kept_id for one in clusters} == kept_ids
        self.check_gone(before, gone, Status.CLOSED)
        for cluster in clusters:
            for one in (cluster.kept_id, *cluster.closed_ids):
                fields, ended = before[one].memory.fields, {}
                if one in gone:
                    ended = {"valid_to_us": now_us}
                payload = fields.payload | {TIDY_KEY: {"cluster": cluster.cluster_id}}
                wanted = replace(fields, payload=payload, **ended)
                assert self.now[one].memory.fields == wanted
        self.check_untouched(before, {*gone, *kept_ids}, set())

    @thrown(
        at=KEYS,
        to=KEYS,
        wise=WISE,
        agent=AGENTS,
        text=TEXTS,
        vector=range(len(VECTORS)),
        stale=RARELY,
    )
    def apply_tidy_plan(
        self, at: int, to: int, wise: bool, agent: str, text: str, vector: int, stale: bool
    ) -> None:
        """One state is closed, another says something else from then on."""

        def may_say(each: Seen) -> bool:
            state = each.memory.fields.kind is Kind.STATE
            return state and each.live and each.may_be_seen_by(agent) and each is not one

        one = self.choose(
            at, agent, wise, lambda each: each.live and not protected(each.memory.fields)
        )
        other = self.choose(to, agent, True, may_say)
        if not may_say(other):
            return
        mine, theirs, given = one.memory.id, other.memory.id, VECTORS[vector].tobytes()
        revision = self.revision + 1 if stale else 0
        updates = (
            TidyUpdate(TidyOp.UPSERT, state_id=theirs, body_text=text, vector=given),
            TidyUpdate(TidyOp.CLOSE, state_id=mine, reason="old", expected_revision=revision),
        )
        command, *more = plan_commands(agent, updates, (), "")
        wrong: list[type[errors.TotonoeError]] = []
        if not one.may_be_seen_by(agent) or one.dead:
            wrong.append(errors.NotFound)
        if not one.live or protected(one.memory.fields):
            wrong.append(errors.Precondition)
        if stale:
            wrong.append(errors.StaleRevision)
        before = self.now
        if wrong:
            self.refuses_all((command, *more), *wrong)
            assert self.observe() == before
            return
        new = replace(other.memory, content=text, vector=given)
        says_so = text == other.memory.content
        duplicate = self.decide(agent, new, says_so, (mine,)).duplicate
        answer = self.by_rule(command, {mine}, more=tuple(more))
        if answer is None:
            return
        applied, updated = answer.results
        assert applied.closed == ((1, mine),)
        assert updated.updated is not bool(duplicate)
        if duplicate:
            assert updated.guard.duplicate.memory_id == duplicate
        else:
            memory = self.now[theirs].memory
            assert (memory.content, memory.vector) == (text, given)
        self.check_gone(before, {mine: ""}, Status.CLOSED)
        self.check_untouched(before, {mine} if duplicate else {mine, theirs}, set())

    @thrown(days=[1, 2, 10, 60], now=RARELY)
    def days_pass(self, days: int, now: bool) -> None:
        if now:
            self.store.clock.advance(days * DAY_US)
            # Answers are kept for seven days only.
            self.replies.clear()

    # -- Undo of what dismissed

    def dismissed_there(self, revision: int) -> set[Two]:
        """Pairs that an operation dismissed or took back, of which nothing was purged."""
        return {two for two in self.done[revision].dismissed if two <= self.now.keys()}

    def left_out(self, revision: int, agent: str) -> bool:
        ends = (self.now[one] for two in self.dismissed_there(revision) for one in two)
        return super().left_out(revision, agent) or not all(
            one.may_be_seen_by(agent) for one in ends
        )

    def conflicts_of(self, revision: int, agent: str, force: bool) -> set[str]:
        found = super().conflicts_of(revision, agent, force)
        touched = {self.dismissal_touch[two] for two in self.dismissed_there(revision)}
        return found | ({"changed"} if touched - {revision} else set())

    def nothing_is_left(self, revision: int) -> bool:
        return super().nothing_is_left(revision) and not self.dismissed_there(revision)

    def check_restored(self, revision: int, before: State) -> None:
        super().check_restored(revision, before)
        was = self.past_dismissals[revision - 1]
        for two in self.dismissed_there(revision):
            assert self.past_dismissals[-1].get(two) == was.get(two)

    def take_back(self, revision: int, agent: str, partial: bool, force: bool) -> None:
        done = self.done[revision]
        if done.kind in ("Dismiss", "Undismiss") and not self.dismissed_there(revision):
            # One of the two was purged since, and what was said of it went with it.
            command = Undo(agent, revision=revision, partial=partial, force=force)
            self.take_back_what_is_seen(command)
            return
        super().take_back(revision, agent, partial, force)

    # -- What always holds

    @invariant()
    def no_rule_takes_what_is_protected(self) -> None:
        if self.done[-1].kind in BY_RULE:
            for one in self.taken_out(self.revision):
                assert not protected(self.past[-2][one].memory.fields)

    @invariant()
    def what_a_rule_takes_is_said_by_another(self) -> None:
        """But for what has faded: nothing that anybody could read is unsaid."""
        if self.done[-1].kind not in BY_RULE or self.done[-1].kind == "Decay":
            return
        before, after = (
            {
                sameness(one.memory, words_of(one.memory.content))
                for one in state.values()
                if one.live
            }
            for state in (self.past[-2], self.now)
        )
        assert before == after

    @invariant()
    def what_took_a_place_at_the_end_of_a_session_is_there(self) -> None:
        for seen in self.now.values():
            self.check_head(seen)

    def check_head(self, seen: Seen) -> None:
        if seen.memory.status is not Status.SUPERSEDED:
            return
        if self.done[seen.memory.revision].kind in BY_RULE:
            by = seen.memory.superseded_by
            assert by in self.now or by in self.purged
