"""The daemon with one thing broken on purpose: `python -m support.broken_daemon NAME OPTION...`.

For the check of histories, which must find each of these.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import apsw
import typer

from totonoe_core.engine.state.ledger import Ledger
from totonoe_core.engine.writer.writer import Writer
from totonoe_core.index.collection_index import CollectionIndex
from totonoe_core.store.sqlite.reader import ReaderPool, Rows
from totonoe_server.services.calls import Calls
from totonoe_server.tools.commands import serve
from totonoe_server.tools.options import with_settings

STALE_S = 0.05


def guard_overlooks_its_batch() -> None:
    """Equal texts are looked for among what was published only, not in the batch at hand."""
    whole = CollectionIndex.slots_with_text

    def published(index: CollectionIndex, content_hash: bytes) -> tuple[int, ...]:
        count = index.view().count
        return tuple(slot for slot in whole(index, content_hash) if slot < count)

    CollectionIndex.slots_with_text = published  # type: ignore[method-assign]
    words = CollectionIndex.slots_with_words

    def published_words(index: CollectionIndex, canonical: int) -> tuple[int, ...]:
        count = index.view().count
        return tuple(slot for slot in words(index, canonical) if slot < count)

    CollectionIndex.slots_with_words = published_words  # type: ignore[method-assign]


def expected_revision_is_ignored() -> None:
    """Whoever writes last wins, whatever it had read."""
    Ledger.check_expected = lambda *_: None  # type: ignore[method-assign, assignment]


def readers_keep_their_moment() -> None:
    """A reader's connection shows the same moment for a while."""
    fresh = ReaderPool.rows
    begun: dict[int, float] = {}

    @contextmanager
    def stale(pool: ReaderPool) -> Iterator[Rows]:
        with fresh(pool) as rows:
            connection: apsw.Connection = rows._connection
            at = begun.get(id(connection))
            if at is None or time.monotonic() - at > STALE_S:
                if connection.in_transaction:
                    connection.execute("ROLLBACK")
                connection.execute("BEGIN")
                begun[id(connection)] = time.monotonic()
            yield rows

    ReaderPool.rows = stale  # type: ignore[method-assign]


def answers_come_before_the_commit() -> None:
    """A change is answered as soon as it is decided; disk and readers have it later."""
    decide: Callable[..., Any] = Writer._decide

    def early(writer: Writer, job: Any) -> Any:
        answer = decide(writer, job)
        future = job.future
        future.set_result(answer)
        job.future = type(future)()
        job.future.set_running_or_notify_cancel()
        time.sleep(0.002)
        return answer

    Writer._decide = early  # type: ignore[method-assign]


def batches_take_no_lock() -> None:
    """Several daemons of a database decide at once."""
    from totonoe_core.store.postgres import collection_file

    collection_file._LOCK = collection_file._LOCK.removesuffix("FOR UPDATE")


def min_revision_is_ignored() -> None:
    """A daemon of a database reads what it knows, and hears of nothing before it looks."""
    from totonoe_core.store.postgres.notices import Notices

    async def at_once(*_: object) -> None:
        pass

    Calls._caught_up = at_once  # type: ignore[method-assign, assignment]
    Notices.tell = lambda *_: None  # type: ignore[method-assign, assignment]


BREAKS = (
    guard_overlooks_its_batch,
    expected_revision_is_ignored,
    readers_keep_their_moment,
    answers_come_before_the_commit,
)
BREAKS_OF_SEVERAL = (batches_take_no_lock, min_revision_is_ignored)
"""Of daemons that share a database."""

if __name__ == "__main__":
    name = sys.argv.pop(1)
    next(call for call in (*BREAKS, *BREAKS_OF_SEVERAL) if call.__name__ == name)()
    typer.run(with_settings(serve))
