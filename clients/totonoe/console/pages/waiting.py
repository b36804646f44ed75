"""The page Waiting: memories that somebody has to confirm before anybody recalls them."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response

from totonoe.console import limits
from totonoe.console.pages.review import REASON, says_that_already
from totonoe.console.sessions import Done
from totonoe.console.view import Form, View
from totonoe.enums import ReviewAnswer
from totonoe.words.text import snippet

_DECIDED = {ReviewAnswer.CONFIRM: "Confirmed", ReviewAnswer.REJECT: "Rejected"}


async def waiting(view: View, request: Request) -> Response:
    """Show the memories that have waited longest, and how many wait."""
    page = await view.client.list_questions(page_size=limits.PAGE_ROWS)
    return view.page(request, "waiting", memories=page.pending, count=page.pending_count)


async def decide(view: View, request: Request) -> Response:
    """Confirm or reject a memory, unless it has changed since it was shown."""
    form = Form.sent(request)
    said = form.text("answer")
    if said not in _DECIDED:
        raise ValueError(f"answer: got {said[:40]!r}, allowed: {', '.join(_DECIDED)}")
    answer = ReviewAnswer(said)
    done = await view.client.review(
        form.text("id"), answer, reason=REASON, expected_revision=form.number("revision")
    )
    if not done.reviewed and done.duplicate is not None:
        return view.back(request, "/waiting", says_that_already(done.duplicate))
    view.desk(request).answered(done.revision)
    words = f"{_DECIDED[answer]}: {snippet(done.memory.content)}"
    return view.back(request, "/waiting", Done(words, done.revision))


ROUTES = (("GET", "/waiting", waiting), ("POST", "/waiting", decide))
