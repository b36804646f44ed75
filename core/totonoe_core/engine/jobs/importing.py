"""Import: lines of a file into a collection, through the guard or as they are.

    guard   live memories, up to 256 next to each other, each an operation as a Remember is:
            its id is that of the import, `/` and the line
    as is   batches of IMPORT_BATCH_LINES lines, each one operation: the id, `/` and its number

Both depend only on the file, not on its pieces. So an import that is repeated under its id gets the
kept answers, and goes on after them. Nothing here waits: pieces are read on a thread of the
collection, and go on when the writer has answered.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import Executor, Future
from dataclasses import replace
from hashlib import blake2b
from typing import Any, TypeVar

from totonoe_core.base import limits, plain
from totonoe_core.base.errors import (
    AlreadyExists,
    BadImport,
    Corruption,
    InvalidArgument,
    ModelMismatch,
    NotFound,
    Precondition,
    Quota,
    ReadOnly,
    TotonoeError,
    Unavailable,
    over_limit,
)
from totonoe_core.domain.commands import Applied, Command
from totonoe_core.domain.memories import Remember, Remembered
from totonoe_core.domain.queries import Gotten
from totonoe_core.domain.records import Episode, Memory, Status
from totonoe_core.domain.transfer import (
    Header,
    ImportItem,
    ImportProgress,
    ImportQuery,
    ImportRows,
    RowsImported,
)
from totonoe_core.embedding import EmbeddingService
from totonoe_core.engine.commands.settings import changed
from totonoe_core.engine.jobs.transfer_turns import Turn
from totonoe_core.engine.state.futures import driven, gathered
from totonoe_core.engine.state.state import CollectionState
from totonoe_core.jsonl.reading import Entry, LineReader

T = TypeVar("T")
Steps = Generator[Future[Any], Any, T]
Apply = Callable[[Sequence[tuple[str, Sequence[Command]]]], list[Future[Applied]]]
Get = Callable[[str, Sequence[str]], Future[Gotten]]

_STOPPING = (Unavailable, ReadOnly, Corruption, Precondition, ModelMismatch, Quota)
"""Errors that the next line would meet too."""


class Importing:
    """One Import. Pieces come one at a time.

    Parameters
    ----------
    operation_id : str
        Not empty.
    apply, get, embedder : callable
        Calls of the collection: operations in order, memories by id, the service of its model.
    """

    def __init__(
        self,
        state: CollectionState,
        executor: Executor,
        query: ImportQuery,
        operation_id: str,
        *,
        apply: Apply,
        get: Get,
        embedder: Callable[[], EmbeddingService],
        turn: Turn,
    ) -> None:
        self._state = state
        self._executor = executor
        self._query = query
        self._apply = apply
        self._get = get
        self._embedder = embedder
        self._turn = turn
        self._reader = LineReader()
        self._told = ImportProgress(state.published.revision, operation_id)
        self._refused: Counter[str] = Counter()
        self._items: list[ImportItem] = []
        self._reported_count = 0
        self._batch: list[Entry] = []
        self._batch_bytes = 0
        self._settings_checked = False

    def feed(self, data: bytes, last: bool) -> Future[ImportProgress]:
        """Take a piece of the file, of any size; `last` if no piece follows.

        The future fails with `BadImport`, which ends the import, or with an error that every line
        would meet (`Unavailable`, `ReadOnly`, ...); then the same import may be started again.
        """
        if len(data) > limits.IMPORT_CHUNK_BYTES_MAX:
            raise over_limit("data", f"{len(data)} bytes", limits.IMPORT_CHUNK_BYTES_MAX)
        self._turn.check()
        return driven(self._executor, self._take(data, last))

    def leave(self) -> None:
        """Stop feeding; work that has begun runs to its end. Idempotent."""
        self._turn.end()

    def _take(self, data: bytes, last: bool) -> Steps[ImportProgress]:
        self._items = []
        # In parts of the lines: a piece may hold many thousand short ones.
        found = self._reader.take(data, last)
        failure: BadImport | None = None
        while failure is None:
            entries, failure = _part(found)
            if not entries:
                break
            self._check_settings()
            if self._query.dry_run:
                self._check(entries)
            elif self._query.as_is:
                yield from self._put(entries)
            else:
                yield from self._remember(entries)
        if failure is not None:
            raise failure
        self._check_settings()
        # A file without records has a header all the same.
        due = bool(self._batch) or not self._told.operation_count
        if last and due and self._query.as_is and not self._query.dry_run:
            yield from self._put_batch()
        self._tell(
            revision=self._state.published.revision,
            header=self._reader.header,
            done=last,
            line_count=self._reader.line,
            counts=dict(self._reader.counts),
            refused_counts=dict(self._refused),
            items=tuple(self._items),
        )
        return self._told

    def _tell(self, **more: Any) -> None:
        self._told = replace(self._told, **more)

    def _count(self, name: str, by: int = 1) -> None:
        self._tell(**{name: getattr(self._told, name) + by})

    def _report(self, item: ImportItem) -> None:
        if self._reported_count < limits.IMPORT_REPORTED_MAX:
            self._reported_count += 1
            self._items.append(item)

    def _failed(self, entry: Entry, error: TotonoeError) -> None:
        self._count("failed_count")
        record = entry.record
        memory_id = record.id if isinstance(record, Memory) else entry.memory_id
        self._report(ImportItem(entry.line, memory_id, error=error))

    def _own(self, entry: Entry) -> Entry:
        """Return the entry, with an error if it is private to another agent than the caller."""
        record = entry.record
        if isinstance(record, Memory):
            private = record.fields.private
        elif isinstance(record, Episode):
            private = record.private
        else:
            return entry
        if not private or record.agent_id == self._query.agent_id:
            return entry
        error = BadImport(
            entry.line, field="private", got="another agent's", allowed="the caller's own"
        )
        return replace(entry, error=error)

    @property
    def _header(self) -> Header:
        header = self._reader.header
        assert header is not None
        return header

    def _use_vectors(self) -> bool:
        """Return whether the collection's model made the vectors of the file."""
        model, header = self._state.published.model, self._header
        if not model.embeds and 0 in (model.dimension, header.dimension):
            # The first vector sets its dimension, and a file without a dimension holds no vectors.
            same = header.model_key == replace(model, dimension=header.dimension).key
        else:
            same = header.model_key == model.key
        used = header.vectors and same
        texts_alone = self._state.words_only and not header.vectors
        if not (used or model.embeds or texts_alone):
            raise BadImport(
                1,
                field="vectors" if not header.vectors else "model",
                got="none" if not header.vectors else header.model_key,
                allowed=f"vectors of {model.key}: the clients of this collection bring them",
            )
        self._tell(vectors_used=used)
        return used

    def _check_settings(self) -> None:
        """Check settings and vectors of the header once, before anything is written."""
        header = self._reader.header
        if header is None or self._settings_checked:
            return
        self._settings_checked = True
        try:
            changed(self._state.published, header.settings)
        except InvalidArgument as error:
            details = error.details
            raise BadImport(
                1,
                field=f"policies.{details['field']}",
                got=details["got"],
                allowed=details["allowed"],
            ) from None
        self._use_vectors()

    # -- Dry run

    def _check(self, entries: Sequence[Entry]) -> None:
        for entry in map(self._own, entries):
            if entry.error is not None:
                self._failed(entry, entry.error)

    # -- As it is

    def _put(self, entries: Sequence[Entry]) -> Steps[None]:
        for entry in map(self._own, entries):
            if entry.error is not None:
                raise entry.error
            self._batch.append(entry)
            self._batch_bytes += len(entry.raw)
            full = len(self._batch) >= limits.IMPORT_BATCH_LINES
            if full or self._batch_bytes >= limits.IMPORT_BATCH_BYTES:
                yield from self._put_batch()

    def _put_batch(self) -> Steps[None]:
        batch, self._batch, self._batch_bytes = self._batch, [], 0
        asked = plain.dumps((self._query, self._header.settings))
        digest = blake2b(asked.encode(), digest_size=16)
        for entry in batch:
            digest.update(entry.raw + b"\n")
        records = [(entry.line, entry.record) for entry in batch if entry.record is not None]
        memories = [record for _, record in records if isinstance(record, Memory)]
        used = self._use_vectors()
        lacking = {memory.id: memory.content for memory in memories if not (used and memory.vector)}
        if lacking and not self._state.words_only:
            vectors = yield self._embedder().submit(list(lacking.values()))
            made = dict(zip(lacking, vectors, strict=True))
            records = [
                (line, replace(record, vector=made[record.id].tobytes()))
                if isinstance(record, Memory) and record.id in made
                else (line, record)
                for line, record in records
            ]
        number = self._told.operation_count + 1
        command = ImportRows(
            self._query.agent_id,
            digest.hexdigest(),
            first=number == 1,
            settings=self._header.settings,
            records=tuple(records),
        )
        applied = yield self._apply([(f"{self._told.operation_id}/{number}", (command,))])[0]
        assert isinstance(applied.results[0], RowsImported)
        self._tell(
            operation_count=number,
            saved_count=self._told.saved_count + len(memories),
            replayed_count=self._told.replayed_count + (len(memories) if applied.replayed else 0),
        )

    # -- Through the guard

    def _remember(self, entries: Sequence[Entry]) -> Steps[None]:
        used = self._use_vectors()
        asked: list[Entry] = []
        for entry in map(self._own, entries):
            record = entry.record
            if entry.error is not None:
                self._failed(entry, entry.error)
            elif isinstance(record, Memory) and record.status in (Status.ACTIVE, Status.PENDING):
                asked.append(entry)
            else:
                self._count("left_out_count")
        there = yield from self._there(asked)
        wanted = [(entry, memory) for entry in asked if (memory := _new(entry, there)) is not None]
        self._count("existing_count", len(asked) - len(wanted))
        outcomes = yield gathered(
            self._apply(
                [
                    (f"{self._told.operation_id}/{entry.line}", (_command(memory, used),))
                    for entry, memory in wanted
                ]
            )
        )
        repeats = []
        for (entry, memory), outcome in zip(wanted, outcomes, strict=True):
            if isinstance(outcome, BaseException):
                self._refused_with(entry, outcome)
                continue
            self._count("operation_count")
            self._count("replayed_count", int(outcome.replayed))
            (result,) = outcome.results
            assert isinstance(result, Remembered)
            if result.saved:
                self._count("saved_count")
                continue
            guard, duplicate_of = result.guard, result.memory_id
            method = "forgotten" if guard.duplicate is None else guard.method.value
            self._refused[method] += 1
            item = ImportItem(entry.line, memory.id, duplicate_of, method, guard.similarity)
            repeats.append((item, memory.agent_id))
        yield from self._report_repeats(repeats)

    def _there(self, asked: Sequence[Entry]) -> Steps[dict[str, Memory]]:
        """Return the memories of the file that are already in the collection, by their ids."""
        wanted = [entry.record.id for entry in asked if isinstance(entry.record, Memory)]
        return (yield from self._seen(wanted))

    def _seen(self, ids: Sequence[str]) -> Steps[dict[str, Memory]]:
        """Return those of some memories that exist for the caller."""
        if not ids:
            return {}
        try:
            gotten: Gotten = yield self._get(self._query.agent_id, ids)
        except NotFound:  # the only id of the request
            return {}
        return {memory.id: memory for memory in gotten.memories}

    def _refused_with(self, entry: Entry, error: BaseException) -> None:
        """Count a failed line; raise an error that the next line would meet too."""
        if isinstance(error, _STOPPING) or not isinstance(error, TotonoeError):
            raise error
        if isinstance(error, AlreadyExists) and error.reason == "EXTERNAL_ID_EXISTS":
            self._count("existing_count")
            assert isinstance(entry.record, Memory)
            self._report(ImportItem(entry.line, entry.record.id, error=error))
            return
        self._failed(entry, error)

    def _report_repeats(self, repeats: Sequence[tuple[ImportItem, str]]) -> Steps[None]:
        """Report refused repeats, with the repeated memory if the caller may see it.

        A memory of another agent was compared with memories that that agent sees.
        """
        foreign = {
            item.duplicate_of for item, agent_id in repeats if agent_id != self._query.agent_id
        }
        seen = yield from self._seen(sorted(foreign))
        for item, _ in repeats:
            hidden = item.duplicate_of in foreign and item.duplicate_of not in seen
            self._report(replace(item, duplicate_of="") if hidden else item)


def _part(found: Iterator[Entry]) -> tuple[list[Entry], BadImport | None]:
    """Return the next entries, and the fault of the file after them: they are handled first."""
    entries: list[Entry] = []
    try:
        while len(entries) < limits.ITEMS_PER_MESSAGE_MAX:
            entry = next(found, None)
            if entry is None:
                break
            entries.append(entry)
    except BadImport as error:
        return entries, error
    return entries, None


def _new(entry: Entry, there: dict[str, Memory]) -> Memory | None:
    """Return the memory of a line, unless it is in the collection with the same id and contents.

    A memory forgotten meanwhile does not count: the guard decides by its policy.
    """
    memory = entry.record
    assert isinstance(memory, Memory)
    known = there.get(memory.id)
    if known is None or known.status is Status.FORGOTTEN or known.content != memory.content:
        return memory
    return None


def _command(memory: Memory, use_vector: bool) -> Remember:
    return Remember(
        agent_id=memory.agent_id,
        content=memory.content,
        fields=replace(memory.fields, created_us=memory.created_us),
        vector=memory.vector if use_vector else b"",
        pending=memory.status is Status.PENDING,
    )
