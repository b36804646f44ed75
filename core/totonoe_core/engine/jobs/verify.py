"""Verification of open collections: rows against checksums, the index against rows, the file.

    opening  SQLite's indexes against their tables, once after each opening, before the first pass
    rows     every table in its order, some rows at a time, on a reader's connection
    index    the newest slot of each memory against its row: differing ones are checked again on the
             writer's thread, and rebuilt there from the row
    file     SQLite's own check; indexes of SQLite that differ from their tables are rebuilt

One pass every `interval_h`, while the collection is open, at a share of one core. It opens nothing
and keeps nothing open. A bad row of `memory` is set aside, others are counted (`store/aside.py`).
It does not clean after a purge: `store/sqlite/scrub.py` does.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np

from totonoe_core.base import limits
from totonoe_core.base.clock import Clock
from totonoe_core.base.errors import Corruption, ReadOnly, TotonoeError
from totonoe_core.domain.records import Memory, Status
from totonoe_core.domain.verified import NOT_VERIFIED, Verified
from totonoe_core.engine.state.state import CollectionState
from totonoe_core.index.arrays import STATUSES
from totonoe_core.index.collection_index import CollectionIndex, Features, text_hash, vector_of
from totonoe_core.store.records import Place
from totonoe_core.store.seam import Comparison, FileChecks, Key, ReaderPool, Store, needed

_log = logging.getLogger(__name__)

T = TypeVar("T")

IDLE_S = 5.0
_VERIFIED = "verified"  # setting: end of the last pass
_HOUR_US = 3600 * 1_000_000
_CHECKED_AGAIN = 3  # times that a pass starts SQLite's check again, if a purge interrupts it


@dataclass(frozen=True, slots=True)
class Pace:
    """Frequency and speed. `interval_h` 0: never. `share` of one core, above 0 up to 1."""

    interval_h: float = 24.0
    share: float = 0.05

    def rest(self, used_s: float) -> float:
        """Return the time to rest after so much CPU time."""
        return used_s * (1.0 - self.share) / self.share


NO_VERIFYING = Pace(interval_h=0.0)


class Verifier:
    """The passes over one open collection; `step` on one thread, `figures` on any.

    `on_writer(work)` runs work on the writer's thread.
    """

    def __init__(
        self,
        store: Store,
        place: Place,
        state: CollectionState,
        readers: ReaderPool,
        clock: Clock,
        on_writer: Callable[[Callable[[], object]], Future[object]],
        stop: threading.Event,
    ) -> None:
        self._store = store
        self._path = place.path
        self._state = state
        self._readers = readers
        self._clock = clock
        self._on_writer = on_writer
        self._stop = stop
        self._stepping = threading.Lock()
        self._figures = NOT_VERIFIED
        self._ended_us = _last_ended(readers)
        self._tried_us = self._ended_us
        self._comparison = None if store.checks is None else store.checks.comparison()
        self._begin()

    def _begin(self) -> None:
        checks = self._store.checks
        self._tables = [] if checks is None else list(checks.tables.items())
        self._after: Key | None = None
        self._bad: set[tuple[str, str]] = set()
        self._row_count = 0
        self._damage_count = 0
        self._tries = 0
        self._under_way = False

    @property
    def _checks(self) -> FileChecks:
        """The checks of the store. `due` is never true without them."""
        return needed(self._store.checks, "verification", self._store.name)

    def figures(self) -> Verified:
        """Return the present findings."""
        aside = self._state.aside
        ids = [bad.id for bad in aside.memories() if bad.id and not bad.private]
        lost = self._state.file.commits.loss
        return replace(
            self._figures,
            lost_commit_count=0 if lost is None else lost.commit_count,
            lost_revisions="" if lost is None else lost.revisions,
            bad_row_counts=aside.counts(),
            bad_memory_ids=tuple(ids[: limits.BAD_MEMORIES_NAMED_MAX]),
            ended_us=self._ended_us,
        )

    def due(self, pace: Pace) -> bool:
        """Return whether there is work: a pass, or the check after an opening.

        There is never any on a store without files, whose own checks are its operator's.
        """
        if self._stop.is_set() or not pace.interval_h or self._comparison is None:
            return False
        if not self._comparison.ended:
            return True
        since_us = self._clock() - (self._tried_us or 0)
        return self._under_way or since_us >= pace.interval_h * _HOUR_US

    def step(self, pace: Pace) -> bool:
        """Run the next step of a pass, or start one; return whether the pass goes on.

        Before the first pass since the opening the indexes are compared.
        """
        with self._stepping:
            if self._stop.is_set():
                return False
            if self._comparison is not None and not self._comparison.ended:
                self._compare_indexes(self._comparison)
                return True
            if not self._under_way:
                self._begin()
                self._under_way = True
                self._figures = replace(self._figures, begun_us=self._clock())
            try:
                if self._tables:
                    self._look_at_rows()
                    return True
                if not self._look_at_file(pace):
                    return True
                self._end()
            except Exception as error:
                # Closing, a full disk, an unreadable page: the pass starts over another time.
                self._ended_early("a pass over", error)
                self._begin()
                self._tried_us = self._clock()
            return False

    def _ended_early(self, what: str, error: Exception) -> None:
        why = error.message if isinstance(error, TotonoeError) else type(error).__name__
        _log.warning("%s %s ended early: %s", what, self._path.parent.name, why)
        damage_count = self._damage_count + isinstance(error, Corruption)
        self._figures = replace(self._figures, damage_count=damage_count)

    def close(self) -> None:
        """Wait for the running step; `stop` was set before."""
        with self._stepping:
            pass

    # -- Rows

    def _look_at_rows(self) -> None:
        name, key = self._tables[0]
        checks = self._checks
        with self._readers.rows() as rows:
            looked = checks.look(rows, name, key, self._after, limits.VERIFY_STEP_ROWS)
            memories: dict[int, Memory] = {}
            if name == "memory":
                found = rows.memories(
                    [entry[0] for entry in looked.keys if entry not in looked.bad]
                )
                number = self._state.published.model_number
                # Rows that exchange their vectors meanwhile are checked again by the writer.
                memories = {
                    memory.row: memory for memory in rows.beside.of_model(number, found.values())
                }
        self._compare(memories.values())
        for (row,) in looked.bad if name == "memory" else ():
            self._state.aside.suspect(row)
        if name != "memory":
            self._bad.update((name, checks.bad_name(entry)) for entry in looked.bad)
        self._row_count += len(looked.keys)
        self._damage_count += looked.damaged
        self._after = looked.last
        if looked.last is None:
            del self._tables[0]

    def _compare(self, memories: Iterable[Memory]) -> None:
        """Check memories whose slots differ from their rows again, on the writer's thread."""
        index = self._state.index
        differing = [memory.row for memory in memories if not _fits(index, memory)]
        if differing:
            self._on_writer(lambda: self._mend(differing)).result()

    def _mend(self, differing: Sequence[int]) -> None:
        """Rebuild slots that still differ. On the writer's thread."""
        index = self._state.index
        mended = 0
        rows = self._state.file.rows
        found = rows.memories(differing).values()
        for memory in rows.beside.of_model(index.model_number, found):
            if _fits(index, memory):
                continue
            mended += 1
            vector = vector_of(memory, index.arrays.dimension)
            # By either map: a slot that one map lost must not stay live beside the new one.
            slot = index.slot_by_row.get(memory.row)
            index.add(
                memory,
                Features.of(memory.content, vector, index.tokenizer),
                replaces=index.slot_by_id.get(memory.id) if slot is None else slot,
            )
            index.publish()
            _log.error("what is in memory of row %d was not as the row: made anew", memory.row)
        if mended:
            count = self._figures.index_mismatch_count + mended
            self._figures = replace(self._figures, index_mismatch_count=count)

    # -- The indexes

    def _compare_indexes(self, comparison: Comparison) -> None:
        """Check some entries of SQLite's indexes; rebuild differing indexes."""
        table = ""
        try:
            with self._readers.rows() as rows:
                table = self._checks.compare(rows, comparison, limits.VERIFY_STEP_ROWS)
            if table:
                self._on_writer(lambda: self._reindex(table)).result()
        except Exception as error:
            # Closing, a full disk, a damaged table: the next pass checks again.
            if not table:
                comparison.give_up()
            self._ended_early("the look at indexes of", error)

    # -- The file

    def _look_at_file(self, pace: Pace) -> bool:
        """Return whether SQLite's check is complete, or given up for this pass."""
        self._tries += 1
        if self._tries > _CHECKED_AGAIN:
            return True
        used_s = time.thread_time()

        def go_on() -> bool:
            nonlocal used_s
            rest_s, used_s = pace.rest(time.thread_time() - used_s), time.thread_time()
            # Cleaning after a purge waits for readers, so it has priority.
            return not (self._stop.wait(rest_s) or self._state.file.to_clean)

        lines = self._checks.damage_of(self._path, go_on)
        if lines is None:
            return False
        if self._checks.of_indexes_alone(lines):
            self._on_writer(self._reindex).result()
            lines = []
        for line in lines[:8]:
            _log.error("%s: %s", self._path.name, line)
        self._damage_count += len(lines)
        return True

    def _reindex(self, table: str = "") -> None:
        """Rebuild SQLite's indexes from the rows, which are the truth. On the writer's thread.

        Rebuilds those of one table, or (empty) all.
        """
        name = self._path.parent.name
        _log.error("indexes of %s do not fit %s: made anew", name, table or "their tables")
        self._checks.reindex(self._state.file, table)
        count = self._figures.reindexed_count + 1
        self._figures = replace(self._figures, reindexed_count=count)

    def _end(self) -> None:
        self._state.aside.replace_noted(frozenset(self._bad))
        ended_us = self._clock()
        self._figures = replace(
            self._figures, row_count=self._row_count, damage_count=self._damage_count
        )
        self._ended_us = self._tried_us = ended_us
        self._under_way = False
        self._on_writer(lambda: self._keep(ended_us)).result()
        bad_count = sum(self._state.aside.counts().values())
        if bad_count or self._damage_count:
            _log.error(
                "%s: %d bad rows, %d findings of SQLite; see Stats and the command `verify`",
                self._path.parent.name,
                bad_count,
                self._damage_count,
            )

    def _keep(self, ended_us: int) -> None:
        self._state.look_at_suspects()
        try:
            with self._state.file.transaction():
                self._state.file.put_setting(_VERIFIED, str(ended_us), revision=0, before=None)
        except ReadOnly:
            _log.warning("%s: the disk took no note of the pass", self._path.parent.name)


class Verifying:
    """The thread that verifies open collections, a step of each in turn."""

    def __init__(self, verifiers: Callable[[], Sequence[Verifier]], pace: Pace) -> None:
        self._verifiers = verifiers
        self._pace = pace
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="verify", daemon=True)
        if pace.interval_h:
            self._thread.start()

    def _run(self) -> None:
        rest_s = IDLE_S
        while not self._stop.wait(rest_s):
            rest_s = IDLE_S
            for verifier in self._verifiers():
                if not verifier.due(self._pace):
                    continue
                used_s = time.thread_time()
                verifier.step(self._pace)
                rest_s = self._pace.rest(time.thread_time() - used_s)
                if self._stop.wait(rest_s):
                    return
                rest_s = 0.0

    def close(self) -> None:
        """Stop it, after the running step. Idempotent."""
        self._stop.set()
        if self._thread.is_alive():
            self._thread.join()


def _fits(index: CollectionIndex, memory: Memory) -> bool:
    """Return whether a memory's newest slot equals its row, or is not published yet."""
    slot = index.slot_by_row.get(memory.row)
    if slot is None:
        # A purged memory has no slot after a reopening.
        return memory.status is Status.PURGED
    view = index.view()
    if slot >= view.count or memory.status is Status.PURGED:
        return True
    said = {
        "row": memory.row,
        "status": STATUSES[memory.status],
        "text_hash": text_hash(memory.content_hash),
        "private": memory.fields.private,
        "created": memory.created_us,
        "updated": memory.updated_us,
        "agent": index.arrays.agents.find(memory.agent_id),
    }
    if any(view.value(name, slot) != value for name, value in said.items()):
        return False
    vector = vector_of(memory, index.arrays.dimension)
    features = Features.of(memory.content, vector, index.tokenizer)
    (kept,) = view.vectors(np.array([slot]))
    return np.array_equal(kept, vector) and np.array_equal(view.tokens(slot), features.tokens)


def _last_ended(readers: ReaderPool) -> int | None:
    try:
        with readers.rows() as rows:
            kept = rows.setting(_VERIFIED)
    except Corruption:
        return None
    return None if kept is None else int(kept)
