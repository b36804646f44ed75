import datetime

from google.protobuf import timestamp_pb2 as _timestamp_pb2
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class CheckpointStats(_message.Message):
    __slots__ = ("revision", "time", "bytes", "opened_from_revision", "replayed_count", "opening_s", "bad_count", "bad")
    REVISION_FIELD_NUMBER: _ClassVar[int]
    TIME_FIELD_NUMBER: _ClassVar[int]
    BYTES_FIELD_NUMBER: _ClassVar[int]
    OPENED_FROM_REVISION_FIELD_NUMBER: _ClassVar[int]
    REPLAYED_COUNT_FIELD_NUMBER: _ClassVar[int]
    OPENING_S_FIELD_NUMBER: _ClassVar[int]
    BAD_COUNT_FIELD_NUMBER: _ClassVar[int]
    BAD_FIELD_NUMBER: _ClassVar[int]
    revision: int
    time: _timestamp_pb2.Timestamp
    bytes: int
    opened_from_revision: int
    replayed_count: int
    opening_s: float
    bad_count: int
    bad: str
    def __init__(self, revision: _Optional[int] = ..., time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., bytes: _Optional[int] = ..., opened_from_revision: _Optional[int] = ..., replayed_count: _Optional[int] = ..., opening_s: _Optional[float] = ..., bad_count: _Optional[int] = ..., bad: _Optional[str] = ...) -> None: ...
