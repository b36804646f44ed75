"""The page Search: a recall with its reasons, and why a memory is at its place or not there."""

from __future__ import annotations

from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from totonoe.console import limits
from totonoe.console.view import Form, View
from totonoe.enums import Kind, Status, WhyNotOutcome
from totonoe.errors import NotFound

KINDS = tuple(kind for kind in Kind if kind is not Kind.UNKNOWN)
STATUSES = tuple(status for status in Status if status is not Status.UNKNOWN)
_OUTCOMES = {
    WhyNotOutcome.CAME: "It comes.",
    WhyNotOutcome.NOT_THERE: "There is no such memory, or another agent keeps it private.",
    WhyNotOutcome.EXCLUDED: "A condition leaves it out.",
    WhyNotOutcome.NO_MATCH: "Neither its meaning nor its words have anything of the query.",
    WhyNotOutcome.OUT_OF_REACH: "So many fit better that it is no candidate.",
    WhyNotOutcome.MISSED: "It is near enough, but the graph passed it by.",
    WhyNotOutcome.BEYOND_K: "As many as were asked for fit better.",
    WhyNotOutcome.CROWDED_OUT: "It was among the best, but a place went to another kind of memory.",
    WhyNotOutcome.TOO_WEAK: "Its relevance is below the least that was asked for.",
    WhyNotOutcome.FOLDED: "It is probably the same as a hit, and is shown under it.",
}


def _conditions(form: Form) -> dict[str, Any]:
    """Return the conditions of the filter that were given. Raises `ValueError`."""
    said: dict[str, Any] = {
        "agent_ids": form.words("agent"),
        "categories": form.words("category"),
        "tags": form.words("tags"),
        "kinds": [_one_of("kind", word, KINDS) for word in form.words("kind")],
        "statuses": [_one_of("status", word, STATUSES) for word in form.words("status")],
    }
    return {name: value for name, value in said.items() if value}


def _one_of(name: str, value: str, allowed: tuple[str, ...]) -> str:
    if value not in allowed:
        raise ValueError(f"{name}: got {value[:40]!r}, allowed: {', '.join(allowed)}")
    return value


def _query(form: Form) -> dict[str, str]:
    """Return the fields of the search, for links."""
    names = ("q", "agent", "category", "tags", "kind", "status", "as_of")
    return {name: form.text(name) for name in names}


async def search(view: View, request: Request) -> Response:
    """Show the hits of a recall, which counts as no access."""
    form = Form.asked(request)
    at = form.number("n", most=limits.HITS_MAX - limits.PAGE_ROWS)
    newest = (await view.client.operations(page_size=1)).revision
    as_of = form.number("as_of")
    answer = None
    if form.text("q"):
        answer = await view.client.recall(
            form.text("q"),
            k=at + limits.PAGE_ROWS + 1,
            no_touch=True,
            # At the newest revision nothing is in the past.
            as_of=as_of if 0 < as_of < newest else None,
            **_conditions(form),
        )
    hits = answer.hits if answer else ()
    return view.page(
        request,
        "search",
        answer=answer,
        hits=hits[at : at + limits.PAGE_ROWS],
        at=at,
        step=limits.PAGE_ROWS,
        more=len(hits) > at + limits.PAGE_ROWS and at + 2 * limits.PAGE_ROWS <= limits.HITS_MAX,
        query=_query(form),
        newest=newest,
        kinds=KINDS,
        statuses=STATUSES,
    )


async def why(view: View, request: Request) -> Response:
    """Show why a memory is at its place among the hits, or why it is not there."""
    form = Form.asked(request)
    memory_id = form.text("id")
    if not memory_id or not form.text("q"):
        raise ValueError("q and id: got nothing, allowed: a query and the id of a memory")
    told = await view.client.why_not(
        memory_id, form.text("q"), k=limits.PAGE_ROWS, **_conditions(form)
    )
    try:
        memory = await view.client.get(memory_id)
    except NotFound:
        memory = None
    return view.page(
        request,
        "why",
        told=told,
        memory=memory,
        outcome=_OUTCOMES.get(told.outcome, str(told.outcome)),
        query=_query(form),
    )


ROUTES = (("GET", "/search", search), ("GET", "/why", why))
