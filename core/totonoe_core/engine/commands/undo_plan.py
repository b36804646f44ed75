"""Plan of an Undo, computed before anything changes.

Every row that the operation changed returns to its state before, if each later operation on the row
is itself undone (`engine/commands/layers.py`). A row that the operation made goes: a memory becomes
FORGOTTEN, with every link that it has by now. A change that cannot be reverted is a conflict. So is
a memory that has taken the place of another one since: both would be lost.
Nothing here depends on the kind of operation: there are only rows, links, dismissals, episodes and
settings.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace

from totonoe_core.base import limits
from totonoe_core.domain import expiry
from totonoe_core.domain.collections import CollectionInfo
from totonoe_core.domain.records import (
    FILE_CATEGORY,
    Dismissal,
    Duplicate,
    Episode,
    Link,
    Memory,
    Status,
    said_payload,
)
from totonoe_core.domain.undo import NOT_UNDOABLE, ConflictKind, Undo, UndoConflict
from totonoe_core.engine.commands.as_left import AsLeft
from totonoe_core.engine.commands.layers import Layers, Place, Row, Standing
from totonoe_core.engine.guarding import replaceable
from totonoe_core.engine.guarding.guarding import Guarding
from totonoe_core.engine.guarding.judging import NeedsOpinion
from totonoe_core.engine.guarding.texts import GuardedText
from totonoe_core.engine.state.ledger import DEAD, Ledger, NeedsVector, Operation
from totonoe_core.engine.state.sight import may_see
from totonoe_core.engine.state.touched import LinkKey, Reach, one_way
from totonoe_core.index.collection_index import Features
from totonoe_core.judging import TextPair
from totonoe_core.store import rows
from totonoe_core.store.records import SETTINGS_KEY, OperationRow


@dataclass(slots=True)
class Plan:
    """Changes that revert an operation, and the conflicts of the rest.

    `ends` has the memories at the ends of the named links, by row number.
    """

    memories: dict[int, tuple[Memory, Memory]] = field(default_factory=dict)
    """Present and future version, by row number."""
    removed: dict[LinkKey, Link] = field(default_factory=dict)
    restored: dict[LinkKey, Link] = field(default_factory=dict)
    ends: dict[int, Memory] = field(default_factory=dict)
    dismissals_gone: list[Dismissal] = field(default_factory=list)
    dismissals_back: list[Dismissal] = field(default_factory=list)
    episodes_gone: list[Episode] = field(default_factory=list)
    episodes_back: list[Episode] = field(default_factory=list)
    settings: CollectionInfo | None = None
    conflicts: list[UndoConflict] = field(default_factory=list)
    idle: list[UndoConflict] = field(default_factory=list)
    """Rows with nothing left to revert, and why; they do not block others."""

    def __bool__(self) -> bool:
        """Return whether there is anything to do."""
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
    """Computes one Undo on the writer's thread.

    Parameters
    ----------
    target : OperationRow
        The operation to undo.
    reach : Reach
        Its touched rows, as the caller may see them. Hidden rows stay as they are, except links of
        visible memories and the pointers to a memory's successor.
    operation : Operation
        The Undo itself: its time, whether a judge may be asked (then `NeedsOpinion` is raised), and
        vectors of texts.

    Raises `NeedsVector` for a restored text whose vector is of a former model of the collection.
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
        self._layers = Layers(self._history, target.revision)
        self._as_left = AsLeft(ledger.state, self._history, target.revision)
        self._reach = reach
        self._operation = operation
        self._now_us = operation.now_us
        self._may_ask = operation.may_ask
        self._reading = operation.reading
        self._unembedded: dict[str, None] = {}
        self._touched = frozenset(reach.rows)
        self._plan = Plan(ends=dict(reach.now))
        # Slots of what stood beside what comes back.
        self._beside: list[int] = []
        # Rows whose text another live memory says now.
        self._repeated: set[int] = set()
        # Rows that stay, with the links of the operation, since others would be lost with them.
        self._kept: set[int] = set()

    def plan(self) -> Plan:
        """Return the changes and the conflicts."""
        self._memories()
        if self._unembedded:
            raise NeedsVector(tuple(self._unembedded))
        self._settle()
        self._lasting()
        self._dying_links()
        self._links()
        self._dismissals()
        self._episodes()
        self._settings()
        if not self._plan and not self._plan.conflicts:
            nothing = UndoConflict(ConflictKind.NOTHING_LEFT)
            self._plan.conflicts += self._plan.idle or [nothing]
        return self._plan

    def _conflict(self, conflict: UndoConflict) -> None:
        self._plan.conflicts.append(conflict)

    def _not_on_top(self, standing: Standing, conflict: UndoConflict) -> None:
        """Record why the change of a row cannot be reverted; `conflict` names the row."""
        conflict = replace(conflict, revision=standing.revision)
        if standing.place is Place.UNDONE:
            self._plan.idle.append(replace(conflict, kind=ConflictKind.UNDONE_ALREADY))
        elif standing.place is Place.COVERED:
            later = self._history.operation(standing.revision)
            if later is not None and later.kind in NOT_UNDOABLE:
                conflict = replace(conflict, kind=ConflictKind.CHANGED_FOR_GOOD)
            self._conflict(conflict)

    # -- Memories

    def _memories(self) -> None:
        for row in self._reach.rows:
            now, before = self._reach.now[row], self._reach.before.get(row)
            visible = row in self._reach.visible
            if now.status is Status.PURGED:
                if visible:
                    self._conflict(UndoConflict(ConflictKind.PURGED, now.id, revision=now.revision))
                continue
            standing = self._layers.standing(_row_of(now))
            if standing.place is not Place.ON_TOP:
                if visible:
                    self._not_on_top(standing, UndoConflict(ConflictKind.CHANGED, now.id))
                continue
            self._as_left.memory(_row_of(now), now)
            now = self._ledger.state.current(now)
            before = before and self._of_model(before, now)
            if not visible:
                if before is not None and _only_pointer(now, before):
                    self._plan.memories[row] = now, before
            else:
                made = replace(now, status=Status.FORGOTTEN)
                self._plan.memories[row] = now, made if before is None else before

    def _of_model(self, before: Memory, now: Memory) -> Memory:
        """Return an earlier version of a memory, with a vector of the collection's model."""
        number = self._ledger.state.info.model_number
        if before.model_number == number and (before.vector or self._operation.words_only):
            return before
        vector = b""
        if before.content == now.content:
            vector = now.vector
        elif (found := self._operation.embedded.get(before.content)) is not None:
            vector = found.tobytes()
        elif before.content not in self._operation.next_vectors:
            self._unembedded[before.content] = None
        return replace(before, vector=vector, model_number=number)

    def _settle(self) -> None:
        """Remove changes that conflict with the guard, with each other, or that lose a memory."""
        again = True
        while again:
            again = False
            for step in (self._refused, self._losing):
                refused = step()
                self._plan.conflicts += refused.values()
                for row, conflict in refused.items():
                    now, _ = self._plan.memories.pop(row)
                    if conflict.kind is ConflictKind.DUPLICATE:
                        self._repeated.add(row)
                    elif conflict.kind is ConflictKind.LAST_COPY:
                        self._kept.add(row)
                    # A memory that now stays may be in the way of others.
                    again = again or (self._command.partial and now.status not in DEAD)

    def _refused(self) -> dict[int, UndoConflict]:
        """Return the conflicts of the plan's memories, by row number."""
        memories = self._plan.memories
        replaced = tuple(self._ledger.slot_of(now) for now, _ in memories.values())
        refused: dict[int, UndoConflict] = {}
        asked: list[TextPair] = []
        said = {} if self._command.force else self._said_again()
        state, vectors = self._ledger.state, [features.vector for features in said.values()]
        with state.scans.expecting(state.index, state.info.guard, vectors):
            for row, (now, after) in memories.items():
                try:
                    conflict = self._refusal(now, after, replaced, said.get(row))
                except NeedsOpinion as needed:
                    asked += needed.pairs
                    continue
                if conflict is not None:
                    refused[row] = conflict
        # The judge gets all pairs at once, and only if the answer can matter.
        if asked and (self._command.partial or not (refused or self._plan.conflicts)):
            raise NeedsOpinion(asked)
        return refused

    def _said_again(self) -> dict[int, Features]:
        """Return features of the texts that come back and pass the guard, by row number."""
        return {
            row: self._ledger.features_of(after)
            for row, (now, after) in self._plan.memories.items()
            if _comes_back(now, after) and after.fields.compared
        }

    def _refusal(
        self, now: Memory, after: Memory, replaced: tuple[int, ...], features: Features | None
    ) -> UndoConflict | None:
        """Return the conflict of one memory; `features` if its text passes the guard."""
        if self._external_id_taken(now, after):
            return UndoConflict(ConflictKind.EXTERNAL_ID_TAKEN, memory_id=now.id)
        if not _comes_back(now, after):
            return None
        text = GuardedText(
            # Neighbours are neither shown nor linked, so they are read only for a refusal.
            policy=replace(self._ledger.state.info.guard, similar_above=1.0),
            agent_id=self._command.agent_id,
            content=after.content,
            content_hash=after.content_hash,
            fields=after.fields,
            force=False,
            replaced=replaced,
        )
        for slot in replaceable.holders(self._ledger.state, text):
            if not replaceable.gives_way(self._ledger.state, text, slot):
                continue
            if not self._as_before(self._ledger.by_slot(slot)):
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
        """Return the duplicate that refuses a restored memory."""
        report = self._guarding.by_text(text, self._now_us)
        if report is None:
            report, _ = self._guarding.by_all(
                text,
                features,
                self._now_us,
                self._may_ask,
                neighbours=False,
                reading=self._reading,
            )
        return report.duplicate

    def _stood_beside(self, now: Memory, other: Memory) -> bool:
        """Return whether both were live before the operation: then both may be again.

        The other is unchanged since, or it superseded the memory and the operation did not touch
        it.
        """
        if len(self._beside) >= limits.UNDO_BESIDE_MAX or other.row in self._touched:
            return False
        return other.id == now.superseded_by or self._as_before(other)

    def _as_before(self, other: Memory) -> bool:
        """Return whether a live memory is as before the operation, which left it alone."""
        return other.row not in self._touched and self._layers.as_before(_row_of(other))

    # -- What would no longer be found

    def _losing(self) -> dict[int, UndoConflict]:
        """Return the conflicts of memories that others would be lost with, by row number.

        What was lost before the operation may be so again: any stack of operations can be undone.
        """
        conflicts: dict[int, UndoConflict] = {}
        for row, (now, after) in self._plan.memories.items():
            # Relations to a hidden memory are not revealed.
            if row not in self._reach.visible or not self._is_found(now):
                continue
            conflict = self._successor_gone(after) or self._last_copy(now, after)
            if conflict is not None:
                conflicts[row] = conflict
        return conflicts

    def _is_found(self, now: Memory) -> bool:
        """Return whether a memory, or one that took its place, is live now."""
        head = self._ledger.state.head(self._ledger.rows, now, self._command.agent_id)
        return head.status is Status.ACTIVE

    def _successor_gone(self, after: Memory) -> UndoConflict | None:
        """Return a conflict if a memory would give its place to one that has gone since."""
        memory, changed = after, None
        for _ in range(limits.SUPERSEDED_STEPS_MAX):
            if memory.status is not Status.SUPERSEDED:
                break
            slot = self._ledger.index.slot_by_id.get(memory.superseded_by)
            by = None if slot is None else self._ledger.by_slot(slot)
            if by is None or not may_see(by, self._command.agent_id):
                return None
            memory = self._after(by)
            if changed is None and memory is by and not self._layers.as_before(_row_of(by)):
                changed = by
        if changed is None or memory.status is Status.ACTIVE:
            return None
        # With no operation in force on it, its own was undone: that Undo is the last.
        last = self._layers.top(_row_of(changed)) or changed.revision
        kind = ConflictKind.SUCCESSOR_GONE
        return UndoConflict(kind, after.id, target_id=changed.id, revision=last)

    def _last_copy(self, now: Memory, after: Memory) -> UndoConflict | None:
        """Return a conflict if a memory that this one superseded since would be lost with it."""
        if after.status is Status.SUPERSEDED or (
            after.status is Status.ACTIVE and _shows(now) == _shows(after)
        ):
            return None
        others = self._ledger.rows.superseded_since(
            now.id, self._revision - 1, limits.UNDO_LATER_READ_MAX
        )
        for other in others:
            if (
                self._after(other).superseded_by != now.id
                or self._after(other).status is not Status.SUPERSEDED
                or other.row in self._repeated
                or not may_see(other, self._command.agent_id)
                or self._layers.as_before(_row_of(other))
            ):
                continue
            top = self._layers.top(_row_of(other))
            # The operation itself superseded it: then a conflict of its own keeps it where it is.
            revision = 0 if top == self._revision else top
            kind = ConflictKind.LAST_COPY
            return UndoConflict(kind, now.id, target_id=other.id, revision=revision)
        return None

    def _after(self, memory: Memory) -> Memory:
        return self._plan.memories.get(memory.row, (memory, memory))[1]

    def _external_id_taken(self, now: Memory, after: Memory) -> bool:
        wanted = held_external_key(after)
        if not wanted or wanted == held_external_key(now):
            return False
        holder = self._ledger.external_id_holder(after.fields, after.agent_id)
        if holder is None:
            return False
        _, holder = self._plan.memories.get(holder.row, (holder, holder))
        return held_external_key(holder) == wanted

    def _status(self, row: int) -> Status:
        """Return a memory's status after the Undo."""
        if row in self._plan.memories:
            return self._plan.memories[row][1].status
        return self._plan.ends[row].status

    # -- Links

    def _lasting(self) -> None:
        """Take their expiry from memories that come back and would expire at once."""
        for row, (now, after) in self._plan.memories.items():
            if self._ledger.state.has_expired(after, self._now_us):
                lasting = replace(after, fields=expiry.lasting(after.fields))
                self._plan.memories[row] = now, lasting

    def _dying_links(self) -> None:
        """Remove all links of memories that become dead, also links made since."""
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
            (link.source, link.target, link.link.type): link.link
            for link in self._history.link_images(self._revision)
        }
        returning: list[tuple[LinkKey, bool]] = []
        for key in self._reach.links:
            source, target, _ = key
            if not {source, target} & self._reach.visible or any(map(self._dies, key[:2])):
                continue
            if self._purged_end(source, target):
                continue
            if key not in images and not self._kept.isdisjoint(key[:2]):
                continue
            now = self._history.link_now(*key)
            row = Row("link", rows.link_key(*key), 0 if now is None else now.since)
            if not self._pair_on_top(row, source, target):
                continue
            self._as_left.link(row, now)
            if key in images:
                returning.append((key, now is None))
            elif now is not None:
                self._plan.removed[key] = now.link
        # Removed links make room for restored ones.
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
            # For a memory that cannot come back, its own conflict is listed already.
            told = {
                conflict.memory_id for conflict in self._plan.conflicts if not conflict.target_id
            }
            gone = next((row for row in dead if self._plan.ends[row].id not in told), None)
            if gone is not None:
                other = target if gone == source else source
                self._link_conflict(ConflictKind.LINK_END_GONE, other, gone, 0)
            return False
        for row, other in ((source, target), (target, source)):
            held = self._ledger.rows.link_counts((row,))[row] + counts[row]
            if missing and held >= limits.LINKS_PER_MEMORY_MAX:
                # Links made since leave no room.
                self._link_conflict(ConflictKind.CHANGED, row, other, 0)
                return False
        return True

    def _link_conflict(self, kind: ConflictKind, row: int, other: int, revision: int) -> None:
        if not {row, other} <= self._reach.visible:
            # Relations to a hidden memory are not revealed.
            return
        one, target = self._plan.ends[row].id, self._plan.ends[other].id
        self._conflict(UndoConflict(kind, one, target_id=target, revision=revision))

    def _dies(self, row: int) -> bool:
        return row in self._plan.memories and self._status(row) in DEAD

    def _pair_on_top(self, row: Row, one: int, other: int) -> bool:
        """Return whether the change of a link or dismissal is on top; else record the conflict."""
        standing = self._layers.standing(row)
        if standing.place is not Place.ON_TOP and {one, other} <= self._reach.visible:
            ends = self._plan.ends
            conflict = UndoConflict(ConflictKind.CHANGED, ends[one].id, target_id=ends[other].id)
            self._not_on_top(standing, conflict)
        return standing.place is Place.ON_TOP

    def _purged_end(self, one: int, other: int) -> bool:
        """Return whether a memory of a pair was purged, so that nothing is left of the pair."""
        ends = self._plan.ends
        for row, beside in ((one, other), (other, one)):
            if ends[row].status is Status.PURGED:
                if {one, other} <= self._reach.visible:
                    named = ends[beside].id, ends[row].id
                    self._plan.idle.append(
                        UndoConflict(
                            ConflictKind.NOTHING_LEFT,
                            memory_id=named[0],
                            target_id=named[1],
                            revision=ends[row].revision,
                        )
                    )
                return True
        return False

    # -- Dismissals, episodes and settings

    def _dismissals(self) -> None:
        images = self._history.dismissal_images(self._revision)
        for pair in self._reach.dismissals:
            if not self._reach.visible.issuperset(pair) or self._purged_end(*pair):
                continue
            now, before = self._ledger.rows.dismissal(*pair), images.get(pair)
            row = Row("dismissal", rows.dismissal_key(*pair), now.revision if now else 0)
            if not self._pair_on_top(row, *pair):
                continue
            self._as_left.dismissal(row, now)
            if before is not None:
                self._plan.dismissals_back.append(before)
            elif now is not None:
                self._plan.dismissals_gone.append(now)

    def _episodes(self) -> None:
        images = self._history.episode_images(self._revision)
        for episode_id in self._reach.episodes:
            now, before = self._ledger.rows.episode(episode_id), images.get(episode_id)
            row = Row("episode", episode_id, now.revision if now else 0)
            standing = self._layers.standing(row)
            if standing.place is not Place.ON_TOP:
                conflict = UndoConflict(ConflictKind.CHANGED, episode_id=episode_id)
                self._not_on_top(standing, conflict)
                continue
            self._as_left.episode(row, now)
            if now is not None:
                self._plan.episodes_gone.append(now)
            if before is not None:
                self._plan.episodes_back.append(before)

    def _settings(self) -> None:
        if not self._reach.settings:
            return
        now = self._ledger.state.info
        row = Row("setting", SETTINGS_KEY, now.settings_revision)
        standing = self._layers.standing(row)
        if standing.place is not Place.ON_TOP:
            self._not_on_top(standing, UndoConflict(ConflictKind.CHANGED, settings=True))
            return
        self._as_left.settings(row, now)
        self._plan.settings = self._ledger.state.info_before(self._revision)


def _row_of(memory: Memory) -> Row:
    return Row("memory", str(memory.row), memory.revision)


def held_external_key(memory: Memory) -> str:
    """Return the external key that a memory keeps others from using."""
    return "" if memory.status in DEAD else rows.external_key(memory.fields, memory.agent_id)


def _comes_back(now: Memory, after: Memory) -> bool:
    """Return whether it becomes live, or says something else while live."""
    return after.status is Status.ACTIVE and not (
        now.status is Status.ACTIVE and _said(now) == _said(after)
    )


def _said(memory: Memory) -> tuple[object, ...]:
    """Return the parts of a memory that the guard compares."""
    fields = memory.fields
    own = (said_payload(fields.payload), fields.state_kind, fields.key, fields.private)
    return memory.content, memory.vector, *own


def _shows(memory: Memory) -> tuple[object, ...]:
    """Return what readers find a memory by, and where."""
    fields = memory.fields
    place = fields.private, fields.namespace, fields.category == FILE_CATEGORY
    return memory.content, said_payload(fields.payload), *place


def _only_pointer(now: Memory, before: Memory) -> bool:
    """Return whether two versions differ only in the superseding memory."""
    return now == replace(
        before,
        superseded_by=now.superseded_by,
        revision=now.revision,
        updated_us=now.updated_us,
    )
