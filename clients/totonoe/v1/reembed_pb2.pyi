from totonoe.v1 import types_pb2 as _types_pb2
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class ReembedPhase(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    REEMBED_PHASE_UNSPECIFIED: _ClassVar[ReembedPhase]
    REEMBED_PHASE_WAITING: _ClassVar[ReembedPhase]
    REEMBED_PHASE_EMBEDDING: _ClassVar[ReembedPhase]
    REEMBED_PHASE_INDEXING: _ClassVar[ReembedPhase]
    REEMBED_PHASE_SETTLING: _ClassVar[ReembedPhase]
    REEMBED_PHASE_CANCELLING: _ClassVar[ReembedPhase]
REEMBED_PHASE_UNSPECIFIED: ReembedPhase
REEMBED_PHASE_WAITING: ReembedPhase
REEMBED_PHASE_EMBEDDING: ReembedPhase
REEMBED_PHASE_INDEXING: ReembedPhase
REEMBED_PHASE_SETTLING: ReembedPhase
REEMBED_PHASE_CANCELLING: ReembedPhase

class ReembedRequest(_message.Message):
    __slots__ = ("operation_id", "agent_id", "collection", "reason")
    OPERATION_ID_FIELD_NUMBER: _ClassVar[int]
    AGENT_ID_FIELD_NUMBER: _ClassVar[int]
    COLLECTION_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    operation_id: str
    agent_id: str
    collection: str
    reason: str
    def __init__(self, operation_id: _Optional[str] = ..., agent_id: _Optional[str] = ..., collection: _Optional[str] = ..., reason: _Optional[str] = ...) -> None: ...

class ReembedProgress(_message.Message):
    __slots__ = ("phase", "done_count", "total_count", "per_second", "left_s")
    PHASE_FIELD_NUMBER: _ClassVar[int]
    DONE_COUNT_FIELD_NUMBER: _ClassVar[int]
    TOTAL_COUNT_FIELD_NUMBER: _ClassVar[int]
    PER_SECOND_FIELD_NUMBER: _ClassVar[int]
    LEFT_S_FIELD_NUMBER: _ClassVar[int]
    phase: ReembedPhase
    done_count: int
    total_count: int
    per_second: float
    left_s: float
    def __init__(self, phase: _Optional[_Union[ReembedPhase, str]] = ..., done_count: _Optional[int] = ..., total_count: _Optional[int] = ..., per_second: _Optional[float] = ..., left_s: _Optional[float] = ...) -> None: ...

class ReembedDone(_message.Message):
    __slots__ = ("before", "after", "memory_count", "embedded_count", "calibrated", "thresholds_reset", "operation_id", "revision", "replayed")
    BEFORE_FIELD_NUMBER: _ClassVar[int]
    AFTER_FIELD_NUMBER: _ClassVar[int]
    MEMORY_COUNT_FIELD_NUMBER: _ClassVar[int]
    EMBEDDED_COUNT_FIELD_NUMBER: _ClassVar[int]
    CALIBRATED_FIELD_NUMBER: _ClassVar[int]
    THRESHOLDS_RESET_FIELD_NUMBER: _ClassVar[int]
    OPERATION_ID_FIELD_NUMBER: _ClassVar[int]
    REVISION_FIELD_NUMBER: _ClassVar[int]
    REPLAYED_FIELD_NUMBER: _ClassVar[int]
    before: _types_pb2.EmbeddingModel
    after: _types_pb2.EmbeddingModel
    memory_count: int
    embedded_count: int
    calibrated: bool
    thresholds_reset: bool
    operation_id: str
    revision: int
    replayed: bool
    def __init__(self, before: _Optional[_Union[_types_pb2.EmbeddingModel, _Mapping]] = ..., after: _Optional[_Union[_types_pb2.EmbeddingModel, _Mapping]] = ..., memory_count: _Optional[int] = ..., embedded_count: _Optional[int] = ..., calibrated: _Optional[bool] = ..., thresholds_reset: _Optional[bool] = ..., operation_id: _Optional[str] = ..., revision: _Optional[int] = ..., replayed: _Optional[bool] = ...) -> None: ...

class ReembedResponse(_message.Message):
    __slots__ = ("progress", "done")
    PROGRESS_FIELD_NUMBER: _ClassVar[int]
    DONE_FIELD_NUMBER: _ClassVar[int]
    progress: ReembedProgress
    done: ReembedDone
    def __init__(self, progress: _Optional[_Union[ReembedProgress, _Mapping]] = ..., done: _Optional[_Union[ReembedDone, _Mapping]] = ...) -> None: ...

class CancelReembedRequest(_message.Message):
    __slots__ = ("agent_id", "collection")
    AGENT_ID_FIELD_NUMBER: _ClassVar[int]
    COLLECTION_FIELD_NUMBER: _ClassVar[int]
    agent_id: str
    collection: str
    def __init__(self, agent_id: _Optional[str] = ..., collection: _Optional[str] = ...) -> None: ...

class CancelReembedResponse(_message.Message):
    __slots__ = ("cancelled", "dropped_count")
    CANCELLED_FIELD_NUMBER: _ClassVar[int]
    DROPPED_COUNT_FIELD_NUMBER: _ClassVar[int]
    cancelled: bool
    dropped_count: int
    def __init__(self, cancelled: _Optional[bool] = ..., dropped_count: _Optional[int] = ...) -> None: ...

class ReembedStats(_message.Message):
    __slots__ = ("model", "progress", "failure")
    MODEL_FIELD_NUMBER: _ClassVar[int]
    PROGRESS_FIELD_NUMBER: _ClassVar[int]
    FAILURE_FIELD_NUMBER: _ClassVar[int]
    model: str
    progress: ReembedProgress
    failure: str
    def __init__(self, model: _Optional[str] = ..., progress: _Optional[_Union[ReembedProgress, _Mapping]] = ..., failure: _Optional[str] = ...) -> None: ...
