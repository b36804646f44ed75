"""Pairs that may say the same: open questions, and what a search for more pairs found."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from totonoe.console import limits
from totonoe.console.view import Form
from totonoe.consolidate.models import MergeCandidate
from totonoe.enums import QuestionKind, Status
from totonoe.memories.models import Judgement, Memory

if TYPE_CHECKING:
    from totonoe.aio import AsyncClient
    from totonoe.console.sessions import Desk

AGES = {"1": "since yesterday", "7": "in 7 days", "30": "in 30 days", "365": "in a year"}
"""Days in which one of two memories was made, in words."""


@dataclass(frozen=True, slots=True)
class PairView:
    """Two memories of which somebody can tell whether they say the same; `a` is the older one.

    `asked`: it is an open question; else a search found it. `replaces`: it asks whether `b` takes
    the place of `a`.
    """

    a: Memory
    b: Memory
    probability: float
    asked: bool
    replaces: bool = False

    @property
    def ids(self) -> frozenset[str]:
        """Both ids."""
        return frozenset((self.a.id, self.b.id))


@dataclass(frozen=True, slots=True)
class Filters:
    """Conditions of the pairs that are shown: one of the two memories meets each of them."""

    agent: str = ""
    category: str = ""
    age: str = ""

    @classmethod
    def of(cls, form: Form) -> Filters:
        """Read them. Raises `ValueError`."""
        age = form.text("age")
        if age and age not in AGES:
            raise ValueError(f"age: got {age[:40]!r}, allowed: {', '.join(AGES)} or nothing")
        return cls(form.text("agent"), form.text("category"), age)

    @property
    def query(self) -> dict[str, str]:
        """The same for an address."""
        return {"agent": self.agent, "category": self.category, "age": self.age}

    @property
    def any(self) -> bool:
        """True if there is a condition."""
        return any(self.query.values())

    def meets(self, pair: PairView) -> bool:
        """Return whether a pair is shown."""
        both = (pair.a, pair.b)
        since = datetime.now(UTC) - timedelta(days=int(self.age or 0))
        return (
            (not self.agent or any(memory.agent_id == self.agent for memory in both))
            and (not self.category or any(memory.category == self.category for memory in both))
            and (not self.age or any(memory.created_time >= since for memory in both))
        )


@dataclass(frozen=True, slots=True)
class Gathered:
    """The first pairs: those that may replace each other, the most probable, then put-off ones.

    `complete`: these are all. `revision` of the collection when they were read.
    """

    pairs: tuple[PairView, ...]
    complete: bool
    revision: int


async def gather(client: AsyncClient, desk: Desk, filters: Filters, wanted: int) -> Gathered:
    """Read pairs until so many are there, or no more are.

    It makes QUESTION_PAGES_MAX calls at most; with narrow filters it may stop before `wanted`.
    """
    # The daemon compares each anew: no more of them than are needed.
    needed = min(limits.PAGE_ROWS, wanted + len(desk.later))
    size = limits.PAGE_ROWS if filters.any else needed
    extra = [pair for pair in await _found(client, desk) if filters.meets(pair)]
    kept: dict[frozenset[str], PairView] = {}
    token, revision, complete = "", 0, False
    for _ in range(limits.QUESTION_PAGES_MAX):
        page = await client.list_questions(page_size=size, page_token=token)
        revision, token = page.revision, page.next_page_token
        for question in page.questions:
            replaces = question.kind is QuestionKind.REPLACES
            pair = PairView(question.a, question.b, question.same_probability, True, replaces)
            if filters.meets(pair):
                kept.setdefault(pair.ids, pair)
        complete = not token
        if complete or sum(ids not in desk.later for ids in kept) >= wanted:
            break
    alike = (pair.probability for pair in kept.values() if not pair.replaces)
    least = min(alike, default=1.0 if kept else 0.0)
    for pair in extra:
        if complete or pair.probability >= least:
            kept.setdefault(pair.ids, pair)
    now = [pair for ids, pair in kept.items() if ids not in desk.later]
    now.sort(key=lambda pair: (not pair.replaces, -pair.probability))
    if complete:
        now += [kept[ids] for ids in desk.later if ids in kept]
    return Gathered(tuple(now), complete, revision)


async def _found(client: AsyncClient, desk: Desk) -> list[PairView]:
    """Return the pairs of the last search that are live still, as they are now."""
    if not desk.found:
        return []
    ids = {memory_id for pair in desk.found for memory_id in pair.ids}
    read = await client.get_many(sorted(ids))
    now = {memory.id: memory for memory in read.memories if memory.status is Status.ACTIVE}
    desk.found = [pair for pair in desk.found if pair.ids <= now.keys()]
    return [replace(pair, a=now[pair.a.id], b=now[pair.b.id]) for pair in desk.found]


async def weighed(client: AsyncClient, pair: PairView) -> Judgement | None:
    """Return the judgement of a pair, which relates `b` to `a`, as it is now and with weights."""
    if pair.asked:
        page = await client.list_questions(
            memory_id=pair.a.id, other_id=pair.b.id, weights=True, page_size=1
        )
        for question in page.questions:
            return question.judgement
    return (await client.compare(pair.a.content, pair.b.content)).judgement


async def look_for_more(client: AsyncClient) -> list[PairView]:
    """Compare all memories with each other, and return the pairs that may say the same.

    It replays no recall; memories that no save had compared get their questions.
    """
    stream = client.consolidate(
        window_hours=0.0,
        max_merge_candidates=limits.PAIRS_FOUND_MAX,
        max_replay_events=0,
    )
    candidates: tuple[MergeCandidate, ...] = ()
    read = 0
    try:
        async for event in stream:
            read += 1
            if event.done is not None:
                candidates = event.done.merge_candidates
                break
            if read >= limits.RUN_EVENTS_MAX:
                break
    finally:
        await stream.aclose()
    kept = candidates[: limits.PAIRS_FOUND_MAX]
    ids = {memory_id for pair in kept for memory_id in (pair.memory_a_id, pair.memory_b_id)}
    if not ids:
        return []
    read_now = await client.get_many(sorted(ids))
    now = {memory.id: memory for memory in read_now.memories if memory.status is Status.ACTIVE}
    return [
        PairView(
            now[candidate.memory_a_id],
            now[candidate.memory_b_id],
            candidate.judgement.same_probability if candidate.judgement else 0.0,
            False,
        )
        for candidate in kept
        if candidate.memory_a_id in now and candidate.memory_b_id in now
    ]
