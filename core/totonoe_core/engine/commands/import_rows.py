"""One batch of an Import with `as_is`: rows as in the file, under one operation.

Nothing passes the guard: memories that lay side by side in one collection may do so in another. Row
by row it checks that ids and external ids are free, and that links and dismissals lead to existing
memories; all else was checked when the line was read.
"""

from __future__ import annotations

from dataclasses import replace

from totonoe_core.base import limits
from totonoe_core.base.errors import AlreadyExists, BadImport, InvalidArgument, Quota, over_limit
from totonoe_core.domain.records import Dismissal, Episode, Link, Memory, Status
from totonoe_core.domain.transfer import DismissalLine, ImportRows, LinkLine, RowsImported
from totonoe_core.engine.commands.settings import changed
from totonoe_core.engine.state import unscored
from totonoe_core.engine.state.ledger import DEAD, Ledger, Operation
from totonoe_core.index.arrays import STATUSES


def import_rows(ledger: Ledger, operation: Operation, command: ImportRows) -> RowsImported:
    """Store records in the collection.

    Raises `BadImport` for an impossible line, and for the first batch into a collection that is not
    empty; `Quota`.
    """
    if command.first:
        _check_empty(ledger)
        _settle(ledger, operation, command)
    batch = _Batch(ledger, operation)
    for line, record in command.records:
        try:
            batch.put(record)
        except (InvalidArgument, AlreadyExists) as error:
            details = {"got": "one that is taken", "allowed": "one that is free"} | error.details
            field = details.get("field", "external_id")
            raise BadImport(
                line, field=field, got=details["got"], allowed=details["allowed"]
            ) from None
    batch.end()
    return RowsImported(len(command.records))


def _check_empty(ledger: Ledger) -> None:
    if ledger.rows.moment.holds_anything():
        name = ledger.state.info.name
        raise BadImport(
            1,
            field="collection",
            got=f"{name!r}, which holds memories or episodes",
            allowed="one that is empty, for an import as it is",
        )


def _settle(ledger: Ledger, operation: Operation, command: ImportRows) -> None:
    """Set description and policies as in the file."""
    info = ledger.state.info
    if changed(info, command.settings) != info:
        ledger.put_settings(operation, changed(info, command.settings))


class _Batch:
    """Records of one operation that are being stored."""

    def __init__(self, ledger: Ledger, operation: Operation) -> None:
        self._ledger = ledger
        self._operation = operation
        self._access: list[tuple[int, int, int]] = []
        self._links: dict[tuple[int, int, str], tuple[int, int, Link]] = {}
        self._held: dict[int, int] = {}  # links of a row, with those of this batch
        self._rows: list[int] = []  # of the memories, ascending

    def put(self, record: Memory | LinkLine | Episode | DismissalLine) -> None:
        match record:
            case Memory():
                self._memory(record)
            case LinkLine():
                self._link(record)
            case Episode():
                self._episode(record)
            case DismissalLine():
                self._dismissal(record)

    def end(self) -> None:
        """Write the rest of the batch, and check its relations."""
        ledger, revision = self._ledger, self._operation.revision
        if self._access:
            ledger.file.recalls.put_access(self._access)
        if self._links:
            ledger.file.put_new_links(self._links.values(), revision)
        if self._rows:
            unscored.add(ledger.file, self._rows[0], self._rows[-1])

    def _memory(self, given: Memory) -> None:
        ledger, state = self._ledger, self._ledger.state
        if len(ledger.index.slot_by_row) >= limits.MEMORIES_PER_COLLECTION_MAX:
            raise Quota(
                "QUOTA_EXCEEDED",
                f"the collection holds {limits.MEMORIES_PER_COLLECTION_MAX} memories, the most",
            )
        if ledger.rows.row_of_id(given.id) is not None:
            raise _taken(given.id)
        if given.status not in DEAD:
            # By its key alone: an agent may have seen both a private memory of its own and a public
            # one with one external id.
            taken = ledger.external_id_holder(given.fields, given.agent_id)
            if taken is not None:
                raise AlreadyExists(
                    "EXTERNAL_ID_EXISTS", kind="external id", name=given.fields.external_id
                )
        memory = replace(
            given,
            row=state.take_row(),
            revision=self._operation.revision,
            model_number=state.info.model_number,
        )
        ledger.add(self._operation, memory, ledger.features_of(memory))
        self._rows.append(memory.row)
        if memory.last_access_us is not None:
            self._access.append((memory.row, memory.last_access_us, memory.access_count))

    def _row(self, field: str, memory_id: str) -> int:
        row = self._ledger.rows.row_of_id(memory_id)
        # A purged memory has a row, but does not count as existing.
        if row is None or self._status(row) in (None, STATUSES[Status.PURGED]):
            raise InvalidArgument(
                "BAD_IMPORT", field=field, got=memory_id, allowed="a memory of the file"
            )
        return row

    def _link(self, given: LinkLine) -> None:
        ledger = self._ledger
        source = self._row("source_id", given.source_id)
        target = self._row("target_id", given.target_id)
        if self._expired(source) or self._expired(target):
            # It went with its end, which an earlier batch brought.
            return
        type_, inverse = given.type, given.type.inverse
        key = source, target, type_.value
        if key in self._links or ledger.rows.history.link_revision(source, target, type_):
            raise InvalidArgument("BAD_IMPORT", field="type", got="a link twice", allowed="once")
        for row, memory_id, field in (
            (source, given.source_id, "source_id"),
            (target, given.target_id, "target_id"),
        ):
            self._check_end(field, row, memory_id)
        there = Link(given.target_id, type_, given.confidence, given.note)
        back = Link(given.source_id, inverse, given.confidence, given.note)
        self._links[key] = source, target, there
        self._links[target, source, inverse.value] = target, source, back
        self._operation.touched.links.append(key)

    def _check_end(self, field: str, row: int, memory_id: str) -> None:
        """Check that a link's end is live and has room for links."""
        if self._status(row) == STATUSES[Status.FORGOTTEN]:
            raise InvalidArgument(
                "BAD_IMPORT", field=field, got=f"{memory_id}, which is forgotten", allowed="another"
            )
        held = self._held.get(row)
        if held is None:
            held = self._ledger.rows.link_counts((row,))[row]
        self._held[row] = held + 1
        if held >= limits.LINKS_PER_MEMORY_MAX:
            raise over_limit(field, f"{held} links on {memory_id}", limits.LINKS_PER_MEMORY_MAX)

    def _expired(self, row: int) -> bool:
        """Return whether a memory was forgotten since its time was over."""
        index = self._ledger.index
        slot = index.slot_by_row.get(row)
        if slot is None or index.arrays.status(slot) != STATUSES[Status.FORGOTTEN]:
            return False
        instant = index.arrays.writer_view().value("expires", slot)
        return bool(instant <= self._operation.now_us)

    def _status(self, row: int) -> int | None:
        index = self._ledger.index
        slot = index.slot_by_row.get(row)
        return None if slot is None else index.arrays.status(slot)

    def _episode(self, given: Episode) -> None:
        ledger = self._ledger
        if ledger.rows.episode(given.id) is not None:
            raise _taken(given.id)
        for memory_id in given.memory_ids:
            self._row("memory_ids", memory_id)
        ledger.file.put_episode(replace(given, revision=self._operation.revision))
        self._operation.touched.episodes.append(given.id)

    def _dismissal(self, given: DismissalLine) -> None:
        ledger = self._ledger
        a, b = self._row("id_a", given.id_a), self._row("id_b", given.id_b)
        if a > b:
            a, b = b, a
        if ledger.rows.dismissal(a, b) is not None:
            raise InvalidArgument("BAD_IMPORT", field="id_a", got="a pair twice", allowed="once")
        for row, memory_id in ((a, given.id_a), (b, given.id_b)):
            if ledger.rows.dismissal_count(row) >= limits.DISMISSALS_PER_MEMORY_MAX:
                raise over_limit(
                    "id_a",
                    f"{limits.DISMISSALS_PER_MEMORY_MAX} pairs with {memory_id}",
                    limits.DISMISSALS_PER_MEMORY_MAX,
                )
        excerpts = ledger.rows.excerpts([a, b])
        made = Dismissal(
            a=a,
            b=b,
            hash_a=excerpts[a].content_hash,
            hash_b=excerpts[b].content_hash,
            agent_id=given.agent_id,
            note=given.note,
            revision=self._operation.revision,
        )
        ledger.put_dismissal(self._operation, made)


def _taken(name: str) -> InvalidArgument:
    return InvalidArgument("BAD_IMPORT", field="id", got=name, allowed="an id that is not taken")
