"""The gate that every call of the contract passes: who calls, may they, and how much is left.

The identity comes from, in this order: a bearer token in the metadata `authorization`, the common
name of the client certificate, the Unix socket (mode 0600: its caller owns the data). A daemon
without a file of identities serves loopback and Unix sockets to everybody who reaches them.
"""

from __future__ import annotations

import asyncio
import hmac
import secrets
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from google.protobuf.message import Message

from totonoe.v1 import access_pb2, graph_pb2, types_pb2
from totonoe_core.base import clock, limits
from totonoe_core.base.errors import TotonoeError
from totonoe_server.access import grants
from totonoe_server.access.book import Book, Identities, Stamp
from totonoe_server.access.errors import FileError, PermissionDenied, Unauthenticated
from totonoe_server.access.identities import Identity, Key
from totonoe_server.access.metering import Metered, Meters
from totonoe_server.access.seal import KEY_BYTES, Seal
from totonoe_server.access.stored_book import StoredBook
from totonoe_server.access.table import VERB_OF_CALL, Place, Rule
from totonoe_server.access.tokens import digest_of, is_token
from totonoe_server.access.transport import first_end_s, has_common_name
from totonoe_server.logger import logger

_BEARER = "Bearer "
_UNIX = "unix:"
_BUCKET_BYTES = 8

Context = Any  # grpc.aio.ServicerContext, whose stubs lack what it can do


@dataclass(frozen=True, slots=True)
class Caller:
    """An identity as it calls, and the token that proved it; `None`: whoever owns the data."""

    identity: Identity | None
    key: Key | None = None

    @property
    def name(self) -> str:
        """For logs."""
        return "owner" if self.identity is None else self.identity.name

    def allows(self, verb: str, collection: str) -> bool:
        """Whether a grant allows a verb on a collection."""
        return self.identity is None or grants.allowed(self.identity.grants, verb, collection)

    def check_verb(self, rule: Rule) -> None:
        """Raises `PermissionDenied` (NOT_GRANTED) unless some grant has the verb of a rule."""
        if self.identity is None or not rule.verb:
            return
        has = grants.everywhere if rule.scope == access_pb2.SCOPE_EVERY else grants.anywhere
        if not has(self.identity.grants, rule.verb):
            on = "every collection" if rule.scope == access_pb2.SCOPE_EVERY else "any collection"
            raise _not_granted(self.name, rule.verb, on)

    def check(self, rule: Rule, place: Place) -> None:
        """Checks one message of a request, and makes an empty `agent_id` the identity's own.

        Raises
        ------
        PermissionDenied
            NOT_GRANTED or AGENT_MISMATCH.
        """
        if self.identity is None:
            return
        if place.collection and not self.allows(rule.verb, place.collection):
            raise _not_granted(self.name, rule.verb, "this collection")
        holder: Any = place.holder
        if holder is None or not rule.has_agent or holder.agent_id == self.identity.agent_id:
            return
        if holder.agent_id:
            raise PermissionDenied(
                "AGENT_MISMATCH",
                f"agent_id: the identity {self.name!r} speaks for one agent only; "
                "leave it empty, or give that agent",
                field="agent_id",
                identity=self.name,
                allowed=self.identity.agent_id,
            )
        holder.agent_id = self.identity.agent_id


OWNER = Caller(None)


class Gate:
    """Knows the identities of a store, and keeps count of refused calls.

    Everything but `load` and `load_key` is for the event loop only.

    Parameters
    ----------
    place : Path or StoredBook
        The data directory with the file of identities, or the identities of a database.
    now_us : callable
        Time of day in microseconds.
    monotonic_s : callable
        For limits.
    """

    def __init__(
        self,
        place: Path | StoredBook,
        now_us: Callable[[], int] = clock.system_clock,
        monotonic_s: Callable[[], float] = time.monotonic,
    ) -> None:
        self.book = place if isinstance(place, StoredBook) else Book(place)
        self.refused: Counter[str] = Counter()
        self.meters = Meters(monotonic_s)
        # Until the key of the store is there.
        self.seal = Seal(secrets.token_bytes(KEY_BYTES))
        self._now_us, self._monotonic_s = now_us, monotonic_s
        self._stamp: object = None
        self._closed = False
        self._by_digest: dict[bytes, list[tuple[Identity, Key]]] = {}
        self._by_subject: dict[str, Identity] = {}
        self._by_name: dict[str, Identity] = {}
        # By subject: the certificate that a client came with last, and when it ends.
        self._certificates: dict[str, tuple[bytes, float]] = {}
        self._streams: set[Call] = set()
        self._logged_second, self._logged_count, self._unlogged_count = 0, 0, 0

    @property
    def closed(self) -> bool:
        """Whether nobody but the owner may call without a grant. Once true, it stays."""
        return self._closed

    @property
    def grants_somebody(self) -> bool:
        """Whether any identity may call now."""
        now_us = self._now_us()
        return any(_fault(identity, None, now_us) is None for identity in self._by_name.values())

    def load_key(self) -> None:
        """Takes the key of page tokens from the store. Raises `OSError`, `FileError`."""
        self.seal = self.book.seal()

    def load(self) -> bool:
        """Reads the identities if they changed; returns whether they did. Raises `FileError`."""
        return self._taken(self._look())

    def _look(self) -> tuple[Stamp, Identities]:
        """Return the stamp, and the identities if it changed. From any thread."""
        stamp = self.book.stamp()
        return stamp, self.book.read() if stamp not in (self._stamp, None) else ()

    def _taken(self, found: tuple[Stamp, Identities]) -> bool:
        stamp, identities = found
        if stamp == self._stamp:
            return False
        self._stamp = stamp
        if stamp is None:
            # A daemon that asked for tokens must not open to everybody because a file is gone.
            raise FileError(f"{self.book.place}: is gone; its grants hold until a restart")
        self._take(identities)
        return True

    def _take(self, identities: Identities) -> None:
        by_digest: dict[bytes, list[tuple[Identity, Key]]] = {}
        for identity in identities:
            for key in identity.keys:
                by_digest.setdefault(key.digest[:_BUCKET_BYTES], []).append((identity, key))
        self._by_digest = by_digest
        self._by_subject = {
            identity.subject: identity for identity in identities if identity.subject
        }
        self._by_name = {identity.name: identity for identity in identities}
        # Replaced and not changed: metrics read it on a thread of theirs.
        self._certificates = {
            subject: seen
            for subject, seen in self._certificates.items()
            if (known := self._by_subject.get(subject)) and not known.revoked_us
        }
        self._closed = True
        self.meters.settle(self._by_name)

    def identities_end_s(self) -> list[float]:
        """Return when identities end that are not revoked: seconds since 1970. Any thread."""
        known = self._by_name.values()
        return [
            identity.end_us / 1e6
            for identity in known
            if identity.end_us and not identity.revoked_us
        ]

    def client_certificates_end_s(self) -> list[float]:
        """Return when the certificates end that clients came with last. Any thread."""
        return [end_s for _, end_s in tuple(self._certificates.values())]

    async def watch(self) -> None:
        """Looks at the identities again and again; ends streams of callers that may no longer call.

        While a database does not answer, the grants that were read last hold.
        """
        failure = ""
        while True:
            await asyncio.sleep(self.book.check_every_s)
            try:
                waits = self.book.waits
                found = await asyncio.to_thread(self._look) if waits else self._look()
                if self._taken(found):
                    logger.info("identities were read", count=len(self._by_name))
                failure = ""
            except FileError as error:
                # The grants that were read last hold: a file that is being repaired is no reason
                # to refuse everybody. It is said once.
                if str(error) != failure:
                    failure = str(error)
                    logger.error("identities were not read", why=failure)
            for call in tuple(self._streams):
                call.recheck()

    def call(self, rule: Rule, context: Context) -> Call:
        """One call of a method; a context manager around all that the call does."""
        return Call(self, rule, context)

    def caller_of(self, context: Context) -> Caller:
        """Find out who calls.

        Raises
        ------
        Unauthenticated
            TOKEN_MISSING, TOKEN_INVALID, TOKEN_EXPIRED or TOKEN_REVOKED.
        """
        if not self._closed:
            return OWNER
        tokens = [
            value for name, value in context.invocation_metadata() or () if name == "authorization"
        ]
        if tokens:
            identity, key = self._proved_by_token(tokens)
            return self._valid(Caller(identity, key))
        shown = context.auth_context()
        names = shown.get("x509_common_name", ())
        if names:
            subject = names[0].decode("utf-8", "replace") if len(names) == 1 else ""
            found = self._by_subject.get(subject)
            if found is None:
                raise Unauthenticated(
                    "TOKEN_INVALID", "no identity has the name of this client certificate"
                )
            caller = self._valid(Caller(found))
            self._check_certificate(subject, shown.get("x509_pem_cert", (b"",))[0])
            return caller
        if context.peer().startswith(_UNIX):
            return OWNER
        raise Unauthenticated(
            "TOKEN_MISSING",
            "this daemon asks for a token: set TOTONOE_TOKEN; `totonoe tokens create` makes one",
        )

    def _check_certificate(self, subject: str, pem: bytes) -> None:
        """Reads a client's certificate once: whether it has the name, and when it ends.

        Raises `Unauthenticated` (TOKEN_INVALID) if its name only begins like that of the identity.
        """
        seen = self._certificates.get(subject)
        if seen is None or seen[0] != pem:
            if not has_common_name(pem, subject):
                raise Unauthenticated(
                    "TOKEN_INVALID",
                    "the client certificate has no common name without control characters, "
                    "or more than one",
                )
            self._certificates[subject] = pem, first_end_s(pem)

    def _proved_by_token(self, values: list[Any]) -> tuple[Identity, Key]:
        if len(values) > 1:
            raise Unauthenticated("TOKEN_INVALID", "the call has more than one authorization")
        (value,) = values
        text = value if isinstance(value, str) else ""
        token = text.removeprefix(_BEARER)
        if token == text or not is_token(token):
            raise Unauthenticated(
                "TOKEN_INVALID",
                "authorization: allowed: Bearer and a token, ttn_ and 43 characters",
            )
        digest = digest_of(token)
        found: tuple[Identity, Key] | None = None
        for identity, key in self._by_digest.get(digest[:_BUCKET_BYTES], ()):
            if hmac.compare_digest(key.digest, digest):
                found = identity, key
        if found is None:
            raise Unauthenticated("TOKEN_INVALID", "the token is unknown to this daemon")
        return found

    def _valid(self, caller: Caller) -> Caller:
        assert caller.identity is not None
        fault = _fault(caller.identity, caller.key, self._now_us())
        if fault is not None:
            raise fault
        return caller

    def standing(self, caller: Caller) -> Caller:
        """The caller by the identities as they are now. Raises `Unauthenticated`."""
        if caller.identity is None:
            return caller
        identity = self._by_name.get(caller.identity.name)
        if identity is None or identity.created_us != caller.identity.created_us:
            raise Unauthenticated("TOKEN_REVOKED", "the identity was taken out")
        key = None
        if caller.key is not None:
            key = next((held for held in identity.keys if held.digest == caller.key.digest), None)
            if key is None:
                raise Unauthenticated("TOKEN_EXPIRED", "the token was replaced by another one")
        return self._valid(Caller(identity, key))

    def count_refused(
        self, error: Exception, method: str, caller: Caller | None, collection: str
    ) -> None:
        """Counts a refused call, and logs it: at most so many a second, the others as a number."""
        if not isinstance(error, TotonoeError) or error.reason not in REFUSALS:
            return
        self.refused[error.reason] += 1
        second = int(self._monotonic_s())
        if second != self._logged_second:
            if self._unlogged_count:
                logger.warning("more calls were refused", count=self._unlogged_count)
            self._logged_second, self._logged_count, self._unlogged_count = second, 0, 0
        if self._logged_count >= limits.REFUSALS_LOGGED_PER_S:
            self._unlogged_count += 1
            return
        self._logged_count += 1
        logger.warning(
            "call refused",
            method=method,
            reason=error.reason,
            identity=caller.name if caller else "",
            collection=_loggable(collection),
        )


class Call:
    """One call on its way. A context manager; errors that leave it are counted as refusals."""

    __slots__ = ("_admitted", "_agent_id", "_collection", "_context", "_gate", "_limit", "_meter",
                 "_why", "caller", "rule")  # fmt: skip

    def __init__(self, gate: Gate, rule: Rule, context: Context) -> None:
        self._gate, self.rule, self._context = gate, rule, context
        self.caller: Caller | None = None
        self._agent_id = ""
        self._collection = ""
        self._admitted: set[str] = set()
        self._limit: asyncio.Timeout | None = None
        self._why: TotonoeError | None = None
        self._meter: Metered | None = None

    def __enter__(self) -> Call:
        try:
            self.caller = caller = self._gate.caller_of(self._context)
            caller.check_verb(self.rule)
        except TotonoeError as error:
            self._refused(error)
            raise
        CALL.set(self)
        return self

    def __exit__(self, _: object, error: BaseException | None, __: object) -> None:
        if self._meter is not None:
            self._meter.leave()
        if isinstance(error, TotonoeError):
            self._refused(error)

    def _refused(self, error: TotonoeError) -> None:
        self._gate.count_refused(error, self.rule.path, self.caller, self._collection)

    async def admit(self, request: Any) -> None:
        """Checks a request, or one message of a stream, and takes it off the limits.

        Items of a message that are decided one by one are left to `refusals`. A page token is
        opened in the request itself.

        Raises
        ------
        PermissionDenied, RateLimited, Quota
        InvalidArgument
            BAD_PAGE_TOKEN.
        """
        if self.rule.per_item:
            return
        if not self.by_owner:
            await self._check(request)
        if self.rule.takes_token:
            self._agent_id = getattr(request, "agent_id", "")
            if request.page_token:
                request.page_token = self._gate.seal.open(request.page_token, *self._bound())

    async def _check(self, request: Any) -> None:
        assert self.caller is not None and self.caller.identity is not None
        for place in self.rule.places(request):
            self._collection = place.collection
            self.caller.check(self.rule, place)
            if self.caller.identity.limits:
                await self._metered(self.caller.identity, place.collection)
            self._admitted.add(place.collection)

    def _bound(self) -> tuple[str, ...]:
        """Return what binds a page token to this call, identity and agent."""
        identity = None if self.caller is None else self.caller.identity
        who = ("", "") if identity is None else (identity.name, str(identity.created_us))
        return self.rule.path, *who, self._agent_id

    def leave_when_sent(self) -> None:
        """Lets the call count on as one at once until the running task, which sends its answer,
        has ended."""
        meter, self._meter = self._meter, None
        task = asyncio.current_task()
        if meter is not None and task is not None:
            task.add_done_callback(lambda _: meter.leave())

    async def refusals(self, message: Any) -> dict[int, Exception]:
        """Checks the items of a message; returns the errors of the refused, by position."""
        caller = self.caller
        if caller is None or caller.identity is None:
            return {}
        refused: dict[int, Exception] = {}
        for position, place in enumerate(self.rule.places(message)):
            self._collection = place.collection
            try:
                caller.check(self.rule, place)
                if caller.identity.limits:
                    await self._metered(caller.identity, place.collection)
                self._admitted.add(place.collection)
            except TotonoeError as error:
                self._refused(error)
                refused[position] = error
        return refused

    async def _metered(self, identity: Identity, collection: str) -> None:
        if self._meter is None:
            self._meter = Metered(self._gate.meters, self.rule)
        await self._meter.take(identity, collection)

    def needs_verb_of(self, kinds: Iterable[str]) -> None:
        """Checks the verbs of the calls that made the operations that are to be taken back.

        Raises `PermissionDenied`. A kind that is no call of the contract needs `admin`.
        """
        for kind in kinds:
            self.needs(VERB_OF_CALL.get(kind, "admin"))

    def needs(self, verb: str) -> None:
        """Raises `PermissionDenied` unless the caller has one more verb on what it asks about."""
        if self.caller is not None and not self.has(verb):
            raise _not_granted(self.caller.name, verb, "this collection")

    def has(self, verb: str) -> bool:
        """Return whether the caller has one more verb on what it asks about."""
        caller = self.caller
        return caller is None or all(caller.allows(verb, name) for name in self._admitted)

    @property
    def by_owner(self) -> bool:
        """Whether everything is allowed."""
        return self.caller is None or self.caller.identity is None

    def sees(self, collection: str) -> bool:
        """Whether the caller may make this call on a collection. From any thread."""
        return self.caller is None or self.caller.allows(self.rule.verb, collection)

    @property
    def sees_everything(self) -> bool:
        """Whether the caller may make this call on every collection."""
        identity = None if self.caller is None else self.caller.identity
        return identity is None or grants.everywhere(identity.grants, self.rule.verb)

    def finish(self, answer: Any) -> None:
        """Makes an answer what the caller may have. From any thread.

        What is about collections that it has no grant for is taken out, so are texts where the
        verb alone shows none, and the token for the next page is sealed.
        """
        if self.rule.verb in _WITHOUT_TEXTS and not self.has("read"):
            _hide_texts(answer)
        if self.rule.answers and not self.by_owner:
            list_name, field = self.rule.answers
            listed = getattr(answer, list_name)
            kept = [item for item in listed if self.sees(getattr(item, field))]
            if len(kept) < len(listed):
                del listed[:]
                listed.extend(kept)
        if self.rule.token:
            holder = answer
            for step in self.rule.token[:-1]:
                if not holder.HasField(step):
                    return
                holder = getattr(holder, step)
            token = getattr(holder, self.rule.token[-1])
            if token:
                setattr(holder, self.rule.token[-1], self._gate.seal.close(token, *self._bound()))

    @asynccontextmanager
    async def while_allowed(self) -> AsyncIterator[None]:
        """Around a stream: ends it soon after its caller loses what it was admitted by."""
        if self.by_owner:
            yield
            return
        try:
            async with asyncio.timeout(None) as self._limit:
                self._gate._streams.add(self)
                yield
        except TimeoutError:
            if self._why is None:
                raise
            raise self._why from None
        finally:
            self._gate._streams.discard(self)
            self._limit = None

    def recheck(self) -> None:
        """Ends the stream if its caller may no longer do what it was admitted for."""
        assert self.caller is not None
        try:
            self.caller = caller = self._gate.standing(self.caller)
            caller.check_verb(self.rule)
            for collection in self._admitted:
                if collection and not caller.allows(self.rule.verb, collection):
                    raise _not_granted(caller.name, self.rule.verb, "this collection")
        except TotonoeError as error:
            if self._limit is not None and self._why is None:
                self._why = error
                self._limit.reschedule(asyncio.get_running_loop().time())


CALL: ContextVar[Call | None] = ContextVar("call", default=None)
"""The call that the running task serves; `None` outside of calls of the contract."""
REFUSALS = frozenset(
    {
        *("TOKEN_MISSING", "TOKEN_INVALID", "TOKEN_EXPIRED", "TOKEN_REVOKED"),
        *("NOT_GRANTED", "AGENT_MISMATCH", "RATE_LIMITED"),
    }
)
"""Reasons of refusals that are counted and logged."""


_WITHOUT_TEXTS = ("remember", "forget")
"""Verbs that change memories whose texts their holder may not read. The guard's quotes are what a
Remember is for; who merges or tidies decides by the texts."""


def _hide_texts(message: Message) -> None:
    """Leaves of each memory and episode in an answer the id and the revision."""
    for field, value in message.ListFields():
        if field.message_type is None or field.message_type.GetOptions().map_entry:
            continue
        for carried in value if field.is_repeated else (value,):
            if field.message_type.full_name in _WITH_TEXTS:
                kept = {name: getattr(carried, name) for name in _KEPT if hasattr(carried, name)}
                carried.Clear()
                for name, known in kept.items():
                    setattr(carried, name, known)
            else:
                _hide_texts(carried)


_WITH_TEXTS = (types_pb2.Memory.DESCRIPTOR.full_name, graph_pb2.Episode.DESCRIPTOR.full_name)
_KEPT = ("id", "revision")


def _fault(identity: Identity, key: Key | None, now_us: int) -> Unauthenticated | None:
    """Why an identity, or a token of it, does not count now."""
    if identity.revoked_us:
        return Unauthenticated("TOKEN_REVOKED", "the identity was revoked")
    for expires_us in (identity.expires_us, key.expires_us if key else 0):
        if 0 < expires_us <= now_us:
            return Unauthenticated("TOKEN_EXPIRED", "the token has expired: rotate it")
    return None


def _not_granted(name: str, verb: str, on: str) -> PermissionDenied:
    return PermissionDenied(
        "NOT_GRANTED",
        f"no grant of {name!r} has the verb {verb!r} on {on}",
        identity=name,
        verb=verb,
    )


def _loggable(collection: str) -> str:
    """A collection's name; empty for a text that is none: it could hold anything."""
    try:
        return "" if "*" in collection else grants.checked_pattern(collection)
    except ValueError:
        return ""
