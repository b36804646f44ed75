"""One span for each call, by OpenTelemetry's conventions for operations on memories.

Spans are made where the application has set up a tracer provider. It has imported OpenTelemetry
then; so nothing is imported here otherwise, and a call costs one look into `sys.modules`.

A span holds which operation it was, on which collection, and how it ended. Texts of memories and
of queries are added only where `OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT` asks for them.
No span holds an agent, an id of a memory, or the message of an error.
"""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Iterable, Sequence
from functools import cache
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from google.protobuf.message import Message

from totonoe.call.channel import TLS_SCHEME
from totonoe.call.prepared import method_of
from totonoe.errors import TotonoeError
from totonoe.v1 import types_pb2

if TYPE_CHECKING:
    from opentelemetry import trace

Metadata = tuple[tuple[str, str], ...]

CONTENT_VARIABLE = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"
_CONTENT_IN_SPANS = frozenset(("true", "1", "span_only", "span_and_event"))
OPERATIONS = {
    "Remember": "upsert_memory",
    "RememberMany": "upsert_memory",
    "Import": "upsert_memory",
    "Recall": "search_memory",
    "List": "search_memory",
    "Update": "update_memory",
    "Forget": "delete_memory",
    "Purge": "delete_memory",
    "CreateCollection": "create_memory_store",
    "DeleteCollection": "delete_memory_store",
    # From here on there is no name in the conventions: these are ours.
    "GetCollection": "get_memory_store",
    "ListCollections": "list_memory_stores",
    "UpdateCollection": "update_memory_store",
    "Stats": "get_memory_store_stats",
    "History": "get_memory_history",
    "Neighbors": "get_memory_neighbors",
    "WhyNot": "explain_memory_search",
}
"""Names of operations, by method; `operation_of` makes those of the other methods."""
_WORD = re.compile(r"[A-Z][a-z]*")
_COLLECTION = re.compile(r"[a-z0-9][a-z0-9_.-]{0,63}\Z")


@cache
def operation_of(method: str) -> str:
    """The name of a method's operation: `link_memory` of `Link`, `end_session` of `EndSession`."""
    words = [word.lower() for word in _WORD.findall(method)]
    return OPERATIONS.get(method) or "_".join(words if len(words) > 1 else [*words, "memory"])


class Untraced:
    """Stands in for a span where nobody asks for one.

    Attributes
    ----------
    metadata : tuple of (str, str)
        Names the span to the daemon; goes with each try of the call.
    """

    metadata: Metadata = ()

    def answered(self, answer: Message) -> None:
        """Add what an answer says of the outcome."""

    def settled(self, saved: bool) -> None:
        """Count an item of a stream, and whether it was saved."""

    def retried(self) -> None:
        """Note that the call is tried again."""

    def end(self, error: BaseException | None = None) -> None:
        """End the span, with the error that ended the call. The first time counts."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.end(error)


UNTRACED = Untraced()


def begin(request: Message | type[Message], address: str, collection: str = "") -> Untraced:
    """Begin the span of a call; end it with `end`, or by its `with` block.

    Parameters
    ----------
    request : Message or type
        It says which method is called; of a stream that has no request yet its type.
    address : str
        Where the daemon is.
    collection : str
        The one that the call is about, if `request` does not say.
    """
    api = sys.modules.get("opentelemetry.trace")
    if api is None:
        return UNTRACED
    provider = api.get_tracer_provider()
    if isinstance(provider, api.ProxyTracerProvider | api.NoOpTracerProvider):
        return UNTRACED
    return Traced(_tracer(provider), request, address, collection)


class Traced(Untraced):
    """The span of one call, from its first try to its end."""

    def __init__(
        self,
        tracer: trace.Tracer,
        request: Message | type[Message],
        address: str,
        collection: str,
    ) -> None:
        from opentelemetry.trace import SpanKind, set_span_in_context
        from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

        method = method_of(request).path.removeprefix("/")
        operation = operation_of(method.partition("/")[2])
        self._request = None if isinstance(request, type) else request
        attributes: dict[str, str | int | bool] = {
            "gen_ai.operation.name": operation,
            "gen_ai.provider.name": "totonoe",
            "rpc.system.name": "grpc",
            "rpc.method": method,
            **_server(address),
        }
        store = collection or _collection(self._request)
        # A wrong name may be any text.
        if _COLLECTION.match(store):
            attributes["gen_ai.memory.store.id"] = store
        if getattr(self._request, "dry_run", False):
            attributes["totonoe.dry_run"] = True
        self._operation = operation
        self._retry_count = self._item_count = self._saved_count = 0
        self._ended = False
        self._span = tracer.start_span(operation, kind=SpanKind.CLIENT, attributes=attributes)
        carrier: dict[str, str] = {}
        TraceContextTextMapPropagator().inject(carrier, set_span_in_context(self._span))
        self.metadata = tuple(carrier.items())
        self._with_content = self._span.is_recording() and _content_wanted()

    def answered(self, answer: Message) -> None:
        """Add what an answer says of the outcome."""
        if not self._span.is_recording():
            return
        request, fields = self._request, answer.DESCRIPTOR.fields_by_name
        count = _record_count(self._operation, request, answer)
        if count is not None:
            self._span.set_attribute("gen_ai.memory.record.count", count)
        for name in ("saved", "would_save", "updated"):
            if name in fields:
                self._span.set_attribute("totonoe.saved", getattr(answer, name))
        verdict = getattr(answer, "verdict", 0)
        if "verdict" in fields and verdict in types_pb2.Verdict.values() and verdict:
            word = types_pb2.Verdict.Name(verdict).removeprefix("VERDICT_").lower()
            self._span.set_attribute("totonoe.verdict", word)
        if self._with_content:
            self._span.set_attributes(_contents(request, answer))

    def settled(self, saved: bool) -> None:
        """Count an item of a stream, and whether it was saved."""
        self._item_count += 1
        self._saved_count += saved

    def retried(self) -> None:
        """Note that the call is tried again."""
        self._retry_count += 1

    def end(self, error: BaseException | None = None) -> None:
        """End the span, with the error that ended the call. The first time counts."""
        if self._ended:
            return
        self._ended = True
        if self._retry_count:
            self._span.set_attribute("totonoe.retry_count", self._retry_count)
        if self._item_count:
            self._span.set_attribute("gen_ai.memory.record.count", self._item_count)
            self._span.set_attribute("totonoe.saved_count", self._saved_count)
        # A caller that leaves a stream early closes its generator: that is no failure.
        if error is not None and not isinstance(error, GeneratorExit):
            from opentelemetry.trace import StatusCode

            self._span.set_attribute("error.type", _error_type(error))
            self._span.set_status(StatusCode.ERROR)
        self._span.end()


@cache
def _version() -> str:
    import totonoe

    return totonoe.__version__


_made: tuple[Any, Any] = (None, None)
"""The last provider, and the tracer that it made: an application has one."""


def _tracer(provider: Any) -> trace.Tracer:
    global _made
    known, tracer = _made
    if known is not provider:
        tracer = provider.get_tracer("totonoe", _version())
        _made = (provider, tracer)
    made: trace.Tracer = tracer
    return made


def _content_wanted() -> bool:
    return os.environ.get(CONTENT_VARIABLE, "").strip().lower() in _CONTENT_IN_SPANS


def _error_type(error: BaseException) -> str:
    """The reason of a failed call, else its code; the class of an exception that is not ours."""
    if isinstance(error, TotonoeError):
        return error.reason or error.code
    return type(error).__qualname__


def _server(address: str) -> dict[str, str | int]:
    if address.startswith("unix:"):
        return {"server.address": address.removeprefix("unix:")}
    # Of several that are asked in turn the first stands for all.
    host, _, port = address.partition(",")[0].removeprefix(TLS_SCHEME).rpartition(":")
    return {"server.address": host.strip("[]"), "server.port": int(port)}


def _collection(request: Message | None) -> str:
    """The collection that a request names; empty if it names none."""
    if request is None:
        return ""
    name: str
    if request.DESCRIPTOR.name.endswith("CollectionRequest"):
        name = getattr(request, "name", "")
    elif "collection" in request.DESCRIPTOR.fields_by_name:
        name = getattr(request, "collection", "") or "default"
    else:
        name = ""
    return name


def _record_count(operation: str, request: Message | None, answer: Message) -> int | None:
    """How many memories a search returned, or a call was about; `None`: that cannot be said."""
    for name in ("hits", "memories"):
        if name in answer.DESCRIPTOR.fields_by_name and operation == "search_memory":
            return len(getattr(answer, name))
    if operation in ("upsert_memory", "update_memory"):
        return 1
    return len(getattr(request, "ids", ())) or None


def _contents(request: Message | None, answer: Message) -> dict[str, str]:
    """The texts of a request and its answer, for those who asked for them."""
    # An answer with a field of that name has the attribute, which its type does not show.
    found: dict[str, str] = {}
    if "hits" in answer.DESCRIPTOR.fields_by_name:
        found["gen_ai.memory.query.text"] = getattr(request, "text", "")
        hits: Iterable[Any] = answer.hits  # type: ignore[attr-defined]
        found["gen_ai.memory.records"] = _records([hit.memory for hit in hits])
    elif "memories" in answer.DESCRIPTOR.fields_by_name:
        found["gen_ai.memory.records"] = _records(answer.memories)  # type: ignore[attr-defined]
    elif draft := getattr(request, "memory", None):
        found["gen_ai.memory.records"] = _records([draft])
    return found


def _records(memories: Sequence[Any]) -> str:
    """Memories in the form of the conventions, as JSON; a draft has no id."""
    return json.dumps(
        [
            {"content": memory.content} | ({"id": memory.id} if hasattr(memory, "id") else {})
            for memory in memories
        ],
        ensure_ascii=False,
    )
