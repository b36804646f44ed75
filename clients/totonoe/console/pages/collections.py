"""The page Collections: which there are, each with a link to the same page of it."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response

from totonoe.console import limits
from totonoe.console.view import PAGE_HEADINGS, Form, View


async def collections(view: View, request: Request) -> Response:
    """Show collections, to go on with another one at the page `to`."""
    form = Form.asked(request)
    wanted = form.text("to")
    page = await view.client.list_collections(
        page_size=limits.PAGE_ROWS, page_token=form.text("page")
    )
    known = wanted in dict(PAGE_HEADINGS)
    return view.page(request, "collections", collections=page, to=wanted if known else "/")


ROUTES = (("GET", "/collections", collections),)
