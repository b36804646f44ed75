from totonoe.v1 import types_pb2 as _types_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class KeepReason(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    KEEP_REASON_UNSPECIFIED: _ClassVar[KeepReason]
    KEEP_REASON_MORE_DETAIL: _ClassVar[KeepReason]
    KEEP_REASON_CONFIDENCE: _ClassVar[KeepReason]
    KEEP_REASON_ACCESS_COUNT: _ClassVar[KeepReason]
    KEEP_REASON_NEWER: _ClassVar[KeepReason]
    KEEP_REASON_ID: _ClassVar[KeepReason]
    KEEP_REASON_SOURCE: _ClassVar[KeepReason]
KEEP_REASON_UNSPECIFIED: KeepReason
KEEP_REASON_MORE_DETAIL: KeepReason
KEEP_REASON_CONFIDENCE: KeepReason
KEEP_REASON_ACCESS_COUNT: KeepReason
KEEP_REASON_NEWER: KeepReason
KEEP_REASON_ID: KeepReason
KEEP_REASON_SOURCE: KeepReason

class ConsolidateRequest(_message.Message):
    __slots__ = ("collection", "operation_id", "agent_id", "window_hours", "distance_below", "jaccard_above", "max_merge_candidates", "since_revision", "max_replay_events", "resume_token")
    COLLECTION_FIELD_NUMBER: _ClassVar[int]
    OPERATION_ID_FIELD_NUMBER: _ClassVar[int]
    AGENT_ID_FIELD_NUMBER: _ClassVar[int]
    WINDOW_HOURS_FIELD_NUMBER: _ClassVar[int]
    DISTANCE_BELOW_FIELD_NUMBER: _ClassVar[int]
    JACCARD_ABOVE_FIELD_NUMBER: _ClassVar[int]
    MAX_MERGE_CANDIDATES_FIELD_NUMBER: _ClassVar[int]
    SINCE_REVISION_FIELD_NUMBER: _ClassVar[int]
    MAX_REPLAY_EVENTS_FIELD_NUMBER: _ClassVar[int]
    RESUME_TOKEN_FIELD_NUMBER: _ClassVar[int]
    collection: str
    operation_id: str
    agent_id: str
    window_hours: float
    distance_below: float
    jaccard_above: float
    max_merge_candidates: int
    since_revision: int
    max_replay_events: int
    resume_token: str
    def __init__(self, collection: _Optional[str] = ..., operation_id: _Optional[str] = ..., agent_id: _Optional[str] = ..., window_hours: _Optional[float] = ..., distance_below: _Optional[float] = ..., jaccard_above: _Optional[float] = ..., max_merge_candidates: _Optional[int] = ..., since_revision: _Optional[int] = ..., max_replay_events: _Optional[int] = ..., resume_token: _Optional[str] = ...) -> None: ...

class ConsolidateProgress(_message.Message):
    __slots__ = ("scanned_count", "total_count", "per_second", "left_s")
    SCANNED_COUNT_FIELD_NUMBER: _ClassVar[int]
    TOTAL_COUNT_FIELD_NUMBER: _ClassVar[int]
    PER_SECOND_FIELD_NUMBER: _ClassVar[int]
    LEFT_S_FIELD_NUMBER: _ClassVar[int]
    scanned_count: int
    total_count: int
    per_second: float
    left_s: float
    def __init__(self, scanned_count: _Optional[int] = ..., total_count: _Optional[int] = ..., per_second: _Optional[float] = ..., left_s: _Optional[float] = ...) -> None: ...

class MergeCandidate(_message.Message):
    __slots__ = ("memory_a_id", "memory_b_id", "revision_a", "revision_b", "distance", "jaccard_similarity", "judgement", "keep_id", "keep_because", "snippet_a", "snippet_b")
    MEMORY_A_ID_FIELD_NUMBER: _ClassVar[int]
    MEMORY_B_ID_FIELD_NUMBER: _ClassVar[int]
    REVISION_A_FIELD_NUMBER: _ClassVar[int]
    REVISION_B_FIELD_NUMBER: _ClassVar[int]
    DISTANCE_FIELD_NUMBER: _ClassVar[int]
    JACCARD_SIMILARITY_FIELD_NUMBER: _ClassVar[int]
    JUDGEMENT_FIELD_NUMBER: _ClassVar[int]
    KEEP_ID_FIELD_NUMBER: _ClassVar[int]
    KEEP_BECAUSE_FIELD_NUMBER: _ClassVar[int]
    SNIPPET_A_FIELD_NUMBER: _ClassVar[int]
    SNIPPET_B_FIELD_NUMBER: _ClassVar[int]
    memory_a_id: str
    memory_b_id: str
    revision_a: int
    revision_b: int
    distance: float
    jaccard_similarity: float
    judgement: _types_pb2.Judgement
    keep_id: str
    keep_because: KeepReason
    snippet_a: str
    snippet_b: str
    def __init__(self, memory_a_id: _Optional[str] = ..., memory_b_id: _Optional[str] = ..., revision_a: _Optional[int] = ..., revision_b: _Optional[int] = ..., distance: _Optional[float] = ..., jaccard_similarity: _Optional[float] = ..., judgement: _Optional[_Union[_types_pb2.Judgement, _Mapping]] = ..., keep_id: _Optional[str] = ..., keep_because: _Optional[_Union[KeepReason, str]] = ..., snippet_a: _Optional[str] = ..., snippet_b: _Optional[str] = ...) -> None: ...

class MergeCluster(_message.Message):
    __slots__ = ("memory_ids",)
    MEMORY_IDS_FIELD_NUMBER: _ClassVar[int]
    memory_ids: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, memory_ids: _Optional[_Iterable[str]] = ...) -> None: ...

class ConsolidateDone(_message.Message):
    __slots__ = ("revision", "replay_events", "coactivation_updates", "link_updates", "refreshed_memories", "merge_candidates", "memory_count", "pair_count", "operation_id", "operation_revision", "replayed", "scored_count", "likely_link_count", "unscored_count", "advice", "scaffold")
    REVISION_FIELD_NUMBER: _ClassVar[int]
    REPLAY_EVENTS_FIELD_NUMBER: _ClassVar[int]
    COACTIVATION_UPDATES_FIELD_NUMBER: _ClassVar[int]
    LINK_UPDATES_FIELD_NUMBER: _ClassVar[int]
    REFRESHED_MEMORIES_FIELD_NUMBER: _ClassVar[int]
    MERGE_CANDIDATES_FIELD_NUMBER: _ClassVar[int]
    MEMORY_COUNT_FIELD_NUMBER: _ClassVar[int]
    PAIR_COUNT_FIELD_NUMBER: _ClassVar[int]
    OPERATION_ID_FIELD_NUMBER: _ClassVar[int]
    OPERATION_REVISION_FIELD_NUMBER: _ClassVar[int]
    REPLAYED_FIELD_NUMBER: _ClassVar[int]
    SCORED_COUNT_FIELD_NUMBER: _ClassVar[int]
    LIKELY_LINK_COUNT_FIELD_NUMBER: _ClassVar[int]
    UNSCORED_COUNT_FIELD_NUMBER: _ClassVar[int]
    ADVICE_FIELD_NUMBER: _ClassVar[int]
    SCAFFOLD_FIELD_NUMBER: _ClassVar[int]
    revision: int
    replay_events: int
    coactivation_updates: int
    link_updates: int
    refreshed_memories: int
    merge_candidates: _containers.RepeatedCompositeFieldContainer[MergeCandidate]
    memory_count: int
    pair_count: int
    operation_id: str
    operation_revision: int
    replayed: bool
    scored_count: int
    likely_link_count: int
    unscored_count: int
    advice: str
    scaffold: str
    def __init__(self, revision: _Optional[int] = ..., replay_events: _Optional[int] = ..., coactivation_updates: _Optional[int] = ..., link_updates: _Optional[int] = ..., refreshed_memories: _Optional[int] = ..., merge_candidates: _Optional[_Iterable[_Union[MergeCandidate, _Mapping]]] = ..., memory_count: _Optional[int] = ..., pair_count: _Optional[int] = ..., operation_id: _Optional[str] = ..., operation_revision: _Optional[int] = ..., replayed: _Optional[bool] = ..., scored_count: _Optional[int] = ..., likely_link_count: _Optional[int] = ..., unscored_count: _Optional[int] = ..., advice: _Optional[str] = ..., scaffold: _Optional[str] = ...) -> None: ...

class ConsolidateResponse(_message.Message):
    __slots__ = ("resume_token", "progress", "candidate", "cluster", "done")
    RESUME_TOKEN_FIELD_NUMBER: _ClassVar[int]
    PROGRESS_FIELD_NUMBER: _ClassVar[int]
    CANDIDATE_FIELD_NUMBER: _ClassVar[int]
    CLUSTER_FIELD_NUMBER: _ClassVar[int]
    DONE_FIELD_NUMBER: _ClassVar[int]
    resume_token: str
    progress: ConsolidateProgress
    candidate: MergeCandidate
    cluster: MergeCluster
    done: ConsolidateDone
    def __init__(self, resume_token: _Optional[str] = ..., progress: _Optional[_Union[ConsolidateProgress, _Mapping]] = ..., candidate: _Optional[_Union[MergeCandidate, _Mapping]] = ..., cluster: _Optional[_Union[MergeCluster, _Mapping]] = ..., done: _Optional[_Union[ConsolidateDone, _Mapping]] = ...) -> None: ...
