import datetime

from google.protobuf import timestamp_pb2 as _timestamp_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class GroupBy(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    GROUP_BY_UNSPECIFIED: _ClassVar[GroupBy]
    GROUP_BY_SESSION: _ClassVar[GroupBy]
    GROUP_BY_AGENT: _ClassVar[GroupBy]

class Measure(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    MEASURE_UNSPECIFIED: _ClassVar[Measure]
    MEASURE_JACCARD: _ClassVar[Measure]
    MEASURE_COSINE: _ClassVar[Measure]
    MEASURE_VERDICT: _ClassVar[Measure]
GROUP_BY_UNSPECIFIED: GroupBy
GROUP_BY_SESSION: GroupBy
GROUP_BY_AGENT: GroupBy
MEASURE_UNSPECIFIED: Measure
MEASURE_JACCARD: Measure
MEASURE_COSINE: Measure
MEASURE_VERDICT: Measure

class EndSessionRequest(_message.Message):
    __slots__ = ("collection", "operation_id", "agent_id", "session_id", "by", "measure", "threshold", "dry_run", "reason")
    COLLECTION_FIELD_NUMBER: _ClassVar[int]
    OPERATION_ID_FIELD_NUMBER: _ClassVar[int]
    AGENT_ID_FIELD_NUMBER: _ClassVar[int]
    SESSION_ID_FIELD_NUMBER: _ClassVar[int]
    BY_FIELD_NUMBER: _ClassVar[int]
    MEASURE_FIELD_NUMBER: _ClassVar[int]
    THRESHOLD_FIELD_NUMBER: _ClassVar[int]
    DRY_RUN_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    collection: str
    operation_id: str
    agent_id: str
    session_id: str
    by: GroupBy
    measure: Measure
    threshold: float
    dry_run: bool
    reason: str
    def __init__(self, collection: _Optional[str] = ..., operation_id: _Optional[str] = ..., agent_id: _Optional[str] = ..., session_id: _Optional[str] = ..., by: _Optional[_Union[GroupBy, str]] = ..., measure: _Optional[_Union[Measure, str]] = ..., threshold: _Optional[float] = ..., dry_run: _Optional[bool] = ..., reason: _Optional[str] = ...) -> None: ...

class ReplacedMemory(_message.Message):
    __slots__ = ("memory_id", "kept_id", "similarity", "snippet", "recalled")
    MEMORY_ID_FIELD_NUMBER: _ClassVar[int]
    KEPT_ID_FIELD_NUMBER: _ClassVar[int]
    SIMILARITY_FIELD_NUMBER: _ClassVar[int]
    SNIPPET_FIELD_NUMBER: _ClassVar[int]
    RECALLED_FIELD_NUMBER: _ClassVar[int]
    memory_id: str
    kept_id: str
    similarity: float
    snippet: str
    recalled: bool
    def __init__(self, memory_id: _Optional[str] = ..., kept_id: _Optional[str] = ..., similarity: _Optional[float] = ..., snippet: _Optional[str] = ..., recalled: _Optional[bool] = ...) -> None: ...

class MemoryGroup(_message.Message):
    __slots__ = ("kept_id", "snippet", "category", "superseded")
    KEPT_ID_FIELD_NUMBER: _ClassVar[int]
    SNIPPET_FIELD_NUMBER: _ClassVar[int]
    CATEGORY_FIELD_NUMBER: _ClassVar[int]
    SUPERSEDED_FIELD_NUMBER: _ClassVar[int]
    kept_id: str
    snippet: str
    category: str
    superseded: _containers.RepeatedCompositeFieldContainer[ReplacedMemory]
    def __init__(self, kept_id: _Optional[str] = ..., snippet: _Optional[str] = ..., category: _Optional[str] = ..., superseded: _Optional[_Iterable[_Union[ReplacedMemory, _Mapping]]] = ...) -> None: ...

class EndSessionResponse(_message.Message):
    __slots__ = ("revision", "merged_groups", "superseded_count", "compression_ratio", "avg_similarity", "groups", "consolidatable_count", "left_out_count", "unread_pair_count", "decay", "dry_run", "replayed", "operation_id")
    REVISION_FIELD_NUMBER: _ClassVar[int]
    MERGED_GROUPS_FIELD_NUMBER: _ClassVar[int]
    SUPERSEDED_COUNT_FIELD_NUMBER: _ClassVar[int]
    COMPRESSION_RATIO_FIELD_NUMBER: _ClassVar[int]
    AVG_SIMILARITY_FIELD_NUMBER: _ClassVar[int]
    GROUPS_FIELD_NUMBER: _ClassVar[int]
    CONSOLIDATABLE_COUNT_FIELD_NUMBER: _ClassVar[int]
    LEFT_OUT_COUNT_FIELD_NUMBER: _ClassVar[int]
    UNREAD_PAIR_COUNT_FIELD_NUMBER: _ClassVar[int]
    DECAY_FIELD_NUMBER: _ClassVar[int]
    DRY_RUN_FIELD_NUMBER: _ClassVar[int]
    REPLAYED_FIELD_NUMBER: _ClassVar[int]
    OPERATION_ID_FIELD_NUMBER: _ClassVar[int]
    revision: int
    merged_groups: int
    superseded_count: int
    compression_ratio: float
    avg_similarity: float
    groups: _containers.RepeatedCompositeFieldContainer[MemoryGroup]
    consolidatable_count: int
    left_out_count: int
    unread_pair_count: int
    decay: DecayReport
    dry_run: bool
    replayed: bool
    operation_id: str
    def __init__(self, revision: _Optional[int] = ..., merged_groups: _Optional[int] = ..., superseded_count: _Optional[int] = ..., compression_ratio: _Optional[float] = ..., avg_similarity: _Optional[float] = ..., groups: _Optional[_Iterable[_Union[MemoryGroup, _Mapping]]] = ..., consolidatable_count: _Optional[int] = ..., left_out_count: _Optional[int] = ..., unread_pair_count: _Optional[int] = ..., decay: _Optional[_Union[DecayReport, _Mapping]] = ..., dry_run: _Optional[bool] = ..., replayed: _Optional[bool] = ..., operation_id: _Optional[str] = ...) -> None: ...

class BlastRadius(_message.Message):
    __slots__ = ("closing", "today", "allowed", "over", "recalled_count")
    CLOSING_FIELD_NUMBER: _ClassVar[int]
    TODAY_FIELD_NUMBER: _ClassVar[int]
    ALLOWED_FIELD_NUMBER: _ClassVar[int]
    OVER_FIELD_NUMBER: _ClassVar[int]
    RECALLED_COUNT_FIELD_NUMBER: _ClassVar[int]
    closing: int
    today: int
    allowed: int
    over: bool
    recalled_count: int
    def __init__(self, closing: _Optional[int] = ..., today: _Optional[int] = ..., allowed: _Optional[int] = ..., over: _Optional[bool] = ..., recalled_count: _Optional[int] = ...) -> None: ...

class CleanUpDuplicatesRequest(_message.Message):
    __slots__ = ("collection", "operation_id", "agent_id", "apply", "limit", "reason")
    COLLECTION_FIELD_NUMBER: _ClassVar[int]
    OPERATION_ID_FIELD_NUMBER: _ClassVar[int]
    AGENT_ID_FIELD_NUMBER: _ClassVar[int]
    APPLY_FIELD_NUMBER: _ClassVar[int]
    LIMIT_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    collection: str
    operation_id: str
    agent_id: str
    apply: bool
    limit: int
    reason: str
    def __init__(self, collection: _Optional[str] = ..., operation_id: _Optional[str] = ..., agent_id: _Optional[str] = ..., apply: _Optional[bool] = ..., limit: _Optional[int] = ..., reason: _Optional[str] = ...) -> None: ...

class CleanUpDuplicatesResponse(_message.Message):
    __slots__ = ("revision", "duplicates", "more_count", "blast", "applied", "replayed", "operation_id")
    REVISION_FIELD_NUMBER: _ClassVar[int]
    DUPLICATES_FIELD_NUMBER: _ClassVar[int]
    MORE_COUNT_FIELD_NUMBER: _ClassVar[int]
    BLAST_FIELD_NUMBER: _ClassVar[int]
    APPLIED_FIELD_NUMBER: _ClassVar[int]
    REPLAYED_FIELD_NUMBER: _ClassVar[int]
    OPERATION_ID_FIELD_NUMBER: _ClassVar[int]
    revision: int
    duplicates: _containers.RepeatedCompositeFieldContainer[ReplacedMemory]
    more_count: int
    blast: BlastRadius
    applied: bool
    replayed: bool
    operation_id: str
    def __init__(self, revision: _Optional[int] = ..., duplicates: _Optional[_Iterable[_Union[ReplacedMemory, _Mapping]]] = ..., more_count: _Optional[int] = ..., blast: _Optional[_Union[BlastRadius, _Mapping]] = ..., applied: _Optional[bool] = ..., replayed: _Optional[bool] = ..., operation_id: _Optional[str] = ...) -> None: ...

class DecayRequest(_message.Message):
    __slots__ = ("collection", "operation_id", "agent_id", "close_below", "dry_run", "limit", "reason")
    COLLECTION_FIELD_NUMBER: _ClassVar[int]
    OPERATION_ID_FIELD_NUMBER: _ClassVar[int]
    AGENT_ID_FIELD_NUMBER: _ClassVar[int]
    CLOSE_BELOW_FIELD_NUMBER: _ClassVar[int]
    DRY_RUN_FIELD_NUMBER: _ClassVar[int]
    LIMIT_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    collection: str
    operation_id: str
    agent_id: str
    close_below: float
    dry_run: bool
    limit: int
    reason: str
    def __init__(self, collection: _Optional[str] = ..., operation_id: _Optional[str] = ..., agent_id: _Optional[str] = ..., close_below: _Optional[float] = ..., dry_run: _Optional[bool] = ..., limit: _Optional[int] = ..., reason: _Optional[str] = ...) -> None: ...

class FadedMemory(_message.Message):
    __slots__ = ("memory_id", "confidence", "effective_confidence", "last_access_time", "snippet", "recalled")
    MEMORY_ID_FIELD_NUMBER: _ClassVar[int]
    CONFIDENCE_FIELD_NUMBER: _ClassVar[int]
    EFFECTIVE_CONFIDENCE_FIELD_NUMBER: _ClassVar[int]
    LAST_ACCESS_TIME_FIELD_NUMBER: _ClassVar[int]
    SNIPPET_FIELD_NUMBER: _ClassVar[int]
    RECALLED_FIELD_NUMBER: _ClassVar[int]
    memory_id: str
    confidence: float
    effective_confidence: float
    last_access_time: _timestamp_pb2.Timestamp
    snippet: str
    recalled: bool
    def __init__(self, memory_id: _Optional[str] = ..., confidence: _Optional[float] = ..., effective_confidence: _Optional[float] = ..., last_access_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., snippet: _Optional[str] = ..., recalled: _Optional[bool] = ...) -> None: ...

class Survival(_message.Message):
    __slots__ = ("days", "count")
    DAYS_FIELD_NUMBER: _ClassVar[int]
    COUNT_FIELD_NUMBER: _ClassVar[int]
    days: int
    count: int
    def __init__(self, days: _Optional[int] = ..., count: _Optional[int] = ...) -> None: ...

class DecayReport(_message.Message):
    __slots__ = ("live_count", "band_counts", "faded_count", "at_floor_count", "threshold", "below_count", "protected_count", "recalled_count", "survival")
    LIVE_COUNT_FIELD_NUMBER: _ClassVar[int]
    BAND_COUNTS_FIELD_NUMBER: _ClassVar[int]
    FADED_COUNT_FIELD_NUMBER: _ClassVar[int]
    AT_FLOOR_COUNT_FIELD_NUMBER: _ClassVar[int]
    THRESHOLD_FIELD_NUMBER: _ClassVar[int]
    BELOW_COUNT_FIELD_NUMBER: _ClassVar[int]
    PROTECTED_COUNT_FIELD_NUMBER: _ClassVar[int]
    RECALLED_COUNT_FIELD_NUMBER: _ClassVar[int]
    SURVIVAL_FIELD_NUMBER: _ClassVar[int]
    live_count: int
    band_counts: _containers.RepeatedScalarFieldContainer[int]
    faded_count: int
    at_floor_count: int
    threshold: float
    below_count: int
    protected_count: int
    recalled_count: int
    survival: _containers.RepeatedCompositeFieldContainer[Survival]
    def __init__(self, live_count: _Optional[int] = ..., band_counts: _Optional[_Iterable[int]] = ..., faded_count: _Optional[int] = ..., at_floor_count: _Optional[int] = ..., threshold: _Optional[float] = ..., below_count: _Optional[int] = ..., protected_count: _Optional[int] = ..., recalled_count: _Optional[int] = ..., survival: _Optional[_Iterable[_Union[Survival, _Mapping]]] = ...) -> None: ...

class DecayResponse(_message.Message):
    __slots__ = ("revision", "report", "closed", "blast", "dry_run", "replayed", "operation_id")
    REVISION_FIELD_NUMBER: _ClassVar[int]
    REPORT_FIELD_NUMBER: _ClassVar[int]
    CLOSED_FIELD_NUMBER: _ClassVar[int]
    BLAST_FIELD_NUMBER: _ClassVar[int]
    DRY_RUN_FIELD_NUMBER: _ClassVar[int]
    REPLAYED_FIELD_NUMBER: _ClassVar[int]
    OPERATION_ID_FIELD_NUMBER: _ClassVar[int]
    revision: int
    report: DecayReport
    closed: _containers.RepeatedCompositeFieldContainer[FadedMemory]
    blast: BlastRadius
    dry_run: bool
    replayed: bool
    operation_id: str
    def __init__(self, revision: _Optional[int] = ..., report: _Optional[_Union[DecayReport, _Mapping]] = ..., closed: _Optional[_Iterable[_Union[FadedMemory, _Mapping]]] = ..., blast: _Optional[_Union[BlastRadius, _Mapping]] = ..., dry_run: _Optional[bool] = ..., replayed: _Optional[bool] = ..., operation_id: _Optional[str] = ...) -> None: ...
