"""Saving what a reader found: memories through the guard, then links, then episodes.

A second run of the same store saves nothing: each memory has the external id `<source>:<id>`, and
operation ids are derived from what is sent.
"""

from __future__ import annotations

import hashlib
import json
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, fields, replace
from itertools import groupby, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from totonoe.enums import SourceWord
from totonoe.errors import (
    AlreadyExists,
    ExternalIdExists,
    InvalidArgument,
    NotActive,
    NotFound,
    PermissionDenied,
    QuotaExceeded,
    TotonoeError,
)
from totonoe.importers.records import Episode, ReadOptions, Reason, Record, Skipped, Source
from totonoe.importers.report import Report
from totonoe.importers.staging import StagedLink, Staging
from totonoe.memories.drafts import Draft
from totonoe.memories.encoding import encode_draft
from totonoe.memories.models import ItemResult, Memory

if TYPE_CHECKING:
    from totonoe.client import Client

EXTERNAL_ID_BYTES_MAX = 256
READ_AT_ONCE = 64
"""Memories that are asked for in one call: existing ones, and those whose links are looked at."""
EPISODE_MEMORIES_MAX = 1000
_OWN = frozenset({"content", "external_id", "operation_id", "force", "agent_id", "collection"})
_CHECKED = tuple(item.name for item in fields(Draft) if item.name not in _OWN)
_OF_ONE_RECORD = (InvalidArgument, AlreadyExists, PermissionDenied)
"""Errors about what one record says; all others end the import."""
_Thing = TypeVar("_Thing")


@dataclass(frozen=True, slots=True)
class Settings:
    """Settings of an import: whose memories they are, and where they go.

    `force` saves even what the guard would refuse; `dry_run` writes nothing. `source` is where
    texts come from of which the store does not say it.
    """

    agent_id: str = ""
    collection: str = ""
    force: bool = False
    dry_run: bool = False
    source: SourceWord = "agent"


class Import:
    """One import of a store. `report` is up to date at each moment, also after an error.

    Parameters
    ----------
    progress : callable
        Called without arguments after each record.
    """

    def __init__(
        self,
        client: Client,
        source: Source,
        path: Path,
        settings: Settings,
        progress: Callable[[], None],
    ) -> None:
        self._client = client
        self._source = source
        self._path = path
        self._settings = settings
        self._progress = progress
        self._staging = Staging()
        self.report = Report(source.name, str(path), settings.dry_run)

    def run(self, options: ReadOptions) -> None:
        """Read the store, then save what is in it.

        Raises
        ------
        ValueError
            The store cannot be read. Nothing was saved.
        TotonoeError
            The daemon failed. What was saved stays; a second run goes on there.
        """
        with self._staging:
            self._stage(options)
            if self._settings.dry_run:
                self._foresee()
            else:
                self._save()
                self._save_successors()
                self._link()
                self._make_episodes()
            self._complete_contradictions()

    @property
    def record_count(self) -> int:
        """Number of records to be saved."""
        return self._staging.record_count

    def _stage(self, options: ReadOptions) -> None:
        for item in self._source.read(self._path, options):
            self.report.read_count += isinstance(item, Record | Skipped)
            if isinstance(item, Skipped):
                self.report.skip(item)
            elif isinstance(item, Record):
                self._stage_record(item)
            else:
                self._staging.add(item)

    def _stage_record(self, record: Record) -> None:
        draft = record.draft
        if draft.private and not (draft.agent_id or self._settings.agent_id):
            # Without an owner it would be public.
            self.report.skip(Skipped(record.where, Reason.PRIVATE))
            return
        try:
            self._staging.add(replace(record, draft=self._prepared(record)))
        except (TypeError, ValueError) as error:
            # The message may quote a value; the field stands before its first colon.
            is_text = isinstance(error, UnicodeError)
            detail = "no UTF-8" if is_text else str(error).partition(":")[0][:200]
            self.report.skip(Skipped(record.where, Reason.DAMAGED, detail))

    def _prepared(self, record: Record) -> Draft:
        """Return the draft with its ids. Raises `ValueError`, `TypeError` if it cannot be sent."""
        draft = replace(
            record.draft,
            external_id=_external_id(self._source.name, record.id),
            force=self._settings.force,
            agent_id=record.draft.agent_id or self._settings.agent_id,
            source=record.draft.source or self._settings.source,
        )
        sent = encode_draft(draft).SerializeToString(deterministic=True)
        return replace(draft, operation_id=self._operation_id(sent, draft.agent_id))

    def _operation_id(self, sent: bytes, *more: Any) -> str:
        """Derive an id from all that is sent: one id may not come back with another payload."""
        key = json.dumps([*more, self._settings.collection, self._settings.force])
        return "imf_" + hashlib.sha256(sent + b"\0" + key.encode()).hexdigest()[:24]

    def _id_of(self, kind: str, *parts: Any) -> str:
        """Derive an id for a link or an episode."""
        return self._operation_id(json.dumps(parts).encode(), self._settings.agent_id, kind)

    # -- memories

    def _save(self) -> None:
        waiting: deque[Record] = deque()

        def drafts() -> Iterator[Draft]:
            for record in self._absent():
                waiting.append(record)
                yield record.draft

        for result in self._client.remember_many(drafts()):
            self._settle(waiting.popleft(), result)
            self._progress()

    def _absent(self) -> Iterator[Record]:
        """Yield the records that no memory has the external id of; count the others."""
        for records in _batches(self._staging.records(), READ_AT_ONCE):
            memories = self._by_external_id(records)
            for record in records:
                memory = memories.get(record.draft.external_id or "")
                if memory is not None:
                    self._exists(record, memory)
                    self._progress()
                elif not record.replaces or self._settings.dry_run:
                    yield record

    def _save_successors(self) -> None:
        """Save the records that took the place of another one: that one must be there before."""
        for record in self._staging.records():
            if not record.replaces or self._staging.memory_of(record.id) is not None:
                continue
            before = self._staging.memory_of(record.replaces)
            draft = replace(record.draft, supersede_ids=[before] if before else None)
            for result in self._client.remember_many([draft]):
                self._settle(record, result)
                self._progress()

    def _by_external_id(self, records: list[Record]) -> dict[str, Memory]:
        ids = list(dict.fromkeys(f"ext:{record.draft.external_id}" for record in records))
        return {memory.external_id: memory for memory in self._get(ids)}

    def _get(self, ids: list[str]) -> tuple[Memory, ...]:
        """Return the memories that are there. Raises `TotonoeError` as any call does."""
        try:
            return self._client.get_many(ids).memories if ids else ()
        except NotFound as error:
            # Of several ids unknown ones are listed; a single one is an error.
            if error.reason != "MEMORY_NOT_FOUND":
                raise
            return ()

    def _exists(self, record: Record, memory: Memory) -> None:
        if memory.content == record.draft.content:
            self.report.existing_count += 1
        else:
            self.report.skip(Skipped(record.where, Reason.OTHER_TEXT, memory.id))
        self._staging.became(record, memory.id)

    def _settle(self, record: Record, result: ItemResult) -> None:
        if isinstance(result.error, ExternalIdExists):
            # Twice in this store, or saved by somebody else just now.
            for memory in self._get([f"ext:{record.draft.external_id}"]):
                self._exists(record, memory)
        elif isinstance(result.error, _OF_ONE_RECORD):
            self._refused(record, result.error)
        elif result.error is not None:
            # No collection, a full disk, a wrong model: each further record would fail likewise.
            raise result.error
        elif result.remembered is not None:
            self.report.settle(record, result.remembered)
            if result.remembered.memory_id:
                self._staging.became(record, result.remembered.memory_id)

    def _refused(self, record: Record, error: TotonoeError) -> None:
        place = error.details.get("field", "")
        detail = " ".join(part for part in (error.reason or error.code, place) if part)
        self.report.skip(Skipped(record.where, Reason.REFUSED, detail))

    # -- a dry run

    def _foresee(self) -> None:
        for record in self._absent():
            self._check(record)
            self._progress()

    def _check(self, record: Record) -> None:
        draft = record.draft
        if not draft.force and self._staging.is_repeated(record):
            self.report.duplicate_counts["exact"] += 1
            self.report.repeated_count += 1
            return
        values = {name: getattr(draft, name) for name in _CHECKED}
        given = {name: value for name, value in values.items() if value is not None}
        try:
            answer = self._client.check(draft.content, **given)
        except _OF_ONE_RECORD as error:
            self._refused(record, error)
        else:
            self.report.settle(record, replace(answer, would_save=True) if draft.force else answer)

    # -- links

    def _link(self) -> None:
        """Make the links that are not there yet."""
        by_source = groupby(self._staging.pairs(), key=lambda pair: pair.source_id)
        groups = ((source_id, list(pairs)) for source_id, pairs in by_source)
        for batch in _batches(groups, READ_AT_ONCE):
            memories = self._links_of([source_id for source_id, _ in batch])
            for source_id, pairs in batch:
                for pair in pairs:
                    self._make_link(memories.get(source_id, frozenset()), pair)

    def _links_of(self, ids: list[str]) -> dict[str, frozenset[tuple[str, str]]]:
        """Return the links of memories, as target and type."""
        return {
            memory.id: frozenset((link.target_id, str(link.type)) for link in memory.links)
            for memory in self._get(ids)
        }

    def _make_link(self, there: frozenset[tuple[str, str]], pair: StagedLink) -> None:
        if (pair.target_id, str(pair.type)) in there:
            self.report.link_existing_count += 1
            return
        parts = (pair.source_id, pair.target_id, str(pair.type), pair.confidence, pair.note)
        try:
            linked = self._client.link(
                pair.source_id,
                pair.target_id,
                pair.type,
                confidence=pair.confidence,
                note=_cut(pair.note, 1024),
                operation_id=self._id_of("link", *parts),
            )
        except (InvalidArgument, NotFound, NotActive, QuotaExceeded):
            # Full of links, or not live any more since it was saved.
            self.report.link_failed_count += 1
        else:
            self.report.link_count += linked.created and not linked.replayed
            self.report.link_existing_count += not linked.created or linked.replayed
            self.report.revision = max(self.report.revision, linked.revision)

    # -- episodes

    def _make_episodes(self) -> None:
        for episode in self._staging.episodes():
            found = (self._staging.memory_of(name) for name in episode.memory_ids)
            ids = list(dict.fromkeys(memory_id for memory_id in found if memory_id))
            if not ids:
                self.report.skip(Skipped(episode.where, Reason.NO_MEMORIES))
            elif len(ids) > EPISODE_MEMORIES_MAX:
                detail = f"{len(ids)} memories, allowed: {EPISODE_MEMORIES_MAX}"
                self.report.skip(Skipped(episode.where, Reason.REFUSED, detail))
            elif any(
                there.summary == episode.summary and list(there.memory_ids) == ids
                for there in self._client.list_episodes(memory_id=ids[0]).episodes
            ):
                self.report.episode_existing_count += 1
            else:
                self._create(episode, ids)

    def _create(self, episode: Episode, ids: list[str]) -> None:
        private = self._is_private(ids)
        try:
            made = self._client.create_episode(
                episode.summary,
                ids,
                start_time=episode.start_time,
                end_time=episode.end_time,
                importance=episode.importance,
                private=private,
                operation_id=self._id_of("episode", episode.summary, ids, private),
            )
        except (InvalidArgument, NotFound, NotActive) as error:
            self.report.skip(Skipped(episode.where, Reason.REFUSED, error.reason or error.code))
        else:
            self.report.episode_count += not made.replayed
            self.report.episode_existing_count += made.replayed

    def _is_private(self, ids: list[str]) -> bool:
        """Return true if one of the memories is private: its episode then is, too."""
        batches = _batches(iter(ids), READ_AT_ONCE)
        return any(memory.private for batch in batches for memory in self._get(batch))

    # -- the end

    def _complete_contradictions(self) -> None:
        """Put the whole texts in the place of snippets."""
        ids = list(
            dict.fromkeys(
                contradiction.other_id
                for contradiction in self.report.contradictions
                if contradiction.other_id
            )
        )
        texts = {memory.id: memory.content for memory in self._get(ids)}
        for contradiction in self.report.contradictions:
            contradiction.other_text = texts.get(contradiction.other_id, contradiction.other_text)


def _external_id(source: str, record_id: str) -> str:
    """Return `<source>:<id>`, with a digest in the place of an id that has no room."""
    external_id = f"{source}:{record_id}"
    data = external_id.encode("utf-8", "surrogatepass")
    if len(data) <= EXTERNAL_ID_BYTES_MAX:
        return external_id
    return f"{source}:sha256-{hashlib.sha256(data).hexdigest()}"


def _cut(text: str, bytes_max: int) -> str:
    return text.encode("utf-8", "replace")[:bytes_max].decode("utf-8", "ignore")


def _batches(things: Iterable[_Thing], size: int) -> Iterator[list[_Thing]]:
    """Yield the things in lists of at most `size`."""
    rest = iter(things)
    while batch := list(islice(rest, size)):
        yield batch
