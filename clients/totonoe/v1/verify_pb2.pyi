import datetime

from google.protobuf import timestamp_pb2 as _timestamp_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class VerifyStats(_message.Message):
    __slots__ = ("bad_row_counts", "bad_memory_ids", "begun_time", "ended_time", "row_count", "damage_count", "index_mismatch_count", "reindexed_count", "lost_commit_count", "lost_revisions")
    class BadRowCountsEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: int
        def __init__(self, key: _Optional[str] = ..., value: _Optional[int] = ...) -> None: ...
    BAD_ROW_COUNTS_FIELD_NUMBER: _ClassVar[int]
    BAD_MEMORY_IDS_FIELD_NUMBER: _ClassVar[int]
    BEGUN_TIME_FIELD_NUMBER: _ClassVar[int]
    ENDED_TIME_FIELD_NUMBER: _ClassVar[int]
    ROW_COUNT_FIELD_NUMBER: _ClassVar[int]
    DAMAGE_COUNT_FIELD_NUMBER: _ClassVar[int]
    INDEX_MISMATCH_COUNT_FIELD_NUMBER: _ClassVar[int]
    REINDEXED_COUNT_FIELD_NUMBER: _ClassVar[int]
    LOST_COMMIT_COUNT_FIELD_NUMBER: _ClassVar[int]
    LOST_REVISIONS_FIELD_NUMBER: _ClassVar[int]
    bad_row_counts: _containers.ScalarMap[str, int]
    bad_memory_ids: _containers.RepeatedScalarFieldContainer[str]
    begun_time: _timestamp_pb2.Timestamp
    ended_time: _timestamp_pb2.Timestamp
    row_count: int
    damage_count: int
    index_mismatch_count: int
    reindexed_count: int
    lost_commit_count: int
    lost_revisions: str
    def __init__(self, bad_row_counts: _Optional[_Mapping[str, int]] = ..., bad_memory_ids: _Optional[_Iterable[str]] = ..., begun_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., ended_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., row_count: _Optional[int] = ..., damage_count: _Optional[int] = ..., index_mismatch_count: _Optional[int] = ..., reindexed_count: _Optional[int] = ..., lost_commit_count: _Optional[int] = ..., lost_revisions: _Optional[str] = ...) -> None: ...
