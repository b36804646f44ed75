"""Notes of basic-memory: a folder of Markdown files with observations and relations.

    ---
    title: Coffee
    type: note
    permalink: coffee
    tags: [kitchen]
    ---
    - [method] Pour over gives more clarity #brewing (by taste)
    - requires [[Grinder]]

An observation is a memory that begins with the title, since it says something else under another
one. A relation is one too, linked to those of both ends. What a note says in prose is one more.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

from totonoe.importers import folders, markdown
from totonoe.importers.folders import Page
from totonoe.importers.records import (
    TAGS_MAX,
    Edge,
    Fields,
    Item,
    ReadOptions,
    Reason,
    Skipped,
    Source,
    Span,
    digest_of,
    numbered,
    record,
)

_CATEGORY = re.compile(r"\[([^\[\]()]+)\][ \t]+(.+)", re.S)
_CLOCK = re.compile(r"[0-9]{1,3}:[0-9]{2}(:[0-9]{2})?([.,][0-9]{1,3})?( +- +[0-9:.,]+)?")
_RELATION = re.compile(
    r"""(?:"([^"]+)"|'([^']+)'|([^\s\[\]"']+))[ \t]*\[\[([^\[\]]{1,300})\]\][ \t]*(?:\((.*)\))?""",
    re.S,
)
_LINK = re.compile(r"\[\[([^\[\]]{1,300})\]\]")
_CONTEXT = re.compile(r"(.*\S)[ \t]*\(([^()]*)\)", re.S)
_TAG = re.compile(r"(?:^|\s)#([^\s#]+)")
_LOOKED_AT_MAX = 200
_EDGES_MAX = 64
_OWN = ("title", "type", "permalink", "tags", "created", "modified")


def _fits(path: Path) -> bool:
    if not path.is_dir():
        return False
    try:
        for page in islice(folders.pages(path), _LOOKED_AT_MAX):
            if isinstance(page, Page) and (found := markdown.front_matter(page.text)):
                return "permalink" in found.entries and "title" in found.entries
    except ValueError:
        return False
    return False


def _read(path: Path, _: ReadOptions) -> Iterator[Item]:
    return numbered(_items(path))


def _items(path: Path) -> Iterator[Item]:
    for page in folders.pages(path):
        yield from [page] if isinstance(page, Skipped) else _note(page)


def _note(page: Page) -> Iterator[Item]:
    found = markdown.front_matter(page.text)
    if found is None and page.text.startswith("---\n"):
        detail = "front matter without an end, allowed: a line ---"
        yield Skipped(f"{page.name} line 1", Reason.DAMAGED, detail)
        return
    found = found or markdown.FrontMatter(body=page.text)
    title = found.entries.get("title") or Path(page.name).stem
    tags = found.lists.get("tags") or _split(found.entries.get("tags", ""))
    reading = _Reading(page, found, title, tags)
    prose: list[str] = []
    for note in markdown.notes(found.body, found.line):
        relation = _RELATION.fullmatch(note.text) if note.is_item else None
        if relation:
            yield from reading.relation(note, relation)
        elif note.is_item and _is_observation(note.text):
            yield from reading.observation(note)
        else:
            prose.append(f"- {note.text}" if note.is_item else note.text)
    yield from reading.prose(prose)


def _is_observation(text: str) -> bool:
    """Return true for `[category] text`, and for a text with tags; false for tasks and links."""
    if found := _CATEGORY.fullmatch(text):
        name = found[1].strip()
        is_task = len(name) <= 1 and (name in ("x", "X") or not name.isalnum())
        return not (is_task or _CLOCK.fullmatch(name))
    return _TAG.search(text) is not None and not text.startswith("[")


class _Reading:
    """What the memories of one note have in common."""

    def __init__(
        self, page: Page, found: markdown.FrontMatter, title: str, tags: list[str]
    ) -> None:
        self._page, self._found, self._title, self._tags = page, found, title, tags
        permalink = found.entries.get("permalink", "")
        self._id = permalink or page.name
        names = {title, permalink, Path(page.name).stem, page.name.removesuffix(".md")} - {""}
        self._aliases = sorted(f"[[{name.casefold()}]]" for name in names)
        rest = {name: text for name, text in found.entries.items() if name not in _OWN}
        lists = {name: items for name, items in found.lists.items() if name != "tags"}
        self._rest = {**rest, **lists, "file": page.name, "note": title}

    def observation(self, note: markdown.Note) -> Iterator[Item]:
        """Yield the memory of an observation, and links to the notes that it names."""
        category = _CATEGORY.fullmatch(note.text)
        text = category[2] if category else note.text
        tags = _TAG.findall(text)
        context = _CONTEXT.fullmatch(text)
        if context:
            text = context[1]
        yield from self._made(
            f"{self._title}: {text}",
            note,
            category[1].strip() if category else "",
            tags,
            {"context": context[2] if context else ""},
        )

    def relation(self, note: markdown.Note, parts: re.Match[str]) -> Iterator[Item]:
        """Yield the memory of a relation, linked to those of both ends."""
        verb, target = parts[1] or parts[2] or parts[3], parts[4].partition("|")[0].strip()
        text = f"{self._title} {verb.replace('_', ' ')} {target}"
        yield from self._made(
            text, note, verb, [], {"context": parts[5] or ""}, state_kind="relation"
        )
        yield Edge(self._id_of(text), f"[[{self._title.casefold()}]]", note=verb)

    def prose(self, parts: list[str]) -> Iterator[Item]:
        """Yield the memory of what stands between, if anything does."""
        if parts:
            text = f"{self._title}\n\n" + "\n".join(parts)
            note = markdown.Note(text, 0, 0, ("",) * 6, is_item=False)
            yield from self._made(text, note, self._found.entries.get("type", ""), [], {})

    def _id_of(self, text: str) -> str:
        return f"{self._id}#{digest_of(text)}"

    def _made(
        self,
        text: str,
        note: markdown.Note,
        category: str,
        tags: list[str],
        more: dict[str, str],
        **values: str,
    ) -> Iterator[Item]:
        fields = Fields(["front matter"] if self._found.is_partly_read else [])
        created = self._found.entries.get("modified") or self._found.entries.get("created")
        yield record(
            self._id_of(text),
            f"{self._page.name} line {note.first}" if note.first else self._page.name,
            text,
            fields,
            aliases=self._aliases if "state_kind" not in values else [],
            span=Span(self._page.name, note.first, note.last) if note.first else None,
            category=fields.label("category", category),
            tags=fields.labels("tags", [*tags, *self._tags], TAGS_MAX),
            created_time=fields.moment("modified", created or self._page.changed_s),
            attributes=fields.attributes({**self._rest, **more}),
            **values,
        )
        for target in list(dict.fromkeys(_LINK.findall(note.text)))[:_EDGES_MAX]:
            name = target.partition("|")[0].strip().casefold()
            yield Edge(self._id_of(text), f"[[{name}]]")


def _split(text: str) -> list[str]:
    return [part.strip() for part in text.split(",") if part.strip()]


SOURCE = Source(
    "basic-memory",
    "a folder of *.md whose front matter has `title` and `permalink`",
    _fits,
    _read,
)
