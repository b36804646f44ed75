import datetime

from google.protobuf import timestamp_pb2 as _timestamp_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class DismissRequest(_message.Message):
    __slots__ = ("collection", "operation_id", "agent_id", "id_a", "id_b", "reason")
    COLLECTION_FIELD_NUMBER: _ClassVar[int]
    OPERATION_ID_FIELD_NUMBER: _ClassVar[int]
    AGENT_ID_FIELD_NUMBER: _ClassVar[int]
    ID_A_FIELD_NUMBER: _ClassVar[int]
    ID_B_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    collection: str
    operation_id: str
    agent_id: str
    id_a: str
    id_b: str
    reason: str
    def __init__(self, collection: _Optional[str] = ..., operation_id: _Optional[str] = ..., agent_id: _Optional[str] = ..., id_a: _Optional[str] = ..., id_b: _Optional[str] = ..., reason: _Optional[str] = ...) -> None: ...

class DismissResponse(_message.Message):
    __slots__ = ("revision", "changed", "memory_ids", "replayed", "operation_id")
    REVISION_FIELD_NUMBER: _ClassVar[int]
    CHANGED_FIELD_NUMBER: _ClassVar[int]
    MEMORY_IDS_FIELD_NUMBER: _ClassVar[int]
    REPLAYED_FIELD_NUMBER: _ClassVar[int]
    OPERATION_ID_FIELD_NUMBER: _ClassVar[int]
    revision: int
    changed: bool
    memory_ids: _containers.RepeatedScalarFieldContainer[str]
    replayed: bool
    operation_id: str
    def __init__(self, revision: _Optional[int] = ..., changed: _Optional[bool] = ..., memory_ids: _Optional[_Iterable[str]] = ..., replayed: _Optional[bool] = ..., operation_id: _Optional[str] = ...) -> None: ...

class UndismissRequest(_message.Message):
    __slots__ = ("collection", "operation_id", "agent_id", "id_a", "id_b", "reason")
    COLLECTION_FIELD_NUMBER: _ClassVar[int]
    OPERATION_ID_FIELD_NUMBER: _ClassVar[int]
    AGENT_ID_FIELD_NUMBER: _ClassVar[int]
    ID_A_FIELD_NUMBER: _ClassVar[int]
    ID_B_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    collection: str
    operation_id: str
    agent_id: str
    id_a: str
    id_b: str
    reason: str
    def __init__(self, collection: _Optional[str] = ..., operation_id: _Optional[str] = ..., agent_id: _Optional[str] = ..., id_a: _Optional[str] = ..., id_b: _Optional[str] = ..., reason: _Optional[str] = ...) -> None: ...

class UndismissResponse(_message.Message):
    __slots__ = ("revision", "changed", "memory_ids", "replayed", "operation_id")
    REVISION_FIELD_NUMBER: _ClassVar[int]
    CHANGED_FIELD_NUMBER: _ClassVar[int]
    MEMORY_IDS_FIELD_NUMBER: _ClassVar[int]
    REPLAYED_FIELD_NUMBER: _ClassVar[int]
    OPERATION_ID_FIELD_NUMBER: _ClassVar[int]
    revision: int
    changed: bool
    memory_ids: _containers.RepeatedScalarFieldContainer[str]
    replayed: bool
    operation_id: str
    def __init__(self, revision: _Optional[int] = ..., changed: _Optional[bool] = ..., memory_ids: _Optional[_Iterable[str]] = ..., replayed: _Optional[bool] = ..., operation_id: _Optional[str] = ...) -> None: ...

class AuditRequest(_message.Message):
    __slots__ = ("collection", "agent_id", "days", "confidence_below")
    COLLECTION_FIELD_NUMBER: _ClassVar[int]
    AGENT_ID_FIELD_NUMBER: _ClassVar[int]
    DAYS_FIELD_NUMBER: _ClassVar[int]
    CONFIDENCE_BELOW_FIELD_NUMBER: _ClassVar[int]
    collection: str
    agent_id: str
    days: int
    confidence_below: float
    def __init__(self, collection: _Optional[str] = ..., agent_id: _Optional[str] = ..., days: _Optional[int] = ..., confidence_below: _Optional[float] = ...) -> None: ...

class NearPair(_message.Message):
    __slots__ = ("id_a", "id_b", "distance")
    ID_A_FIELD_NUMBER: _ClassVar[int]
    ID_B_FIELD_NUMBER: _ClassVar[int]
    DISTANCE_FIELD_NUMBER: _ClassVar[int]
    id_a: str
    id_b: str
    distance: float
    def __init__(self, id_a: _Optional[str] = ..., id_b: _Optional[str] = ..., distance: _Optional[float] = ...) -> None: ...

class ContradictingPair(_message.Message):
    __slots__ = ("id_a", "id_b")
    ID_A_FIELD_NUMBER: _ClassVar[int]
    ID_B_FIELD_NUMBER: _ClassVar[int]
    id_a: str
    id_b: str
    def __init__(self, id_a: _Optional[str] = ..., id_b: _Optional[str] = ...) -> None: ...

class AgentWrites(_message.Message):
    __slots__ = ("agent_id", "operation_count", "kind_counts")
    class KindCountsEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: int
        def __init__(self, key: _Optional[str] = ..., value: _Optional[int] = ...) -> None: ...
    AGENT_ID_FIELD_NUMBER: _ClassVar[int]
    OPERATION_COUNT_FIELD_NUMBER: _ClassVar[int]
    KIND_COUNTS_FIELD_NUMBER: _ClassVar[int]
    agent_id: str
    operation_count: int
    kind_counts: _containers.ScalarMap[str, int]
    def __init__(self, agent_id: _Optional[str] = ..., operation_count: _Optional[int] = ..., kind_counts: _Optional[_Mapping[str, int]] = ...) -> None: ...

class AuditResponse(_message.Message):
    __slots__ = ("revision", "active_count", "examined_count", "near_count", "near_distance_below", "near_pairs", "never_recalled_count", "contradiction_count", "contradictions", "confidence_below", "faded_count", "chain_count", "longest_chain", "longest_chain_id", "days", "operations_from_time", "agents", "repeat_count", "echo_refused_count", "echo_saved_count", "recall_at_k", "recall_sampled_count", "open_question_count", "repeats_from_time", "texts")
    class TextsEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    REVISION_FIELD_NUMBER: _ClassVar[int]
    ACTIVE_COUNT_FIELD_NUMBER: _ClassVar[int]
    EXAMINED_COUNT_FIELD_NUMBER: _ClassVar[int]
    NEAR_COUNT_FIELD_NUMBER: _ClassVar[int]
    NEAR_DISTANCE_BELOW_FIELD_NUMBER: _ClassVar[int]
    NEAR_PAIRS_FIELD_NUMBER: _ClassVar[int]
    NEVER_RECALLED_COUNT_FIELD_NUMBER: _ClassVar[int]
    CONTRADICTION_COUNT_FIELD_NUMBER: _ClassVar[int]
    CONTRADICTIONS_FIELD_NUMBER: _ClassVar[int]
    CONFIDENCE_BELOW_FIELD_NUMBER: _ClassVar[int]
    FADED_COUNT_FIELD_NUMBER: _ClassVar[int]
    CHAIN_COUNT_FIELD_NUMBER: _ClassVar[int]
    LONGEST_CHAIN_FIELD_NUMBER: _ClassVar[int]
    LONGEST_CHAIN_ID_FIELD_NUMBER: _ClassVar[int]
    DAYS_FIELD_NUMBER: _ClassVar[int]
    OPERATIONS_FROM_TIME_FIELD_NUMBER: _ClassVar[int]
    AGENTS_FIELD_NUMBER: _ClassVar[int]
    REPEAT_COUNT_FIELD_NUMBER: _ClassVar[int]
    ECHO_REFUSED_COUNT_FIELD_NUMBER: _ClassVar[int]
    ECHO_SAVED_COUNT_FIELD_NUMBER: _ClassVar[int]
    RECALL_AT_K_FIELD_NUMBER: _ClassVar[int]
    RECALL_SAMPLED_COUNT_FIELD_NUMBER: _ClassVar[int]
    OPEN_QUESTION_COUNT_FIELD_NUMBER: _ClassVar[int]
    REPEATS_FROM_TIME_FIELD_NUMBER: _ClassVar[int]
    TEXTS_FIELD_NUMBER: _ClassVar[int]
    revision: int
    active_count: int
    examined_count: int
    near_count: int
    near_distance_below: float
    near_pairs: _containers.RepeatedCompositeFieldContainer[NearPair]
    never_recalled_count: int
    contradiction_count: int
    contradictions: _containers.RepeatedCompositeFieldContainer[ContradictingPair]
    confidence_below: float
    faded_count: int
    chain_count: int
    longest_chain: int
    longest_chain_id: str
    days: int
    operations_from_time: _timestamp_pb2.Timestamp
    agents: _containers.RepeatedCompositeFieldContainer[AgentWrites]
    repeat_count: int
    echo_refused_count: int
    echo_saved_count: int
    recall_at_k: float
    recall_sampled_count: int
    open_question_count: int
    repeats_from_time: _timestamp_pb2.Timestamp
    texts: _containers.ScalarMap[str, str]
    def __init__(self, revision: _Optional[int] = ..., active_count: _Optional[int] = ..., examined_count: _Optional[int] = ..., near_count: _Optional[int] = ..., near_distance_below: _Optional[float] = ..., near_pairs: _Optional[_Iterable[_Union[NearPair, _Mapping]]] = ..., never_recalled_count: _Optional[int] = ..., contradiction_count: _Optional[int] = ..., contradictions: _Optional[_Iterable[_Union[ContradictingPair, _Mapping]]] = ..., confidence_below: _Optional[float] = ..., faded_count: _Optional[int] = ..., chain_count: _Optional[int] = ..., longest_chain: _Optional[int] = ..., longest_chain_id: _Optional[str] = ..., days: _Optional[int] = ..., operations_from_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., agents: _Optional[_Iterable[_Union[AgentWrites, _Mapping]]] = ..., repeat_count: _Optional[int] = ..., echo_refused_count: _Optional[int] = ..., echo_saved_count: _Optional[int] = ..., recall_at_k: _Optional[float] = ..., recall_sampled_count: _Optional[int] = ..., open_question_count: _Optional[int] = ..., repeats_from_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., texts: _Optional[_Mapping[str, str]] = ...) -> None: ...
