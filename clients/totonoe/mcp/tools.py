"""The nine tools of the set `core`."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated, Any, Literal, Protocol

from mcp.server.mcpserver import Context
from mcp_types import CallToolResult
from pydantic import Field

from totonoe import fence
from totonoe.consolidate.models import Consolidated
from totonoe.enums import Answer as Verdict
from totonoe.errors import TotonoeError
from totonoe.graph.models import Merged
from totonoe.history.models import HistoryPage
from totonoe.mcp import answers, notes, withholding, words
from totonoe.mcp.access import CALLER, Access, Refused
from totonoe.mcp.schemas import failure, reply
from totonoe.memories.models import Found, Remembered, Similar, TimeRange
from totonoe.words.plain import plain
from totonoe.words.text import similarity_of

if TYPE_CHECKING:
    from totonoe.aio import AsyncClient

VERSIONS_SHOWN = 20
"""Versions of each memory that `get_memory` shows, the newest."""
RECALLED_MAX = 50
RELEVANCE_MIN = 0.1
"""Notes of lower relevance hardly ever have to do with what was asked."""
TURN_S = 2.0
"""Seconds to wait until a turn is counted; one that is not is left out."""
GOT_MAX = 20
PAIRS_MAX = 50
QUESTIONS_MAX = 20

Id = Annotated[str, Field(description="mem_...")]
Ids = Annotated[list[str], Field(min_length=1, max_length=GOT_MAX)]
Labels = Annotated[tuple[str, ...], Field(max_length=64)]
SomeIds = Annotated[tuple[str, ...], Field(max_length=16)]
OperationId = Annotated[str, Field(description="op_...")]
Revision = Annotated[int, Field(ge=0, description="in place of operation_id")]


class Advised(Protocol):
    """An answer with advice."""

    @property
    def advice(self) -> str:
        """Next step of an agent."""
        ...

    @property
    def scaffold(self) -> str:
        """Advice with questions, for hosts that ask for them."""
        ...


def _nearest(shown: Similar | None) -> answers.Nearest | None:
    """Return the memory that may say the same, where nothing is asked."""
    if shown is None or shown.judgement is None:
        return None
    return answers.Nearest(
        memory_id=shown.memory_id,
        snippet=shown.snippet,
        age=shown.age,
        same_probability=round(shown.judgement.same_probability, 4),
    )


def moment(text: str, name: str) -> datetime | None:
    """Return a time of ISO 8601, in UTC if it names no zone. Raises `Refused`."""
    if not text:
        return None
    try:
        found = datetime.fromisoformat(text.strip())
    except ValueError:
        allowed = "a date or time like 2026-11-23 or 2026-11-23T09:30:00Z"
        raise Refused(f"{name}: got {text[:40]!r}, allowed: {allowed}") from None
    return found if found.tzinfo else found.replace(tzinfo=UTC)


class CoreTools:
    """The tools of `core`, as methods. Their parameters are the arguments that a model sees.

    No tool takes an agent, a session or a collection: a model cannot borrow one.

    Parameters
    ----------
    access : Access
        The daemon.
    """

    def __init__(self, access: Access) -> None:
        self._access = access

    async def remember(
        self,
        content: str,
        category: Annotated[str, Field(description="e.g. decision, gotcha")] = "",
        tags: Labels = (),
        importance: Annotated[int | None, Field(ge=1, le=5)] = None,
        subject: Annotated[str, Field(description="with attribute: replaces the old value")] = "",
        attribute: str = "",
        supersede_ids: Annotated[SomeIds, Field(description="no longer true")] = (),
        distinct_from: Annotated[SomeIds, Field(description="checked: these differ")] = (),
        emotion: str = "",
        force: Annotated[bool, Field(description="save although it repeats")] = False,
        private: Annotated[bool, Field(description="only you read it")] = False,
        source: Literal["user", "agent", "tool", "external"] = "agent",
    ) -> Annotated[CallToolResult, answers.Remembered]:
        """Save a text, or name the memory that says the same."""
        if bool(subject) != bool(attribute):
            raise Refused("subject, attribute: got one of them, allowed: both or none")
        fields: dict[str, Any] = {
            "category": category or None,
            "tags": tags or None,
            "importance": importance,
            "key": (subject, attribute) if subject else None,
            "supersede_ids": supersede_ids or None,
            "distinct_from": distinct_from or None,
            "emotion": emotion or None,
            "private": private or None,
            "source": source,
            "session_id": CALLER.get().session or None,
        }
        given = {name: value for name, value in fields.items() if value is not None}

        async def save(client: AsyncClient) -> Remembered:
            done = await client.remember(content, force=force, **given)
            # A host shows no turns of its conversation; one that brings something to keep is one.
            with suppress(TotonoeError):
                await client.record_turn(timeout_s=TURN_S)
            return await withholding.remembered(client, done)

        done = await self._access.run(save)
        structure = answers.Remembered(
            advice=self._advice(done),
            operation_id=done.operation_id,
            saved=done.saved,
            memory_id=done.memory_id,
            duplicate_of=done.duplicate_of,
            similarity=round(done.similarity, 4),
            verdict=str(done.verdict) if done.verdict else None,
            link_count=len(done.links),
            related=[
                answers.Near(
                    memory_id=near.memory_id,
                    snippet=near.snippet,
                    similarity=round(similarity_of(near), 4),
                    verdict=str(near.judgement.verdict) if near.judgement else "",
                    differs=words.differences(near.judgement),
                )
                for near in done.similar
            ],
            superseded_ids=list(done.superseded_ids),
            method=str(done.method),
            evidence=[] if done.duplicate is None else words.reasons(done.duplicate),
            maybe_replaced_ids=list(done.maybe_replaced_ids),
            question_about=done.question.memory_id if done.question else None,
            pending=done.pending,
            nearest=_nearest(done.nearest),
        )
        return reply(words.remembered(done), structure)

    async def recall(
        self,
        query: str,
        limit: Annotated[int, Field(ge=1, le=RECALLED_MAX)] = 8,
        category: str = "",
        tags: Annotated[Labels, Field(description="all of them")] = (),
        since: Annotated[str, Field(description="ISO 8601, from then on")] = "",
        until: Annotated[str, Field(description="ISO 8601, before")] = "",
        this_session: bool = False,
        min_relevance: Annotated[float, Field(ge=0, le=1)] = RELEVANCE_MIN,
        min_source: str = "",
    ) -> Annotated[CallToolResult, answers.Recalled]:
        """Find memories by meaning and by words."""
        conditions: dict[str, Any] = {}
        if category:
            conditions["categories"] = [category]
        if tags:
            conditions["tags"] = tags
        if min_source:
            conditions["min_source"] = min_source
        begin, end = moment(since, "since"), moment(until, "until")
        if begin or end:
            conditions["created"] = TimeRange(begin, end)
        if this_session:
            conditions["session_ids"] = [self._session("this_session: got true")]
        recalled = await self._access.run(
            lambda client: client.recall(query, k=limit, min_relevance=min_relevance, **conditions)
        )
        kept = [(hit.memory, notes.found(hit)) for hit in recalled.hits]
        structure = answers.Recalled(advice="", notes=[note for _, note in kept])
        if not kept:
            return reply(words.nothing(recalled, min_relevance, bool(conditions)), structure)
        blocks = [notes.block_of(memory, note) for memory, note in kept]
        degraded = f"Note: {recalled.degraded_because}\n" if recalled.degraded_because else ""
        return reply(degraded + fence.between_markers(blocks), structure)

    async def get_memory(
        self,
        memory_ids: Ids,
        history: Annotated[bool, Field(description="earlier versions too")] = False,
    ) -> Annotated[CallToolResult, answers.Got]:
        """Read whole memories by id."""
        wanted = list(dict.fromkeys(memory_ids))

        async def read(client: AsyncClient) -> tuple[Found, list[tuple[str, HistoryPage]]]:
            found = await client.get_many(wanted)
            if not history:
                return found, []
            return found, [
                (memory.id, await client.history(memory.id, page_size=VERSIONS_SHOWN))
                for memory in found.memories
            ]

        found, pages = await self._access.run(read)
        missing = [f"Memory not found: {memory_id}" for memory_id in found.missing_ids]
        if not found.memories:
            return failure(words.joined(missing), found.advice)
        chars = notes.share_of(len(found.memories))
        kept = [(memory, notes.noted(memory, chars)) for memory in found.memories]
        blocks = [notes.block_of(memory, note) for memory, note in kept]
        blocks += [
            words.version(name, version) for name, page in pages for version in page.versions
        ]
        structure = answers.Got(
            advice=found.advice,
            notes=[note for _, note in kept],
            missing_ids=list(found.missing_ids),
            versions=[
                answers.Version(
                    memory_id=name,
                    revision=version.operation.revision,
                    operation_id=version.operation.operation_id,
                    operation=version.operation.kind,
                    agent_id=version.operation.agent_id,
                    time=plain(version.operation.time) or "",
                    reason=version.operation.reason,
                    changed=list(version.changed),
                    content=version.memory.content[: notes.RECALLED_CHARS_MAX]
                    if version.memory
                    else None,
                )
                for name, page in pages
                for version in page.versions
            ],
        )
        return reply("\n".join([fence.between_markers(blocks), *missing]), structure)

    async def forget(
        self, memory_id: Id, reason: str = ""
    ) -> Annotated[CallToolResult, answers.Forgot]:
        """Hide a memory."""
        done = await self._access.run(lambda client: client.forget(memory_id, reason=reason))
        structure = answers.Forgot(
            advice=self._advice(done),
            operation_id=done.operation_id,
            memory_id=done.forgotten[0].id,
        )
        return reply(words.forgotten(done), structure)

    async def merge_memories(
        self,
        keep_id: Id,
        remove_ids: Ids,
        content: Annotated[str, Field(description="new text of keep_id")] = "",
    ) -> Annotated[CallToolResult, answers.Merged]:
        """Make one memory of several."""

        async def merge(client: AsyncClient) -> Merged:
            done = await client.merge(keep_id, remove_ids, content=content)
            return replace(done, duplicate=withholding.duplicate(done.duplicate))

        done = await self._access.run(merge)
        structure = answers.Merged(
            advice="",
            operation_id=done.operation_id,
            merged=done.merged,
            memory_id=done.memory.id if done.merged else keep_id,
            removed_ids=[memory.id for memory in done.sources],
            duplicate_of=done.duplicate_of,
            lost=[f"{detail.finding}: {detail.text}" for detail in words.lost(done)],
        )
        return reply(words.merged(done), structure)

    async def consolidate(
        self, ctx: Context[Any, Any], limit: Annotated[int, Field(ge=1, le=PAIRS_MAX)] = 5
    ) -> Annotated[CallToolResult, answers.Consolidated]:
        """Find pairs that may say the same; report progress."""

        async def read(client: AsyncClient) -> Consolidated:
            async for event in client.consolidate(max_merge_candidates=limit):
                if event.progress is not None:
                    seen, total = event.progress.scanned_count, event.progress.total_count
                    await ctx.report_progress(seen, max(1, total), "comparing")
                if event.done is not None:
                    pairs = event.done.merge_candidates
                    ids = (
                        name
                        for candidate in pairs
                        for name in (candidate.memory_a_id, candidate.memory_b_id)
                    )
                    known = await withholding.quotable(client, ids)
                    return withholding.consolidated(event.done, known)
            raise Refused("The run ended early; call consolidate again.")

        done = await self._access.run(read)
        structure = answers.Consolidated(
            advice=self._advice(done),
            operation_id=done.operation_id if done.operation_revision else "",
            pairs=[
                answers.Pair(
                    memory_id_a=candidate.memory_a_id,
                    memory_id_b=candidate.memory_b_id,
                    snippet_a=candidate.snippet_a,
                    snippet_b=candidate.snippet_b,
                    similarity=round(candidate.similarity, 4),
                    verdict=str(candidate.judgement.verdict) if candidate.judgement else "",
                    keep_id=candidate.keep_id,
                )
                for candidate in done.merge_candidates
            ],
            pair_count=done.pair_count,
        )
        return reply(words.consolidated(done), structure)

    async def undo(
        self, operation_id: OperationId = "", revision: Revision = 0
    ) -> Annotated[CallToolResult, answers.Undone]:
        """Take back one operation of the caller."""
        return await self._undo(operation_id, revision, own_only=True)

    async def _undo(self, operation_id: str, revision: int, own_only: bool) -> CallToolResult:
        if bool(operation_id) == bool(revision):
            got = "both" if revision else "none"
            raise Refused(f"operation_id, revision: got {got}, allowed: one of them")
        target = operation_id or revision
        done = await self._access.run(lambda client: client.undo(target, own_only=own_only))
        structure = answers.Undone(
            advice="",
            operation_id=done.operation_id,
            undone=done.undone,
            memory_ids=[memory.id for memory in done.memories],
            conflicts=words.conflicts(done),
        )
        return reply(words.undone(done), structure)

    async def list_questions(
        self,
        memory_id: Annotated[str, Field(description="only about this one")] = "",
        limit: Annotated[int, Field(ge=1, le=QUESTIONS_MAX)] = 5,
    ) -> Annotated[CallToolResult, answers.Questions]:
        """List questions that nobody answered yet, and what waits for a review."""
        page = await self._access.run(
            lambda client: client.list_questions(memory_id=memory_id, page_size=limit)
        )
        chars = notes.share_of(2 * len(page.questions) + len(page.pending))
        waiting = [(memory, notes.noted(memory, chars)) for memory in page.pending]
        pairs = [
            (question, notes.noted(question.b, chars), notes.noted(question.a, chars))
            for question in page.questions
        ]
        structure = answers.Questions(
            advice="",
            questions=[
                answers.Question(
                    kind=str(question.kind),
                    memory_id=newer.memory_id,
                    other_id=older.memory_id,
                    content=newer.content,
                    other_content=older.content,
                    same_probability=round(question.same_probability, 4),
                    differs=words.differences(question.judgement),
                )
                for question, newer, older in pairs
            ],
            more=bool(page.next_page_token),
            pending=[note for _, note in waiting],
        )
        if not pairs and not waiting:
            return reply("No open questions.", structure)
        blocks = [
            block
            for question, newer, older in pairs
            for block in (notes.block_of(question.b, newer), notes.block_of(question.a, older))
        ]
        blocks += [notes.block_of(memory, note) for memory, note in waiting]
        return reply(f"{fence.between_markers(blocks)}\n{words.asked(page)}", structure)

    async def resolve(
        self,
        memory_id: Id,
        other_id: Id,
        answer: Literal["same", "different", "replaces", "replaced_by"],
        reason: str = "",
    ) -> Annotated[CallToolResult, answers.Resolved]:
        """Answer whether two memories say the same."""
        done = await self._access.run(
            lambda client: client.resolve(memory_id, other_id, answer, reason=reason)
        )
        structure = answers.Resolved(
            advice="",
            operation_id=done.operation_id,
            resolved=done.resolved,
            memory_id=done.memory.id,
            closed_id=done.closed_id,
            duplicate_of=done.duplicate.memory_id if done.duplicate else None,
            lost=[f"{detail.finding}: {detail.text}" for detail in words.lost(done)],
        )
        return reply(words.resolved(done, Verdict(answer)), structure)

    def _advice(self, done: Advised) -> str:
        """Return the daemon's advice, or its questions where the host asks for them."""
        return (self._access.settings.scaffolds and done.scaffold) or done.advice

    def _session(self, wanted: str) -> str:
        """Return the caller's session. Raises `Refused` if it has none."""
        session = CALLER.get().session
        if not session:
            raise Refused(f"{wanted}, allowed: with a session, by the header X-Totonoe-Session")
        return session
