"""The blocking client. Safe to share between threads; make it after a fork, not before."""

from __future__ import annotations

import copy
import os
import time
from collections.abc import Callable
from types import TracebackType
from typing import Any, Self, TypeVar

import grpc
from google.protobuf.message import Message

from totonoe.audit.calls import AuditCalls
from totonoe.call import status, tracing
from totonoe.call.channel import Connection, resolve_addresses
from totonoe.call.credentials import connection, resolve_credentials
from totonoe.call.multiplex import Multiplexed
from totonoe.call.places import SeenRevisions, collection_of
from totonoe.call.prepared import Caller, Prepared, prepared, serialize
from totonoe.call.readiness import HealthCalls
from totonoe.call.retry import Attempts, RetryPolicy, checked_timeout_s
from totonoe.cleanup.calls import CleanupCalls
from totonoe.collections.calls import CollectionCalls
from totonoe.consolidate.calls import ConsolidateCalls
from totonoe.graph.calls import GraphCalls
from totonoe.history.calls import HistoryCalls
from totonoe.memories.calls import MemoryCalls
from totonoe.questions.calls import QuestionCalls
from totonoe.reembed.calls import ReembedCalls
from totonoe.snapshots.calls import SnapshotCalls
from totonoe.tidy.calls import TidyCalls
from totonoe.transfer.calls import TransferCalls
from totonoe.watch.calls import WatchCalls

R = TypeVar("R")


class Client(
    MemoryCalls,
    GraphCalls,
    WatchCalls,
    HistoryCalls,
    AuditCalls,
    QuestionCalls,
    CleanupCalls,
    TidyCalls,
    ConsolidateCalls,
    CollectionCalls,
    SnapshotCalls,
    ReembedCalls,
    TransferCalls,
    HealthCalls,
):
    """A connection to a daemon, or to several that share a store, made on the first call.

    Every call takes `timeout_s` (seconds for all its tries together; `None`: the client's;
    infinity: no deadline) and raises a `totonoe.errors.TotonoeError`; arguments that
    cannot be sent at all raise `ValueError` or `TypeError` before anything is sent. Every
    call that writes takes an `operation_id`; without one it makes its own.

    Parameters
    ----------
    address : str or None
        `host:port`, `https://host:port` (TLS) or `unix:/path`. `None`: `TOTONOE_ADDRESS`, else the
        socket of this user's daemon where one answers, else `127.0.0.1:7766`. With commas several
        of them, of daemons that share a store: a collection stays with the one that answered for
        it, the next one is asked where one is unavailable, and reads show at least what earlier
        answers showed.
    agent_id : str
        Who is calling: what it writes belongs to it, and it alone sees its private memories.
    collection : str
        Where calls go that do not say; empty means `default`.
    timeout_s : float
        Deadline of a call in seconds.
    retry : RetryPolicy
        How often a call is tried again while the daemon is unavailable.
    token : str or None
        Proves who calls. `None`: `TOTONOE_TOKEN`; empty: none. It is sent only where nobody else
        can read it; otherwise `InsecureConnection` is raised before anything is sent.
    ca, cert, key : path or None
        For an address with TLS, files in PEM: the authority of the daemon's certificate, the
        client's own certificate and its key. `None`: `TOTONOE_CA`, `TOTONOE_CERT`, `TOTONOE_KEY`.
    multiplex : bool
        From the second call on, `remember`, `check`, `recall`, `update` and `forget` go over one
        stream, which costs the daemon less than single calls. Answers and errors are the same.
        Not for a process that forks: its child must not use the client.
    """

    def __init__(
        self,
        address: str | None = None,
        *,
        agent_id: str = "",
        collection: str = "",
        timeout_s: float = 30.0,
        retry: RetryPolicy | None = None,
        token: str | None = None,
        ca: str | os.PathLike[str] | None = None,
        cert: str | os.PathLike[str] | None = None,
        key: str | os.PathLike[str] | None = None,
        multiplex: bool = False,
    ) -> None:
        addresses = resolve_addresses(address)
        self.address = ",".join(addresses)
        self._credentials = [resolve_credentials(host, token, ca, cert, key) for host in addresses]
        self._seen = SeenRevisions() if len(addresses) > 1 else None
        self._timeout_s = checked_timeout_s(timeout_s)
        self._retry = retry or RetryPolicy()
        self._caller = Caller(agent_id, collection)
        self._opened = connection(self._credentials, grpc)
        self._stream = Multiplexed(self._opened, self.address) if multiplex else None

    @property
    def _channel(self) -> Connection:
        return self._opened

    def as_agent(self, agent_id: str) -> Self:
        """Returns a client of another agent over the same connection; closing one closes both."""
        twin = copy.copy(self)
        twin._caller = Caller(agent_id, self._caller.where(None))
        return twin

    def in_collection(self, collection: str) -> Self:
        """Returns a client of another collection over the same connection, as `as_agent`."""
        twin = copy.copy(self)
        twin._caller = self._caller.of(collection)
        return twin

    def close(self) -> None:
        """Closes the connection; calls that run are cancelled. Safe to call twice."""
        if self._stream is not None:
            self._stream.close()
        self._opened.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def _run(self, request: Message, result: Callable[..., R], timeout_s: float | None) -> R:
        """Makes a call, again while the daemon is unavailable and time is left."""
        call = prepared(request, result)
        attempts = self._attempts(timeout_s)
        if self._seen is not None:
            self._seen.carry(request)
            attempts.collection = collection_of(request)
        with tracing.begin(request, self.address) as span:
            while True:
                try:
                    answer = self._answer(call, attempts, span.metadata)
                except grpc.RpcError as error:
                    failure = status.from_call(error, self.address)
                    wait_s = attempts.wait_s(failure)
                    behind = self._seen and self._seen.gives_up(request, attempts, failure)
                    if wait_s is None or behind:
                        raise failure from error
                    wait_s = self._channel.places.after(attempts, failure, wait_s)
                else:
                    span.answered(answer)
                    if self._seen is not None:
                        self._seen.note(request, answer)
                        self._channel.places.answered(attempts)
                    return call.decode(answer)
                span.retried()
                time.sleep(wait_s)

    def _answer(self, call: Prepared[Any], attempts: Attempts, metadata: tracing.Metadata) -> Any:
        """The answer to one try, over the stream or by itself. Raises `grpc.RpcError`."""
        if self._stream is not None and not attempts.moved_on:
            answer = self._stream.answer(call.request, attempts.remaining_s(), metadata)
            if answer is not None:
                return answer
        attempts.place = self._channel.places.pick(attempts.collection)
        method: Any = self._channel.unary_unary(
            call.method.path,
            request_serializer=serialize,
            response_deserializer=call.method.answer.FromString,
        )
        return method(
            call.request,
            timeout=attempts.remaining_s(),
            metadata=metadata,
            place=attempts.place,
        )
