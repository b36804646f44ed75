"""The bookkeeping of `remember_many`: what is packed, on its way, and answered.

No input or output here; the clients drive it:

    items -> add -> close_message -> (the wire) -> settle -> answers in order

Memory is bounded: at most `MESSAGES_IN_FLIGHT_MAX` messages wait for their answers (in the
asyncio client one, see `totonoe.memories.streams`), each of at most `ITEMS_PER_MESSAGE_MAX` items
and about `MESSAGE_BYTES_GOAL` bytes.
"""

from __future__ import annotations

from collections import deque
from collections.abc import AsyncIterable, Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from totonoe.errors import Internal, TotonoeError
from totonoe.memories import models
from totonoe.memories.drafts import Draft
from totonoe.v1 import memory_service_pb2 as memory_pb

Items: TypeAlias = Iterable[str | Draft]
AsyncItems: TypeAlias = Items | AsyncIterable[str | Draft]

ITEMS_PER_MESSAGE_MAX = 64
MESSAGES_IN_FLIGHT_MAX = 4
# Well under the limit of 16 MiB, which a message of one item cannot reach.
MESSAGE_BYTES_GOAL = 1024 * 1024


@dataclass(frozen=True, slots=True)
class Sent:
    """One item on its way: its place, what the caller handed in, and its request."""

    index: int
    item: Any
    request: memory_pb.RememberRequest

    def saved(self, remembered: models.Remembered) -> models.ItemResult:
        """Result of an item that was saved or refused."""
        return models.ItemResult(self.index, self.item, remembered, None)

    def failed(self, error: TotonoeError) -> models.ItemResult:
        """Result of an item that failed."""
        return models.ItemResult(self.index, self.item, None, error)


Settled: TypeAlias = Sequence[tuple[Sent, memory_pb.RememberManyResult]]
"""Items with their answers."""


class Window:
    """Items between the caller's iterable and their answers.

    Parameters
    ----------
    encode : callable
        Makes the request of a draft, with an operation id that stays.
    collection : str or None
        Where drafts go that do not say; `None`: the client's. Kept as an attribute.
    """

    def __init__(
        self,
        encode: Callable[[Draft, str | None], memory_pb.RememberRequest],
        collection: str | None = None,
    ) -> None:
        self._encode = encode
        self.collection = collection
        self._open: list[Sent] = []
        self._open_bytes = 0
        self._in_flight: deque[list[Sent]] = deque()
        self._count = 0

    def add(self, item: str | Draft) -> None:
        """Puts an item into the open message.

        Raises
        ------
        ValueError, TypeError
            If the item cannot be sent. It is not counted.
        """
        draft = item if isinstance(item, Draft) else Draft(item)
        request = self._encode(draft, self.collection)
        self._open.append(Sent(self._count, item, request))
        self._open_bytes += request.ByteSize()
        self._count += 1

    @property
    def message_full(self) -> bool:
        """True if the open message should go out before another item is added."""
        return len(self._open) >= ITEMS_PER_MESSAGE_MAX or self._open_bytes >= MESSAGE_BYTES_GOAL

    @property
    def has_open(self) -> bool:
        """True if the open message holds an item."""
        return bool(self._open)

    @property
    def in_flight_full(self) -> bool:
        """True if an answer must be read before another message goes out."""
        return len(self._in_flight) >= MESSAGES_IN_FLIGHT_MAX

    @property
    def has_in_flight(self) -> bool:
        """True if an answer is still to come."""
        return bool(self._in_flight)

    def close_message(self) -> memory_pb.RememberManyRequest:
        """The open message, which from now on waits for its answer."""
        sent, self._open, self._open_bytes = self._open, [], 0
        self._in_flight.append(sent)
        return _message(sent)

    def unanswered(self) -> Iterator[memory_pb.RememberManyRequest]:
        """The messages without an answer, oldest first, to be sent again on a new stream.

        Their operation ids are the same, so what was done is answered, not done again.
        """
        return (_message(sent) for sent in self._in_flight)

    def settle(self, answer: memory_pb.RememberManyResponse) -> Settled:
        """Items of the oldest message with their answers. Raises `Internal` if they do not pair."""
        sent = self._in_flight.popleft()
        if len(answer.results) != len(sent):
            raise Internal(
                f"the daemon answered {len(answer.results)} items of {len(sent)}",
                code="INTERNAL",
            )
        return list(zip(sent, answer.results, strict=True))


def _message(sent: list[Sent]) -> memory_pb.RememberManyRequest:
    return memory_pb.RememberManyRequest(items=[item.request for item in sent])


def ended_early() -> Internal:
    """The stream ended in order, but with answers missing."""
    return Internal("the daemon ended the stream before all items were answered", code="INTERNAL")
