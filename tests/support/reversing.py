"""The state machine with all that can be taken back, and with what cannot."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from hypothesis.stateful import invariant, precondition

from support.engines import merge, remember, undo
from support.layered import Stacks, is_as_before, stacks_of, standing
from support.machine_parts import (
    AGENTS,
    BOTH,
    KEYS,
    RARELY,
    TEXTS,
    VECTORS,
    WISE,
    Pair,
    Seen,
    State,
    pairs_of,
    said_beside,
    several,
    thrown,
    unlikely,
)
from support.past_machine import PastMachine
from totonoe_core.base import errors
from totonoe_core.domain.commands import Command
from totonoe_core.domain.memories import Purge
from totonoe_core.domain.records import Kind, Memory, Status
from totonoe_core.domain.undo import Undo


def may_be_merged(one: Seen, agent: str) -> bool:
    return one.live and one.memory.fields.kind is Kind.STATE and one.may_be_seen_by(agent)


def external_key(memory: Memory) -> tuple[str, str] | None:
    """An external id, with the agent of a private memory: unique among those not dead."""
    fields = memory.fields
    owner = memory.agent_id if fields.private else ""
    return (fields.external_id, owner) if fields.external_id else None


class ReversingMachine(PastMachine):
    """Merge, supersede, undo and purge on top of what the others do."""

    def __init__(self) -> None:
        super().__init__()
        self.entered: Command | None = None

    # -- Rules

    @thrown(
        keys=several(2),
        wise=WISE,
        agent=AGENTS,
        text=TEXTS,
        force=BOTH,
    )
    def remember_in_place_of(
        self, keys: list[int], wise: bool, agent: str, text: str, force: bool
    ) -> None:
        chosen = [
            self.choose(key, agent, wise, lambda one: may_be_merged(one, agent)) for key in keys
        ]
        ids = tuple(dict.fromkeys(seen.memory.id for seen in chosen))
        command = replace(
            remember(
                text,
                agent=agent,
                vector=VECTORS[keys[0] % len(VECTORS)],
                force=force,
                attributes={"mark": self.mark()},
            ),
            supersede_ids=ids,
        )
        wrong: list[type[errors.TotonoeError]] = []
        if not all(seen.may_be_seen_by(agent) for seen in chosen):
            wrong.append(errors.NotFound)
        if not all(seen.live and seen.memory.fields.kind is Kind.STATE for seen in chosen):
            wrong.append(errors.Precondition)
        if wrong:
            self.refuses(command, *wrong)
            return
        self.save(command, ids)

    @thrown(
        key=KEYS,
        others=several(2),
        wise=WISE,
        agent=AGENTS,
        text=["", *TEXTS],
        force=BOTH,
        stale=RARELY,
    )
    def merge(
        self,
        key: int,
        others: list[int],
        wise: bool,
        agent: str,
        text: str,
        force: bool,
        stale: bool,
    ) -> None:
        keep = self.choose(key, agent, wise, lambda one: may_be_merged(one, agent))
        mine, fields = keep.memory.id, keep.memory.fields
        together = [keep]
        for other in others:
            named = {state.memory.id for state in together}

            def fits(one: Seen, named: set[str] = named) -> bool:
                shared = one.memory.fields.private is fields.private
                shared = shared and one.memory.fields.state_kind is fields.state_kind
                return shared and may_be_merged(one, agent) and one.memory.id not in named

            found = self.choose(other, agent, wise, fits)
            if not wise or fits(found):
                together.append(found)
        if len(together) == 1:
            return
        ids = tuple(state.memory.id for state in together)
        vector = VECTORS[key % len(VECTORS)] if text else None
        command = merge(*ids, agent=agent, content=text, vector=vector, force=force)
        wrong: list[type[errors.TotonoeError]] = []
        if not all(state.may_be_seen_by(agent) for state in together):
            wrong.append(errors.NotFound)
        if not all(state.live and state.memory.fields.kind is Kind.STATE for state in together):
            wrong.append(errors.Precondition)
        shared = {
            (state.memory.fields.private, state.memory.fields.state_kind) for state in together
        }
        if len(set(ids)) < len(ids) or len(shared) > 1:
            wrong.append(errors.InvalidArgument)
        if wrong:
            self.refuses(command, *wrong)
            return
        if stale:
            late = replace(command, expected_revisions=((ids[1], self.revision + 1),))
            self.refuses(late, errors.StaleRevision)
        keys = [state.memory.fields.key for state in together if state.memory.fields.key]
        typed_key = fields.key or (keys[0] if len(set(keys)) == 1 else None)
        duplicate = ""
        said = _vector_of_merged(together, text, vector)
        if text and (text != keep.memory.content or (vector is not None and len(vector))):
            new = replace(
                keep.memory, content=text, vector=said, fields=replace(fields, key=typed_key)
            )
            duplicate = self.decide(agent, new, force, ids).duplicate
        before = self.now
        answer = self.apply(command, changes=not duplicate)
        assert answer.merged is not bool(duplicate)
        if duplicate:
            assert answer.guard.duplicate.memory_id == duplicate
            return
        kept = self.now[mine].memory
        memories = [state.memory for state in together]
        assert kept.status is Status.ACTIVE
        assert kept.content == (text or keep.memory.content)
        assert kept.vector == said
        assert kept.created_us == min(other.created_us for other in memories)
        ends = [other.fields.valid_to_us for other in memories]
        tags = (tag for other in memories for tag in other.fields.tags)
        assert kept.fields == replace(
            fields,
            importance=max(other.fields.importance for other in memories),
            confidence=max(other.fields.confidence for other in memories),
            valid_to_us=None if None in ends else max(end for end in ends if end is not None),
            tags=tuple(dict.fromkeys(tags)),
            key=typed_key,
        )
        wanted: dict[tuple[str, str], float] = {}
        for state in together:
            for target, type_, value, _ in unlikely(state.links):
                if target not in ids:
                    wanted[target, type_] = max(value, wanted.get((target, type_), 0.0))
        links = {
            (target, type_): value for target, type_, value, _ in unlikely(self.now[mine].links)
        }
        assert links == wanted
        moved = set(ids)
        for removed in ids[1:]:
            seen = self.now[removed]
            assert (seen.memory.status, seen.memory.superseded_by) == (Status.SUPERSEDED, mine)
            assert not seen.links
        for memory_id, seen in before.items():
            memory = seen.memory
            if memory.superseded_by in ids[1:] and memory.status is Status.SUPERSEDED:
                moved.add(memory_id)
                passed_on = mine if seen.may_be_seen_by(agent) else memory.superseded_by
                assert self.now[memory_id].memory.superseded_by == passed_on
        self.check_untouched(before, moved, set(ids))

    # -- Undo

    def left_out(self, revision: int, agent: str) -> bool:
        """Whether anything that an operation touched is hidden from an agent."""
        done = self.done[revision]
        ends = {end for pair in done.pairs for end in pair[:2]}
        ends |= {end for two in done.dismissed for end in two}
        states = self.past[revision - 1], self.past[revision], self.now, self.purged
        seen = [
            state[memory_id]
            for memory_id in {*done.rows, *ends}
            for state in states
            if memory_id in state
        ]
        episode = self.episodes.get(done.episode) or self.gone_episodes.get(done.episode)
        hidden = episode is not None and episode.private and episode.agent_id != agent
        return hidden or not all(state.may_be_seen_by(agent) for state in seen)

    @property
    def undoes(self) -> dict[int, int]:
        return {revision: done.undoes for revision, done in enumerate(self.done)}

    def stacks(self, key: object) -> Stacks:
        """What was in force on a row after each operation that changed it."""
        changes = [revision for revision, done in enumerate(self.done) if key in done.changed()]
        return stacks_of(changes, self.undoes)

    def standing(self, key: object, revision: int) -> str:
        """`top`, `nowhere`, or the kind of conflict that a change of a row has."""
        place, by = standing(self.stacks(key), self.undoes, revision)
        if place == "covered":
            return "changed_for_good" if self.done[by].kind == "Purge" else "changed"
        return "undone_already" if place == "undone" else place

    def on_top(self, revision: int) -> set[object]:
        """What of an operation can be taken back as far as later operations are concerned."""
        keys = self.done[revision].changed()
        return {key for key in keys if self.standing(key, revision) == "top"}

    def conflicts_of(self, revision: int, agent: str, force: bool) -> set[str]:
        """What stands against taking an operation back whole, of which nothing is hidden."""
        done, before, now = self.done[revision], self.past[revision - 1], self.now
        found: set[str] = set()
        idle: set[str] = set()
        told: set[str] = set()
        coming: dict[str, Memory] = {}
        some = False
        for key in done.changed() - done.pairs:
            if isinstance(key, frozenset) and not key <= now.keys():
                idle.add("nothing_left")
                continue
            if key in done.rows and key not in now:
                found.add("purged")
                told.add(str(key))
                continue
            place = self.standing(key, revision)
            if place != "top":
                (idle if place == "undone_already" else found).add(place)
                told |= {str(key)} if place != "undone_already" else set()
            elif key not in done.rows:
                some = True
            elif key in before:
                coming[str(key)] = before[str(key)].memory
            else:
                coming[str(key)] = replace(now[str(key)].memory, status=Status.FORGOTTEN)
        repeated: set[str] = set()
        for memory_id in sorted(coming):
            refused = self.refusal(memory_id, coming[memory_id], coming, agent, force, revision)
            found |= refused
            told |= {memory_id} if refused else set()
            repeated |= {memory_id} if "duplicate" in refused else set()
        left = {key: after for key, after in coming.items() if key not in told}
        losing = {
            memory_id: self.losing(memory_id, left, repeated, agent, revision) for memory_id in left
        }
        kept = {key for key, kind in losing.items() if kind == "last_copy"}
        found |= {kind for kind in losing.values() if kind}
        told |= {key for key, kind in losing.items() if kind}
        left = {key: after for key, after in left.items() if not losing[key]}
        some = some or bool(left)
        old, new = pairs_of(before), pairs_of(now)
        for pair in done.pairs:
            ends = pair[:2]
            if any(end in left and left[end].status is Status.FORGOTTEN for end in ends):
                continue
            if any(end not in now for end in ends):
                # Its images went with the purge.
                idle.add("nothing_left")
                continue
            if pair not in old and not kept.isdisjoint(ends):
                continue
            place = self.standing(pair, revision)
            if place != "top":
                (idle if place == "undone_already" else found).add(place)
                continue
            dead = {end for end in ends if now[end].dead and end not in left}
            if pair in old and dead - told:
                found.add("link_end_gone")
            some = some or (pair in old and not dead) or (pair not in old and pair in new)
        found.discard("nowhere")
        if not found and not some:
            return idle or {"nothing_left"}
        return found

    def refusal(
        self,
        one: str,
        after: Memory,
        coming: dict[str, Memory],
        agent: str,
        force: bool,
        revision: int,
    ) -> set[str]:
        """What stands against a memory that would be as it was."""
        now = self.now[one]
        dead = after.status is Status.FORGOTTEN
        key = None if dead else external_key(after)
        held = None if now.dead else external_key(now.memory)
        if key is not None and key != held:
            for other, seen in self.now.items():
                later = coming.get(other, seen.memory)
                both = (seen.memory, later)
                if other != one and all(
                    external_key(each) == key and each.status is not Status.FORGOTTEN
                    for each in both
                ):
                    return {"external_id_taken"}
        said = [
            (each.content, each.vector, said_beside(each.fields), each.fields.private)
            for each in (now.memory, after)
        ]
        if after.status is not Status.ACTIVE or (now.live and said[0] == said[1]):
            return set()
        others = [
            other
            for other in self.now
            if other not in self.done[revision].rows and is_as_before(self.stacks(other), revision)
        ]
        if set(self.holders(agent, after.fields)) - {*coming, *others}:
            return {"key_taken"}
        # What stood beside it before the operation, or took its place, may do so again.
        beside = {
            other: seen.memory
            for other, seen in self.now.items()
            if other in others
            or (other == now.memory.superseded_by and other not in self.done[revision].rows)
        }
        found = self.decide(agent, after, force, {**coming, **beside})
        return {"duplicate"} if found.duplicate else set()

    def losing(
        self, one: str, left: dict[str, Memory], repeated: set[str], agent: str, revision: int
    ) -> str:
        """The conflict of a memory with which another, or itself, would be lost; or nothing."""

        def after(other: str) -> Memory:
            return left.get(other, self.now[other].memory)

        def same_as_before(other: str) -> bool:
            return is_as_before(self.stacks(other), revision)

        memory, changed = after(one), False
        head = self.now[one]
        while head.memory.status is Status.SUPERSEDED:
            by = self.now.get(head.memory.superseded_by)
            if by is None or not by.may_be_seen_by(agent):
                break
            head = by
        if not head.live:
            return ""
        if memory.status is Status.SUPERSEDED:
            while memory.status is Status.SUPERSEDED:
                by = memory.superseded_by
                if by not in self.now:
                    return "successor_gone"
                if not self.now[by].may_be_seen_by(agent):
                    return ""
                memory = after(by)
                changed = changed or (by not in left and not same_as_before(by))
            return "successor_gone" if changed and memory.status is not Status.ACTIVE else ""
        if memory.status is Status.ACTIVE and _shown(memory) == _shown(self.now[one].memory):
            return ""
        for other, seen in self.now.items():
            # What this Undo alone puts behind it was there before the operation, with its text.
            if (seen.memory.status, seen.memory.superseded_by) != (Status.SUPERSEDED, one):
                continue
            stays = after(other)
            if (
                (stays.status, stays.superseded_by) == (Status.SUPERSEDED, one)
                and seen.may_be_seen_by(agent)
                and other not in repeated
                and not same_as_before(other)
            ):
                return "last_copy"
        return ""

    @thrown(key=KEYS, wise=WISE, agent=AGENTS, partial=RARELY, force=RARELY)
    def undo_what_was_done_lately(
        self, key: int, wise: bool, agent: str, partial: bool, force: bool
    ) -> None:
        lately = range(max(1, self.revision - 5), self.revision + 1)
        self.take_back(self.target(lately, key, wise, agent, force), agent, partial, force)

    @thrown(key=KEYS, wise=BOTH, agent=AGENTS, partial=RARELY, force=RARELY)
    def undo_anything(self, key: int, wise: bool, agent: str, partial: bool, force: bool) -> None:
        ever = range(1, self.revision + 1)
        self.take_back(self.target(ever, key, wise, agent, force), agent, partial, force)

    @precondition(lambda self: any(item.undoes for item in self.done))
    @thrown(key=KEYS, agent=AGENTS, partial=BOTH, force=BOTH)
    def undo_an_undo(self, key: int, agent: str, partial: bool, force: bool) -> None:
        undone = [revision for revision, done in enumerate(self.done) if done.undoes]
        # The last one for the most part.
        self.take_back(undone[-1 - key % min(2, len(undone))], agent, partial, force)

    def target(
        self, revisions: Iterable[int], key: int, wise: bool, agent: str, force: bool
    ) -> int:
        """One of some revisions; a wise choice is one that can be taken back, if any can."""
        revisions = list(revisions)
        if wise:
            # Settings and purges are there too, but not every time.
            revisions = [
                revision
                for revision in revisions
                if self.done[revision].kind not in ("Purge", "ChangeSettings")
            ] or revisions
            start = key % len(revisions)
            for number in (*revisions[start:], *revisions[:start])[:8]:
                if not self.left_out(number, agent) and not self.conflicts_of(number, agent, force):
                    return number
        return revisions[key % len(revisions)]

    def take_back(self, revision: int, agent: str, partial: bool, force: bool) -> None:
        command = undo(revision, agent=agent, partial=partial, force=force)
        done = self.done[revision]
        if done.kind == "Purge":
            self.refuses(command, errors.Precondition, errors.NotFound)
            return
        if self.left_out(revision, agent):
            self.take_back_what_is_seen(command)
            return
        conflicts = self.conflicts_of(revision, agent, force)
        if conflicts - {"duplicate", "nothing_left"} and not partial:
            self.refuses(command, errors.UndoRefused)
            return
        before, ready = self.now, self.on_top(revision)
        answer = self.applied(command)
        found = answer.results[0]
        if conflicts:
            told = {conflict.kind.value for conflict in found.conflicts}
            assert conflicts <= told if partial else conflicts == told
            assert partial or not found.undone
        else:
            assert not found.conflicts
            assert found.undone
        assert found.undone is (before is not self.now)
        if not found.undone:
            return
        self.note_undo(revision, ready)
        if not conflicts:
            self.check_restored(revision, before, ready)

    def note_undo(self, revision: int, ready: set[object]) -> None:
        """What an Undo has touched, and what it brought back besides memories and links.

        `ready` are the rows that it could take back.
        """
        done, undone = self.done[-1], self.done[revision]
        done.undoes = revision
        done.pairs |= {
            pair
            for pair in undone.pairs
            if pair in ready and {*pair[:2]} <= self.now.keys() and self.back(pair, revision)
        }
        done.settings = undone.settings and "settings" in ready
        if done.settings:
            info = self.store.info()
            assert info.settings_revision == self.revision
            self.policy = str(info.guard.preset.value)
        if undone.episode and undone.episode in ready:
            one = undone.episode
            there, gone = self.episodes, self.gone_episodes
            if one in there:
                gone[one] = there.pop(one)
            else:
                there[one] = gone.pop(one)
            self.touch_episode(one)

    def back(self, pair: Pair, revision: int) -> bool:
        """Whether an Undo of a revision wrote a link again, be it as it is."""
        return pair in pairs_of(self.past[revision - 1]) and pair in pairs_of(self.now)

    def check_restored(self, revision: int, before: State, ready: set[object]) -> None:
        """Undo restores content, vector, attributes, links, validity and status."""
        was, undone = self.past[revision - 1], self.done[revision]
        rows = undone.rows & ready
        gone = rows - was.keys()
        for row in rows:
            after = self.now[row].memory
            if row in gone:
                assert after.status is Status.FORGOTTEN
                assert not self.now[row].links
                wanted = replace(before[row].memory, status=after.status)
            else:
                wanted = was[row].memory
            assert after == replace(wanted, revision=self.revision, updated_us=after.updated_us)
        old, new = pairs_of(was), pairs_of(self.now)
        for pair in undone.pairs & ready:
            if not any(
                memory_id not in self.now or self.now[memory_id].dead for memory_id in pair[:2]
            ):
                assert new.get(pair) == old.get(pair)
        ends = {end for pair in undone.pairs for end in pair[:2]}
        dying = {row for row in rows if self.now[row].dead}
        self.check_untouched(before, set(rows), {*dying, *ends})

    def take_back_what_is_seen(self, command: Undo) -> None:
        """An Undo of what is hidden in part leaves that as it is, but for pointers and links."""
        before = self.now
        ready = self.on_top(command.revision)
        hidden = [key for key, seen in before.items() if not seen.may_be_seen_by(command.agent_id)]
        try:
            found = self.applied(command).results[0]
        except (errors.NotFound, errors.UndoRefused):
            return
        for memory_id in hidden:
            after = replace(self.now[memory_id].memory, revision=0, updated_us=0)
            same = replace(before[memory_id].memory, revision=0, updated_us=0)
            if after.superseded_by != same.superseded_by:
                same = replace(same, superseded_by=after.superseded_by)
            assert after == same
        if found.undone:
            self.note_undo(command.revision, ready)

    # -- Purge

    @thrown(
        keys=several(2),
        wise=WISE,
        agent=AGENTS,
        now=BOTH,
        status=list(Status),
        ends=BOTH,
    )
    def purge(
        self, keys: list[int], wise: bool, agent: str, now: bool, status: Status, ends: bool
    ) -> None:
        if not now or len(self.now) < 4:
            return
        # Every other time what took a place, if anything did: others lead to it.
        took = {seen.memory.superseded_by for seen in self.now.values()}

        def fits(one: Seen) -> bool:
            return one.memory.id in took if ends else one.memory.status is status

        chosen = [self.choose(key, agent, wise, fits) for key in keys]
        ids = tuple(dict.fromkeys(seen.memory.id for seen in chosen))
        going = tuple(memory_id for memory_id in ids if self.now[memory_id].may_be_seen_by(agent))
        command = Purge(agent, ids)
        if not going and len(ids) == 1:
            self.refuses(command, errors.NotFound)
            return
        before = self.now
        found = self.apply(command, changes=bool(going))
        assert found.purged_ids == going
        self.purged |= {memory_id: before[memory_id] for memory_id in going}
        assert not self.now.keys() & set(going)
        if going:
            # What was answered then no longer quotes it.
            self.replies.clear()
        for key, seen in self.now.items():
            was = before[key]
            if was.memory.superseded_by in going and was.memory.status is Status.SUPERSEDED:
                # Around the purged, or at its id to an end.
                assert seen.memory.superseded_by not in {"", key}
            else:
                assert seen.memory == was.memory
            assert {link for link in was.links if link[0] not in going} == seen.links
        for held in (self.episodes, self.gone_episodes):
            for key, episode in held.items():
                left = tuple(each for each in episode.memory_ids if each not in going)
                held[key] = replace(episode, memory_ids=left)

    # -- What always holds

    def keep(self, command: Command) -> None:
        super().keep(command)
        self.entered = command

    @invariant()
    def the_guard_lets_no_duplicate_in(self) -> None:
        """Whatever says something new after an operation without force says it alone."""
        command, self.entered = self.entered, None
        if command is None or getattr(command, "force", False) or self.done[-1].settings:
            return
        before = self.past[-2]
        new = {
            key: seen
            for key, seen in self.now.items()
            if seen.live and (key not in before or _said(before[key]) != _said(seen))
        }
        since = command.revision if isinstance(command, Undo) else 0
        for key, seen in new.items():
            # What comes back was there together, and beside what is unchanged since.
            took = before[key].memory.superseded_by if key in before else ""
            beside = {
                other: each
                for other, each in self.now.items()
                if since
                and (
                    other == took
                    or other in self.done[since].rows
                    or is_as_before(self.stacks(other), since)
                )
            }
            found = self.decide(command.agent_id, seen.memory, False, {**new, **beside})
            assert not found.duplicate, (command, seen.memory, found, new.keys(), beside.keys())

    @invariant()
    def one_public_live_memory_holds_a_typed_key(self) -> None:
        held = [
            seen.memory.fields.key
            for seen in self.now.values()
            if seen.live and seen.memory.fields.key and not seen.memory.fields.private
        ]
        assert len(held) == len(set(held))


def _said(seen: Seen) -> tuple[object, ...]:
    memory = seen.memory
    return seen.live, memory.content, memory.vector, said_beside(memory.fields)


def _shown(memory: Memory) -> tuple[object, ...]:
    """What of a memory others rely on that it replaced; the mark of a Tidy says nothing."""
    return memory.content, said_beside(memory.fields)["payload"], memory.fields.private


def _vector_of_merged(together: Sequence[Seen], text: str, vector: Any) -> bytes:
    """The vector that a merge leaves: the one given, else that of whoever has the text."""
    if text and vector is not None and len(vector):
        given: bytes = vector.tobytes()
        return given
    keep, *removed = (seen.memory for seen in together)
    if not text or text == keep.content:
        return keep.vector
    return next(
        (memory.vector for memory in removed if memory.content == text and memory.vector), b""
    )
