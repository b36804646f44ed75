"""Files and directories of the memory tool: each is one memory of category `file`.

A file's memory has the external id `file:` and the path, and the file as its text. A directory's
has `{"directory": true}` in its payload. A text with no visible character, which no memory may
have, stands in the payload.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from anthropic.lib.tools import ToolError

from totonoe.adapters.anthropic import editing, paths
from totonoe.adapters.anthropic.notes import Notes
from totonoe.adapters.steps import Call, Steps
from totonoe.errors import (
    ExternalIdExists,
    InvalidArgument,
    NotActive,
    NotFound,
    StaleRevision,
    TotonoeError,
)
from totonoe.memories.models import Found, Link, Memory, Page, Remembered, Updated

CATEGORY = "file"
FILE_BYTES_MAX = 32 * 1024
"""A file is one memory, so that each edit is one operation: undone as one, lost never."""
ENTRIES_MAX = 4_000
"""Files and directories that a listing, or a rename of a directory, reads."""
ATTEMPTS_MAX = 32
"""How often an edit is tried on a file that others change at the same time."""
CLEARINGS_MAX = 64
"""How often `clear_all_memory` looks for files that are left."""
FORGET_IDS_MAX = 1_000
_PAGE = 100
_EMPTY, _DIRECTORY = "(no visible text)", "(directory)"


@dataclass(frozen=True, slots=True)
class Entry:
    """A file, or a directory if `text` is `None`; `revision` is that of its memory."""

    id: str
    path: str
    text: str | None
    revision: int
    links: tuple[Link, ...]

    @classmethod
    def of(cls, memory: Memory) -> Entry:
        """Read the entry of a memory."""
        if memory.payload.get("directory"):
            text = None
        else:
            text = str(memory.payload.get("text", memory.content))
        path = memory.external_id.removeprefix(paths.PREFIX)
        return cls(memory.id, path, text, memory.revision, memory.links)


_ROOT = Entry("", paths.ROOT, None, 0, ())


class Files:
    """The commands of the tool as steps. Each returns the answer, and raises `ToolError`.

    Parameters
    ----------
    collection : str or None
        `None`: the client's.
    private : bool
        Whether new files are visible to their own agent only.
    notes : Notes or None
        Keeps the statements of files as memories; `None`: nobody does.
    """

    def __init__(self, collection: str | None, private: bool, notes: Notes | None) -> None:
        self._collection = collection
        self._private = private
        self._notes = notes

    # -- Commands

    def view(self, path: str, view_range: Sequence[int] | None = None) -> Steps[str]:
        """Show a file, or the files and directories up to two levels below a directory."""
        where = paths.resolved(path)
        entry = yield from self._entry(where)
        if entry is not None and entry.text is not None:
            return editing.viewed(path, entry.text, view_range)
        below = yield from self._below(where)
        if entry is None and not below:
            raise ToolError(f"The path {path} does not exist. Please provide a valid path.")
        sizes = {
            child.path[len(where) + 1 :]: None if child.text is None else len(child.text.encode())
            for child in below
        }
        return editing.listed(path, sizes)

    def create(self, path: str, file_text: str) -> Steps[str]:
        """Make a file, and the directories above it."""
        where = paths.resolved(path)
        _check_size(path, file_text)
        _check_directory((yield from self._make_directories(paths.parents(where))))
        if where == paths.ROOT:
            raise ToolError(f"File {path} already exists")
        try:
            saved: Remembered = yield from self._written(
                "remember", file_text, external_id=paths.external_id(where), **self._labels
            )
        except ExternalIdExists as error:
            raise ToolError(f"File {path} already exists") from error
        answer = f"File created successfully at: {path}"
        entry = Entry(saved.memory_id, where, file_text, saved.revision, ())
        return answer + (yield from self._noted(entry, ""))

    def str_replace(self, path: str, old_str: str, new_str: str) -> Steps[str]:
        """Replace the one occurrence of a text in a file."""

        def edit(text: str) -> tuple[str, str]:
            return editing.replaced(path, text, old_str, new_str)

        return (yield from self._edited(path, edit))

    def insert(self, path: str, insert_line: int, insert_text: str) -> Steps[str]:
        """Insert lines after a line of a file; 0: before the first."""

        def edit(text: str) -> tuple[str, str]:
            answer = f"The file {path} has been edited."
            return editing.inserted(text, insert_line, insert_text), answer

        return (yield from self._edited(path, edit))

    def delete(self, path: str) -> Steps[str]:
        """Forget a file, or a directory with all below it."""
        where = paths.resolved(path)
        if where == paths.ROOT:
            raise ToolError(f"Cannot delete the {paths.ROOT} directory itself")
        entry = yield from self._entry(where)
        going = [] if entry is None else [entry]
        if entry is None or entry.text is None:
            going += yield from self._below(where)
        if not going:
            raise ToolError(f"The path {path} does not exist")
        yield from self._forget(going, f"deleted {where}")
        return f"Successfully deleted {path}"

    def rename(self, old_path: str, new_path: str) -> Steps[str]:
        """Move a file, or a directory with all below it; all or nothing."""
        old, new = paths.resolved(old_path), paths.resolved(new_path)
        if old == paths.ROOT:
            raise ToolError(f"Cannot rename the {paths.ROOT} directory itself")
        taken = yield from self._entry(new)
        if taken is not None:
            raise ToolError(f"The destination {new_path} already exists")
        if paths.is_below(new, old):
            raise ToolError(f"Cannot move {old_path} into itself: {new_path}")
        # Before the look at the old path, as in the SDK, whose directories stay too.
        file = yield from self._make_directories(paths.parents(new))
        entry = yield from self._entry(old)
        going = [] if entry is None else [entry]
        if entry is None or entry.text is None:
            going += yield from self._below(old)
        if not going:
            raise ToolError(f"The path {old_path} does not exist")
        _check_directory(file)
        target = {moved.id: new + moved.path[len(old) :] for moved in going}
        for moved in target.values():
            paths.resolved(moved)
        yield from self._move(target, f"renamed {old} to {new}", new_path)
        return f"Successfully renamed {old_path} to {new_path}"

    def clear_all_memory(self) -> Steps[str]:
        """Forget all files and directories."""
        for _ in range(CLEARINGS_MAX):
            going = yield from self._below(paths.ROOT, some=True)
            if not going:
                return "All memory cleared"
            yield from self._forget(going, "cleared all memory")
        raise ToolError(f"Files are left below {paths.ROOT}: others make new ones. Try again.")

    # -- Steps of several commands

    @property
    def _labels(self) -> dict[str, Any]:
        return {"category": CATEGORY, "private": self._private, "links_max": 0}

    def _call(self, name: str, *args: Any, **kwargs: Any) -> Call:
        return Call(name, *args, collection=self._collection, **kwargs)

    def _entry(self, path: str) -> Steps[Entry | None]:
        """Return what is at a path, `None` for nothing."""
        if path == paths.ROOT:
            return _ROOT
        return (yield from self._entries_at([path])).get(path)

    def _entries_at(self, wanted: Sequence[str]) -> Steps[dict[str, Entry]]:
        """Return what is at some paths, by path; what is absent is left out."""
        if not wanted:
            return {}
        ids = [f"ext:{paths.external_id(path)}" for path in wanted]
        try:
            found: Found = yield self._call("get_many", ids)
        except NotFound as error:
            if error.reason != "MEMORY_NOT_FOUND":
                raise
            return {}
        return {entry.path: entry for entry in _entries(found.memories)}

    def _page(self, token: str) -> Call:
        return self._call("list", categories=[CATEGORY], page_size=_PAGE, page_token=token)

    def _below(self, directory: str, some: bool = False) -> Steps[list[Entry]]:
        """Return all files and directories below a directory, or `some` if they are too many."""
        entries: list[Entry] = []
        token = ""
        while True:
            page: Page = yield self._page(token)
            entries += [
                entry for entry in _entries(page.memories) if paths.is_below(entry.path, directory)
            ]
            if len(entries) > ENTRIES_MAX:
                if some:
                    return entries
                raise ToolError(
                    f"More than {ENTRIES_MAX} files and directories are below {directory}."
                    " Name one of its directories."
                )
            token = page.next_page_token
            if not token:
                return entries

    def _make_directories(self, wanted: Sequence[str]) -> Steps[str]:
        """Make the directories that are missing, given the nearest first.

        Returns the nearest if it is a file: then nothing is missing, and nothing fits below it.
        """
        entries = yield from self._entries_at(wanted)
        missing: list[str] = []
        for path in wanted:
            entry = entries.get(path)
            if entry is not None:
                if entry.text is not None:
                    if not missing:
                        return path
                    _check_directory(path)
                break
            missing.append(path)
        for path in reversed(missing):
            try:
                yield self._call(
                    "remember",
                    _DIRECTORY,
                    external_id=paths.external_id(path),
                    payload={"directory": True},
                    **self._labels,
                )
            except ExternalIdExists:
                # Somebody else made it, or a file of the name, just now.
                made = yield from self._entry(path)
                if made is not None and made.text is not None:
                    return path
        return ""

    def _written(self, name: str, text: str, *args: Any, **fields: Any) -> Steps[Any]:
        """Write a file by `remember` or `update`, and return the answer."""
        if name == "update":
            fields["payload"] = None
        try:
            return (yield self._text_call(name, text, args, fields))
        except InvalidArgument as error:
            if error.reason != "EMPTY_TEXT":
                raise
        fields["payload"] = {"text": text}
        return (yield self._text_call(name, _EMPTY, args, fields))

    def _text_call(
        self, name: str, text: str, args: Sequence[Any], fields: Mapping[str, Any]
    ) -> Call:
        if name == "update":
            return self._call(name, *args, content=text, **fields)
        return self._call(name, text, *args, **fields)

    def _edited(self, path: str, edit: Callable[[str], tuple[str, str]]) -> Steps[str]:
        """Change the text of a file as it is now.

        If somebody changes it meanwhile, it is read and changed again: no edit is lost.
        """
        where = paths.resolved(path)
        for _ in range(ATTEMPTS_MAX):
            entry = yield from self._entry(where)
            if entry is None:
                raise ToolError(f"The path {path} does not exist. Please provide a valid path.")
            if entry.text is None:
                raise ToolError(f"The path {path} is not a file.")
            text, answer = edit(entry.text)
            if text == entry.text:
                return answer
            _check_size(path, text)
            try:
                updated: Updated = yield from self._written(
                    "update", text, entry.id, expected_revision=entry.revision
                )
            except (StaleRevision, NotActive):
                continue
            return answer + (yield from self._noted(Entry.of(updated.memory), entry.text))
        raise ToolError(
            f"The file {path} was changed by others {ATTEMPTS_MAX} times meanwhile. Try again."
        )

    def _noted(self, entry: Entry, before: str) -> Steps[str]:
        """Keep the statements of a file that was written, and return the Note for the answer."""
        if self._notes is None or entry.text is None:
            return ""
        try:
            note = yield from self._notes.follow(entry.id, entry.text, before, entry.links)
        except TotonoeError as error:
            note = f"the lines of the file were not compared with the memory: {error}"
        return f"\n\nNote: {note}" if note else ""

    def _forget(self, going: Sequence[Entry], reason: str) -> Steps[None]:
        """Forget entries and the statements that only they hold; one operation if it can be."""
        ids = [entry.id for entry in going]
        if self._notes is not None:
            ids += yield from self._notes.only_of(ids, [entry.links for entry in going])
        for at in range(0, len(ids), FORGET_IDS_MAX):
            # NotFound: somebody else forgot it just now.
            with suppress(NotFound):
                yield self._call("forget", ids[at : at + FORGET_IDS_MAX], reason=reason)

    def _move(self, target: Mapping[str, str], reason: str, new_path: str) -> Steps[None]:
        """Give entries new paths by id. If one fails, those before it are taken back."""
        done: list[str] = []
        try:
            for memory_id, path in target.items():
                updated: Updated = yield self._call(
                    "update", memory_id, external_id=paths.external_id(path), reason=reason
                )
                done.append(updated.operation_id)
        except TotonoeError as error:
            for operation_id in reversed(done):
                yield self._call("undo", operation_id, reason=f"failed: {reason}"[:256])
            if isinstance(error, ExternalIdExists):
                raise ToolError(f"The destination {new_path} already exists") from error
            raise


def _entries(memories: Iterable[Memory]) -> list[Entry]:
    """Return the live files and directories among memories."""
    return [
        Entry.of(memory)
        for memory in memories
        if memory.status == "active"
        and paths.is_below(memory.external_id, paths.external_id(paths.ROOT))
    ]


def _check_directory(file: str) -> None:
    if file:
        raise ToolError(f"The path {file} is a file, not a directory.")


def _check_size(path: str, text: str) -> None:
    paths.check_text(text, f"The text of {path}")
    size = len(text.encode())
    if size > FILE_BYTES_MAX:
        raise ToolError(
            f"The file {path} would have {size} bytes; allowed: at most {FILE_BYTES_MAX}."
            " Nothing was changed. Split it into several files."
        )
