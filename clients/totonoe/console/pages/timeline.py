"""The page Timeline: operations, live, each with before and after, and its undo."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from totonoe.console import limits, texts
from totonoe.console.pages.review import REASON, read
from totonoe.console.sessions import Done, Session
from totonoe.console.view import Form, View
from totonoe.errors import NotFound, OutOfRange, PermissionDenied, TotonoeError, UndoRefused
from totonoe.history.models import Operation
from totonoe.memories.models import Memory

if TYPE_CHECKING:
    from totonoe.aio import AsyncClient

_RETRY_MS = 5_000
"""After so long a browser opens a stream again that ended."""


@dataclass(frozen=True, slots=True)
class Change:
    """A memory before and after an operation; `None`: it was not there, or is not to be seen."""

    memory_id: str
    before: Memory | None
    after: Memory | None
    difference: texts.Difference

    @property
    def fate(self) -> str:
        """Its fate, in words."""
        if self.before is None:
            return "made" if self.after else "not to be seen"
        if self.after is None:
            return "gone"
        if self.before.status != self.after.status:
            return f"{self.before.status} before, {self.after.status} after"
        same = self.before.content == self.after.content
        return "text unchanged" if same else "changed"


async def timeline(view: View, request: Request) -> Response:
    """Show operations, newest first."""
    form = Form.asked(request)
    page = await view.client.operations(
        agent_ids=form.words("agent"),
        kinds=form.words("kind"),
        memory_id=form.text("memory"),
        page_size=limits.PAGE_ROWS,
        page_token=form.text("page"),
    )
    query = {name: form.text(name) for name in ("agent", "kind", "memory")}
    return view.page(
        request,
        "timeline",
        page=page,
        query=query,
        memories=await read(view.client, _named(page.operations)),
        live=not form.text("page") and not any(query.values()),
    )


def _named(operations: tuple[Operation, ...]) -> list[str]:
    """Return the memories whose texts a row shows: the first of each operation."""
    return [operation.memory_ids[0] for operation in operations if operation.memory_ids]


async def operation(view: View, request: Request) -> Response:
    """Show an operation with before and after, and what an undo would do."""
    client = view.client
    form = Form.asked(request)
    revision = _revision(request)
    planned = None
    try:
        planned = await client.undo(revision, dry_run=True)
        operation = planned.operation
    except UndoRefused as error:
        return view.page(
            request, "undo_refused", 409, revision=revision, error=str(error), said=None
        )
    except PermissionDenied:
        # Who may only read sees what was done.
        operation = await _read_operation(client, revision)
    at = form.number("n", most=100_000)
    ids = operation.memory_ids
    return view.page(
        request,
        "operation",
        planned=planned,
        operation=operation,
        changes=await _changes(client, revision, ids[at : at + limits.PAGE_ROWS]),
        at=at,
        step=limits.PAGE_ROWS,
    )


async def _read_operation(client: AsyncClient, revision: int) -> Operation:
    """Read an operation as a watch begins with it. Raises `OutOfRange` if it is not kept."""
    stream = client.watch(revision - 1, heartbeat_s=1.0)
    try:
        async for event in stream:
            if event.change is not None and event.change.operation.revision == revision:
                return event.change.operation
            break
    finally:
        await stream.aclose()
    raise NotFound(f"revision {revision}: there is no such operation to be seen", code="NOT_FOUND")


def _revision(request: Request) -> int:
    text = request.path_params["revision"]
    if not text.isascii() or not text.isdigit() or len(text) > len(str(2**53)):
        raise ValueError(f"revision: got {text[:40]!r}, allowed: a whole number")
    return int(text)


async def _changes(client: AsyncClient, revision: int, ids: tuple[str, ...]) -> list[Change]:
    """Read memories before and after an operation."""
    before = await _as_of(client, revision - 1, ids)
    after = await _as_of(client, revision, ids)
    changes = []
    for memory_id in ids:
        old, new = before.get(memory_id), after.get(memory_id)
        if old and new:
            difference = texts.differing(old.content, new.content)
        else:
            whole = [[texts.Piece(side.content, False)] if side else [] for side in (old, new)]
            difference = texts.Difference(whole[0], whole[1], [])
        changes.append(Change(memory_id, old, new, difference))
    return changes


async def _as_of(client: AsyncClient, revision: int, ids: tuple[str, ...]) -> dict[str, Memory]:
    if not ids or revision < 1:
        return {}
    try:
        found = await client.get_many(ids, as_of=revision)
    except (NotFound, OutOfRange):
        return {}
    return {memory.id: memory for memory in found.memories}


async def undo(view: View, request: Request) -> Response:
    """Take an operation back, or what of it can be."""
    revision = _revision(request)
    form = Form.sent(request)
    done = await view.client.undo(
        revision, partial=form.text("partial") == "yes", reason=form.text("reason") or REASON
    )
    if not done.undone:
        told = Done("Nothing was taken back: see what is in the way.", failed=True)
        return view.back(request, f"/op/{revision}", told)
    words = f"Taken back: {done.operation.kind} of revision {revision}."
    return view.back(request, "/timeline", Done(words, done.revision))


async def live(view: View, request: Request) -> Response:
    """Stream the rows of operations as they happen, as server-sent events."""
    session: Session = request.state.session
    if view.live.locked():
        return Response("Too many pages follow the timeline.\n", 503, media_type="text/plain")
    after = Form.asked(request).number("after")
    return StreamingResponse(_rows(view, session, after), media_type="text/event-stream")


async def _rows(view: View, session: Session, after: int) -> AsyncIterator[str]:
    """Yield one event for each operation after a revision, and a comment now and then.

    A browser that goes away ends it at the next of these; so does the end of its session.
    """
    async with view.live:
        yield f"retry: {_RETRY_MS}\n\n"
        stream = view.client.watch(after, heartbeat_s=limits.LIVE_BEAT_S)
        try:
            async for event in stream:
                if session.ended:
                    break
                if event.change is None:
                    yield ": here\n\n"
                    continue
                operation = event.change.operation
                memories = {
                    change.memory_id: change.memory
                    for change in event.change.memories
                    if change.memory is not None
                }
                row = view.part("operation_row", op=operation, memories=memories)
                told = {"row": row, "text": f"{operation.agent_id or 'nobody'}: {operation.kind}"}
                yield f"id: {event.revision}\ndata: {json.dumps(told)}\n\n"
        except TotonoeError:
            # The browser asks again, and the page says what is wrong when it is loaded.
            return
        finally:
            await stream.aclose()


ROUTES = (
    ("GET", "/timeline", timeline),
    ("GET", "/timeline/live", live),
    ("GET", "/op/{revision}", operation),
    ("POST", "/op/{revision}/undo", undo),
)
