"""Messages and dataclasses, matched by name: complete, and true to what is on the wire."""

from __future__ import annotations

import inspect
import random
from array import array
from collections.abc import Callable
from dataclasses import dataclass, fields, is_dataclass
from datetime import UTC, datetime
from typing import Any

import pytest
from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.json_format import MessageToDict
from google.protobuf.message import Message

from support.messages import contract, filled
from totonoe import Client
from totonoe.call.prepared import method_of
from totonoe.collections.models import EmbeddingModel, ReembedStats
from totonoe.consolidate.models import ConsolidateEvent
from totonoe.memories.models import Memory, Remembered, TimeRange, TypedKey
from totonoe.reembed.models import ReembedEvent
from totonoe.tidy.course import decode_event
from totonoe.tidy.models import TidyUpdate
from totonoe.transfer.models import Imported
from totonoe.v1 import (
    consolidate_pb2,
    memory_service_pb2,
    operations_pb2,
    reembed_pb2,
    tidy_pb2,
    transfer_pb2,
    types_pb2,
)
from totonoe.watch.models import WatchEvent
from totonoe.wire.mapping import decoder, encode

STREAMS = {
    "consolidate",
    "export",
    "import_file",
    "list_all",
    "reembed",
    "remember_many",
    "tidy",
    "watch",
}
NOT_OF_THE_CONTRACT = {"close", "health", "in_collection", "wait_ready"}
ARGUMENTS = {
    "ids": ["a"],
    "remove_ids": ["b"],
    "memory_ids": ["m"],
    "target": 1,
    "plan": [],
    "answer": "same",
}
OF_A_CALL = {"review": {"answer": "confirm"}}


class Recorded(Client):
    """Keeps what its calls send, and how the answers are read, in place of calling."""

    def __init__(self) -> None:
        super().__init__()
        self._maker: Any = self._caller
        self.said: dict[str, set[str]] = {}
        self.runs: list[tuple[Message, Any]] = []
        self._caller = self

    def request(self, kind: type[Any], values: dict[str, Any]) -> Any:
        """As of a `Caller`, which this stands for."""
        made = self._maker.request(kind, values)
        self.said.setdefault(kind.__name__, set()).update(values)
        return made

    def where(self, collection: str | None) -> str:
        return self._maker.where(collection)

    def _run(self, request: Message, result: Callable[..., Any], timeout_s: float | None) -> Any:
        del timeout_s
        self.runs.append((request, result))


def called() -> Recorded:
    """A client of which every call that is no stream was made once."""
    client = Recorded()
    for name, method in inspect.getmembers(Client, inspect.isfunction):
        if name.startswith("_") or name in STREAMS | NOT_OF_THE_CONTRACT:
            continue
        needed = [
            parameter.name
            for parameter in list(inspect.signature(method).parameters.values())[1:]
            if parameter.default is parameter.empty and parameter.kind is not parameter.VAR_KEYWORD
        ]
        given = ARGUMENTS | OF_A_CALL.get(name, {})
        getattr(client, name)(*(given.get(item, "x") for item in needed))
    return client


CALLED = called()
PAIRS = sorted(
    {
        (result, method_of(request).answer)
        for request, result in CALLED.runs
        if isinstance(result, type)
    }
    | {
        (ConsolidateEvent, consolidate_pb2.ConsolidateResponse),
        (Imported, transfer_pb2.ImportResponse),
        (ReembedEvent, reembed_pb2.ReembedResponse),
        (Remembered, memory_service_pb2.RememberResponse),
        (WatchEvent, operations_pb2.WatchResponse),
    },
    key=lambda pair: (pair[0].__name__, pair[1].__name__),
)


def check(model: Any, message: Message) -> None:
    """Compares a dataclass with the message that it was made of, field by field."""
    if isinstance(model, ReembedStats):
        assert (model.model, model.done_count) == (message.model, message.progress.done_count)
        return
    for item in fields(model):
        field = message.DESCRIPTOR.fields_by_name[item.name]
        value, held = getattr(model, item.name), getattr(message, item.name)
        if field.message_type is not None and field.message_type.GetOptions().map_entry:
            assert value == dict(held)
        elif field.is_repeated:
            assert isinstance(value, tuple)
            for entry, other in zip(value, held, strict=True):
                check_value(entry, other, field)
        elif field.has_presence and not message.HasField(item.name) and value is None:
            pass
        elif value is None:
            # What may be none, though the wire always has a value: an enum, a vector, figures.
            assert not held or not held.ByteSize() or not held.model
        else:
            check_value(value, held, field)


def check_value(value: Any, held: Any, field: FieldDescriptor) -> None:
    if isinstance(value, datetime):
        assert value == held.ToDatetime(tzinfo=UTC)
    elif is_dataclass(value):
        check(value, held)
    elif isinstance(value, dict):
        assert value == MessageToDict(held)
    elif isinstance(value, tuple):
        assert value == tuple(getattr(held, item.name) for item in held.DESCRIPTOR.fields)
    elif isinstance(value, array):
        assert value.tobytes() == held
    elif isinstance(held, bytes):
        assert value == held.hex()
    elif field.enum_type is not None:
        known = field.enum_type.values_by_number.get(held)
        word = known.name if known and held else "UNKNOWN"
        assert word.lower().endswith(value.value)
    elif isinstance(value, Exception):
        assert (value.reason, dict(value.details)) == (held.reason, dict(held.details))
    else:
        assert (type(value), value) == (type(held), held)


@pytest.mark.parametrize(("model", "message"), PAIRS, ids=lambda item: item.__name__)
def test_decoder_of_random_messages_holds_what_is_on_the_wire(model: Any, message: Any) -> None:
    decode = decoder(model, message)
    draw = random.Random(model.__name__)
    check(decode(message()), message())
    for _ in range(100):
        held = filled(message(), draw)
        check(decode(held), held)


def test_decoder_of_tidy_messages_holds_what_is_on_the_wire() -> None:
    draw = random.Random(5)
    kinds = set()
    for _ in range(200):
        held = filled(tidy_pb2.TidyResponse(), draw)
        kind = held.WhichOneof("message") or "progress"
        kinds.add(kind)
        check(decode_event(held), getattr(held, kind))
    assert len(kinds) == 4


def test_calls_take_every_method_of_the_contract_and_every_field_of_its_request() -> None:
    unary = {
        method.input_type.name: {field.name for field in method.input_type.fields}
        for module in contract()
        for service in module.DESCRIPTOR.services_by_name.values()
        for method in service.methods
        if not method.server_streaming
    }
    assert {type(request).__name__ for request, _ in CALLED.runs} == set(unary)
    for name, wanted in unary.items():
        # A plan goes in one of two forms, and a client of several daemons says the revision itself.
        assert CALLED.said[name] | {"plan_json", "min_revision"} >= wanted, name


@dataclass
class Lacking:
    subject: str


@dataclass
class Extra:
    subject: str
    attribute: str
    more: str


@dataclass
class Mistyped:
    subject: str
    attribute: int


@dataclass
class NeverAbsent:
    subject: str
    attribute: str | None


@pytest.mark.parametrize(
    ("model", "match"),
    [
        (Lacking, "Lacking and totonoe.v1.TypedKey: only one has attribute"),
        (Extra, "only one has more"),
        (Mistyped, "Mistyped.attribute: got <class 'int'>"),
        (NeverAbsent, "NeverAbsent.attribute: may be None"),
        (EmbeddingModel, "only one has"),
    ],
)
def test_decoder_of_sides_that_differ_raises_type_error(model: Any, match: str) -> None:
    with pytest.raises(TypeError, match=match):
        decoder(model, types_pb2.TypedKey)


def test_encode_reads_back_as_the_same_dataclass() -> None:
    moment = datetime(2026, 1, 2, tzinfo=UTC)
    for value, message in (
        (TimeRange(moment, None), types_pb2.TimeRange),
        (TypedKey("user", "drink"), types_pb2.TypedKey),
        (EmbeddingModel("m", "1", "ab", 3), types_pb2.EmbeddingModel),
    ):
        assert decoder(type(value), message)(encode(message, value)) == value


@pytest.mark.parametrize(
    ("values", "error", "match"),
    [
        ({"nope": 1}, TypeError, "unexpected keyword argument 'nope'"),
        ({"importance": 2**40}, ValueError, "importance: Value out of range"),
        ({"tags": "abc"}, TypeError, "tags: got one string"),
        ({"kind": "x"}, ValueError, "kind: got 'x', allowed: state, event, affect"),
        ({"about_time": TimeRange(datetime(2026, 1, 1))}, ValueError, "about_time.from_time"),
        ({"content": 7}, TypeError, "content: "),
    ],
)
def test_encode_of_what_has_no_place_raises_and_names_the_field(
    values: dict[str, Any], error: type[Exception], match: str
) -> None:
    with pytest.raises(error, match=match):
        encode(types_pb2.MemoryDraft, values)


def test_encode_of_an_update_takes_numbers_and_none() -> None:
    update = TidyUpdate("close", state_id="s", payload={"p": 1})
    message = encode(tidy_pb2.TidyUpdate, update, "plan[0]")
    assert [field.name for field, _ in message.ListFields()] == ["op", "state_id", "payload"]
    assert decoder(Memory, types_pb2.Memory)(types_pb2.Memory()).links == ()
