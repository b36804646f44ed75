from google.protobuf import field_mask_pb2 as _field_mask_pb2
from google.rpc import status_pb2 as _status_pb2
from totonoe.v1 import access_pb2 as _access_pb2
from totonoe.v1 import audit_pb2 as _audit_pb2
from totonoe.v1 import cleanup_pb2 as _cleanup_pb2
from totonoe.v1 import consolidate_pb2 as _consolidate_pb2
from totonoe.v1 import errors_pb2 as _errors_pb2
from totonoe.v1 import graph_pb2 as _graph_pb2
from totonoe.v1 import operations_pb2 as _operations_pb2
from totonoe.v1 import questions_pb2 as _questions_pb2
from totonoe.v1 import tidy_pb2 as _tidy_pb2
from totonoe.v1 import types_pb2 as _types_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
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

class RecallMode(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    RECALL_MODE_UNSPECIFIED: _ClassVar[RecallMode]
    RECALL_MODE_HYBRID: _ClassVar[RecallMode]
    RECALL_MODE_VECTOR: _ClassVar[RecallMode]
    RECALL_MODE_LEXICAL: _ClassVar[RecallMode]

class DiversityEffect(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    DIVERSITY_EFFECT_UNSPECIFIED: _ClassVar[DiversityEffect]
    DIVERSITY_EFFECT_NONE: _ClassVar[DiversityEffect]
    DIVERSITY_EFFECT_RAISED: _ClassVar[DiversityEffect]
    DIVERSITY_EFFECT_LOWERED: _ClassVar[DiversityEffect]
    DIVERSITY_EFFECT_OVER_BUDGET: _ClassVar[DiversityEffect]
    DIVERSITY_EFFECT_NEWER: _ClassVar[DiversityEffect]

class WhyNotOutcome(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    WHY_NOT_OUTCOME_UNSPECIFIED: _ClassVar[WhyNotOutcome]
    WHY_NOT_OUTCOME_CAME: _ClassVar[WhyNotOutcome]
    WHY_NOT_OUTCOME_NOT_THERE: _ClassVar[WhyNotOutcome]
    WHY_NOT_OUTCOME_EXCLUDED: _ClassVar[WhyNotOutcome]
    WHY_NOT_OUTCOME_NO_MATCH: _ClassVar[WhyNotOutcome]
    WHY_NOT_OUTCOME_OUT_OF_REACH: _ClassVar[WhyNotOutcome]
    WHY_NOT_OUTCOME_MISSED: _ClassVar[WhyNotOutcome]
    WHY_NOT_OUTCOME_BEYOND_K: _ClassVar[WhyNotOutcome]
    WHY_NOT_OUTCOME_CROWDED_OUT: _ClassVar[WhyNotOutcome]
    WHY_NOT_OUTCOME_TOO_WEAK: _ClassVar[WhyNotOutcome]
    WHY_NOT_OUTCOME_FOLDED: _ClassVar[WhyNotOutcome]
RECALL_MODE_UNSPECIFIED: RecallMode
RECALL_MODE_HYBRID: RecallMode
RECALL_MODE_VECTOR: RecallMode
RECALL_MODE_LEXICAL: RecallMode
DIVERSITY_EFFECT_UNSPECIFIED: DiversityEffect
DIVERSITY_EFFECT_NONE: DiversityEffect
DIVERSITY_EFFECT_RAISED: DiversityEffect
DIVERSITY_EFFECT_LOWERED: DiversityEffect
DIVERSITY_EFFECT_OVER_BUDGET: DiversityEffect
DIVERSITY_EFFECT_NEWER: DiversityEffect
WHY_NOT_OUTCOME_UNSPECIFIED: WhyNotOutcome
WHY_NOT_OUTCOME_CAME: WhyNotOutcome
WHY_NOT_OUTCOME_NOT_THERE: WhyNotOutcome
WHY_NOT_OUTCOME_EXCLUDED: WhyNotOutcome
WHY_NOT_OUTCOME_NO_MATCH: WhyNotOutcome
WHY_NOT_OUTCOME_OUT_OF_REACH: WhyNotOutcome
WHY_NOT_OUTCOME_MISSED: WhyNotOutcome
WHY_NOT_OUTCOME_BEYOND_K: WhyNotOutcome
WHY_NOT_OUTCOME_CROWDED_OUT: WhyNotOutcome
WHY_NOT_OUTCOME_TOO_WEAK: WhyNotOutcome
WHY_NOT_OUTCOME_FOLDED: WhyNotOutcome

class RememberRequest(_message.Message):
    __slots__ = ("collection", "operation_id", "agent_id", "memory", "force", "on_update", "on_contradiction", "on_refinement", "supersede_ids", "cosine_distance_below", "link_distance_below", "links_max", "distinct_from", "on_contained")
    COLLECTION_FIELD_NUMBER: _ClassVar[int]
    OPERATION_ID_FIELD_NUMBER: _ClassVar[int]
    AGENT_ID_FIELD_NUMBER: _ClassVar[int]
    MEMORY_FIELD_NUMBER: _ClassVar[int]
    FORCE_FIELD_NUMBER: _ClassVar[int]
    ON_UPDATE_FIELD_NUMBER: _ClassVar[int]
    ON_CONTRADICTION_FIELD_NUMBER: _ClassVar[int]
    ON_REFINEMENT_FIELD_NUMBER: _ClassVar[int]
    SUPERSEDE_IDS_FIELD_NUMBER: _ClassVar[int]
    COSINE_DISTANCE_BELOW_FIELD_NUMBER: _ClassVar[int]
    LINK_DISTANCE_BELOW_FIELD_NUMBER: _ClassVar[int]
    LINKS_MAX_FIELD_NUMBER: _ClassVar[int]
    DISTINCT_FROM_FIELD_NUMBER: _ClassVar[int]
    ON_CONTAINED_FIELD_NUMBER: _ClassVar[int]
    collection: str
    operation_id: str
    agent_id: str
    memory: _types_pb2.MemoryDraft
    force: bool
    on_update: _types_pb2.Action
    on_contradiction: _types_pb2.Action
    on_refinement: _types_pb2.Action
    supersede_ids: _containers.RepeatedScalarFieldContainer[str]
    cosine_distance_below: float
    link_distance_below: float
    links_max: int
    distinct_from: _containers.RepeatedScalarFieldContainer[str]
    on_contained: _types_pb2.Action
    def __init__(self, collection: _Optional[str] = ..., operation_id: _Optional[str] = ..., agent_id: _Optional[str] = ..., memory: _Optional[_Union[_types_pb2.MemoryDraft, _Mapping]] = ..., force: _Optional[bool] = ..., on_update: _Optional[_Union[_types_pb2.Action, str]] = ..., on_contradiction: _Optional[_Union[_types_pb2.Action, str]] = ..., on_refinement: _Optional[_Union[_types_pb2.Action, str]] = ..., supersede_ids: _Optional[_Iterable[str]] = ..., cosine_distance_below: _Optional[float] = ..., link_distance_below: _Optional[float] = ..., links_max: _Optional[int] = ..., distinct_from: _Optional[_Iterable[str]] = ..., on_contained: _Optional[_Union[_types_pb2.Action, str]] = ...) -> None: ...

class RememberResponse(_message.Message):
    __slots__ = ("revision", "saved", "memory_id", "duplicate", "method", "similarity", "similar", "links", "layers", "replayed", "operation_id", "verdict", "superseded_ids", "forgotten", "grown_id", "question", "outdated", "maybe_replaced_ids", "nearest", "pending", "advice", "scaffold")
    REVISION_FIELD_NUMBER: _ClassVar[int]
    SAVED_FIELD_NUMBER: _ClassVar[int]
    MEMORY_ID_FIELD_NUMBER: _ClassVar[int]
    DUPLICATE_FIELD_NUMBER: _ClassVar[int]
    METHOD_FIELD_NUMBER: _ClassVar[int]
    SIMILARITY_FIELD_NUMBER: _ClassVar[int]
    SIMILAR_FIELD_NUMBER: _ClassVar[int]
    LINKS_FIELD_NUMBER: _ClassVar[int]
    LAYERS_FIELD_NUMBER: _ClassVar[int]
    REPLAYED_FIELD_NUMBER: _ClassVar[int]
    OPERATION_ID_FIELD_NUMBER: _ClassVar[int]
    VERDICT_FIELD_NUMBER: _ClassVar[int]
    SUPERSEDED_IDS_FIELD_NUMBER: _ClassVar[int]
    FORGOTTEN_FIELD_NUMBER: _ClassVar[int]
    GROWN_ID_FIELD_NUMBER: _ClassVar[int]
    QUESTION_FIELD_NUMBER: _ClassVar[int]
    OUTDATED_FIELD_NUMBER: _ClassVar[int]
    MAYBE_REPLACED_IDS_FIELD_NUMBER: _ClassVar[int]
    NEAREST_FIELD_NUMBER: _ClassVar[int]
    PENDING_FIELD_NUMBER: _ClassVar[int]
    ADVICE_FIELD_NUMBER: _ClassVar[int]
    SCAFFOLD_FIELD_NUMBER: _ClassVar[int]
    revision: int
    saved: bool
    memory_id: str
    duplicate: _types_pb2.Duplicate
    method: _types_pb2.Method
    similarity: float
    similar: _containers.RepeatedCompositeFieldContainer[_types_pb2.SimilarMemory]
    links: _containers.RepeatedCompositeFieldContainer[_types_pb2.Link]
    layers: _containers.RepeatedCompositeFieldContainer[_types_pb2.LayerReport]
    replayed: bool
    operation_id: str
    verdict: _types_pb2.Verdict
    superseded_ids: _containers.RepeatedScalarFieldContainer[str]
    forgotten: _types_pb2.ForgottenMatch
    grown_id: str
    question: _types_pb2.SimilarMemory
    outdated: _types_pb2.OutdatedMatch
    maybe_replaced_ids: _containers.RepeatedScalarFieldContainer[str]
    nearest: _types_pb2.SimilarMemory
    pending: bool
    advice: str
    scaffold: str
    def __init__(self, revision: _Optional[int] = ..., saved: _Optional[bool] = ..., memory_id: _Optional[str] = ..., duplicate: _Optional[_Union[_types_pb2.Duplicate, _Mapping]] = ..., method: _Optional[_Union[_types_pb2.Method, str]] = ..., similarity: _Optional[float] = ..., similar: _Optional[_Iterable[_Union[_types_pb2.SimilarMemory, _Mapping]]] = ..., links: _Optional[_Iterable[_Union[_types_pb2.Link, _Mapping]]] = ..., layers: _Optional[_Iterable[_Union[_types_pb2.LayerReport, _Mapping]]] = ..., replayed: _Optional[bool] = ..., operation_id: _Optional[str] = ..., verdict: _Optional[_Union[_types_pb2.Verdict, str]] = ..., superseded_ids: _Optional[_Iterable[str]] = ..., forgotten: _Optional[_Union[_types_pb2.ForgottenMatch, _Mapping]] = ..., grown_id: _Optional[str] = ..., question: _Optional[_Union[_types_pb2.SimilarMemory, _Mapping]] = ..., outdated: _Optional[_Union[_types_pb2.OutdatedMatch, _Mapping]] = ..., maybe_replaced_ids: _Optional[_Iterable[str]] = ..., nearest: _Optional[_Union[_types_pb2.SimilarMemory, _Mapping]] = ..., pending: _Optional[bool] = ..., advice: _Optional[str] = ..., scaffold: _Optional[str] = ...) -> None: ...

class CheckRequest(_message.Message):
    __slots__ = ("collection", "agent_id", "memory", "supersede_ids", "on_update", "on_contradiction", "on_refinement", "cosine_distance_below", "distinct_from", "on_contained")
    COLLECTION_FIELD_NUMBER: _ClassVar[int]
    AGENT_ID_FIELD_NUMBER: _ClassVar[int]
    MEMORY_FIELD_NUMBER: _ClassVar[int]
    SUPERSEDE_IDS_FIELD_NUMBER: _ClassVar[int]
    ON_UPDATE_FIELD_NUMBER: _ClassVar[int]
    ON_CONTRADICTION_FIELD_NUMBER: _ClassVar[int]
    ON_REFINEMENT_FIELD_NUMBER: _ClassVar[int]
    COSINE_DISTANCE_BELOW_FIELD_NUMBER: _ClassVar[int]
    DISTINCT_FROM_FIELD_NUMBER: _ClassVar[int]
    ON_CONTAINED_FIELD_NUMBER: _ClassVar[int]
    collection: str
    agent_id: str
    memory: _types_pb2.MemoryDraft
    supersede_ids: _containers.RepeatedScalarFieldContainer[str]
    on_update: _types_pb2.Action
    on_contradiction: _types_pb2.Action
    on_refinement: _types_pb2.Action
    cosine_distance_below: float
    distinct_from: _containers.RepeatedScalarFieldContainer[str]
    on_contained: _types_pb2.Action
    def __init__(self, collection: _Optional[str] = ..., agent_id: _Optional[str] = ..., memory: _Optional[_Union[_types_pb2.MemoryDraft, _Mapping]] = ..., supersede_ids: _Optional[_Iterable[str]] = ..., on_update: _Optional[_Union[_types_pb2.Action, str]] = ..., on_contradiction: _Optional[_Union[_types_pb2.Action, str]] = ..., on_refinement: _Optional[_Union[_types_pb2.Action, str]] = ..., cosine_distance_below: _Optional[float] = ..., distinct_from: _Optional[_Iterable[str]] = ..., on_contained: _Optional[_Union[_types_pb2.Action, str]] = ...) -> None: ...

class CheckResponse(_message.Message):
    __slots__ = ("revision", "would_save", "duplicate", "method", "similarity", "similar", "layers", "verdict", "forgotten", "grown_id", "superseded_ids", "question", "outdated", "maybe_replaced_ids", "nearest", "pending", "advice", "scaffold")
    REVISION_FIELD_NUMBER: _ClassVar[int]
    WOULD_SAVE_FIELD_NUMBER: _ClassVar[int]
    DUPLICATE_FIELD_NUMBER: _ClassVar[int]
    METHOD_FIELD_NUMBER: _ClassVar[int]
    SIMILARITY_FIELD_NUMBER: _ClassVar[int]
    SIMILAR_FIELD_NUMBER: _ClassVar[int]
    LAYERS_FIELD_NUMBER: _ClassVar[int]
    VERDICT_FIELD_NUMBER: _ClassVar[int]
    FORGOTTEN_FIELD_NUMBER: _ClassVar[int]
    GROWN_ID_FIELD_NUMBER: _ClassVar[int]
    SUPERSEDED_IDS_FIELD_NUMBER: _ClassVar[int]
    QUESTION_FIELD_NUMBER: _ClassVar[int]
    OUTDATED_FIELD_NUMBER: _ClassVar[int]
    MAYBE_REPLACED_IDS_FIELD_NUMBER: _ClassVar[int]
    NEAREST_FIELD_NUMBER: _ClassVar[int]
    PENDING_FIELD_NUMBER: _ClassVar[int]
    ADVICE_FIELD_NUMBER: _ClassVar[int]
    SCAFFOLD_FIELD_NUMBER: _ClassVar[int]
    revision: int
    would_save: bool
    duplicate: _types_pb2.Duplicate
    method: _types_pb2.Method
    similarity: float
    similar: _containers.RepeatedCompositeFieldContainer[_types_pb2.SimilarMemory]
    layers: _containers.RepeatedCompositeFieldContainer[_types_pb2.LayerReport]
    verdict: _types_pb2.Verdict
    forgotten: _types_pb2.ForgottenMatch
    grown_id: str
    superseded_ids: _containers.RepeatedScalarFieldContainer[str]
    question: _types_pb2.SimilarMemory
    outdated: _types_pb2.OutdatedMatch
    maybe_replaced_ids: _containers.RepeatedScalarFieldContainer[str]
    nearest: _types_pb2.SimilarMemory
    pending: bool
    advice: str
    scaffold: str
    def __init__(self, revision: _Optional[int] = ..., would_save: _Optional[bool] = ..., duplicate: _Optional[_Union[_types_pb2.Duplicate, _Mapping]] = ..., method: _Optional[_Union[_types_pb2.Method, str]] = ..., similarity: _Optional[float] = ..., similar: _Optional[_Iterable[_Union[_types_pb2.SimilarMemory, _Mapping]]] = ..., layers: _Optional[_Iterable[_Union[_types_pb2.LayerReport, _Mapping]]] = ..., verdict: _Optional[_Union[_types_pb2.Verdict, str]] = ..., forgotten: _Optional[_Union[_types_pb2.ForgottenMatch, _Mapping]] = ..., grown_id: _Optional[str] = ..., superseded_ids: _Optional[_Iterable[str]] = ..., question: _Optional[_Union[_types_pb2.SimilarMemory, _Mapping]] = ..., outdated: _Optional[_Union[_types_pb2.OutdatedMatch, _Mapping]] = ..., maybe_replaced_ids: _Optional[_Iterable[str]] = ..., nearest: _Optional[_Union[_types_pb2.SimilarMemory, _Mapping]] = ..., pending: _Optional[bool] = ..., advice: _Optional[str] = ..., scaffold: _Optional[str] = ...) -> None: ...

class RememberManyRequest(_message.Message):
    __slots__ = ("items",)
    ITEMS_FIELD_NUMBER: _ClassVar[int]
    items: _containers.RepeatedCompositeFieldContainer[RememberRequest]
    def __init__(self, items: _Optional[_Iterable[_Union[RememberRequest, _Mapping]]] = ...) -> None: ...

class RememberManyResponse(_message.Message):
    __slots__ = ("results",)
    RESULTS_FIELD_NUMBER: _ClassVar[int]
    results: _containers.RepeatedCompositeFieldContainer[RememberManyResult]
    def __init__(self, results: _Optional[_Iterable[_Union[RememberManyResult, _Mapping]]] = ...) -> None: ...

class RememberManyResult(_message.Message):
    __slots__ = ("answer", "error")
    ANSWER_FIELD_NUMBER: _ClassVar[int]
    ERROR_FIELD_NUMBER: _ClassVar[int]
    answer: RememberResponse
    error: ItemError
    def __init__(self, answer: _Optional[_Union[RememberResponse, _Mapping]] = ..., error: _Optional[_Union[ItemError, _Mapping]] = ...) -> None: ...

class ItemError(_message.Message):
    __slots__ = ("code", "reason", "message", "details")
    class DetailsEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    CODE_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_FIELD_NUMBER: _ClassVar[int]
    DETAILS_FIELD_NUMBER: _ClassVar[int]
    code: int
    reason: str
    message: str
    details: _containers.ScalarMap[str, str]
    def __init__(self, code: _Optional[int] = ..., reason: _Optional[str] = ..., message: _Optional[str] = ..., details: _Optional[_Mapping[str, str]] = ...) -> None: ...

class MultiplexRequest(_message.Message):
    __slots__ = ("id", "remember", "check", "recall", "update", "forget", "cancel", "timeout_s", "traceparent", "request_id")
    ID_FIELD_NUMBER: _ClassVar[int]
    REMEMBER_FIELD_NUMBER: _ClassVar[int]
    CHECK_FIELD_NUMBER: _ClassVar[int]
    RECALL_FIELD_NUMBER: _ClassVar[int]
    UPDATE_FIELD_NUMBER: _ClassVar[int]
    FORGET_FIELD_NUMBER: _ClassVar[int]
    CANCEL_FIELD_NUMBER: _ClassVar[int]
    TIMEOUT_S_FIELD_NUMBER: _ClassVar[int]
    TRACEPARENT_FIELD_NUMBER: _ClassVar[int]
    REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    id: int
    remember: RememberRequest
    check: CheckRequest
    recall: RecallRequest
    update: UpdateRequest
    forget: ForgetRequest
    cancel: bool
    timeout_s: float
    traceparent: str
    request_id: str
    def __init__(self, id: _Optional[int] = ..., remember: _Optional[_Union[RememberRequest, _Mapping]] = ..., check: _Optional[_Union[CheckRequest, _Mapping]] = ..., recall: _Optional[_Union[RecallRequest, _Mapping]] = ..., update: _Optional[_Union[UpdateRequest, _Mapping]] = ..., forget: _Optional[_Union[ForgetRequest, _Mapping]] = ..., cancel: _Optional[bool] = ..., timeout_s: _Optional[float] = ..., traceparent: _Optional[str] = ..., request_id: _Optional[str] = ...) -> None: ...

class MultiplexResponse(_message.Message):
    __slots__ = ("id", "remember", "check", "recall", "update", "forget", "error", "opened")
    ID_FIELD_NUMBER: _ClassVar[int]
    REMEMBER_FIELD_NUMBER: _ClassVar[int]
    CHECK_FIELD_NUMBER: _ClassVar[int]
    RECALL_FIELD_NUMBER: _ClassVar[int]
    UPDATE_FIELD_NUMBER: _ClassVar[int]
    FORGET_FIELD_NUMBER: _ClassVar[int]
    ERROR_FIELD_NUMBER: _ClassVar[int]
    OPENED_FIELD_NUMBER: _ClassVar[int]
    id: int
    remember: RememberResponse
    check: CheckResponse
    recall: RecallResponse
    update: UpdateResponse
    forget: ForgetResponse
    error: _status_pb2.Status
    opened: MultiplexOpened
    def __init__(self, id: _Optional[int] = ..., remember: _Optional[_Union[RememberResponse, _Mapping]] = ..., check: _Optional[_Union[CheckResponse, _Mapping]] = ..., recall: _Optional[_Union[RecallResponse, _Mapping]] = ..., update: _Optional[_Union[UpdateResponse, _Mapping]] = ..., forget: _Optional[_Union[ForgetResponse, _Mapping]] = ..., error: _Optional[_Union[_status_pb2.Status, _Mapping]] = ..., opened: _Optional[_Union[MultiplexOpened, _Mapping]] = ...) -> None: ...

class MultiplexOpened(_message.Message):
    __slots__ = ("unanswered_max",)
    UNANSWERED_MAX_FIELD_NUMBER: _ClassVar[int]
    unanswered_max: int
    def __init__(self, unanswered_max: _Optional[int] = ...) -> None: ...

class RecallRequest(_message.Message):
    __slots__ = ("collection", "agent_id", "text", "vector", "k", "filter", "mode", "diversity", "include_vectors", "no_touch", "as_of", "min_relevance", "fold", "min_revision")
    COLLECTION_FIELD_NUMBER: _ClassVar[int]
    AGENT_ID_FIELD_NUMBER: _ClassVar[int]
    TEXT_FIELD_NUMBER: _ClassVar[int]
    VECTOR_FIELD_NUMBER: _ClassVar[int]
    K_FIELD_NUMBER: _ClassVar[int]
    FILTER_FIELD_NUMBER: _ClassVar[int]
    MODE_FIELD_NUMBER: _ClassVar[int]
    DIVERSITY_FIELD_NUMBER: _ClassVar[int]
    INCLUDE_VECTORS_FIELD_NUMBER: _ClassVar[int]
    NO_TOUCH_FIELD_NUMBER: _ClassVar[int]
    AS_OF_FIELD_NUMBER: _ClassVar[int]
    MIN_RELEVANCE_FIELD_NUMBER: _ClassVar[int]
    FOLD_FIELD_NUMBER: _ClassVar[int]
    MIN_REVISION_FIELD_NUMBER: _ClassVar[int]
    collection: str
    agent_id: str
    text: str
    vector: bytes
    k: int
    filter: _types_pb2.Filter
    mode: RecallMode
    diversity: _types_pb2.DiversityPolicy
    include_vectors: bool
    no_touch: bool
    as_of: _types_pb2.AsOf
    min_relevance: float
    fold: bool
    min_revision: int
    def __init__(self, collection: _Optional[str] = ..., agent_id: _Optional[str] = ..., text: _Optional[str] = ..., vector: _Optional[bytes] = ..., k: _Optional[int] = ..., filter: _Optional[_Union[_types_pb2.Filter, _Mapping]] = ..., mode: _Optional[_Union[RecallMode, str]] = ..., diversity: _Optional[_Union[_types_pb2.DiversityPolicy, _Mapping]] = ..., include_vectors: _Optional[bool] = ..., no_touch: _Optional[bool] = ..., as_of: _Optional[_Union[_types_pb2.AsOf, _Mapping]] = ..., min_relevance: _Optional[float] = ..., fold: _Optional[bool] = ..., min_revision: _Optional[int] = ...) -> None: ...

class FoldedHit(_message.Message):
    __slots__ = ("memory", "judgement")
    MEMORY_FIELD_NUMBER: _ClassVar[int]
    JUDGEMENT_FIELD_NUMBER: _ClassVar[int]
    memory: _types_pb2.Memory
    judgement: _types_pb2.Judgement
    def __init__(self, memory: _Optional[_Union[_types_pb2.Memory, _Mapping]] = ..., judgement: _Optional[_Union[_types_pb2.Judgement, _Mapping]] = ...) -> None: ...

class OtherMemory(_message.Message):
    __slots__ = ("memory_id", "age", "snippet")
    MEMORY_ID_FIELD_NUMBER: _ClassVar[int]
    AGE_FIELD_NUMBER: _ClassVar[int]
    SNIPPET_FIELD_NUMBER: _ClassVar[int]
    memory_id: str
    age: str
    snippet: str
    def __init__(self, memory_id: _Optional[str] = ..., age: _Optional[str] = ..., snippet: _Optional[str] = ...) -> None: ...

class Hit(_message.Message):
    __slots__ = ("memory", "cosine_similarity", "lexical_similarity", "vector_rank", "lexical_rank", "fused_rank", "diversity", "effective_confidence", "relevance", "also", "also_count", "updated_by", "contradicted_by", "outdated", "context")
    MEMORY_FIELD_NUMBER: _ClassVar[int]
    COSINE_SIMILARITY_FIELD_NUMBER: _ClassVar[int]
    LEXICAL_SIMILARITY_FIELD_NUMBER: _ClassVar[int]
    VECTOR_RANK_FIELD_NUMBER: _ClassVar[int]
    LEXICAL_RANK_FIELD_NUMBER: _ClassVar[int]
    FUSED_RANK_FIELD_NUMBER: _ClassVar[int]
    DIVERSITY_FIELD_NUMBER: _ClassVar[int]
    EFFECTIVE_CONFIDENCE_FIELD_NUMBER: _ClassVar[int]
    RELEVANCE_FIELD_NUMBER: _ClassVar[int]
    ALSO_FIELD_NUMBER: _ClassVar[int]
    ALSO_COUNT_FIELD_NUMBER: _ClassVar[int]
    UPDATED_BY_FIELD_NUMBER: _ClassVar[int]
    CONTRADICTED_BY_FIELD_NUMBER: _ClassVar[int]
    OUTDATED_FIELD_NUMBER: _ClassVar[int]
    CONTEXT_FIELD_NUMBER: _ClassVar[int]
    memory: _types_pb2.Memory
    cosine_similarity: float
    lexical_similarity: float
    vector_rank: int
    lexical_rank: int
    fused_rank: int
    diversity: DiversityEffect
    effective_confidence: float
    relevance: float
    also: _containers.RepeatedCompositeFieldContainer[FoldedHit]
    also_count: int
    updated_by: _containers.RepeatedCompositeFieldContainer[OtherMemory]
    contradicted_by: _containers.RepeatedCompositeFieldContainer[OtherMemory]
    outdated: _containers.RepeatedCompositeFieldContainer[OtherMemory]
    context: float
    def __init__(self, memory: _Optional[_Union[_types_pb2.Memory, _Mapping]] = ..., cosine_similarity: _Optional[float] = ..., lexical_similarity: _Optional[float] = ..., vector_rank: _Optional[int] = ..., lexical_rank: _Optional[int] = ..., fused_rank: _Optional[int] = ..., diversity: _Optional[_Union[DiversityEffect, str]] = ..., effective_confidence: _Optional[float] = ..., relevance: _Optional[float] = ..., also: _Optional[_Iterable[_Union[FoldedHit, _Mapping]]] = ..., also_count: _Optional[int] = ..., updated_by: _Optional[_Iterable[_Union[OtherMemory, _Mapping]]] = ..., contradicted_by: _Optional[_Iterable[_Union[OtherMemory, _Mapping]]] = ..., outdated: _Optional[_Iterable[_Union[OtherMemory, _Mapping]]] = ..., context: _Optional[float] = ...) -> None: ...

class RecallResponse(_message.Message):
    __slots__ = ("revision", "hits", "arms", "degraded_because", "vector_search", "filtered_count", "as_of_revision")
    REVISION_FIELD_NUMBER: _ClassVar[int]
    HITS_FIELD_NUMBER: _ClassVar[int]
    ARMS_FIELD_NUMBER: _ClassVar[int]
    DEGRADED_BECAUSE_FIELD_NUMBER: _ClassVar[int]
    VECTOR_SEARCH_FIELD_NUMBER: _ClassVar[int]
    FILTERED_COUNT_FIELD_NUMBER: _ClassVar[int]
    AS_OF_REVISION_FIELD_NUMBER: _ClassVar[int]
    revision: int
    hits: _containers.RepeatedCompositeFieldContainer[Hit]
    arms: _containers.RepeatedScalarFieldContainer[str]
    degraded_because: str
    vector_search: str
    filtered_count: int
    as_of_revision: int
    def __init__(self, revision: _Optional[int] = ..., hits: _Optional[_Iterable[_Union[Hit, _Mapping]]] = ..., arms: _Optional[_Iterable[str]] = ..., degraded_because: _Optional[str] = ..., vector_search: _Optional[str] = ..., filtered_count: _Optional[int] = ..., as_of_revision: _Optional[int] = ...) -> None: ...

class WhyNotRequest(_message.Message):
    __slots__ = ("memory_id", "recall")
    MEMORY_ID_FIELD_NUMBER: _ClassVar[int]
    RECALL_FIELD_NUMBER: _ClassVar[int]
    memory_id: str
    recall: RecallRequest
    def __init__(self, memory_id: _Optional[str] = ..., recall: _Optional[_Union[RecallRequest, _Mapping]] = ...) -> None: ...

class UnmetCondition(_message.Message):
    __slots__ = ("name", "asked", "held")
    NAME_FIELD_NUMBER: _ClassVar[int]
    ASKED_FIELD_NUMBER: _ClassVar[int]
    HELD_FIELD_NUMBER: _ClassVar[int]
    name: str
    asked: str
    held: str
    def __init__(self, name: _Optional[str] = ..., asked: _Optional[str] = ..., held: _Optional[str] = ...) -> None: ...

class ArmStanding(_message.Message):
    __slots__ = ("similarity", "rank", "depth", "candidate")
    SIMILARITY_FIELD_NUMBER: _ClassVar[int]
    RANK_FIELD_NUMBER: _ClassVar[int]
    DEPTH_FIELD_NUMBER: _ClassVar[int]
    CANDIDATE_FIELD_NUMBER: _ClassVar[int]
    similarity: float
    rank: int
    depth: int
    candidate: bool
    def __init__(self, similarity: _Optional[float] = ..., rank: _Optional[int] = ..., depth: _Optional[int] = ..., candidate: _Optional[bool] = ...) -> None: ...

class WhyNotResponse(_message.Message):
    __slots__ = ("revision", "outcome", "memory_id", "k", "place", "unmet", "status", "superseded_by", "confidence", "effective_confidence", "vector", "lexical", "missing_words", "fused_rank", "candidate_count", "passing_count", "diversity", "near_id", "near_similarity", "budget", "vector_search", "degraded_because", "relevance", "context")
    REVISION_FIELD_NUMBER: _ClassVar[int]
    OUTCOME_FIELD_NUMBER: _ClassVar[int]
    MEMORY_ID_FIELD_NUMBER: _ClassVar[int]
    K_FIELD_NUMBER: _ClassVar[int]
    PLACE_FIELD_NUMBER: _ClassVar[int]
    UNMET_FIELD_NUMBER: _ClassVar[int]
    STATUS_FIELD_NUMBER: _ClassVar[int]
    SUPERSEDED_BY_FIELD_NUMBER: _ClassVar[int]
    CONFIDENCE_FIELD_NUMBER: _ClassVar[int]
    EFFECTIVE_CONFIDENCE_FIELD_NUMBER: _ClassVar[int]
    VECTOR_FIELD_NUMBER: _ClassVar[int]
    LEXICAL_FIELD_NUMBER: _ClassVar[int]
    MISSING_WORDS_FIELD_NUMBER: _ClassVar[int]
    FUSED_RANK_FIELD_NUMBER: _ClassVar[int]
    CANDIDATE_COUNT_FIELD_NUMBER: _ClassVar[int]
    PASSING_COUNT_FIELD_NUMBER: _ClassVar[int]
    DIVERSITY_FIELD_NUMBER: _ClassVar[int]
    NEAR_ID_FIELD_NUMBER: _ClassVar[int]
    NEAR_SIMILARITY_FIELD_NUMBER: _ClassVar[int]
    BUDGET_FIELD_NUMBER: _ClassVar[int]
    VECTOR_SEARCH_FIELD_NUMBER: _ClassVar[int]
    DEGRADED_BECAUSE_FIELD_NUMBER: _ClassVar[int]
    RELEVANCE_FIELD_NUMBER: _ClassVar[int]
    CONTEXT_FIELD_NUMBER: _ClassVar[int]
    revision: int
    outcome: WhyNotOutcome
    memory_id: str
    k: int
    place: int
    unmet: _containers.RepeatedCompositeFieldContainer[UnmetCondition]
    status: _types_pb2.Status
    superseded_by: str
    confidence: float
    effective_confidence: float
    vector: ArmStanding
    lexical: ArmStanding
    missing_words: _containers.RepeatedScalarFieldContainer[str]
    fused_rank: int
    candidate_count: int
    passing_count: int
    diversity: DiversityEffect
    near_id: str
    near_similarity: float
    budget: str
    vector_search: str
    degraded_because: str
    relevance: float
    context: float
    def __init__(self, revision: _Optional[int] = ..., outcome: _Optional[_Union[WhyNotOutcome, str]] = ..., memory_id: _Optional[str] = ..., k: _Optional[int] = ..., place: _Optional[int] = ..., unmet: _Optional[_Iterable[_Union[UnmetCondition, _Mapping]]] = ..., status: _Optional[_Union[_types_pb2.Status, str]] = ..., superseded_by: _Optional[str] = ..., confidence: _Optional[float] = ..., effective_confidence: _Optional[float] = ..., vector: _Optional[_Union[ArmStanding, _Mapping]] = ..., lexical: _Optional[_Union[ArmStanding, _Mapping]] = ..., missing_words: _Optional[_Iterable[str]] = ..., fused_rank: _Optional[int] = ..., candidate_count: _Optional[int] = ..., passing_count: _Optional[int] = ..., diversity: _Optional[_Union[DiversityEffect, str]] = ..., near_id: _Optional[str] = ..., near_similarity: _Optional[float] = ..., budget: _Optional[str] = ..., vector_search: _Optional[str] = ..., degraded_because: _Optional[str] = ..., relevance: _Optional[float] = ..., context: _Optional[float] = ...) -> None: ...

class GetRequest(_message.Message):
    __slots__ = ("collection", "agent_id", "ids", "include_vectors", "as_of", "follow_superseded", "touch", "min_revision")
    COLLECTION_FIELD_NUMBER: _ClassVar[int]
    AGENT_ID_FIELD_NUMBER: _ClassVar[int]
    IDS_FIELD_NUMBER: _ClassVar[int]
    INCLUDE_VECTORS_FIELD_NUMBER: _ClassVar[int]
    AS_OF_FIELD_NUMBER: _ClassVar[int]
    FOLLOW_SUPERSEDED_FIELD_NUMBER: _ClassVar[int]
    TOUCH_FIELD_NUMBER: _ClassVar[int]
    MIN_REVISION_FIELD_NUMBER: _ClassVar[int]
    collection: str
    agent_id: str
    ids: _containers.RepeatedScalarFieldContainer[str]
    include_vectors: bool
    as_of: _types_pb2.AsOf
    follow_superseded: bool
    touch: bool
    min_revision: int
    def __init__(self, collection: _Optional[str] = ..., agent_id: _Optional[str] = ..., ids: _Optional[_Iterable[str]] = ..., include_vectors: _Optional[bool] = ..., as_of: _Optional[_Union[_types_pb2.AsOf, _Mapping]] = ..., follow_superseded: _Optional[bool] = ..., touch: _Optional[bool] = ..., min_revision: _Optional[int] = ...) -> None: ...

class GetResponse(_message.Message):
    __slots__ = ("revision", "memories", "missing_ids", "redirects", "as_of_revision", "advice")
    class RedirectsEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    REVISION_FIELD_NUMBER: _ClassVar[int]
    MEMORIES_FIELD_NUMBER: _ClassVar[int]
    MISSING_IDS_FIELD_NUMBER: _ClassVar[int]
    REDIRECTS_FIELD_NUMBER: _ClassVar[int]
    AS_OF_REVISION_FIELD_NUMBER: _ClassVar[int]
    ADVICE_FIELD_NUMBER: _ClassVar[int]
    revision: int
    memories: _containers.RepeatedCompositeFieldContainer[_types_pb2.Memory]
    missing_ids: _containers.RepeatedScalarFieldContainer[str]
    redirects: _containers.ScalarMap[str, str]
    as_of_revision: int
    advice: str
    def __init__(self, revision: _Optional[int] = ..., memories: _Optional[_Iterable[_Union[_types_pb2.Memory, _Mapping]]] = ..., missing_ids: _Optional[_Iterable[str]] = ..., redirects: _Optional[_Mapping[str, str]] = ..., as_of_revision: _Optional[int] = ..., advice: _Optional[str] = ...) -> None: ...

class ListRequest(_message.Message):
    __slots__ = ("collection", "agent_id", "filter", "page_size", "page_token", "include_vectors", "as_of", "touch", "min_revision")
    COLLECTION_FIELD_NUMBER: _ClassVar[int]
    AGENT_ID_FIELD_NUMBER: _ClassVar[int]
    FILTER_FIELD_NUMBER: _ClassVar[int]
    PAGE_SIZE_FIELD_NUMBER: _ClassVar[int]
    PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    INCLUDE_VECTORS_FIELD_NUMBER: _ClassVar[int]
    AS_OF_FIELD_NUMBER: _ClassVar[int]
    TOUCH_FIELD_NUMBER: _ClassVar[int]
    MIN_REVISION_FIELD_NUMBER: _ClassVar[int]
    collection: str
    agent_id: str
    filter: _types_pb2.Filter
    page_size: int
    page_token: str
    include_vectors: bool
    as_of: _types_pb2.AsOf
    touch: bool
    min_revision: int
    def __init__(self, collection: _Optional[str] = ..., agent_id: _Optional[str] = ..., filter: _Optional[_Union[_types_pb2.Filter, _Mapping]] = ..., page_size: _Optional[int] = ..., page_token: _Optional[str] = ..., include_vectors: _Optional[bool] = ..., as_of: _Optional[_Union[_types_pb2.AsOf, _Mapping]] = ..., touch: _Optional[bool] = ..., min_revision: _Optional[int] = ...) -> None: ...

class NamespacePattern(_message.Message):
    __slots__ = ("names", "at_end")
    NAMES_FIELD_NUMBER: _ClassVar[int]
    AT_END_FIELD_NUMBER: _ClassVar[int]
    names: _containers.RepeatedScalarFieldContainer[str]
    at_end: bool
    def __init__(self, names: _Optional[_Iterable[str]] = ..., at_end: _Optional[bool] = ...) -> None: ...

class ListNamespacesRequest(_message.Message):
    __slots__ = ("collection", "agent_id", "filter", "patterns", "max_depth", "limit", "offset", "min_revision")
    COLLECTION_FIELD_NUMBER: _ClassVar[int]
    AGENT_ID_FIELD_NUMBER: _ClassVar[int]
    FILTER_FIELD_NUMBER: _ClassVar[int]
    PATTERNS_FIELD_NUMBER: _ClassVar[int]
    MAX_DEPTH_FIELD_NUMBER: _ClassVar[int]
    LIMIT_FIELD_NUMBER: _ClassVar[int]
    OFFSET_FIELD_NUMBER: _ClassVar[int]
    MIN_REVISION_FIELD_NUMBER: _ClassVar[int]
    collection: str
    agent_id: str
    filter: _types_pb2.Filter
    patterns: _containers.RepeatedCompositeFieldContainer[NamespacePattern]
    max_depth: int
    limit: int
    offset: int
    min_revision: int
    def __init__(self, collection: _Optional[str] = ..., agent_id: _Optional[str] = ..., filter: _Optional[_Union[_types_pb2.Filter, _Mapping]] = ..., patterns: _Optional[_Iterable[_Union[NamespacePattern, _Mapping]]] = ..., max_depth: _Optional[int] = ..., limit: _Optional[int] = ..., offset: _Optional[int] = ..., min_revision: _Optional[int] = ...) -> None: ...

class Namespace(_message.Message):
    __slots__ = ("names", "memory_count")
    NAMES_FIELD_NUMBER: _ClassVar[int]
    MEMORY_COUNT_FIELD_NUMBER: _ClassVar[int]
    names: _containers.RepeatedScalarFieldContainer[str]
    memory_count: int
    def __init__(self, names: _Optional[_Iterable[str]] = ..., memory_count: _Optional[int] = ...) -> None: ...

class ListNamespacesResponse(_message.Message):
    __slots__ = ("revision", "namespaces", "total_count")
    REVISION_FIELD_NUMBER: _ClassVar[int]
    NAMESPACES_FIELD_NUMBER: _ClassVar[int]
    TOTAL_COUNT_FIELD_NUMBER: _ClassVar[int]
    revision: int
    namespaces: _containers.RepeatedCompositeFieldContainer[Namespace]
    total_count: int
    def __init__(self, revision: _Optional[int] = ..., namespaces: _Optional[_Iterable[_Union[Namespace, _Mapping]]] = ..., total_count: _Optional[int] = ...) -> None: ...

class ListResponse(_message.Message):
    __slots__ = ("revision", "memories", "next_page_token", "as_of_revision")
    REVISION_FIELD_NUMBER: _ClassVar[int]
    MEMORIES_FIELD_NUMBER: _ClassVar[int]
    NEXT_PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    AS_OF_REVISION_FIELD_NUMBER: _ClassVar[int]
    revision: int
    memories: _containers.RepeatedCompositeFieldContainer[_types_pb2.Memory]
    next_page_token: str
    as_of_revision: int
    def __init__(self, revision: _Optional[int] = ..., memories: _Optional[_Iterable[_Union[_types_pb2.Memory, _Mapping]]] = ..., next_page_token: _Optional[str] = ..., as_of_revision: _Optional[int] = ...) -> None: ...

class UpdateRequest(_message.Message):
    __slots__ = ("collection", "operation_id", "agent_id", "memory_id", "memory", "update_mask", "expected_revision", "reason", "force")
    COLLECTION_FIELD_NUMBER: _ClassVar[int]
    OPERATION_ID_FIELD_NUMBER: _ClassVar[int]
    AGENT_ID_FIELD_NUMBER: _ClassVar[int]
    MEMORY_ID_FIELD_NUMBER: _ClassVar[int]
    MEMORY_FIELD_NUMBER: _ClassVar[int]
    UPDATE_MASK_FIELD_NUMBER: _ClassVar[int]
    EXPECTED_REVISION_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    FORCE_FIELD_NUMBER: _ClassVar[int]
    collection: str
    operation_id: str
    agent_id: str
    memory_id: str
    memory: _types_pb2.MemoryDraft
    update_mask: _field_mask_pb2.FieldMask
    expected_revision: int
    reason: str
    force: bool
    def __init__(self, collection: _Optional[str] = ..., operation_id: _Optional[str] = ..., agent_id: _Optional[str] = ..., memory_id: _Optional[str] = ..., memory: _Optional[_Union[_types_pb2.MemoryDraft, _Mapping]] = ..., update_mask: _Optional[_Union[_field_mask_pb2.FieldMask, _Mapping]] = ..., expected_revision: _Optional[int] = ..., reason: _Optional[str] = ..., force: _Optional[bool] = ...) -> None: ...

class UpdateResponse(_message.Message):
    __slots__ = ("revision", "updated", "memory", "duplicate", "layers", "replayed", "operation_id", "question", "nearest", "advice", "scaffold")
    REVISION_FIELD_NUMBER: _ClassVar[int]
    UPDATED_FIELD_NUMBER: _ClassVar[int]
    MEMORY_FIELD_NUMBER: _ClassVar[int]
    DUPLICATE_FIELD_NUMBER: _ClassVar[int]
    LAYERS_FIELD_NUMBER: _ClassVar[int]
    REPLAYED_FIELD_NUMBER: _ClassVar[int]
    OPERATION_ID_FIELD_NUMBER: _ClassVar[int]
    QUESTION_FIELD_NUMBER: _ClassVar[int]
    NEAREST_FIELD_NUMBER: _ClassVar[int]
    ADVICE_FIELD_NUMBER: _ClassVar[int]
    SCAFFOLD_FIELD_NUMBER: _ClassVar[int]
    revision: int
    updated: bool
    memory: _types_pb2.Memory
    duplicate: _types_pb2.Duplicate
    layers: _containers.RepeatedCompositeFieldContainer[_types_pb2.LayerReport]
    replayed: bool
    operation_id: str
    question: _types_pb2.SimilarMemory
    nearest: _types_pb2.SimilarMemory
    advice: str
    scaffold: str
    def __init__(self, revision: _Optional[int] = ..., updated: _Optional[bool] = ..., memory: _Optional[_Union[_types_pb2.Memory, _Mapping]] = ..., duplicate: _Optional[_Union[_types_pb2.Duplicate, _Mapping]] = ..., layers: _Optional[_Iterable[_Union[_types_pb2.LayerReport, _Mapping]]] = ..., replayed: _Optional[bool] = ..., operation_id: _Optional[str] = ..., question: _Optional[_Union[_types_pb2.SimilarMemory, _Mapping]] = ..., nearest: _Optional[_Union[_types_pb2.SimilarMemory, _Mapping]] = ..., advice: _Optional[str] = ..., scaffold: _Optional[str] = ...) -> None: ...

class ForgetRequest(_message.Message):
    __slots__ = ("collection", "operation_id", "agent_id", "ids", "reason", "dry_run", "filter", "expected_revisions")
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
    IDS_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    DRY_RUN_FIELD_NUMBER: _ClassVar[int]
    FILTER_FIELD_NUMBER: _ClassVar[int]
    EXPECTED_REVISIONS_FIELD_NUMBER: _ClassVar[int]
    collection: str
    operation_id: str
    agent_id: str
    ids: _containers.RepeatedScalarFieldContainer[str]
    reason: str
    dry_run: bool
    filter: _types_pb2.Filter
    expected_revisions: _containers.ScalarMap[str, int]
    def __init__(self, collection: _Optional[str] = ..., operation_id: _Optional[str] = ..., agent_id: _Optional[str] = ..., ids: _Optional[_Iterable[str]] = ..., reason: _Optional[str] = ..., dry_run: _Optional[bool] = ..., filter: _Optional[_Union[_types_pb2.Filter, _Mapping]] = ..., expected_revisions: _Optional[_Mapping[str, int]] = ...) -> None: ...

class ForgetResponse(_message.Message):
    __slots__ = ("revision", "forgotten", "missing_ids", "unlinked_count", "dry_run", "replayed", "operation_id", "matching_count", "advice", "scaffold")
    REVISION_FIELD_NUMBER: _ClassVar[int]
    FORGOTTEN_FIELD_NUMBER: _ClassVar[int]
    MISSING_IDS_FIELD_NUMBER: _ClassVar[int]
    UNLINKED_COUNT_FIELD_NUMBER: _ClassVar[int]
    DRY_RUN_FIELD_NUMBER: _ClassVar[int]
    REPLAYED_FIELD_NUMBER: _ClassVar[int]
    OPERATION_ID_FIELD_NUMBER: _ClassVar[int]
    MATCHING_COUNT_FIELD_NUMBER: _ClassVar[int]
    ADVICE_FIELD_NUMBER: _ClassVar[int]
    SCAFFOLD_FIELD_NUMBER: _ClassVar[int]
    revision: int
    forgotten: _containers.RepeatedCompositeFieldContainer[_types_pb2.Memory]
    missing_ids: _containers.RepeatedScalarFieldContainer[str]
    unlinked_count: int
    dry_run: bool
    replayed: bool
    operation_id: str
    matching_count: int
    advice: str
    scaffold: str
    def __init__(self, revision: _Optional[int] = ..., forgotten: _Optional[_Iterable[_Union[_types_pb2.Memory, _Mapping]]] = ..., missing_ids: _Optional[_Iterable[str]] = ..., unlinked_count: _Optional[int] = ..., dry_run: _Optional[bool] = ..., replayed: _Optional[bool] = ..., operation_id: _Optional[str] = ..., matching_count: _Optional[int] = ..., advice: _Optional[str] = ..., scaffold: _Optional[str] = ...) -> None: ...

class LinkRequest(_message.Message):
    __slots__ = ("collection", "operation_id", "agent_id", "source_id", "target_id", "type", "confidence", "note")
    COLLECTION_FIELD_NUMBER: _ClassVar[int]
    OPERATION_ID_FIELD_NUMBER: _ClassVar[int]
    AGENT_ID_FIELD_NUMBER: _ClassVar[int]
    SOURCE_ID_FIELD_NUMBER: _ClassVar[int]
    TARGET_ID_FIELD_NUMBER: _ClassVar[int]
    TYPE_FIELD_NUMBER: _ClassVar[int]
    CONFIDENCE_FIELD_NUMBER: _ClassVar[int]
    NOTE_FIELD_NUMBER: _ClassVar[int]
    collection: str
    operation_id: str
    agent_id: str
    source_id: str
    target_id: str
    type: _types_pb2.LinkType
    confidence: float
    note: str
    def __init__(self, collection: _Optional[str] = ..., operation_id: _Optional[str] = ..., agent_id: _Optional[str] = ..., source_id: _Optional[str] = ..., target_id: _Optional[str] = ..., type: _Optional[_Union[_types_pb2.LinkType, str]] = ..., confidence: _Optional[float] = ..., note: _Optional[str] = ...) -> None: ...

class LinkResponse(_message.Message):
    __slots__ = ("revision", "link", "inverse", "created", "replayed", "operation_id")
    REVISION_FIELD_NUMBER: _ClassVar[int]
    LINK_FIELD_NUMBER: _ClassVar[int]
    INVERSE_FIELD_NUMBER: _ClassVar[int]
    CREATED_FIELD_NUMBER: _ClassVar[int]
    REPLAYED_FIELD_NUMBER: _ClassVar[int]
    OPERATION_ID_FIELD_NUMBER: _ClassVar[int]
    revision: int
    link: _types_pb2.Link
    inverse: _types_pb2.Link
    created: bool
    replayed: bool
    operation_id: str
    def __init__(self, revision: _Optional[int] = ..., link: _Optional[_Union[_types_pb2.Link, _Mapping]] = ..., inverse: _Optional[_Union[_types_pb2.Link, _Mapping]] = ..., created: _Optional[bool] = ..., replayed: _Optional[bool] = ..., operation_id: _Optional[str] = ...) -> None: ...

class UnlinkRequest(_message.Message):
    __slots__ = ("collection", "operation_id", "agent_id", "source_id", "target_id", "type")
    COLLECTION_FIELD_NUMBER: _ClassVar[int]
    OPERATION_ID_FIELD_NUMBER: _ClassVar[int]
    AGENT_ID_FIELD_NUMBER: _ClassVar[int]
    SOURCE_ID_FIELD_NUMBER: _ClassVar[int]
    TARGET_ID_FIELD_NUMBER: _ClassVar[int]
    TYPE_FIELD_NUMBER: _ClassVar[int]
    collection: str
    operation_id: str
    agent_id: str
    source_id: str
    target_id: str
    type: _types_pb2.LinkType
    def __init__(self, collection: _Optional[str] = ..., operation_id: _Optional[str] = ..., agent_id: _Optional[str] = ..., source_id: _Optional[str] = ..., target_id: _Optional[str] = ..., type: _Optional[_Union[_types_pb2.LinkType, str]] = ...) -> None: ...

class UnlinkResponse(_message.Message):
    __slots__ = ("revision", "removed", "replayed", "operation_id")
    REVISION_FIELD_NUMBER: _ClassVar[int]
    REMOVED_FIELD_NUMBER: _ClassVar[int]
    REPLAYED_FIELD_NUMBER: _ClassVar[int]
    OPERATION_ID_FIELD_NUMBER: _ClassVar[int]
    revision: int
    removed: _containers.RepeatedCompositeFieldContainer[_types_pb2.Link]
    replayed: bool
    operation_id: str
    def __init__(self, revision: _Optional[int] = ..., removed: _Optional[_Iterable[_Union[_types_pb2.Link, _Mapping]]] = ..., replayed: _Optional[bool] = ..., operation_id: _Optional[str] = ...) -> None: ...
