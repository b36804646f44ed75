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

class UndoConflictKind(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    UNDO_CONFLICT_KIND_UNSPECIFIED: _ClassVar[UndoConflictKind]
    UNDO_CONFLICT_KIND_CHANGED: _ClassVar[UndoConflictKind]
    UNDO_CONFLICT_KIND_PURGED: _ClassVar[UndoConflictKind]
    UNDO_CONFLICT_KIND_LINK_END_GONE: _ClassVar[UndoConflictKind]
    UNDO_CONFLICT_KIND_EXTERNAL_ID_TAKEN: _ClassVar[UndoConflictKind]
    UNDO_CONFLICT_KIND_KEY_TAKEN: _ClassVar[UndoConflictKind]
    UNDO_CONFLICT_KIND_DUPLICATE: _ClassVar[UndoConflictKind]
    UNDO_CONFLICT_KIND_UNDONE_ALREADY: _ClassVar[UndoConflictKind]
    UNDO_CONFLICT_KIND_CHANGED_FOR_GOOD: _ClassVar[UndoConflictKind]
    UNDO_CONFLICT_KIND_NOTHING_LEFT: _ClassVar[UndoConflictKind]
    UNDO_CONFLICT_KIND_LAST_COPY: _ClassVar[UndoConflictKind]
    UNDO_CONFLICT_KIND_SUCCESSOR_GONE: _ClassVar[UndoConflictKind]

class ChangeType(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    CHANGE_TYPE_UNSPECIFIED: _ClassVar[ChangeType]
    CHANGE_TYPE_CREATED: _ClassVar[ChangeType]
    CHANGE_TYPE_UPDATED: _ClassVar[ChangeType]
    CHANGE_TYPE_SUPERSEDED: _ClassVar[ChangeType]
    CHANGE_TYPE_CLOSED: _ClassVar[ChangeType]
    CHANGE_TYPE_FORGOTTEN: _ClassVar[ChangeType]
    CHANGE_TYPE_RESTORED: _ClassVar[ChangeType]
    CHANGE_TYPE_PURGED: _ClassVar[ChangeType]
UNDO_CONFLICT_KIND_UNSPECIFIED: UndoConflictKind
UNDO_CONFLICT_KIND_CHANGED: UndoConflictKind
UNDO_CONFLICT_KIND_PURGED: UndoConflictKind
UNDO_CONFLICT_KIND_LINK_END_GONE: UndoConflictKind
UNDO_CONFLICT_KIND_EXTERNAL_ID_TAKEN: UndoConflictKind
UNDO_CONFLICT_KIND_KEY_TAKEN: UndoConflictKind
UNDO_CONFLICT_KIND_DUPLICATE: UndoConflictKind
UNDO_CONFLICT_KIND_UNDONE_ALREADY: UndoConflictKind
UNDO_CONFLICT_KIND_CHANGED_FOR_GOOD: UndoConflictKind
UNDO_CONFLICT_KIND_NOTHING_LEFT: UndoConflictKind
UNDO_CONFLICT_KIND_LAST_COPY: UndoConflictKind
UNDO_CONFLICT_KIND_SUCCESSOR_GONE: UndoConflictKind
CHANGE_TYPE_UNSPECIFIED: ChangeType
CHANGE_TYPE_CREATED: ChangeType
CHANGE_TYPE_UPDATED: ChangeType
CHANGE_TYPE_SUPERSEDED: ChangeType
CHANGE_TYPE_CLOSED: ChangeType
CHANGE_TYPE_FORGOTTEN: ChangeType
CHANGE_TYPE_RESTORED: ChangeType
CHANGE_TYPE_PURGED: ChangeType

class Operation(_message.Message):
    __slots__ = ("revision", "operation_id", "agent_id", "kind", "reason", "time", "memory_ids", "episode_ids", "link_count", "settings", "undoes", "undone_by")
    REVISION_FIELD_NUMBER: _ClassVar[int]
    OPERATION_ID_FIELD_NUMBER: _ClassVar[int]
    AGENT_ID_FIELD_NUMBER: _ClassVar[int]
    KIND_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    TIME_FIELD_NUMBER: _ClassVar[int]
    MEMORY_IDS_FIELD_NUMBER: _ClassVar[int]
    EPISODE_IDS_FIELD_NUMBER: _ClassVar[int]
    LINK_COUNT_FIELD_NUMBER: _ClassVar[int]
    SETTINGS_FIELD_NUMBER: _ClassVar[int]
    UNDOES_FIELD_NUMBER: _ClassVar[int]
    UNDONE_BY_FIELD_NUMBER: _ClassVar[int]
    revision: int
    operation_id: str
    agent_id: str
    kind: str
    reason: str
    time: _timestamp_pb2.Timestamp
    memory_ids: _containers.RepeatedScalarFieldContainer[str]
    episode_ids: _containers.RepeatedScalarFieldContainer[str]
    link_count: int
    settings: bool
    undoes: int
    undone_by: int
    def __init__(self, revision: _Optional[int] = ..., operation_id: _Optional[str] = ..., agent_id: _Optional[str] = ..., kind: _Optional[str] = ..., reason: _Optional[str] = ..., time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., memory_ids: _Optional[_Iterable[str]] = ..., episode_ids: _Optional[_Iterable[str]] = ..., link_count: _Optional[int] = ..., settings: _Optional[bool] = ..., undoes: _Optional[int] = ..., undone_by: _Optional[int] = ...) -> None: ...

class UndoRequest(_message.Message):
    __slots__ = ("collection", "operation_id", "agent_id", "target_revision", "target_operation_id", "reason", "force", "partial", "dry_run", "own_only")
    COLLECTION_FIELD_NUMBER: _ClassVar[int]
    OPERATION_ID_FIELD_NUMBER: _ClassVar[int]
    AGENT_ID_FIELD_NUMBER: _ClassVar[int]
    TARGET_REVISION_FIELD_NUMBER: _ClassVar[int]
    TARGET_OPERATION_ID_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    FORCE_FIELD_NUMBER: _ClassVar[int]
    PARTIAL_FIELD_NUMBER: _ClassVar[int]
    DRY_RUN_FIELD_NUMBER: _ClassVar[int]
    OWN_ONLY_FIELD_NUMBER: _ClassVar[int]
    collection: str
    operation_id: str
    agent_id: str
    target_revision: int
    target_operation_id: str
    reason: str
    force: bool
    partial: bool
    dry_run: bool
    own_only: bool
    def __init__(self, collection: _Optional[str] = ..., operation_id: _Optional[str] = ..., agent_id: _Optional[str] = ..., target_revision: _Optional[int] = ..., target_operation_id: _Optional[str] = ..., reason: _Optional[str] = ..., force: _Optional[bool] = ..., partial: _Optional[bool] = ..., dry_run: _Optional[bool] = ..., own_only: _Optional[bool] = ...) -> None: ...

class UndoConflict(_message.Message):
    __slots__ = ("kind", "memory_id", "episode_id", "revision", "duplicate", "settings", "target_id")
    KIND_FIELD_NUMBER: _ClassVar[int]
    MEMORY_ID_FIELD_NUMBER: _ClassVar[int]
    EPISODE_ID_FIELD_NUMBER: _ClassVar[int]
    REVISION_FIELD_NUMBER: _ClassVar[int]
    DUPLICATE_FIELD_NUMBER: _ClassVar[int]
    SETTINGS_FIELD_NUMBER: _ClassVar[int]
    TARGET_ID_FIELD_NUMBER: _ClassVar[int]
    kind: UndoConflictKind
    memory_id: str
    episode_id: str
    revision: int
    duplicate: _types_pb2.Duplicate
    settings: bool
    target_id: str
    def __init__(self, kind: _Optional[_Union[UndoConflictKind, str]] = ..., memory_id: _Optional[str] = ..., episode_id: _Optional[str] = ..., revision: _Optional[int] = ..., duplicate: _Optional[_Union[_types_pb2.Duplicate, _Mapping]] = ..., settings: _Optional[bool] = ..., target_id: _Optional[str] = ...) -> None: ...

class UndoResponse(_message.Message):
    __slots__ = ("revision", "undone", "operation", "memories", "episode_ids", "link_count", "collection", "conflicts", "dry_run", "replayed", "operation_id")
    REVISION_FIELD_NUMBER: _ClassVar[int]
    UNDONE_FIELD_NUMBER: _ClassVar[int]
    OPERATION_FIELD_NUMBER: _ClassVar[int]
    MEMORIES_FIELD_NUMBER: _ClassVar[int]
    EPISODE_IDS_FIELD_NUMBER: _ClassVar[int]
    LINK_COUNT_FIELD_NUMBER: _ClassVar[int]
    COLLECTION_FIELD_NUMBER: _ClassVar[int]
    CONFLICTS_FIELD_NUMBER: _ClassVar[int]
    DRY_RUN_FIELD_NUMBER: _ClassVar[int]
    REPLAYED_FIELD_NUMBER: _ClassVar[int]
    OPERATION_ID_FIELD_NUMBER: _ClassVar[int]
    revision: int
    undone: bool
    operation: Operation
    memories: _containers.RepeatedCompositeFieldContainer[_types_pb2.Memory]
    episode_ids: _containers.RepeatedScalarFieldContainer[str]
    link_count: int
    collection: _types_pb2.Collection
    conflicts: _containers.RepeatedCompositeFieldContainer[UndoConflict]
    dry_run: bool
    replayed: bool
    operation_id: str
    def __init__(self, revision: _Optional[int] = ..., undone: _Optional[bool] = ..., operation: _Optional[_Union[Operation, _Mapping]] = ..., memories: _Optional[_Iterable[_Union[_types_pb2.Memory, _Mapping]]] = ..., episode_ids: _Optional[_Iterable[str]] = ..., link_count: _Optional[int] = ..., collection: _Optional[_Union[_types_pb2.Collection, _Mapping]] = ..., conflicts: _Optional[_Iterable[_Union[UndoConflict, _Mapping]]] = ..., dry_run: _Optional[bool] = ..., replayed: _Optional[bool] = ..., operation_id: _Optional[str] = ...) -> None: ...

class HistoryRequest(_message.Message):
    __slots__ = ("collection", "agent_id", "memory_id", "page_size", "page_token", "min_revision")
    COLLECTION_FIELD_NUMBER: _ClassVar[int]
    AGENT_ID_FIELD_NUMBER: _ClassVar[int]
    MEMORY_ID_FIELD_NUMBER: _ClassVar[int]
    PAGE_SIZE_FIELD_NUMBER: _ClassVar[int]
    PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    MIN_REVISION_FIELD_NUMBER: _ClassVar[int]
    collection: str
    agent_id: str
    memory_id: str
    page_size: int
    page_token: str
    min_revision: int
    def __init__(self, collection: _Optional[str] = ..., agent_id: _Optional[str] = ..., memory_id: _Optional[str] = ..., page_size: _Optional[int] = ..., page_token: _Optional[str] = ..., min_revision: _Optional[int] = ...) -> None: ...

class Version(_message.Message):
    __slots__ = ("operation", "memory", "changed", "linked", "unlinked")
    OPERATION_FIELD_NUMBER: _ClassVar[int]
    MEMORY_FIELD_NUMBER: _ClassVar[int]
    CHANGED_FIELD_NUMBER: _ClassVar[int]
    LINKED_FIELD_NUMBER: _ClassVar[int]
    UNLINKED_FIELD_NUMBER: _ClassVar[int]
    operation: Operation
    memory: _types_pb2.Memory
    changed: _containers.RepeatedScalarFieldContainer[str]
    linked: _containers.RepeatedCompositeFieldContainer[_types_pb2.Link]
    unlinked: _containers.RepeatedCompositeFieldContainer[_types_pb2.Link]
    def __init__(self, operation: _Optional[_Union[Operation, _Mapping]] = ..., memory: _Optional[_Union[_types_pb2.Memory, _Mapping]] = ..., changed: _Optional[_Iterable[str]] = ..., linked: _Optional[_Iterable[_Union[_types_pb2.Link, _Mapping]]] = ..., unlinked: _Optional[_Iterable[_Union[_types_pb2.Link, _Mapping]]] = ...) -> None: ...

class HistoryResponse(_message.Message):
    __slots__ = ("revision", "versions", "next_page_token", "recallers", "other_recall_count")
    REVISION_FIELD_NUMBER: _ClassVar[int]
    VERSIONS_FIELD_NUMBER: _ClassVar[int]
    NEXT_PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    RECALLERS_FIELD_NUMBER: _ClassVar[int]
    OTHER_RECALL_COUNT_FIELD_NUMBER: _ClassVar[int]
    revision: int
    versions: _containers.RepeatedCompositeFieldContainer[Version]
    next_page_token: str
    recallers: _containers.RepeatedCompositeFieldContainer[Recaller]
    other_recall_count: int
    def __init__(self, revision: _Optional[int] = ..., versions: _Optional[_Iterable[_Union[Version, _Mapping]]] = ..., next_page_token: _Optional[str] = ..., recallers: _Optional[_Iterable[_Union[Recaller, _Mapping]]] = ..., other_recall_count: _Optional[int] = ...) -> None: ...

class Recaller(_message.Message):
    __slots__ = ("agent_id", "count", "last_time")
    AGENT_ID_FIELD_NUMBER: _ClassVar[int]
    COUNT_FIELD_NUMBER: _ClassVar[int]
    LAST_TIME_FIELD_NUMBER: _ClassVar[int]
    agent_id: str
    count: int
    last_time: _timestamp_pb2.Timestamp
    def __init__(self, agent_id: _Optional[str] = ..., count: _Optional[int] = ..., last_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ...) -> None: ...

class ListOperationsRequest(_message.Message):
    __slots__ = ("collection", "agent_id", "agent_ids", "kinds", "time", "memory_id", "reason_contains", "page_size", "page_token", "min_revision")
    COLLECTION_FIELD_NUMBER: _ClassVar[int]
    AGENT_ID_FIELD_NUMBER: _ClassVar[int]
    AGENT_IDS_FIELD_NUMBER: _ClassVar[int]
    KINDS_FIELD_NUMBER: _ClassVar[int]
    TIME_FIELD_NUMBER: _ClassVar[int]
    MEMORY_ID_FIELD_NUMBER: _ClassVar[int]
    REASON_CONTAINS_FIELD_NUMBER: _ClassVar[int]
    PAGE_SIZE_FIELD_NUMBER: _ClassVar[int]
    PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    MIN_REVISION_FIELD_NUMBER: _ClassVar[int]
    collection: str
    agent_id: str
    agent_ids: _containers.RepeatedScalarFieldContainer[str]
    kinds: _containers.RepeatedScalarFieldContainer[str]
    time: _types_pb2.TimeRange
    memory_id: str
    reason_contains: str
    page_size: int
    page_token: str
    min_revision: int
    def __init__(self, collection: _Optional[str] = ..., agent_id: _Optional[str] = ..., agent_ids: _Optional[_Iterable[str]] = ..., kinds: _Optional[_Iterable[str]] = ..., time: _Optional[_Union[_types_pb2.TimeRange, _Mapping]] = ..., memory_id: _Optional[str] = ..., reason_contains: _Optional[str] = ..., page_size: _Optional[int] = ..., page_token: _Optional[str] = ..., min_revision: _Optional[int] = ...) -> None: ...

class ListOperationsResponse(_message.Message):
    __slots__ = ("revision", "operations", "next_page_token")
    REVISION_FIELD_NUMBER: _ClassVar[int]
    OPERATIONS_FIELD_NUMBER: _ClassVar[int]
    NEXT_PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    revision: int
    operations: _containers.RepeatedCompositeFieldContainer[Operation]
    next_page_token: str
    def __init__(self, revision: _Optional[int] = ..., operations: _Optional[_Iterable[_Union[Operation, _Mapping]]] = ..., next_page_token: _Optional[str] = ...) -> None: ...

class WatchRequest(_message.Message):
    __slots__ = ("collection", "agent_id", "after_revision", "filter", "heartbeat_s")
    COLLECTION_FIELD_NUMBER: _ClassVar[int]
    AGENT_ID_FIELD_NUMBER: _ClassVar[int]
    AFTER_REVISION_FIELD_NUMBER: _ClassVar[int]
    FILTER_FIELD_NUMBER: _ClassVar[int]
    HEARTBEAT_S_FIELD_NUMBER: _ClassVar[int]
    collection: str
    agent_id: str
    after_revision: int
    filter: _types_pb2.Filter
    heartbeat_s: float
    def __init__(self, collection: _Optional[str] = ..., agent_id: _Optional[str] = ..., after_revision: _Optional[int] = ..., filter: _Optional[_Union[_types_pb2.Filter, _Mapping]] = ..., heartbeat_s: _Optional[float] = ...) -> None: ...

class MemoryChange(_message.Message):
    __slots__ = ("type", "memory_id", "memory")
    TYPE_FIELD_NUMBER: _ClassVar[int]
    MEMORY_ID_FIELD_NUMBER: _ClassVar[int]
    MEMORY_FIELD_NUMBER: _ClassVar[int]
    type: ChangeType
    memory_id: str
    memory: _types_pb2.Memory
    def __init__(self, type: _Optional[_Union[ChangeType, str]] = ..., memory_id: _Optional[str] = ..., memory: _Optional[_Union[_types_pb2.Memory, _Mapping]] = ...) -> None: ...

class LinkChange(_message.Message):
    __slots__ = ("source_id", "link", "removed")
    SOURCE_ID_FIELD_NUMBER: _ClassVar[int]
    LINK_FIELD_NUMBER: _ClassVar[int]
    REMOVED_FIELD_NUMBER: _ClassVar[int]
    source_id: str
    link: _types_pb2.Link
    removed: bool
    def __init__(self, source_id: _Optional[str] = ..., link: _Optional[_Union[_types_pb2.Link, _Mapping]] = ..., removed: _Optional[bool] = ...) -> None: ...

class Change(_message.Message):
    __slots__ = ("operation", "memories", "links")
    OPERATION_FIELD_NUMBER: _ClassVar[int]
    MEMORIES_FIELD_NUMBER: _ClassVar[int]
    LINKS_FIELD_NUMBER: _ClassVar[int]
    operation: Operation
    memories: _containers.RepeatedCompositeFieldContainer[MemoryChange]
    links: _containers.RepeatedCompositeFieldContainer[LinkChange]
    def __init__(self, operation: _Optional[_Union[Operation, _Mapping]] = ..., memories: _Optional[_Iterable[_Union[MemoryChange, _Mapping]]] = ..., links: _Optional[_Iterable[_Union[LinkChange, _Mapping]]] = ...) -> None: ...

class WatchResponse(_message.Message):
    __slots__ = ("revision", "change", "heartbeat")
    REVISION_FIELD_NUMBER: _ClassVar[int]
    CHANGE_FIELD_NUMBER: _ClassVar[int]
    HEARTBEAT_FIELD_NUMBER: _ClassVar[int]
    revision: int
    change: Change
    heartbeat: Heartbeat
    def __init__(self, revision: _Optional[int] = ..., change: _Optional[_Union[Change, _Mapping]] = ..., heartbeat: _Optional[_Union[Heartbeat, _Mapping]] = ...) -> None: ...

class Heartbeat(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...
