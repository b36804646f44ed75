"""State of one open collection: its file, its index, its settings.

`file` is the writer thread's; everything else may be read from any thread.
"""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Container, Iterable, Sequence
from dataclasses import dataclass, replace

from totonoe_core.base import limits, plain
from totonoe_core.base.errors import Corruption, InvalidArgument
from totonoe_core.domain import expiry
from totonoe_core.domain.collections import CollectionInfo
from totonoe_core.domain.records import Memory, Status
from totonoe_core.domain.reembed import KnownModel, Pending, left
from totonoe_core.embedding import client_vectors
from totonoe_core.engine.state import loading
from totonoe_core.engine.state.past_index import PastIndexes
from totonoe_core.engine.state.recent import RecentOperations
from totonoe_core.engine.state.scans import PrefetchedScans
from totonoe_core.engine.state.sight import Sight, may_see
from totonoe_core.index.arrays import NO_TIME
from totonoe_core.index.collection_index import CollectionIndex, Mark
from totonoe_core.store.aside import BadRow, corrupt_memory
from totonoe_core.store.records import SETTINGS_KEY, Place
from totonoe_core.store.seam import CollectionFile, Rows, Store
from totonoe_core.store.settings import read_settings

_log = logging.getLogger(__name__)

_MODELS = "models"
_REEMBEDDING = "reembedding"
_SETTLING = "settling"
_KNOWN: type[tuple[KnownModel, ...]] = tuple[KnownModel, ...]


@dataclass(frozen=True, slots=True)
class Before:
    """State that a batch, an operation or a trial began with."""

    index: CollectionIndex
    mark: Mark
    info: CollectionInfo
    revision: int
    last_time_us: int
    last_row: int
    newest: tuple[str, int]


class CollectionState:
    """One open collection. Made by `load`, on the thread that will write it.

    `info`, `revision`, `last_time_us` and `newest` (id and time of that revision's operation, where
    the store is shared) are the writer's: they are ahead of the disk while a batch is decided.
    `published` is the state that readers may report. `pending` is the running
    re-embedding; `next_index` replaces the index at the next publication. `scans` are the writer's.
    `has_embedder` is true if the daemon runs a model. `shared` is true if other daemons may write
    the collection too; then `catch_up` comes before each decision.
    """

    def __init__(
        self, store: Store, file: CollectionFile, info: CollectionInfo, has_embedder: bool
    ) -> None:
        self.file = file
        self.shared = store.shared
        self.has_embedder = has_embedder
        self.aside = file.aside
        self._last_row, self.revision, self.last_time_us = file.last_numbers()
        self.info = info
        self._reconnected = False
        self.newest = self._operation_of(self.revision) if self.shared else ("", 0)
        self.checkpoints = file.checkpoints
        self.pending = self._stored_pending()
        self.next_index: CollectionIndex | None = None
        self.settling_at_start = self.settling
        self.index, self.opening = loading.opened(file, info, self.revision)
        self.past = PastIndexes()
        self.recent = RecentOperations()
        self.scans = PrefetchedScans()
        self.publish()

    @classmethod
    def load(cls, store: Store, place: Place, has_embedder: bool = False) -> CollectionState:
        """Open a collection's file and build its memory, from a checkpoint if possible.

        Bad rows of memories are set aside. Raises `Corruption` for bad settings, damaged tables,
        and a file that is missing or another collection's.
        """
        file = store.open(place)
        try:
            # One snapshot: no order of the reads can be wrong, since no commit falls between them.
            moment = file.rows.snapshot() if store.shared else contextlib.nullcontext()
            with file.reading():
                with moment:
                    info = read_settings(file.rows, place.path.name)
                    state = cls(store, file, info, has_embedder)
                store.adopt(file, place)
            state.say_lost()
            for bad in state.aside.memories():
                _log.error("row %d of table memory is bad (id %r): set aside", bad.row, bad.id)
            return state
        except BaseException:
            file.close()
            raise

    def say_lost(self) -> None:
        """Log lost acknowledged commits of the file, and a side file of another collection."""
        commits, uid = self.file.commits, self.file.path.parent.name
        if commits.foreign:
            _log.error("the side file of %s is that of %s, and is not used", uid, commits.foreign)
        if commits.loss is not None:
            commits.loss = commits.loss.named(self.info.name)
            _log.error("collection %s is read-only: %s", uid, commits.loss.error().message)

    @staticmethod
    def create(store: Store, place: Place, info: CollectionInfo) -> None:
        """Make the file of an empty collection that is not in use yet."""
        store.make(place, {SETTINGS_KEY: plain.dumps(info)})

    @staticmethod
    def read_info(store: Store, place: Place) -> CollectionInfo:
        """Read settings of a closed collection, with its newest revision.

        Raises `Corruption` as `load` does.
        """
        store.check(place)
        pool = store.readers(place, 1)
        try:
            with pool.rows() as rows:
                info = read_settings(rows, place.path.name)
                return replace(info, revision=rows.last_revision())
        finally:
            pool.close()

    def remembered(self) -> Before:
        """Return what `take_back` needs."""
        return Before(
            self.index,
            self.index.mark(),
            self.info,
            self.revision,
            self.last_time_us,
            self._last_row,
            self.newest,
        )

    def take_back(self, before: Before) -> None:
        """Return to where a batch, an operation or a trial began; the file does so by itself.

        Row numbers taken since are given again: no row has them.
        """
        self.index, self.info = before.index, before.info
        self.revision, self.last_time_us = before.revision, before.last_time_us
        self._last_row, self.next_index = before.last_row, None
        self.newest = before.newest
        self.index.rollback(before.mark)

    def publish(self) -> None:
        """Let readers see decided changes, once they are on disk.

        The index comes first, so that all of a revision is visible when the revision is reported.
        """
        if self.next_index is not None:
            self.index, self.next_index, self.pending = self.next_index, None, None
            self.past.clear()
        self.index.publish()
        self._published_row = self._last_row
        self.published = replace(self.info, revision=self.revision)

    def may_be_behind(self) -> bool:
        """Return whether `catch_up` may find anything, by one read. Writer only."""
        newest = self.file.newest_revision()
        # Behind the read, which is what opens a lost connection again.
        self._reconnected |= self.file.take_reconnected()
        return self._reconnected or newest != self.revision

    def catch_up(self) -> bool | None:
        """Take in what other daemons committed, and publish it; return whether any was purged.

        `None` if there was nothing. Writer only, within a transaction or a snapshot, and before
        anything of a batch is decided: the index must hold nothing that is not committed.
        """
        if not self.may_be_behind():
            return None
        # All is read before anything changes: an error leaves the index as it was.
        last_row, newest, last_time_us = self.file.last_numbers()
        lost = self._reconnected and self._operation_of(self.revision) != self.newest
        if newest == self.revision and not lost:
            self._reconnected = False
            return None
        info = read_settings(self.file.rows)
        newest_operation = self._operation_of(newest)
        pending = self._stored_pending()
        lost = lost or newest < self.revision
        if lost or not loading.follows(self.info, info):
            # A promotion lost commits, or every slot is of another model or tokenizer.
            self.index = loading.rebuilt(self.file, info, self.index.access())
            self.past.clear()
            purged = True
        else:
            changed = loading.changed_after(self.file, info, self.revision)
            if info.model.dimension != self.info.model.dimension:
                self.index.arrays.set_dimension(info.model.dimension)
            loading.replay(self.index, changed)
            purged = any(memory.status is Status.PURGED for part in changed for memory, _ in part)
        if purged:
            self.forget_past()
            self.file.begin_cleaning()
        self.recent.clear()
        if lost:
            _log.error(
                "the database of %s lacks commits: %d is its newest revision, %d was ours",
                self.file.path.parent.name,
                newest,
                self.revision,
            )
            self.checkpoints.drop_all()
        self.info, self.pending, self._reconnected = info, pending, False
        self.revision, self.last_time_us = newest, last_time_us
        self.newest = newest_operation
        self._last_row = max(self._last_row, last_row)
        self.publish()
        return purged

    def _operation_of(self, revision: int) -> tuple[str, int]:
        """Return id and time (us) of a revision's operation, which tell one history of another."""
        seal = self.file.rows.history.seal(revision)
        return ("", 0) if seal is None else seal[:2]

    @property
    def words_only(self) -> bool:
        """True if a text may be saved without a vector.

        That is so if no model made the collection's vectors, and the daemon runs none. It does not
        change while the collection is open.
        """
        return not self.has_embedder and not self.info.model.embeds

    def check_dimension(self, dimension: int) -> None:
        """Raise `InvalidArgument` for a client's vector of another dimension.

        While the collection has none yet, any will do.
        """
        expected = self.info.model.dimension
        if expected not in (0, dimension):
            raise InvalidArgument(
                "DIMENSION_MISMATCH",
                field="vector",
                got=f"{dimension} float32",
                allowed=f"{expected} float32",
            )

    def fix_dimension(self, dimension: int) -> None:
        """Set the dimension of a collection to that of its first vector.

        No before image: undoing the operation leaves the row and its vector. Raises as
        `check_dimension`.
        """
        self.check_dimension(dimension)
        if dimension and self.info.model.dimension == 0:
            self.info = replace(self.info, model=client_vectors(dimension))
            self.file.put_setting(SETTINGS_KEY, plain.dumps(self.info), self.revision, before=None)
            self.index.arrays.set_dimension(dimension)

    def put_info(self, info: CollectionInfo, revision: int) -> None:
        """Write new settings; a change of tokenizer rebuilds the index."""
        before, self.info = self.info, info
        self.file.put_setting(SETTINGS_KEY, plain.dumps(info), revision, plain.dumps(before))
        if info.guard.tokenizer is not before.guard.tokenizer:
            # Figures from the index, since the file is seconds behind.
            self.index = loading.rebuilt(self.file, info, self.index.access())

    def info_before(self, revision: int) -> CollectionInfo | None:
        """Return the settings before an operation that changed them; `None` if it did not."""
        text = self.file.rows.history.setting_image(revision, SETTINGS_KEY)
        return None if text is None else self.as_today(plain.loads(CollectionInfo, text))

    def as_today(self, info: CollectionInfo) -> CollectionInfo:
        """Return earlier settings with the present model and name.

        The dimension may have been fixed since, and vectors follow it; and a snapshot may have
        been restored under another name.
        """
        return replace(
            info,
            name=self.info.name,
            model=self.info.model,
            model_number=self.info.model_number,
            model_since=self.info.model_since,
        )

    # -- Models

    def models(self) -> tuple[KnownModel, ...]:
        """Return the present and past models, by their numbers. Writer only."""
        text = self.file.rows.setting(_MODELS)
        known = (KnownModel(self.info.model),) if text is None else plain.loads(_KNOWN, text)
        own = left(self.info)
        return tuple(
            own if at == self.info.model_number else model for at, model in enumerate(known)
        )

    def put_models(self, models: tuple[KnownModel, ...]) -> None:
        """Write the models, within a transaction; no operation."""
        self.file.put_setting(_MODELS, plain.dumps(models), revision=0, before=None)

    def read_pending(self) -> Pending | None:
        """Take over the pending re-embedding as it is on disk: another daemon may have changed it.

        Writer only.
        """
        self.pending = self._stored_pending()
        return self.pending

    def _stored_pending(self) -> Pending | None:
        text = self.file.rows.setting(_REEMBEDDING)
        return None if text is None else plain.loads(Pending, text)

    def put_pending(self, pending: Pending | None) -> None:
        """Write the pending re-embedding, within a transaction; no operation.

        The caller keeps it once it is on disk.
        """
        if pending is None:
            self.file.delete_setting(_REEMBEDDING)
        else:
            self.file.put_setting(_REEMBEDDING, plain.dumps(pending), revision=0, before=None)

    @property
    def settling(self) -> bool:
        """True if rows may hold vectors of the former model, with the current ones beside."""
        return self.file.rows.setting(_SETTLING) is not None

    def put_settling(self, begun: bool) -> None:
        """Write that flag, within a transaction; no operation."""
        if begun:
            self.file.put_setting(_SETTLING, "1", revision=0, before=None)
        else:
            self.file.delete_setting(_SETTLING)

    def current(self, memory: Memory) -> Memory:
        """Return a memory with its vector of the collection's model; empty if it has none.

        If its row still holds that of another model, the index has it. Writer only.
        """
        if memory.vector and memory.model_number == self.info.model_number:
            return memory
        vector = b""
        if memory.row in self.index.slot_by_row:
            found = self.index.vector(memory.row)
            vector = found.tobytes() if found.any() else b""
        return replace(memory, vector=vector, model_number=self.info.model_number)

    def forget_past(self) -> None:
        """Drop the cached past. For a purge, once it is on disk."""
        self.past.clear()

    def take_row(self) -> int:
        """Return the next row number. A rolled-back operation leaves a gap, which is harmless."""
        self._last_row += 1
        return self._last_row

    @property
    def last_row(self) -> int:
        """The highest row number in use."""
        return self._last_row

    def find(self, rows: Rows, memory_id: str, agent_id: str) -> Memory | None:
        """Return the memory of an id or `ext:` external id, if the agent may see it."""
        self.check_sound(rows, memory_id, agent_id)
        row: int | None
        if memory_id.startswith("ext:"):
            row = rows.row_of_external_id(memory_id[4:], agent_id)
        else:
            index = self.index  # read once: a change of tokenizer replaces it
            slot = index.slot_by_id.get(memory_id)
            row = None if slot is None else int(index.arrays.writer_view().value("row", slot))
        if row is None:
            return None
        memory = rows.memories([row]).get(row)
        if memory is None and row <= self._published_row and not rows.in_snapshot:
            raise self._missing(row, memory_id)
        if memory is None or memory.status is Status.PURGED:
            return None
        if not may_see(memory, agent_id):
            return None
        # After a rollback the slot may be another memory's when its row is read.
        return memory if memory_id in (memory.id, "ext:" + memory.fields.external_id) else None

    def bad_row(self, rows: Rows, memory_id: str, agent_id: str) -> BadRow | None:
        """Return the row of an id or `ext:` external id if set aside and known to the agent."""
        if not len(self.aside):
            return None
        if memory_id.startswith("ext:"):
            row = rows.row_of_external_id(memory_id[4:], agent_id)
        else:
            # By SQLite's index, and by the row itself: either may be the damaged one.
            row = rows.row_of_id(memory_id)
            if row is None or row not in self.aside:
                row = self.aside.row_of_id(memory_id)
        bad = None if row is None else self.aside.get(row)
        return bad if bad is not None and bad.may_be_known_to(agent_id) else None

    def check_sound(self, rows: Rows, memory_id: str, agent_id: str) -> None:
        """Raise `Corruption` for the id of a memory that is set aside."""
        bad = self.bad_row(rows, memory_id, agent_id)
        if bad is not None:
            raise corrupt_memory(bad.row, memory_id)

    def check_there(self, found: Container[int], wanted: Iterable[int]) -> None:
        """Raise `Corruption` if rows on disk cannot be found, and report them with `suspect`.

        Rows that are not committed yet may be wanted too, after the index was replaced.
        """
        for row in wanted:
            if row not in found and row <= self._published_row and row not in self.aside:
                raise self._missing(row)

    def _missing(self, row: int, memory_id: str = "") -> Corruption:
        self.aside.suspect(row)
        return corrupt_memory(row, memory_id)

    def look_at_suspects(self) -> None:
        """Set aside suspected rows that are bad. On the writer's thread, between batches."""
        found = []
        for row in self.aside.take_suspects():
            bad = self.file.rows.bad_memory(row)
            slot = self.index.slot_by_row.get(row)
            if bad is None and slot is not None and not self.file.rows.is_there(row):
                # The row no longer exists.
                bits = int(self.index.arrays.writer_view().value("id_bits", slot))
                bad = BadRow(row, f"mem_{bits:016x}" if bits else "")
            if bad is not None and self.aside.add(bad):
                self.index.set_aside(row)
                found.append(bad)
                _log.error("row %d of table memory is bad (id %r): set aside", row, bad.id)
        if found:
            # An index of the past may also hold them.
            self.forget_past()
            self.recent.clear()

    def forget_purged_bad(self) -> None:
        """Stop setting aside rows that a purge made sound."""
        for bad in self.aside.memories():
            if self.file.rows.bad_memory(bad.row) is None and self.file.rows.is_there(bad.row):
                self.aside.discard(bad.row)

    def head(self, rows: Rows, memory: Memory, agent_id: str) -> Memory:
        """Return the end of a memory's chain of superseded memories, as far as the agent sees.

        A chain has no cycles; before a purged or hidden end the last visible one counts.
        """
        for _ in range(limits.SUPERSEDED_STEPS_MAX):
            if memory.status is not Status.SUPERSEDED:
                break
            by = self.find(rows, memory.superseded_by, agent_id)
            if by is None:
                break
            memory = by
        return memory

    def last_access_us(self, row: int) -> int | None:
        """Return when a memory was last read; `None` for never. Any thread."""
        slot = self.index.slot_by_row.get(row)
        if slot is None:
            return None
        last_us = int(self.index.arrays.writer_view().value("last_access", slot))
        return None if last_us == NO_TIME else last_us

    def has_expired(self, memory: Memory, now_us: int) -> bool:
        """Return whether a memory of a row counts as forgotten at a time. Any thread."""
        if memory.fields.expires_us is None:
            return False
        return expiry.has_expired(memory, self.last_access_us(memory.row), now_us)

    def as_seen(self, memory: Memory, now_us: int) -> Memory:
        """Return a memory of a row with the status that it has at a time. Any thread."""
        if self.has_expired(memory, now_us):
            return replace(memory, status=Status.FORGOTTEN)
        return memory

    def shown(self, rows: Rows, memories: Sequence[Memory], agent_id: str) -> list[Memory]:
        """Return memories as answers show them.

        They have access figures, and nothing that the agent may not see.
        """
        index = self.index
        view = index.arrays.writer_view()
        sight = Sight(index, rows, agent_id)
        out = []
        links = rows.links([memory.row for memory in memories])
        sight.look_at({row for some in links.values() for row, _ in some})
        for memory in map(sight.told, memories):
            slot = index.slot_by_row.get(memory.row)
            last_us, count = NO_TIME, 0
            if slot is not None:
                chunk, at = view.chunk_of(slot)
                last_us = int(chunk.columns["last_access"][at])
                count = int(chunk.columns["access_count"][at])
            seen = tuple([link for row, link in links[memory.row] if sight.sees(row)])
            out.append(memory.seen(None if last_us == NO_TIME else last_us, count, seen))
        return out
