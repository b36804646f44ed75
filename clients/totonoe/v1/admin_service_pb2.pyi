import datetime

from google.protobuf import field_mask_pb2 as _field_mask_pb2
from google.protobuf import timestamp_pb2 as _timestamp_pb2
from totonoe.v1 import access_pb2 as _access_pb2
from totonoe.v1 import audit_pb2 as _audit_pb2
from totonoe.v1 import checkpoint_pb2 as _checkpoint_pb2
from totonoe.v1 import errors_pb2 as _errors_pb2
from totonoe.v1 import reembed_pb2 as _reembed_pb2
from totonoe.v1 import snapshot_pb2 as _snapshot_pb2
from totonoe.v1 import tidy_pb2 as _tidy_pb2
from totonoe.v1 import transfer_pb2 as _transfer_pb2
from totonoe.v1 import types_pb2 as _types_pb2
from totonoe.v1 import verify_pb2 as _verify_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union
from totonoe.v1.errors_pb2 import ErrorReason as ErrorReason

DESCRIPTOR: _descriptor.FileDescriptor
ERROR_REASON_UNSPECIFIED: _errors_pb2.ErrorReason
ERROR_REASON_EMPTY_TEXT: _errors_pb2.ErrorReason
ERROR_REASON_NUL_IN_TEXT: _errors_pb2.ErrorReason
ERROR_REASON_LIMIT_EXCEEDED: _errors_pb2.ErrorReason
ERROR_REASON_DIMENSION_MISMATCH: _errors_pb2.ErrorReason
ERROR_REASON_NON_FINITE_VECTOR: _errors_pb2.ErrorReason
ERROR_REASON_ZERO_VECTOR: _errors_pb2.ErrorReason
ERROR_REASON_VECTOR_REQUIRED: _errors_pb2.ErrorReason
ERROR_REASON_OUT_OF_RANGE: _errors_pb2.ErrorReason
ERROR_REASON_UNKNOWN_ENUM: _errors_pb2.ErrorReason
ERROR_REASON_BAD_NAME: _errors_pb2.ErrorReason
ERROR_REASON_BAD_PAGE_TOKEN: _errors_pb2.ErrorReason
ERROR_REASON_BAD_TIME: _errors_pb2.ErrorReason
ERROR_REASON_BAD_UPDATE_MASK: _errors_pb2.ErrorReason
ERROR_REASON_MISSING_FIELD: _errors_pb2.ErrorReason
ERROR_REASON_SELF_LINK: _errors_pb2.ErrorReason
ERROR_REASON_MALFORMED_MESSAGE: _errors_pb2.ErrorReason
ERROR_REASON_MEMORY_NOT_FOUND: _errors_pb2.ErrorReason
ERROR_REASON_COLLECTION_NOT_FOUND: _errors_pb2.ErrorReason
ERROR_REASON_LINK_NOT_FOUND: _errors_pb2.ErrorReason
ERROR_REASON_COLLECTION_EXISTS: _errors_pb2.ErrorReason
ERROR_REASON_EXTERNAL_ID_EXISTS: _errors_pb2.ErrorReason
ERROR_REASON_OPERATION_ID_REUSED: _errors_pb2.ErrorReason
ERROR_REASON_STALE_REVISION: _errors_pb2.ErrorReason
ERROR_REASON_NOT_ACTIVE: _errors_pb2.ErrorReason
ERROR_REASON_MODEL_MISMATCH: _errors_pb2.ErrorReason
ERROR_REASON_READ_ONLY: _errors_pb2.ErrorReason
ERROR_REASON_UNSUPPORTED_FORMAT: _errors_pb2.ErrorReason
ERROR_REASON_QUOTA_EXCEEDED: _errors_pb2.ErrorReason
ERROR_REASON_OVERLOADED: _errors_pb2.ErrorReason
ERROR_REASON_EMBEDDER_UNAVAILABLE: _errors_pb2.ErrorReason
ERROR_REASON_EMBEDDER_BUSY: _errors_pb2.ErrorReason
ERROR_REASON_SHUTTING_DOWN: _errors_pb2.ErrorReason
ERROR_REASON_CORRUPT_ROW: _errors_pb2.ErrorReason
ERROR_REASON_INTERNAL: _errors_pb2.ErrorReason
ERROR_REASON_DEADLINE_PASSED: _errors_pb2.ErrorReason
ERROR_REASON_DEFAULT_COLLECTION: _errors_pb2.ErrorReason
ERROR_REASON_EMBEDDER_MISCONFIGURED: _errors_pb2.ErrorReason
ERROR_REASON_OPERATION_NOT_FOUND: _errors_pb2.ErrorReason
ERROR_REASON_EPISODE_NOT_FOUND: _errors_pb2.ErrorReason
ERROR_REASON_UNDO_CONFLICT: _errors_pb2.ErrorReason
ERROR_REASON_NOT_UNDOABLE: _errors_pb2.ErrorReason
ERROR_REASON_APPEND_ONLY: _errors_pb2.ErrorReason
ERROR_REASON_BAD_MERGE: _errors_pb2.ErrorReason
ERROR_REASON_REVISION_OUT_OF_RANGE: _errors_pb2.ErrorReason
ERROR_REASON_WATCH_TOO_SLOW: _errors_pb2.ErrorReason
ERROR_REASON_NOT_OWNER: _errors_pb2.ErrorReason
ERROR_REASON_BLAST_RADIUS: _errors_pb2.ErrorReason
ERROR_REASON_BAD_PLAN: _errors_pb2.ErrorReason
ERROR_REASON_PROTECTED: _errors_pb2.ErrorReason
ERROR_REASON_SNAPSHOT_NOT_FOUND: _errors_pb2.ErrorReason
ERROR_REASON_SNAPSHOT_EXISTS: _errors_pb2.ErrorReason
ERROR_REASON_NOT_CONFIRMED: _errors_pb2.ErrorReason
ERROR_REASON_BAD_IMPORT: _errors_pb2.ErrorReason
ERROR_REASON_REEMBEDDING: _errors_pb2.ErrorReason
ERROR_REASON_NOTHING_TO_REEMBED: _errors_pb2.ErrorReason
ERROR_REASON_STREAM_IDLE: _errors_pb2.ErrorReason
ERROR_REASON_MEMORY_NOT_YET: _errors_pb2.ErrorReason
ERROR_REASON_COMMITS_LOST: _errors_pb2.ErrorReason
ERROR_REASON_WRONG_FILE: _errors_pb2.ErrorReason
ERROR_REASON_MISSING_FILE: _errors_pb2.ErrorReason
ERROR_REASON_NOT_ON_THIS_STORE: _errors_pb2.ErrorReason
ERROR_REASON_STORE_UNAVAILABLE: _errors_pb2.ErrorReason
ERROR_REASON_REVIEW_FIRST: _errors_pb2.ErrorReason
ERROR_REASON_NOT_PENDING: _errors_pb2.ErrorReason
ERROR_REASON_NOT_CAUGHT_UP: _errors_pb2.ErrorReason
ERROR_REASON_TOKEN_MISSING: _errors_pb2.ErrorReason
ERROR_REASON_TOKEN_INVALID: _errors_pb2.ErrorReason
ERROR_REASON_TOKEN_EXPIRED: _errors_pb2.ErrorReason
ERROR_REASON_TOKEN_REVOKED: _errors_pb2.ErrorReason
ERROR_REASON_NOT_GRANTED: _errors_pb2.ErrorReason
ERROR_REASON_AGENT_MISMATCH: _errors_pb2.ErrorReason
ERROR_REASON_RATE_LIMITED: _errors_pb2.ErrorReason

class CreateCollectionRequest(_message.Message):
    __slots__ = ("operation_id", "agent_id", "name", "description", "guard", "diversity", "decay", "client_vector_dimension", "retention", "blast", "tidy")
    OPERATION_ID_FIELD_NUMBER: _ClassVar[int]
    AGENT_ID_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    DESCRIPTION_FIELD_NUMBER: _ClassVar[int]
    GUARD_FIELD_NUMBER: _ClassVar[int]
    DIVERSITY_FIELD_NUMBER: _ClassVar[int]
    DECAY_FIELD_NUMBER: _ClassVar[int]
    CLIENT_VECTOR_DIMENSION_FIELD_NUMBER: _ClassVar[int]
    RETENTION_FIELD_NUMBER: _ClassVar[int]
    BLAST_FIELD_NUMBER: _ClassVar[int]
    TIDY_FIELD_NUMBER: _ClassVar[int]
    operation_id: str
    agent_id: str
    name: str
    description: str
    guard: _types_pb2.GuardPolicy
    diversity: _types_pb2.DiversityPolicy
    decay: _types_pb2.DecayPolicy
    client_vector_dimension: int
    retention: _types_pb2.RetentionPolicy
    blast: _types_pb2.BlastPolicy
    tidy: _types_pb2.TidyPolicy
    def __init__(self, operation_id: _Optional[str] = ..., agent_id: _Optional[str] = ..., name: _Optional[str] = ..., description: _Optional[str] = ..., guard: _Optional[_Union[_types_pb2.GuardPolicy, _Mapping]] = ..., diversity: _Optional[_Union[_types_pb2.DiversityPolicy, _Mapping]] = ..., decay: _Optional[_Union[_types_pb2.DecayPolicy, _Mapping]] = ..., client_vector_dimension: _Optional[int] = ..., retention: _Optional[_Union[_types_pb2.RetentionPolicy, _Mapping]] = ..., blast: _Optional[_Union[_types_pb2.BlastPolicy, _Mapping]] = ..., tidy: _Optional[_Union[_types_pb2.TidyPolicy, _Mapping]] = ...) -> None: ...

class CreateCollectionResponse(_message.Message):
    __slots__ = ("collection", "replayed", "operation_id", "revision")
    COLLECTION_FIELD_NUMBER: _ClassVar[int]
    REPLAYED_FIELD_NUMBER: _ClassVar[int]
    OPERATION_ID_FIELD_NUMBER: _ClassVar[int]
    REVISION_FIELD_NUMBER: _ClassVar[int]
    collection: _types_pb2.Collection
    replayed: bool
    operation_id: str
    revision: int
    def __init__(self, collection: _Optional[_Union[_types_pb2.Collection, _Mapping]] = ..., replayed: _Optional[bool] = ..., operation_id: _Optional[str] = ..., revision: _Optional[int] = ...) -> None: ...

class GetCollectionRequest(_message.Message):
    __slots__ = ("name",)
    NAME_FIELD_NUMBER: _ClassVar[int]
    name: str
    def __init__(self, name: _Optional[str] = ...) -> None: ...

class GetCollectionResponse(_message.Message):
    __slots__ = ("collection", "revision")
    COLLECTION_FIELD_NUMBER: _ClassVar[int]
    REVISION_FIELD_NUMBER: _ClassVar[int]
    collection: _types_pb2.Collection
    revision: int
    def __init__(self, collection: _Optional[_Union[_types_pb2.Collection, _Mapping]] = ..., revision: _Optional[int] = ...) -> None: ...

class ListCollectionsRequest(_message.Message):
    __slots__ = ("page_size", "page_token")
    PAGE_SIZE_FIELD_NUMBER: _ClassVar[int]
    PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    page_size: int
    page_token: str
    def __init__(self, page_size: _Optional[int] = ..., page_token: _Optional[str] = ...) -> None: ...

class ListCollectionsResponse(_message.Message):
    __slots__ = ("collections", "next_page_token", "revision")
    COLLECTIONS_FIELD_NUMBER: _ClassVar[int]
    NEXT_PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    REVISION_FIELD_NUMBER: _ClassVar[int]
    collections: _containers.RepeatedCompositeFieldContainer[_types_pb2.Collection]
    next_page_token: str
    revision: int
    def __init__(self, collections: _Optional[_Iterable[_Union[_types_pb2.Collection, _Mapping]]] = ..., next_page_token: _Optional[str] = ..., revision: _Optional[int] = ...) -> None: ...

class UpdateCollectionRequest(_message.Message):
    __slots__ = ("operation_id", "agent_id", "name", "collection", "update_mask", "expected_revision", "reason")
    OPERATION_ID_FIELD_NUMBER: _ClassVar[int]
    AGENT_ID_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    COLLECTION_FIELD_NUMBER: _ClassVar[int]
    UPDATE_MASK_FIELD_NUMBER: _ClassVar[int]
    EXPECTED_REVISION_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    operation_id: str
    agent_id: str
    name: str
    collection: _types_pb2.Collection
    update_mask: _field_mask_pb2.FieldMask
    expected_revision: int
    reason: str
    def __init__(self, operation_id: _Optional[str] = ..., agent_id: _Optional[str] = ..., name: _Optional[str] = ..., collection: _Optional[_Union[_types_pb2.Collection, _Mapping]] = ..., update_mask: _Optional[_Union[_field_mask_pb2.FieldMask, _Mapping]] = ..., expected_revision: _Optional[int] = ..., reason: _Optional[str] = ...) -> None: ...

class UpdateCollectionResponse(_message.Message):
    __slots__ = ("collection", "replayed", "operation_id", "revision")
    COLLECTION_FIELD_NUMBER: _ClassVar[int]
    REPLAYED_FIELD_NUMBER: _ClassVar[int]
    OPERATION_ID_FIELD_NUMBER: _ClassVar[int]
    REVISION_FIELD_NUMBER: _ClassVar[int]
    collection: _types_pb2.Collection
    replayed: bool
    operation_id: str
    revision: int
    def __init__(self, collection: _Optional[_Union[_types_pb2.Collection, _Mapping]] = ..., replayed: _Optional[bool] = ..., operation_id: _Optional[str] = ..., revision: _Optional[int] = ...) -> None: ...

class DeleteCollectionRequest(_message.Message):
    __slots__ = ("operation_id", "agent_id", "name")
    OPERATION_ID_FIELD_NUMBER: _ClassVar[int]
    AGENT_ID_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    operation_id: str
    agent_id: str
    name: str
    def __init__(self, operation_id: _Optional[str] = ..., agent_id: _Optional[str] = ..., name: _Optional[str] = ...) -> None: ...

class DeleteCollectionResponse(_message.Message):
    __slots__ = ("active_count", "replayed", "operation_id", "revision")
    ACTIVE_COUNT_FIELD_NUMBER: _ClassVar[int]
    REPLAYED_FIELD_NUMBER: _ClassVar[int]
    OPERATION_ID_FIELD_NUMBER: _ClassVar[int]
    REVISION_FIELD_NUMBER: _ClassVar[int]
    active_count: int
    replayed: bool
    operation_id: str
    revision: int
    def __init__(self, active_count: _Optional[int] = ..., replayed: _Optional[bool] = ..., operation_id: _Optional[str] = ..., revision: _Optional[int] = ...) -> None: ...

class CompareRequest(_message.Message):
    __slots__ = ("text_a", "text_b")
    TEXT_A_FIELD_NUMBER: _ClassVar[int]
    TEXT_B_FIELD_NUMBER: _ClassVar[int]
    text_a: str
    text_b: str
    def __init__(self, text_a: _Optional[str] = ..., text_b: _Optional[str] = ...) -> None: ...

class PresetOutcome(_message.Message):
    __slots__ = ("preset", "refuses", "method")
    PRESET_FIELD_NUMBER: _ClassVar[int]
    REFUSES_FIELD_NUMBER: _ClassVar[int]
    METHOD_FIELD_NUMBER: _ClassVar[int]
    preset: _types_pb2.Preset
    refuses: bool
    method: _types_pb2.Method
    def __init__(self, preset: _Optional[_Union[_types_pb2.Preset, str]] = ..., refuses: _Optional[bool] = ..., method: _Optional[_Union[_types_pb2.Method, str]] = ...) -> None: ...

class CompareResponse(_message.Message):
    __slots__ = ("same_text", "same_words", "cosine_similarity", "jaccard_similarity", "presets", "model", "judgement")
    SAME_TEXT_FIELD_NUMBER: _ClassVar[int]
    SAME_WORDS_FIELD_NUMBER: _ClassVar[int]
    COSINE_SIMILARITY_FIELD_NUMBER: _ClassVar[int]
    JACCARD_SIMILARITY_FIELD_NUMBER: _ClassVar[int]
    PRESETS_FIELD_NUMBER: _ClassVar[int]
    MODEL_FIELD_NUMBER: _ClassVar[int]
    JUDGEMENT_FIELD_NUMBER: _ClassVar[int]
    same_text: bool
    same_words: bool
    cosine_similarity: float
    jaccard_similarity: float
    presets: _containers.RepeatedCompositeFieldContainer[PresetOutcome]
    model: _types_pb2.EmbeddingModel
    judgement: _types_pb2.Judgement
    def __init__(self, same_text: _Optional[bool] = ..., same_words: _Optional[bool] = ..., cosine_similarity: _Optional[float] = ..., jaccard_similarity: _Optional[float] = ..., presets: _Optional[_Iterable[_Union[PresetOutcome, _Mapping]]] = ..., model: _Optional[_Union[_types_pb2.EmbeddingModel, _Mapping]] = ..., judgement: _Optional[_Union[_types_pb2.Judgement, _Mapping]] = ...) -> None: ...

class CalibrateRequest(_message.Message):
    __slots__ = ("operation_id", "agent_id", "collection", "false_merge_budget", "dry_run")
    OPERATION_ID_FIELD_NUMBER: _ClassVar[int]
    AGENT_ID_FIELD_NUMBER: _ClassVar[int]
    COLLECTION_FIELD_NUMBER: _ClassVar[int]
    FALSE_MERGE_BUDGET_FIELD_NUMBER: _ClassVar[int]
    DRY_RUN_FIELD_NUMBER: _ClassVar[int]
    operation_id: str
    agent_id: str
    collection: str
    false_merge_budget: float
    dry_run: bool
    def __init__(self, operation_id: _Optional[str] = ..., agent_id: _Optional[str] = ..., collection: _Optional[str] = ..., false_merge_budget: _Optional[float] = ..., dry_run: _Optional[bool] = ...) -> None: ...

class CurvePoint(_message.Message):
    __slots__ = ("at_least", "false_merge_rate", "duplicate_recall")
    AT_LEAST_FIELD_NUMBER: _ClassVar[int]
    FALSE_MERGE_RATE_FIELD_NUMBER: _ClassVar[int]
    DUPLICATE_RECALL_FIELD_NUMBER: _ClassVar[int]
    at_least: float
    false_merge_rate: float
    duplicate_recall: float
    def __init__(self, at_least: _Optional[float] = ..., false_merge_rate: _Optional[float] = ..., duplicate_recall: _Optional[float] = ...) -> None: ...

class ClassFigures(_message.Message):
    __slots__ = ("name", "language", "same_count", "found_count", "different_count", "merged_count")
    NAME_FIELD_NUMBER: _ClassVar[int]
    LANGUAGE_FIELD_NUMBER: _ClassVar[int]
    SAME_COUNT_FIELD_NUMBER: _ClassVar[int]
    FOUND_COUNT_FIELD_NUMBER: _ClassVar[int]
    DIFFERENT_COUNT_FIELD_NUMBER: _ClassVar[int]
    MERGED_COUNT_FIELD_NUMBER: _ClassVar[int]
    name: str
    language: str
    same_count: int
    found_count: int
    different_count: int
    merged_count: int
    def __init__(self, name: _Optional[str] = ..., language: _Optional[str] = ..., same_count: _Optional[int] = ..., found_count: _Optional[int] = ..., different_count: _Optional[int] = ..., merged_count: _Optional[int] = ...) -> None: ...

class CalibrateResponse(_message.Message):
    __slots__ = ("calibration", "curve", "classes", "replayed", "operation_id", "revision", "dismissed_count", "merged_count")
    CALIBRATION_FIELD_NUMBER: _ClassVar[int]
    CURVE_FIELD_NUMBER: _ClassVar[int]
    CLASSES_FIELD_NUMBER: _ClassVar[int]
    REPLAYED_FIELD_NUMBER: _ClassVar[int]
    OPERATION_ID_FIELD_NUMBER: _ClassVar[int]
    REVISION_FIELD_NUMBER: _ClassVar[int]
    DISMISSED_COUNT_FIELD_NUMBER: _ClassVar[int]
    MERGED_COUNT_FIELD_NUMBER: _ClassVar[int]
    calibration: _types_pb2.Calibration
    curve: _containers.RepeatedCompositeFieldContainer[CurvePoint]
    classes: _containers.RepeatedCompositeFieldContainer[ClassFigures]
    replayed: bool
    operation_id: str
    revision: int
    dismissed_count: int
    merged_count: int
    def __init__(self, calibration: _Optional[_Union[_types_pb2.Calibration, _Mapping]] = ..., curve: _Optional[_Iterable[_Union[CurvePoint, _Mapping]]] = ..., classes: _Optional[_Iterable[_Union[ClassFigures, _Mapping]]] = ..., replayed: _Optional[bool] = ..., operation_id: _Optional[str] = ..., revision: _Optional[int] = ..., dismissed_count: _Optional[int] = ..., merged_count: _Optional[int] = ...) -> None: ...

class StatsRequest(_message.Message):
    __slots__ = ("collection", "agent_id")
    COLLECTION_FIELD_NUMBER: _ClassVar[int]
    AGENT_ID_FIELD_NUMBER: _ClassVar[int]
    collection: str
    agent_id: str
    def __init__(self, collection: _Optional[str] = ..., agent_id: _Optional[str] = ...) -> None: ...

class CollectionStats(_message.Message):
    __slots__ = ("name", "active_count", "revision", "total_count", "forgotten_count", "link_count", "saved_count", "refused_counts", "recall_count", "hnsw_count", "file_bytes", "array_bytes", "state", "queue_length", "kind_counts", "recall_at_k", "recall_rated_count", "tidy", "verify", "checkpoint", "reembed", "unscored_count", "open_question_count", "counted_from_time", "recall_low")
    class RefusedCountsEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: int
        def __init__(self, key: _Optional[str] = ..., value: _Optional[int] = ...) -> None: ...
    class KindCountsEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: int
        def __init__(self, key: _Optional[str] = ..., value: _Optional[int] = ...) -> None: ...
    NAME_FIELD_NUMBER: _ClassVar[int]
    ACTIVE_COUNT_FIELD_NUMBER: _ClassVar[int]
    REVISION_FIELD_NUMBER: _ClassVar[int]
    TOTAL_COUNT_FIELD_NUMBER: _ClassVar[int]
    FORGOTTEN_COUNT_FIELD_NUMBER: _ClassVar[int]
    LINK_COUNT_FIELD_NUMBER: _ClassVar[int]
    SAVED_COUNT_FIELD_NUMBER: _ClassVar[int]
    REFUSED_COUNTS_FIELD_NUMBER: _ClassVar[int]
    RECALL_COUNT_FIELD_NUMBER: _ClassVar[int]
    HNSW_COUNT_FIELD_NUMBER: _ClassVar[int]
    FILE_BYTES_FIELD_NUMBER: _ClassVar[int]
    ARRAY_BYTES_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    QUEUE_LENGTH_FIELD_NUMBER: _ClassVar[int]
    KIND_COUNTS_FIELD_NUMBER: _ClassVar[int]
    RECALL_AT_K_FIELD_NUMBER: _ClassVar[int]
    RECALL_RATED_COUNT_FIELD_NUMBER: _ClassVar[int]
    TIDY_FIELD_NUMBER: _ClassVar[int]
    VERIFY_FIELD_NUMBER: _ClassVar[int]
    CHECKPOINT_FIELD_NUMBER: _ClassVar[int]
    REEMBED_FIELD_NUMBER: _ClassVar[int]
    UNSCORED_COUNT_FIELD_NUMBER: _ClassVar[int]
    OPEN_QUESTION_COUNT_FIELD_NUMBER: _ClassVar[int]
    COUNTED_FROM_TIME_FIELD_NUMBER: _ClassVar[int]
    RECALL_LOW_FIELD_NUMBER: _ClassVar[int]
    name: str
    active_count: int
    revision: int
    total_count: int
    forgotten_count: int
    link_count: int
    saved_count: int
    refused_counts: _containers.ScalarMap[str, int]
    recall_count: int
    hnsw_count: int
    file_bytes: int
    array_bytes: int
    state: str
    queue_length: int
    kind_counts: _containers.ScalarMap[str, int]
    recall_at_k: float
    recall_rated_count: int
    tidy: _tidy_pb2.TidyStats
    verify: _verify_pb2.VerifyStats
    checkpoint: _checkpoint_pb2.CheckpointStats
    reembed: _reembed_pb2.ReembedStats
    unscored_count: int
    open_question_count: int
    counted_from_time: _timestamp_pb2.Timestamp
    recall_low: bool
    def __init__(self, name: _Optional[str] = ..., active_count: _Optional[int] = ..., revision: _Optional[int] = ..., total_count: _Optional[int] = ..., forgotten_count: _Optional[int] = ..., link_count: _Optional[int] = ..., saved_count: _Optional[int] = ..., refused_counts: _Optional[_Mapping[str, int]] = ..., recall_count: _Optional[int] = ..., hnsw_count: _Optional[int] = ..., file_bytes: _Optional[int] = ..., array_bytes: _Optional[int] = ..., state: _Optional[str] = ..., queue_length: _Optional[int] = ..., kind_counts: _Optional[_Mapping[str, int]] = ..., recall_at_k: _Optional[float] = ..., recall_rated_count: _Optional[int] = ..., tidy: _Optional[_Union[_tidy_pb2.TidyStats, _Mapping]] = ..., verify: _Optional[_Union[_verify_pb2.VerifyStats, _Mapping]] = ..., checkpoint: _Optional[_Union[_checkpoint_pb2.CheckpointStats, _Mapping]] = ..., reembed: _Optional[_Union[_reembed_pb2.ReembedStats, _Mapping]] = ..., unscored_count: _Optional[int] = ..., open_question_count: _Optional[int] = ..., counted_from_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., recall_low: _Optional[bool] = ...) -> None: ...

class StatsResponse(_message.Message):
    __slots__ = ("collections", "version", "started_time", "cpu_s", "embedder_cpu_s", "rss_bytes", "model", "embedder_state", "collection_count", "revision", "snapshots", "open", "lost_catalogue_revisions", "judge_cpu_s", "expiries", "daemon")
    COLLECTIONS_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    STARTED_TIME_FIELD_NUMBER: _ClassVar[int]
    CPU_S_FIELD_NUMBER: _ClassVar[int]
    EMBEDDER_CPU_S_FIELD_NUMBER: _ClassVar[int]
    RSS_BYTES_FIELD_NUMBER: _ClassVar[int]
    MODEL_FIELD_NUMBER: _ClassVar[int]
    EMBEDDER_STATE_FIELD_NUMBER: _ClassVar[int]
    COLLECTION_COUNT_FIELD_NUMBER: _ClassVar[int]
    REVISION_FIELD_NUMBER: _ClassVar[int]
    SNAPSHOTS_FIELD_NUMBER: _ClassVar[int]
    OPEN_FIELD_NUMBER: _ClassVar[int]
    LOST_CATALOGUE_REVISIONS_FIELD_NUMBER: _ClassVar[int]
    JUDGE_CPU_S_FIELD_NUMBER: _ClassVar[int]
    EXPIRIES_FIELD_NUMBER: _ClassVar[int]
    DAEMON_FIELD_NUMBER: _ClassVar[int]
    collections: _containers.RepeatedCompositeFieldContainer[CollectionStats]
    version: str
    started_time: _timestamp_pb2.Timestamp
    cpu_s: float
    embedder_cpu_s: float
    rss_bytes: int
    model: _types_pb2.EmbeddingModel
    embedder_state: str
    collection_count: int
    revision: int
    snapshots: _snapshot_pb2.SnapshotStats
    open: OpenCollections
    lost_catalogue_revisions: str
    judge_cpu_s: float
    expiries: _containers.RepeatedCompositeFieldContainer[Expiry]
    daemon: int
    def __init__(self, collections: _Optional[_Iterable[_Union[CollectionStats, _Mapping]]] = ..., version: _Optional[str] = ..., started_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., cpu_s: _Optional[float] = ..., embedder_cpu_s: _Optional[float] = ..., rss_bytes: _Optional[int] = ..., model: _Optional[_Union[_types_pb2.EmbeddingModel, _Mapping]] = ..., embedder_state: _Optional[str] = ..., collection_count: _Optional[int] = ..., revision: _Optional[int] = ..., snapshots: _Optional[_Union[_snapshot_pb2.SnapshotStats, _Mapping]] = ..., open: _Optional[_Union[OpenCollections, _Mapping]] = ..., lost_catalogue_revisions: _Optional[str] = ..., judge_cpu_s: _Optional[float] = ..., expiries: _Optional[_Iterable[_Union[Expiry, _Mapping]]] = ..., daemon: _Optional[int] = ...) -> None: ...

class Expiry(_message.Message):
    __slots__ = ("what", "time")
    WHAT_FIELD_NUMBER: _ClassVar[int]
    TIME_FIELD_NUMBER: _ClassVar[int]
    what: str
    time: _timestamp_pb2.Timestamp
    def __init__(self, what: _Optional[str] = ..., time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ...) -> None: ...

class OpenCollections(_message.Message):
    __slots__ = ("count", "idle_closed_count", "memory_bytes", "memory_budget_bytes")
    COUNT_FIELD_NUMBER: _ClassVar[int]
    IDLE_CLOSED_COUNT_FIELD_NUMBER: _ClassVar[int]
    MEMORY_BYTES_FIELD_NUMBER: _ClassVar[int]
    MEMORY_BUDGET_BYTES_FIELD_NUMBER: _ClassVar[int]
    count: int
    idle_closed_count: int
    memory_bytes: int
    memory_budget_bytes: int
    def __init__(self, count: _Optional[int] = ..., idle_closed_count: _Optional[int] = ..., memory_bytes: _Optional[int] = ..., memory_budget_bytes: _Optional[int] = ...) -> None: ...

class PurgeRequest(_message.Message):
    __slots__ = ("operation_id", "agent_id", "collection", "ids", "reason", "dry_run", "snapshots")
    OPERATION_ID_FIELD_NUMBER: _ClassVar[int]
    AGENT_ID_FIELD_NUMBER: _ClassVar[int]
    COLLECTION_FIELD_NUMBER: _ClassVar[int]
    IDS_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    DRY_RUN_FIELD_NUMBER: _ClassVar[int]
    SNAPSHOTS_FIELD_NUMBER: _ClassVar[int]
    operation_id: str
    agent_id: str
    collection: str
    ids: _containers.RepeatedScalarFieldContainer[str]
    reason: str
    dry_run: bool
    snapshots: _snapshot_pb2.SnapshotUse
    def __init__(self, operation_id: _Optional[str] = ..., agent_id: _Optional[str] = ..., collection: _Optional[str] = ..., ids: _Optional[_Iterable[str]] = ..., reason: _Optional[str] = ..., dry_run: _Optional[bool] = ..., snapshots: _Optional[_Union[_snapshot_pb2.SnapshotUse, str]] = ...) -> None: ...

class PurgeResponse(_message.Message):
    __slots__ = ("revision", "purged_ids", "missing_ids", "version_count", "reply_count", "episode_count", "dry_run", "replayed", "operation_id", "snapshots")
    REVISION_FIELD_NUMBER: _ClassVar[int]
    PURGED_IDS_FIELD_NUMBER: _ClassVar[int]
    MISSING_IDS_FIELD_NUMBER: _ClassVar[int]
    VERSION_COUNT_FIELD_NUMBER: _ClassVar[int]
    REPLY_COUNT_FIELD_NUMBER: _ClassVar[int]
    EPISODE_COUNT_FIELD_NUMBER: _ClassVar[int]
    DRY_RUN_FIELD_NUMBER: _ClassVar[int]
    REPLAYED_FIELD_NUMBER: _ClassVar[int]
    OPERATION_ID_FIELD_NUMBER: _ClassVar[int]
    SNAPSHOTS_FIELD_NUMBER: _ClassVar[int]
    revision: int
    purged_ids: _containers.RepeatedScalarFieldContainer[str]
    missing_ids: _containers.RepeatedScalarFieldContainer[str]
    version_count: int
    reply_count: int
    episode_count: int
    dry_run: bool
    replayed: bool
    operation_id: str
    snapshots: _containers.RepeatedCompositeFieldContainer[_snapshot_pb2.HoldingSnapshot]
    def __init__(self, revision: _Optional[int] = ..., purged_ids: _Optional[_Iterable[str]] = ..., missing_ids: _Optional[_Iterable[str]] = ..., version_count: _Optional[int] = ..., reply_count: _Optional[int] = ..., episode_count: _Optional[int] = ..., dry_run: _Optional[bool] = ..., replayed: _Optional[bool] = ..., operation_id: _Optional[str] = ..., snapshots: _Optional[_Iterable[_Union[_snapshot_pb2.HoldingSnapshot, _Mapping]]] = ...) -> None: ...
