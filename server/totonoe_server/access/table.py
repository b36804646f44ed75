"""The table of what each method needs, built from the descriptors of the contract.

One table serves every way in: unary calls, streams, items of streams, answers that are filtered.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from google.protobuf.descriptor import Descriptor, FieldDescriptor, MethodDescriptor
from google.protobuf.message import Message

from totonoe.v1 import access_pb2
from totonoe_server.wire.methods import PATHS
from totonoe_server.wire.scalars import collection_name

_AGENT = "agent_id"
_DEFAULT_FIELD = "collection"
_PAGE_TOKEN, _NEXT_PAGE_TOKEN = "page_token", "next_page_token"


@dataclass(frozen=True, slots=True)
class Place:
    """A message within a request that names a collection, and whether the caller too."""

    holder: Message | None
    collection: str


@dataclass(frozen=True, slots=True)
class Rule:
    """Say what a method needs.

    Attributes
    ----------
    path : str
        As gRPC names the method.
    verb : str
        Of `grants.VERBS`; empty for a stream whose items are calls.
    scope : int
        `access_pb2.Scope`.
    steps : tuple of str
        Fields from the request to the message that names collection and caller.
    name_field : str
        Field of that message that names the collection; empty: none does.
    has_agent : bool
        Whether that message names the caller.
    per_item : bool
        The steps lead through a repeated field: its elements are decided one by one.
    streams_in, streams_out : bool
        Whether requests and answers are streams.
    answers : tuple of str
        Path of the collection's name within the answer; empty: it is not filtered.
    calls : dict of str to str
        Of a stream whose items are calls: paths of their methods, by the field of the request.
    takes_token : bool
        Whether the request has a `page_token`.
    token : tuple of str
        Path of `next_page_token` within the answer; empty: it has none.
    """

    path: str
    verb: str
    scope: int
    steps: tuple[str, ...]
    name_field: str
    has_agent: bool
    per_item: bool
    streams_in: bool
    streams_out: bool
    answers: tuple[str, ...]
    calls: Mapping[str, str]
    takes_token: bool
    token: tuple[str, ...]

    @property
    def writes(self) -> bool:
        """Whether the limits of writes count it."""
        return self.verb != "read"

    @property
    def adds(self) -> bool:
        """True if the call may add memories, so that their quotas hold."""
        return self.verb == "remember" or self.streams_in

    def places(self, request: Any) -> Iterator[Place]:
        """Yield the messages that name collections.

        A part of a request that is absent names the default collection; of a stream, whose first
        message alone has it, nothing.
        """
        if not self.steps:
            yield self._place(request)
        elif self.per_item:
            for item in getattr(request, self.steps[0]):
                yield self._place(item)
        elif request.HasField(self.steps[0]):
            yield self._place(getattr(request, self.steps[0]))
        elif not self.streams_in:
            yield Place(None, self._named(""))

    def _place(self, holder: Any) -> Place:
        name = getattr(holder, self.name_field) if self.name_field else ""
        return Place(holder, self._named(name))

    def _named(self, name: str) -> str:
        if not self.name_field or (self.answers and not name):
            return ""
        return collection_name(name)


def rule_of(path: str, method: MethodDescriptor) -> Rule:
    """Build the rule of a method from its option and its request.

    Raises
    ------
    ValueError
        The option is missing, or names a field that is not there.
    """
    options: Any = method.GetOptions()
    option = options.Extensions[access_pb2.access]
    calls = _calls_of(path, method, option.calls) if option.calls else {}
    if bool(option.verb) == bool(calls):
        raise ValueError(f"{path} declares no verb in option (totonoe.v1.access), or two sorts")
    *steps, last = (option.collection or _DEFAULT_FIELD).split(".")
    holder, repeated = _walked(path, method.input_type, steps)
    name = holder.fields_by_name.get(last)
    # A call on everything names what it names itself; a call on anything names nothing.
    needs_name = option.scope == access_pb2.SCOPE_UNSPECIFIED and not calls
    if needs_name and (name is None or name.type != FieldDescriptor.TYPE_STRING):
        raise ValueError(f"{path}: {option.collection or last!r} is no text field of the request")
    if len(steps) > 1:
        raise ValueError(f"{path}: {option.collection!r} leads too deep")
    answers = tuple(option.answers.split(".")) if option.answers else ()
    if answers:
        listed, is_repeated = _walked(path, method.output_type, answers[:-1])
        if not is_repeated or answers[-1] not in listed.fields_by_name or len(answers) != 2:
            raise ValueError(f"{path}: {option.answers!r} is no field of a list of the answer")
    return Rule(
        path=path,
        verb="" if calls else access_pb2.Verb.Name(option.verb).removeprefix("VERB_").lower(),
        scope=option.scope,
        steps=tuple(steps),
        name_field=last if needs_name else "",
        has_agent=_AGENT in holder.fields_by_name,
        per_item=repeated,
        streams_in=bool(getattr(method, "client_streaming", False)),
        streams_out=bool(getattr(method, "server_streaming", False)),
        answers=answers,
        calls=calls,
        takes_token=_PAGE_TOKEN in method.input_type.fields_by_name,
        token=_token_of(path, method.output_type),
    )


def _token_of(path: str, answer: Descriptor) -> tuple[str, ...]:
    """The path of the field for the next page in an answer, or in a message within it."""
    if _NEXT_PAGE_TOKEN in answer.fields_by_name:
        return (_NEXT_PAGE_TOKEN,)
    found = [
        (field.name, _NEXT_PAGE_TOKEN)
        for field in answer.fields
        if field.message_type and _NEXT_PAGE_TOKEN in field.message_type.fields_by_name
    ]
    if len(found) > 1:
        raise ValueError(f"{path}: the answer has more than one {_NEXT_PAGE_TOKEN}")
    return found[0] if found else ()


def _calls_of(path: str, method: MethodDescriptor, oneof: str) -> dict[str, str]:
    """The paths of the methods whose requests a oneof of a request holds, by its fields."""
    service: Any = method.containing_service
    if oneof not in method.input_type.oneofs_by_name:
        raise ValueError(f"{path}: {oneof!r} is no oneof of the request")
    found = {}
    for field in method.input_type.oneofs_by_name[oneof].fields:
        names = [
            other.name
            for other in service.methods
            if other.input_type is field.message_type
            and not (other.client_streaming or other.server_streaming)
        ]
        if len(names) != 1:
            raise ValueError(f"{path}: {field.name!r} is not the request of one unary method")
        found[field.name] = f"/{service.full_name}/{names[0]}"
    return found


def _walked(path: str, start: Descriptor, steps: list[str] | tuple[str, ...]) -> Any:
    """The descriptor at the end of a path, and whether the path leads through a list."""
    descriptor, repeated = start, False
    for step in steps:
        field = descriptor.fields_by_name.get(step)
        if field is None or field.message_type is None:
            raise ValueError(f"{path}: {step!r} is no message of {descriptor.full_name}")
        descriptor, repeated = field.message_type, repeated or field.is_repeated
    return descriptor, repeated


RULES = {path: rule_of(path, method) for path, method in PATHS.items()}
"""The rule of each method of the contract, by its path."""
VERB_OF_CALL = {path.rpartition("/")[2]: rule.verb for path, rule in RULES.items() if rule.verb}
"""The verb of a call by its name, as operations are called."""
