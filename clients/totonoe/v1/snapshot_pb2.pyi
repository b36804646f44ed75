import datetime

from google.protobuf import timestamp_pb2 as _timestamp_pb2
from totonoe.v1 import types_pb2 as _types_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class SnapshotUse(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    SNAPSHOT_USE_UNSPECIFIED: _ClassVar[SnapshotUse]
    SNAPSHOT_USE_LIST: _ClassVar[SnapshotUse]
    SNAPSHOT_USE_REWRITE: _ClassVar[SnapshotUse]
    SNAPSHOT_USE_DELETE: _ClassVar[SnapshotUse]
SNAPSHOT_USE_UNSPECIFIED: SnapshotUse
SNAPSHOT_USE_LIST: SnapshotUse
SNAPSHOT_USE_REWRITE: SnapshotUse
SNAPSHOT_USE_DELETE: SnapshotUse

class Snapshot(_message.Message):
    __slots__ = ("id", "collection", "collection_uid", "current_collection", "name", "comment", "created_time", "revision", "active_count", "total_count", "file_bytes", "sha256", "model", "scheduled", "rewrite_count", "purged_count")
    ID_FIELD_NUMBER: _ClassVar[int]
    COLLECTION_FIELD_NUMBER: _ClassVar[int]
    COLLECTION_UID_FIELD_NUMBER: _ClassVar[int]
    CURRENT_COLLECTION_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    COMMENT_FIELD_NUMBER: _ClassVar[int]
    CREATED_TIME_FIELD_NUMBER: _ClassVar[int]
    REVISION_FIELD_NUMBER: _ClassVar[int]
    ACTIVE_COUNT_FIELD_NUMBER: _ClassVar[int]
    TOTAL_COUNT_FIELD_NUMBER: _ClassVar[int]
    FILE_BYTES_FIELD_NUMBER: _ClassVar[int]
    SHA256_FIELD_NUMBER: _ClassVar[int]
    MODEL_FIELD_NUMBER: _ClassVar[int]
    SCHEDULED_FIELD_NUMBER: _ClassVar[int]
    REWRITE_COUNT_FIELD_NUMBER: _ClassVar[int]
    PURGED_COUNT_FIELD_NUMBER: _ClassVar[int]
    id: str
    collection: str
    collection_uid: str
    current_collection: str
    name: str
    comment: str
    created_time: _timestamp_pb2.Timestamp
    revision: int
    active_count: int
    total_count: int
    file_bytes: int
    sha256: str
    model: _types_pb2.EmbeddingModel
    scheduled: bool
    rewrite_count: int
    purged_count: int
    def __init__(self, id: _Optional[str] = ..., collection: _Optional[str] = ..., collection_uid: _Optional[str] = ..., current_collection: _Optional[str] = ..., name: _Optional[str] = ..., comment: _Optional[str] = ..., created_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., revision: _Optional[int] = ..., active_count: _Optional[int] = ..., total_count: _Optional[int] = ..., file_bytes: _Optional[int] = ..., sha256: _Optional[str] = ..., model: _Optional[_Union[_types_pb2.EmbeddingModel, _Mapping]] = ..., scheduled: _Optional[bool] = ..., rewrite_count: _Optional[int] = ..., purged_count: _Optional[int] = ...) -> None: ...

class CreateSnapshotRequest(_message.Message):
    __slots__ = ("operation_id", "agent_id", "collection", "name", "comment")
    OPERATION_ID_FIELD_NUMBER: _ClassVar[int]
    AGENT_ID_FIELD_NUMBER: _ClassVar[int]
    COLLECTION_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    COMMENT_FIELD_NUMBER: _ClassVar[int]
    operation_id: str
    agent_id: str
    collection: str
    name: str
    comment: str
    def __init__(self, operation_id: _Optional[str] = ..., agent_id: _Optional[str] = ..., collection: _Optional[str] = ..., name: _Optional[str] = ..., comment: _Optional[str] = ...) -> None: ...

class CreateSnapshotResponse(_message.Message):
    __slots__ = ("snapshot", "replayed", "operation_id")
    SNAPSHOT_FIELD_NUMBER: _ClassVar[int]
    REPLAYED_FIELD_NUMBER: _ClassVar[int]
    OPERATION_ID_FIELD_NUMBER: _ClassVar[int]
    snapshot: Snapshot
    replayed: bool
    operation_id: str
    def __init__(self, snapshot: _Optional[_Union[Snapshot, _Mapping]] = ..., replayed: _Optional[bool] = ..., operation_id: _Optional[str] = ...) -> None: ...

class ListSnapshotsRequest(_message.Message):
    __slots__ = ("collection", "page_size", "page_token")
    COLLECTION_FIELD_NUMBER: _ClassVar[int]
    PAGE_SIZE_FIELD_NUMBER: _ClassVar[int]
    PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    collection: str
    page_size: int
    page_token: str
    def __init__(self, collection: _Optional[str] = ..., page_size: _Optional[int] = ..., page_token: _Optional[str] = ...) -> None: ...

class ListSnapshotsResponse(_message.Message):
    __slots__ = ("snapshots", "next_page_token")
    SNAPSHOTS_FIELD_NUMBER: _ClassVar[int]
    NEXT_PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    snapshots: _containers.RepeatedCompositeFieldContainer[Snapshot]
    next_page_token: str
    def __init__(self, snapshots: _Optional[_Iterable[_Union[Snapshot, _Mapping]]] = ..., next_page_token: _Optional[str] = ...) -> None: ...

class DeleteSnapshotRequest(_message.Message):
    __slots__ = ("operation_id", "agent_id", "snapshot_id")
    OPERATION_ID_FIELD_NUMBER: _ClassVar[int]
    AGENT_ID_FIELD_NUMBER: _ClassVar[int]
    SNAPSHOT_ID_FIELD_NUMBER: _ClassVar[int]
    operation_id: str
    agent_id: str
    snapshot_id: str
    def __init__(self, operation_id: _Optional[str] = ..., agent_id: _Optional[str] = ..., snapshot_id: _Optional[str] = ...) -> None: ...

class DeleteSnapshotResponse(_message.Message):
    __slots__ = ("snapshot", "replayed", "operation_id")
    SNAPSHOT_FIELD_NUMBER: _ClassVar[int]
    REPLAYED_FIELD_NUMBER: _ClassVar[int]
    OPERATION_ID_FIELD_NUMBER: _ClassVar[int]
    snapshot: Snapshot
    replayed: bool
    operation_id: str
    def __init__(self, snapshot: _Optional[_Union[Snapshot, _Mapping]] = ..., replayed: _Optional[bool] = ..., operation_id: _Optional[str] = ...) -> None: ...

class RestoreSnapshotRequest(_message.Message):
    __slots__ = ("operation_id", "agent_id", "snapshot_id", "collection", "confirmation_token")
    OPERATION_ID_FIELD_NUMBER: _ClassVar[int]
    AGENT_ID_FIELD_NUMBER: _ClassVar[int]
    SNAPSHOT_ID_FIELD_NUMBER: _ClassVar[int]
    COLLECTION_FIELD_NUMBER: _ClassVar[int]
    CONFIRMATION_TOKEN_FIELD_NUMBER: _ClassVar[int]
    operation_id: str
    agent_id: str
    snapshot_id: str
    collection: str
    confirmation_token: str
    def __init__(self, operation_id: _Optional[str] = ..., agent_id: _Optional[str] = ..., snapshot_id: _Optional[str] = ..., collection: _Optional[str] = ..., confirmation_token: _Optional[str] = ...) -> None: ...

class ReplacedCollection(_message.Message):
    __slots__ = ("revision", "active_count")
    REVISION_FIELD_NUMBER: _ClassVar[int]
    ACTIVE_COUNT_FIELD_NUMBER: _ClassVar[int]
    revision: int
    active_count: int
    def __init__(self, revision: _Optional[int] = ..., active_count: _Optional[int] = ...) -> None: ...

class RestoreSnapshotResponse(_message.Message):
    __slots__ = ("snapshot", "restored", "collection", "replaced", "confirmation_token", "purged_again_count", "replayed", "operation_id", "revision", "unread_uids")
    SNAPSHOT_FIELD_NUMBER: _ClassVar[int]
    RESTORED_FIELD_NUMBER: _ClassVar[int]
    COLLECTION_FIELD_NUMBER: _ClassVar[int]
    REPLACED_FIELD_NUMBER: _ClassVar[int]
    CONFIRMATION_TOKEN_FIELD_NUMBER: _ClassVar[int]
    PURGED_AGAIN_COUNT_FIELD_NUMBER: _ClassVar[int]
    REPLAYED_FIELD_NUMBER: _ClassVar[int]
    OPERATION_ID_FIELD_NUMBER: _ClassVar[int]
    REVISION_FIELD_NUMBER: _ClassVar[int]
    UNREAD_UIDS_FIELD_NUMBER: _ClassVar[int]
    snapshot: Snapshot
    restored: bool
    collection: _types_pb2.Collection
    replaced: ReplacedCollection
    confirmation_token: str
    purged_again_count: int
    replayed: bool
    operation_id: str
    revision: int
    unread_uids: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, snapshot: _Optional[_Union[Snapshot, _Mapping]] = ..., restored: _Optional[bool] = ..., collection: _Optional[_Union[_types_pb2.Collection, _Mapping]] = ..., replaced: _Optional[_Union[ReplacedCollection, _Mapping]] = ..., confirmation_token: _Optional[str] = ..., purged_again_count: _Optional[int] = ..., replayed: _Optional[bool] = ..., operation_id: _Optional[str] = ..., revision: _Optional[int] = ..., unread_uids: _Optional[_Iterable[str]] = ...) -> None: ...

class HoldingSnapshot(_message.Message):
    __slots__ = ("snapshot", "memory_count", "rewritten", "deleted")
    SNAPSHOT_FIELD_NUMBER: _ClassVar[int]
    MEMORY_COUNT_FIELD_NUMBER: _ClassVar[int]
    REWRITTEN_FIELD_NUMBER: _ClassVar[int]
    DELETED_FIELD_NUMBER: _ClassVar[int]
    snapshot: Snapshot
    memory_count: int
    rewritten: bool
    deleted: bool
    def __init__(self, snapshot: _Optional[_Union[Snapshot, _Mapping]] = ..., memory_count: _Optional[int] = ..., rewritten: _Optional[bool] = ..., deleted: _Optional[bool] = ...) -> None: ...

class SnapshotStats(_message.Message):
    __slots__ = ("count", "file_bytes", "newest_time", "scheduled_count", "failed_count", "running")
    COUNT_FIELD_NUMBER: _ClassVar[int]
    FILE_BYTES_FIELD_NUMBER: _ClassVar[int]
    NEWEST_TIME_FIELD_NUMBER: _ClassVar[int]
    SCHEDULED_COUNT_FIELD_NUMBER: _ClassVar[int]
    FAILED_COUNT_FIELD_NUMBER: _ClassVar[int]
    RUNNING_FIELD_NUMBER: _ClassVar[int]
    count: int
    file_bytes: int
    newest_time: _timestamp_pb2.Timestamp
    scheduled_count: int
    failed_count: int
    running: SnapshotJob
    def __init__(self, count: _Optional[int] = ..., file_bytes: _Optional[int] = ..., newest_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., scheduled_count: _Optional[int] = ..., failed_count: _Optional[int] = ..., running: _Optional[_Union[SnapshotJob, _Mapping]] = ...) -> None: ...

class SnapshotJob(_message.Message):
    __slots__ = ("kind", "snapshot_id", "step", "step_share", "begun_time")
    KIND_FIELD_NUMBER: _ClassVar[int]
    SNAPSHOT_ID_FIELD_NUMBER: _ClassVar[int]
    STEP_FIELD_NUMBER: _ClassVar[int]
    STEP_SHARE_FIELD_NUMBER: _ClassVar[int]
    BEGUN_TIME_FIELD_NUMBER: _ClassVar[int]
    kind: str
    snapshot_id: str
    step: str
    step_share: float
    begun_time: _timestamp_pb2.Timestamp
    def __init__(self, kind: _Optional[str] = ..., snapshot_id: _Optional[str] = ..., step: _Optional[str] = ..., step_share: _Optional[float] = ..., begun_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ...) -> None: ...
