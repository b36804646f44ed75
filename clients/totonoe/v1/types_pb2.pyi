import datetime

from google.protobuf import struct_pb2 as _struct_pb2
from google.protobuf import timestamp_pb2 as _timestamp_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class Kind(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    KIND_UNSPECIFIED: _ClassVar[Kind]
    KIND_STATE: _ClassVar[Kind]
    KIND_EVENT: _ClassVar[Kind]
    KIND_AFFECT: _ClassVar[Kind]

class StateKind(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    STATE_KIND_UNSPECIFIED: _ClassVar[StateKind]
    STATE_KIND_FACT: _ClassVar[StateKind]
    STATE_KIND_RELATION: _ClassVar[StateKind]
    STATE_KIND_TASK: _ClassVar[StateKind]
    STATE_KIND_SUMMARY: _ClassVar[StateKind]
    STATE_KIND_LONG_MOOD: _ClassVar[StateKind]

class Source(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    SOURCE_UNSPECIFIED: _ClassVar[Source]
    SOURCE_EXTERNAL: _ClassVar[Source]
    SOURCE_TOOL: _ClassVar[Source]
    SOURCE_AGENT: _ClassVar[Source]
    SOURCE_USER: _ClassVar[Source]

class Status(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    STATUS_UNSPECIFIED: _ClassVar[Status]
    STATUS_ACTIVE: _ClassVar[Status]
    STATUS_SUPERSEDED: _ClassVar[Status]
    STATUS_CLOSED: _ClassVar[Status]
    STATUS_FORGOTTEN: _ClassVar[Status]
    STATUS_PENDING: _ClassVar[Status]

class LinkType(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    LINK_TYPE_UNSPECIFIED: _ClassVar[LinkType]
    LINK_TYPE_RELATED: _ClassVar[LinkType]
    LINK_TYPE_UPDATES: _ClassVar[LinkType]
    LINK_TYPE_UPDATED_BY: _ClassVar[LinkType]
    LINK_TYPE_CONTRADICTS: _ClassVar[LinkType]
    LINK_TYPE_REFINES: _ClassVar[LinkType]
    LINK_TYPE_REFINED_BY: _ClassVar[LinkType]
    LINK_TYPE_CAUSES: _ClassVar[LinkType]
    LINK_TYPE_CAUSED_BY: _ClassVar[LinkType]
    LINK_TYPE_COACTIVATED: _ClassVar[LinkType]
    LINK_TYPE_LIKELY_SAME: _ClassVar[LinkType]
    LINK_TYPE_MAY_REPLACE: _ClassVar[LinkType]
    LINK_TYPE_MAYBE_REPLACED_BY: _ClassVar[LinkType]

class Operator(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    OPERATOR_UNSPECIFIED: _ClassVar[Operator]
    OPERATOR_EQ: _ClassVar[Operator]
    OPERATOR_NE: _ClassVar[Operator]
    OPERATOR_GT: _ClassVar[Operator]
    OPERATOR_GTE: _ClassVar[Operator]
    OPERATOR_LT: _ClassVar[Operator]
    OPERATOR_LTE: _ClassVar[Operator]

class Method(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    METHOD_UNSPECIFIED: _ClassVar[Method]
    METHOD_NONE: _ClassVar[Method]
    METHOD_EXACT: _ClassVar[Method]
    METHOD_JACCARD: _ClassVar[Method]
    METHOD_COSINE: _ClassVar[Method]
    METHOD_SESSION_COSINE: _ClassVar[Method]
    METHOD_JUDGE: _ClassVar[Method]

class Verdict(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    VERDICT_UNSPECIFIED: _ClassVar[Verdict]
    VERDICT_NEW: _ClassVar[Verdict]
    VERDICT_RELATED: _ClassVar[Verdict]
    VERDICT_REFINEMENT: _ClassVar[Verdict]
    VERDICT_UPDATE: _ClassVar[Verdict]
    VERDICT_CONTRADICTION: _ClassVar[Verdict]
    VERDICT_DUPLICATE: _ClassVar[Verdict]
    VERDICT_CONTAINED: _ClassVar[Verdict]

class Finding(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    FINDING_UNSPECIFIED: _ClassVar[Finding]
    FINDING_SAME_TEXT: _ClassVar[Finding]
    FINDING_SAME_WORDS: _ClassVar[Finding]
    FINDING_SAME_CONTENT: _ClassVar[Finding]
    FINDING_SYNONYM: _ClassVar[Finding]
    FINDING_NUMBER: _ClassVar[Finding]
    FINDING_QUANTITY: _ClassVar[Finding]
    FINDING_DATE: _ClassVar[Finding]
    FINDING_TIME: _ClassVar[Finding]
    FINDING_VERSION: _ClassVar[Finding]
    FINDING_IDENTIFIER: _ClassVar[Finding]
    FINDING_PATH: _ClassVar[Finding]
    FINDING_QUOTE: _ClassVar[Finding]
    FINDING_NAME: _ClassVar[Finding]
    FINDING_QUANTIFIER: _ClassVar[Finding]
    FINDING_POLARITY: _ClassVar[Finding]
    FINDING_OPPOSITE: _ClassVar[Finding]
    FINDING_ROLE: _ClassVar[Finding]
    FINDING_ORDER: _ClassVar[Finding]
    FINDING_MODALITY: _ClassVar[Finding]
    FINDING_TENSE: _ClassVar[Finding]
    FINDING_QUESTION: _ClassVar[Finding]
    FINDING_REPLACED: _ClassVar[Finding]
    FINDING_ADDED: _ClassVar[Finding]
    FINDING_MISSING: _ClassVar[Finding]
    FINDING_UNREAD: _ClassVar[Finding]
    FINDING_SYMBOL: _ClassVar[Finding]
    FINDING_JUDGE: _ClassVar[Finding]
    FINDING_SUBJECT: _ClassVar[Finding]
    FINDING_OVER_BUDGET: _ClassVar[Finding]
    FINDING_CONJUNCTION: _ClassVar[Finding]
    FINDING_FUNCTION_WORD: _ClassVar[Finding]
    FINDING_SEPARATE: _ClassVar[Finding]
    FINDING_EXCLUSIVE: _ClassVar[Finding]

class Action(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    ACTION_UNSPECIFIED: _ClassVar[Action]
    ACTION_REFUSE: _ClassVar[Action]
    ACTION_LINK: _ClassVar[Action]
    ACTION_SUPERSEDE: _ClassVar[Action]

class Tokenizer(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    TOKENIZER_UNSPECIFIED: _ClassVar[Tokenizer]
    TOKENIZER_SCRIPT_AWARE: _ClassVar[Tokenizer]
    TOKENIZER_WHITESPACE: _ClassVar[Tokenizer]

class Preset(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    PRESET_UNSPECIFIED: _ClassVar[Preset]
    PRESET_STANDARD: _ClassVar[Preset]
    PRESET_EGO: _ClassVar[Preset]
    PRESET_ROBOTMEM: _ClassVar[Preset]
KIND_UNSPECIFIED: Kind
KIND_STATE: Kind
KIND_EVENT: Kind
KIND_AFFECT: Kind
STATE_KIND_UNSPECIFIED: StateKind
STATE_KIND_FACT: StateKind
STATE_KIND_RELATION: StateKind
STATE_KIND_TASK: StateKind
STATE_KIND_SUMMARY: StateKind
STATE_KIND_LONG_MOOD: StateKind
SOURCE_UNSPECIFIED: Source
SOURCE_EXTERNAL: Source
SOURCE_TOOL: Source
SOURCE_AGENT: Source
SOURCE_USER: Source
STATUS_UNSPECIFIED: Status
STATUS_ACTIVE: Status
STATUS_SUPERSEDED: Status
STATUS_CLOSED: Status
STATUS_FORGOTTEN: Status
STATUS_PENDING: Status
LINK_TYPE_UNSPECIFIED: LinkType
LINK_TYPE_RELATED: LinkType
LINK_TYPE_UPDATES: LinkType
LINK_TYPE_UPDATED_BY: LinkType
LINK_TYPE_CONTRADICTS: LinkType
LINK_TYPE_REFINES: LinkType
LINK_TYPE_REFINED_BY: LinkType
LINK_TYPE_CAUSES: LinkType
LINK_TYPE_CAUSED_BY: LinkType
LINK_TYPE_COACTIVATED: LinkType
LINK_TYPE_LIKELY_SAME: LinkType
LINK_TYPE_MAY_REPLACE: LinkType
LINK_TYPE_MAYBE_REPLACED_BY: LinkType
OPERATOR_UNSPECIFIED: Operator
OPERATOR_EQ: Operator
OPERATOR_NE: Operator
OPERATOR_GT: Operator
OPERATOR_GTE: Operator
OPERATOR_LT: Operator
OPERATOR_LTE: Operator
METHOD_UNSPECIFIED: Method
METHOD_NONE: Method
METHOD_EXACT: Method
METHOD_JACCARD: Method
METHOD_COSINE: Method
METHOD_SESSION_COSINE: Method
METHOD_JUDGE: Method
VERDICT_UNSPECIFIED: Verdict
VERDICT_NEW: Verdict
VERDICT_RELATED: Verdict
VERDICT_REFINEMENT: Verdict
VERDICT_UPDATE: Verdict
VERDICT_CONTRADICTION: Verdict
VERDICT_DUPLICATE: Verdict
VERDICT_CONTAINED: Verdict
FINDING_UNSPECIFIED: Finding
FINDING_SAME_TEXT: Finding
FINDING_SAME_WORDS: Finding
FINDING_SAME_CONTENT: Finding
FINDING_SYNONYM: Finding
FINDING_NUMBER: Finding
FINDING_QUANTITY: Finding
FINDING_DATE: Finding
FINDING_TIME: Finding
FINDING_VERSION: Finding
FINDING_IDENTIFIER: Finding
FINDING_PATH: Finding
FINDING_QUOTE: Finding
FINDING_NAME: Finding
FINDING_QUANTIFIER: Finding
FINDING_POLARITY: Finding
FINDING_OPPOSITE: Finding
FINDING_ROLE: Finding
FINDING_ORDER: Finding
FINDING_MODALITY: Finding
FINDING_TENSE: Finding
FINDING_QUESTION: Finding
FINDING_REPLACED: Finding
FINDING_ADDED: Finding
FINDING_MISSING: Finding
FINDING_UNREAD: Finding
FINDING_SYMBOL: Finding
FINDING_JUDGE: Finding
FINDING_SUBJECT: Finding
FINDING_OVER_BUDGET: Finding
FINDING_CONJUNCTION: Finding
FINDING_FUNCTION_WORD: Finding
FINDING_SEPARATE: Finding
FINDING_EXCLUSIVE: Finding
ACTION_UNSPECIFIED: Action
ACTION_REFUSE: Action
ACTION_LINK: Action
ACTION_SUPERSEDE: Action
TOKENIZER_UNSPECIFIED: Tokenizer
TOKENIZER_SCRIPT_AWARE: Tokenizer
TOKENIZER_WHITESPACE: Tokenizer
PRESET_UNSPECIFIED: Preset
PRESET_STANDARD: Preset
PRESET_EGO: Preset
PRESET_ROBOTMEM: Preset

class AsOf(_message.Message):
    __slots__ = ("revision", "time")
    REVISION_FIELD_NUMBER: _ClassVar[int]
    TIME_FIELD_NUMBER: _ClassVar[int]
    revision: int
    time: _timestamp_pb2.Timestamp
    def __init__(self, revision: _Optional[int] = ..., time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ...) -> None: ...

class TimeRange(_message.Message):
    __slots__ = ("from_time", "to_time")
    FROM_TIME_FIELD_NUMBER: _ClassVar[int]
    TO_TIME_FIELD_NUMBER: _ClassVar[int]
    from_time: _timestamp_pb2.Timestamp
    to_time: _timestamp_pb2.Timestamp
    def __init__(self, from_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., to_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ...) -> None: ...

class Link(_message.Message):
    __slots__ = ("target_id", "type", "confidence", "note")
    TARGET_ID_FIELD_NUMBER: _ClassVar[int]
    TYPE_FIELD_NUMBER: _ClassVar[int]
    CONFIDENCE_FIELD_NUMBER: _ClassVar[int]
    NOTE_FIELD_NUMBER: _ClassVar[int]
    target_id: str
    type: LinkType
    confidence: float
    note: str
    def __init__(self, target_id: _Optional[str] = ..., type: _Optional[_Union[LinkType, str]] = ..., confidence: _Optional[float] = ..., note: _Optional[str] = ...) -> None: ...

class Memory(_message.Message):
    __slots__ = ("id", "external_id", "content", "content_hash", "vector", "kind", "state_kind", "category", "tags", "attributes", "payload", "importance", "confidence", "salience", "emotion", "perception_type", "life_stage", "agent_id", "session_id", "thread_id", "entities", "evidence_ids", "about_time", "created_time", "updated_time", "last_access_time", "access_count", "last_confirmed_time", "done_time", "valid_from_time", "valid_to_time", "status", "superseded_by", "private", "links", "revision", "key", "namespace", "expires_time", "expires_after_s", "source")
    ID_FIELD_NUMBER: _ClassVar[int]
    EXTERNAL_ID_FIELD_NUMBER: _ClassVar[int]
    CONTENT_FIELD_NUMBER: _ClassVar[int]
    CONTENT_HASH_FIELD_NUMBER: _ClassVar[int]
    VECTOR_FIELD_NUMBER: _ClassVar[int]
    KIND_FIELD_NUMBER: _ClassVar[int]
    STATE_KIND_FIELD_NUMBER: _ClassVar[int]
    CATEGORY_FIELD_NUMBER: _ClassVar[int]
    TAGS_FIELD_NUMBER: _ClassVar[int]
    ATTRIBUTES_FIELD_NUMBER: _ClassVar[int]
    PAYLOAD_FIELD_NUMBER: _ClassVar[int]
    IMPORTANCE_FIELD_NUMBER: _ClassVar[int]
    CONFIDENCE_FIELD_NUMBER: _ClassVar[int]
    SALIENCE_FIELD_NUMBER: _ClassVar[int]
    EMOTION_FIELD_NUMBER: _ClassVar[int]
    PERCEPTION_TYPE_FIELD_NUMBER: _ClassVar[int]
    LIFE_STAGE_FIELD_NUMBER: _ClassVar[int]
    AGENT_ID_FIELD_NUMBER: _ClassVar[int]
    SESSION_ID_FIELD_NUMBER: _ClassVar[int]
    THREAD_ID_FIELD_NUMBER: _ClassVar[int]
    ENTITIES_FIELD_NUMBER: _ClassVar[int]
    EVIDENCE_IDS_FIELD_NUMBER: _ClassVar[int]
    ABOUT_TIME_FIELD_NUMBER: _ClassVar[int]
    CREATED_TIME_FIELD_NUMBER: _ClassVar[int]
    UPDATED_TIME_FIELD_NUMBER: _ClassVar[int]
    LAST_ACCESS_TIME_FIELD_NUMBER: _ClassVar[int]
    ACCESS_COUNT_FIELD_NUMBER: _ClassVar[int]
    LAST_CONFIRMED_TIME_FIELD_NUMBER: _ClassVar[int]
    DONE_TIME_FIELD_NUMBER: _ClassVar[int]
    VALID_FROM_TIME_FIELD_NUMBER: _ClassVar[int]
    VALID_TO_TIME_FIELD_NUMBER: _ClassVar[int]
    STATUS_FIELD_NUMBER: _ClassVar[int]
    SUPERSEDED_BY_FIELD_NUMBER: _ClassVar[int]
    PRIVATE_FIELD_NUMBER: _ClassVar[int]
    LINKS_FIELD_NUMBER: _ClassVar[int]
    REVISION_FIELD_NUMBER: _ClassVar[int]
    KEY_FIELD_NUMBER: _ClassVar[int]
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    EXPIRES_TIME_FIELD_NUMBER: _ClassVar[int]
    EXPIRES_AFTER_S_FIELD_NUMBER: _ClassVar[int]
    SOURCE_FIELD_NUMBER: _ClassVar[int]
    id: str
    external_id: str
    content: str
    content_hash: bytes
    vector: bytes
    kind: Kind
    state_kind: StateKind
    category: str
    tags: _containers.RepeatedScalarFieldContainer[str]
    attributes: _struct_pb2.Struct
    payload: _struct_pb2.Struct
    importance: int
    confidence: float
    salience: float
    emotion: str
    perception_type: str
    life_stage: str
    agent_id: str
    session_id: str
    thread_id: str
    entities: _containers.RepeatedScalarFieldContainer[str]
    evidence_ids: _containers.RepeatedScalarFieldContainer[str]
    about_time: TimeRange
    created_time: _timestamp_pb2.Timestamp
    updated_time: _timestamp_pb2.Timestamp
    last_access_time: _timestamp_pb2.Timestamp
    access_count: int
    last_confirmed_time: _timestamp_pb2.Timestamp
    done_time: _timestamp_pb2.Timestamp
    valid_from_time: _timestamp_pb2.Timestamp
    valid_to_time: _timestamp_pb2.Timestamp
    status: Status
    superseded_by: str
    private: bool
    links: _containers.RepeatedCompositeFieldContainer[Link]
    revision: int
    key: TypedKey
    namespace: _containers.RepeatedScalarFieldContainer[str]
    expires_time: _timestamp_pb2.Timestamp
    expires_after_s: float
    source: Source
    def __init__(self, id: _Optional[str] = ..., external_id: _Optional[str] = ..., content: _Optional[str] = ..., content_hash: _Optional[bytes] = ..., vector: _Optional[bytes] = ..., kind: _Optional[_Union[Kind, str]] = ..., state_kind: _Optional[_Union[StateKind, str]] = ..., category: _Optional[str] = ..., tags: _Optional[_Iterable[str]] = ..., attributes: _Optional[_Union[_struct_pb2.Struct, _Mapping]] = ..., payload: _Optional[_Union[_struct_pb2.Struct, _Mapping]] = ..., importance: _Optional[int] = ..., confidence: _Optional[float] = ..., salience: _Optional[float] = ..., emotion: _Optional[str] = ..., perception_type: _Optional[str] = ..., life_stage: _Optional[str] = ..., agent_id: _Optional[str] = ..., session_id: _Optional[str] = ..., thread_id: _Optional[str] = ..., entities: _Optional[_Iterable[str]] = ..., evidence_ids: _Optional[_Iterable[str]] = ..., about_time: _Optional[_Union[TimeRange, _Mapping]] = ..., created_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., updated_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., last_access_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., access_count: _Optional[int] = ..., last_confirmed_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., done_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., valid_from_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., valid_to_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., status: _Optional[_Union[Status, str]] = ..., superseded_by: _Optional[str] = ..., private: _Optional[bool] = ..., links: _Optional[_Iterable[_Union[Link, _Mapping]]] = ..., revision: _Optional[int] = ..., key: _Optional[_Union[TypedKey, _Mapping]] = ..., namespace: _Optional[_Iterable[str]] = ..., expires_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., expires_after_s: _Optional[float] = ..., source: _Optional[_Union[Source, str]] = ...) -> None: ...

class MemoryDraft(_message.Message):
    __slots__ = ("content", "external_id", "vector", "kind", "state_kind", "category", "tags", "attributes", "payload", "importance", "confidence", "salience", "emotion", "perception_type", "life_stage", "session_id", "thread_id", "entities", "evidence_ids", "about_time", "created_time", "last_confirmed_time", "done_time", "valid_from_time", "valid_to_time", "private", "key", "namespace", "expires_time", "expires_after_s", "source")
    CONTENT_FIELD_NUMBER: _ClassVar[int]
    EXTERNAL_ID_FIELD_NUMBER: _ClassVar[int]
    VECTOR_FIELD_NUMBER: _ClassVar[int]
    KIND_FIELD_NUMBER: _ClassVar[int]
    STATE_KIND_FIELD_NUMBER: _ClassVar[int]
    CATEGORY_FIELD_NUMBER: _ClassVar[int]
    TAGS_FIELD_NUMBER: _ClassVar[int]
    ATTRIBUTES_FIELD_NUMBER: _ClassVar[int]
    PAYLOAD_FIELD_NUMBER: _ClassVar[int]
    IMPORTANCE_FIELD_NUMBER: _ClassVar[int]
    CONFIDENCE_FIELD_NUMBER: _ClassVar[int]
    SALIENCE_FIELD_NUMBER: _ClassVar[int]
    EMOTION_FIELD_NUMBER: _ClassVar[int]
    PERCEPTION_TYPE_FIELD_NUMBER: _ClassVar[int]
    LIFE_STAGE_FIELD_NUMBER: _ClassVar[int]
    SESSION_ID_FIELD_NUMBER: _ClassVar[int]
    THREAD_ID_FIELD_NUMBER: _ClassVar[int]
    ENTITIES_FIELD_NUMBER: _ClassVar[int]
    EVIDENCE_IDS_FIELD_NUMBER: _ClassVar[int]
    ABOUT_TIME_FIELD_NUMBER: _ClassVar[int]
    CREATED_TIME_FIELD_NUMBER: _ClassVar[int]
    LAST_CONFIRMED_TIME_FIELD_NUMBER: _ClassVar[int]
    DONE_TIME_FIELD_NUMBER: _ClassVar[int]
    VALID_FROM_TIME_FIELD_NUMBER: _ClassVar[int]
    VALID_TO_TIME_FIELD_NUMBER: _ClassVar[int]
    PRIVATE_FIELD_NUMBER: _ClassVar[int]
    KEY_FIELD_NUMBER: _ClassVar[int]
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    EXPIRES_TIME_FIELD_NUMBER: _ClassVar[int]
    EXPIRES_AFTER_S_FIELD_NUMBER: _ClassVar[int]
    SOURCE_FIELD_NUMBER: _ClassVar[int]
    content: str
    external_id: str
    vector: bytes
    kind: Kind
    state_kind: StateKind
    category: str
    tags: _containers.RepeatedScalarFieldContainer[str]
    attributes: _struct_pb2.Struct
    payload: _struct_pb2.Struct
    importance: int
    confidence: float
    salience: float
    emotion: str
    perception_type: str
    life_stage: str
    session_id: str
    thread_id: str
    entities: _containers.RepeatedScalarFieldContainer[str]
    evidence_ids: _containers.RepeatedScalarFieldContainer[str]
    about_time: TimeRange
    created_time: _timestamp_pb2.Timestamp
    last_confirmed_time: _timestamp_pb2.Timestamp
    done_time: _timestamp_pb2.Timestamp
    valid_from_time: _timestamp_pb2.Timestamp
    valid_to_time: _timestamp_pb2.Timestamp
    private: bool
    key: TypedKey
    namespace: _containers.RepeatedScalarFieldContainer[str]
    expires_time: _timestamp_pb2.Timestamp
    expires_after_s: float
    source: Source
    def __init__(self, content: _Optional[str] = ..., external_id: _Optional[str] = ..., vector: _Optional[bytes] = ..., kind: _Optional[_Union[Kind, str]] = ..., state_kind: _Optional[_Union[StateKind, str]] = ..., category: _Optional[str] = ..., tags: _Optional[_Iterable[str]] = ..., attributes: _Optional[_Union[_struct_pb2.Struct, _Mapping]] = ..., payload: _Optional[_Union[_struct_pb2.Struct, _Mapping]] = ..., importance: _Optional[int] = ..., confidence: _Optional[float] = ..., salience: _Optional[float] = ..., emotion: _Optional[str] = ..., perception_type: _Optional[str] = ..., life_stage: _Optional[str] = ..., session_id: _Optional[str] = ..., thread_id: _Optional[str] = ..., entities: _Optional[_Iterable[str]] = ..., evidence_ids: _Optional[_Iterable[str]] = ..., about_time: _Optional[_Union[TimeRange, _Mapping]] = ..., created_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., last_confirmed_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., done_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., valid_from_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., valid_to_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., private: _Optional[bool] = ..., key: _Optional[_Union[TypedKey, _Mapping]] = ..., namespace: _Optional[_Iterable[str]] = ..., expires_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., expires_after_s: _Optional[float] = ..., source: _Optional[_Union[Source, str]] = ...) -> None: ...

class Comparison(_message.Message):
    __slots__ = ("path", "operator", "value")
    PATH_FIELD_NUMBER: _ClassVar[int]
    OPERATOR_FIELD_NUMBER: _ClassVar[int]
    VALUE_FIELD_NUMBER: _ClassVar[int]
    path: _containers.RepeatedScalarFieldContainer[str]
    operator: Operator
    value: _struct_pb2.Value
    def __init__(self, path: _Optional[_Iterable[str]] = ..., operator: _Optional[_Union[Operator, str]] = ..., value: _Optional[_Union[_struct_pb2.Value, _Mapping]] = ...) -> None: ...

class Filter(_message.Message):
    __slots__ = ("kinds", "state_kinds", "categories", "tags", "agent_ids", "session_ids", "thread_ids", "statuses", "created", "updated", "about", "valid", "min_confidence", "min_importance", "attributes", "entities", "comparisons", "namespace_prefix", "sources", "min_source")
    KINDS_FIELD_NUMBER: _ClassVar[int]
    STATE_KINDS_FIELD_NUMBER: _ClassVar[int]
    CATEGORIES_FIELD_NUMBER: _ClassVar[int]
    TAGS_FIELD_NUMBER: _ClassVar[int]
    AGENT_IDS_FIELD_NUMBER: _ClassVar[int]
    SESSION_IDS_FIELD_NUMBER: _ClassVar[int]
    THREAD_IDS_FIELD_NUMBER: _ClassVar[int]
    STATUSES_FIELD_NUMBER: _ClassVar[int]
    CREATED_FIELD_NUMBER: _ClassVar[int]
    UPDATED_FIELD_NUMBER: _ClassVar[int]
    ABOUT_FIELD_NUMBER: _ClassVar[int]
    VALID_FIELD_NUMBER: _ClassVar[int]
    MIN_CONFIDENCE_FIELD_NUMBER: _ClassVar[int]
    MIN_IMPORTANCE_FIELD_NUMBER: _ClassVar[int]
    ATTRIBUTES_FIELD_NUMBER: _ClassVar[int]
    ENTITIES_FIELD_NUMBER: _ClassVar[int]
    COMPARISONS_FIELD_NUMBER: _ClassVar[int]
    NAMESPACE_PREFIX_FIELD_NUMBER: _ClassVar[int]
    SOURCES_FIELD_NUMBER: _ClassVar[int]
    MIN_SOURCE_FIELD_NUMBER: _ClassVar[int]
    kinds: _containers.RepeatedScalarFieldContainer[Kind]
    state_kinds: _containers.RepeatedScalarFieldContainer[StateKind]
    categories: _containers.RepeatedScalarFieldContainer[str]
    tags: _containers.RepeatedScalarFieldContainer[str]
    agent_ids: _containers.RepeatedScalarFieldContainer[str]
    session_ids: _containers.RepeatedScalarFieldContainer[str]
    thread_ids: _containers.RepeatedScalarFieldContainer[str]
    statuses: _containers.RepeatedScalarFieldContainer[Status]
    created: TimeRange
    updated: TimeRange
    about: TimeRange
    valid: TimeRange
    min_confidence: float
    min_importance: int
    attributes: _struct_pb2.Struct
    entities: _containers.RepeatedScalarFieldContainer[str]
    comparisons: _containers.RepeatedCompositeFieldContainer[Comparison]
    namespace_prefix: _containers.RepeatedScalarFieldContainer[str]
    sources: _containers.RepeatedScalarFieldContainer[Source]
    min_source: Source
    def __init__(self, kinds: _Optional[_Iterable[_Union[Kind, str]]] = ..., state_kinds: _Optional[_Iterable[_Union[StateKind, str]]] = ..., categories: _Optional[_Iterable[str]] = ..., tags: _Optional[_Iterable[str]] = ..., agent_ids: _Optional[_Iterable[str]] = ..., session_ids: _Optional[_Iterable[str]] = ..., thread_ids: _Optional[_Iterable[str]] = ..., statuses: _Optional[_Iterable[_Union[Status, str]]] = ..., created: _Optional[_Union[TimeRange, _Mapping]] = ..., updated: _Optional[_Union[TimeRange, _Mapping]] = ..., about: _Optional[_Union[TimeRange, _Mapping]] = ..., valid: _Optional[_Union[TimeRange, _Mapping]] = ..., min_confidence: _Optional[float] = ..., min_importance: _Optional[int] = ..., attributes: _Optional[_Union[_struct_pb2.Struct, _Mapping]] = ..., entities: _Optional[_Iterable[str]] = ..., comparisons: _Optional[_Iterable[_Union[Comparison, _Mapping]]] = ..., namespace_prefix: _Optional[_Iterable[str]] = ..., sources: _Optional[_Iterable[_Union[Source, str]]] = ..., min_source: _Optional[_Union[Source, str]] = ...) -> None: ...

class Span(_message.Message):
    __slots__ = ("start", "end")
    START_FIELD_NUMBER: _ClassVar[int]
    END_FIELD_NUMBER: _ClassVar[int]
    start: int
    end: int
    def __init__(self, start: _Optional[int] = ..., end: _Optional[int] = ...) -> None: ...

class Evidence(_message.Message):
    __slots__ = ("finding", "own", "other", "own_text", "other_text", "place", "weight")
    FINDING_FIELD_NUMBER: _ClassVar[int]
    OWN_FIELD_NUMBER: _ClassVar[int]
    OTHER_FIELD_NUMBER: _ClassVar[int]
    OWN_TEXT_FIELD_NUMBER: _ClassVar[int]
    OTHER_TEXT_FIELD_NUMBER: _ClassVar[int]
    PLACE_FIELD_NUMBER: _ClassVar[int]
    WEIGHT_FIELD_NUMBER: _ClassVar[int]
    finding: Finding
    own: Span
    other: Span
    own_text: str
    other_text: str
    place: str
    weight: float
    def __init__(self, finding: _Optional[_Union[Finding, str]] = ..., own: _Optional[_Union[Span, _Mapping]] = ..., other: _Optional[_Union[Span, _Mapping]] = ..., own_text: _Optional[str] = ..., other_text: _Optional[str] = ..., place: _Optional[str] = ..., weight: _Optional[float] = ...) -> None: ...

class Judgement(_message.Message):
    __slots__ = ("verdict", "evidence", "same_probability", "hard")
    VERDICT_FIELD_NUMBER: _ClassVar[int]
    EVIDENCE_FIELD_NUMBER: _ClassVar[int]
    SAME_PROBABILITY_FIELD_NUMBER: _ClassVar[int]
    HARD_FIELD_NUMBER: _ClassVar[int]
    verdict: Verdict
    evidence: _containers.RepeatedCompositeFieldContainer[Evidence]
    same_probability: float
    hard: bool
    def __init__(self, verdict: _Optional[_Union[Verdict, str]] = ..., evidence: _Optional[_Iterable[_Union[Evidence, _Mapping]]] = ..., same_probability: _Optional[float] = ..., hard: _Optional[bool] = ...) -> None: ...

class LayerReport(_message.Message):
    __slots__ = ("layer", "ran", "skipped_because", "best_similarity", "unread_count")
    LAYER_FIELD_NUMBER: _ClassVar[int]
    RAN_FIELD_NUMBER: _ClassVar[int]
    SKIPPED_BECAUSE_FIELD_NUMBER: _ClassVar[int]
    BEST_SIMILARITY_FIELD_NUMBER: _ClassVar[int]
    UNREAD_COUNT_FIELD_NUMBER: _ClassVar[int]
    layer: Method
    ran: bool
    skipped_because: str
    best_similarity: float
    unread_count: int
    def __init__(self, layer: _Optional[_Union[Method, str]] = ..., ran: _Optional[bool] = ..., skipped_because: _Optional[str] = ..., best_similarity: _Optional[float] = ..., unread_count: _Optional[int] = ...) -> None: ...

class SimilarMemory(_message.Message):
    __slots__ = ("memory_id", "cosine_similarity", "jaccard_similarity", "snippet", "age", "same_text", "judgement", "revision", "source")
    MEMORY_ID_FIELD_NUMBER: _ClassVar[int]
    COSINE_SIMILARITY_FIELD_NUMBER: _ClassVar[int]
    JACCARD_SIMILARITY_FIELD_NUMBER: _ClassVar[int]
    SNIPPET_FIELD_NUMBER: _ClassVar[int]
    AGE_FIELD_NUMBER: _ClassVar[int]
    SAME_TEXT_FIELD_NUMBER: _ClassVar[int]
    JUDGEMENT_FIELD_NUMBER: _ClassVar[int]
    REVISION_FIELD_NUMBER: _ClassVar[int]
    SOURCE_FIELD_NUMBER: _ClassVar[int]
    memory_id: str
    cosine_similarity: float
    jaccard_similarity: float
    snippet: str
    age: str
    same_text: bool
    judgement: Judgement
    revision: int
    source: Source
    def __init__(self, memory_id: _Optional[str] = ..., cosine_similarity: _Optional[float] = ..., jaccard_similarity: _Optional[float] = ..., snippet: _Optional[str] = ..., age: _Optional[str] = ..., same_text: _Optional[bool] = ..., judgement: _Optional[_Union[Judgement, _Mapping]] = ..., revision: _Optional[int] = ..., source: _Optional[_Union[Source, str]] = ...) -> None: ...

class Duplicate(_message.Message):
    __slots__ = ("memory_id", "age", "snippet", "similarity", "method", "judgement", "source", "pending")
    MEMORY_ID_FIELD_NUMBER: _ClassVar[int]
    AGE_FIELD_NUMBER: _ClassVar[int]
    SNIPPET_FIELD_NUMBER: _ClassVar[int]
    SIMILARITY_FIELD_NUMBER: _ClassVar[int]
    METHOD_FIELD_NUMBER: _ClassVar[int]
    JUDGEMENT_FIELD_NUMBER: _ClassVar[int]
    SOURCE_FIELD_NUMBER: _ClassVar[int]
    PENDING_FIELD_NUMBER: _ClassVar[int]
    memory_id: str
    age: str
    snippet: str
    similarity: float
    method: Method
    judgement: Judgement
    source: Source
    pending: bool
    def __init__(self, memory_id: _Optional[str] = ..., age: _Optional[str] = ..., snippet: _Optional[str] = ..., similarity: _Optional[float] = ..., method: _Optional[_Union[Method, str]] = ..., judgement: _Optional[_Union[Judgement, _Mapping]] = ..., source: _Optional[_Union[Source, str]] = ..., pending: _Optional[bool] = ...) -> None: ...

class ForgottenMatch(_message.Message):
    __slots__ = ("memory_id", "age", "snippet", "reason", "agent_id", "revision")
    MEMORY_ID_FIELD_NUMBER: _ClassVar[int]
    AGE_FIELD_NUMBER: _ClassVar[int]
    SNIPPET_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    AGENT_ID_FIELD_NUMBER: _ClassVar[int]
    REVISION_FIELD_NUMBER: _ClassVar[int]
    memory_id: str
    age: str
    snippet: str
    reason: str
    agent_id: str
    revision: int
    def __init__(self, memory_id: _Optional[str] = ..., age: _Optional[str] = ..., snippet: _Optional[str] = ..., reason: _Optional[str] = ..., agent_id: _Optional[str] = ..., revision: _Optional[int] = ...) -> None: ...

class OutdatedMatch(_message.Message):
    __slots__ = ("memory_id", "age", "snippet", "replaced_by_id", "replaced_by_snippet")
    MEMORY_ID_FIELD_NUMBER: _ClassVar[int]
    AGE_FIELD_NUMBER: _ClassVar[int]
    SNIPPET_FIELD_NUMBER: _ClassVar[int]
    REPLACED_BY_ID_FIELD_NUMBER: _ClassVar[int]
    REPLACED_BY_SNIPPET_FIELD_NUMBER: _ClassVar[int]
    memory_id: str
    age: str
    snippet: str
    replaced_by_id: str
    replaced_by_snippet: str
    def __init__(self, memory_id: _Optional[str] = ..., age: _Optional[str] = ..., snippet: _Optional[str] = ..., replaced_by_id: _Optional[str] = ..., replaced_by_snippet: _Optional[str] = ...) -> None: ...

class GuardPolicy(_message.Message):
    __slots__ = ("preset", "exact", "jaccard_above", "cosine_distance_below", "cosine_at_least", "session_cosine_at_least", "judged_from", "similar_above", "link_distance_below", "tokenizer", "on_duplicate", "on_update", "on_contradiction", "on_refinement", "refuse_forgotten", "likely_from", "on_contained", "shown_from", "certain_from", "learns", "review_from")
    PRESET_FIELD_NUMBER: _ClassVar[int]
    EXACT_FIELD_NUMBER: _ClassVar[int]
    JACCARD_ABOVE_FIELD_NUMBER: _ClassVar[int]
    COSINE_DISTANCE_BELOW_FIELD_NUMBER: _ClassVar[int]
    COSINE_AT_LEAST_FIELD_NUMBER: _ClassVar[int]
    SESSION_COSINE_AT_LEAST_FIELD_NUMBER: _ClassVar[int]
    JUDGED_FROM_FIELD_NUMBER: _ClassVar[int]
    SIMILAR_ABOVE_FIELD_NUMBER: _ClassVar[int]
    LINK_DISTANCE_BELOW_FIELD_NUMBER: _ClassVar[int]
    TOKENIZER_FIELD_NUMBER: _ClassVar[int]
    ON_DUPLICATE_FIELD_NUMBER: _ClassVar[int]
    ON_UPDATE_FIELD_NUMBER: _ClassVar[int]
    ON_CONTRADICTION_FIELD_NUMBER: _ClassVar[int]
    ON_REFINEMENT_FIELD_NUMBER: _ClassVar[int]
    REFUSE_FORGOTTEN_FIELD_NUMBER: _ClassVar[int]
    LIKELY_FROM_FIELD_NUMBER: _ClassVar[int]
    ON_CONTAINED_FIELD_NUMBER: _ClassVar[int]
    SHOWN_FROM_FIELD_NUMBER: _ClassVar[int]
    CERTAIN_FROM_FIELD_NUMBER: _ClassVar[int]
    LEARNS_FIELD_NUMBER: _ClassVar[int]
    REVIEW_FROM_FIELD_NUMBER: _ClassVar[int]
    preset: Preset
    exact: bool
    jaccard_above: float
    cosine_distance_below: float
    cosine_at_least: float
    session_cosine_at_least: float
    judged_from: float
    similar_above: float
    link_distance_below: float
    tokenizer: Tokenizer
    on_duplicate: Action
    on_update: Action
    on_contradiction: Action
    on_refinement: Action
    refuse_forgotten: bool
    likely_from: float
    on_contained: Action
    shown_from: float
    certain_from: float
    learns: bool
    review_from: Source
    def __init__(self, preset: _Optional[_Union[Preset, str]] = ..., exact: _Optional[bool] = ..., jaccard_above: _Optional[float] = ..., cosine_distance_below: _Optional[float] = ..., cosine_at_least: _Optional[float] = ..., session_cosine_at_least: _Optional[float] = ..., judged_from: _Optional[float] = ..., similar_above: _Optional[float] = ..., link_distance_below: _Optional[float] = ..., tokenizer: _Optional[_Union[Tokenizer, str]] = ..., on_duplicate: _Optional[_Union[Action, str]] = ..., on_update: _Optional[_Union[Action, str]] = ..., on_contradiction: _Optional[_Union[Action, str]] = ..., on_refinement: _Optional[_Union[Action, str]] = ..., refuse_forgotten: _Optional[bool] = ..., likely_from: _Optional[float] = ..., on_contained: _Optional[_Union[Action, str]] = ..., shown_from: _Optional[float] = ..., certain_from: _Optional[float] = ..., learns: _Optional[bool] = ..., review_from: _Optional[_Union[Source, str]] = ...) -> None: ...

class TypedKey(_message.Message):
    __slots__ = ("subject", "attribute")
    SUBJECT_FIELD_NUMBER: _ClassVar[int]
    ATTRIBUTE_FIELD_NUMBER: _ClassVar[int]
    subject: str
    attribute: str
    def __init__(self, subject: _Optional[str] = ..., attribute: _Optional[str] = ...) -> None: ...

class DiversityPolicy(_message.Message):
    __slots__ = ("enabled", "mmr_lambda", "kind_share_max", "state_kind_share_max", "life_stage_share_max", "thread_share_max")
    ENABLED_FIELD_NUMBER: _ClassVar[int]
    MMR_LAMBDA_FIELD_NUMBER: _ClassVar[int]
    KIND_SHARE_MAX_FIELD_NUMBER: _ClassVar[int]
    STATE_KIND_SHARE_MAX_FIELD_NUMBER: _ClassVar[int]
    LIFE_STAGE_SHARE_MAX_FIELD_NUMBER: _ClassVar[int]
    THREAD_SHARE_MAX_FIELD_NUMBER: _ClassVar[int]
    enabled: bool
    mmr_lambda: float
    kind_share_max: float
    state_kind_share_max: float
    life_stage_share_max: float
    thread_share_max: float
    def __init__(self, enabled: _Optional[bool] = ..., mmr_lambda: _Optional[float] = ..., kind_share_max: _Optional[float] = ..., state_kind_share_max: _Optional[float] = ..., life_stage_share_max: _Optional[float] = ..., thread_share_max: _Optional[float] = ...) -> None: ...

class DecayPolicy(_message.Message):
    __slots__ = ("rate_per_day", "min_interval_days", "floor", "fact_rate_per_day", "relation_rate_per_day", "task_rate_per_day", "summary_rate_per_day", "long_mood_rate_per_day", "event_rate_per_day", "affect_rate_per_day")
    RATE_PER_DAY_FIELD_NUMBER: _ClassVar[int]
    MIN_INTERVAL_DAYS_FIELD_NUMBER: _ClassVar[int]
    FLOOR_FIELD_NUMBER: _ClassVar[int]
    FACT_RATE_PER_DAY_FIELD_NUMBER: _ClassVar[int]
    RELATION_RATE_PER_DAY_FIELD_NUMBER: _ClassVar[int]
    TASK_RATE_PER_DAY_FIELD_NUMBER: _ClassVar[int]
    SUMMARY_RATE_PER_DAY_FIELD_NUMBER: _ClassVar[int]
    LONG_MOOD_RATE_PER_DAY_FIELD_NUMBER: _ClassVar[int]
    EVENT_RATE_PER_DAY_FIELD_NUMBER: _ClassVar[int]
    AFFECT_RATE_PER_DAY_FIELD_NUMBER: _ClassVar[int]
    rate_per_day: float
    min_interval_days: float
    floor: float
    fact_rate_per_day: float
    relation_rate_per_day: float
    task_rate_per_day: float
    summary_rate_per_day: float
    long_mood_rate_per_day: float
    event_rate_per_day: float
    affect_rate_per_day: float
    def __init__(self, rate_per_day: _Optional[float] = ..., min_interval_days: _Optional[float] = ..., floor: _Optional[float] = ..., fact_rate_per_day: _Optional[float] = ..., relation_rate_per_day: _Optional[float] = ..., task_rate_per_day: _Optional[float] = ..., summary_rate_per_day: _Optional[float] = ..., long_mood_rate_per_day: _Optional[float] = ..., event_rate_per_day: _Optional[float] = ..., affect_rate_per_day: _Optional[float] = ...) -> None: ...

class RetentionPolicy(_message.Message):
    __slots__ = ("purge_forgotten_days",)
    PURGE_FORGOTTEN_DAYS_FIELD_NUMBER: _ClassVar[int]
    purge_forgotten_days: float
    def __init__(self, purge_forgotten_days: _Optional[float] = ...) -> None: ...

class BlastPolicy(_message.Message):
    __slots__ = ("rows_min", "percent")
    ROWS_MIN_FIELD_NUMBER: _ClassVar[int]
    PERCENT_FIELD_NUMBER: _ClassVar[int]
    rows_min: int
    percent: float
    def __init__(self, rows_min: _Optional[int] = ..., percent: _Optional[float] = ...) -> None: ...

class TidyPolicy(_message.Message):
    __slots__ = ("enabled", "first_turn", "every_turns", "closes_max", "read_max")
    ENABLED_FIELD_NUMBER: _ClassVar[int]
    FIRST_TURN_FIELD_NUMBER: _ClassVar[int]
    EVERY_TURNS_FIELD_NUMBER: _ClassVar[int]
    CLOSES_MAX_FIELD_NUMBER: _ClassVar[int]
    READ_MAX_FIELD_NUMBER: _ClassVar[int]
    enabled: bool
    first_turn: int
    every_turns: int
    closes_max: int
    read_max: int
    def __init__(self, enabled: _Optional[bool] = ..., first_turn: _Optional[int] = ..., every_turns: _Optional[int] = ..., closes_max: _Optional[int] = ..., read_max: _Optional[int] = ...) -> None: ...

class EmbeddingModel(_message.Message):
    __slots__ = ("name", "version", "weights_sha256", "dimension")
    NAME_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    WEIGHTS_SHA256_FIELD_NUMBER: _ClassVar[int]
    DIMENSION_FIELD_NUMBER: _ClassVar[int]
    name: str
    version: str
    weights_sha256: str
    dimension: int
    def __init__(self, name: _Optional[str] = ..., version: _Optional[str] = ..., weights_sha256: _Optional[str] = ..., dimension: _Optional[int] = ...) -> None: ...

class Collection(_message.Message):
    __slots__ = ("name", "description", "guard", "diversity", "decay", "model", "created_time", "revision", "settings_revision", "calibration", "retention", "blast", "tidy", "fault", "learned")
    NAME_FIELD_NUMBER: _ClassVar[int]
    DESCRIPTION_FIELD_NUMBER: _ClassVar[int]
    GUARD_FIELD_NUMBER: _ClassVar[int]
    DIVERSITY_FIELD_NUMBER: _ClassVar[int]
    DECAY_FIELD_NUMBER: _ClassVar[int]
    MODEL_FIELD_NUMBER: _ClassVar[int]
    CREATED_TIME_FIELD_NUMBER: _ClassVar[int]
    REVISION_FIELD_NUMBER: _ClassVar[int]
    SETTINGS_REVISION_FIELD_NUMBER: _ClassVar[int]
    CALIBRATION_FIELD_NUMBER: _ClassVar[int]
    RETENTION_FIELD_NUMBER: _ClassVar[int]
    BLAST_FIELD_NUMBER: _ClassVar[int]
    TIDY_FIELD_NUMBER: _ClassVar[int]
    FAULT_FIELD_NUMBER: _ClassVar[int]
    LEARNED_FIELD_NUMBER: _ClassVar[int]
    name: str
    description: str
    guard: GuardPolicy
    diversity: DiversityPolicy
    decay: DecayPolicy
    model: EmbeddingModel
    created_time: _timestamp_pb2.Timestamp
    revision: int
    settings_revision: int
    calibration: Calibration
    retention: RetentionPolicy
    blast: BlastPolicy
    tidy: TidyPolicy
    fault: str
    learned: LearnedBounds
    def __init__(self, name: _Optional[str] = ..., description: _Optional[str] = ..., guard: _Optional[_Union[GuardPolicy, _Mapping]] = ..., diversity: _Optional[_Union[DiversityPolicy, _Mapping]] = ..., decay: _Optional[_Union[DecayPolicy, _Mapping]] = ..., model: _Optional[_Union[EmbeddingModel, _Mapping]] = ..., created_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., revision: _Optional[int] = ..., settings_revision: _Optional[int] = ..., calibration: _Optional[_Union[Calibration, _Mapping]] = ..., retention: _Optional[_Union[RetentionPolicy, _Mapping]] = ..., blast: _Optional[_Union[BlastPolicy, _Mapping]] = ..., tidy: _Optional[_Union[TidyPolicy, _Mapping]] = ..., fault: _Optional[str] = ..., learned: _Optional[_Union[LearnedBounds, _Mapping]] = ...) -> None: ...

class LearnedBounds(_message.Message):
    __slots__ = ("answer_count", "same_count", "shift", "likely_from", "certain_from", "learned_time")
    ANSWER_COUNT_FIELD_NUMBER: _ClassVar[int]
    SAME_COUNT_FIELD_NUMBER: _ClassVar[int]
    SHIFT_FIELD_NUMBER: _ClassVar[int]
    LIKELY_FROM_FIELD_NUMBER: _ClassVar[int]
    CERTAIN_FROM_FIELD_NUMBER: _ClassVar[int]
    LEARNED_TIME_FIELD_NUMBER: _ClassVar[int]
    answer_count: int
    same_count: int
    shift: float
    likely_from: float
    certain_from: float
    learned_time: _timestamp_pb2.Timestamp
    def __init__(self, answer_count: _Optional[int] = ..., same_count: _Optional[int] = ..., shift: _Optional[float] = ..., likely_from: _Optional[float] = ..., certain_from: _Optional[float] = ..., learned_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ...) -> None: ...

class Calibration(_message.Message):
    __slots__ = ("model", "false_merge_budget", "false_merge_rate", "duplicate_recall", "pair_count", "created_time")
    MODEL_FIELD_NUMBER: _ClassVar[int]
    FALSE_MERGE_BUDGET_FIELD_NUMBER: _ClassVar[int]
    FALSE_MERGE_RATE_FIELD_NUMBER: _ClassVar[int]
    DUPLICATE_RECALL_FIELD_NUMBER: _ClassVar[int]
    PAIR_COUNT_FIELD_NUMBER: _ClassVar[int]
    CREATED_TIME_FIELD_NUMBER: _ClassVar[int]
    model: EmbeddingModel
    false_merge_budget: float
    false_merge_rate: float
    duplicate_recall: float
    pair_count: int
    created_time: _timestamp_pb2.Timestamp
    def __init__(self, model: _Optional[_Union[EmbeddingModel, _Mapping]] = ..., false_merge_budget: _Optional[float] = ..., false_merge_rate: _Optional[float] = ..., duplicate_recall: _Optional[float] = ..., pair_count: _Optional[int] = ..., created_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ...) -> None: ...
