"""Memories of Claude Code's subagents: a folder of Markdown for each agent.

    ~/.claude/agent-memory/AGENT/            `memory: user`, with CLAUDE_CONFIG_DIR elsewhere
    PROJECT/.claude/agent-memory/AGENT/      `memory: project`
    PROJECT/.claude/agent-memory-local/AGENT/    `memory: local`

Each holds MEMORY.md and pages of any names. The agent writes them as it likes: a page with front
matter is one memory, of any other page each list item and each paragraph is one.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from totonoe.importers import claude_code, folders, markdown
from totonoe.importers.folders import Page
from totonoe.importers.records import (
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

_SHARED, _LOCAL = "agent-memory", "agent-memory-local"
_ROOTS = (_SHARED, _LOCAL)


def _roots(path: Path) -> list[tuple[Path, str]]:
    """Return the folders to read, each with the name of its agent, empty: one below for each."""
    if path.name in _ROOTS:
        return [(path, "")]
    if path.parent.name in _ROOTS:
        return [(path, path.name)]
    places = (path / name for name in _ROOTS)
    inner = (path / ".claude" / name for name in _ROOTS)
    return [(place, "") for place in (*places, *inner) if place.is_dir()]


def _fits(path: Path) -> bool:
    return path.is_dir() and bool(_roots(path.absolute()))


def _read(path: Path, _: ReadOptions) -> Iterator[Item]:
    return numbered(_items(path))


def _items(path: Path) -> Iterator[Item]:
    path = path.absolute()
    roots = _roots(path) if path.is_dir() else []
    if not roots:
        raise ValueError(
            f"{path}: got no folder of agents, allowed: one with {' or '.join(_ROOTS)}"
        )
    for root, agent in roots:
        below = root.relative_to(path).as_posix() if root != path else ""
        if below and (root.is_symlink() or root.parent.is_symlink()):
            yield Skipped(below, Reason.LINK)
            continue
        for page in folders.pages(root):
            if isinstance(page, Skipped):
                yield page
                continue
            owner, _slash, rest = page.name.partition("/") if not agent else (agent, "/", page.name)
            if rest:
                yield from _page(page, f"{below}/{page.name}".lstrip("/"), root, owner, rest)
            else:
                yield Skipped(page.name, Reason.NO_AGENT)


def _page(page: Page, file: str, root: Path, agent: str, rest: str) -> Iterator[Item]:
    scope = _scope(root)
    page_id = f"{_place(root)}/{agent}/{rest}"
    found = markdown.front_matter(page.text)
    if found is None and page.text.startswith("---\n"):
        detail = "front matter without an end, allowed: a line ---"
        yield Skipped(f"{file} line 1", Reason.DAMAGED, detail)
        return
    if found is not None and found.entries.get("name"):
        fields = Fields(["front matter"] if found.is_partly_read else [])
        rest_of = {name: text for name, text in found.entries.items() if name != "type"}
        yield record(
            page_id,
            file,
            found.body.strip() or found.entries.get("description"),
            fields,
            span=Span(file),
            agent_id=fields.label("agent", agent),
            category=fields.label("type", found.entries.get("type")),
            created_time=fields.moment("changed", page.changed_s),
            attributes=fields.attributes({**rest_of, **found.lists, "scope": scope}),
        )
        return
    body, line = (found.body, found.line) if found else (page.text, 1)
    for note in markdown.notes(body, line):
        where = f"{file} line {note.first}"
        if note.is_pointer:
            yield Skipped(where, Reason.INDEX)
            continue
        fields = Fields()
        yield record(
            f"{page_id}#{digest_of(note.text)}",
            where,
            note.text,
            fields,
            span=Span(file, note.first, note.last),
            agent_id=fields.label("agent", agent),
            created_time=fields.moment("changed", page.changed_s),
            attributes=fields.attributes({"file": rest, "heading": note.heading, "scope": scope}),
        )


def _scope(root: Path) -> str:
    """Return the scope that the agent's definition has for this folder."""
    base = root if root.name in _ROOTS else root.parent
    if base.name == _LOCAL:
        return "local"
    is_user = base.resolve().parent == claude_code.config_dir().resolve()
    return "user" if is_user else "project"


def _place(root: Path) -> str:
    """Return the name that sets agents of one name in two projects apart."""
    base = (root if root.name in _ROOTS else root.parent).resolve()
    return f"{base.parents[1].name}/{base.name}"


SOURCE = Source(
    "claude-agents",
    "agent-memory or agent-memory-local, in the folder or in its .claude",
    _fits,
    _read,
    claude_code.config_dir,
)
