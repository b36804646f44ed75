"""Markdown as agents write it: front matter, and the notes of a page with their lines."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

_FENCE = re.compile(r"---[ \t]*\r?\n")
_ENTRY = re.compile(r"([ \t]*)([A-Za-z_][\w-]*)[ \t]*:[ \t]*(.*)")
_LIST_ITEM = re.compile(r"[ \t]*-[ \t]+(\S.*)")
_BLOCK = re.compile(r"[|>][+-]?")
_BULLET = re.compile(r"([ \t]*)([-*+]|[0-9]{1,3}[.)])[ \t]+(\S.*)")
_HEADING = re.compile(r"(#{1,6})[ \t]+(.*?)[ \t#]*")
_CODE = ("```", "~~~")
POINTER = re.compile(r"\[[^\]]*\]\([^)\s]+\.md\)")
"""A link to another Markdown file."""


@dataclass(slots=True)
class FrontMatter:
    """The beginning of a page between two lines `---`.

    Attributes
    ----------
    entries : dict of str to str
        Scalars without their quotes, those of an inner object among them.
    lists : dict of str to list of str
        Lists of scalars, `[a, b]` and one a line.
    is_partly_read : bool
        True if it holds a line of another form.
    body : str
        The page behind it.
    line : int
        Number of the first line behind it.
    """

    entries: dict[str, str] = field(default_factory=dict)
    lists: dict[str, list[str]] = field(default_factory=dict)
    is_partly_read: bool = False
    body: str = ""
    line: int = 1


@dataclass(frozen=True, slots=True)
class Note:
    """A list item or a paragraph.

    Attributes
    ----------
    first, last : int
        Its lines, from 1, both included.
    headings : tuple of str
        The headings above it by level, six of them, empty where there is none.
    is_item : bool
        True for an item of a list with marks, false for numbered ones and paragraphs.
    """

    text: str
    first: int
    last: int
    headings: tuple[str, ...]
    is_item: bool

    @property
    def heading(self) -> str:
        """The nearest heading above."""
        return next((heading for heading in reversed(self.headings) if heading), "")

    @property
    def is_pointer(self) -> bool:
        """True if the note begins with a line that links to another Markdown file."""
        return POINTER.search(self.text.partition("\n")[0]) is not None


def begins_with_front_matter(line: str) -> bool:
    """Return true if the first line of a page opens a front matter."""
    return _FENCE.fullmatch(line) is not None


def front_matter(text: str) -> FrontMatter | None:
    """Return the front matter of a page, `None` if it has none or it does not end."""
    opening = _FENCE.match(text)
    if opening is None:
        return None
    found = FrontMatter()
    at, number, block, name, indent = opening.end(), 1, "", "", 0
    for line in text[at:].splitlines(keepends=True):
        at += len(line)
        number += 1
        if line.strip() == "---":
            found.body, found.line = text[at:], number + 1
            return found
        if block and (not line.strip() or len(line) - len(line.lstrip()) > indent):
            found.entries[block] = f"{found.entries[block]} {line.strip()}".strip()
            continue
        block = ""
        if entry := _ENTRY.fullmatch(line.rstrip("\r\n")):
            name, value = entry[2], entry[3].strip()
            if _BLOCK.fullmatch(value):
                block, indent = name, len(entry[1])
                found.entries[block] = ""
            elif value.startswith("[") and value.endswith("]"):
                parts = (unquoted(part) for part in value[1:-1].split(","))
                found.lists[name] = [part for part in parts if part]
            else:
                found.entries.setdefault(name, unquoted(value))
        elif (item := _LIST_ITEM.fullmatch(line.rstrip("\r\n"))) and not found.entries.get(name):
            found.entries.pop(name, None)
            found.lists.setdefault(name, []).append(unquoted(item[1]))
        elif line.strip() and not line.lstrip().startswith("#"):
            found.is_partly_read = True
    return None


def unquoted(value: str) -> str:
    """Return a scalar of YAML without its quotes; one in none as it is."""
    value = value.strip()
    if len(value) > 1 and value[0] == value[-1] == '"':
        return re.sub(r'\\(["\\])', r"\1", value[1:-1])
    if len(value) > 1 and value[0] == value[-1] == "'":
        return value[1:-1].replace("''", "'")
    return value


def notes(text: str, line: int = 1) -> Iterator[Note]:
    """Yield the list items and paragraphs outside of code.

    Lines that go on and items below belong to their item.

    Parameters
    ----------
    line : int
        Number of the first line of `text` in its file.
    """
    headings = [""] * 6
    fenced = is_item = is_paragraph = False
    held: list[str] = []
    first = last = indent = 0

    def made() -> Note:
        return Note("\n".join(held), first, last, tuple(headings), is_item)

    for number, this in enumerate(text.splitlines(), line):
        if this.lstrip().startswith(_CODE):
            fenced = not fenced
        is_code = fenced or this.lstrip().startswith(_CODE)
        bullet = None if is_code else _BULLET.fullmatch(this)
        title = None if is_code else _HEADING.fullmatch(this)
        deeper = len(this) - len(this.lstrip()) > indent
        is_plain = bool(this.strip()) and not (is_code or bullet or title)
        if held and this.strip() and (is_plain if is_paragraph else deeper):
            held.append(this.strip())
            last = number
            continue
        if held and (this.strip() or is_paragraph or is_code):
            yield made()
            held = []
        if bullet:
            indent, is_item = len(bullet[1]), not bullet[2][0].isdigit()
            first, last, held, is_paragraph = number, number, [bullet[3].rstrip()], False
        elif title:
            level = len(title[1])
            headings[level - 1 :] = [title[2], *[""] * (6 - level)]
        elif is_plain:
            first, last, held, is_paragraph = number, number, [this.strip()], True
            is_item = False
    if held:
        yield made()
