"""The page Health: figures, the audit, collections, and the plan of a tidy with ticks."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from starlette.requests import Request
from starlette.responses import Response

from totonoe.console import limits
from totonoe.console.pages.review import REASON
from totonoe.console.sessions import Done
from totonoe.console.view import Form, View
from totonoe.tidy.models import TidyCluster, TidyDone, TidyUpdate
from totonoe.words.parts import counted

if TYPE_CHECKING:
    from totonoe.aio import AsyncClient


@dataclass(frozen=True, slots=True)
class Planned:
    """Near states for a plan, by group, and the end of the run that found them."""

    clusters: tuple[TidyCluster, ...]
    done: TidyDone | None


async def health(view: View, request: Request) -> Response:
    """Show the figures of daemon and collection; the audit if it was asked for."""
    client = view.client
    form = Form.asked(request)
    stats = await client.stats(view.settings.collection_name)
    collections = await client.list_collections(
        page_size=limits.PAGE_ROWS, page_token=form.text("page")
    )
    audit = await client.audit() if form.text("audit") == "yes" else None
    return view.page(
        request,
        "health",
        stats=stats,
        own=stats.collections[0] if stats.collections else None,
        collections=collections,
        audit=audit,
        soon=datetime.now(UTC) + timedelta(days=limits.SOON_DAYS),
        busiest=max((agent.operation_count for agent in audit.agents), default=0) if audit else 0,
    )


async def plan(view: View, request: Request) -> Response:
    """Show near states in groups, to tick those that may go."""
    token = Form.asked(request).text("page")
    return view.page(request, "plan", planned=await _planned(view.client, token))


async def _planned(client: AsyncClient, token: str) -> Planned:
    clusters: list[TidyCluster] = []
    done = None
    read = 0
    stream = client.tidy(plan=True, clusters_max=limits.CLUSTERS_MAX, page_token=token)
    try:
        async for event in stream:
            read += 1
            if isinstance(event, TidyCluster):
                clusters.append(event)
            if isinstance(event, TidyDone):
                done = event
            if read >= limits.TIDY_EVENTS_MAX:
                break
    finally:
        await stream.aclose()
    return Planned(tuple(clusters[: limits.CLUSTERS_MAX]), done)


async def apply(view: View, request: Request) -> Response:
    """Close the states that were ticked, as one operation."""
    ticked = Form.sent(request).texts("close")
    if not ticked:
        return view.back(request, "/health/plan", Done("Nothing was ticked.", failed=True))
    updates = []
    for box in ticked:
        memory_id, _, revision = box.partition(":")
        if not revision.isascii() or not revision.isdigit():
            raise ValueError(f"close: got {box[:40]!r}, allowed: an id and a revision")
        updates.append(
            TidyUpdate(
                op="close", state_id=memory_id, expected_revision=int(revision), reason=REASON
            )
        )
    done = await view.client.apply_tidy_plan(updates, reason=REASON)
    view.desk(request).answered(done.revision)
    words = f"Closed {counted(done.closed_count, 'state')}."
    return view.back(request, "/health/plan", Done(words, done.revision))


ROUTES = (
    ("GET", "/health", health),
    ("GET", "/health/plan", plan),
    ("POST", "/health/plan", apply),
)
