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

import hashlib
import re
from collections.abc import Iterator
from pathlib import Path

from totonoe.importers.records import (
    RECORD_BYTES_MAX,
    Edge,
    Fields,
    Item,
    ReadOptions,
    Reason,
    Skipped,
    Source,
    record,
)

_INSTRUCTIONS = ("CLAUDE.md", "CLAUDE.local.md")
_INDEX = "MEMORY.md"
_LISTS = (_INDEX, *_INSTRUCTIONS)
"""Pages whose list items may be memories wherever they lie; others only in a folder `memory`."""
_UNREAD = "front matter"
_BLOCK = re.compile(r"[|>][+-]?")
_FENCE = re.compile(r"---[ \t]*\r?\n")
_ENTRY = re.compile(r"([ \t]*)([A-Za-z_][\w-]*)[ \t]*:[ \t]*(.*)")
_BULLET = re.compile(r"([ \t]*)[-*+][ \t]+(\S.*)")
_HEADING = re.compile(r"#+[ \t]+(.*?)[ \t#]*")
_POINTER = re.compile(r"\[[^\]]*\]\([^)\s]+\.md\)")
_WIKI_LINK = re.compile(r"\[\[([^\]|#\n]{1,200})\]\]")
_EDGES_MAX = 64


def _fits(path: Path) -> bool:
    if path.is_file():
        return path.suffix == ".md"
    return any(_is_memory(file) for folder in _folders(path) for file in _pages(folder))


def _is_memory(file: Path) -> bool:
    if file.name in _LISTS:
        return True
    try:
        with file.open(encoding="utf-8", errors="replace") as page:
            return _FENCE.fullmatch(page.readline(100)) is not None
    except OSError:
        return False


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
    files = [path] if path.is_file() else [f for d in _folders(path) for f in _pages(d)]
    for file in files:
        yield from _page(file, options)


def _page(file: Path, options: ReadOptions) -> Iterator[Item]:
    where = f"{file.parent.name}/{file.name}"
    try:
        stat = file.stat()
        if stat.st_size > RECORD_BYTES_MAX:
            yield Skipped(where, Reason.TOO_LARGE)
            return
        text = file.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError:
        yield Skipped(where, Reason.DAMAGED, "no UTF-8")
        return
    except OSError as error:
        yield Skipped(where, Reason.DAMAGED, error.strerror or type(error).__name__)
        return
    page_id = f"{_project(file.parent)}/{file.name}"
    found = _front_matter(text)
    if found is not None:
        yield from _memory(page_id, where, *found, stat.st_mtime)
    elif options.bullets and (file.parent.name == "memory" or file.name in _LISTS):
        items = list(_bullets(page_id, where, text))
        yield from items or [Skipped(where, Reason.NO_FRONT_MATTER)]
    elif file.name not in _INSTRUCTIONS:
        yield Skipped(where, Reason.INDEX if file.name == _INDEX else Reason.NO_FRONT_MATTER)


def _project(folder: Path) -> str:
    """Return the name that sets equally named files of two projects apart."""
    folder = folder.resolve()
    return folder.parent.name if folder.name == "memory" else folder.name


# -- front matter


def _front_matter(text: str) -> tuple[dict[str, str], str] | None:
    """Return the entries of the front matter, those of `metadata` among them, and the body."""
    opening = _FENCE.match(text)
    if opening is None:
        return None
    entries: dict[str, str] = {}
    at, block, indent = opening.end(), "", 0
    for line in text[at:].splitlines(keepends=True):
        at += len(line)
        if line.strip() == "---":
            return entries, text[at:].strip()
        if block and (not line.strip() or len(line) - len(line.lstrip()) > indent):
            entries[block] = f"{entries[block]} {line.strip()}".strip()
            continue
        block = ""
        if entry := _ENTRY.fullmatch(line.rstrip("\r\n")):
            if _BLOCK.fullmatch(entry[3].strip()):
                block, indent = entry[2], len(entry[1])
                entries[block] = ""
            else:
                entries.setdefault(entry[2], _unquoted(entry[3]))
        elif line.strip() and not line.lstrip().startswith("#"):
            entries[_UNREAD] = "yes"
    return None


def _unquoted(value: str) -> str:
    """Return a scalar of YAML without its quotes; one in none as it is."""
    value = value.strip()
    if len(value) > 1 and value[0] == value[-1] == '"':
        return re.sub(r'\\(["\\])', r"\1", value[1:-1])
    if len(value) > 1 and value[0] == value[-1] == "'":
        return value[1:-1].replace("''", "'")
    return value


def _memory(
    page_id: str, where: str, entries: dict[str, str], body: str, changed_s: float
) -> Iterator[Item]:
    # Lists and deeper levels are no part of the form.
    fields = Fields([_UNREAD] if _UNREAD in entries else [])
    rest = {
        name: value
        for name, value in entries.items()
        if name not in ("type", "originSessionId", "modified", "node_type", _UNREAD)
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
        category=fields.label("type", entries.get("type")),
        session_id=fields.label("originSessionId", entries.get("originSessionId")),
        created_time=fields.moment("modified", entries.get("modified") or changed_s),
        attributes=fields.attributes(rest),
    )
    for target in list(dict.fromkeys(_WIKI_LINK.findall(body)))[:_EDGES_MAX]:
        yield Edge(page_id, f"{folder}/[[{target.strip()}]]")


# -- bullets


def _bullets(page_id: str, where: str, text: str) -> Iterator[Item]:
    """Yield the list items outside of code; lines that go on and items below belong to theirs."""
    heading, fenced, number = "", False, 0
    item: list[str] = []
    indent = begun = 0
    for number, line in enumerate(text.splitlines(), 1):
        if line.lstrip().startswith(("```", "~~~")):
            fenced = not fenced
        bullet = None if fenced else _BULLET.fullmatch(line)
        title = None if fenced else _HEADING.fullmatch(line)
        goes_on = item and line.strip() and len(line) - len(line.lstrip()) > indent
        if goes_on:
            item.append(line.strip())
            continue
        if item and (line.strip() or fenced):
            yield from _bullet(page_id, f"{where} line {begun}", item, heading)
            item = []
        if bullet:
            indent, begun, item = len(bullet[1]), number, [bullet[2].rstrip()]
        elif title:
            heading = title[1]
    if item:
        yield from _bullet(page_id, f"{where} line {begun}", item, heading)


def _bullet(page_id: str, where: str, item: list[str], heading: str) -> Iterator[Item]:
    text = "\n".join(item)
    if _POINTER.search(item[0]):
        yield Skipped(where, Reason.INDEX)
        return
    digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]
    fields = Fields()
    attributes = fields.attributes({"file": page_id, "heading": heading})
    yield record(f"{page_id}#{digest}", where, text, fields, attributes=attributes)


SOURCE = Source(
    "claude-code",
    "*.md with front matter or MEMORY.md, in the folder, its folder `memory`, or */memory",
    _fits,
    _read,
)
