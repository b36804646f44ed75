"""Memories of Claude Code: Markdown files with front matter in a folder `memory`.

    ---
    name: Deploys run on Fridays
    description: one line that says when it matters
    metadata:                    (or flat, without this line and its indentation)
      type: user | feedback | project | reference
      originSessionId: ...
      modified: 2026-03-01T09:00:00.000Z
    ---
    The memory itself. [[other-name]] names another file.

A file is one memory. MEMORY.md is the index of the others. Files without front matter are left out;
with `bullets` each list item of them is a memory, as of CLAUDE.md.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

from totonoe.importers import folders, markdown
from totonoe.importers.folders import Page
from totonoe.importers.records import (
    Edge,
    Fields,
    Item,
    ReadOptions,
    Reason,
    Skipped,
    Source,
    Span,
    digest_of,
    record,
)

_INSTRUCTIONS = ("CLAUDE.md", "CLAUDE.local.md")
_INDEX = "MEMORY.md"
_LISTS = (_INDEX, *_INSTRUCTIONS)
"""Pages whose list items may be memories wherever they lie; others only in a folder `memory`."""
_UNREAD = "front matter"
_WIKI_LINK = re.compile(r"\[\[([^\]|#\n]{1,200})\]\]")
_EDGES_MAX = 64
_HEAD_CHARS = 4096


def config_dir() -> Path:
    """Return the folder that Claude Code keeps everything of its user in."""
    return Path(os.environ.get("CLAUDE_CONFIG_DIR") or Path.home() / ".claude")


def home() -> Path:
    """Return the folder of all projects."""
    return config_dir() / "projects"


def _fits(path: Path) -> bool:
    if path.is_file():
        return path.suffix == ".md"
    # Folders of other programs that hold Markdown too.
    if path.resolve().parent.name in ("agent-memory", "agent-memory-local"):
        return False
    if (path / "memory_summary.md").is_file():
        return False
    return any(_is_memory(file) for folder in _folders(path) for file in _pages(folder))


def _is_memory(file: Path) -> bool:
    if file.name in _LISTS:
        return True
    try:
        with file.open(encoding="utf-8", errors="replace") as page:
            head = page.read(_HEAD_CHARS)
    except OSError:
        return False
    first = head.partition("\n")[0] + "\n"
    return markdown.begins_with_front_matter(first) and "\npermalink:" not in head


def _folders(path: Path) -> list[Path]:
    """Return the folders of memories: the path, its folder `memory`, or those of its projects."""
    if (path / "memory").is_dir():
        return [path, path / "memory"]
    return [path, *sorted(folder for folder in path.glob("*/memory") if folder.is_dir())]


def _pages(folder: Path) -> list[Path]:
    """Return the pages of a folder; of a project's own folder those with instructions alone."""
    is_project = (folder / "memory").is_dir()
    return sorted(
        file
        for file in folder.glob("*.md")
        if file.is_file() and (not is_project or file.name in _INSTRUCTIONS)
    )


def _read(path: Path, options: ReadOptions) -> Iterator[Item]:
    if not path.exists():
        raise ValueError(f"{path}: No such file or directory")
    root = path.parent if path.is_file() else path
    if path.is_file():
        yield from _page(path, root, options, named=True)
        return
    for folder in _folders(path):
        if folder != path and folder.is_symlink():
            yield Skipped(f"{folder.parent.name}/{folder.name}", Reason.LINK)
            continue
        for file in _pages(folder):
            yield from _page(file, root, options, named=False)


def _page(file: Path, root: Path, options: ReadOptions, named: bool) -> Iterator[Item]:
    where = f"{file.parent.name}/{file.name}"
    page = folders.page(file.resolve() if named else file, where)
    if isinstance(page, Skipped):
        yield page
        return
    page_id = f"{_project(file.parent)}/{file.name}"
    below = file.relative_to(root).as_posix()
    found = markdown.front_matter(page.text)
    if found is not None:
        yield from _memory(page_id, where, page, found, below)
    elif options.bullets and (file.parent.name == "memory" or file.name in _LISTS):
        items = list(_bullets(page_id, where, page, below))
        yield from items or [Skipped(where, Reason.NO_FRONT_MATTER)]
    elif file.name not in _INSTRUCTIONS:
        yield Skipped(where, Reason.INDEX if file.name == _INDEX else Reason.NO_FRONT_MATTER)


def _project(folder: Path) -> str:
    """Return the name that sets equally named files of two projects apart."""
    folder = folder.resolve()
    return folder.parent.name if folder.name == "memory" else folder.name


# -- pages


def _memory(
    page_id: str, where: str, page: Page, found: markdown.FrontMatter, file: str
) -> Iterator[Item]:
    # Lists and deeper levels are no part of the form.
    is_partly_read = found.is_partly_read or found.lists
    fields = Fields([_UNREAD] if is_partly_read else [])
    entries, body = found.entries, found.body.strip()
    rest = {
        name: value
        for name, value in entries.items()
        if name not in ("type", "originSessionId", "modified", "node_type")
    }
    folder = page_id.rpartition("/")[0]
    name = entries.get("name", "")
    names = {name, page_id.rpartition("/")[2].removesuffix(".md")} - {""}
    yield record(
        page_id,
        where,
        body or entries.get("description"),
        fields,
        aliases=sorted(f"{folder}/[[{name}]]" for name in names),
        span=Span(file),
        category=fields.label("type", entries.get("type")),
        session_id=fields.label("originSessionId", entries.get("originSessionId")),
        created_time=fields.moment("modified", entries.get("modified") or page.changed_s),
        attributes=fields.attributes(rest),
    )
    for target in list(dict.fromkeys(_WIKI_LINK.findall(body)))[:_EDGES_MAX]:
        yield Edge(page_id, f"{folder}/[[{target.strip()}]]")


def _bullets(page_id: str, where: str, page: Page, file: str) -> Iterator[Item]:
    """Yield the list items outside of code; lines that go on and items below belong to theirs."""
    for note in markdown.notes(page.text):
        place = f"{where} line {note.first}"
        if not note.is_item:
            continue
        if note.is_pointer:
            yield Skipped(place, Reason.INDEX)
            continue
        fields = Fields()
        yield record(
            f"{page_id}#{digest_of(note.text)}",
            place,
            note.text,
            fields,
            span=Span(file, note.first, note.last),
            attributes=fields.attributes({"file": page_id, "heading": note.heading}),
        )


SOURCE = Source(
    "claude-code",
    "*.md with front matter or MEMORY.md, in the folder, its folder `memory`, or */memory",
    _fits,
    _read,
    home,
)
