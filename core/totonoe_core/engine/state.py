"""What belongs to one open collection: its file, its index, its settings.

`file` is the writer thread's; everything else may be read from any thread.
"""

from __future__ import annotations

import logging
from collections.abc import Container, Iterable, Sequence
from dataclasses import replace
from pathlib import Path

from totonoe_core import limits, plain
from totonoe_core.commands import CollectionInfo
from totonoe_core.embedding import client_vectors
from totonoe_core.engine import loading
from totonoe_core.engine.past_index import PastIndexes
from totonoe_core.engine.recent import RecentOperations
from totonoe_core.engine.sight import Sight, may_see
from totonoe_core.errors import Corruption, InvalidArgument
from totonoe_core.index.arrays import NO_TIME
from totonoe_core.index.collection_index import CollectionIndex
from totonoe_core.records import Memory, Status
from totonoe_core.reembed import KnownModel, Pending, left
from totonoe_core.store.aside import BadRow, corrupt_memory
from totonoe_core.store.collection_file import CollectionFile
from totonoe_core.store.migrate import forget_copies
from totonoe_core.store.reader import ReaderPool, Rows

_log = logging.getLogger(__name__)

_INFO = "collection"
_MODELS = "models"
_REEMBEDDING = "reembedding"
_SETTLING = "settling"
_KNOWN: type[tuple[KnownModel, ...]] = tuple[KnownModel, ...]


class CollectionState:
    """One open collection. Made by `load`, on the thread that will write it.

    `info`, `revision` and `last_time_us` are the writer's: they run ahead of the disk while
    a batch is decided. `published` is what a reader may say. `pending` is the re-embedding that is
    under way; `next_index` takes the place of the index when what was decided is published.
    """

    def __init__(self, file: CollectionFile, info: CollectionInfo) -> None:
        self.file = file
        self.aside = file.aside
        self.info = info
        self._last_row, self.revision, self.last_time_us = file.last_numbers()
        self.checkpoints = file.checkpoints
        text = file.rows.setting(_REEMBEDDING)
        self.pending = None if text is None else plain.loads(Pending, text)
        self.next_index: CollectionIndex | None = None
        self.settling_at_start = self.settling
        self.index, self.opening = loading.opened(file, info, self.revision)
        self.past = PastIndexes()
        self.recent = RecentOperations()
        self.publish()

    @classmethod
    def load(cls, path: Path) -> CollectionState:
        """Opens a collection's file and makes what is in memory, from a checkpoint if it can.

        Bad rows of memories are set aside. Raises `Corruption` for bad settings and damaged tables.
        """
        file = CollectionFile(path)
        try:
            with file.reading():
                state = cls(file, read_settings(file.rows, path.name))
            for bad in state.aside.memories():
                _log.error("row %d of table memory is bad (id %r): set aside", bad.row, bad.id)
            return state
        except BaseException:
            file.close()
            raise

    @staticmethod
    def create(path: Path, info: CollectionInfo) -> None:
        """Makes the file of an empty collection, where nothing counts on it yet."""
        CollectionFile.make(path, {_INFO: plain.dumps(info)})

    @staticmethod
    def rename(path: Path, name: str, without: str) -> None:
        """Gives a collection that is not open another name, and takes a setting away.

        A file of an earlier format is brought forward, and no copy of it kept: whoever calls has
        one.
        """
        file = CollectionFile(path)
        try:
            with file.transaction():
                info = replace(read_settings(file.rows, path.name), name=name)
                file.put_setting(_INFO, plain.dumps(info), revision=0, before=None)
                file.drop_setting(without)
        finally:
            file.close()
        forget_copies(path)

    @staticmethod
    def read_info(path: Path) -> CollectionInfo:
        """Settings of a collection that is not open, with its newest revision."""
        pool = ReaderPool(path, 1)
        try:
            with pool.rows() as rows:
                return replace(read_settings(rows, path.name), revision=rows.last_revision())
        finally:
            pool.close()

    def publish(self) -> None:
        """Lets readers see what was decided, once it is on disk.

        The index first: all that belongs to a revision is in sight when it is told.
        """
        if self.next_index is not None:
            self.index, self.next_index, self.pending = self.next_index, None, None
            self.past.clear()
        self.index.publish()
        self._published_row = self._last_row
        self.published = replace(self.info, revision=self.revision)

    def check_dimension(self, dimension: int) -> None:
        """Raises `InvalidArgument` for a client's vector of another dimension.

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
        """Stamps a collection that has no dimension yet with that of its first vector.

        No before image: undoing the operation leaves the row and its vector.
        """
        if dimension and self.info.model.dimension == 0:
            self.info = replace(self.info, model=client_vectors(dimension))
            self.file.put_setting(_INFO, plain.dumps(self.info), self.revision, before=None)
            # While it is re-embedded there may be memories without a vector.
            self.index = loading.rebuilt(self.file, self.info, self.index.access())

    def put_info(self, info: CollectionInfo, revision: int) -> None:
        """Writes new settings; a change of tokenizer makes the index again."""
        before, self.info = self.info, info
        self.file.put_setting(_INFO, plain.dumps(info), revision, plain.dumps(before))
        if info.guard.tokenizer is not before.guard.tokenizer:
            # The figures of the index, not of the file, which is seconds behind.
            self.index = loading.rebuilt(self.file, info, self.index.access())

    def info_before(self, revision: int) -> CollectionInfo | None:
        """The settings before an operation that changed them; `None`: it did not.

        Model and name are today's: the dimension may have been fixed since, and vectors follow it;
        and a snapshot may have been restored under another name.
        """
        text = self.file.rows.history.setting_image(revision, _INFO)
        return (
            None
            if text is None
            else replace(
                plain.loads(CollectionInfo, text),
                name=self.info.name,
                model=self.info.model,
                model_number=self.info.model_number,
                model_since=self.info.model_since,
            )
        )

    # -- Models

    def models(self) -> tuple[KnownModel, ...]:
        """The models that it has and had, by their numbers. Writer only."""
        text = self.file.rows.setting(_MODELS)
        known = (KnownModel(self.info.model),) if text is None else plain.loads(_KNOWN, text)
        own = left(self.info)
        return tuple(own if at == self.info.model_number else one for at, one in enumerate(known))

    def put_models(self, models: tuple[KnownModel, ...]) -> None:
        """Writes them, within a transaction; no operation."""
        self.file.put_setting(_MODELS, plain.dumps(models), revision=0, before=None)

    def put_pending(self, pending: Pending | None) -> None:
        """Writes what is under way, within a transaction; no operation. To be kept once it is
        on disk."""
        if pending is None:
            self.file.delete_setting(_REEMBEDDING)
        else:
            self.file.put_setting(_REEMBEDDING, plain.dumps(pending), revision=0, before=None)

    @property
    def settling(self) -> bool:
        """Whether rows may hold vectors of the model before, and those that count lie beside."""
        return self.file.rows.setting(_SETTLING) is not None

    def put_settling(self, begun: bool) -> None:
        """Writes whether they may, within a transaction; no operation."""
        if begun:
            self.file.put_setting(_SETTLING, "1", revision=0, before=None)
        else:
            self.file.delete_setting(_SETTLING)

    def current(self, memory: Memory) -> Memory:
        """A memory as it is now, with its vector of the collection's model; empty: it has none.

        Where its row still holds that of another model, the index has it. Writer only.
        """
        if memory.vector and memory.model_number == self.info.model_number:
            return memory
        vector = b""
        if memory.row in self.index.slot_by_row:
            found = self.index.vector(memory.row)
            vector = found.tobytes() if found.any() else b""
        return replace(memory, vector=vector, model_number=self.info.model_number)

    def forget_past(self) -> None:
        """Lets go of what is in memory of the past. For a purge, once it is on disk."""
        self.past.clear()

    def take_row(self) -> int:
        """The next row number. A rolled-back operation leaves a gap, which is harmless."""
        self._last_row += 1
        return self._last_row

    def find(self, rows: Rows, memory_id: str, agent_id: str) -> Memory | None:
        """The memory of an id or `ext:` external id, if the agent may see it."""
        self.check_sound(rows, memory_id, agent_id)
        row: int | None
        if memory_id.startswith("ext:"):
            row = rows.row_of_external_id(memory_id[4:])
        else:
            index = self.index  # once: a change of tokenizer puts another in its place
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
        # A slot whose write is undone may be another memory's when its row is read.
        return memory if memory_id in (memory.id, "ext:" + memory.fields.external_id) else None

    def bad_row(self, rows: Rows, memory_id: str, agent_id: str) -> BadRow | None:
        """The row of an id or `ext:` external id, if it is set aside and the agent may know it."""
        if not len(self.aside):
            return None
        if memory_id.startswith("ext:"):
            row = rows.row_of_external_id(memory_id[4:])
        else:
            # By SQLite's index, and by what the row itself says: either may be what is damaged.
            row = rows.row_of_id(memory_id)
            if row is None or row not in self.aside:
                row = self.aside.row_of_id(memory_id)
        bad = None if row is None else self.aside.get(row)
        return bad if bad is not None and bad.may_be_known_to(agent_id) else None

    def check_sound(self, rows: Rows, memory_id: str, agent_id: str) -> None:
        """Raises `Corruption` for the id of a memory that is set aside."""
        bad = self.bad_row(rows, memory_id, agent_id)
        if bad is not None:
            raise corrupt_memory(bad.row, memory_id)

    def check_there(self, found: Container[int], wanted: Iterable[int]) -> None:
        """Raises `Corruption` if rows that are on disk cannot be found; they are suspected.

        Those of what is not committed yet may be wanted too, where another index took the place.
        """
        for row in wanted:
            if row not in found and row <= self._published_row and row not in self.aside:
                raise self._missing(row)

    def _missing(self, row: int, memory_id: str = "") -> Corruption:
        self.aside.suspect(row)
        return corrupt_memory(row, memory_id)

    def look_at_suspects(self) -> None:
        """Sets aside the rows that are bad indeed. On the writer's thread, between batches."""
        found = []
        for row in self.aside.take_suspects():
            bad = self.file.rows.bad_memory(row)
            slot = self.index.slot_by_row.get(row)
            if bad is None and slot is not None and not self.file.rows.is_there(row):
                # The number leads nowhere any more.
                bits = int(self.index.arrays.writer_view().value("id_bits", slot))
                bad = BadRow(row, f"mem_{bits:016x}" if bits else "")
            if bad is not None and self.aside.add(bad):
                self.index.set_aside(row)
                found.append(bad)
                _log.error("row %d of table memory is bad (id %r): set aside", row, bad.id)
        if found:
            # An index of the past may hold them too.
            self.forget_past()
            self.recent.clear()

    def forget_purged_bad(self) -> None:
        """Lets go of rows that were set aside and are sound now: of purged ones."""
        for bad in self.aside.memories():
            if self.file.rows.bad_memory(bad.row) is None and self.file.rows.is_there(bad.row):
                self.aside.discard(bad.row)

    def head(self, rows: Rows, memory: Memory, agent_id: str) -> Memory:
        """The end of the chain of superseded memories that one begins, as far as the agent sees.

        A chain has no cycles; a purged or hidden end leaves the last that is there.
        """
        for _ in range(limits.SUPERSEDED_STEPS_MAX):
            if memory.status is not Status.SUPERSEDED:
                break
            by = self.find(rows, memory.superseded_by, agent_id)
            if by is None:
                break
            memory = by
        return memory

    def shown(self, rows: Rows, memories: Sequence[Memory], agent_id: str) -> list[Memory]:
        """Memories as answers show them: with access figures, and nothing that the agent may
        not see."""
        index = self.index
        view = index.arrays.writer_view()
        sight = Sight(index, rows, agent_id)
        out = []
        links = rows.links([memory.row for memory in memories])
        for memory in memories:
            seen = [link for row, link in links[memory.row] if sight.sees(row)]
            slot = index.slot_by_row.get(memory.row)
            last_us, count = NO_TIME, 0
            if slot is not None:
                last_us = int(view.value("last_access", slot))
                count = int(view.value("access_count", slot))
            out.append(
                replace(
                    sight.told(memory),
                    links=tuple(seen),
                    last_access_us=None if last_us == NO_TIME else last_us,
                    access_count=count,
                )
            )
        return out


def read_settings(rows: Rows, name: str = "the collection") -> CollectionInfo:
    """The settings as they are in the file that `rows` read."""
    text = rows.setting(_INFO)
    if text is None:
        # A collection's file is made with its settings: this is not the one that was made.
        raise Corruption(
            "CORRUPT_ROW", f"{name} has lost its settings; restore a snapshot", file=name
        )
    return plain.loads(CollectionInfo, text)
