"""Find what a store says twice, no more, or in two ways; copy it without the first two.

The records go through the guard of a collection that holds nothing else, oldest first. The store is
only read.
"""

from __future__ import annotations

import json
import os
import tempfile
from collections import defaultdict
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field, replace
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING

from totonoe.enums import Action, Verdict
from totonoe.importers import folders
from totonoe.importers.records import Item, ReadOptions, Reason, Record, Skipped, Source
from totonoe.importers.staging import Staging

if TYPE_CHECKING:
    from totonoe.client import Client
    from totonoe.memories.models import Remembered

RECORDS_MAX = 50_000
"""Records of one store."""
TEXTS_BYTES_MAX = 256 * 1024 * 1024
"""Bytes of their texts, which are held in memory."""
TIDIED = ".tidied"
"""The end of the name of a copy."""


class Kind(StrEnum):
    """The relation of two records."""

    RESTATEMENT = "restatement"
    OUTDATED = "outdated"
    CONTRADICTION = "contradiction"
    PROBABLY_SAME = "probably the same"
    PERHAPS_OUTDATED = "perhaps outdated"

    @property
    def is_certain(self) -> bool:
        """True if a copy leaves the record out."""
        return self in (Kind.RESTATEMENT, Kind.OUTDATED)


@dataclass(frozen=True, slots=True)
class Finding:
    """A record and another one. `other` is the one to keep, where one of them is."""

    kind: Kind
    where: str
    text: str
    other_where: str
    other_text: str


@dataclass(slots=True)
class Tidied:
    """The findings of one store.

    Attributes
    ----------
    read_count : int
        Records compared; those of the source's history are none.
    skipped : list of Skipped
        Records that were not compared.
    """

    source: str
    path: str
    read_count: int = 0
    findings: list[Finding] = field(default_factory=list)
    skipped: list[Skipped] = field(default_factory=list)

    def count(self, kind: Kind) -> int:
        """Return how many findings are of a kind."""
        return sum(finding.kind is kind for finding in self.findings)


class TidyUp:
    """A look at one store.

    Parameters
    ----------
    client : Client
        Of a daemon whose collection is empty; it is filled.
    """

    def __init__(self, client: Client, source: Source, path: Path) -> None:
        self._client = client
        self._source = source
        self._path = path
        self._records: list[Record] = []
        self._by_memory: dict[str, int] = {}
        self._gone: set[int] = set()
        self.report = Tidied(source.name, str(path))

    def run(self, options: ReadOptions) -> Tidied:
        """Read the store and compare its records.

        Raises
        ------
        ValueError
            The store cannot be read, or is over a limit.
        TotonoeError
            The daemon failed.
        """
        self._read(options)
        # Whoever said a text: what it says is compared.
        drafts = (
            replace(
                record.draft,
                agent_id=None,
                private=None,
                source=None,
                on_update=Action.SUPERSEDE,
            )
            for record in self._records
        )
        for place, result in enumerate(self._client.remember_many(drafts)):
            if result.remembered is not None:
                self._settle(place, result.remembered)
            else:
                reason = result.error.reason if result.error else ""
                self.report.skipped.append(_refused(self._records[place], reason))
        return self.report

    def _read(self, options: ReadOptions) -> None:
        replaced: set[str] = set()
        size_bytes = 0
        with Staging() as staging:
            for item in self._items(options):
                if isinstance(item, Skipped):
                    self.report.skipped.append(item)
                elif isinstance(item, Record):
                    staging.add(item)
                    size_bytes += len(item.draft.content.encode("utf-8", "replace"))
                    replaced.add(item.replaces)
                    if staging.record_count > RECORDS_MAX:
                        raise ValueError(f"{self._path}: got more than {RECORDS_MAX} records")
                    if size_bytes > TEXTS_BYTES_MAX:
                        raise ValueError(f"{self._path}: got more than {TEXTS_BYTES_MAX} bytes")
            self._records = [record for record in staging.records() if record.id not in replaced]
        self.report.read_count = len(self._records)

    def _items(self, options: ReadOptions) -> Iterator[Item]:
        return self._source.read(self._path, options)

    def _settle(self, place: int, answer: Remembered) -> None:
        if not answer.saved:
            if answer.duplicate is not None:
                self._find(Kind.RESTATEMENT, place, answer.duplicate.memory_id)
            return
        self._by_memory[answer.memory_id] = place
        for memory_id in answer.superseded_ids:
            self._find_older(Kind.OUTDATED, memory_id, place)
        for memory_id in answer.maybe_replaced_ids:
            self._find_older(Kind.PERHAPS_OUTDATED, memory_id, place)
        named = {*answer.superseded_ids, *answer.maybe_replaced_ids}
        for other in answer.similar:
            verdict = other.judgement.verdict if other.judgement else None
            if verdict == Verdict.UPDATE and other.memory_id not in named:
                self._find_older(Kind.PERHAPS_OUTDATED, other.memory_id, place)
            elif verdict == Verdict.CONTRADICTION:
                self._find(Kind.CONTRADICTION, place, other.memory_id)
        if answer.outdated is not None:
            self._find(Kind.PERHAPS_OUTDATED, place, answer.outdated.memory_id)
        if answer.question is not None:
            self._find(Kind.PROBABLY_SAME, place, answer.question.memory_id)

    def _find_older(self, kind: Kind, memory_id: str, newer: int) -> None:
        older = self._by_memory.get(memory_id)
        if older is not None:
            self._add(kind, older, newer)

    def _find(self, kind: Kind, place: int, memory_id: str) -> None:
        other = self._by_memory.get(memory_id)
        if other is not None:
            self._add(kind, place, other)

    def _add(self, kind: Kind, place: int, other: int) -> None:
        one, kept = self._records[place], self._records[other]
        self.report.findings.append(
            Finding(kind, one.where, one.draft.content, kept.where, kept.draft.content)
        )
        if kind.is_certain:
            self._gone.add(place)

    # -- the copy

    def write(self) -> Path:
        """Write a copy beside the store, without restatements and outdated records.

        Markdown stays Markdown: a folder with the same files. Of other stores it is a file of
        lines that `import` reads.

        Raises
        ------
        ValueError
            Something is at its place already, or it cannot be written; nothing is left of it.
        """
        path = self._path.absolute()
        in_pages = any(record.span for record in self._records)
        target = path.with_name(path.name + TIDIED + ("" if in_pages else ".jsonl"))
        if target.exists() or target.is_symlink():
            raise ValueError(f"{target}: got something there already, allowed: a free name")
        try:
            with tempfile.TemporaryDirectory(prefix=".totonoe-", dir=path.parent) as made:
                place = Path(made) / "copy"
                if in_pages:
                    self._write_pages(path if path.is_dir() else path.parent, place)
                else:
                    self._write_lines(place)
                place.rename(target)
        except OSError as error:
            raise ValueError(f"{target}: {error.strerror}") from error
        return target

    def _write_pages(self, root: Path, target: Path) -> None:
        removed: dict[str, list[tuple[int, int]]] = defaultdict(list)
        names: set[str] = set()
        for place, record in enumerate(self._records):
            if record.span is not None:
                names.add(record.span.file)
                if place in self._gone:
                    removed[record.span.file].append((record.span.first, record.span.last))
        for folder in sorted({(root / name).parent for name in names}):
            # Pages without a memory, for instance an index, go along.
            names |= {file.relative_to(root).as_posix() for file in folder.glob("*.md")}
        for name in sorted(names):
            page = folders.page(root / name, name)
            spans = removed.get(name, [])
            if isinstance(page, Skipped) or (0, 0) in spans:
                continue
            without = {line for first, last in spans for line in range(first, last + 1)}
            lines = page.text.splitlines(keepends=True)
            kept = "".join(line for at, line in enumerate(lines, 1) if at not in without)
            copy = target / name
            copy.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            copy.write_text(kept, encoding="utf-8", newline="")
            os.utime(copy, (page.changed_s, page.changed_s))

    def _write_lines(self, target: Path) -> None:
        with target.open("x", encoding="utf-8") as file:
            for place, record in enumerate(self._records):
                if place in self._gone:
                    continue
                draft = record.draft
                created = draft.created_time
                row = {
                    "id": record.id,
                    "text": draft.content,
                    "time": created.isoformat() if created else None,
                    "agent": draft.agent_id,
                    "source": draft.source,
                    "category": draft.category,
                    "tags": list(draft.tags or ()),
                    "attributes": draft.attributes,
                }
                kept = {name: value for name, value in row.items() if value}
                file.write(json.dumps(kept, ensure_ascii=False) + "\n")
        with suppress(OSError):
            target.chmod(0o600)


def _refused(record: Record, reason: str) -> Skipped:
    return Skipped(record.where, Reason.REFUSED, reason)
