"""The asyncio client: the same calls and arguments as `totonoe.Client`, to be awaited."""

from __future__ import annotations

import asyncio
from collections.abc import (
    AsyncGenerator,
    AsyncIterable,
    AsyncIterator,
    Iterable,
    Mapping,
    Sequence,
)
from datetime import datetime
from types import TracebackType
from typing import Any, Self, TypeVar, Unpack

import grpc
import grpc.aio

from totonoe import admin_models, convert, models, status
from totonoe.aio_admin import AsyncAdminCalls
from totonoe.aio_audit import AsyncAuditCalls
from totonoe.aio_cleanup import AsyncCleanupCalls
from totonoe.aio_consolidate import AsyncConsolidateCalls
from totonoe.aio_graph import AsyncGraphCalls
from totonoe.aio_history import AsyncHistoryCalls
from totonoe.aio_tidy import AsyncTidyCalls
from totonoe.bulk import Sent, Window
from totonoe.channel import channel_options, resolve_address
from totonoe.drafts import (
    CheckFields,
    Draft,
    FilterFields,
    RememberFields,
    UpdateFields,
    Vector,
)
from totonoe.enums import LinkType, RecallMode
from totonoe.errors import TotonoeError
from totonoe.prepared import Prepared
from totonoe.reopening import reopened
from totonoe.requests import HEALTH_SERVING, Requests, health_call, serialize
from totonoe.retry import Attempts, RetryPolicy, checked_timeout_s
from totonoe.streams import AsyncStream
from totonoe.v1 import memory_service_pb2 as memory_pb
from totonoe.watch_models import WatchEvent
from totonoe.watching import Course

R = TypeVar("R")


class AsyncClient(
    AsyncAdminCalls,
    AsyncGraphCalls,
    AsyncHistoryCalls,
    AsyncCleanupCalls,
    AsyncAuditCalls,
    AsyncTidyCalls,
    AsyncConsolidateCalls,
):
    """A connection to one daemon, made on the first call, for one event loop.

    Calls, arguments and errors are those of `totonoe.Client`. A call that is cancelled
    while it waits is cancelled at the daemon as well; a write may have been done then.

    Parameters
    ----------
    address, agent_id, collection, timeout_s, retry
        As for `totonoe.Client`.
    """

    def __init__(
        self,
        address: str | None = None,
        *,
        agent_id: str = "",
        collection: str = "",
        timeout_s: float = 30.0,
        retry: RetryPolicy | None = None,
    ) -> None:
        self.address = resolve_address(address)
        self._timeout_s = checked_timeout_s(timeout_s)
        self._retry = retry or RetryPolicy()
        self._requests = Requests(agent_id, collection)
        self._opened: grpc.aio.Channel | None = None

    @property
    def _channel(self) -> grpc.aio.Channel:
        """The connection. It belongs to the loop that runs when it is made, so not earlier."""
        if self._opened is None:
            self._opened = grpc.aio.insecure_channel(self.address, options=channel_options())
        return self._opened

    async def close(self) -> None:
        """Closes the connection; calls that run are cancelled. Safe to call twice."""
        if self._opened is not None:
            await self._opened.close(None)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self.close()

    def _attempts(self, timeout_s: float | None) -> Attempts:
        return Attempts(
            self._retry, self._timeout_s if timeout_s is None else checked_timeout_s(timeout_s)
        )

    async def _run(self, prepared: Prepared[R], timeout_s: float | None) -> R:
        """Makes a call, again while the daemon is unavailable and time is left."""
        attempts = self._attempts(timeout_s)
        method: Any = self._channel.unary_unary(
            prepared.path,
            request_serializer=serialize,
            response_deserializer=prepared.answer_type.FromString,
        )
        while True:
            call = method(prepared.request, timeout=attempts.remaining_s())
            try:
                return prepared.decode(await call)
            except grpc.RpcError as error:
                failure = status.from_call(error, self.address)
                wait_s = attempts.wait_s(failure)
                if wait_s is None:
                    raise failure from error
            finally:
                # A call that is left behind, for instance by a cancelled task, is kept for good.
                call.cancel()
            await asyncio.sleep(wait_s)

    async def health(self, *, timeout_s: float | None = None) -> bool:
        """Whether the daemon serves; as `Client.health`."""
        remaining_s = self._attempts(timeout_s).remaining_s()
        call = health_call(self._channel)(b"", timeout=remaining_s)
        try:
            return bool(await call == HEALTH_SERVING)
        except grpc.RpcError as error:
            raise status.from_call(error, self.address) from error
        finally:
            call.cancel()

    # -- memories

    async def remember(
        self,
        content: str,
        *,
        force: bool = False,
        operation_id: str = "",
        collection: str | None = None,
        timeout_s: float | None = None,
        **fields: Unpack[RememberFields],
    ) -> models.Remembered:
        """Saves a memory, or tells which one says the same already; as `Client.remember`."""
        prepared = self._requests.remember(content, force, operation_id, collection, fields)
        return await self._run(prepared, timeout_s)

    async def check(
        self,
        content: str,
        *,
        collection: str | None = None,
        timeout_s: float | None = None,
        **fields: Unpack[CheckFields],
    ) -> models.Checked:
        """What `remember` would answer now. Saves nothing."""
        return await self._run(self._requests.check(content, collection, fields), timeout_s)

    async def remember_many(
        self,
        items: Iterable[str | Draft] | AsyncIterable[str | Draft],
        *,
        timeout_s: float | None = None,
    ) -> AsyncIterator[models.ItemResult]:
        """Remembers many on one stream, in order; as `Client.remember_many`.

        Takes an asynchronous iterable too. Give up early by closing the iterator (`aclose`).
        """
        wait_s = self._timeout_s if timeout_s is None else checked_timeout_s(timeout_s)
        window = Window(self._requests.remember_item)
        stream = AsyncStream(self._channel, self._retry, wait_s, self.address)
        try:
            async for item in _each(items):
                window.add(item)
                if window.message_full:
                    answer = await stream.exchange(window.close_message())
                    for result in await self._results(window.settle(answer), timeout_s):
                        yield result
            if window.has_open:
                answer = await stream.exchange(window.close_message())
                for result in await self._results(window.settle(answer), timeout_s):
                    yield result
        finally:
            stream.close()

    async def _results(
        self,
        settled: Sequence[tuple[Sent, memory_pb.RememberManyResult]],
        timeout_s: float | None,
    ) -> Sequence[models.ItemResult]:
        waited = False
        results = []
        for sent, result in settled:
            if result.HasField("answer"):
                results.append(sent.saved(convert.decode_remembered(result.answer)))
                continue
            failure = status.from_item(result.error)
            wait_s = self._attempts(timeout_s).wait_s(failure)
            if wait_s is None:
                results.append(sent.failed(failure))
                continue
            if not waited:
                # The delay counts from the answer, which is one for the whole message.
                await asyncio.sleep(wait_s)
                waited = True
            again = self._requests.remember_prepared(sent.request)
            try:
                results.append(sent.saved(await self._run(again, timeout_s)))
            except TotonoeError as error:
                results.append(sent.failed(error))
        return results

    async def recall(
        self,
        text: str = "",
        *,
        vector: Vector = None,
        k: int = 10,
        mode: RecallMode | str | None = None,
        diversity: admin_models.DiversityPolicy | None = None,
        include_vectors: bool = False,
        no_touch: bool = False,
        as_of: int | datetime | None = None,
        collection: str | None = None,
        timeout_s: float | None = None,
        **conditions: Unpack[FilterFields],
    ) -> models.Recalled:
        """Finds memories by meaning and by words, best first; as `Client.recall`."""
        prepared = self._requests.recall(
            text,
            vector,
            k,
            mode,
            diversity,
            include_vectors,
            no_touch,
            as_of,
            collection,
            conditions,
        )
        return await self._run(prepared, timeout_s)

    async def get(
        self,
        memory_id: str,
        *,
        include_vectors: bool = False,
        as_of: int | datetime | None = None,
        follow_superseded: bool = False,
        collection: str | None = None,
        timeout_s: float | None = None,
    ) -> models.Memory:
        """One memory by its id, or by `ext:` and its external id. Raises `NotFound`."""
        return await self._run(
            self._requests.get_one(
                memory_id, include_vectors, as_of, follow_superseded, collection
            ),
            timeout_s,
        )

    async def get_many(
        self,
        ids: Iterable[str],
        *,
        include_vectors: bool = False,
        as_of: int | datetime | None = None,
        follow_superseded: bool = False,
        collection: str | None = None,
        timeout_s: float | None = None,
    ) -> models.Found:
        """Memories by id, in the order asked; as `Client.get_many`."""
        return await self._run(
            self._requests.get(ids, include_vectors, as_of, follow_superseded, collection),
            timeout_s,
        )

    async def list(
        self,
        *,
        page_size: int = 100,
        page_token: str = "",
        include_vectors: bool = False,
        as_of: int | datetime | None = None,
        collection: str | None = None,
        timeout_s: float | None = None,
        **conditions: Unpack[FilterFields],
    ) -> models.Page:
        """One page of memories by creation time, then id; `page_size` 1 to 1,000."""
        prepared = self._requests.list(
            page_size, page_token, include_vectors, as_of, collection, conditions
        )
        return await self._run(prepared, timeout_s)

    async def list_all(
        self,
        *,
        page_size: int = 100,
        include_vectors: bool = False,
        as_of: int | datetime | None = None,
        collection: str | None = None,
        timeout_s: float | None = None,
        **conditions: Unpack[FilterFields],
    ) -> AsyncIterator[models.Memory]:
        """All memories that meet the conditions, page by page; `timeout_s` is per page."""
        page_token = ""
        while True:
            prepared = self._requests.list(
                page_size, page_token, include_vectors, as_of, collection, conditions
            )
            page = await self._run(prepared, timeout_s)
            for memory in page.memories:
                yield memory
            page_token = page.next_page_token
            if not page_token:
                return

    async def update(
        self,
        memory_id: str,
        *,
        expected_revision: int = 0,
        reason: str = "",
        force: bool = False,
        operation_id: str = "",
        collection: str | None = None,
        timeout_s: float | None = None,
        **fields: Unpack[UpdateFields],
    ) -> models.Updated:
        """Changes the fields that are named; as `Client.update`."""
        prepared = self._requests.update(
            memory_id, expected_revision, reason, force, operation_id, collection, fields
        )
        return await self._run(prepared, timeout_s)

    async def forget(
        self,
        ids: str | Iterable[str] = (),
        *,
        reason: str = "",
        dry_run: bool = False,
        expected_revisions: Mapping[str, int] | None = None,
        operation_id: str = "",
        collection: str | None = None,
        timeout_s: float | None = None,
        **conditions: Unpack[FilterFields],
    ) -> models.Forgotten:
        """Hides memories and takes away their links; as `Client.forget`."""
        prepared = self._requests.forget(
            ids, reason, dry_run, expected_revisions, operation_id, collection, conditions
        )
        return await self._run(prepared, timeout_s)

    async def link(
        self,
        source_id: str,
        target_id: str,
        link_type: LinkType | str | None = None,
        *,
        confidence: float | None = None,
        note: str = "",
        operation_id: str = "",
        collection: str | None = None,
        timeout_s: float | None = None,
    ) -> models.Linked:
        """Links two memories, both directions at once. `None`: related, confidence 0.5."""
        prepared = self._requests.link(
            source_id, target_id, link_type, confidence, note, operation_id, collection
        )
        return await self._run(prepared, timeout_s)

    async def unlink(
        self,
        source_id: str,
        target_id: str,
        link_type: LinkType | str | None = None,
        *,
        operation_id: str = "",
        collection: str | None = None,
        timeout_s: float | None = None,
    ) -> models.Unlinked:
        """Takes a link away, both directions at once. `None`: every link of the two."""
        prepared = self._requests.unlink(source_id, target_id, link_type, operation_id, collection)
        return await self._run(prepared, timeout_s)

    def watch(
        self,
        after_revision: int | None = None,
        *,
        heartbeat_s: float = 15.0,
        collection: str | None = None,
        **conditions: Unpack[FilterFields],
    ) -> AsyncGenerator[WatchEvent, None]:
        """Follows the changes of a collection; as `Client.watch`. Close it with `aclose`."""
        request = self._requests.watch(after_revision, heartbeat_s, collection, conditions)
        return reopened(self._channel, Course(request, self._retry), self.address)


async def _each(
    items: Iterable[str | Draft] | AsyncIterable[str | Draft],
) -> AsyncIterator[str | Draft]:
    """The items of either kind of iterable."""
    if isinstance(items, AsyncIterable):
        async for item in items:
            yield item
    else:
        for item in items:
            yield item
