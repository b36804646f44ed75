"""Keeps a workspace's files as a collection is: follows Watch, and remembers how far it came.

    start   a mark is there: go on after its revision
            none, or one that the collection has not reached: compare all files with all memories
    then    each change: files first, the mark after them

A memory has entries while it is live and not private. A change that cannot be written is tried
again until it can; what was forgotten stays forgotten meanwhile, and later changes wait their turn.
Doing a change twice does nothing twice, so that a crash between files and mark is harmless.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, tzinfo
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from totonoe.enums import Status
from totonoe.errors import OutOfRange
from totonoe.unprintable import escaped
from totonoe.words.text import sourced
from totonoe.workspace.files import FOLDER_MODE, Folder, opened, write

if TYPE_CHECKING:
    from totonoe.client import Client
    from totonoe.memories.models import Memory
    from totonoe.watch.models import Change

MARK = ".totonoe-workspace.json"
CURATED_CATEGORIES = ("introspection", "constraint", "postmortem", "decision")
CURATED_IMPORTANCE = 4
INTROSPECTION = "introspection"
_RETRY_S = (1.0, 2.0, 5.0, 10.0, 30.0)
_PAGE_SIZE = 500


@dataclass(frozen=True, slots=True)
class Rules:
    """Rules that choose the file of a memory.

    Attributes
    ----------
    zone : tzinfo
        Whose days the daily logs are.
    curated_importance : int
        From this importance on a memory is in MEMORY.md.
    curated_categories : tuple of str
        Memories of these categories are there whatever their importance.
    """

    zone: tzinfo = UTC
    curated_importance: int = CURATED_IMPORTANCE
    curated_categories: tuple[str, ...] = CURATED_CATEGORIES

    def entries(self, folder: Folder, memory: Memory) -> dict[Path, str]:
        """Files that hold an entry of a memory, and the entry in each without its marker."""
        if not shown(memory):
            return {}
        then = memory.created_time.astimezone(self.zone)
        category = f"[{_on_one_line(memory.category)}] " if memory.category else ""
        content = sourced(memory, _on_one_line(memory.content))
        found = {folder.daily(then.date()): f"- {then:%H:%M} {category}{content}"}
        if (
            memory.importance >= self.curated_importance
            or memory.category in self.curated_categories
        ):
            found[folder.curated] = f"- {then:%Y-%m-%d} {category}{content}"
        return found


def _on_one_line(text: str) -> str:
    """The text with white space folded, and escapes for what would steer an editor or terminal."""
    return escaped(" ".join(text.split()))


def shown(memory: Memory) -> bool:
    """True if a memory has entries at all."""
    return memory.status is Status.ACTIVE and not memory.private


class Busy(Exception):  # noqa: N818 - says what happened
    """Another process keeps this workspace."""


class Workspace:
    """One folder and the collection that it follows.

    Parameters
    ----------
    tell : callable
        Is given a line for people about what was done or could not be done; no memory text.
    patient : bool
        Try again, for ever, where a file cannot be written. Else `OSError` is raised.
    """

    def __init__(
        self,
        root: Path,
        client: Client,
        rules: Rules,
        tell: Callable[[str], None],
        *,
        patient: bool = True,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._patient = patient
        self._folder = Folder(root)
        self._client = client
        self._rules = rules
        self._tell = tell
        self._sleep = sleep
        self._monologue_id = ""
        self._collection: list[str] = []

    @contextlib.contextmanager
    def locked(self) -> Iterator[None]:
        """Keeps other processes out of the folder. Raises `Busy`."""
        self._folder.root.mkdir(mode=FOLDER_MODE, parents=True, exist_ok=True)
        with opened(self._folder.root / f"{MARK}.lock", "a") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError as error:
                raise Busy(f"{self._folder.root} is kept by another process") from error
            self._folder.restrict()
            yield

    def catch_up(self) -> int:
        """Brings the files to the collection's newest revision, which is returned."""
        collection = self._client.get_collection()
        self._collection = [collection.name, collection.created_time.isoformat()]
        mark = self._read_mark()
        ours = mark.get("collection") == self._collection
        if not ours or mark.get("rules") != self._rules_text():
            return self._compare_all(ours)
        self._monologue_id = str(mark.get("monologue_id", ""))
        revision = int(mark.get("revision", 0))
        try:
            for event in self._client.watch(after_revision=revision, heartbeat_s=1.0):
                revision = event.revision
                if event.change is not None:
                    self._follow(event.change, revision)
                elif revision >= collection.revision:
                    # One that comes before only says that there is much to leave out.
                    break
        except OutOfRange:
            # The collection was taken back to an earlier state.
            return self._compare_all(ours)
        self._until_written(lambda: self._mark(revision))
        return revision

    def follow(self) -> None:
        """Brings the files up to date and keeps them so, until it is interrupted."""
        revision = self.catch_up()
        self._tell(f"up to date at revision {revision}")
        for event in self._client.watch(after_revision=revision):
            if event.change is not None:
                self._follow(event.change, event.revision)

    def _follow(self, change: Change, revision: int) -> None:
        self._until_written(lambda: self._apply(change))
        self._until_written(lambda: self._mark(revision))
        operation, count = change.operation, len(change.memories)
        self._tell(f"revision {operation.revision}: {operation.kind}, memories: {count}")

    def _apply(self, change: Change) -> None:
        introspected = False
        for changed in change.memories:
            memory = changed.memory
            self._put(changed.memory_id, memory)
            introspected |= changed.memory_id == self._monologue_id or (
                memory is not None and memory.category == INTROSPECTION
            )
        if introspected:
            self._write_monologue()

    def _put(self, memory_id: str, memory: Memory | None) -> None:
        entries = {} if memory is None else self._rules.entries(self._folder, memory)
        self._folder.put(memory_id, entries)

    def _compare_all(self, ours: bool) -> int:
        """Entries of all that is live, and of nothing else that the collection knows.

        Entries of memories that it does not know go only from files that were `ours` before:
        otherwise somebody else may have written them.
        """
        revision = self._client.list(page_size=1).revision
        there: set[str] = set()
        for memory in self._client.list_all(page_size=_PAGE_SIZE):
            there.add(memory.id)
            self._until_written(partial(self._put, memory.id, memory))
        others = sorted(self._folder.ids() - there)
        left = 0
        for start in range(0, len(others), _PAGE_SIZE):
            ids = others[start : start + _PAGE_SIZE]
            # Two at least: a single unknown one would be an error.
            unknown = set(self._client.get_many([*ids, *ids[:1]]).missing_ids)
            for memory_id in ids:
                if memory_id in unknown and not ours:
                    left += 1
                else:
                    self._until_written(partial(self._put, memory_id, None))
        if left:
            self._tell(f"left as they are: {left} entries of memories that are not known here")
        self._until_written(self._write_monologue)
        # What was written meanwhile is told again by the Watch from here.
        self._until_written(lambda: self._mark(revision))
        return revision

    def _write_monologue(self) -> None:
        latest: Memory | None = None
        for memory in self._client.list_all(page_size=_PAGE_SIZE, categories=[INTROSPECTION]):
            if shown(memory):
                latest = memory
        if latest is not None:
            self._folder.write_monologue(sourced(latest, escaped(latest.content)))
        elif self._monologue_id:
            self._folder.write_monologue(None)
        self._monologue_id = "" if latest is None else latest.id

    # -- The mark

    def _read_mark(self) -> dict[str, Any]:
        """The mark that was noted last; empty if there is none that can be read."""
        try:
            data = json.loads((self._folder.root / MARK).read_text(encoding="utf-8"))
        except (FileNotFoundError, ValueError):
            return {}
        return data if isinstance(data, dict) else {}

    def _mark(self, revision: int) -> None:
        """Notes that all changes up to a revision are in the files."""
        data = {
            "collection": self._collection,
            "revision": revision,
            "monologue_id": self._monologue_id,
            "rules": self._rules_text(),
        }
        write(self._folder.root / MARK, json.dumps(data) + "\n")

    def _rules_text(self) -> str:
        """The rules that the files follow: with others they are compared anew."""
        rules = self._rules
        return f"{rules.zone} {rules.curated_importance} {sorted(rules.curated_categories)}"

    def _until_written(self, step: Callable[[], None]) -> None:
        tries = 0
        while True:
            try:
                step()
            except OSError as error:
                if not self._patient:
                    raise
                wait_s = _RETRY_S[min(tries, len(_RETRY_S) - 1)]
                tries += 1
                self._tell(f"cannot write: {error.strerror or error}; again in {wait_s:.0f} s")
                self._sleep(wait_s)
            else:
                return
