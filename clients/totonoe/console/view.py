"""Makes pages: templates with the session, messages, and the daemon's client at hand."""

from __future__ import annotations

import asyncio
import copy
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urlencode

from jinja2 import Environment, PackageLoader, StrictUndefined
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from totonoe.console import failures, limits, texts
from totonoe.console.sessions import Desk, Done, Session
from totonoe.console.settings import Settings
from totonoe.memories.models import Evidence
from totonoe.words.parts import counted, evidence, shown_field

if TYPE_CHECKING:
    from totonoe.aio import AsyncClient

PAGE_HEADINGS = (
    ("/", "Review"),
    ("/search", "Search"),
    ("/timeline", "Timeline"),
    ("/health", "Health"),
)


class View:
    """Templates of one console, and the client that its pages call, for one collection.

    Parameters
    ----------
    settings : Settings

    Attributes
    ----------
    base : str
        What stands before each path: nothing for the collection that the console was started
        with, `/c/NAME` for another one.
    """

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.base = ""
        self._console = self
        self.live = asyncio.Semaphore(limits.LIVE_STREAMS_MAX)
        """One for each browser that follows the timeline."""
        self._client: AsyncClient | None = None
        self._templates = Environment(
            loader=PackageLoader("totonoe.console"),
            autoescape=True,
            auto_reload=False,
            undefined=StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
        )
        self._templates.filters |= {
            "safe_text": texts.safe,
            "language": texts.language,
            "when": texts.when,
            "ending": texts.ending,
            "finding": _finding,
            "field": shown_field,
        }
        self._templates.globals |= {
            "headings": PAGE_HEADINGS,
            "fold_chars": limits.FOLD_CHARS,
            "counted": counted,
        }

    def of(self, collection: str) -> View:
        """Return the view of another collection, with the same connection."""
        twin = copy.copy(self._console)
        if collection != twin.settings.collection_name:
            twin.settings = twin.settings.of(collection)
            twin.base = f"/c/{quote(collection, safe='')}"
        return twin

    @property
    def client(self) -> AsyncClient:
        """The client of the pages. It belongs to the loop of the first call."""
        client = self._console._connected()
        return client.in_collection(self.settings.collection) if self.base else client

    def _connected(self) -> AsyncClient:
        if self._client is None:
            from totonoe.aio import AsyncClient

            own = self.settings
            self._client = AsyncClient(
                own.address,
                agent_id=own.agent,
                collection=own.collection,
                timeout_s=own.timeout_s,
                token=own.token,
                ca=own.ca,
                cert=own.cert,
                key=own.key,
            )
        return self._client

    async def close(self) -> None:
        """Close the connection to the daemon."""
        client, self._client = self._client, None
        if client is not None:
            await client.close()

    def page(self, request: Request, name: str, status: int = 200, **values: Any) -> Response:
        """Return a page of a template."""
        session: Session | None = request.state.session
        said = session.done.get(request.query_params.get("said", "")) if session else None
        template = self._templates.get_template(f"{name}.html")
        body = template.render(
            session=session,
            said=values.pop("said", said),
            path=request.url.path,
            here=_here(request),
            under=self._heading(request.url.path),
            **self._place(),
            **values,
        )
        return HTMLResponse(body, status)

    def part(self, name: str, **values: Any) -> str:
        """Return a template that is part of a page."""
        return self._templates.get_template(f"{name}.html").render(**self._place(), **values)

    def _place(self) -> dict[str, Any]:
        """Return what leads to pages of this collection, and of others."""
        return {
            "settings": self.settings,
            "base": self.base,
            "link": partial(link, base=self.base),
            "other": lambda name, path: link(path, base=self.of(name).base),
        }

    def _heading(self, path: str) -> str:
        """Return the path of the heading that a page is under; empty: under Review, or none."""
        named = {link(heading, base=self.base): heading for heading, _ in PAGE_HEADINGS[1:]}
        return named.get(path, "")

    def failure(self, request: Request, error: Exception) -> Response:
        """Return the page of a failed call."""
        told = failures.in_words(error, self.settings)
        return self.page(request, "error", told.status, failure=told, said=None)

    def desk(self, request: Request) -> Desk:
        """Return the work of this browser on the pairs of this collection."""
        session: Session = request.state.session
        return session.desk(self.settings.collection_name)

    def back(self, request: Request, path: str, done: Done, **query: Any) -> Response:
        """Go to a page after a form, with a message about what was done."""
        session: Session = request.state.session
        return RedirectResponse(link(path, base=self.base, said=session.say(done), **query), 303)


@dataclass(frozen=True, slots=True)
class Form:
    """Fields of a form, or of an address. A field that is missing reads as empty."""

    fields: Mapping[str, list[str]]

    @classmethod
    def sent(cls, request: Request) -> Form:
        """Return the fields of a form that was sent."""
        return cls(request.state.form)

    @classmethod
    def asked(cls, request: Request) -> Form:
        """Return the fields of an address."""
        fields: dict[str, list[str]] = {}
        for name, value in request.query_params.multi_items()[: limits.FORM_FIELDS_MAX]:
            fields.setdefault(name, []).append(value)
        return cls(fields)

    def text(self, name: str) -> str:
        """Return the text of a field, with line feeds as line ends."""
        return self.fields.get(name, [""])[0].replace("\r\n", "\n").strip()

    def texts(self, name: str) -> list[str]:
        """Return all values of a field."""
        return self.fields.get(name, [])

    def words(self, name: str) -> list[str]:
        """Return the words of a field that takes several, with commas between them."""
        return [word for part in self.text(name).split(",") if (word := part.strip())]

    def number(self, name: str, default: int = 0, least: int = 0, most: int = 2**53) -> int:
        """Return a whole number. Raises `ValueError` that names the field."""
        text = self.text(name)
        try:
            value = int(text) if text else default
        except ValueError:
            value = least - 1
        if not least <= value <= most:
            raise ValueError(f"{name}: got {text[:40]!r}, allowed: {least} to {most}")
        return value


def link(path: str, *, base: str = "", **query: Any) -> str:
    """Return an address of the console; empty values are left out.

    Parameters
    ----------
    base : str
        Of the collection, as `View.base`.
    """
    path = (base if path == "/" else base + path) or "/"
    said = {name: value for name, value in query.items() if value not in ("", None, 0, [], ())}
    return f"{path}?{urlencode(said, doseq=True)}" if said else path


def _here(request: Request) -> str:
    """Return the address of a page without the message that it shows."""
    kept = {key: value for key, value in request.query_params.items() if key != "said"}
    return link(request.url.path, **kept)


def _finding(line: Evidence) -> str:
    name = line.finding.replace("_", " ")
    words = evidence(line, ("only in the right text", "only in the left text"))
    return words if words.startswith(name) else f"{name}: {words}"
