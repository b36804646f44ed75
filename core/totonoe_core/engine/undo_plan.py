"""What an Undo would do, worked out before anything changes.

Every row that the operation touched is to be again what it was before, if it is still as the
operation left it. A row that the operation made goes: a memory becomes FORGOTTEN, with every link
that it has by now. What cannot be is a conflict. There is nothing in here for any kind of
operation: rows, links, dismissals, episodes and settings are all there is.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace

from totonoe_core import limits
from totonoe_core.commands import CollectionInfo, Undo
from totonoe_core.engine.guarding import GuardedText, Guarding, NeedsOpinion
from totonoe_core.engine.ledger import DEAD, Ledger, NeedsVector, Operation
from totonoe_core.engine.touched import LinkKey, Reach, one_way
from totonoe_core.index.collection_index import Features
from totonoe_core.judging import Pair
from totonoe_core.records import Dismissal, Duplicate, Episode, Kind, Link, Memory, Status
from totonoe_core.store import rows
from totonoe_core.store.history import OperationRow
from totonoe_core.undo import ConflictKind, UndoConflict


@dataclass(slots=True)
class Plan:
    """Changes that take an operation back, and what stands against the rest.

    `ends` has the memories at the ends of the links that are named, by row number.
    """

    memories: dict[int, tuple[Memory, Memory]] = field(default_factory=dict)
    """As it is now and as it will be, by row number."""
    removed: dict[LinkKey, Link] = field(default_factory=dict)
    restored: dict[LinkKey, Link] = field(default_factory=dict)
    ends: dict[int, Memory] = field(default_factory=dict)
    dismissals_gone: list[Dismissal] = field(default_factory=list)
    dismissals_back: list[Dismissal] = field(default_factory=list)
    episodes_gone: list[Episode] = field(default_factory=list)
    episodes_back: list[Episode] = field(default_factory=list)
    settings: CollectionInfo | None = None
    conflicts: list[UndoConflict] = field(default_factory=list)

    def __bool__(self) -> bool:
        """Whether there is anything to do."""
        return bool(
            self.memories
            or self.removed
            or self.restored
            or self.dismissals_gone
            or self.dismissals_back
            or self.episodes_gone
            or self.episodes_back
            or self.settings
        )


class Planner:
    """Works out one Undo on the writer's thread.

    Parameters
    ----------
    target : OperationRow
        The operation that is taken back.
    reach : Reach
        What it touched, as the caller may see it. What is hidden from the caller stays as it is,
        but for the links of what it may see and the pointers to what took a memory's place.
    operation : Operation
        The Undo itself: when, whether a judge may be asked (then `NeedsOpinion` is raised), and
        vectors of texts.

    Raises `NeedsVector` where a text comes back whose vector is of a model that the collection had
    before.
    """

    def __init__(
        self,
        ledger: Ledger,
        guarding: Guarding,
        command: Undo,
        target: OperationRow,
        reach: Reach,
        operation: Operation,
    ) -> None:
        self._ledger = ledger
        self._guarding = guarding
        self._command = command
        self._revision = target.revision
        self._history = ledger.rows.history
        self._reach = reach
        self._operation = operation
        self._now_us = operation.now_us
        self._may_ask = operation.may_ask
        self._unembedded: dict[str, None] = {}
        self._touched = frozenset(reach.rows)
        self._plan = Plan(ends=dict(reach.now))
        # Slots of what stood beside what comes back.
        self._beside: list[int] = []

    def plan(self) -> Plan:
        """The changes and the conflicts."""
        self._memories()
        if self._unembedded:
            raise NeedsVector(tuple(self._unembedded))
        self._settle()
        self._dying_links()
        self._links()
        self._dismissals()
        self._episodes()
        self._settings()
        return self._plan

    def _conflict(self, conflict: UndoConflict) -> None:
        self._plan.conflicts.append(conflict)

    # -- Memories

    def _memories(self) -> None:
        for row in self._reach.rows:
            now, before = self._reach.now[row], self._reach.before.get(row)
            left = now.revision == self._revision
            if left and now.status is not Status.PURGED:
                now = self._ledger.state.current(now)
                before = before and self._of_model(before, now)
            if row not in self._reach.visible:
                if left and before is not None and _only_pointer(now, before):
                    self._plan.memories[row] = now, before
            elif now.status is Status.PURGED:
                self._conflict(UndoConflict(ConflictKind.PURGED, now.id, revision=now.revision))
            elif not left:
                self._conflict(UndoConflict(ConflictKind.CHANGED, now.id, revision=now.revision))
            else:
                made = replace(now, status=Status.FORGOTTEN)
                self._plan.memories[row] = now, made if before is None else before

    def _of_model(self, before: Memory, now: Memory) -> Memory:
        """What a memory was, with a vector of the model that the collection has by now."""
        number = self._ledger.state.info.model_number
        if before.vector and before.model_number == number:
            return before
        vector = b""
        if before.content == now.content:
            vector = now.vector
        elif (found := self._operation.embedded.get(before.content)) is not None:
            vector = found.tobytes()
        elif before.content not in self._operation.ahead:
            self._unembedded[before.content] = None
        return replace(before, vector=vector, model_number=number)

    def _settle(self) -> None:
        """Takes out what may not come back as it was."""
        again = True
        while again:
            again = False
            memories = self._plan.memories
            refused = self._refused()
            self._plan.conflicts += refused.values()
            for row in refused:
                now, _ = memories.pop(row)
                # What stays as it is may be in the way of the others.
                again = again or (self._command.partial and now.status not in DEAD)

    def _refused(self) -> dict[int, UndoConflict]:
        """What stands against the memories of the plan, by row number."""
        memories = self._plan.memories
        replaced = tuple(self._ledger.slot_of(now) for now, _ in memories.values())
        refused: dict[int, UndoConflict] = {}
        asked: list[Pair] = []
        said = {} if self._command.force else self._said_again()
        with self._guarding.expecting([one.vector for one in said.values()]):
            for row, (now, after) in memories.items():
                try:
                    conflict = self._refusal(now, after, replaced, said.get(row))
                except NeedsOpinion as needed:
                    asked += needed.pairs
                    continue
                if conflict is not None:
                    refused[row] = conflict
        # A judge is asked about all of them at once, and not if nothing is to come of it.
        if asked and (self._command.partial or not (refused or self._plan.conflicts)):
            raise NeedsOpinion(asked)
        return refused

    def _said_again(self) -> dict[int, Features]:
        """Of the texts that come back and pass the guard, by row number."""
        return {
            row: self._ledger.features_of(after)
            for row, (now, after) in self._plan.memories.items()
            if _comes_back(now, after) and after.fields.kind is Kind.STATE
        }

    def _refusal(
        self, now: Memory, after: Memory, replaced: tuple[int, ...], features: Features | None
    ) -> UndoConflict | None:
        """What stands against one memory; `features` if its text passes the guard."""
        if self._external_id_taken(now, after):
            return UndoConflict(ConflictKind.EXTERNAL_ID_TAKEN, memory_id=now.id)
        if not _comes_back(now, after):
            return None
        text = GuardedText(
            # Neighbours are neither told nor linked to, so none is read but to refuse.
            policy=replace(self._ledger.state.info.guard, similar_above=1.0),
            agent_id=self._command.agent_id,
            content=after.content,
            content_hash=after.content_hash,
            fields=after.fields,
            force=False,
            replaced=replaced,
        )
        if any(self._guarding.gives_way(text, one) for one in self._guarding.holders(text)):
            return UndoConflict(ConflictKind.KEY_TAKEN, memory_id=now.id)
        if features is None:
            return None
        while True:
            duplicate = self._duplicate(
                features, replace(text, replaced=(*replaced, *self._beside))
            )
            if duplicate is None:
                return None
            other = self._ledger.find(duplicate.memory_id, self._command.agent_id)
            if other is None or not self._stood_beside(now, other):
                return UndoConflict(ConflictKind.DUPLICATE, memory_id=now.id, duplicate=duplicate)
            self._beside.append(self._ledger.slot_of(other))

    def _duplicate(self, features: Features, text: GuardedText) -> Duplicate | None:
        """What refuses a memory that is to come back."""
        report = self._guarding.by_text(text, self._now_us)
        if report is None:
            report, _ = self._guarding.by_all(
                text, features, self._now_us, self._may_ask, neighbours=False
            )
        return report.duplicate

    def _stood_beside(self, now: Memory, other: Memory) -> bool:
        """Whether both were live before the operation: then both may be again.

        One that is as it was then; or what took the place, if the operation found it there.
        """
        if len(self._beside) >= limits.UNDO_BESIDE_MAX or other.row in self._touched:
            return False
        return other.revision < self._revision or other.id == now.superseded_by

    def _external_id_taken(self, now: Memory, after: Memory) -> bool:
        wanted = held_external_id(after)
        if not wanted or wanted == held_external_id(now):
            return False
        holder = self._ledger.external_id_holder(wanted, after.row)
        if holder is None:
            return False
        _, holder = self._plan.memories.get(holder.row, (holder, holder))
        return held_external_id(holder) == wanted

    def _status(self, row: int) -> Status:
        """Where a memory will stand."""
        if row in self._plan.memories:
            return self._plan.memories[row][1].status
        return self._plan.ends[row].status

    # -- Links

    def _dying_links(self) -> None:
        """Whatever becomes dead loses all links, those that it got since too."""
        dying = [
            row
            for row, (now, after) in self._plan.memories.items()
            if after.status in DEAD and now.status not in DEAD
        ]
        known = self._plan.ends
        for source, links in self._ledger.rows.links(dying).items():
            for target, link in links:
                key = one_way((source, target, link.type))
                self._plan.removed[key] = replace(link, type=key[2])
        wanted = {row for source, target, _ in self._plan.removed for row in (source, target)}
        known |= self._ledger.rows.memories([row for row in wanted if row not in known])

    def _links(self) -> None:
        images = {
            (one.source, one.target, one.link.type): one.link
            for one in self._history.link_images(self._revision)
        }
        returning: list[tuple[LinkKey, bool]] = []
        for key in self._reach.links:
            source, target, _ = key
            if not {source, target} & self._reach.visible or any(map(self._dies, key[:2])):
                continue
            later, now = self._changed_after(key), self._link_now(key)
            if later:
                self._link_conflict(ConflictKind.CHANGED, source, target, later)
            elif key in images:
                returning.append((key, now is None))
            elif now is not None:
                self._plan.removed[key] = now
        # Those that go make room for those that come.
        counts: Counter[int] = Counter()
        for source, target, _ in self._plan.removed:
            counts.subtract((source, target))
        for key, missing in returning:
            if self._may_come_back(key, missing, counts):
                self._plan.restored[key] = images[key]
                if missing:
                    counts.update(key[:2])

    def _may_come_back(self, key: LinkKey, missing: bool, counts: Counter[int]) -> bool:
        source, target, _ = key
        dead = [row for row in (source, target) if self._status(row) in DEAD]
        if dead:
            # Of one that was to come back, its own conflict was told.
            gone = next((row for row in dead if row not in self._touched), None)
            if gone is not None:
                other = target if gone == source else source
                self._link_conflict(ConflictKind.LINK_END_GONE, other, gone, 0)
            return False
        for row, other in ((source, target), (target, source)):
            held = self._ledger.rows.link_count(row) + counts[row]
            if missing and held >= limits.LINKS_PER_MEMORY_MAX:
                # Links that it got since leave no room.
                self._link_conflict(ConflictKind.CHANGED, row, other, 0)
                return False
        return True

    def _link_conflict(self, kind: ConflictKind, row: int, other: int, revision: int) -> None:
        if not {row, other} <= self._reach.visible:
            # What a hidden memory has to do with it is not told.
            return
        one, target = self._plan.ends[row].id, self._plan.ends[other].id
        self._conflict(UndoConflict(kind, one, target_id=target, revision=revision))

    def _dies(self, row: int) -> bool:
        return row in self._plan.memories and self._status(row) in DEAD

    def _changed_after(self, key: LinkKey) -> int:
        """Revision of what came between, or 0."""
        found = self._history.changed_after("link", rows.link_key(*key), self._revision)
        written = self._history.link_revision(*key) or 0
        return found or (written if written > self._revision else 0)

    def _link_now(self, key: LinkKey) -> Link | None:
        return self._ledger.file.link_between(*key)

    # -- Dismissals, episodes and settings

    def _dismissals(self) -> None:
        images = self._history.dismissal_images(self._revision)
        for pair in self._reach.dismissals:
            now, before = self._ledger.rows.dismissal(*pair), images.get(pair)
            key = rows.dismissal_key(*pair)
            later = self._history.changed_after("dismissal", key, self._revision) or 0
            if now is not None and now.revision > self._revision:
                later = later or now.revision
            if not self._reach.visible.issuperset(pair):
                continue
            if later:
                self._link_conflict(ConflictKind.CHANGED, *pair, later)
            elif before is not None:
                self._plan.dismissals_back.append(before)
            elif now is not None:
                self._plan.dismissals_gone.append(now)

    def _episodes(self) -> None:
        images = self._history.episode_images(self._revision)
        for episode_id in self._reach.episodes:
            now, before = self._ledger.rows.episode(episode_id), images.get(episode_id)
            later = self._history.changed_after("episode", episode_id, self._revision) or 0
            if now is not None and now.revision > self._revision:
                later = later or now.revision
            if later:
                conflict = UndoConflict(ConflictKind.CHANGED, episode_id=episode_id, revision=later)
                self._conflict(conflict)
                continue
            if now is not None:
                self._plan.episodes_gone.append(now)
            if before is not None:
                self._plan.episodes_back.append(before)

    def _settings(self) -> None:
        if not self._reach.settings:
            return
        changed = self._ledger.state.info.settings_revision
        if changed != self._revision:
            self._conflict(UndoConflict(ConflictKind.CHANGED, settings=True, revision=changed))
        else:
            self._plan.settings = self._ledger.state.info_before(self._revision)


def held_external_id(memory: Memory) -> str:
    """The external id that it keeps others from having."""
    return "" if memory.status in DEAD else memory.fields.external_id


def _comes_back(now: Memory, after: Memory) -> bool:
    """Whether it will be live and was not, or says something else."""
    return after.status is Status.ACTIVE and not (
        now.status is Status.ACTIVE and _said(now) == _said(after)
    )


def _said(memory: Memory) -> tuple[object, ...]:
    """What the guard looks at."""
    fields = memory.fields
    own = (fields.payload, fields.state_kind, fields.key, fields.private)
    return memory.content, memory.vector, *own


def _only_pointer(now: Memory, before: Memory) -> bool:
    """Whether only what took its place differs."""
    return now == replace(
        before,
        superseded_by=now.superseded_by,
        revision=now.revision,
        updated_us=now.updated_us,
    )
