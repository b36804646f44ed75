import datetime

from google.protobuf import timestamp_pb2 as _timestamp_pb2
from totonoe.v1 import types_pb2 as _types_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class NeighborsRequest(_message.Message):
    __slots__ = ("collection", "agent_id", "ids", "depth", "limit", "types", "min_confidence", "hop_decay", "include_vectors", "min_revision")
    COLLECTION_FIELD_NUMBER: _ClassVar[int]
    AGENT_ID_FIELD_NUMBER: _ClassVar[int]
    IDS_FIELD_NUMBER: _ClassVar[int]
    DEPTH_FIELD_NUMBER: _ClassVar[int]
    LIMIT_FIELD_NUMBER: _ClassVar[int]
    TYPES_FIELD_NUMBER: _ClassVar[int]
    MIN_CONFIDENCE_FIELD_NUMBER: _ClassVar[int]
    HOP_DECAY_FIELD_NUMBER: _ClassVar[int]
    INCLUDE_VECTORS_FIELD_NUMBER: _ClassVar[int]
    MIN_REVISION_FIELD_NUMBER: _ClassVar[int]
    collection: str
    agent_id: str
    ids: _containers.RepeatedScalarFieldContainer[str]
    depth: int
    limit: int
    types: _containers.RepeatedScalarFieldContainer[_types_pb2.LinkType]
    min_confidence: float
    hop_decay: float
    include_vectors: bool
    min_revision: int
    def __init__(self, collection: _Optional[str] = ..., agent_id: _Optional[str] = ..., ids: _Optional[_Iterable[str]] = ..., depth: _Optional[int] = ..., limit: _Optional[int] = ..., types: _Optional[_Iterable[_Union[_types_pb2.LinkType, str]]] = ..., min_confidence: _Optional[float] = ..., hop_decay: _Optional[float] = ..., include_vectors: _Optional[bool] = ..., min_revision: _Optional[int] = ...) -> None: ...

class Neighbor(_message.Message):
    __slots__ = ("memory", "depth", "activation", "via_id", "via")
    MEMORY_FIELD_NUMBER: _ClassVar[int]
    DEPTH_FIELD_NUMBER: _ClassVar[int]
    ACTIVATION_FIELD_NUMBER: _ClassVar[int]
    VIA_ID_FIELD_NUMBER: _ClassVar[int]
    VIA_FIELD_NUMBER: _ClassVar[int]
    memory: _types_pb2.Memory
    depth: int
    activation: float
    via_id: str
    via: _types_pb2.Link
    def __init__(self, memory: _Optional[_Union[_types_pb2.Memory, _Mapping]] = ..., depth: _Optional[int] = ..., activation: _Optional[float] = ..., via_id: _Optional[str] = ..., via: _Optional[_Union[_types_pb2.Link, _Mapping]] = ...) -> None: ...

class NeighborsResponse(_message.Message):
    __slots__ = ("revision", "neighbors", "truncated")
    REVISION_FIELD_NUMBER: _ClassVar[int]
    NEIGHBORS_FIELD_NUMBER: _ClassVar[int]
    TRUNCATED_FIELD_NUMBER: _ClassVar[int]
    revision: int
    neighbors: _containers.RepeatedCompositeFieldContainer[Neighbor]
    truncated: bool
    def __init__(self, revision: _Optional[int] = ..., neighbors: _Optional[_Iterable[_Union[Neighbor, _Mapping]]] = ..., truncated: _Optional[bool] = ...) -> None: ...

class MergeRequest(_message.Message):
    __slots__ = ("collection", "operation_id", "agent_id", "keep_id", "remove_ids", "content", "vector", "reason", "expected_revisions", "force", "dry_run")
    class ExpectedRevisionsEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: int
        def __init__(self, key: _Optional[str] = ..., value: _Optional[int] = ...) -> None: ...
    COLLECTION_FIELD_NUMBER: _ClassVar[int]
    OPERATION_ID_FIELD_NUMBER: _ClassVar[int]
    AGENT_ID_FIELD_NUMBER: _ClassVar[int]
    KEEP_ID_FIELD_NUMBER: _ClassVar[int]
    REMOVE_IDS_FIELD_NUMBER: _ClassVar[int]
    CONTENT_FIELD_NUMBER: _ClassVar[int]
    VECTOR_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    EXPECTED_REVISIONS_FIELD_NUMBER: _ClassVar[int]
    FORCE_FIELD_NUMBER: _ClassVar[int]
    DRY_RUN_FIELD_NUMBER: _ClassVar[int]
    collection: str
    operation_id: str
    agent_id: str
    keep_id: str
    remove_ids: _containers.RepeatedScalarFieldContainer[str]
    content: str
    vector: bytes
    reason: str
    expected_revisions: _containers.ScalarMap[str, int]
    force: bool
    dry_run: bool
    def __init__(self, collection: _Optional[str] = ..., operation_id: _Optional[str] = ..., agent_id: _Optional[str] = ..., keep_id: _Optional[str] = ..., remove_ids: _Optional[_Iterable[str]] = ..., content: _Optional[str] = ..., vector: _Optional[bytes] = ..., reason: _Optional[str] = ..., expected_revisions: _Optional[_Mapping[str, int]] = ..., force: _Optional[bool] = ..., dry_run: _Optional[bool] = ...) -> None: ...

class LostDetail(_message.Message):
    __slots__ = ("memory_id", "finding", "place", "text")
    MEMORY_ID_FIELD_NUMBER: _ClassVar[int]
    FINDING_FIELD_NUMBER: _ClassVar[int]
    PLACE_FIELD_NUMBER: _ClassVar[int]
    TEXT_FIELD_NUMBER: _ClassVar[int]
    memory_id: str
    finding: _types_pb2.Finding
    place: _types_pb2.Span
    text: str
    def __init__(self, memory_id: _Optional[str] = ..., finding: _Optional[_Union[_types_pb2.Finding, str]] = ..., place: _Optional[_Union[_types_pb2.Span, _Mapping]] = ..., text: _Optional[str] = ...) -> None: ...

class MergeResponse(_message.Message):
    __slots__ = ("revision", "merged", "memory", "sources", "duplicate", "layers", "lost", "moved_link_count", "dropped_link_count", "replayed", "operation_id", "dry_run")
    REVISION_FIELD_NUMBER: _ClassVar[int]
    MERGED_FIELD_NUMBER: _ClassVar[int]
    MEMORY_FIELD_NUMBER: _ClassVar[int]
    SOURCES_FIELD_NUMBER: _ClassVar[int]
    DUPLICATE_FIELD_NUMBER: _ClassVar[int]
    LAYERS_FIELD_NUMBER: _ClassVar[int]
    LOST_FIELD_NUMBER: _ClassVar[int]
    MOVED_LINK_COUNT_FIELD_NUMBER: _ClassVar[int]
    DROPPED_LINK_COUNT_FIELD_NUMBER: _ClassVar[int]
    REPLAYED_FIELD_NUMBER: _ClassVar[int]
    OPERATION_ID_FIELD_NUMBER: _ClassVar[int]
    DRY_RUN_FIELD_NUMBER: _ClassVar[int]
    revision: int
    merged: bool
    memory: _types_pb2.Memory
    sources: _containers.RepeatedCompositeFieldContainer[_types_pb2.Memory]
    duplicate: _types_pb2.Duplicate
    layers: _containers.RepeatedCompositeFieldContainer[_types_pb2.LayerReport]
    lost: _containers.RepeatedCompositeFieldContainer[LostDetail]
    moved_link_count: int
    dropped_link_count: int
    replayed: bool
    operation_id: str
    dry_run: bool
    def __init__(self, revision: _Optional[int] = ..., merged: _Optional[bool] = ..., memory: _Optional[_Union[_types_pb2.Memory, _Mapping]] = ..., sources: _Optional[_Iterable[_Union[_types_pb2.Memory, _Mapping]]] = ..., duplicate: _Optional[_Union[_types_pb2.Duplicate, _Mapping]] = ..., layers: _Optional[_Iterable[_Union[_types_pb2.LayerReport, _Mapping]]] = ..., lost: _Optional[_Iterable[_Union[LostDetail, _Mapping]]] = ..., moved_link_count: _Optional[int] = ..., dropped_link_count: _Optional[int] = ..., replayed: _Optional[bool] = ..., operation_id: _Optional[str] = ..., dry_run: _Optional[bool] = ...) -> None: ...

class Episode(_message.Message):
    __slots__ = ("id", "summary", "memory_ids", "gone_count", "start_time", "end_time", "importance", "agent_id", "private", "created_time", "revision")
    ID_FIELD_NUMBER: _ClassVar[int]
    SUMMARY_FIELD_NUMBER: _ClassVar[int]
    MEMORY_IDS_FIELD_NUMBER: _ClassVar[int]
    GONE_COUNT_FIELD_NUMBER: _ClassVar[int]
    START_TIME_FIELD_NUMBER: _ClassVar[int]
    END_TIME_FIELD_NUMBER: _ClassVar[int]
    IMPORTANCE_FIELD_NUMBER: _ClassVar[int]
    AGENT_ID_FIELD_NUMBER: _ClassVar[int]
    PRIVATE_FIELD_NUMBER: _ClassVar[int]
    CREATED_TIME_FIELD_NUMBER: _ClassVar[int]
    REVISION_FIELD_NUMBER: _ClassVar[int]
    id: str
    summary: str
    memory_ids: _containers.RepeatedScalarFieldContainer[str]
    gone_count: int
    start_time: _timestamp_pb2.Timestamp
    end_time: _timestamp_pb2.Timestamp
    importance: int
    agent_id: str
    private: bool
    created_time: _timestamp_pb2.Timestamp
    revision: int
    def __init__(self, id: _Optional[str] = ..., summary: _Optional[str] = ..., memory_ids: _Optional[_Iterable[str]] = ..., gone_count: _Optional[int] = ..., start_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., end_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., importance: _Optional[int] = ..., agent_id: _Optional[str] = ..., private: _Optional[bool] = ..., created_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., revision: _Optional[int] = ...) -> None: ...

class EpisodeDraft(_message.Message):
    __slots__ = ("summary", "memory_ids", "start_time", "end_time", "importance", "private")
    SUMMARY_FIELD_NUMBER: _ClassVar[int]
    MEMORY_IDS_FIELD_NUMBER: _ClassVar[int]
    START_TIME_FIELD_NUMBER: _ClassVar[int]
    END_TIME_FIELD_NUMBER: _ClassVar[int]
    IMPORTANCE_FIELD_NUMBER: _ClassVar[int]
    PRIVATE_FIELD_NUMBER: _ClassVar[int]
    summary: str
    memory_ids: _containers.RepeatedScalarFieldContainer[str]
    start_time: _timestamp_pb2.Timestamp
    end_time: _timestamp_pb2.Timestamp
    importance: int
    private: bool
    def __init__(self, summary: _Optional[str] = ..., memory_ids: _Optional[_Iterable[str]] = ..., start_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., end_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., importance: _Optional[int] = ..., private: _Optional[bool] = ...) -> None: ...

class CreateEpisodeRequest(_message.Message):
    __slots__ = ("collection", "operation_id", "agent_id", "episode")
    COLLECTION_FIELD_NUMBER: _ClassVar[int]
    OPERATION_ID_FIELD_NUMBER: _ClassVar[int]
    AGENT_ID_FIELD_NUMBER: _ClassVar[int]
    EPISODE_FIELD_NUMBER: _ClassVar[int]
    collection: str
    operation_id: str
    agent_id: str
    episode: EpisodeDraft
    def __init__(self, collection: _Optional[str] = ..., operation_id: _Optional[str] = ..., agent_id: _Optional[str] = ..., episode: _Optional[_Union[EpisodeDraft, _Mapping]] = ...) -> None: ...

class CreateEpisodeResponse(_message.Message):
    __slots__ = ("revision", "episode", "replayed", "operation_id")
    REVISION_FIELD_NUMBER: _ClassVar[int]
    EPISODE_FIELD_NUMBER: _ClassVar[int]
    REPLAYED_FIELD_NUMBER: _ClassVar[int]
    OPERATION_ID_FIELD_NUMBER: _ClassVar[int]
    revision: int
    episode: Episode
    replayed: bool
    operation_id: str
    def __init__(self, revision: _Optional[int] = ..., episode: _Optional[_Union[Episode, _Mapping]] = ..., replayed: _Optional[bool] = ..., operation_id: _Optional[str] = ...) -> None: ...

class GetEpisodeRequest(_message.Message):
    __slots__ = ("collection", "agent_id", "id", "include_memories", "min_revision")
    COLLECTION_FIELD_NUMBER: _ClassVar[int]
    AGENT_ID_FIELD_NUMBER: _ClassVar[int]
    ID_FIELD_NUMBER: _ClassVar[int]
    INCLUDE_MEMORIES_FIELD_NUMBER: _ClassVar[int]
    MIN_REVISION_FIELD_NUMBER: _ClassVar[int]
    collection: str
    agent_id: str
    id: str
    include_memories: bool
    min_revision: int
    def __init__(self, collection: _Optional[str] = ..., agent_id: _Optional[str] = ..., id: _Optional[str] = ..., include_memories: _Optional[bool] = ..., min_revision: _Optional[int] = ...) -> None: ...

class GetEpisodeResponse(_message.Message):
    __slots__ = ("revision", "episode", "memories", "note")
    REVISION_FIELD_NUMBER: _ClassVar[int]
    EPISODE_FIELD_NUMBER: _ClassVar[int]
    MEMORIES_FIELD_NUMBER: _ClassVar[int]
    NOTE_FIELD_NUMBER: _ClassVar[int]
    revision: int
    episode: Episode
    memories: _containers.RepeatedCompositeFieldContainer[_types_pb2.Memory]
    note: str
    def __init__(self, revision: _Optional[int] = ..., episode: _Optional[_Union[Episode, _Mapping]] = ..., memories: _Optional[_Iterable[_Union[_types_pb2.Memory, _Mapping]]] = ..., note: _Optional[str] = ...) -> None: ...

class ListEpisodesRequest(_message.Message):
    __slots__ = ("collection", "agent_id", "time", "memory_id", "page_size", "page_token", "min_revision")
    COLLECTION_FIELD_NUMBER: _ClassVar[int]
    AGENT_ID_FIELD_NUMBER: _ClassVar[int]
    TIME_FIELD_NUMBER: _ClassVar[int]
    MEMORY_ID_FIELD_NUMBER: _ClassVar[int]
    PAGE_SIZE_FIELD_NUMBER: _ClassVar[int]
    PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    MIN_REVISION_FIELD_NUMBER: _ClassVar[int]
    collection: str
    agent_id: str
    time: _types_pb2.TimeRange
    memory_id: str
    page_size: int
    page_token: str
    min_revision: int
    def __init__(self, collection: _Optional[str] = ..., agent_id: _Optional[str] = ..., time: _Optional[_Union[_types_pb2.TimeRange, _Mapping]] = ..., memory_id: _Optional[str] = ..., page_size: _Optional[int] = ..., page_token: _Optional[str] = ..., min_revision: _Optional[int] = ...) -> None: ...

class ListEpisodesResponse(_message.Message):
    __slots__ = ("revision", "episodes", "next_page_token")
    REVISION_FIELD_NUMBER: _ClassVar[int]
    EPISODES_FIELD_NUMBER: _ClassVar[int]
    NEXT_PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    revision: int
    episodes: _containers.RepeatedCompositeFieldContainer[Episode]
    next_page_token: str
    def __init__(self, revision: _Optional[int] = ..., episodes: _Optional[_Iterable[_Union[Episode, _Mapping]]] = ..., next_page_token: _Optional[str] = ...) -> None: ...

class DeleteEpisodeRequest(_message.Message):
    __slots__ = ("collection", "operation_id", "agent_id", "id", "reason")
    COLLECTION_FIELD_NUMBER: _ClassVar[int]
    OPERATION_ID_FIELD_NUMBER: _ClassVar[int]
    AGENT_ID_FIELD_NUMBER: _ClassVar[int]
    ID_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    collection: str
    operation_id: str
    agent_id: str
    id: str
    reason: str
    def __init__(self, collection: _Optional[str] = ..., operation_id: _Optional[str] = ..., agent_id: _Optional[str] = ..., id: _Optional[str] = ..., reason: _Optional[str] = ...) -> None: ...

class DeleteEpisodeResponse(_message.Message):
    __slots__ = ("revision", "episode", "replayed", "operation_id")
    REVISION_FIELD_NUMBER: _ClassVar[int]
    EPISODE_FIELD_NUMBER: _ClassVar[int]
    REPLAYED_FIELD_NUMBER: _ClassVar[int]
    OPERATION_ID_FIELD_NUMBER: _ClassVar[int]
    revision: int
    episode: Episode
    replayed: bool
    operation_id: str
    def __init__(self, revision: _Optional[int] = ..., episode: _Optional[_Union[Episode, _Mapping]] = ..., replayed: _Optional[bool] = ..., operation_id: _Optional[str] = ...) -> None: ...
