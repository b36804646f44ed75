"""The page Review: one pair a screen, its answers, and what was answered."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from starlette.requests import Request
from starlette.responses import Response

from totonoe.console import limits, texts
from totonoe.console.pages import pairs
from totonoe.console.pages.pairs import Filters, PairView
from totonoe.console.sessions import Done, Session
from totonoe.console.view import Form, View
from totonoe.enums import Answer
from totonoe.errors import NotActive, NotFound, StaleRevision, UndoRefused
from totonoe.history.models import Operation
from totonoe.memories.models import Duplicate, Memory
from totonoe.words.parts import counted, no_longer_said
from totonoe.words.text import age, snippet

if TYPE_CHECKING:
    from totonoe.aio import AsyncClient

REASON = "console"
ANSWER_KINDS = ("Resolve", "Dismiss", "Merge", "CleanUpDuplicates")
"""Operations that answer whether memories say the same."""
_ANSWERED_KINDS = (*ANSWER_KINDS, "Review")
_WINNERS_READ = 10
_TOOK = {
    Answer.SAME: "Same: they are one now.",
    Answer.DIFFERENT: "Different: nobody is asked again, until one of the texts changes.",
    Answer.REPLACES: "The left memory replaced the right one.",
    Answer.REPLACED_BY: "The right memory replaced the left one.",
}


async def review(view: View, request: Request) -> Response:
    """Show the pair at a place, the most probable first."""
    desk = view.desk(request)
    form = Form.asked(request)
    filters = Filters.of(form)
    at = form.number("n", most=limits.PAIRS_AHEAD_MAX)
    gathered = await pairs.gather(view.client, desk, filters, at + 2)
    count = len(gathered.pairs)
    # The last pair was answered: the one before it is the last now.
    at = min(at, max(0, count - 1))
    total = count if gathered.complete else 0
    if not gathered.complete and not filters.any:
        total = await _open_count(view)
    pair = gathered.pairs[at] if count else None
    values = {} if pair is None else await _shown(view.client, pair)
    return view.page(
        request,
        "review",
        pair=pair,
        at=at,
        total=total,
        has_next=at + 1 < count and at < limits.PAIRS_AHEAD_MAX,
        complete=gathered.complete,
        filters=filters,
        desk=desk,
        ages=pairs.AGES,
        seen=gathered.revision,
        **values,
    )


async def _open_count(view: View) -> int:
    stats = await view.client.stats(view.settings.collection_name)
    return stats.collections[0].open_question_count if stats.collections else 0


async def _shown(client: AsyncClient, pair: PairView) -> dict[str, Any]:
    """Return the parts of a pair on the page: what differs, and why it is asked."""
    judgement = await pairs.weighed(client, pair)
    return {
        "judgement": judgement,
        "difference": texts.differing(pair.a.content, pair.b.content, judgement),
        "equal": pair.a.content == pair.b.content,
    }


async def same(view: View, request: Request) -> Response:
    """Show which memory would stay, and let its text be edited."""
    form = Form.sent(request) if request.method == "POST" else Form.asked(request)
    a, b = form.text("a"), form.text("b")
    content = form.text("content")
    try:
        planned = await view.client.resolve(a, b, Answer.SAME, content=content, dry_run=True)
    except (NotActive, NotFound):
        first = await _last_change(view.client, (a, b))
        if first is None:
            raise
        return view.page(request, "overtaken", 409, told=_overtaken(first))
    found = await view.client.get_many([a, b])
    return view.page(
        request,
        "same",
        planned=planned,
        a=a,
        b=b,
        memories=found.memories,
        lost=no_longer_said(planned.lost)[1:],
        content=content or planned.memory.content,
        revisions={memory.id: memory.revision for memory in found.memories},
        seen=form.number("seen") or planned.revision,
        at=form.number("n", most=limits.PAIRS_AHEAD_MAX),
        filters=Filters.of(form),
    )


async def answer(view: View, request: Request) -> Response:
    """Carry out the answer about a pair, unless somebody was faster."""
    desk = view.desk(request)
    form = Form.sent(request)
    a, b = form.text("a"), form.text("b")
    said = Answer(form.text("answer")) if form.text("answer") in _TOOK else None
    if said is None:
        raise ValueError(f"answer: got {form.text('answer')[:40]!r}, allowed: {', '.join(_TOOK)}")
    back = {"n": form.number("n", most=limits.PAIRS_AHEAD_MAX), **Filters.of(form).query}
    first = await faster(view.client, (a, b), form.number("seen"))
    if first is not None:
        return view.back(request, "/", _overtaken(first), **back)
    try:
        done = await view.client.resolve(
            a,
            b,
            said,
            content=form.text("content") if said is Answer.SAME else "",
            expected_revision=form.number("a_revision"),
            other_expected_revision=form.number("b_revision"),
            reason=REASON,
        )
    except (StaleRevision, NotActive, NotFound):
        first = await _last_change(view.client, (a, b))
        if first is None:
            raise
        return view.back(request, "/", _overtaken(first), **back)
    if not done.resolved and done.duplicate is not None:
        return view.back(request, "/", says_that_already(done.duplicate), **back)
    desk.answered(done.revision)
    desk.found = [pair for pair in desk.found if pair.ids != {a, b}]
    told = Done(f"{_TOOK[said]} {snippet(done.memory.content)}", done.revision)
    return view.back(request, "/", told, **back)


async def faster(client: AsyncClient, ids: tuple[str, str], seen: int) -> Operation | None:
    """Return an operation that answered about a pair after a revision, and still counts."""
    page = await client.operations(memory_id=ids[0], kinds=ANSWER_KINDS, page_size=_WINNERS_READ)
    for operation in page.operations:
        if (
            operation.revision > seen
            and not operation.undone_by
            and set(ids) <= set(operation.memory_ids)
        ):
            return operation
    return None


async def _last_change(client: AsyncClient, ids: tuple[str, str]) -> Operation | None:
    """Return the newest operation on one of two memories."""
    operations: list[Operation] = []
    for memory_id in ids:
        page = await client.operations(memory_id=memory_id, page_size=1)
        operations += page.operations
    return max(operations, key=lambda operation: operation.revision, default=None)


def _overtaken(first: Operation) -> Done:
    """Name who was faster."""
    who = first.agent_id or "Somebody"
    since = "" if first.time is None else f" {age(first.time)}"
    return Done(
        f"{who} was faster{since}: {first.kind}, revision {first.revision}. Your answer changed "
        "nothing.",
        first.revision,
        failed=True,
    )


def says_that_already(duplicate: Duplicate) -> Done:
    """Name the memory because of which an answer changed nothing."""
    return Done(
        f"Nothing was done: {duplicate.memory_id} says that already: {duplicate.snippet}",
        failed=True,
    )


async def later(view: View, request: Request) -> Response:
    """Put a pair behind all others, for this session."""
    form = Form.sent(request)
    view.desk(request).put_off(frozenset((form.text("a"), form.text("b"))))
    back = {"n": form.number("n", most=limits.PAIRS_AHEAD_MAX), **Filters.of(form).query}
    return view.back(request, "/", Done("Later: this pair comes after all others."), **back)


async def keys(view: View, request: Request) -> Response:
    """Switch single-letter keys on or off, for this session."""
    session: Session = request.state.session
    session.keys_on = Form.sent(request).text("keys") == "on"
    words = "Single-letter keys are on." if session.keys_on else "Single-letter keys are off."
    return view.back(request, "/", Done(words))


async def undo(view: View, request: Request) -> Response:
    """Take an answer back: the one of a revision, or the last of this session."""
    desk = view.desk(request)
    form = Form.sent(request)
    revision = form.number("revision")
    if not revision:
        if not desk.answers:
            return view.back(request, "/", Done("There is no answer to take back.", failed=True))
        revision = desk.answers[-1]
    path = "/answered" if form.text("from") == "answered" else "/"
    desk.answers = [answer for answer in desk.answers if answer != revision]
    try:
        done = await view.client.undo(revision, reason=REASON)
    except UndoRefused as error:
        told = Done(f"Nothing was taken back: {error}", failed=True)
        return view.back(request, f"/op/{revision}", told)
    if not done.undone:
        told = Done("Nothing was taken back: see what is in the way.", failed=True)
        return view.back(request, f"/op/{revision}", told)
    told = Done(f"Taken back: {done.operation.kind} of revision {revision}.", done.revision)
    return view.back(request, path, told)


async def more(view: View, request: Request) -> Response:
    """Look for pairs that nobody asks about."""
    desk = view.desk(request)
    try:
        async with asyncio.timeout(limits.RUN_S):
            desk.found = await pairs.look_for_more(view.client)
    except TimeoutError:
        told = Done(f"The search did not end within {limits.RUN_S:.0f} s.", failed=True)
        return view.back(request, "/", told)
    count = len(desk.found)
    words = (
        f"Found {counted(count, 'pair')} of which both may say the same."
        if count
        else "Found no more pairs."
    )
    return view.back(request, "/", Done(words))


async def answered(view: View, request: Request) -> Response:
    """Show answers of everybody, newest first, each with its undo."""
    form = Form.asked(request)
    page = await view.client.operations(
        kinds=_ANSWERED_KINDS, page_size=limits.PAGE_ROWS, page_token=form.text("page")
    )
    memories = await read(
        view.client, [memory_id for op in page.operations for memory_id in op.memory_ids[:2]]
    )
    return view.page(request, "answered", page=page, memories=memories)


async def repeats(view: View, request: Request) -> Response:
    """Show which exact repeats one batch would close."""
    planned = await view.client.clean_up_duplicates(limit=limits.HITS_MAX)
    ids = [memory.kept_id for memory in planned.duplicates]
    at = Form.asked(request).number("n", most=limits.HITS_MAX)
    return view.page(
        request,
        "repeats",
        planned=planned,
        rows=planned.duplicates[at : at + limits.PAGE_ROWS],
        at=at,
        step=limits.PAGE_ROWS,
        memories=await read(view.client, ids[at : at + limits.PAGE_ROWS]),
    )


async def close_repeats(view: View, request: Request) -> Response:
    """Close the exact repeats of the preview, unless the collection changed since."""
    form = Form.sent(request)
    count = form.number("count", least=1, most=limits.HITS_MAX)
    planned = await view.client.clean_up_duplicates(limit=count)
    if [memory.memory_id for memory in planned.duplicates] != form.texts("id"):
        told = Done("Nothing was done: the repeats changed meanwhile. Look again.", failed=True)
        return view.back(request, "/repeats", told)
    done = await view.client.clean_up_duplicates(apply=True, limit=count, reason=REASON)
    view.desk(request).answered(done.revision)
    words = f"Closed {counted(len(done.duplicates), 'exact repeat')}."
    return view.back(request, "/repeats", Done(words, done.revision))


async def read(client: AsyncClient, ids: Sequence[str]) -> dict[str, Memory]:
    """Read memories by id; those that are gone, or not to be seen, are left out."""
    wanted = list(dict.fromkeys(memory_id for memory_id in ids if memory_id))
    if not wanted:
        return {}
    return {memory.id: memory for memory in (await client.get_many(wanted)).memories}


ROUTES = (
    ("GET", "/", review),
    ("GET", "/same", same),
    ("POST", "/same", same),
    ("POST", "/answer", answer),
    ("POST", "/later", later),
    ("POST", "/keys", keys),
    ("POST", "/undo", undo),
    ("POST", "/more", more),
    ("GET", "/answered", answered),
    ("GET", "/repeats", repeats),
    ("POST", "/repeats", close_repeats),
)
