"""Purge: erases the bytes of memories everywhere.

    row, before images, links, dismissals, images  here, in the operation
    episodes, kept answers                          here, in the operation
    arrays, caches, pages and WAL of the file       by the writer, once it is committed

What remains: an empty row with the id, the row number and the agent, so that neither is used again;
the ids in evidence, operations and answers; the reasons of operations; quotations in other
memories, their links or summaries of episodes; operation ids, and digests of their requests, until
their answers are dropped. Names of sessions, threads, categories, life stages and agents stay in
memory, without a reference to their memories, until the collection is next opened.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from totonoe_core.base import limits
from totonoe_core.base.errors import NotFound
from totonoe_core.domain.commands import Result
from totonoe_core.domain.memories import Purge, Purged
from totonoe_core.domain.records import Fields, Memory, Status
from totonoe_core.engine.commands.redact import Redaction
from totonoe_core.engine.state.ledger import Ledger, Operation
from totonoe_core.store.records import Touched


@dataclass(frozen=True, slots=True)
class _PurgeTargets:
    """Memories that a Purge names, by id, and the unknown ids."""

    memories: dict[str, Memory]
    missing_ids: tuple[str, ...]


class Purging:
    """Carries out Purge on one collection."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger

    def purge(self, operation: Operation, command: Purge) -> Purged:
        """Purge memories. One unknown id alone is `NotFound`."""
        named = self._named(command)
        if not named.memories:
            return Purged((), named.missing_ids)
        file = self._ledger.file
        # First, since it is found by the contents of the rows.
        reply_count = self._rewrite_replies(named, write=True)
        self._pass_on(operation, named)
        version_count = sum(
            self._ledger.purge(operation, memory) for memory in named.memories.values()
        )
        episode_count = file.purge.leave_episodes(named.memories)
        file.note_purge()
        ids = tuple(named.memories)
        return Purged(ids, named.missing_ids, version_count, reply_count, episode_count)

    def unsaid(self, results: tuple[Result, ...]) -> tuple[Result, ...]:
        """Return an operation's own results, which are kept too, without purged words."""
        gone = {
            purged_id
            for result in results
            if isinstance(result, Purged)
            for purged_id in result.purged_ids
        }
        if not gone or len(results) == 1:
            return results
        return Redaction(gone, lambda _: True).without(results, 0)

    def preview(self, command: Purge) -> Purged:
        """Return the answer that a Purge would give."""
        named = self._named(command)
        file = self._ledger.file
        return Purged(
            tuple(named.memories),
            named.missing_ids,
            sum(file.purge.version_count(memory.row) for memory in named.memories.values()),
            self._rewrite_replies(named, write=False) if named.memories else 0,
            len(file.purge.episodes_with(named.memories)),
        )

    def _named(self, command: Purge) -> _PurgeTargets:
        memories: dict[str, Memory] = {}
        missing = []
        for memory_id in command.ids:
            if command.by_retention:
                memory = self._forgotten(memory_id)
            else:
                memory = self._bad(memory_id, command.agent_id)
                memory = memory or self._ledger.find(memory_id, command.agent_id)
            if memory is None:
                missing.append(memory_id)
            else:
                memories[memory.id] = memory
        if missing and len(command.ids) == 1:
            raise NotFound("MEMORY_NOT_FOUND", kind="memory", name=missing[0])
        return _PurgeTargets(memories, tuple(missing))

    def _forgotten(self, memory_id: str) -> Memory | None:
        """Return a forgotten memory, private or not."""
        slot = self._ledger.index.slot_by_id.get(memory_id)
        if slot is None:
            return None
        memory = self._ledger.by_slot(slot)
        return memory if memory.status is Status.FORGOTTEN else None

    def _bad(self, memory_id: str, agent_id: str) -> Memory | None:
        """Return the rest of a memory whose row is set aside: enough to empty it."""
        bad = self._ledger.state.bad_row(self._ledger.rows, memory_id, agent_id)
        if bad is None:
            return None
        return Memory(
            row=bad.row,
            # The requested id is in SQLite's index, so that the row had it.
            id=bad.id if memory_id.startswith("ext:") else memory_id,
            content="",
            content_hash=b"",
            vector=b"",
            agent_id=bad.agent_id,
            fields=Fields(private=bad.private),
            created_us=0,
            updated_us=0,
            status=Status.ACTIVE,
            superseded_by="",
            revision=0,
        )

    def _pass_on(self, operation: Operation, named: _PurgeTargets) -> None:
        """Point chains of superseded memories past the purged ones.

        If the purged one ends a chain, or more than MERGE_CHAIN_MAX come before it, its id stays in
        the chain, and following the chain ends there.
        """
        for memory in named.memories.values():
            onward = memory.superseded_by
            for _ in range(len(named.memories)):
                if onward not in named.memories:
                    break
                onward = named.memories[onward].superseded_by
            if not onward:
                continue
            for before in self._ledger.rows.superseded_by(memory.id, limits.MERGE_CHAIN_MAX):
                # A forgotten memory keeps the revision that records who forgot it.
                if before.status is Status.SUPERSEDED and before.id not in named.memories:
                    after = replace(before, superseded_by=onward)
                    self._ledger.replace(operation, before, after)

    def _rewrite_replies(self, named: _PurgeTargets, *, write: bool) -> int:
        gone = {memory.row for memory in named.memories.values()}

        def unlinked(revision: int) -> bool:
            row = self._ledger.rows.history.operation(revision)
            if row is None:
                return False
            links = Touched.loads(row.touched).links
            return any(source in gone or target in gone for source, target, _ in links)

        redaction = Redaction(named.memories, unlinked)
        return self._ledger.file.purge.rewrite_replies(
            redaction.concerns, redaction.rewritten, write=write
        )
