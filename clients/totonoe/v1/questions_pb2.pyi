from totonoe.v1 import graph_pb2 as _graph_pb2
from totonoe.v1 import types_pb2 as _types_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class Answer(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    ANSWER_UNSPECIFIED: _ClassVar[Answer]
    ANSWER_SAME: _ClassVar[Answer]
    ANSWER_DIFFERENT: _ClassVar[Answer]
    ANSWER_REPLACES: _ClassVar[Answer]
    ANSWER_REPLACED_BY: _ClassVar[Answer]

class QuestionKind(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    QUESTION_KIND_UNSPECIFIED: _ClassVar[QuestionKind]
    QUESTION_KIND_SAME: _ClassVar[QuestionKind]
    QUESTION_KIND_REPLACES: _ClassVar[QuestionKind]

class ReviewAnswer(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    REVIEW_ANSWER_UNSPECIFIED: _ClassVar[ReviewAnswer]
    REVIEW_ANSWER_CONFIRM: _ClassVar[ReviewAnswer]
    REVIEW_ANSWER_REJECT: _ClassVar[ReviewAnswer]
ANSWER_UNSPECIFIED: Answer
ANSWER_SAME: Answer
ANSWER_DIFFERENT: Answer
ANSWER_REPLACES: Answer
ANSWER_REPLACED_BY: Answer
QUESTION_KIND_UNSPECIFIED: QuestionKind
QUESTION_KIND_SAME: QuestionKind
QUESTION_KIND_REPLACES: QuestionKind
REVIEW_ANSWER_UNSPECIFIED: ReviewAnswer
REVIEW_ANSWER_CONFIRM: ReviewAnswer
REVIEW_ANSWER_REJECT: ReviewAnswer

class ResolveRequest(_message.Message):
    __slots__ = ("collection", "operation_id", "agent_id", "memory_id", "other_id", "answer", "content", "vector", "expected_revision", "other_expected_revision", "reason", "dry_run")
    COLLECTION_FIELD_NUMBER: _ClassVar[int]
    OPERATION_ID_FIELD_NUMBER: _ClassVar[int]
    AGENT_ID_FIELD_NUMBER: _ClassVar[int]
    MEMORY_ID_FIELD_NUMBER: _ClassVar[int]
    OTHER_ID_FIELD_NUMBER: _ClassVar[int]
    ANSWER_FIELD_NUMBER: _ClassVar[int]
    CONTENT_FIELD_NUMBER: _ClassVar[int]
    VECTOR_FIELD_NUMBER: _ClassVar[int]
    EXPECTED_REVISION_FIELD_NUMBER: _ClassVar[int]
    OTHER_EXPECTED_REVISION_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    DRY_RUN_FIELD_NUMBER: _ClassVar[int]
    collection: str
    operation_id: str
    agent_id: str
    memory_id: str
    other_id: str
    answer: Answer
    content: str
    vector: bytes
    expected_revision: int
    other_expected_revision: int
    reason: str
    dry_run: bool
    def __init__(self, collection: _Optional[str] = ..., operation_id: _Optional[str] = ..., agent_id: _Optional[str] = ..., memory_id: _Optional[str] = ..., other_id: _Optional[str] = ..., answer: _Optional[_Union[Answer, str]] = ..., content: _Optional[str] = ..., vector: _Optional[bytes] = ..., expected_revision: _Optional[int] = ..., other_expected_revision: _Optional[int] = ..., reason: _Optional[str] = ..., dry_run: _Optional[bool] = ...) -> None: ...

class ResolveResponse(_message.Message):
    __slots__ = ("revision", "resolved", "memory", "closed_id", "duplicate", "replayed", "operation_id", "lost", "dry_run")
    REVISION_FIELD_NUMBER: _ClassVar[int]
    RESOLVED_FIELD_NUMBER: _ClassVar[int]
    MEMORY_FIELD_NUMBER: _ClassVar[int]
    CLOSED_ID_FIELD_NUMBER: _ClassVar[int]
    DUPLICATE_FIELD_NUMBER: _ClassVar[int]
    REPLAYED_FIELD_NUMBER: _ClassVar[int]
    OPERATION_ID_FIELD_NUMBER: _ClassVar[int]
    LOST_FIELD_NUMBER: _ClassVar[int]
    DRY_RUN_FIELD_NUMBER: _ClassVar[int]
    revision: int
    resolved: bool
    memory: _types_pb2.Memory
    closed_id: str
    duplicate: _types_pb2.Duplicate
    replayed: bool
    operation_id: str
    lost: _containers.RepeatedCompositeFieldContainer[_graph_pb2.LostDetail]
    dry_run: bool
    def __init__(self, revision: _Optional[int] = ..., resolved: _Optional[bool] = ..., memory: _Optional[_Union[_types_pb2.Memory, _Mapping]] = ..., closed_id: _Optional[str] = ..., duplicate: _Optional[_Union[_types_pb2.Duplicate, _Mapping]] = ..., replayed: _Optional[bool] = ..., operation_id: _Optional[str] = ..., lost: _Optional[_Iterable[_Union[_graph_pb2.LostDetail, _Mapping]]] = ..., dry_run: _Optional[bool] = ...) -> None: ...

class ListQuestionsRequest(_message.Message):
    __slots__ = ("collection", "agent_id", "memory_id", "page_size", "page_token", "other_id", "weights")
    COLLECTION_FIELD_NUMBER: _ClassVar[int]
    AGENT_ID_FIELD_NUMBER: _ClassVar[int]
    MEMORY_ID_FIELD_NUMBER: _ClassVar[int]
    PAGE_SIZE_FIELD_NUMBER: _ClassVar[int]
    PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    OTHER_ID_FIELD_NUMBER: _ClassVar[int]
    WEIGHTS_FIELD_NUMBER: _ClassVar[int]
    collection: str
    agent_id: str
    memory_id: str
    page_size: int
    page_token: str
    other_id: str
    weights: bool
    def __init__(self, collection: _Optional[str] = ..., agent_id: _Optional[str] = ..., memory_id: _Optional[str] = ..., page_size: _Optional[int] = ..., page_token: _Optional[str] = ..., other_id: _Optional[str] = ..., weights: _Optional[bool] = ...) -> None: ...

class Question(_message.Message):
    __slots__ = ("a", "b", "same_probability", "version", "judgement", "kind")
    A_FIELD_NUMBER: _ClassVar[int]
    B_FIELD_NUMBER: _ClassVar[int]
    SAME_PROBABILITY_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    JUDGEMENT_FIELD_NUMBER: _ClassVar[int]
    KIND_FIELD_NUMBER: _ClassVar[int]
    a: _types_pb2.Memory
    b: _types_pb2.Memory
    same_probability: float
    version: str
    judgement: _types_pb2.Judgement
    kind: QuestionKind
    def __init__(self, a: _Optional[_Union[_types_pb2.Memory, _Mapping]] = ..., b: _Optional[_Union[_types_pb2.Memory, _Mapping]] = ..., same_probability: _Optional[float] = ..., version: _Optional[str] = ..., judgement: _Optional[_Union[_types_pb2.Judgement, _Mapping]] = ..., kind: _Optional[_Union[QuestionKind, str]] = ...) -> None: ...

class ListQuestionsResponse(_message.Message):
    __slots__ = ("revision", "questions", "next_page_token", "pending", "pending_count")
    REVISION_FIELD_NUMBER: _ClassVar[int]
    QUESTIONS_FIELD_NUMBER: _ClassVar[int]
    NEXT_PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    PENDING_FIELD_NUMBER: _ClassVar[int]
    PENDING_COUNT_FIELD_NUMBER: _ClassVar[int]
    revision: int
    questions: _containers.RepeatedCompositeFieldContainer[Question]
    next_page_token: str
    pending: _containers.RepeatedCompositeFieldContainer[_types_pb2.Memory]
    pending_count: int
    def __init__(self, revision: _Optional[int] = ..., questions: _Optional[_Iterable[_Union[Question, _Mapping]]] = ..., next_page_token: _Optional[str] = ..., pending: _Optional[_Iterable[_Union[_types_pb2.Memory, _Mapping]]] = ..., pending_count: _Optional[int] = ...) -> None: ...

class ReviewRequest(_message.Message):
    __slots__ = ("collection", "operation_id", "agent_id", "memory_id", "answer", "reason", "expected_revision")
    COLLECTION_FIELD_NUMBER: _ClassVar[int]
    OPERATION_ID_FIELD_NUMBER: _ClassVar[int]
    AGENT_ID_FIELD_NUMBER: _ClassVar[int]
    MEMORY_ID_FIELD_NUMBER: _ClassVar[int]
    ANSWER_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    EXPECTED_REVISION_FIELD_NUMBER: _ClassVar[int]
    collection: str
    operation_id: str
    agent_id: str
    memory_id: str
    answer: ReviewAnswer
    reason: str
    expected_revision: int
    def __init__(self, collection: _Optional[str] = ..., operation_id: _Optional[str] = ..., agent_id: _Optional[str] = ..., memory_id: _Optional[str] = ..., answer: _Optional[_Union[ReviewAnswer, str]] = ..., reason: _Optional[str] = ..., expected_revision: _Optional[int] = ...) -> None: ...

class ReviewResponse(_message.Message):
    __slots__ = ("revision", "reviewed", "memory", "duplicate", "superseded_ids", "maybe_replaced_ids", "question", "replayed", "operation_id")
    REVISION_FIELD_NUMBER: _ClassVar[int]
    REVIEWED_FIELD_NUMBER: _ClassVar[int]
    MEMORY_FIELD_NUMBER: _ClassVar[int]
    DUPLICATE_FIELD_NUMBER: _ClassVar[int]
    SUPERSEDED_IDS_FIELD_NUMBER: _ClassVar[int]
    MAYBE_REPLACED_IDS_FIELD_NUMBER: _ClassVar[int]
    QUESTION_FIELD_NUMBER: _ClassVar[int]
    REPLAYED_FIELD_NUMBER: _ClassVar[int]
    OPERATION_ID_FIELD_NUMBER: _ClassVar[int]
    revision: int
    reviewed: bool
    memory: _types_pb2.Memory
    duplicate: _types_pb2.Duplicate
    superseded_ids: _containers.RepeatedScalarFieldContainer[str]
    maybe_replaced_ids: _containers.RepeatedScalarFieldContainer[str]
    question: _types_pb2.SimilarMemory
    replayed: bool
    operation_id: str
    def __init__(self, revision: _Optional[int] = ..., reviewed: _Optional[bool] = ..., memory: _Optional[_Union[_types_pb2.Memory, _Mapping]] = ..., duplicate: _Optional[_Union[_types_pb2.Duplicate, _Mapping]] = ..., superseded_ids: _Optional[_Iterable[str]] = ..., maybe_replaced_ids: _Optional[_Iterable[str]] = ..., question: _Optional[_Union[_types_pb2.SimilarMemory, _Mapping]] = ..., replayed: _Optional[bool] = ..., operation_id: _Optional[str] = ...) -> None: ...
