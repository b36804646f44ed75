"""The closed sets of words that memories and answers use, as lower-case strings.

Each is a `StrEnum`, so that `memory.kind == "state"` holds and JSON shows the word. A
newer daemon may send a value that this client does not know: it reads as `UNKNOWN`,
which cannot be sent. Where a caller may write the plain word instead, for instance `kind="event"`,
the type is the alias that ends in `Word`, so that a type checker finds a misspelt one.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Literal, TypeAlias


class Kind(StrEnum):
    """The content of a memory: a state that holds until it changes, or an entry of a log."""

    STATE = "state"
    EVENT = "event"
    AFFECT = "affect"
    UNKNOWN = "unknown"


KindWord: TypeAlias = Kind | Literal["state", "event", "affect"]


class StateKind(StrEnum):
    """The subject of a state. Only states of one kind are compared with each other."""

    FACT = "fact"
    RELATION = "relation"
    TASK = "task"
    SUMMARY = "summary"
    LONG_MOOD = "long_mood"
    UNKNOWN = "unknown"


StateKindWord: TypeAlias = StateKind | Literal["fact", "relation", "task", "summary", "long_mood"]


class Source(StrEnum):
    """The origin of a memory's text, as its caller said; the least trusted first."""

    EXTERNAL = "external"
    TOOL = "tool"
    AGENT = "agent"
    USER = "user"
    UNKNOWN = "unknown"


SourceWord: TypeAlias = Source | Literal["external", "tool", "agent", "user"]


class Status(StrEnum):
    """The stage of a memory's life."""

    ACTIVE = "active"
    SUPERSEDED = "superseded"
    CLOSED = "closed"
    FORGOTTEN = "forgotten"
    PENDING = "pending"
    UNKNOWN = "unknown"


StatusWord: TypeAlias = Status | Literal["active", "superseded", "closed", "forgotten", "pending"]


class LinkType(StrEnum):
    """The relation of two memories, read from the one that holds the link."""

    RELATED = "related"
    UPDATES = "updates"
    UPDATED_BY = "updated_by"
    CONTRADICTS = "contradicts"
    REFINES = "refines"
    REFINED_BY = "refined_by"
    CAUSES = "causes"
    CAUSED_BY = "caused_by"
    COACTIVATED = "coactivated"
    LIKELY_SAME = "likely_same"
    MAY_REPLACE = "may_replace"
    MAYBE_REPLACED_BY = "maybe_replaced_by"
    UNKNOWN = "unknown"


LinkTypeWord: TypeAlias = (
    LinkType
    | Literal[
        "related",
        "updates",
        "updated_by",
        "contradicts",
        "refines",
        "refined_by",
        "causes",
        "caused_by",
        "coactivated",
        "likely_same",
        "may_replace",
        "maybe_replaced_by",
    ]
)


class Method(StrEnum):
    """Layer of the guard that decided; `NONE` if no layer found a duplicate."""

    NONE = "none"
    EXACT = "exact"
    JACCARD = "jaccard"
    COSINE = "cosine"
    SESSION_COSINE = "session_cosine"
    JUDGE = "judge"
    UNKNOWN = "unknown"


class Verdict(StrEnum):
    """The relation of a text to a memory."""

    NEW = "new"
    RELATED = "related"
    REFINEMENT = "refinement"
    CONTAINED = "contained"
    UPDATE = "update"
    CONTRADICTION = "contradiction"
    DUPLICATE = "duplicate"
    UNKNOWN = "unknown"


class Finding(StrEnum):
    """A finding of a comparison of two texts: a paraphrase that they share, or a difference."""

    SAME_TEXT = "same_text"
    SAME_WORDS = "same_words"
    SAME_CONTENT = "same_content"
    SYNONYM = "synonym"
    NUMBER = "number"
    QUANTITY = "quantity"
    DATE = "date"
    TIME = "time"
    VERSION = "version"
    IDENTIFIER = "identifier"
    PATH = "path"
    QUOTE = "quote"
    NAME = "name"
    QUANTIFIER = "quantifier"
    POLARITY = "polarity"
    OPPOSITE = "opposite"
    ROLE = "role"
    ORDER = "order"
    MODALITY = "modality"
    TENSE = "tense"
    QUESTION = "question"
    SYMBOL = "symbol"
    CONJUNCTION = "conjunction"
    FUNCTION_WORD = "function_word"
    SUBJECT = "subject"
    REPLACED = "replaced"
    ADDED = "added"
    MISSING = "missing"
    UNREAD = "unread"
    OVER_BUDGET = "over_budget"
    SEPARATE = "separate"
    JUDGE = "judge"
    EXCLUSIVE = "exclusive"
    UNKNOWN = "unknown"


class Action(StrEnum):
    """The action of a save on a memory that a verdict names."""

    REFUSE = "refuse"
    LINK = "link"
    SUPERSEDE = "supersede"
    UNKNOWN = "unknown"


ActionWord: TypeAlias = Action | Literal["refuse", "link", "supersede"]


class RecallMode(StrEnum):
    """The arms of a recall that run."""

    HYBRID = "hybrid"
    VECTOR = "vector"
    LEXICAL = "lexical"
    UNKNOWN = "unknown"


RecallModeWord: TypeAlias = RecallMode | Literal["hybrid", "vector", "lexical"]


class DiversityEffect(StrEnum):
    """The reason for a hit's place, if diversity moved it."""

    NONE = "none"
    RAISED = "raised"
    LOWERED = "lowered"
    OVER_BUDGET = "over_budget"
    NEWER = "newer"
    UNKNOWN = "unknown"


class UndoConflictKind(StrEnum):
    """The reason why a row cannot be taken back."""

    CHANGED = "changed"
    PURGED = "purged"
    LINK_END_GONE = "link_end_gone"
    EXTERNAL_ID_TAKEN = "external_id_taken"
    KEY_TAKEN = "key_taken"
    DUPLICATE = "duplicate"
    UNDONE_ALREADY = "undone_already"
    CHANGED_FOR_GOOD = "changed_for_good"
    NOTHING_LEFT = "nothing_left"
    LAST_COPY = "last_copy"
    SUCCESSOR_GONE = "successor_gone"
    UNKNOWN = "unknown"


class Preset(StrEnum):
    """Named sets of guard thresholds."""

    STANDARD = "standard"
    EGO = "ego"
    ROBOTMEM = "robotmem"
    UNKNOWN = "unknown"


PresetWord: TypeAlias = Preset | Literal["standard", "ego", "robotmem"]


class Tokenizer(StrEnum):
    """The method that makes tokens for the guard's Jaccard layer."""

    SCRIPT_AWARE = "script_aware"
    WHITESPACE = "whitespace"
    UNKNOWN = "unknown"


TokenizerWord: TypeAlias = Tokenizer | Literal["script_aware", "whitespace"]


class ChangeType(StrEnum):
    """The change of a memory."""

    CREATED = "created"
    UPDATED = "updated"
    SUPERSEDED = "superseded"
    CLOSED = "closed"
    FORGOTTEN = "forgotten"
    RESTORED = "restored"
    PURGED = "purged"
    UNKNOWN = "unknown"


class GroupBy(StrEnum):
    """The memories that the end of a session groups."""

    SESSION = "session"
    AGENT = "agent"
    UNKNOWN = "unknown"


GroupByWord: TypeAlias = GroupBy | Literal["session", "agent"]


class Measure(StrEnum):
    """The measure of similarity that groups memories at the end of a session."""

    JACCARD = "jaccard"
    COSINE = "cosine"
    VERDICT = "verdict"
    UNKNOWN = "unknown"


MeasureWord: TypeAlias = Measure | Literal["jaccard", "cosine", "verdict"]


class WhyNotOutcome(StrEnum):
    """The fate of a memory in a recall."""

    CAME = "came"
    NOT_THERE = "not_there"
    EXCLUDED = "excluded"
    NO_MATCH = "no_match"
    OUT_OF_REACH = "out_of_reach"
    MISSED = "missed"
    BEYOND_K = "beyond_k"
    CROWDED_OUT = "crowded_out"
    TOO_WEAK = "too_weak"
    FOLDED = "folded"
    UNKNOWN = "unknown"


class TidyPhase(StrEnum):
    """The phase of a tidy."""

    DOUBLES = "doubles"
    NEIGHBORS = "neighbors"
    CLUSTERS = "clusters"
    UNKNOWN = "unknown"


class TidyOp(StrEnum):
    """The operation of a plan on a state."""

    UPSERT = "upsert"
    CLOSE = "close"
    MARK_DONE = "mark_done"
    UNKNOWN = "unknown"


TidyOpWord: TypeAlias = TidyOp | Literal["upsert", "close", "mark_done"]


class TidyFate(StrEnum):
    """The result of an update of a plan."""

    INSERTED = "inserted"
    UPDATED = "updated"
    CLOSED = "closed"
    DONE = "done"
    REFUSED = "refused"
    UNKNOWN = "unknown"


class SnapshotUse(StrEnum):
    """The handling of snapshots that hold purged memories."""

    LIST = "list"
    REWRITE = "rewrite"
    DELETE = "delete"
    UNKNOWN = "unknown"


SnapshotUseWord: TypeAlias = SnapshotUse | Literal["list", "rewrite", "delete"]


class ReembedPhase(StrEnum):
    """The phase of a re-embedding."""

    WAITING = "waiting"
    EMBEDDING = "embedding"
    INDEXING = "indexing"
    SETTLING = "settling"
    CANCELLING = "cancelling"
    UNKNOWN = "unknown"


class Answer(StrEnum):
    """How one memory relates to another, as the answer of `resolve` says."""

    SAME = "same"
    DIFFERENT = "different"
    REPLACES = "replaces"
    REPLACED_BY = "replaced_by"
    UNKNOWN = "unknown"


class ReviewAnswer(StrEnum):
    """The decision on a memory that waits for a review."""

    CONFIRM = "confirm"
    REJECT = "reject"
    UNKNOWN = "unknown"


ReviewWord: TypeAlias = ReviewAnswer | Literal["confirm", "reject"]


class QuestionKind(StrEnum):
    """The subject of a question: both may say the same, or the newer one replaces the other."""

    SAME = "same"
    REPLACES = "replaces"
    UNKNOWN = "unknown"


AnswerWord: TypeAlias = Answer | Literal["same", "different", "replaces", "replaced_by"]


class KeepReason(StrEnum):
    """The reason to keep one of two memories: the first criterion in which they differ."""

    MORE_DETAIL = "more_detail"
    CONFIDENCE = "confidence"
    ACCESS_COUNT = "access_count"
    NEWER = "newer"
    ID = "id"
    SOURCE = "source"
    UNKNOWN = "unknown"


class Operator(StrEnum):
    """The comparison of a value in the attributes of a memory."""

    EQ = "eq"
    NE = "ne"
    GT = "gt"
    GTE = "gte"
    LT = "lt"
    LTE = "lte"
    UNKNOWN = "unknown"


OperatorWord: TypeAlias = Operator | Literal["eq", "ne", "gt", "gte", "lt", "lte"]
OperatorSign: TypeAlias = Literal["==", "!=", ">", ">=", "<", "<="]
"""The same in signs."""
