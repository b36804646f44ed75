"""Seam between the engine and a store, whatever holds the rows.

    Store            opens and makes the rest
      Catalog        names of collections, and the operations that made them
      CollectionFile one collection as its writer uses it: one connection, one thread
      ReaderPool     connections that read one collection; each lends `Rows`
        Rows         and what lies in it: History, Moment, Questions, Figures, BesideReads
      FileCopies     capability: copies of files, of which the engine makes snapshots
      KeptSnapshots  capability: snapshots; of files the engine's own, over `FileCopies`
      FileChecks     capability: checks of files

A capability is something that only a store of files has. A store without it gives `None`, and calls
that need it raise `NotOnThisStore` (`needed`). The names are those of the first store, whose
collections are files.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence, Set
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, Protocol, TypeVar

from totonoe_core.base.errors import NotOnThisStore
from totonoe_core.domain.collections import CollectionInfo
from totonoe_core.domain.records import (
    Dismissal,
    Episode,
    Link,
    LinkType,
    Memory,
    RecallEvent,
    TimeRange,
)
from totonoe_core.domain.snapshots import Snapshot
from totonoe_core.store.aside import Aside, BadRow
from totonoe_core.store.checkpoint import Checkpoints
from totonoe_core.store.records import (
    AskedPair,
    CatalogReply,
    ExaminedSnapshot,
    Image,
    LikelyPair,
    LinkVersion,
    Loss,
    OperationRow,
    PairPlace,
    Place,
    Reply,
    Touched,
)
from totonoe_core.store.rows import Embedding, Excerpt

T = TypeVar("T")
Key = tuple[Any, ...]
"""Key of a row of any table."""


def needed(capability: T | None, what: str, store: str) -> T:
    """Return a capability. Raises `NotOnThisStore` if the store has it not; `what` names it."""
    if capability is None:
        raise NotOnThisStore(what, store)
    return capability


class TableStep(Protocol):
    """A step over a table: keys of its rows, the bad ones, and where the next step begins.

    `last` is `None` at the end; `damaged` is true if the rest cannot be read at all.
    """

    @property
    def keys(self) -> tuple[Key, ...]:
        """Keys of the rows."""

    @property
    def bad(self) -> tuple[Key, ...]:
        """Keys of the bad rows."""

    @property
    def last(self) -> Key | None:
        """Key after which the next step begins."""

    @property
    def damaged(self) -> bool:
        """True if the rest cannot be read."""


class Comparison(Protocol):
    """A comparison of the indexes of a file with their tables, under way."""

    @property
    def ended(self) -> bool:
        """True once all were compared, or the comparison was given up."""

    def give_up(self) -> None:
        """End it."""


class BesideReads(Protocol):
    """Reads of the vectors beside rows, through any connection."""

    def rows_from(self, row: int, limit: int) -> list[int]:
        """Return row numbers of memories after a row, ascending."""

    def embeddings(self, wanted: Sequence[int]) -> dict[int, Embedding]:
        """Vectors that rows have beside their own, by row number."""

    def embeddings_from(self, row: int, limit: int) -> list[Embedding]:
        """Return vectors beside the rows after a row number, in the order of the rows."""

    def of_model(self, model_number: int, memories: Iterable[Memory]) -> Iterator[Memory]:
        """Yield memories with their vectors of one model; empty if they have none.

        A vector of that model may lie in the row or beside it. Read both in one snapshot, unless
        nothing exchanges them meanwhile.
        """


class BesideRows(Protocol):
    """Writes of vectors beside rows, inside the writer's transaction."""

    def put(self, found: Iterable[Embedding]) -> None:
        """Write vectors of another model beside rows, replacing those there."""

    def delete(self, wanted: Iterable[int]) -> None:
        """Delete the vectors beside rows."""

    def exchange(self, memories: Iterable[tuple[Memory, Embedding]]) -> None:
        """Exchange the vectors of rows with those beside them.

        This is no operation: no revision, no image. A row without a vector leaves none beside it.
        """


class Questions(Protocol):
    """Reads of open questions on one collection's file; each row is checked against its crc."""

    def below(self, place: PairPlace, limit: int) -> list[AskedPair]:
        """Return the next pairs below a place, the highest first."""

    def of_row(self, row: int, place: PairPlace) -> list[AskedPair]:
        """Return the pairs of one row below a place, the highest first."""

    def among(self, wanted: Sequence[int]) -> list[LikelyPair]:
        """Return the pairs that are probably the same and of which both rows are among some."""


class Figures(Protocol):
    """Reads of an Audit and of recalls on one collection's file."""

    def links_of(self, type_: LinkType) -> Iterator[tuple[int, int]]:
        """Yield (source, target) of the links of a symmetric type, each pair once."""

    def superseded(self) -> list[tuple[int, int]]:
        """Return (row, row of its successor) of all SUPERSEDED memories whose successor exists."""

    def dismissed(self, limit: int) -> list[tuple[int, int]]:
        """Return pairs of rows whose dismissal counts for their present texts; at most `limit`."""

    def oldest_reply_us(self, since_us: int, limit: int) -> int | None:
        """Return the time of the oldest of the newest `limit` kept answers; `None` for none."""

    def refusals(self, since_us: int, limit: int) -> Iterator[tuple[str, int]]:
        """Yield (answer, time) of kept answers that name a duplicate, newest first.

        At most `limit` answers are looked at.
        """

    def recalled_by(self, row: int) -> list[tuple[str, int]]:
        """Return (agent, time in us) of the kept Recalls with a row in their hits, newest first."""


class History(Protocol):
    """Reads of the past through one connection; every row is checked against its crc."""

    def operation(self, revision: int) -> OperationRow | None:
        """Return the operation that made a revision."""

    def seal(self, revision: int) -> tuple[str, int, int] | None:
        """Return id, time (us) and crc of a revision's operation, which identify the history."""

    def operations_with_id(self, operation_id: str) -> list[OperationRow]:
        """Operations of an id, which is unique for each agent only; newest first, at most 100."""

    def operations_after(self, revision: int, limit: int) -> list[OperationRow]:
        """Operations after a revision, oldest first."""

    def operations_before(self, revision: int, limit: int) -> list[OperationRow]:
        """Operations before a revision, newest first."""

    def undone_by(self, revisions: Sequence[int]) -> dict[int, int]:
        """Return the revision of the newest Undo of each revision that has one."""

    def taken_count(self, kinds: Sequence[str], since_us: int) -> int:
        """Count the memories that operations of some kinds after a time took out of sight.

        Counts each memory once, and none that is live again. Reads the images of those operations
        without their vectors, and the next image of each memory.
        """

    def newest_time(self) -> int:
        """Return the time (us) of the newest sound operation; 0 if there is none.

        Times ascend with the revisions. Raises `Corruption` if a revision is missing, or the newest
        _DAMAGED_MAX rows are damaged.
        """

    def newest(self) -> int:
        """Return the newest revision; 0 before the first operation."""

    def revision_at(self, time_us: int) -> int:
        """Return the newest revision made up to a time; 0 if there was none.

        Uses binary search, since times ascend with the revisions. Revisions that a confirmed loss
        left out count as the one before.
        """

    def memory_images(self, revision: int) -> dict[int, Memory]:
        """Return the memories that an operation changed as they were before it, by row number."""

    def memory_versions(self, row: int) -> list[Memory]:
        """Return every earlier version of a memory, oldest first; the row itself is the newest."""

    def versions_until(self, row: int, revision: int, limit: int) -> list[Memory]:
        """Return versions of a memory that ended by a revision, newest first."""

    def memories_after(self, revision: int, wanted: Iterable[int]) -> dict[int, Memory]:
        """Return memories as of right after a revision, by row number; absent if not there yet."""

    def rows_changed_after(self, revision: int) -> list[int]:
        """Return row numbers of memories that were made or changed after a revision."""

    def rows_moved_after(self, revision: int) -> list[int]:
        """Return row numbers of memories whose created time was another one after a revision.

        Reads every image since then, without its vector: some 2 us for each.
        """

    def rows_of_external_ids(
        self, external_ids: Sequence[str], agent_id: str, revision: int
    ) -> dict[str, list[int]]:
        """Return row numbers of memories that have, or had after a revision, some external ids.

        The result includes all that the agent can see. Reads each image since then once, for any
        number of ids.
        """

    def link_images(self, revision: int) -> list[LinkVersion]:
        """Return the links that an operation changed or removed as they were before it."""

    def link_versions(self, source: int) -> list[LinkVersion]:
        """Return every version of every link that a row ever held, oldest first."""

    def link_after(self, revision: int, source: int, target: int, type_: LinkType) -> Link | None:
        """Return one direction of a link right after a revision; `None` if it did not exist."""

    def link_revision(self, source: int, target: int, type_: LinkType) -> int | None:
        """Return the revision of the last operation that wrote a link; `None` if there is none."""

    def link_now(self, source: int, target: int, type_: LinkType) -> LinkVersion | None:
        """Return the current version of one direction of a link; `None` if it does not exist."""

    def dismissal_images(self, revision: int) -> dict[tuple[int, int], Dismissal]:
        """Return dismissals that an operation changed or removed, as they were before it."""

    def dismissal_revisions(self, row: int) -> set[int]:
        """Return revisions of operations that made, changed or removed dismissals of a row."""

    def episode_images(self, revision: int) -> dict[str, Episode]:
        """Return episodes that an operation changed or removed, as they were before it, by id."""

    def last_episode(self, episode_id: str) -> Episode | None:
        """Return an episode as it was before its last change or deletion."""

    def setting_image(self, revision: int, key: str) -> str | None:
        """Return a setting as it was before an operation; `None` if that did not change it."""

    def image_from(self, entity: str, key: str, revision: int) -> Image | None:
        """Return the first image of a row at or after a revision; `None` if there is none."""

    def images_from(self, entity: str, key: str, revision: int, limit: int) -> list[Image]:
        """Return at most `limit` images of a row at or after a revision, oldest first."""

    def last_image(self, entity: str, key: str, before: int) -> int:
        """Return the revision of the last image of a row before a revision; 0 if there is none."""


class Moment(Protocol):
    """Contents of a collection right after a revision, through one connection."""

    @property
    def damaged_count(self) -> int:
        """Bad rows that were left out."""

    def last_row(self) -> int:
        """Return the highest row number; 0 if there is none."""

    def holds_anything(self) -> bool:
        """Return whether there is now a memory that is not purged, or an episode."""

    def rows_after(self, row: int, last: int, limit: int) -> list[int]:
        """Row numbers after one, up to `last`."""

    def ids(self, wanted: Sequence[int]) -> dict[int, str]:
        """Ids by row number."""

    def access(self, first: int, last: int) -> dict[int, tuple[int, int]]:
        """Last access (us) and count of rows from `first` to `last`, as they are on disk now."""

    def links(self, sources: Sequence[int], revision: int) -> list[LinkVersion]:
        """Return the links that some rows, ascending, held to higher rows; so each pair comes once.

        Ordered by (source, target, type). One query if nothing changed since, else two for each
        row.
        """

    def dismissals(self, firsts: Sequence[int], revision: int) -> list[Dismissal]:
        """Return dismissals whose lower row is one of some ascending rows, by their rows."""

    def episode_ids(self, revision: int) -> list[str]:
        """Return ids of the episodes at a revision, by (start, id)."""

    def episode(self, now: Episode | None, episode_id: str, revision: int) -> Episode | None:
        """Return an episode at a revision, given its current state."""


class Recalls(Protocol):
    """Writes of these figures, inside the writer's transactions."""

    def put_access(self, figures: Iterable[tuple[int, int, int]]) -> None:
        """Writes (row, last access us, count) of recalled memories."""

    def access(self) -> dict[int, tuple[int, int]]:
        """Last access (us) and count by row, for loading."""

    def put_events(self, events: Iterable[RecallEvent], keep: int) -> None:
        """Keep events of Recalls; of more than `keep` the oldest are dropped."""

    def take_events(self, limit: int) -> list[RecallEvent]:
        """Remove and return the oldest events: each is used once; bad ones are only noted."""

    def add_coactivations(
        self, gained: Mapping[tuple[int, int], int]
    ) -> dict[tuple[int, int], int]:
        """Add co-activations by (lower, higher) row; return their new counts.

        A bad count starts at zero.
        """


class PurgedRows(Protocol):
    """Writes that erase rows, inside the writer's transaction."""

    def delete_bad(self, row: int) -> None:
        """Delete a row of `memory` with a wrong checksum, so that `empty` can write it anew.

        SQLite's indexes may still hold its old values, and are rebuilt: some 5 us for each row of
        the table.
        """

    def empty(self, tombstone: Memory) -> int:
        """Put an empty row in the place of a memory; return how many before images were deleted.

        This also deletes its links, every image of its links, its dismissals with their images, its
        access figures, its second vector and its co-activations.
        """

    def version_count(self, row: int) -> int:
        """Return how many before images a memory has."""

    def episodes_with(self, memory_ids: Collection[str]) -> list[Episode]:
        """Return episodes that were made with any of some memories."""

    def leave_episodes(self, memory_ids: Collection[str]) -> int:
        """Remove memories from episodes and their images for good; return the number of episodes.

        No trace stays: no image, and no new revision of the episode.
        """

    def rewrite_replies(
        self, named: Callable[[str], bool], rewritten: Callable[[str], str], *, write: bool = True
    ) -> int:
        """Rewrite kept answers; return how many changed.

        `named(answer)` selects the answers to rewrite, in one pass over all. A selected answer that
        is bad is deleted: nobody can be given it.
        """


class Commits(Protocol):
    """Acknowledged commits that a collection lacks. Used on the writer's thread.

    While `loss` is set, nothing is written. `foreign` is the uid of a collection whose note of
    commits lies where this one's should; else empty.
    """

    loss: Loss | None
    foreign: str


class Rows(Protocol):
    """Rows of one collection through one connection; each row is checked against its crc."""

    @property
    def aside(self) -> Aside:
        """Its bad rows."""

    @property
    def in_snapshot(self) -> bool:
        """True within `snapshot`."""

    @property
    def history(self) -> History:
        """Reads of the past."""

    @property
    def figures(self) -> Figures:
        """Reads of an Audit."""

    @property
    def questions(self) -> Questions:
        """Reads of open questions."""

    @property
    def beside(self) -> BesideReads:
        """Reads of vectors of another model."""

    @property
    def moment(self) -> Moment:
        """Reads of a past revision."""

    def snapshot(self) -> AbstractContextManager[None]:
        """Read everything within from one moment. For readers' connections; does not nest.

        The moment is that of the first read. Until the end, the file's log cannot be truncated past
        it.
        """

    def memories(self, wanted: Sequence[int]) -> dict[int, Memory]:
        """Return memories by row number, without access figures and links; skip unknown rows."""

    def excerpts(self, wanted: Sequence[int]) -> dict[int, Excerpt]:
        """Return excerpts of memories by row number; unknown rows are absent."""

    def is_there(self, row: int) -> bool:
        """Return whether `memory` has a row of this number, bad or not."""

    def bad_memory(self, row: int) -> BadRow | None:
        """Return the readable rest of a bad row of `memory`; `None` if it is sound or missing."""

    def all_memories(self) -> Iterator[Memory]:
        """Yield every memory by row number, for loading; bad rows are set aside instead.

        Raises `Corruption` if the table itself is damaged.
        """

    def memories_after(self, revision: int) -> Iterator[Memory]:
        """Yield memories last changed after a revision, by row number; bad rows are set aside.

        Raises `Corruption` if the table itself is damaged.
        """

    def readings(self, wanted: Sequence[int], /) -> dict[int, bytes]:
        """Return what was read from the texts of rows, by row number, as `put_memory` got it.

        Empty or absent where there is none, which is always so in a store of one daemon.
        """

    def row_of_external_key(self, key: str) -> int | None:
        """Return the row of the memory, not forgotten, with an external key."""

    def row_of_external_id(self, external_id: str, agent_id: str) -> int | None:
        """Return the row of the memory that an external id names for an agent.

        The agent's own private memory comes before the public one; forgotten ones come last.
        """

    def row_of_id(self, memory_id: str) -> int | None:
        """Return the row of the memory that has, or had, an id."""

    def taken_ids(self, memory_ids: Sequence[str]) -> set[str]:
        """Return those of some ids that memories have, or had."""

    def ids(self, wanted: Sequence[int]) -> dict[int, str]:
        """Ids by row; rows that are not there are left out."""

    def forgotten_before(self, time_us: int, limit: int) -> list[str]:
        """Return ids of memories forgotten before a time, the longest forgotten first."""

    def setting(self, key: str) -> str | None:
        """Return one setting of the collection."""

    def last_revision(self) -> int:
        """Return the newest revision; 0 before the first operation."""

    def links(self, sources: Iterable[int]) -> dict[int, list[tuple[int, Link]]]:
        """Return for each source row its links as (target row, link), strongest first.

        Order: confidence descending, then target row, then type.
        """

    def link_counts(self, sources: Sequence[int]) -> dict[int, int]:
        """Return how many links each of some rows holds."""

    def rows_after(self, revision: int) -> list[int]:
        """Return rows of memories last changed after a revision."""

    def superseded_by(self, memory_id: str, limit: int) -> list[Memory]:
        """Return memories that this one superseded, by row number, at most `limit`."""

    def superseded_since(self, memory_id: str, revision: int, limit: int) -> list[Memory]:
        """Return memories that this one superseded, changed after a revision, the latest first."""

    def superseded_by_any(self, memory_ids: Sequence[str], limit: int) -> dict[int, str]:
        """Return rows and ids of memories that one of these superseded, the newest first."""

    def dismissal(self, a: int, b: int) -> Dismissal | None:
        """Return the dismissal of a pair of rows (a < b), whether or not it still counts."""

    def dismissed(self, pairs: Iterable[tuple[int, int]]) -> set[tuple[int, int]]:
        """Return those of some pairs of rows whose dismissal counts for their present texts.

        Either row may come first; pairs are returned as given.
        """

    def dismissals_changed(self, revision: int) -> bool:
        """Return whether an operation after a revision dismissed a pair, or took that back."""

    def dismissed_live(self, limit: int) -> list[tuple[int, int]]:
        """Return pairs of live rows (a < b) whose dismissal counts, the newest first."""

    def merged_away(self, limit: int) -> list[int]:
        """Return rows that were live until a Merge removed them, the newest first.

        So does a Resolve that says that two are the same; only such a one writes a version of the
        memory that stays. Leaves out what was undone, and rows whose chain was only shortened.
        """

    def dismissal_count(self, row: int) -> int:
        """Return how many dismissals name a row."""

    def episode(self, episode_id: str) -> Episode | None:
        """Return an episode with the ids at its creation."""

    def episodes_by_start(
        self, after: tuple[int, str], limit: int, agent_id: str, time: TimeRange
    ) -> list[Episode]:
        """Return episodes that an agent can see and that overlap a time, by (start, id).

        Starts after a position. Both `start_us` and `end_us` belong to an episode.
        """

    def rows_by_time(self, after: tuple[int, str], limit: int) -> list[tuple[int, int, str]]:
        """Return (row, created_us, id) in the order of a List, after a position; none set aside."""


class ReaderPool(Protocol):
    """A few read-only connections, each used by one thread at a time."""

    def rows(self) -> AbstractContextManager[Rows]:
        """Lend an idle connection; wait for one if all are busy.

        Raises `Corruption` if SQLite itself finds damage, or cannot read the file.
        """

    def close(self) -> None:
        """Close the connections: idle ones now, others when their reader is done."""


class CollectionFile(Protocol):
    """Writes of one collection: one connection, one thread.

    Raises `ReadOnly` when the store refuses.
    """

    @property
    def path(self) -> Path:
        """Its file; without files the place beside which its derived files lie."""

    @property
    def checkpoints(self) -> Checkpoints:
        """Its checkpoints. Safe from any thread."""

    @property
    def commits(self) -> Commits:
        """Which commits are lost."""

    @property
    def aside(self) -> Aside:
        """Its bad rows."""

    @property
    def rows(self) -> Rows:
        """Reads through the same connection."""

    @property
    def recalls(self) -> Recalls:
        """Traces of Recall."""

    @property
    def purge(self) -> PurgedRows:
        """Removal of purged memories."""

    @property
    def beside(self) -> BesideRows:
        """Vectors of another model."""

    @property
    def to_clean(self) -> bool:
        """True while purged bytes may still be somewhere."""

    def close(self) -> None:
        """Clean and checkpoint as far as possible, then close."""

    def transaction(self, asked: Collection[tuple[str, str]] = ()) -> AbstractContextManager[None]:
        """Run a batch in one synced transaction.

        `asked` names kept answers that it will look for, by agent and operation id.

        Raises
        ------
        ReadOnly
            The disk is full or refuses; nothing of the batch is stored.
        CommitsLost
            The file lacks commits; no transaction was begun.
        Corruption
            SQLite found a damaged page, or the file was found to lack pages; nothing of the batch
            is stored.
        """

    def trial(self) -> AbstractContextManager[None]:
        """Run one operation outside a transaction, and take back what it wrote."""

    def savepoint(self) -> AbstractContextManager[None]:
        """Run one operation inside the transaction; an exception reverts only this one."""

    def reading(self) -> AbstractContextManager[None]:
        """Wrap reads outside a transaction, to raise `Corruption` for a damaged page."""

    def take_reconnected(self) -> bool:
        """Return once true after a lost connection was opened again: commits may be gone."""

    def newest_revision(self) -> int:
        """Newest revision; within a transaction or a trial that before its first write."""

    def last_numbers(self) -> tuple[int, int, int]:
        """Highest row number, newest revision, newest operation time (us)."""

    def put_memory(self, memory: Memory, before: Memory | None, reading: bytes = b"") -> None:
        """Write a memory's row: a new one, or with the before image of the one that was there.

        `reading` is what was read from its text (`index/stored_reading.py`), for other daemons; an
        empty one leaves that of the same text.

        Raises `Corruption`, here or at the end of the transaction, if another memory has its row,
        id or external id.
        """

    @property
    def has_superseded(self) -> bool:
        """False if surely no memory was superseded by another: most stores have none for long."""

    def delete_setting(self, key: str) -> None:
        """Delete a setting of the bookkeeping, which has no image."""

    def put_link(
        self, source: int, target: int, link: Link, revision: int, before: Link | None
    ) -> None:
        """Write one direction of a link, and its before image if it existed."""

    def put_new_links(self, links: Iterable[tuple[int, int, Link]], revision: int) -> None:
        """Write new links, as (source row, target row, link)."""

    def delete_link(self, source: int, target: int, before: Link, revision: int) -> None:
        """Delete one direction of a link; its before image stays."""

    def note_purge(self) -> None:
        """Record, with this commit and over a crash, that the file must be cleaned."""

    def begin_cleaning(self) -> None:
        """Start cleaning at the first page, after a committed purge."""

    def finish_cleaning(self) -> None:
        """Clean as far as possible without waiting."""

    def clean(self) -> bool:
        """Do one step of removing purged bytes, outside any transaction.

        `to_clean` is false once all is done. Returns whether it made progress.

        Raises
        ------
        ReadOnly
            The store refuses, or lacks commits.
        """

    def put_operation(
        self,
        revision: int,
        operation_id: str,
        agent_id: str,
        kind: str,
        reason: str,
        touched: Touched,
        time_us: int,
        undoes: int | None = None,
    ) -> None:
        """Write the row of one revision; `undoes` is the revision that it reverted."""

    def put_episode(self, episode: Episode) -> None:
        """Write the row of a new episode."""

    def delete_episode(self, before: Episode, revision: int) -> None:
        """Delete an episode; its before image stays."""

    def put_dismissal(self, dismissal: Dismissal, before: Dismissal | None) -> None:
        """Write a dismissal, and its before image if it existed."""

    def delete_dismissal(self, before: Dismissal, revision: int) -> None:
        """Delete a dismissal; its before image stays."""

    def reply(self, agent_id: str, operation_id: str) -> Reply | None:
        """Return the kept answer of an operation id."""

    def put_reply(
        self, agent_id: str, operation_id: str, digest: bytes, answer: str, time_us: int
    ) -> None:
        """Keeps an answer for replay."""

    def drop_replies(self, before_us: int, limit: int) -> int:
        """Delete at most `limit` answers kept since before a time; return how many."""

    def put_setting(self, key: str, value: str, revision: int, before: str | None) -> None:
        """Write a setting, and its before image if it existed."""

    def link_between(self, source: int, target: int, type_: LinkType) -> Link | None:
        """Return one direction of a link."""

    def link_count(self, hidden_rows: Sequence[int]) -> int:
        """Count links with no end among `hidden_rows`, each pair once."""


class Catalog(Protocol):
    """Map from names to collections. Used by one thread at a time."""

    @property
    def loss(self) -> Loss | None:
        """Acknowledged commits that the catalogue lacks; while set, changes raise `CommitsLost`."""

    def close(self) -> None:
        """Closes the file, with its log written back unless it lacks commits or pages."""

    def place(self, uid: str, name: str) -> Place:
        """Return the place of a collection's file, with the uid and name that it must have."""

    def new_uid(self) -> str:
        """Make a directory for a new collection, not listed yet; return its uid."""

    def drop_new(self, uid: str) -> None:
        """Remove the directory of a collection that is not to be listed."""

    def recover(self) -> list[str]:
        """Finish changes that a crash interrupted; call at the start.

        Returns the names of unknown directories, which are left alone: all of them while the
        catalogue lacks commits, since these may have listed them. Raises `Corruption` if unknown
        directories are collections and the catalogue has never listed any: then the catalogue is
        lost.
        """

    def names(self) -> dict[str, str]:
        """Return the uid of each collection that is not deleted, by name."""

    def revision(self) -> int:
        """Newest revision of the catalogue."""

    def reply(self, agent_id: str, operation_id: str) -> CatalogReply | None:
        """The kept answer of an operation id."""

    def deletions(self, name: str, operation_id: str) -> dict[str, str]:
        """Return uids of collections of this name that operations of this id deleted, by agent."""

    def deleted_before(self, time_us: int, limit: int) -> list[tuple[str, str]]:
        """Return (uid, name) of collections deleted before a time, the earliest first."""

    def purged(self, operation_id: str) -> bool:
        """Return whether the collection that an operation of this id deleted is purged by now."""

    def purge(self, uid: str, time_us: int) -> None:
        """Remove a deleted collection for good: from the catalogue, then its directory.

        Raises `ReadOnly` if the disk refuses the change of the catalogue; then nothing changed.
        """

    def put(
        self,
        *,
        uid: str,
        name: str,
        deleted_us: int | None,
        operation_id: str,
        agent_id: str,
        kind: str,
        digest: bytes,
        answer: str,
        time_us: int,
        replaced_uid: str = "",
    ) -> int:
        """List or delete a collection as one operation; return its revision.

        `replaced_uid` is the collection that had the name before and is deleted with it. For a
        deletion it is the collection that gets the name.

        Raises `ReadOnly` if the disk refuses; then nothing changed.
        """

    def keep(
        self,
        *,
        uid: str,
        operation_id: str,
        agent_id: str,
        kind: str,
        digest: bytes,
        answer: str,
        time_us: int,
    ) -> int:
        """Keep the answer of an operation that changes no name; return its revision.

        Raises `ReadOnly` if the disk refuses.
        """

    def answers(self, kinds: Sequence[str], operation_id: str = "") -> list[tuple[str, str]]:
        """Return (agent, answer) of the operations of some kinds, and of one id if it is given."""


class FileCatalog(Catalog, Protocol):
    """The catalogue of a store of files, which also knows their directories."""

    def unlisted(self) -> list[str]:
        """Return the directories of collections that are neither listed, purged nor unfinished."""

    def copy_beside_snapshots(self) -> None:
        """Copy the catalogue to `COPY`, in the place of the copy before. Raises `ReadOnly`."""

    def prepare(self) -> tuple[str, Path]:
        """Make a directory for a new collection; return its uid and the path for its file.

        `settle` gives it its final name; `abandon` or the next start removes it.
        """

    def settle(self, uid: str) -> None:
        """Give a prepared directory its final name. Idempotent.

        Call after it is listed; if the process ends in between, the next start does it.
        """

    def abandon(self, uid: str) -> None:
        """Remove a prepared directory, unless it is listed. Idempotent."""


class SnapshotFiles(Protocol):
    """Snapshots of one data directory. Reads on any thread; changes on one at a time."""

    def all(self) -> Iterator[Snapshot]:
        """Every snapshot, in no order."""

    def of(self, uid: str) -> Iterator[Snapshot]:
        """Yield the snapshots of a collection's uid, in no order."""

    def find(self, snapshot_id: str) -> Snapshot | None:
        """Return the snapshot of an id."""

    def path(self, snapshot: Snapshot) -> Path:
        """The file of a snapshot."""

    def checkpoint(self, snapshot: Snapshot) -> Path:
        """The directory of the checkpoint that travels with a snapshot, there or not."""

    def temporary(self, uid: str, snapshot_id: str) -> Path:
        """Return the path for making a snapshot, and clear earlier attempts. Raises `ReadOnly`."""

    def discard(self, temporary: Path) -> None:
        """Deletes a temporary file and what SQLite may have left beside it. Idempotent."""

    def commit(self, temporary: Path, snapshot: Snapshot) -> None:
        """List a sealed file, replacing an earlier one of the id. Raises `ReadOnly`.

        The file is synced already; the rename of the manifest is the commit. A checkpoint beside
        the temporary file is listed with it; a purge that is written in takes the earlier one away.
        """

    @staticmethod
    def unlisted_checkpoint(temporary: Path) -> Path:
        """Return the place for the checkpoint of a snapshot that is being made."""

    def delete(self, snapshot: Snapshot) -> None:
        """Deletes a snapshot. Raises `ReadOnly`."""

    def sweep(self) -> list[Path]:
        """Remove unfinished files; return the files that have lost their manifest.

        Only files with names of our own form are touched.
        """


class FileCopy(Protocol):
    """A running copy of a database. All calls on the thread of the connection that writes it."""

    def step(self) -> bool:
        """Copy for SNAPSHOT_STEP_MS, or longer if it must; return whether the copy is complete.

        Raises
        ------
        ReadOnly
            The disk refuses the copy.
        Unavailable
            It restarted too often.
        """

    @property
    def share(self) -> float:
        """Share of the file that is copied, in [0, 1]."""


class FileCopies(Protocol):
    """Capability of a store of files: copies of them, as snapshots and otherwise.

    Paths are those of single files, which need not belong to an open collection.
    """

    @property
    def catalogue(self) -> FileCatalog:
        """The catalogue that `Store.catalogue` opened."""

    @property
    def snapshots(self) -> SnapshotFiles:
        """The snapshots of the store."""

    @property
    def format(self) -> int:
        """The format of files that this program writes."""

    def begin(self, file: CollectionFile, target: Path) -> FileCopy:
        """Start a copy of an open collection. One at a time, on its writer's thread.

        Raises `Unavailable` while another one is under way, `ReadOnly`, `Corruption`.
        """

    def end(self, file: CollectionFile) -> None:
        """End the running copy of an open collection, whole or not. Idempotent."""

    def open(self, path: Path, place: Place | None = None) -> CollectionFile:
        """Open a file that is no open collection, for writing; `None` accepts any collection's.

        A file of an earlier format is brought forward.
        """

    def rename(self, place: Place) -> None:
        """Turn a copy of a file into that of the collection of a place; it is no snapshot any more.

        A file of an earlier format is brought forward without keeping a copy: the caller has one.
        """

    def seal(self, path: Path, draft: Snapshot) -> Snapshot:
        """Make a finished copy a snapshot's file; return the snapshot with all its figures."""

    def examine(self, path: Path, examined: Callable[[float], None] = ...) -> ExaminedSnapshot:
        """Examine a snapshot's file; `examined` is called with the share of it that is checked.

        Raises `UnsupportedFormat`, `OSError`.
        """

    def copy_file(self, source: Path, target: Path, copied: Callable[[float], None] = ...) -> str:
        """Copy a file, on disk when this returns; return its sha256. Raises `ReadOnly`."""

    def sha256_of(self, path: Path) -> str:
        """Return the sha256 of a file. Raises `OSError`."""

    def holds(self, path: Path, memory_ids: Sequence[str]) -> list[str]:
        """Return those of some ids that a file holds and that are not purged in it."""

    def purged_ids(self, place: Place) -> list[str]:
        """Return the ids of the memories that are purged in a collection's file."""

    def is_sound(self, snapshot: Snapshot) -> bool:
        """Return whether ids read from a file are valid as file names."""

    def disk(self, what: str) -> AbstractContextManager[None]:
        """Raise errors of files within as `ReadOnly` or `Corruption`."""

    def carry(self, source: Path, temporary: Path) -> None:
        """Copy the checkpoint beside a snapshot's file to the place for that of a new snapshot."""

    def place_checkpoint(self, snapshot: Snapshot, path: Path, uid: str) -> None:
        """Put the checkpoint of a snapshot beside the file of a restored collection."""

    def begin_catalogue(self) -> str:
        """Make sure that a catalogue can be read, before it is rebuilt.

        Returns "catalogue" if it could be read, "copy" or "nothing" if it was set aside. Raises
        `OSError`.
        """


class Prepared(Protocol):
    """A copy of a snapshot that is about to be a collection, but is not listed yet."""

    @property
    def uid(self) -> str:
        """Its uid."""

    def open(self) -> CollectionFile:
        """Open it for a purge; to be closed."""

    def info(self) -> CollectionInfo:
        """Return its settings, with its newest revision."""

    def hold(self, uids: Iterable[str]) -> dict[str, int] | None:
        """Let no other daemon write some collections until this one is listed, or given up.

        Returns their newest revisions; `None` if there are no other daemons. Raises `Unavailable`.
        """

    def put(self, **listed: Any) -> int:
        """List it; see `Catalog.put`."""


class KeptSnapshots(Protocol):
    """Capability: snapshots of the collections of a store.

    Reads on any thread; changes on one of this daemon, and one after the other of all daemons.
    """

    def all(self) -> Iterator[Snapshot]:
        """Every snapshot, in no order."""

    def of(self, uid: str) -> Iterator[Snapshot]:
        """Yield the snapshots of a collection's uid, in no order."""

    def find(self, snapshot_id: str) -> Snapshot | None:
        """Return the snapshot of an id."""

    def sweep(self) -> None:
        """Remove what an earlier process left unfinished."""

    def close(self) -> None:
        """Close what is open."""

    def take(
        self,
        name: str,
        draft: Snapshot,
        tell: Callable[[str, float], None],
        check: Callable[[Sequence[Snapshot]], None],
    ) -> Snapshot:
        """Make and list a snapshot of the collection of a name, whose uid `draft` has.

        `tell` is called with the step and the share of it that is done, and may raise. `check` gets
        the snapshots of the collection that there are once no other daemon changes them, and
        raises if there may not be another one. If one of the id is there by then, it is returned.

        Raises `Corruption` if the copy is not sound: a snapshot that cannot be restored is none.
        """

    def delete(self, snapshot: Snapshot) -> None:
        """Delete a snapshot. Raises `ReadOnly`."""

    def settle(self) -> None:
        """Wait until the snapshots that other daemons are taking are listed. Raises `Unavailable`.

        What is taken later is of a later moment.
        """

    def holds(self, snapshot: Snapshot, memory_ids: Sequence[str]) -> list[str]:
        """Return those of some ids that a snapshot holds and that are not purged in it."""

    def rewrite(
        self, snapshot: Snapshot, purge: Callable[[CollectionFile], int]
    ) -> tuple[Snapshot, int]:
        """Purge memories from a snapshot, and seal it anew; return it, and what `purge` returned.

        Raises `Corruption` if it was not sound, `NotFound` if another daemon has deleted it.
        """

    def purged_ids(self, place: Place) -> list[str] | None:
        """Return the ids of the purged memories of a collection, listed or not; `None`: it is gone.

        Raises `Corruption`.
        """

    def purge_aside(self, place: Place, purge: Callable[[CollectionFile], int]) -> None:
        """Purge memories from a collection that has no name; one that has a name is left alone."""

    def prepare(
        self, snapshot: Snapshot, name: str, tell: Callable[[str, float], None]
    ) -> AbstractContextManager[Prepared]:
        """Copy a snapshot, whole and as it was sealed; unless it is listed within, nothing is left.

        Raises `Corruption` if it is not sound, `NotFound`.
        """


class FileChecks(Protocol):
    """Capability of a store of files: checks of what no crc of a row covers."""

    @property
    def tables(self) -> Mapping[str, tuple[str, ...]]:
        """The key of each table whose rows are checked."""

    def look(
        self, rows: Rows, table: str, key: Sequence[str], after: Key | None, limit: int
    ) -> TableStep:
        """Do one step of checking the rows of a table."""

    def bad_name(self, key: Key) -> str:
        """Return the key of a bad row, for counting it once."""

    def comparison(self) -> Comparison:
        """Begin a comparison of the indexes of a file with their tables."""

    def compare(self, rows: Rows, comparison: Comparison, limit: int) -> str:
        """Do one step of it; return the table of an index that differs, else an empty text."""

    def damage_of(self, path: Path, go_on: Callable[[], bool]) -> list[str] | None:
        """Return what the file's own check finds; `None` if `go_on` ended it."""

    def of_indexes_alone(self, lines: Sequence[str]) -> bool:
        """Return whether findings are about indexes, which can be rebuilt."""

    def reindex(self, file: CollectionFile, table: str = "") -> None:
        """Rebuild the indexes of one table, or (empty) all, in a transaction of its own."""


class Notices(Protocol):
    """Capability of a shared store: word of what other daemons commit, sooner than a look."""

    def hear(self, heard: Callable[[Set[str]], None]) -> None:
        """Hand on the uids of collections that others committed to, from now on, on one thread.

        Once for each store. A notice may be lost, and may come before `last_revision` shows more.
        """

    def close(self) -> None:
        """Hand on nothing more."""


class Store(Protocol):
    """Collections and their catalogue, wherever they are kept."""

    @property
    def name(self) -> str:
        """Name of the kind of store, for errors and logs."""

    @property
    def shared(self) -> bool:
        """True if other daemons may write the same collections.

        Then each batch first catches up with what they committed: within `transaction` nobody else
        writes.
        """

    @property
    def notices(self) -> Notices | None:
        """Word of other daemons' commits; `None`: there are no others, or it does not come here."""

    @property
    def copies(self) -> FileCopies | None:
        """Copies of files; `None`: this store has none."""

    @property
    def snapshots(self) -> KeptSnapshots | None:
        """Snapshots that the store keeps by itself; `None`: it has `copies` at most."""

    @property
    def checks(self) -> FileChecks | None:
        """Checks of files; `None`: this store has none."""

    def catalogue(self) -> Catalog:
        """Open the catalogue, made if it is missing. Once for each store.

        Raises `Corruption`, `ReadOnly`, `UnsupportedFormat`, `OSError`.
        """

    def make(self, place: Place, settings: Mapping[str, str]) -> None:
        """Make a new collection with its settings, durable when this returns.

        It must not be listed yet. Raises `ReadOnly`, and may leave a part of it.
        """

    def open(self, place: Place) -> CollectionFile:
        """Open a collection for its writer, on the writer's thread.

        Raises `Corruption`, `ReadOnly`, `UnsupportedFormat`.
        """

    def adopt(self, file: CollectionFile, place: Place) -> None:
        """Give a collection of an earlier daemon its missing uid."""

    def check(self, place: Place) -> None:
        """Raise `Corruption` if a closed collection is missing, another one, or incomplete."""

    def readers(self, place: Place, size: int, aside: Aside | None = None) -> ReaderPool:
        """Return a pool of at most `size` connections that read a collection."""

    def size_bytes(self, place: Place) -> int:
        """Return the bytes that a collection takes up. Raises `OSError` if it is gone."""
