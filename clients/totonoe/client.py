"""The blocking client. Safe to share between threads; make it after a fork, not before."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from types import TracebackType
from typing import Any, Self, TypeVar, Unpack

import grpc

from totonoe import admin_models, convert, models, status
from totonoe.bulk import Sent, Window
from totonoe.channel import channel_options, resolve_address
from totonoe.client_admin import AdminCalls
from totonoe.client_audit import AuditCalls
from totonoe.client_cleanup import CleanupCalls
from totonoe.client_consolidate import ConsolidateCalls
from totonoe.client_graph import GraphCalls
from totonoe.client_history import HistoryCalls
from totonoe.client_tidy import TidyCalls
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
from totonoe.reopening import Reopened
from totonoe.requests import HEALTH_SERVING, Requests, health_call, serialize
from totonoe.retry import Attempts, RetryPolicy, checked_timeout_s
from totonoe.streams import Stream
from totonoe.v1 import memory_service_pb2 as memory_pb
from totonoe.watch_models import WatchEvent
from totonoe.watching import Course

R = TypeVar("R")


class Client(
    AdminCalls, GraphCalls, HistoryCalls, CleanupCalls, AuditCalls, TidyCalls, ConsolidateCalls
):
    """A connection to one daemon, made on the first call.

    Every call takes `timeout_s` (seconds for all its tries together; `None`: the client's;
    infinity: no deadline) and raises a `totonoe.errors.TotonoeError`; arguments that
    cannot be sent at all raise `ValueError` or `TypeError` before anything is sent. Every
    call that writes takes an `operation_id`; without one it makes its own.

    Parameters
    ----------
    address : str or None
        `host:port` or `unix:/path`. `None`: `TOTONOE_ADDRESS`, else `127.0.0.1:7766`.
    agent_id : str
        Who is calling: what it writes belongs to it, and it alone sees its private memories.
    collection : str
        Where calls go that do not say; empty means `default`.
    timeout_s : float
        Deadline of a call in seconds.
    retry : RetryPolicy
        How often a call is tried again while the daemon is unavailable.
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
        self._channel = grpc.insecure_channel(self.address, options=channel_options())

    def close(self) -> None:
        """Closes the connection; calls that run are cancelled. Safe to call twice."""
        self._channel.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def _attempts(self, timeout_s: float | None) -> Attempts:
        return Attempts(
            self._retry, self._timeout_s if timeout_s is None else checked_timeout_s(timeout_s)
        )

    def _run(self, prepared: Prepared[R], timeout_s: float | None) -> R:
        """Makes a call, again while the daemon is unavailable and time is left."""
        attempts = self._attempts(timeout_s)
        method: Any = self._channel.unary_unary(
            prepared.path,
            request_serializer=serialize,
            response_deserializer=prepared.answer_type.FromString,
        )
        while True:
            try:
                return prepared.decode(method(prepared.request, timeout=attempts.remaining_s()))
            except grpc.RpcError as error:
                failure = status.from_call(error, self.address)
                wait_s = attempts.wait_s(failure)
                if wait_s is None:
                    raise failure from error
            time.sleep(wait_s)

    def health(self, *, timeout_s: float | None = None) -> bool:
        """Whether the daemon serves; false while it starts or stops. Not tried again.

        Raises
        ------
        Unreachable
            If no daemon answers.
        """
        remaining_s = self._attempts(timeout_s).remaining_s()
        try:
            return bool(health_call(self._channel)(b"", timeout=remaining_s) == HEALTH_SERVING)
        except grpc.RpcError as error:
            raise status.from_call(error, self.address) from error

    # -- memories

    def remember(
        self,
        content: str,
        *,
        force: bool = False,
        operation_id: str = "",
        collection: str | None = None,
        timeout_s: float | None = None,
        **fields: Unpack[RememberFields],
    ) -> models.Remembered:
        """Saves a memory, or tells which one says the same already. A refusal is no error.

        Parameters
        ----------
        content : str
            What to remember, at most 32 KiB.
        force : bool
            Save even if the guard would refuse.
        **fields
            `kind`, `tags`, `importance`, `on_update` and the others of `totonoe.Draft`.
        """
        prepared = self._requests.remember(content, force, operation_id, collection, fields)
        return self._run(prepared, timeout_s)

    def check(
        self,
        content: str,
        *,
        collection: str | None = None,
        timeout_s: float | None = None,
        **fields: Unpack[CheckFields],
    ) -> models.Checked:
        """What `remember` would answer now. Saves nothing."""
        return self._run(self._requests.check(content, collection, fields), timeout_s)

    def remember_many(
        self, items: Iterable[str | Draft], *, timeout_s: float | None = None
    ) -> Iterator[models.ItemResult]:
        """Remembers many on one stream; results come in the order of the items.

        Items are read ahead by a few hundred at most and sent by up to 64, so that this is
        for bulk: of an input that trickles in, call `remember` for each. An item that
        fails has its error in its own result, and the rest goes on; one that the daemon was
        too busy for is tried again on its own. Give up early by closing the iterator.

        Parameters
        ----------
        items : iterable of str or Draft
            Read on the calling thread.
        timeout_s : float or None
            Seconds to wait for each answer, not for the whole stream.

        Raises
        ------
        TotonoeError
            If the stream itself fails for good. Results given before stand; calling again
            with drafts that carry the same operation ids does nothing twice.
        ValueError, TypeError
            If an item cannot be sent.
        """
        wait_s = self._timeout_s if timeout_s is None else checked_timeout_s(timeout_s)
        window = Window(self._requests.remember_item)
        stream = Stream(self._channel, window, self._retry, wait_s, self.address)
        try:
            for item in items:
                window.add(item)
                if window.message_full:
                    stream.send(window.close_message())
                while window.in_flight_full:
                    yield from self._results(window.settle(stream.receive()), timeout_s)
            if window.has_open:
                stream.send(window.close_message())
            while window.has_in_flight:
                yield from self._results(window.settle(stream.receive()), timeout_s)
        finally:
            stream.close()

    def _results(
        self,
        settled: Sequence[tuple[Sent, memory_pb.RememberManyResult]],
        timeout_s: float | None,
    ) -> Iterator[models.ItemResult]:
        waited = False
        for sent, result in settled:
            if result.HasField("answer"):
                yield sent.saved(convert.decode_remembered(result.answer))
                continue
            failure = status.from_item(result.error)
            wait_s = self._attempts(timeout_s).wait_s(failure)
            if wait_s is None:
                yield sent.failed(failure)
                continue
            if not waited:
                # The delay counts from the answer, which is one for the whole message.
                time.sleep(wait_s)
                waited = True
            try:
                remembered = self._run(self._requests.remember_prepared(sent.request), timeout_s)
            except TotonoeError as error:
                yield sent.failed(error)
            else:
                yield sent.saved(remembered)

    def recall(
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
        """Finds memories by meaning and by words; best first.

        Parameters
        ----------
        text : str
            What to look for. At least one of `text` and `vector` must be given.
        vector : bytes, sequence of float or buffer
            Wins over the text's own vector; the text still serves the lexical arm.
        k : int
            How many hits, 1 to 1,000.
        mode : RecallMode or str or None
            Which arms run; `None`: both.
        diversity : DiversityPolicy or None
            Replaces the collection's, field by field.
        no_touch : bool
            Do not count this as an access.
        as_of : int or datetime or None
            Search what was there right after this revision, or at this time; counts no access.
        **conditions
            `kinds`, `tags`, `created`, `min_confidence` and the others of a filter.
        """
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
        return self._run(prepared, timeout_s)

    def get(
        self,
        memory_id: str,
        *,
        include_vectors: bool = False,
        as_of: int | datetime | None = None,
        follow_superseded: bool = False,
        collection: str | None = None,
        timeout_s: float | None = None,
    ) -> models.Memory:
        """One memory by its id, or by `ext:` and its external id. Raises `NotFound`.

        Parameters
        ----------
        as_of : int or datetime or None
            As it was right after this revision, or at this time, links included.
        follow_superseded : bool
            In place of a superseded memory the one that took its place, to the last.
        """
        return self._run(
            self._requests.get_one(
                memory_id, include_vectors, as_of, follow_superseded, collection
            ),
            timeout_s,
        )

    def get_many(
        self,
        ids: Iterable[str],
        *,
        include_vectors: bool = False,
        as_of: int | datetime | None = None,
        follow_superseded: bool = False,
        collection: str | None = None,
        timeout_s: float | None = None,
    ) -> models.Found:
        """Memories by id, in the order asked. Of several, unknown ones are listed; a single
        unknown one raises `NotFound`. `as_of` and `follow_superseded` as for `get`."""
        return self._run(
            self._requests.get(ids, include_vectors, as_of, follow_superseded, collection),
            timeout_s,
        )

    def list(
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
        """One page of memories by creation time, then id; `page_size` 1 to 1,000.

        `as_of`: what was there right after this revision, or at this time.
        """
        prepared = self._requests.list(
            page_size, page_token, include_vectors, as_of, collection, conditions
        )
        return self._run(prepared, timeout_s)

    def list_all(
        self,
        *,
        page_size: int = 100,
        include_vectors: bool = False,
        as_of: int | datetime | None = None,
        collection: str | None = None,
        timeout_s: float | None = None,
        **conditions: Unpack[FilterFields],
    ) -> Iterator[models.Memory]:
        """All memories that meet the conditions, page by page; `timeout_s` is per page."""
        page_token = ""
        while True:
            prepared = self._requests.list(
                page_size, page_token, include_vectors, as_of, collection, conditions
            )
            page = self._run(prepared, timeout_s)
            yield from page.memories
            page_token = page.next_page_token
            if not page_token:
                return

    def update(
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
        """Changes the fields that are named; `None` sets one back to its default.

        Parameters
        ----------
        expected_revision : int
            Raise `StaleRevision` unless the memory is at it. 0: whatever it is at.
        reason : str
            Why, for the history.
        force : bool
            Change the text even if it then repeats another live memory.
        """
        prepared = self._requests.update(
            memory_id, expected_revision, reason, force, operation_id, collection, fields
        )
        return self._run(prepared, timeout_s)

    def forget(
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
        """Hides memories and takes away their links; they stay restorable.

        Of several ids unknown ones are listed; a single unknown one raises `NotFound`.

        Parameters
        ----------
        ids : str or iterable of str
            What to forget. Without ids, conditions show in a dry run what would go.
        expected_revisions : mapping of str to int or None
            Raise `StaleRevision` unless these memories are at these revisions: with those of
            a dry run exactly what it showed is forgotten.
        **conditions
            Those of a filter; only with `dry_run` and without ids.
        """
        prepared = self._requests.forget(
            ids, reason, dry_run, expected_revisions, operation_id, collection, conditions
        )
        return self._run(prepared, timeout_s)

    def link(
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
        return self._run(prepared, timeout_s)

    def unlink(
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
        return self._run(prepared, timeout_s)

    def watch(
        self,
        after_revision: int | None = None,
        *,
        heartbeat_s: float = 15.0,
        collection: str | None = None,
        **conditions: Unpack[FilterFields],
    ) -> Reopened[WatchEvent]:
        """Follows the changes of a collection, oldest first, for as long as it is wanted.

        It goes on by itself, from the last revision, after a lost connection, a restart of the
        daemon, and when it was cut because its events were not taken for 30 seconds. Conditions
        hold for a memory before or after a change; without any every memory is told, whatever
        its status. Close the iterator to end it, from another thread too.

        Parameters
        ----------
        after_revision : int or None
            Changes after this one; 0: all there ever were; `None`: from now on.
        heartbeat_s : float
            Seconds of silence, 1 to 300, after which an event without a change comes.

        Raises
        ------
        Unavailable
            No daemon answered before the first event, as often as the retry policy tries.
        OutOfRange
            The collection has not reached `after_revision`.
        """
        request = self._requests.watch(after_revision, heartbeat_s, collection, conditions)
        return Reopened(self._channel, Course(request, self._retry), self.address)
