"""Merge: joins several memories into one, in one operation.

The one that stays gets its new version first, then the others are superseded: readers see it before
the others disappear.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from totonoe_core.base import limits
from totonoe_core.base.errors import InvalidArgument
from totonoe_core.domain.memories import Merge, Merged
from totonoe_core.domain.records import GuardReport, Link, LinkType, Memory, Status
from totonoe_core.engine.guarding import likely
from totonoe_core.engine.guarding.guarding import Guarding
from totonoe_core.engine.guarding.texts import GuardedText
from totonoe_core.engine.state.ledger import Ledger, Operation, check_state
from totonoe_core.engine.state.sight import may_see
from totonoe_core.index.collection_index import Features, same_key
from totonoe_core.rules import merge
from totonoe_core.rules.lost import lost_details
from totonoe_core.text.normalize import refusing_hash

_PairKey = tuple[int, int, LinkType]


class _Moving(NamedTuple):
    """Links that go (holder, row of the target, link), those that the one that stays gets (target,
    link), and how many of both the caller may know of."""

    gone: list[tuple[Memory, int, Link]]
    moved: list[tuple[Memory, Link]]
    moved_count: int
    dropped_count: int


class Merging:
    """Carries out Merge on one collection."""

    def __init__(self, ledger: Ledger, guarding: Guarding) -> None:
        self._ledger = ledger
        self._guarding = guarding

    def merge(
        self, operation: Operation, command: Merge, vector: NDArray[np.float32] | None
    ) -> Merged:
        """Merge several memories into one.

        Raises
        ------
        NotFound
            A memory does not exist, or is private to another agent.
        StaleRevision
            A memory is not at the revision that the caller expects.
        Precondition
            NOT_ACTIVE, or APPEND_ONLY for a log.
        InvalidArgument
            BAD_MERGE: one is named twice, or they are of different state kinds, or private
            and not.
        NeedsVector
            The text is new and has no vector yet.
        """
        agent_id = command.agent_id
        keep, *removed = self._named(command)
        after, planned = self._planned(operation, command, vector, keep, removed)
        if not planned.merged:
            return planned
        after = self._ledger.replace(operation, keep, after, self._ledger.features_of(after))
        self._ledger.join_access(after, removed)
        for memory in removed:
            self._ledger.supersede(operation, memory, after.id)
        rows = [memory.row for memory in (keep, *removed)]
        asked = {row for held in likely.partners(self._ledger, rows).values() for row, _ in held}
        self._shorten_chains(operation, after, removed, agent_id)
        self._move_links(operation, after, self._moving(after, removed, agent_id))
        self._score_again(operation, after, agent_id, asked.difference(rows))
        return replace(planned, memory=self._ledger.shown(after, agent_id))

    def preview(
        self, operation: Operation, command: Merge, vector: NDArray[np.float32] | None
    ) -> Merged:
        """Return what a Merge would be answered now. Raises as `merge`."""
        keep, *removed = self._named(command)
        return self._planned(operation, command, vector, keep, removed)[1]

    def _planned(
        self,
        operation: Operation,
        command: Merge,
        vector: NDArray[np.float32] | None,
        keep: Memory,
        removed: Sequence[Memory],
    ) -> tuple[Memory, Merged]:
        """Return the merged memory, not stamped yet, and the answer with it. Changes nothing."""
        agent_id = command.agent_id
        sources = tuple(self._ledger.shown(memory, agent_id) for memory in removed)
        after = merge.joined(keep, removed, same_key)
        report = None
        if command.content and (command.content != keep.content or command.vector):
            after, report = self._with_text(operation, command, vector, after, removed)
            if report.duplicate is not None:
                kept = self._ledger.shown(keep, agent_id)
                return keep, Merged(merged=False, memory=kept, sources=sources, guard=report)
        moving = self._moving(keep, removed, agent_id)
        return after, Merged(
            merged=True,
            memory=self._ledger.shown(after, agent_id),
            sources=sources,
            guard=report,
            lost=lost_details(
                [(memory.id, memory.content) for memory in (keep, *removed)], after.content
            ),
            moved_link_count=moving.moved_count,
            dropped_link_count=moving.dropped_count,
        )

    def _score_again(
        self, operation: Operation, after: Memory, agent_id: str, others: set[int]
    ) -> None:
        """Score the merged text beside the memories that any of the merged was linked to."""
        text = GuardedText(
            policy=self._ledger.state.info.guard,
            agent_id=agent_id,
            content=after.content,
            content_hash=after.content_hash,
            fields=after.fields,
            force=False,
            replaced=(self._ledger.slot_of(after),),
        )
        features = self._ledger.features_of(after)
        likely.score_again(
            self._ledger, self._guarding, operation, after, text, features, others=others
        )

    def _named(self, command: Merge) -> tuple[Memory, ...]:
        """Return the memories of a merge, the one that stays first, if they may be merged."""
        named = (command.keep_id, *command.remove_ids)
        memories = tuple(self._ledger.visible(memory_id, command.agent_id) for memory_id in named)
        # Before their status: a caller that read them before another merge must read again.
        for memory_id, revision in command.expected_revisions:
            memory = self._ledger.visible(memory_id, command.agent_id)
            self._ledger.check_expected(memory, revision)
        for source in memories:
            self._ledger.check_live(source, command.agent_id)
            check_state(source)
        rows: set[int] = set()
        for source in memories:
            if source.row in rows:
                raise _bad_merge(f"{source.id} twice", "each memory once")
            rows.add(source.row)
        keep = memories[0].fields
        for source in memories[1:]:
            if source.fields.private is not keep.private:
                raise _bad_merge("private memories beside others", "all private, or none")
            if source.fields.state_kind is not keep.state_kind:
                got = f"{source.fields.state_kind.value} beside {keep.state_kind.value}"
                raise _bad_merge(got, "one state kind")
        return memories

    def _with_text(
        self,
        operation: Operation,
        command: Merge,
        vector: NDArray[np.float32] | None,
        after: Memory,
        removed: Sequence[Memory],
    ) -> tuple[Memory, GuardReport]:
        """Return the merged memory with its new text, and the guard's report on it."""
        if vector is None:
            # The text of one of them has its vector already.
            same = (memory.vector for memory in removed if memory.content == command.content)
            vector = next((np.frombuffer(data, np.float32) for data in same if data), None)
        text = GuardedText(
            policy=self._ledger.state.info.guard,
            agent_id=command.agent_id,
            content=command.content,
            content_hash=refusing_hash(command.content),
            fields=after.fields,
            force=command.force,
            replaced=tuple(self._ledger.slot_of(memory) for memory in (after, *removed)),
            next_vector=operation.next_vectors.get(command.content),
        )
        report = self._guarding.by_text(text, operation.now_us)
        if report is None:
            vector = operation.vector_for(
                command.content, vector, self._ledger.state.info.model.dimension
            )
            self._ledger.state.check_dimension(len(vector))
            features = Features.of(command.content, vector, self._ledger.index.tokenizer)
            report, _ = self._guarding.by_all(
                text, features, operation.now_us, operation.may_ask, reading=operation.reading
            )
            after = replace(
                after,
                content=command.content,
                content_hash=text.content_hash,
                vector=features.stored,
            )
        return after, report

    def _shorten_chains(
        self, operation: Operation, keep: Memory, removed: Sequence[Memory], agent_id: str
    ) -> None:
        """Point memories that a removed one had superseded to the one that stays.

        At most MERGE_CHAIN_MAX; for others, and for those that the agent may not see, reading
        follows the chain.
        """
        left = limits.MERGE_CHAIN_MAX
        for source in removed:
            if not left:
                return
            earlier = self._ledger.rows.superseded_by(source.id, left)
            left -= len(earlier)
            for memory in earlier:
                if memory.status is Status.SUPERSEDED and may_see(memory, agent_id):
                    self._ledger.supersede(operation, memory, keep.id)

    def _moving(self, keep: Memory, removed: Sequence[Memory], agent_id: str) -> _Moving:
        """Return the links of the removed that move, and those that are dropped.

        Links to memories that the agent may not see move as well, uncounted.
        """
        ledger = self._ledger
        links = ledger.rows.links([memory.row for memory in (keep, *removed)])
        own = {(target, link.type): link for target, link in links[keep.row]}
        # A question is about one text: it does not move to another.
        brought = [
            (target, link)
            for memory in removed
            for target, link in links[memory.row]
            if link.type is not LinkType.LIKELY_SAME
        ]
        after = merge.links_after(links[keep.row], brought, set(links))
        others = ledger.rows.memories([target for row in links for target, _ in links[row]])

        def counted(row: int) -> bool:
            return may_see(others[row], agent_id)

        gone: dict[_PairKey, tuple[Memory, int, Link]] = {}
        for memory in (keep, *removed):
            for target, link in links[memory.row]:
                stays = memory is keep and (target, link.type) in after
                # Both ends of a pair among the merged hold its link.
                if not stays and (target, memory.row, link.type.inverse) not in gone:
                    gone[memory.row, target, link.type] = memory, target, link
        moved = [
            (target, link)
            for (target, type_), link in after.items()
            if own.get((target, type_)) != link
        ]
        moved_count = sum(counted(target) for target, _ in moved)
        # A stronger double replaced the own link.
        doubled_count = sum(counted(target) for target, link in moved if (target, link.type) in own)
        gone_count = sum(counted(target) for _, target, _ in gone.values())
        return _Moving(
            list(gone.values()),
            [(others[target], link) for target, link in moved],
            moved_count,
            gone_count - moved_count + doubled_count,
        )

    def _move_links(self, operation: Operation, keep: Memory, moving: _Moving) -> None:
        for memory, target, link in moving.gone:
            self._ledger.delete_link_pair(operation, memory, target, link)
        for other, link in moving.moved:
            self._ledger.put_link_pair(operation, keep, other, link)


def _bad_merge(got: str, allowed: str) -> InvalidArgument:
    return InvalidArgument("BAD_MERGE", field="remove_ids", got=got, allowed=allowed)
