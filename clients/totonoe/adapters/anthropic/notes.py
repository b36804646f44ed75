"""Statements of files as memories: saved through the guard, linked to their file, and compared.

A link from a file to a memory carries the keys of the file's statements that the memory says. So
the links alone say what was saved, and each write of the file brings them up to date, whatever
happened before. A memory that a file saved has the tag `TAG`. Others are linked, and never
forgotten here.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from totonoe.adapters.anthropic import paths
from totonoe.adapters.anthropic.lines import Statement, statements
from totonoe.adapters.steps import Call, Steps
from totonoe.errors import NotFound, TotonoeError
from totonoe.fence import may_quote, quoted
from totonoe.memories.drafts import Draft
from totonoe.memories.models import (
    Found,
    ItemResult,
    Judgement,
    Link,
    Memory,
    Remembered,
)

TAG = "file line"
_PREFIX = "lines of the file: "
KEYS_PER_LINK_MAX = 64
SHOWN_MAX = 3
"""Findings that one Note names; more are counted."""

Keys = dict[str, set[str]]
"""Keys of a file's statements, by the id of the memory that says them."""
_DIFFERENT = frozenset({"update", "contradiction"})


def keys_of(link: Link) -> set[str]:
    """Return the keys that a link between a file and a memory carries; empty for another link."""
    return set(link.note[len(_PREFIX) :].split()) if link.note.startswith(_PREFIX) else set()


@dataclass(frozen=True, slots=True)
class _GuardNote:
    """The guard's finding about a statement and another memory, in the words of a Note."""

    verb: str
    memory_id: str
    snippet: str
    detail: str = ""


class Notes:
    """Keeps the statements of files as memories, in steps. `collection`, `private` as for files."""

    def __init__(self, collection: str | None, private: bool) -> None:
        self._collection = collection
        self._private = private

    def _call(self, name: str, *args: Any, **kwargs: Any) -> Call:
        return Call(name, *args, collection=self._collection, **kwargs)

    def follow(self, file_id: str, text: str, before: str, links: Sequence[Link]) -> Steps[str]:
        """Save the new statements of a file, forget those that are gone; return what was found.

        Parameters
        ----------
        text, before : str
            The file now, and before it was written: only what is new is found.
        links : sequence of Link
            Links of the file's memory.
        """
        now = statements(text)
        wanted: dict[str, Statement] = {}
        for statement in now:
            wanted.setdefault(statement.key, statement)
        held = _held(links)
        yield from self._let_go(file_id, held, wanted.keys())
        held = {
            memory_id: keys & wanted.keys()
            for memory_id, keys in held.items()
            if keys & wanted.keys()
        }
        known = set[str]().union(*held.values())
        new = [statement for key, statement in wanted.items() if key not in known]
        results = yield from self._save(new)
        failed = [result.error for result in results if result.error is not None]
        answered = [
            (statement, result.remembered)
            for statement, result in zip(new, results, strict=True)
            if result.remembered is not None
        ]
        saved = [
            (statement, said)
            for statement, said in answered
            if said.saved or said.duplicate is not None
        ]
        failed += yield from self._link(file_id, held, saved)
        found = _repeated(now, before) + _forgotten(answered)
        found += yield from self._findings(file_id, wanted, held, saved)
        if failed:
            found.append((0, f"lines that are not saved as memories: {len(failed)}, {failed[0]}"))
        return _sentence([sentence for _, sentence in sorted(found)])

    def only_of(self, file_ids: Iterable[str], links: Iterable[Sequence[Link]]) -> Steps[list[str]]:
        """Return the statements that were saved by files, and that no other file says."""
        ids = list(dict.fromkeys(memory_id for held in links for memory_id in _held(held)))
        own = set(file_ids)
        memories = yield from self._memories(ids)
        return [memory.id for memory in memories if _is_left(memory, own)]

    def _let_go(self, file_id: str, held: Keys, wanted: Iterable[str]) -> Steps[None]:
        """Forget or unlink the memories of statements that a file no longer has."""
        gone = [memory_id for memory_id, keys in held.items() if not keys & set(wanted)]
        memories = yield from self._memories(gone)
        left = [memory.id for memory in memories if _is_left(memory, {file_id})]
        if left:
            # NotFound: somebody else forgot it just now.
            with suppress(NotFound):
                yield self._call("forget", left, reason="gone from its file")
        for memory_id in gone:
            if memory_id not in left:
                with suppress(NotFound):
                    yield self._call("unlink", file_id, memory_id, "related")

    def _save(self, new: Sequence[Statement]) -> Steps[list[ItemResult]]:
        if not new:
            return []
        drafts = [Draft(statement.text, tags=[TAG], private=self._private) for statement in new]
        results: list[ItemResult] = yield self._call("remember_many", drafts)
        return results

    def _link(
        self, file_id: str, held: Keys, saved: Iterable[tuple[Statement, Remembered]]
    ) -> Steps[list[TotonoeError]]:
        """Link the memories that say the new statements; adds them to `held`. Returns failures."""
        changed: dict[str, None] = {}
        for statement, remembered in saved:
            keys = held.setdefault(remembered.memory_id, set())
            if len(keys) < KEYS_PER_LINK_MAX:
                keys.add(statement.key)
                changed[remembered.memory_id] = None
        failed = []
        for memory_id in changed:
            note = _PREFIX + " ".join(sorted(held[memory_id]))
            try:
                yield self._call("link", file_id, memory_id, "related", confidence=1.0, note=note)
            except TotonoeError as error:
                failed.append(error)
        return failed

    # -- What the guard found

    def _findings(
        self,
        file_id: str,
        wanted: Mapping[str, Statement],
        held: Keys,
        saved: Sequence[tuple[Statement, Remembered]],
    ) -> Steps[list[tuple[int, str]]]:
        """Return (line, sentence) of what the guard said of the new statements."""
        found = [
            (statement, said)
            for statement, remembered in saved
            if (said := _said(remembered)) is not None
        ]
        others = list(dict.fromkeys(said.memory_id for _, said in found))
        places = yield from self._places(file_id, wanted, held, others)
        return [
            (
                statement.line,
                f"line {statement.line} {said.verb}"
                f" {_place(places.get(said.memory_id, {}), statement, said)}{said.detail}",
            )
            for statement, said in found
        ]

    def _places(
        self, file_id: str, wanted: Mapping[str, Statement], held: Keys, ids: Sequence[str]
    ) -> Steps[dict[str, dict[str, list[int]]]]:
        """Return where memories are said: by id the lines by path, the path empty for this file."""
        places: dict[str, dict[str, list[int]]] = {
            memory_id: {"": sorted(wanted[key].line for key in held[memory_id])}
            for memory_id in ids
            if memory_id in held
        }
        memories = yield from self._memories(ids)
        keys: dict[str, list[tuple[str, set[str]]]] = defaultdict(list)
        for memory in memories:
            for link in memory.links:
                if keys_of(link) and link.target_id != file_id:
                    keys[link.target_id].append((memory.id, keys_of(link)))
        files = yield from self._memories(list(keys))
        for file in files:
            path = file.external_id.removeprefix(paths.PREFIX)
            for memory_id, said in keys[file.id]:
                lines = [
                    statement.line
                    for statement in statements(file.content)
                    if statement.key in said
                ]
                if lines:
                    places.setdefault(memory_id, {})[path] = lines
        return places

    def _memories(self, ids: Sequence[str]) -> Steps[list[Memory]]:
        """Return the live memories of ids."""
        memories: list[Memory] = []
        for at in range(0, len(ids), _READ_AT_ONCE):
            try:
                read: Found = yield self._call("get_many", ids[at : at + _READ_AT_ONCE])
            except NotFound:
                continue
            memories += [memory for memory in read.memories if memory.status == "active"]
        return memories


def _held(links: Iterable[Link]) -> Keys:
    """Return the keys that links of a file carry, by the memory that says them."""
    return {link.target_id: keys for link in links if (keys := keys_of(link))}


def _is_left(memory: Memory, files: set[str]) -> bool:
    """Return whether a memory was saved by a file, and no file but some says it."""
    return TAG in memory.tags and all(
        link.target_id in files for link in memory.links if keys_of(link)
    )


def _repeated(now: Sequence[Statement], before: str) -> list[tuple[int, str]]:
    """Return the last lines that say word for word what an earlier line of the file says."""
    counted = Counter(statement.key for statement in statements(before))
    first: dict[str, int] = {}
    last: dict[str, int] = {}
    for statement in now:
        first.setdefault(statement.key, statement.line)
        last[statement.key] = statement.line
    counts = Counter(statement.key for statement in now)
    return [
        (last[key], f"line {last[key]} says the same as line {first[key]}")
        for key, count in counts.items()
        if count > 1 and count > counted[key]
    ]


def _forgotten(answered: Iterable[tuple[Statement, Remembered]]) -> list[tuple[int, str]]:
    """Return the lines that a collection refuses because they were forgotten."""
    return [
        (
            statement.line,
            f"line {statement.line} is not saved as a memory: it was forgotten {match.age}",
        )
        for statement, said in answered
        if not said.saved and said.duplicate is None and (match := said.forgotten) is not None
    ]


def _said(remembered: Remembered) -> _GuardNote | None:
    """Return what the guard said of a statement; `None` for nothing."""
    duplicate, question = remembered.duplicate, remembered.question
    if duplicate is not None:
        return _GuardNote("says the same as", duplicate.memory_id, quoted(duplicate))
    for similar in remembered.similar:
        if similar.judgement is not None and similar.judgement.verdict in _DIFFERENT:
            difference = _difference(similar.judgement) if may_quote(similar.source) else ""
            return _GuardNote("differs from", similar.memory_id, quoted(similar), difference)
    if question is not None:
        return _GuardNote("may say the same as", question.memory_id, quoted(question))
    return None


def _difference(judgement: Judgement) -> str:
    """Return the first difference: ": 5433 -> 5434"."""
    for line in judgement.evidence:
        if line.own_text and line.other_text:
            return f": {line.other_text} -> {line.own_text}"
    return ""


def _place(places: Mapping[str, Sequence[int]], statement: Statement, said: _GuardNote) -> str:
    """Return where a memory is said: another line of this file, else of another, else its id."""
    for path, lines in sorted(places.items()):
        for line in lines:
            if path or line != statement.line:
                return f"line {line}" + (f" of {path}" if path else "")
    return f'the memory {said.memory_id} ("{said.snippet}")'


def _sentence(found: Sequence[str]) -> str:
    """Join findings to the sentence of a Note."""
    if not found:
        return ""
    more = f"; and {len(found) - SHOWN_MAX} more" if len(found) > SHOWN_MAX else ""
    return "; ".join(found[:SHOWN_MAX]) + more + "."


_READ_AT_ONCE = 256
