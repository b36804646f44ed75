"""The five tools that the set `full` has besides those of `core`, and its wider `undo`."""

from __future__ import annotations

from typing import Annotated, Literal

from mcp_types import CallToolResult
from pydantic import Field

from totonoe import fence
from totonoe.mcp import answers, notes, words
from totonoe.mcp.schemas import reply
from totonoe.mcp.tools import CoreTools, Id, OperationId, Revision

EPISODE_MEMORIES_MAX = 100

Type = Literal["related", "updates", "contradicts", "refines", "causes"]


class FullTools(CoreTools):
    """The tools of `full`, as methods; `undo` takes back operations of every agent."""

    async def undo(
        self, operation_id: OperationId = "", revision: Revision = 0
    ) -> Annotated[CallToolResult, answers.Undone]:
        """Take back one operation."""
        return await self._undo(operation_id, revision, own_only=False)

    async def review_memory(
        self, memory_id: Id, answer: Literal["confirm", "reject"], reason: str = ""
    ) -> Annotated[CallToolResult, answers.Reviewed]:
        """Confirm or reject what waits for a review."""
        done = await self._access.run(
            lambda client: client.review(memory_id, answer, reason=reason)
        )
        structure = answers.Reviewed(
            advice="",
            operation_id=done.operation_id,
            reviewed=done.reviewed,
            memory_id=done.memory.id,
            duplicate_of=done.duplicate_of,
            superseded_ids=list(done.superseded_ids),
            maybe_replaced_ids=list(done.maybe_replaced_ids),
        )
        return reply(words.reviewed(done), structure)

    async def link_memories(
        self, source_id: Id, target_id: Id, link_type: Type = "related", note: str = ""
    ) -> Annotated[CallToolResult, answers.Linked]:
        """Link two memories."""
        done = await self._access.run(
            lambda client: client.link(source_id, target_id, link_type, note=note)
        )
        structure = answers.Linked(advice="", operation_id=done.operation_id, created=done.created)
        line = "Linked." if done.created else "Link changed."
        return reply(f"{line}\n{words.undo_line(done.operation_id)}", structure)

    async def create_episode(
        self,
        summary: str,
        memory_ids: Annotated[list[str], Field(min_length=1, max_length=EPISODE_MEMORIES_MAX)],
        importance: Annotated[int | None, Field(ge=1, le=5)] = None,
        private: Annotated[bool, Field(description="only you read it")] = False,
    ) -> Annotated[CallToolResult, answers.EpisodeMade]:
        """Put memories together as something that happened."""
        done = await self._access.run(
            lambda client: client.create_episode(
                summary, memory_ids, importance=importance, private=private
            )
        )
        episode = done.episode
        structure = answers.EpisodeMade(
            advice="", operation_id=done.operation_id, episode_id=episode.id
        )
        line = f"Saved (id: {episode.id}) with {len(episode.memory_ids)} memories."
        return reply(f"{line}\n{words.undo_line(done.operation_id)}", structure)

    async def get_episode(
        self, episode_id: Annotated[str, Field(description="ep_...")]
    ) -> Annotated[CallToolResult, answers.EpisodeGot]:
        """Read an episode with its memories."""
        read = await self._access.run(
            lambda client: client.get_episode(episode_id, include_memories=True)
        )
        episode = read.episode
        chars = notes.share_of(len(read.memories))
        kept = [(memory, notes.noted(memory, chars)) for memory in read.memories]
        structure = answers.EpisodeGot(
            advice="",
            episode_id=episode.id,
            summary=episode.summary,
            notes=[note for _, note in kept],
            gone_count=episode.gone_count,
        )
        blocks = [
            f"[{episode.id}] {fence.indented(episode.summary)}",
            *(notes.block_of(memory, note) for memory, note in kept),
        ]
        data = fence.between_markers(blocks)
        if episode.gone_count:
            data += f"\nNote: {episode.gone_count} memory(ies) no longer exist."
        return reply(data, structure)

    async def end_session(
        self, dry_run: Annotated[bool, Field(description="only report")] = False
    ) -> Annotated[CallToolResult, answers.SessionEnded]:
        """Merge what this session said several times over."""
        session = self._session("end_session: got no session")
        done = await self._access.run(lambda client: client.end_session(session, dry_run=dry_run))
        gone = [memory.memory_id for group in done.groups for memory in group.superseded]
        structure = answers.SessionEnded(
            advice="",
            operation_id="" if dry_run else done.operation_id,
            merged_groups=done.merged_groups,
            superseded_ids=gone,
        )
        verb = "Would merge" if dry_run else "Merged"
        line = f"{verb} {done.merged_groups} groups; superseded {done.superseded_count} memories."
        if done.superseded_count and not dry_run:
            line += f"\n{words.undo_line(done.operation_id)}"
        return reply(line, structure)
