import datetime

from google.protobuf import timestamp_pb2 as _timestamp_pb2
from totonoe.v1 import memory_service_pb2 as _memory_service_pb2
from totonoe.v1 import errors_pb2 as _errors_pb2
from totonoe.v1 import types_pb2 as _types_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class ExportRequest(_message.Message):
    __slots__ = ("collection", "agent_id", "include_vectors", "statuses")
    COLLECTION_FIELD_NUMBER: _ClassVar[int]
    AGENT_ID_FIELD_NUMBER: _ClassVar[int]
    INCLUDE_VECTORS_FIELD_NUMBER: _ClassVar[int]
    STATUSES_FIELD_NUMBER: _ClassVar[int]
    collection: str
    agent_id: str
    include_vectors: bool
    statuses: _containers.RepeatedScalarFieldContainer[_types_pb2.Status]
    def __init__(self, collection: _Optional[str] = ..., agent_id: _Optional[str] = ..., include_vectors: _Optional[bool] = ..., statuses: _Optional[_Iterable[_Union[_types_pb2.Status, str]]] = ...) -> None: ...

class ExportResponse(_message.Message):
    __slots__ = ("revision", "data", "record_count", "memory_count", "damaged_count")
    REVISION_FIELD_NUMBER: _ClassVar[int]
    DATA_FIELD_NUMBER: _ClassVar[int]
    RECORD_COUNT_FIELD_NUMBER: _ClassVar[int]
    MEMORY_COUNT_FIELD_NUMBER: _ClassVar[int]
    DAMAGED_COUNT_FIELD_NUMBER: _ClassVar[int]
    revision: int
    data: bytes
    record_count: int
    memory_count: int
    damaged_count: int
    def __init__(self, revision: _Optional[int] = ..., data: _Optional[bytes] = ..., record_count: _Optional[int] = ..., memory_count: _Optional[int] = ..., damaged_count: _Optional[int] = ...) -> None: ...

class ImportStart(_message.Message):
    __slots__ = ("collection", "agent_id", "operation_id", "as_is", "dry_run")
    COLLECTION_FIELD_NUMBER: _ClassVar[int]
    AGENT_ID_FIELD_NUMBER: _ClassVar[int]
    OPERATION_ID_FIELD_NUMBER: _ClassVar[int]
    AS_IS_FIELD_NUMBER: _ClassVar[int]
    DRY_RUN_FIELD_NUMBER: _ClassVar[int]
    collection: str
    agent_id: str
    operation_id: str
    as_is: bool
    dry_run: bool
    def __init__(self, collection: _Optional[str] = ..., agent_id: _Optional[str] = ..., operation_id: _Optional[str] = ..., as_is: _Optional[bool] = ..., dry_run: _Optional[bool] = ...) -> None: ...

class ImportRequest(_message.Message):
    __slots__ = ("start", "data", "last")
    START_FIELD_NUMBER: _ClassVar[int]
    DATA_FIELD_NUMBER: _ClassVar[int]
    LAST_FIELD_NUMBER: _ClassVar[int]
    start: ImportStart
    data: bytes
    last: bool
    def __init__(self, start: _Optional[_Union[ImportStart, _Mapping]] = ..., data: _Optional[bytes] = ..., last: _Optional[bool] = ...) -> None: ...

class ImportHeader(_message.Message):
    __slots__ = ("collection", "agent_id", "revision", "time", "model", "vectors", "statuses")
    COLLECTION_FIELD_NUMBER: _ClassVar[int]
    AGENT_ID_FIELD_NUMBER: _ClassVar[int]
    REVISION_FIELD_NUMBER: _ClassVar[int]
    TIME_FIELD_NUMBER: _ClassVar[int]
    MODEL_FIELD_NUMBER: _ClassVar[int]
    VECTORS_FIELD_NUMBER: _ClassVar[int]
    STATUSES_FIELD_NUMBER: _ClassVar[int]
    collection: str
    agent_id: str
    revision: int
    time: _timestamp_pb2.Timestamp
    model: str
    vectors: bool
    statuses: _containers.RepeatedScalarFieldContainer[_types_pb2.Status]
    def __init__(self, collection: _Optional[str] = ..., agent_id: _Optional[str] = ..., revision: _Optional[int] = ..., time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., model: _Optional[str] = ..., vectors: _Optional[bool] = ..., statuses: _Optional[_Iterable[_Union[_types_pb2.Status, str]]] = ...) -> None: ...

class ImportItem(_message.Message):
    __slots__ = ("line", "memory_id", "duplicate_of", "method", "similarity", "error")
    LINE_FIELD_NUMBER: _ClassVar[int]
    MEMORY_ID_FIELD_NUMBER: _ClassVar[int]
    DUPLICATE_OF_FIELD_NUMBER: _ClassVar[int]
    METHOD_FIELD_NUMBER: _ClassVar[int]
    SIMILARITY_FIELD_NUMBER: _ClassVar[int]
    ERROR_FIELD_NUMBER: _ClassVar[int]
    line: int
    memory_id: str
    duplicate_of: str
    method: str
    similarity: float
    error: _memory_service_pb2.ItemError
    def __init__(self, line: _Optional[int] = ..., memory_id: _Optional[str] = ..., duplicate_of: _Optional[str] = ..., method: _Optional[str] = ..., similarity: _Optional[float] = ..., error: _Optional[_Union[_memory_service_pb2.ItemError, _Mapping]] = ...) -> None: ...

class ImportResponse(_message.Message):
    __slots__ = ("revision", "operation_id", "done", "header", "line_count", "record_counts", "saved_count", "refused_counts", "existing_count", "left_out_count", "failed_count", "replayed_count", "operation_count", "vectors_used", "items")
    class RecordCountsEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: int
        def __init__(self, key: _Optional[str] = ..., value: _Optional[int] = ...) -> None: ...
    class RefusedCountsEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: int
        def __init__(self, key: _Optional[str] = ..., value: _Optional[int] = ...) -> None: ...
    REVISION_FIELD_NUMBER: _ClassVar[int]
    OPERATION_ID_FIELD_NUMBER: _ClassVar[int]
    DONE_FIELD_NUMBER: _ClassVar[int]
    HEADER_FIELD_NUMBER: _ClassVar[int]
    LINE_COUNT_FIELD_NUMBER: _ClassVar[int]
    RECORD_COUNTS_FIELD_NUMBER: _ClassVar[int]
    SAVED_COUNT_FIELD_NUMBER: _ClassVar[int]
    REFUSED_COUNTS_FIELD_NUMBER: _ClassVar[int]
    EXISTING_COUNT_FIELD_NUMBER: _ClassVar[int]
    LEFT_OUT_COUNT_FIELD_NUMBER: _ClassVar[int]
    FAILED_COUNT_FIELD_NUMBER: _ClassVar[int]
    REPLAYED_COUNT_FIELD_NUMBER: _ClassVar[int]
    OPERATION_COUNT_FIELD_NUMBER: _ClassVar[int]
    VECTORS_USED_FIELD_NUMBER: _ClassVar[int]
    ITEMS_FIELD_NUMBER: _ClassVar[int]
    revision: int
    operation_id: str
    done: bool
    header: ImportHeader
    line_count: int
    record_counts: _containers.ScalarMap[str, int]
    saved_count: int
    refused_counts: _containers.ScalarMap[str, int]
    existing_count: int
    left_out_count: int
    failed_count: int
    replayed_count: int
    operation_count: int
    vectors_used: bool
    items: _containers.RepeatedCompositeFieldContainer[ImportItem]
    def __init__(self, revision: _Optional[int] = ..., operation_id: _Optional[str] = ..., done: _Optional[bool] = ..., header: _Optional[_Union[ImportHeader, _Mapping]] = ..., line_count: _Optional[int] = ..., record_counts: _Optional[_Mapping[str, int]] = ..., saved_count: _Optional[int] = ..., refused_counts: _Optional[_Mapping[str, int]] = ..., existing_count: _Optional[int] = ..., left_out_count: _Optional[int] = ..., failed_count: _Optional[int] = ..., replayed_count: _Optional[int] = ..., operation_count: _Optional[int] = ..., vectors_used: _Optional[bool] = ..., items: _Optional[_Iterable[_Union[ImportItem, _Mapping]]] = ...) -> None: ...
