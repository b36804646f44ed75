"""Undo: restores every row that an operation touched to its state before."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from totonoe_core.base.errors import InvalidArgument, NotFound, NotOwner, Precondition, UndoRefused
from totonoe_core.domain.collections import CollectionInfo
from totonoe_core.domain.records import Link, Memory
from totonoe_core.domain.undo import ConflictKind, OperationInfo, Undo, UndoConflict, Undone
from totonoe_core.engine.commands.undo_plan import Plan, Planner, held_external_key
from totonoe_core.engine.guarding.guarding import Guarding
from totonoe_core.engine.state.ledger import Ledger, Operation
from totonoe_core.engine.state.operations import operation_info
from totonoe_core.engine.state.sight import may_see
from totonoe_core.engine.state.touched import LinkKey, Reach, reach
from totonoe_core.store.records import OperationRow

_ANSWERED = frozenset({ConflictKind.DUPLICATE, ConflictKind.NOTHING_LEFT})
"""Conflicts that are answers, not errors: `force` passes them, or there is nothing to do."""

_OF_PLACES = frozenset({ConflictKind.LAST_COPY, ConflictKind.SUCCESSOR_GONE})
"""Conflicts about the place of one memory that another one has, not about a link."""


class Undoing:
    """Carries out Undo on one collection."""

    def __init__(self, ledger: Ledger, guarding: Guarding) -> None:
        self._ledger = ledger
        self._guarding = guarding

    def undo(self, operation: Operation, command: Undo) -> Undone:
        """Undo an operation.

        Raises `NotFound`, `NotOwner`, `Precondition` (NOT_UNDOABLE), `UndoRefused` for conflicts
        unless `partial`. If all conflicts are of kinds DUPLICATE or NOTHING_LEFT, the answer lists
        them instead.
        """
        target, reach, info = self._target(command)
        plan = Planner(self._ledger, self._guarding, command, target, reach, operation).plan()
        conflicts = tuple(plan.conflicts)
        if conflicts and not command.partial:
            if any(conflict.kind not in _ANSWERED for conflict in conflicts):
                raise UndoRefused(target.revision, [_told(conflict) for conflict in conflicts])
            return Undone(False, info, conflicts=conflicts)
        if not plan:
            return Undone(False, info, conflicts=conflicts)
        operation.undoes = target.revision
        after, settings = self._carry_out(operation, plan)
        return Undone(
            undone=True,
            operation=replace(info, undone_by=operation.revision),
            memories=self._shown(after, reach, command.agent_id),
            episode_ids=_episode_ids(plan),
            link_count=self._link_count(plan, command),
            collection=settings and replace(settings, revision=operation.revision),
            conflicts=conflicts,
        )

    def preview(self, operation: Operation, command: Undo) -> Undone:
        """Return the changes that an Undo would make, and every conflict."""
        target, reach, info = self._target(command)
        plan = Planner(self._ledger, self._guarding, command, target, reach, operation).plan()
        after = [
            # Stamped as now, since there is no operation.
            replace(after, revision=now.revision, updated_us=now.updated_us)
            for now, after in plan.memories.values()
        ]
        shown = self._shown(after, reach, command.agent_id)
        return Undone(
            undone=bool(plan) and (command.partial or not plan.conflicts),
            operation=info,
            memories=tuple(self._with_links(memory, plan, command.agent_id) for memory in shown),
            episode_ids=_episode_ids(plan),
            link_count=self._link_count(plan, command),
            collection=plan.settings,
            conflicts=tuple(plan.conflicts),
        )

    # -- Choice of the operation

    def _target(self, command: Undo) -> tuple[OperationRow, Reach, OperationInfo]:
        """Return the operation to undo, if the caller may see anything of it."""
        history = self._ledger.rows.history
        if command.revision:
            named = history.operation(command.revision)
            rows = [] if named is None else [named]
        else:
            rows = history.operations_with_id(command.operation_id)
            # After seven days an id may be used again: the newest counts.
            rows = [row for row in rows if row.agent_id == command.agent_id][:1] or rows
        agent_id = command.agent_id
        found = [
            (row, reached, info)
            for row in rows
            if (reached := reach(self._ledger.rows, row, agent_id))
            and (info := operation_info(self._ledger.rows, row, agent_id)) is not None
        ]
        if not found:
            name = command.operation_id or f"revision {command.revision}"
            raise NotFound("OPERATION_NOT_FOUND", kind="operation", name=name)
        if len(found) > 1:
            raise InvalidArgument(
                "MISSING_FIELD",
                field="target_revision",
                got=f"an operation id that names {len(found)} operations",
                allowed="a revision, where several agents used the same id",
            )
        if command.own_only and found[0][0].agent_id != agent_id:
            raise NotOwner(
                f"revision {found[0][0].revision} is another agent's operation, allowed: your own",
                revision=found[0][0].revision,
            )
        if found[0][0].kind == "Purge":
            raise Precondition(
                "NOT_UNDOABLE",
                f"revision {found[0][0].revision} is a Purge, which is final",
                revision=found[0][0].revision,
            )
        if found[0][0].kind == "AcceptLoss":
            raise Precondition(
                "NOT_UNDOABLE",
                f"revision {found[0][0].revision} gave up what was lost, which is not there",
                revision=found[0][0].revision,
            )
        if found[0][0].kind == "Reembed":
            raise Precondition(
                "NOT_UNDOABLE",
                f"revision {found[0][0].revision} is a Reembed: run the daemon with the model "
                "before it and call Reembed, which takes back the vectors that were kept",
                revision=found[0][0].revision,
            )
        return found[0]

    # -- Carrying it out

    def _carry_out(
        self, operation: Operation, plan: Plan
    ) -> tuple[list[Memory], CollectionInfo | None]:
        ledger, ends = self._ledger, plan.ends
        for (source, target, _), link in plan.removed.items():
            ledger.delete_link_pair(operation, ends[source], target, link)
        self._release_external_ids(operation, plan)
        after = [
            ledger.replace(
                operation, now, after, None if _same_slot(now, after) else ledger.features_of(after)
            )
            for now, after in plan.memories.values()
        ]
        for (source, target, _), link in plan.restored.items():
            link = replace(link, target_id=ends[target].id)
            ledger.put_link_pair(operation, ends[source], ends[target], link)
        for dismissal in plan.dismissals_gone:
            ledger.delete_dismissal(operation, dismissal)
        for dismissal in plan.dismissals_back:
            ledger.put_dismissal(operation, dismissal)
        for episode in plan.episodes_gone:
            ledger.file.delete_episode(episode, operation.revision)
        for episode in plan.episodes_back:
            ledger.file.put_episode(replace(episode, revision=operation.revision))
        operation.touched.episodes += _episode_ids(plan)
        # Last: another tokenizer rebuilds the index from the rows.
        settings = None if plan.settings is None else ledger.put_settings(operation, plan.settings)
        return after, settings

    def _release_external_ids(self, operation: Operation, plan: Plan) -> None:
        """Free the external ids that move from one of the memories to another."""
        wanted = {held_external_key(after): row for row, (_, after) in plan.memories.items()}
        for row, (now, _) in plan.memories.items():
            held = held_external_key(now)
            if held and wanted.get(held, row) != row:
                fields = replace(now.fields, external_id="")
                free = replace(now, fields=fields, revision=operation.revision)
                self._ledger.file.put_memory(free, now)

    # -- Answers

    def _shown(self, memories: Iterable[Memory], reach: Reach, agent_id: str) -> tuple[Memory, ...]:
        """Return those that the caller may see, as answers show them."""
        own = [
            memory
            for memory in memories
            if memory.row in reach.visible and may_see(memory, agent_id)
        ]
        shown = self._ledger.state.shown(self._ledger.rows, own, agent_id)
        return tuple(replace(memory, vector=b"") for memory in shown)

    def _with_links(self, memory: Memory, plan: Plan, agent_id: str) -> Memory:
        """Return a memory of a preview with the links that it would have."""
        gone = self._links_of(memory, plan.removed, plan, agent_id)
        back = self._links_of(memory, plan.restored, plan, agent_id)
        other = {(link.target_id, link.type) for link in (*gone, *back)}
        links = [link for link in memory.links if (link.target_id, link.type) not in other] + back
        return replace(memory, links=tuple(sorted(links, key=lambda link: -link.confidence)))

    @staticmethod
    def _links_of(
        memory: Memory, links: dict[LinkKey, Link], plan: Plan, agent_id: str
    ) -> list[Link]:
        """Return those of some links that a memory holds and the agent may see."""
        found = []
        for (source, target, type_), link in links.items():
            if memory.row in (source, target):
                other = plan.ends[target if memory.row == source else source]
                own = type_ if memory.row == source else type_.inverse
                if may_see(other, agent_id):
                    found.append(replace(link, target_id=other.id, type=own))
        return found

    @staticmethod
    def _link_count(plan: Plan, command: Undo) -> int:
        return sum(
            all(may_see(plan.ends[row], command.agent_id) for row in (source, target))
            for source, target, _ in (*plan.removed, *plan.restored)
        )


def _episode_ids(plan: Plan) -> tuple[str, ...]:
    both = (*plan.episodes_gone, *plan.episodes_back)
    return tuple(dict.fromkeys(episode.id for episode in both))


def _same_slot(now: Memory, after: Memory) -> bool:
    """Return whether two versions differ, in a slot's contents, only in status."""
    return after == replace(
        now,
        status=after.status,
        superseded_by=after.superseded_by,
        revision=after.revision,
        updated_us=after.updated_us,
    )


def _told(conflict: UndoConflict) -> str:
    """Describe a conflict for an error's message: ids and revisions, no text of a memory."""
    what = conflict.memory_id or conflict.episode_id or "the settings"
    if conflict.target_id and conflict.kind in _OF_PLACES:
        what = f"{what} and {conflict.target_id}"
    elif conflict.target_id:
        what = f"link {what} - {conflict.target_id}"
    by = f" by revision {conflict.revision}" if conflict.revision else ""
    if conflict.duplicate is not None:
        by = f" of {conflict.duplicate.memory_id}"
    return f"{what}: {conflict.kind.value.replace('_', ' ')}{by}"
