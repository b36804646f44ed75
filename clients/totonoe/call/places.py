"""Several daemons on one store: which of them to ask next, and what was seen of a collection."""

from __future__ import annotations

import itertools
import random
import threading
import time
from collections.abc import Callable
from typing import Any

from google.protobuf.message import Message

from totonoe.call.retry import Attempts
from totonoe.errors import TotonoeError, Unavailable

PLACES_MAX = 16
DOWN_S = 2.0
"""How long a daemon that was unavailable is passed over while another one may answer."""
BEHIND_MAX = 2
"""Daemons that a read asks which lack the revision that it wants; then it fails."""
_COLLECTIONS_MAX = 1024
_NOT_CAUGHT_UP = "NOT_CAUGHT_UP"


class Places:
    """Daemons by number: for a collection the one that answered last, else in turn. Any thread.

    A daemon that answered for a collection has it open, and as new as the answer was.

    Parameters
    ----------
    count : int
        Number of them, at least 1. Also an attribute.
    clock : callable
        Monotonic seconds.
    first : int or None
        The one that is asked first. `None`: any, so that clients with the same list do not all
        begin with the same daemon.
    """

    def __init__(
        self,
        count: int,
        clock: Callable[[], float] = time.monotonic,
        first: int | None = None,
    ) -> None:
        self.count, self._clock = count, clock
        self._turns = itertools.count(random.randrange(count) if first is None else first)
        self._down_until_s = [0.0] * count
        self._answered: dict[str, int] = {}
        self._lock = threading.Lock()

    def pick(self, collection: str | None = None) -> int:
        """Return the one that answered last for a collection, if there is one, else the next one.

        One that was unavailable lately is passed over; if all were, it is the next one.
        """
        if self.count == 1:
            return 0
        now_s = self._clock()
        last = None if collection is None else self._answered.get(collection)
        if last is not None and self._down_until_s[last] <= now_s:
            return last
        turn = next(self._turns)
        order = [(turn + step) % self.count for step in range(self.count)]
        return next((at for at in order if self._down_until_s[at] <= now_s), order[0])

    def answered(self, attempts: Attempts) -> None:
        """Note which daemon answered a call for its collection."""
        if self.count == 1 or attempts.collection is None or attempts.place is None:
            return
        with self._lock:
            _keep(self._answered, attempts.collection, attempts.place)

    def after(self, attempts: Attempts, failure: TotonoeError, wait_s: float) -> float:
        """Seconds until the next try of a failed call: 0 if another daemon can be asked at once."""
        if self.count == 1 or not isinstance(failure, Unavailable):
            return wait_s
        now_s = self._clock()
        if attempts.place is not None:
            self._down_until_s[attempts.place] = now_s + DOWN_S
        attempts.moved_on = True
        return 0.0 if any(until_s <= now_s for until_s in self._down_until_s) else wait_s


class SeenRevisions:
    """The newest revision that answers showed, by collection. From any thread.

    A read carries it as `min_revision`, so that it shows what this client wrote and saw through
    other daemons. A memory of an answer may be newer than the answer's own revision: its row is
    read after the daemon chose it.
    """

    def __init__(self) -> None:
        self._by_collection: dict[str, int] = {}
        self._lock = threading.Lock()

    def carry(self, request: Any) -> None:
        """Let a read ask for what was seen, unless it says more itself."""
        holder = _reading(request)
        if holder is not None:
            seen = self._by_collection.get(holder.collection, 0)
            holder.min_revision = max(holder.min_revision, seen)

    def note(self, request: Message, answer: Message) -> None:
        """Take in the revisions of an answer and of the memories in it."""
        collection = _shown_of(request)
        if collection is None:
            return
        newest = _newest_in(answer)
        with self._lock:
            seen = self._by_collection.get(collection, 0)
            _keep(self._by_collection, collection, max(newest, seen))

    def gives_up(self, request: Message, attempts: Attempts, failure: TotonoeError) -> bool:
        """Return whether a read fails because no daemon has what it wants.

        Then what was seen is forgotten: the collection may be another one of that name.
        """
        if failure.reason != _NOT_CAUGHT_UP:
            return False
        attempts.behind_count += 1
        holder = _reading(request)
        if attempts.behind_count < BEHIND_MAX or holder is None:
            return False
        with self._lock:
            self._by_collection.pop(holder.collection, None)
        return True


def _newest_in(answer: Message) -> int:
    """The newest revision of an answer, of its memories and of the memories of its hits."""
    newest = _revision_of(answer)
    for field, value in answer.ListFields():
        if field.message_type is not None:
            parts = (value,) if isinstance(value, Message) else value
            newest = max(newest, *map(_revision_of, parts))
    return newest


def _revision_of(part: Any) -> int:
    """A message's own revision, else that of its memory; 0 without one."""
    holder = part if hasattr(part, "revision") else getattr(part, "memory", None)
    return int(getattr(holder, "revision", 0))


def _keep(known: dict[str, int], collection: str, number: int) -> None:
    """Keep a number of a collection; of too many the longest unused one goes."""
    # The latest one is the last, so that the first is the longest unused.
    known.pop(collection, None)
    known[collection] = number
    while len(known) > _COLLECTIONS_MAX:
        del known[next(iter(known))]


def _reading(request: Any) -> Any:
    """The message of a read that has `min_revision`; `None`: the call is no such read."""
    fields = request.DESCRIPTOR.fields_by_name
    if "min_revision" in fields:
        return request
    return request.recall if "recall" in fields and "memory_id" in fields else None


def collection_of(request: Message) -> str | None:
    """The collection that a call is about; `None`: it is about none, or all."""
    fields = request.DESCRIPTOR.fields_by_name
    holder: Any = _reading(request) or (request if "collection" in fields else None)
    return None if holder is None else str(holder.collection)


def _shown_of(request: Message) -> str | None:
    """The collection whose revision an answer shows; `None`: it shows none.

    That is so for reads, and for writes to memories, which all have an operation id.
    """
    is_write = "operation_id" in request.DESCRIPTOR.fields_by_name
    return collection_of(request) if is_write or _reading(request) is not None else None
