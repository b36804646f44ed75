"""Redaction of purged memories in kept answers; ids, figures and verdicts stay."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Collection
from typing import Any, cast

from totonoe_core.base import plain
from totonoe_core.domain.cleanup import FadedMemory, Group, ReplacedMemory
from totonoe_core.domain.commands import Applied, Result
from totonoe_core.domain.graph import Linked, Unlinked
from totonoe_core.domain.memories import LostDetail, Merged, Remembered, Updated
from totonoe_core.domain.questions import Resolved, Reviewed
from totonoe_core.domain.records import (
    Duplicate,
    Fields,
    ForgottenMatch,
    GuardReport,
    Judgement,
    Link,
    Memory,
    OutdatedMatch,
    SimilarMemory,
)

_ID = re.compile(r"mem_[0-9a-f]{16}")
_UNLINKED = f'"{Unlinked.__name__}"'


class Redaction:
    """Takes some memories out of kept answers.

    Parameters
    ----------
    ids : collection of str
        Ids of the purged memories.
    unlinked : callable of int to bool
        Returns whether the operation of a revision removed links of theirs. An answer to an
        Unlink does not name the memory whose links it holds.
    """

    def __init__(self, ids: Collection[str], unlinked: Callable[[int], bool]) -> None:
        self._ids = frozenset(ids)
        self._unlinked = unlinked

    def concerns(self, answer: str) -> bool:
        """Return whether a kept answer may quote them. Cheap: called for every answer."""
        return not self._ids.isdisjoint(_ID.findall(answer)) or _UNLINKED in answer

    def rewritten(self, answer: str) -> str:
        """Return a kept answer without their words."""
        applied = plain.loads(Applied, answer)
        results = self.without(applied.results, applied.revision)
        if results == applied.results:
            return answer
        return plain.dumps(dataclasses.replace(applied, results=results))

    def without(self, results: tuple[Result, ...], revision: int) -> tuple[Result, ...]:
        """Return the results of the operation of a revision, at every depth, without the words."""
        found = cast(tuple[Result, ...], self._of(results))
        if any(isinstance(answer, Unlinked) for answer in found) and self._unlinked(revision):
            found = tuple(map(_unsaid_if_unlinked, found))
        return found

    def _of(self, value: Any) -> Any:
        match value:
            case Memory(id=memory_id) if memory_id in self._ids:
                return emptied(value)
            case Memory(superseded_by=newer_id) if newer_id in self._ids:
                return self._parts(dataclasses.replace(value, superseded_by=""))
            case Duplicate() | SimilarMemory() if value.memory_id in self._ids:
                return _unquoted(value)
            case ForgottenMatch(memory_id=memory_id) if memory_id in self._ids:
                return dataclasses.replace(value, snippet="")
            case OutdatedMatch(memory_id=memory_id, replaced_by_id=newer_id):
                return value if self._ids.isdisjoint((memory_id, newer_id)) else _unsnipped(value)
            case ReplacedMemory() | FadedMemory() if value.memory_id in self._ids:
                return dataclasses.replace(value, snippet="")
            case Group(kept_id=memory_id) if memory_id in self._ids:
                return self._parts(dataclasses.replace(value, snippet=""))
            case LostDetail(memory_id=memory_id) if memory_id in self._ids:
                return dataclasses.replace(value, text="")
            case Link(target_id=memory_id) if memory_id in self._ids:
                return _unsaid(value)
            case Linked(link=link, inverse=inverse):
                if not self._ids.isdisjoint((link.target_id, inverse.target_id)):
                    return Linked(_unsaid(link), _unsaid(inverse), value.created)
                return value
            case Remembered() | Updated() | Merged() | Resolved() | Reviewed():
                return self._guarded(value)
        return self._parts(value)

    def _guarded(self, value: Remembered | Updated | Merged | Resolved | Reviewed) -> Any:
        """Redact an answer with a guard's report on a text that was saved or refused.

        Evidence quotes that text too. If it is a purged memory's own text, or repeated one, nothing
        in the report may quote anything.
        """
        own = value.memory_id if isinstance(value, Remembered) else value.memory.id
        guard = value.guard
        repeats = guard is not None and guard.duplicate is not None and guard.duplicate.memory_id
        if guard is not None and (own in self._ids or repeats in self._ids):
            value = dataclasses.replace(value, guard=_silent(guard))
        return self._parts(value)

    def _parts(self, value: Any) -> Any:
        if isinstance(value, tuple):
            return tuple(map(self._of, value))
        if not dataclasses.is_dataclass(value) or isinstance(value, type):
            return value
        changed = {}
        for item in dataclasses.fields(value):
            before = getattr(value, item.name)
            after = self._of(before)
            if after is not before and after != before:
                changed[item.name] = after
        return dataclasses.replace(value, **changed) if changed else value


def emptied(memory: Memory) -> Memory:
    """Return a memory without any content."""
    return dataclasses.replace(
        memory,
        content="",
        content_hash=b"",
        vector=b"",
        fields=Fields(private=memory.fields.private),
        superseded_by="",
        links=tuple(map(_unsaid, memory.links)),
    )


def _unsaid(link: Link) -> Link:
    return dataclasses.replace(link, note="")


def _unsaid_if_unlinked(result: Result) -> Result:
    if isinstance(result, Unlinked):
        return Unlinked(tuple(map(_unsaid, result.removed)))
    return result


def _unquoted(answer: Duplicate | SimilarMemory) -> Duplicate | SimilarMemory:
    judgement = answer.judgement and _without_evidence(answer.judgement)
    return dataclasses.replace(answer, snippet="", judgement=judgement)


def _without_evidence(judgement: Judgement) -> Judgement:
    return dataclasses.replace(judgement, evidence=())


def _unsnipped(match: OutdatedMatch) -> OutdatedMatch:
    return dataclasses.replace(match, snippet="", replaced_by_snippet="")


def _silent(report: GuardReport) -> GuardReport:
    duplicate = report.duplicate and cast(Duplicate, _unquoted(report.duplicate))
    similar = tuple(cast(SimilarMemory, _unquoted(memory)) for memory in report.similar)
    forgotten = report.forgotten and dataclasses.replace(report.forgotten, snippet="")
    question = report.question and cast(SimilarMemory, _unquoted(report.question))
    nearest = report.nearest and cast(SimilarMemory, _unquoted(report.nearest))
    outdated = report.outdated and _unsnipped(report.outdated)
    return dataclasses.replace(
        report,
        duplicate=duplicate,
        similar=similar,
        forgotten=forgotten,
        question=question,
        nearest=nearest,
        outdated=outdated,
    )
