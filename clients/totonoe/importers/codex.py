"""Memories of Codex: the folder `memories` in its home, a git repository that Codex writes.

    MEMORY.md             the handbook: blocks `# Task Group: ...` with lists
    memory_summary.md     the first line `v1`, then a profile, preferences, tips and an index
    rollout_summaries/    a page for each session: a head of `name: value` lines, then the summary
    extensions/ad_hoc/notes/    what the user asked to be remembered

Each list item of the first two is a memory, each page of the others one. Left out: the lists that
only point to sessions, `raw_memories.md`, from which the handbook is made, and the skills.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

from totonoe.importers import folders, markdown
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

_HANDBOOK, _SUMMARY, _RAW = "MEMORY.md", "memory_summary.md", "raw_memories.md"
_SESSIONS, _NOTES = "rollout_summaries/", "extensions/ad_hoc/notes/"
_VERSION = "v1"
_GROUP = re.compile(r"Task Group:[ \t]*(.*)")
_POINTING = ("rollout_summary_files", "keywords")
_INDEX_HEADING = "What's in Memory"
_REFERENCES = re.compile(r"(?:[ \t]*\[(?:Task [0-9]+|ad-hoc note)\])+[ \t]*$")
_UPDATED = re.compile(r"updated_at=([0-9T:.+Z-]+)")
_HEAD = re.compile(r"(thread_id|updated_at|rollout_path|cwd|git_branch):[ \t]*(.*)")
_ABOUT = re.compile(r"(scope|applies_to):[ \t]*(.*)")


def home() -> Path:
    """Return the folder of this user's memories."""
    return Path(os.environ.get("CODEX_HOME") or Path.home() / ".codex") / "memories"


def _root(path: Path) -> Path:
    inner = path / "memories"
    return inner if (inner / _HANDBOOK).is_file() and not (path / _HANDBOOK).is_file() else path


def _fits(path: Path) -> bool:
    root = _root(path)
    if (root / _SUMMARY).is_file():
        return True
    handbook = root / _HANDBOOK
    try:
        with handbook.open(encoding="utf-8", errors="replace") as page:
            return page.readline(500).startswith("# Task Group:")
    except OSError:
        return False


def _read(path: Path, _: ReadOptions) -> Iterator[Item]:
    return numbered(_items(path))


def _items(path: Path) -> Iterator[Item]:
    root = _root(path)
    if root.is_symlink() and root != path:
        raise ValueError(f"{root}: got a symbolic link, allowed: name the folder that it leads to")
    if not root.is_dir():
        raise ValueError(f"{path}: got no folder, allowed: Codex's folder `memories`")
    before = "" if root == path else "memories/"
    for page in folders.pages(root):
        if isinstance(page, Skipped):
            yield page
        elif page.name == _HANDBOOK:
            yield from _handbook(page, before)
        elif page.name == _SUMMARY:
            yield from _summary(page, before)
        elif page.name == _RAW:
            yield Skipped(page.name, Reason.DERIVED)
        elif page.name.startswith((_SESSIONS, _NOTES)):
            yield _whole(page, before)


# -- the handbook


def _handbook(page: Page, before: str) -> Iterator[Item]:
    updated = _updated(page.text)
    about: dict[str, dict[str, str]] = {}
    for note in markdown.notes(page.text):
        where = f"{page.name} line {note.first}"
        group = _GROUP.fullmatch(note.headings[0])
        name = group[1] if group else note.headings[0]
        if note.headings[2].casefold() in _POINTING or note.headings[1].casefold() in _POINTING:
            continue
        if not note.is_item and (lines := _about(note.text)):
            about.setdefault(name, {}).update(lines)
            continue
        references = _REFERENCES.search(note.text)
        text = note.text[: references.start()].rstrip() if references else note.text
        fields = Fields()
        section = note.headings[1] if not note.headings[2] else note.headings[2]
        yield record(
            f"{page.name}#{digest_of(f'{name} {text}')}",
            where,
            text,
            fields,
            span=Span(before + page.name, note.first, note.last),
            category=fields.label("section", section),
            created_time=fields.moment("updated_at", updated.get(name) or page.changed_s),
            attributes=fields.attributes(
                {
                    "task_group": name,
                    **about.get(name, {}),
                    "tasks": references[0].strip() if references else "",
                }
            ),
        )


def _about(text: str) -> dict[str, str]:
    """Return the lines below the heading of a block, none if it is another paragraph."""
    found = [_ABOUT.fullmatch(line) for line in text.splitlines()]
    return {line[1]: line[2] for line in found if line} if found and found[0] else {}


def _updated(text: str) -> dict[str, str]:
    """Return when a session last added to each block."""
    latest: dict[str, str] = {}
    name = ""
    for line in text.splitlines():
        if line.startswith("# "):
            group = _GROUP.fullmatch(line[2:].strip())
            name = group[1] if group else line[2:].strip()
        for stamp in _UPDATED.findall(line):
            latest[name] = max(latest.get(name, ""), stamp)
    return latest


# -- the other pages


def _summary(page: Page, before: str) -> Iterator[Item]:
    first, _, body = page.text.partition("\n")
    if first.strip() != _VERSION:
        got = f"another version of the summary, allowed: a first line {_VERSION}"
        yield Skipped(f"{page.name} line 1", Reason.DAMAGED, got)
        return
    for note in markdown.notes(body, 2):
        where = f"{page.name} line {note.first}"
        if note.headings[1] == _INDEX_HEADING:
            yield Skipped(where, Reason.INDEX)
            return
        fields = Fields()
        yield record(
            f"{page.name}#{digest_of(note.text)}",
            where,
            note.text,
            fields,
            span=Span(before + page.name, note.first, note.last),
            category=fields.label("section", note.headings[1]),
            created_time=fields.moment("changed", page.changed_s),
        )


def _whole(page: Page, before: str) -> Item:
    """Return a session's summary or a note of the user, without the head."""
    head: dict[str, str] = {}
    lines = page.text.splitlines(keepends=True)
    while lines and (entry := _HEAD.fullmatch(lines[0].strip())):
        head[entry[1]] = entry[2]
        del lines[0]
    fields = Fields()
    is_session = page.name.startswith(_SESSIONS)
    rest = {name: head.get(name) for name in ("cwd", "rollout_path", "git_branch")}
    return record(
        page.name,
        page.name,
        "".join(lines).strip(),
        fields,
        span=Span(before + page.name),
        kind="event" if is_session else None,
        category="session" if is_session else "note",
        source=None if is_session else "user",
        session_id=fields.label("thread_id", head.get("thread_id")),
        created_time=fields.moment("updated_at", head.get("updated_at") or page.changed_s),
        attributes=fields.attributes(rest),
    )


SOURCE = Source(
    "codex",
    f"a folder with {_SUMMARY}, or with {_HANDBOOK} that begins with `# Task Group:`",
    _fits,
    _read,
    home,
)
