"""The page of one memory: text, fields, versions, chain, links, questions, and what changes it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from starlette.requests import Request
from starlette.responses import Response

from totonoe.console import limits, texts
from totonoe.console.pages.review import REASON, read, says_that_already
from totonoe.console.sessions import Done
from totonoe.console.view import Form, View
from totonoe.enums import LinkType, Status
from totonoe.history.models import HistoryPage, Version
from totonoe.memories.models import Memory
from totonoe.words.parts import recalls
from totonoe.words.plain import plain

if TYPE_CHECKING:
    from totonoe.aio import AsyncClient

_APART = frozenset({"content", "links", "vector", "content_hash", "memory_id"})
"""Fields that the page shows elsewhere, or not at all."""


@dataclass(frozen=True, slots=True)
class SideBySide:
    """Two versions of a text, and what differs."""

    older: Version
    newer: Version
    difference: texts.Difference


async def memory(view: View, request: Request) -> Response:
    """Show a memory."""
    client = view.client
    form = Form.asked(request)
    memory = await client.get(request.path_params["memory_id"])
    page = await client.history(
        memory.id, page_size=limits.PAGE_ROWS, page_token=form.text("versions")
    )
    questions = await client.list_questions(memory_id=memory.id, page_size=limits.PAGE_ROWS)
    at = form.number("links", most=100_000)
    links = memory.links[at : at + limits.PAGE_ROWS]
    chain = await _chain(client, memory)
    return view.page(
        request,
        "memory",
        memory=memory,
        fields=_fields(memory),
        history=page,
        recalls=recalls(page),
        compared=_compared(page, form),
        questions=questions.questions,
        more_questions=bool(questions.next_page_token),
        links=links,
        links_at=at,
        links_step=limits.PAGE_ROWS,
        others=await read(client, [link.target_id for link in links]),
        chain=chain,
        forgot=_forgot(memory, page),
    )


def _fields(memory: Memory) -> list[tuple[str, Any]]:
    """Return the fields of a memory that say something, as name and plain value."""
    said = plain(memory)
    return [
        (name.replace("_", " "), value)
        for name, value in said.items()
        if name not in _APART and value not in (None, "", [], {}, ())
    ]


def _compared(page: HistoryPage, form: Form) -> SideBySide | None:
    """Return two versions side by side: those that were chosen, else the newest two texts."""
    told = {
        version.operation.revision: version
        for version in page.versions
        if version.memory is not None
    }
    chosen = sorted({form.number("left"), form.number("right")} & told.keys())
    if len(chosen) < 2:
        chosen = _newest_two(told)
    if len(chosen) < 2:
        return None
    older, newer = (told[revision] for revision in chosen)
    if older.memory is None or newer.memory is None:
        return None
    return SideBySide(older, newer, texts.differing(older.memory.content, newer.memory.content))


def _newest_two(told: Mapping[int, Version]) -> list[int]:
    """Return the newest version and the newest one with another text, else the one before it."""
    newest = sorted(told, reverse=True)
    texts_of = {
        revision: memory.content for revision in newest if (memory := told[revision].memory)
    }
    others = [revision for revision in newest[1:] if texts_of[revision] != texts_of[newest[0]]]
    return sorted([*newest[:1], *(others or newest[1:])[:1]])


async def _chain(client: AsyncClient, found: Memory) -> list[Memory]:
    """Return the chain of successors through a memory, the oldest first, at most CHAIN_MAX."""
    chain = [found]
    seen = {found.id}
    while len(chain) < limits.CHAIN_MAX and chain[-1].superseded_by not in {"", *seen}:
        after = await read(client, [chain[-1].superseded_by])
        if not after:
            break
        chain += after.values()
        seen |= after.keys()
    while len(chain) < limits.CHAIN_MAX:
        ids = [link.target_id for link in chain[0].links if link.type is LinkType.UPDATES]
        before = [memory for memory in (await read(client, ids)).values() if memory.id not in seen]
        replaced = [memory for memory in before if memory.superseded_by == chain[0].id]
        if not replaced:
            break
        chain.insert(0, replaced[0])
        seen.add(replaced[0].id)
    return chain if len(chain) > 1 else []


def _forgot(memory: Memory, page: HistoryPage) -> int:
    """Return the revision that hid a memory, which an undo takes back; 0: it is live."""
    if memory.status is Status.ACTIVE:
        return 0
    return next(
        (version.operation.revision for version in page.versions if "status" in version.changed), 0
    )


async def edit(view: View, request: Request) -> Response:
    """Change the text and the labels of a memory."""
    form = Form.sent(request)
    memory_id = request.path_params["memory_id"]
    done = await view.client.update(
        memory_id,
        content=form.text("content"),
        category=form.text("category") or None,
        tags=form.words("tags"),
        importance=form.number("importance", default=3, least=1, most=5),
        expected_revision=form.number("revision"),
        reason=form.text("reason") or REASON,
    )
    if not done.updated and done.duplicate is not None:
        return view.back(request, f"/m/{memory_id}", says_that_already(done.duplicate))
    return view.back(request, f"/m/{memory_id}", Done("Changed.", done.revision))


async def forget(view: View, request: Request) -> Response:
    """Hide a memory, with a reason."""
    form = Form.sent(request)
    memory_id = request.path_params["memory_id"]
    reason = form.text("reason")
    if not reason:
        raise ValueError("reason: got nothing, allowed: a few words")
    done = await view.client.forget(
        memory_id, reason=reason, expected_revisions={memory_id: form.number("revision")}
    )
    return view.back(request, f"/m/{memory_id}", Done("Forgotten.", done.revision))


async def supersede(view: View, request: Request) -> Response:
    """Save a text that takes the place of a memory."""
    form = Form.sent(request)
    memory_id = request.path_params["memory_id"]
    before = await view.client.get(memory_id)
    done = await view.client.remember(
        form.text("content"),
        supersede_ids=[memory_id],
        kind=before.kind,
        state_kind=before.state_kind,
        category=before.category or None,
        tags=before.tags,
        importance=before.importance,
        private=before.private,
        namespace=before.namespace,
    )
    if not done.saved and not done.superseded_ids and done.duplicate is not None:
        return view.back(request, f"/m/{memory_id}", says_that_already(done.duplicate))
    return view.back(request, f"/m/{done.memory_id}", Done("Replaced.", done.revision))


ROUTES = (
    ("GET", "/m/{memory_id}", memory),
    ("POST", "/m/{memory_id}/edit", edit),
    ("POST", "/m/{memory_id}/forget", forget),
    ("POST", "/m/{memory_id}/supersede", supersede),
)
