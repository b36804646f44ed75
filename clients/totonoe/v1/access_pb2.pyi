from google.protobuf import descriptor_pb2 as _descriptor_pb2
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class Verb(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    VERB_UNSPECIFIED: _ClassVar[Verb]
    VERB_READ: _ClassVar[Verb]
    VERB_REMEMBER: _ClassVar[Verb]
    VERB_FORGET: _ClassVar[Verb]
    VERB_MERGE: _ClassVar[Verb]
    VERB_TIDY: _ClassVar[Verb]
    VERB_ADMIN: _ClassVar[Verb]

class Scope(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    SCOPE_UNSPECIFIED: _ClassVar[Scope]
    SCOPE_ANY: _ClassVar[Scope]
    SCOPE_EVERY: _ClassVar[Scope]
VERB_UNSPECIFIED: Verb
VERB_READ: Verb
VERB_REMEMBER: Verb
VERB_FORGET: Verb
VERB_MERGE: Verb
VERB_TIDY: Verb
VERB_ADMIN: Verb
SCOPE_UNSPECIFIED: Scope
SCOPE_ANY: Scope
SCOPE_EVERY: Scope
ACCESS_FIELD_NUMBER: _ClassVar[int]
access: _descriptor.FieldDescriptor

class Access(_message.Message):
    __slots__ = ("verb", "collection", "scope", "answers", "calls")
    VERB_FIELD_NUMBER: _ClassVar[int]
    COLLECTION_FIELD_NUMBER: _ClassVar[int]
    SCOPE_FIELD_NUMBER: _ClassVar[int]
    ANSWERS_FIELD_NUMBER: _ClassVar[int]
    CALLS_FIELD_NUMBER: _ClassVar[int]
    verb: Verb
    collection: str
    scope: Scope
    answers: str
    calls: str
    def __init__(self, verb: _Optional[_Union[Verb, str]] = ..., collection: _Optional[str] = ..., scope: _Optional[_Union[Scope, str]] = ..., answers: _Optional[str] = ..., calls: _Optional[str] = ...) -> None: ...
