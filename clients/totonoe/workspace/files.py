"""Entries in Markdown files: one line each, which ends with the marker of its memory.

    memory/2026-11-22.md               what was remembered that day
    MEMORY.md                          what is worth keeping at hand
    memory/inner-monologue-latest.md   the latest introspection, whole

Only lines that end with a marker of ours are ever changed; all else in a file stays byte for
byte, so that people may write between them. Files of other names are never touched.
"""

from __future__ import annotations

import contextlib
import os
import re
from datetime import date
from pathlib import Path
from typing import IO, Any

CURATED = "MEMORY.md"
MEMORY_DIR = "memory"
MONOLOGUE = "inner-monologue-latest.md"
FILE_MODE, FOLDER_MODE = 0o600, 0o700
"""The collection's file is its owner's alone; a copy of it is no less."""

_MARKER = re.compile(r"\[id:(mem_[0-9a-f]{12,32})\][ \t]*\Z")
_DAY = re.compile(r"\d{4}-\d{2}-\d{2}\.md\Z")


def marked(line: str) -> str:
    """Id of the memory whose entry a line is; empty if it is none. A line end may follow."""
    found = _MARKER.search(line.rstrip("\r\n"))
    return found.group(1) if found else ""


class Folder:
    """The files of one workspace; raises `OSError` where they cannot be read or written."""

    def __init__(self, root: Path) -> None:
        self.root = root

    @property
    def monologue(self) -> Path:
        """The file of the latest introspection."""
        return self.root / MEMORY_DIR / MONOLOGUE

    @property
    def curated(self) -> Path:
        """The file of what is worth keeping at hand."""
        return self.root / CURATED

    def daily(self, day: date) -> Path:
        """The log of a day."""
        return self.root / MEMORY_DIR / f"{day.isoformat()}.md"

    def entry_files(self) -> list[Path]:
        """Every file that may hold entries: the curated one and the daily logs."""
        folder = self.root / MEMORY_DIR
        days = sorted(path for path in folder.glob("*.md") if _DAY.match(path.name))
        return [*([self.curated] if self.curated.exists() else []), *days]

    def ids(self) -> set[str]:
        """Ids of all entries that there are."""
        return {
            memory_id
            for path in self.entry_files()
            for line in _lines(path)
            if (memory_id := marked(line))
        }

    def put(self, memory_id: str, entries: dict[Path, str]) -> None:
        """Makes these the entries of a memory: renewed where they are, else put at the end.

        Entries of it in any other file go. A file that would not change is not written.
        """
        for path in self.entry_files():
            if path not in entries:
                _renew(path, memory_id, None)
        for path, text in entries.items():
            _renew(path, memory_id, f"{text} [id:{memory_id}]")

    def write_monologue(self, text: str | None) -> None:
        """Writes the latest introspection; `None`: there is none, and the file goes."""
        if text is None:
            self.monologue.unlink(missing_ok=True)
        else:
            write(self.monologue, text.rstrip("\n") + "\n")

    def restrict(self) -> None:
        """Takes the rights of others from the files of an earlier version that are there."""
        for path in (*self.entry_files(), self.monologue):
            # One that is another user's is replaced when it is next written.
            with contextlib.suppress(FileNotFoundError, PermissionError):
                path.chmod(FILE_MODE)


def _renew(path: Path, memory_id: str, line: str | None) -> None:
    """Puts one entry into a file, or takes it out."""
    lines = _lines(path)
    kept: list[str] = []
    pending = line
    for held in lines:
        if marked(held) != memory_id:
            kept.append(held)
        elif pending is not None:
            kept.append(pending + held[len(held.rstrip("\r\n")) :])
            pending = None
    if pending is not None:
        if kept and not kept[-1].endswith("\n"):
            kept[-1] += "\n"
        if not kept:
            kept.append(f"# {'Memory' if path.name == CURATED else path.stem}\n\n")
        kept.append(pending + "\n")
    if kept != lines:
        write(path, "".join(kept))


def _lines(path: Path) -> list[str]:
    """Lines with their ends. What is no UTF-8 survives as it is."""
    try:
        with path.open(encoding="utf-8", errors="surrogateescape", newline="") as file:
            # Not splitlines(): that also splits at characters that end no line of a file.
            parts = file.read().split("\n")
    except FileNotFoundError:
        return []
    return [part + "\n" for part in parts[:-1]] + ([parts[-1]] if parts[-1] else [])


def write(path: Path, text: str) -> None:
    """Replaces a file as a whole, so that nobody reads half of it. Its owner alone may read it."""
    # A link to somewhere else stays a link.
    path = path.resolve()
    path.parent.mkdir(mode=FOLDER_MODE, parents=True, exist_ok=True)
    fresh = path.with_name(f".{path.name}.new")
    with opened(fresh, "w", errors="surrogateescape", newline="") as file:
        file.write(text)
    fresh.replace(path)


def opened(path: Path, mode: str, **options: Any) -> IO[str]:
    """A file for text that its owner alone may read, also if it was there before."""
    # Path.open takes no opener; the caller closes it.
    file: IO[str] = open(path, mode, encoding="utf-8", opener=_opener, **options)  # noqa: SIM115
    os.fchmod(file.fileno(), FILE_MODE)
    return file


def _opener(path: str, flags: int) -> int:
    return os.open(path, flags, FILE_MODE)
