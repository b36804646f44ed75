"""The state machine with all that goes by rule: end of session, clean-up, decay, tidy and its plan.

What each must find is worked out over every memory, from what the calls that read say. Texts are
those of `machine_parts`: two of them are similar above 0.5 only if they are the same words.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

import numpy as np
from hypothesis.stateful import invariant

from support.engines import DAY_US, remember
from support.machine_parts import (
    AGENTS,
    KEYS,
    PRESETS,
    RARELY,
    TEXTS,
    VECTORS,
    WISE,
    Seen,
    State,
    named,
    said_beside,
    thrown,
)
from support.models import refusing_form, token_set, words_of
from support.pairing import PairingMachine
from totonoe_core.base import errors
from totonoe_core.domain.cleanup import CleanUpDuplicates, Decay, EndSession, GroupBy
from totonoe_core.domain.commands import Command
from totonoe_core.domain.filter import Filter
from totonoe_core.domain.records import TIDY_KEY, Fields, Kind, Memory, StateKind, Status
from totonoe_core.domain.tidy import Tidy, TidyOp, TidyUpdate
from totonoe_core.rules.tidy_plan import commands as plan_commands

BY_RULE = ("EndSession", "CleanUpDuplicates", "Decay", "Tidy")
COUNTED = (*BY_RULE, "ApplyTidyPlan")
ROWS_MIN = 6
"""So many may go by rule on one day: few enough for the machine to meet it."""


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
    for memory in ones:
        groups.setdefault(key(memory), []).append(memory)
    return [group for group in groups.values() if len(group) > 1]


class OrderingMachine(PairingMachine):
    """Puts in order what the others leave."""

    SETTINGS = (("blast.rows_min", ROWS_MIN),)

    # -- Rules

    @thrown(
        at=KEYS,
        agent=AGENTS,
        named=named(0.5, confidence=[0.3, 0.8, 0.95], category=["", "constraint"]),
        session=["", "s"],
        private=RARELY,
    )
    def say_again(
        self, at: int, agent: str, named: dict[str, Any], session: str, private: bool
    ) -> None:
        """By force, what a memory says already: there is more to put in order."""
        one = self.choose(at, agent, True).memory
        if one.fields.kind is Kind.STATE and one.fields.key is None:
            self.save(
                remember(
                    one.content,
                    agent=agent,
                    vector=np.frombuffer(one.vector, np.float32),
                    force=True,
                    state_kind=one.fields.state_kind,
                    payload=one.fields.payload,
                    session_id=session,
                    private=private,
                    attributes={"mark": self.mark()},
                    **named,
                )
            )

    def shown(self, agent: str) -> list[Memory]:
        """Live memories as an agent reads them, with their access figures."""
        return self.store.list(agent, Filter())

    # -- What goes by rule

    def by_rule(
        self,
        command: Command,
        going: set[str],
        more: tuple[Command, ...] = (),
        in_part: bool = False,
    ) -> Any:
        """The answer; `None`: it was more than a day allows, and nothing was changed.

        `in_part`: it takes as many as the day allows, and is refused only where that is none.
        """
        info = self.store.info()
        live = sum(seen.live for seen in self.now.values())
        allowed = max(info.blast.rows_min, int(live * info.blast.percent / 100.0))
        since_us = self.store.clock.now_us - DAY_US
        least = most = 0
        undone = {done.undoes for done in self.done}
        for revision, done in enumerate(self.done):
            if done.kind in COUNTED and done.time_us > since_us:
                gone = self.taken_out(revision)
                most += len(gone)
                least += 0 if revision in undone else len(gone & self.now.keys())
        before = self.now
        try:
            answer = self.applied(command, more=more)
        except errors.Quota:
            assert (1 if in_part else len(going)) + most > allowed
            assert self.observe() == before
            return None
        taken = len(self.taken_out(self.revision)) if in_part and going else len(going)
        assert not going or isinstance(command, EndSession) or taken + least <= allowed
        assert taken >= min(len(going), allowed - most)
        return answer

    def oldest(self, going: Iterable[Memory]) -> set[str]:
        """Those of some memories that the last operation took: the oldest of them."""
        order = [memory.id for memory in sorted(going, key=lambda one: (one.created_us, one.id))]
        return set(order[: len(self.taken_out(self.revision))]) if order else set()

    def words_of(self, text: str) -> frozenset[str]:
        """Words as the policy of the collection cuts them."""
        return token_set(text, PRESETS[self.policy].tokenizer)

    def taken_out(self, revision: int) -> set[str]:
        """What an operation took out of sight."""
        before, after = self.past[revision - 1], self.past[revision]
        return {key for key, seen in before.items() if seen.live and not after[key].live}

    def check_gone(self, before: State, gone: dict[str, str], status: Status) -> None:
        """Those are gone, each in favour of what it says, and nothing else is different."""
        assert self.taken_out(self.revision) == set(gone) if gone else before is self.now
        for key, kept in gone.items():
            memory = self.now[key].memory
            assert (memory.status, memory.superseded_by) == (status, kept)

    @thrown(agent=AGENTS, by=[GroupBy.SESSION, GroupBy.AGENT, GroupBy.AGENT])
    def end_session(self, agent: str, by: GroupBy) -> None:
        command = EndSession(agent, "s" if by is GroupBy.SESSION else "", by)

        def asked(memory: Memory) -> bool:
            if by is GroupBy.AGENT:
                return memory.agent_id == agent
            return memory.fields.session_id == "s"

        heads = [
            other for other in self.shown(agent) if asked(other) and not protected(other.fields)
        ]
        stands_for = self.stands_for(agent, {other.id for other in heads}, asked)
        # Only what stands for its own words alone may be put with others.
        whole = [other for other in heads if stands_for[other.id] == {self.words_of(other.content)}]
        groups = together(
            whole, lambda one: (sameness(one, self.words_of(one.content)), one.fields.category)
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
            going |= {other.id: kept.id for other in others}
        before = self.now
        preview = self.store.preview(command)[1]
        answer = self.by_rule(command, set(going))
        found = answer.results[0]
        assert preview.groups == found.groups
        assert found.consolidatable_count == len(heads)
        assert {
            other.memory_id: group.kept_id for group in found.groups for other in group.superseded
        } == going
        self.check_gone(before, going, Status.SUPERSEDED)
        self.check_untouched(before, set(going), set())

    def stands_for(
        self, agent: str, heads: set[str], asked: Callable[[Memory], bool]
    ) -> dict[str, set[frozenset[str]]]:
        """For each head its words, and those of what it took the place of at ends of sessions."""
        found = {head: {self.words_of(self.now[head].memory.content)} for head in heads}
        earlier = {
            key: seen.memory
            for key, seen in self.now.items()
            if seen.memory.status is Status.SUPERSEDED
            if seen.may_be_seen_by(agent) and asked(seen.memory)
            if self.done[seen.memory.revision].kind == "EndSession"
        }
        for memory in earlier.values():
            by = memory.superseded_by
            while by in earlier:
                by = earlier[by].superseded_by
            if by in found:
                found[by].add(self.words_of(memory.content))
        return found

    @thrown(agent=AGENTS, limit=[1, 200, 200])
    def clean_up_duplicates(self, agent: str, limit: int) -> None:
        going: list[tuple[Memory, str]] = []
        for group in together(
            (memory for memory in self.shown(agent) if memory.fields.kind is Kind.STATE),
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
            going += [(memory, kept.id) for memory in others if not protected(memory.fields)]
        going.sort(key=lambda one: (one[0].created_us, one[0].id))
        gone = {memory.id: kept for memory, kept in going[:limit]}
        before = self.now
        answer = self.by_rule(CleanUpDuplicates(agent, limit), set(gone), in_part=True)
        if answer is None:
            return
        taken = self.oldest(memory for memory, _ in going[:limit])
        gone = {key: kept for key, kept in gone.items() if key in taken}
        found = answer.results[0]
        assert {duplicate.memory_id: duplicate.kept_id for duplicate in found.duplicates} == gone
        assert found.more_count == len(going) - len(gone)
        self.check_gone(before, gone, Status.SUPERSEDED)
        self.check_untouched(before, set(gone), set())

    @thrown(agent=AGENTS, below=[None, 0.2, 0.5, 0.79])
    def decay(self, agent: str, below: float | None) -> None:
        now_us = self.store.clock.now_us + 1000
        faded = {}
        for memory in self.shown(agent):
            since_us = memory.created_us if memory.last_access_us is None else memory.last_access_us
            days, base = (now_us - since_us) / DAY_US, memory.fields.confidence
            effective = max(min(base, 0.05), base * 0.99**days) if days > 1.0 else base
            if below is not None and effective < below and not protected(memory.fields):
                faded[memory.id] = ""
        before = self.now
        answer = self.by_rule(Decay(agent, below), set(faded))
        if answer is None:
            return
        assert {memory.memory_id for memory in answer.results[0].closed} == set(faded)
        self.check_gone(before, faded, Status.CLOSED)
        for memory in faded:
            fields = before[memory].memory.fields
            end_us = min(fields.valid_to_us or now_us, now_us)
            assert self.now[memory].memory.fields == replace(fields, valid_to_us=end_us)
        self.check_untouched(before, set(faded), set())

    @thrown(agent=AGENTS)
    def tidy(self, agent: str) -> None:
        now_us = self.store.clock.now_us + 1000
        valid = [
            memory
            for memory in self.shown(agent)
            if memory.fields.kind is Kind.STATE
            if memory.fields.valid_to_us is None or memory.fields.valid_to_us > now_us
        ]
        gone: dict[str, str] = {}
        kept_by: dict[str, str] = {}
        for group in together(valid, lambda one: sameness(one, one.content)):
            kept, *others = sorted(
                group, key=lambda one: (-one.fields.confidence, -one.created_us, one.id)
            )
            closed = {memory.id: "" for memory in others if not protected(memory.fields)}
            gone |= closed
            kept_by |= dict.fromkeys(closed, kept.id)
        before = self.now
        answer = self.by_rule(Tidy(agent), set(gone), in_part=True)
        if answer is None:
            return
        taken = self.oldest(before[memory_id].memory for memory_id in gone)
        gone = {memory_id: "" for memory_id in gone if memory_id in taken}
        kept_ids = {kept for key, kept in kept_by.items() if key in taken}
        clusters = answer.results[0].clusters
        assert {memory_id for each in clusters for memory_id in each.closed_ids} == set(gone)
        assert {cluster.kept_id for cluster in clusters} == kept_ids
        self.check_gone(before, gone, Status.CLOSED)
        for cluster in clusters:
            for item in (cluster.kept_id, *cluster.closed_ids):
                fields, ended = before[item].memory.fields, {}
                if item in gone:
                    ended = {"valid_to_us": now_us}
                payload = fields.payload | {TIDY_KEY: {"cluster": cluster.cluster_id}}
                wanted = replace(fields, payload=payload, **ended)
                assert self.now[item].memory.fields == wanted
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
        if not given and text == other.memory.content:
            # The same text without a vector keeps its own.
            given = other.memory.vector
        new = replace(other.memory, content=text, vector=given)
        says_so = (text, given) == (other.memory.content, other.memory.vector)
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

    # -- What always holds

    @invariant()
    def no_rule_takes_what_is_protected(self) -> None:
        if self.done[-1].kind in BY_RULE:
            for memory_id in self.taken_out(self.revision):
                assert not protected(self.past[-2][memory_id].memory.fields)

    @invariant()
    def what_a_rule_takes_is_said_by_another(self) -> None:
        """But for what has faded: nothing that anybody could read is unsaid."""
        if self.done[-1].kind not in BY_RULE or self.done[-1].kind == "Decay":
            return
        before, after = (
            {
                sameness(seen.memory, words_of(seen.memory.content))
                for seen in state.values()
                if seen.live
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
