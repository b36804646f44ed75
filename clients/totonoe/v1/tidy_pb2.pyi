import datetime

from google.protobuf import struct_pb2 as _struct_pb2
from google.protobuf import timestamp_pb2 as _timestamp_pb2
from totonoe.v1 import types_pb2 as _types_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class TidyPhase(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    TIDY_PHASE_UNSPECIFIED: _ClassVar[TidyPhase]
    TIDY_PHASE_DOUBLES: _ClassVar[TidyPhase]
    TIDY_PHASE_NEIGHBORS: _ClassVar[TidyPhase]
    TIDY_PHASE_CLUSTERS: _ClassVar[TidyPhase]

class TidyOp(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    TIDY_OP_UNSPECIFIED: _ClassVar[TidyOp]
    TIDY_OP_UPSERT: _ClassVar[TidyOp]
    TIDY_OP_CLOSE: _ClassVar[TidyOp]
    TIDY_OP_MARK_DONE: _ClassVar[TidyOp]

class TidyFate(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    TIDY_FATE_UNSPECIFIED: _ClassVar[TidyFate]
    TIDY_FATE_INSERTED: _ClassVar[TidyFate]
    TIDY_FATE_UPDATED: _ClassVar[TidyFate]
    TIDY_FATE_CLOSED: _ClassVar[TidyFate]
    TIDY_FATE_DONE: _ClassVar[TidyFate]
    TIDY_FATE_REFUSED: _ClassVar[TidyFate]
TIDY_PHASE_UNSPECIFIED: TidyPhase
TIDY_PHASE_DOUBLES: TidyPhase
TIDY_PHASE_NEIGHBORS: TidyPhase
TIDY_PHASE_CLUSTERS: TidyPhase
TIDY_OP_UNSPECIFIED: TidyOp
TIDY_OP_UPSERT: TidyOp
TIDY_OP_CLOSE: TidyOp
TIDY_OP_MARK_DONE: TidyOp
TIDY_FATE_UNSPECIFIED: TidyFate
TIDY_FATE_INSERTED: TidyFate
TIDY_FATE_UPDATED: TidyFate
TIDY_FATE_CLOSED: TidyFate
TIDY_FATE_DONE: TidyFate
TIDY_FATE_REFUSED: TidyFate

class RecordTurnRequest(_message.Message):
    __slots__ = ("collection", "agent_id", "operation_id")
    COLLECTION_FIELD_NUMBER: _ClassVar[int]
    AGENT_ID_FIELD_NUMBER: _ClassVar[int]
    OPERATION_ID_FIELD_NUMBER: _ClassVar[int]
    collection: str
    agent_id: str
    operation_id: str
    def __init__(self, collection: _Optional[str] = ..., agent_id: _Optional[str] = ..., operation_id: _Optional[str] = ...) -> None: ...

class RecordTurnResponse(_message.Message):
    __slots__ = ("turn", "began", "revision", "replayed", "operation_id")
    TURN_FIELD_NUMBER: _ClassVar[int]
    BEGAN_FIELD_NUMBER: _ClassVar[int]
    REVISION_FIELD_NUMBER: _ClassVar[int]
    REPLAYED_FIELD_NUMBER: _ClassVar[int]
    OPERATION_ID_FIELD_NUMBER: _ClassVar[int]
    turn: int
    began: bool
    revision: int
    replayed: bool
    operation_id: str
    def __init__(self, turn: _Optional[int] = ..., began: _Optional[bool] = ..., revision: _Optional[int] = ..., replayed: _Optional[bool] = ..., operation_id: _Optional[str] = ...) -> None: ...

class TidyRequest(_message.Message):
    __slots__ = ("collection", "operation_id", "agent_id", "apply", "reason", "plan", "distance_below", "clusters_max", "page_token", "limit")
    COLLECTION_FIELD_NUMBER: _ClassVar[int]
    OPERATION_ID_FIELD_NUMBER: _ClassVar[int]
    AGENT_ID_FIELD_NUMBER: _ClassVar[int]
    APPLY_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    PLAN_FIELD_NUMBER: _ClassVar[int]
    DISTANCE_BELOW_FIELD_NUMBER: _ClassVar[int]
    CLUSTERS_MAX_FIELD_NUMBER: _ClassVar[int]
    PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    LIMIT_FIELD_NUMBER: _ClassVar[int]
    collection: str
    operation_id: str
    agent_id: str
    apply: bool
    reason: str
    plan: bool
    distance_below: float
    clusters_max: int
    page_token: str
    limit: int
    def __init__(self, collection: _Optional[str] = ..., operation_id: _Optional[str] = ..., agent_id: _Optional[str] = ..., apply: _Optional[bool] = ..., reason: _Optional[str] = ..., plan: _Optional[bool] = ..., distance_below: _Optional[float] = ..., clusters_max: _Optional[int] = ..., page_token: _Optional[str] = ..., limit: _Optional[int] = ...) -> None: ...

class TidyProgress(_message.Message):
    __slots__ = ("phase", "done", "total", "seconds")
    PHASE_FIELD_NUMBER: _ClassVar[int]
    DONE_FIELD_NUMBER: _ClassVar[int]
    TOTAL_FIELD_NUMBER: _ClassVar[int]
    SECONDS_FIELD_NUMBER: _ClassVar[int]
    phase: TidyPhase
    done: int
    total: int
    seconds: float
    def __init__(self, phase: _Optional[_Union[TidyPhase, str]] = ..., done: _Optional[int] = ..., total: _Optional[int] = ..., seconds: _Optional[float] = ...) -> None: ...

class TidyDoubles(_message.Message):
    __slots__ = ("cluster_id", "kept", "closed_ids", "protected_ids")
    CLUSTER_ID_FIELD_NUMBER: _ClassVar[int]
    KEPT_FIELD_NUMBER: _ClassVar[int]
    CLOSED_IDS_FIELD_NUMBER: _ClassVar[int]
    PROTECTED_IDS_FIELD_NUMBER: _ClassVar[int]
    cluster_id: str
    kept: _types_pb2.Memory
    closed_ids: _containers.RepeatedScalarFieldContainer[str]
    protected_ids: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, cluster_id: _Optional[str] = ..., kept: _Optional[_Union[_types_pb2.Memory, _Mapping]] = ..., closed_ids: _Optional[_Iterable[str]] = ..., protected_ids: _Optional[_Iterable[str]] = ...) -> None: ...

class TidyMember(_message.Message):
    __slots__ = ("memory", "protected")
    MEMORY_FIELD_NUMBER: _ClassVar[int]
    PROTECTED_FIELD_NUMBER: _ClassVar[int]
    memory: _types_pb2.Memory
    protected: bool
    def __init__(self, memory: _Optional[_Union[_types_pb2.Memory, _Mapping]] = ..., protected: _Optional[bool] = ...) -> None: ...

class TidyPair(_message.Message):
    __slots__ = ("a_id", "b_id", "distance", "verdict", "valid_together", "about_gap_days", "same_thread", "shared_entities")
    A_ID_FIELD_NUMBER: _ClassVar[int]
    B_ID_FIELD_NUMBER: _ClassVar[int]
    DISTANCE_FIELD_NUMBER: _ClassVar[int]
    VERDICT_FIELD_NUMBER: _ClassVar[int]
    VALID_TOGETHER_FIELD_NUMBER: _ClassVar[int]
    ABOUT_GAP_DAYS_FIELD_NUMBER: _ClassVar[int]
    SAME_THREAD_FIELD_NUMBER: _ClassVar[int]
    SHARED_ENTITIES_FIELD_NUMBER: _ClassVar[int]
    a_id: str
    b_id: str
    distance: float
    verdict: _types_pb2.Verdict
    valid_together: bool
    about_gap_days: float
    same_thread: bool
    shared_entities: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, a_id: _Optional[str] = ..., b_id: _Optional[str] = ..., distance: _Optional[float] = ..., verdict: _Optional[_Union[_types_pb2.Verdict, str]] = ..., valid_together: _Optional[bool] = ..., about_gap_days: _Optional[float] = ..., same_thread: _Optional[bool] = ..., shared_entities: _Optional[_Iterable[str]] = ...) -> None: ...

class TidyCluster(_message.Message):
    __slots__ = ("state_kind", "members", "pairs")
    STATE_KIND_FIELD_NUMBER: _ClassVar[int]
    MEMBERS_FIELD_NUMBER: _ClassVar[int]
    PAIRS_FIELD_NUMBER: _ClassVar[int]
    state_kind: _types_pb2.StateKind
    members: _containers.RepeatedCompositeFieldContainer[TidyMember]
    pairs: _containers.RepeatedCompositeFieldContainer[TidyPair]
    def __init__(self, state_kind: _Optional[_Union[_types_pb2.StateKind, str]] = ..., members: _Optional[_Iterable[_Union[TidyMember, _Mapping]]] = ..., pairs: _Optional[_Iterable[_Union[TidyPair, _Mapping]]] = ...) -> None: ...

class TidyDone(_message.Message):
    __slots__ = ("closed", "dry_run", "replayed", "operation_id", "revision", "read_counts", "closed_counts", "merged_count", "complete", "more", "over_blast_radius", "blast_allowed", "blast_today", "plan_read_count", "cluster_count", "left_out_count", "next_page_token", "seconds")
    class ReadCountsEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: int
        def __init__(self, key: _Optional[str] = ..., value: _Optional[int] = ...) -> None: ...
    class ClosedCountsEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: int
        def __init__(self, key: _Optional[str] = ..., value: _Optional[int] = ...) -> None: ...
    CLOSED_FIELD_NUMBER: _ClassVar[int]
    DRY_RUN_FIELD_NUMBER: _ClassVar[int]
    REPLAYED_FIELD_NUMBER: _ClassVar[int]
    OPERATION_ID_FIELD_NUMBER: _ClassVar[int]
    REVISION_FIELD_NUMBER: _ClassVar[int]
    READ_COUNTS_FIELD_NUMBER: _ClassVar[int]
    CLOSED_COUNTS_FIELD_NUMBER: _ClassVar[int]
    MERGED_COUNT_FIELD_NUMBER: _ClassVar[int]
    COMPLETE_FIELD_NUMBER: _ClassVar[int]
    MORE_FIELD_NUMBER: _ClassVar[int]
    OVER_BLAST_RADIUS_FIELD_NUMBER: _ClassVar[int]
    BLAST_ALLOWED_FIELD_NUMBER: _ClassVar[int]
    BLAST_TODAY_FIELD_NUMBER: _ClassVar[int]
    PLAN_READ_COUNT_FIELD_NUMBER: _ClassVar[int]
    CLUSTER_COUNT_FIELD_NUMBER: _ClassVar[int]
    LEFT_OUT_COUNT_FIELD_NUMBER: _ClassVar[int]
    NEXT_PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    SECONDS_FIELD_NUMBER: _ClassVar[int]
    closed: bool
    dry_run: bool
    replayed: bool
    operation_id: str
    revision: int
    read_counts: _containers.ScalarMap[str, int]
    closed_counts: _containers.ScalarMap[str, int]
    merged_count: int
    complete: bool
    more: bool
    over_blast_radius: bool
    blast_allowed: int
    blast_today: int
    plan_read_count: int
    cluster_count: int
    left_out_count: int
    next_page_token: str
    seconds: float
    def __init__(self, closed: _Optional[bool] = ..., dry_run: _Optional[bool] = ..., replayed: _Optional[bool] = ..., operation_id: _Optional[str] = ..., revision: _Optional[int] = ..., read_counts: _Optional[_Mapping[str, int]] = ..., closed_counts: _Optional[_Mapping[str, int]] = ..., merged_count: _Optional[int] = ..., complete: _Optional[bool] = ..., more: _Optional[bool] = ..., over_blast_radius: _Optional[bool] = ..., blast_allowed: _Optional[int] = ..., blast_today: _Optional[int] = ..., plan_read_count: _Optional[int] = ..., cluster_count: _Optional[int] = ..., left_out_count: _Optional[int] = ..., next_page_token: _Optional[str] = ..., seconds: _Optional[float] = ...) -> None: ...

class TidyResponse(_message.Message):
    __slots__ = ("progress", "doubles", "cluster", "done")
    PROGRESS_FIELD_NUMBER: _ClassVar[int]
    DOUBLES_FIELD_NUMBER: _ClassVar[int]
    CLUSTER_FIELD_NUMBER: _ClassVar[int]
    DONE_FIELD_NUMBER: _ClassVar[int]
    progress: TidyProgress
    doubles: TidyDoubles
    cluster: TidyCluster
    done: TidyDone
    def __init__(self, progress: _Optional[_Union[TidyProgress, _Mapping]] = ..., doubles: _Optional[_Union[TidyDoubles, _Mapping]] = ..., cluster: _Optional[_Union[TidyCluster, _Mapping]] = ..., done: _Optional[_Union[TidyDone, _Mapping]] = ...) -> None: ...

class TidyUpdate(_message.Message):
    __slots__ = ("op", "state_id", "kind", "body_text", "payload", "confidence", "salience", "valid_from_ts", "valid_to_ts", "last_confirmed_at", "reason", "evidence_event_ids", "expected_revision", "vector")
    OP_FIELD_NUMBER: _ClassVar[int]
    STATE_ID_FIELD_NUMBER: _ClassVar[int]
    KIND_FIELD_NUMBER: _ClassVar[int]
    BODY_TEXT_FIELD_NUMBER: _ClassVar[int]
    PAYLOAD_FIELD_NUMBER: _ClassVar[int]
    CONFIDENCE_FIELD_NUMBER: _ClassVar[int]
    SALIENCE_FIELD_NUMBER: _ClassVar[int]
    VALID_FROM_TS_FIELD_NUMBER: _ClassVar[int]
    VALID_TO_TS_FIELD_NUMBER: _ClassVar[int]
    LAST_CONFIRMED_AT_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    EVIDENCE_EVENT_IDS_FIELD_NUMBER: _ClassVar[int]
    EXPECTED_REVISION_FIELD_NUMBER: _ClassVar[int]
    VECTOR_FIELD_NUMBER: _ClassVar[int]
    op: TidyOp
    state_id: str
    kind: _types_pb2.StateKind
    body_text: str
    payload: _struct_pb2.Struct
    confidence: float
    salience: float
    valid_from_ts: _timestamp_pb2.Timestamp
    valid_to_ts: _timestamp_pb2.Timestamp
    last_confirmed_at: _timestamp_pb2.Timestamp
    reason: str
    evidence_event_ids: _containers.RepeatedScalarFieldContainer[str]
    expected_revision: int
    vector: bytes
    def __init__(self, op: _Optional[_Union[TidyOp, str]] = ..., state_id: _Optional[str] = ..., kind: _Optional[_Union[_types_pb2.StateKind, str]] = ..., body_text: _Optional[str] = ..., payload: _Optional[_Union[_struct_pb2.Struct, _Mapping]] = ..., confidence: _Optional[float] = ..., salience: _Optional[float] = ..., valid_from_ts: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., valid_to_ts: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., last_confirmed_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., reason: _Optional[str] = ..., evidence_event_ids: _Optional[_Iterable[str]] = ..., expected_revision: _Optional[int] = ..., vector: _Optional[bytes] = ...) -> None: ...

class TidyPlan(_message.Message):
    __slots__ = ("state_updates",)
    STATE_UPDATES_FIELD_NUMBER: _ClassVar[int]
    state_updates: _containers.RepeatedCompositeFieldContainer[TidyUpdate]
    def __init__(self, state_updates: _Optional[_Iterable[_Union[TidyUpdate, _Mapping]]] = ...) -> None: ...

class ApplyTidyPlanRequest(_message.Message):
    __slots__ = ("collection", "operation_id", "agent_id", "plan", "plan_json", "only", "reason")
    COLLECTION_FIELD_NUMBER: _ClassVar[int]
    OPERATION_ID_FIELD_NUMBER: _ClassVar[int]
    AGENT_ID_FIELD_NUMBER: _ClassVar[int]
    PLAN_FIELD_NUMBER: _ClassVar[int]
    PLAN_JSON_FIELD_NUMBER: _ClassVar[int]
    ONLY_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    collection: str
    operation_id: str
    agent_id: str
    plan: TidyPlan
    plan_json: str
    only: _containers.RepeatedScalarFieldContainer[int]
    reason: str
    def __init__(self, collection: _Optional[str] = ..., operation_id: _Optional[str] = ..., agent_id: _Optional[str] = ..., plan: _Optional[_Union[TidyPlan, _Mapping]] = ..., plan_json: _Optional[str] = ..., only: _Optional[_Iterable[int]] = ..., reason: _Optional[str] = ...) -> None: ...

class TidyOutcome(_message.Message):
    __slots__ = ("index", "fate", "memory_id", "duplicate")
    INDEX_FIELD_NUMBER: _ClassVar[int]
    FATE_FIELD_NUMBER: _ClassVar[int]
    MEMORY_ID_FIELD_NUMBER: _ClassVar[int]
    DUPLICATE_FIELD_NUMBER: _ClassVar[int]
    index: int
    fate: TidyFate
    memory_id: str
    duplicate: _types_pb2.Duplicate
    def __init__(self, index: _Optional[int] = ..., fate: _Optional[_Union[TidyFate, str]] = ..., memory_id: _Optional[str] = ..., duplicate: _Optional[_Union[_types_pb2.Duplicate, _Mapping]] = ...) -> None: ...

class ApplyTidyPlanResponse(_message.Message):
    __slots__ = ("outcomes", "merged_count", "closed_count", "summary_count", "revision", "replayed", "operation_id")
    OUTCOMES_FIELD_NUMBER: _ClassVar[int]
    MERGED_COUNT_FIELD_NUMBER: _ClassVar[int]
    CLOSED_COUNT_FIELD_NUMBER: _ClassVar[int]
    SUMMARY_COUNT_FIELD_NUMBER: _ClassVar[int]
    REVISION_FIELD_NUMBER: _ClassVar[int]
    REPLAYED_FIELD_NUMBER: _ClassVar[int]
    OPERATION_ID_FIELD_NUMBER: _ClassVar[int]
    outcomes: _containers.RepeatedCompositeFieldContainer[TidyOutcome]
    merged_count: int
    closed_count: int
    summary_count: int
    revision: int
    replayed: bool
    operation_id: str
    def __init__(self, outcomes: _Optional[_Iterable[_Union[TidyOutcome, _Mapping]]] = ..., merged_count: _Optional[int] = ..., closed_count: _Optional[int] = ..., summary_count: _Optional[int] = ..., revision: _Optional[int] = ..., replayed: _Optional[bool] = ..., operation_id: _Optional[str] = ...) -> None: ...

class TidyStats(_message.Message):
    __slots__ = ("turn_count", "run_count", "closed_count", "last_time", "last_over_blast_radius")
    TURN_COUNT_FIELD_NUMBER: _ClassVar[int]
    RUN_COUNT_FIELD_NUMBER: _ClassVar[int]
    CLOSED_COUNT_FIELD_NUMBER: _ClassVar[int]
    LAST_TIME_FIELD_NUMBER: _ClassVar[int]
    LAST_OVER_BLAST_RADIUS_FIELD_NUMBER: _ClassVar[int]
    turn_count: int
    run_count: int
    closed_count: int
    last_time: _timestamp_pb2.Timestamp
    last_over_blast_radius: bool
    def __init__(self, turn_count: _Optional[int] = ..., run_count: _Optional[int] = ..., closed_count: _Optional[int] = ..., last_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., last_over_blast_radius: _Optional[bool] = ...) -> None: ...
