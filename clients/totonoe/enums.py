"""The closed sets of words that memories and answers use, as lower-case strings.

Each is a `StrEnum`, so that `memory.kind == "state"` holds and JSON shows the word. A
newer daemon may send a value that this client does not know: it reads as `UNKNOWN`,
which cannot be sent.
"""

from __future__ import annotations

from enum import StrEnum


class Kind(StrEnum):
    """What a memory records: a state that holds until it changes, or an entry of a log."""

    STATE = "state"
    EVENT = "event"
    AFFECT = "affect"
    UNKNOWN = "unknown"


class StateKind(StrEnum):
    """What a state describes. Only states of one kind are compared with each other."""

    FACT = "fact"
    RELATION = "relation"
    TASK = "task"
    SUMMARY = "summary"
    LONG_MOOD = "long_mood"
    UNKNOWN = "unknown"


class Status(StrEnum):
    """Where a memory stands in its life."""

    ACTIVE = "active"
    SUPERSEDED = "superseded"
    CLOSED = "closed"
    FORGOTTEN = "forgotten"
    UNKNOWN = "unknown"


class LinkType(StrEnum):
    """How two memories relate, read from the one that holds the link."""

    RELATED = "related"
    UPDATES = "updates"
    UPDATED_BY = "updated_by"
    CONTRADICTS = "contradicts"
    REFINES = "refines"
    REFINED_BY = "refined_by"
    CAUSES = "causes"
    CAUSED_BY = "caused_by"
    COACTIVATED = "coactivated"
    UNKNOWN = "unknown"


class Method(StrEnum):
    """Layer of the guard that decided; `NONE` if no layer found a duplicate."""

    NONE = "none"
    EXACT = "exact"
    JACCARD = "jaccard"
    COSINE = "cosine"
    SESSION_COSINE = "session_cosine"
    UNKNOWN = "unknown"


class Verdict(StrEnum):
    """How a text relates to a memory."""

    NEW = "new"
    RELATED = "related"
    REFINEMENT = "refinement"
    UPDATE = "update"
    CONTRADICTION = "contradiction"
    DUPLICATE = "duplicate"
    UNKNOWN = "unknown"


class Finding(StrEnum):
    """What a comparison of two texts found: what they share in other words, or what differs."""

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
    SUBJECT = "subject"
    REPLACED = "replaced"
    ADDED = "added"
    MISSING = "missing"
    UNREAD = "unread"
    JUDGE = "judge"
    UNKNOWN = "unknown"


class Action(StrEnum):
    """What a save does with a memory that a verdict names."""

    REFUSE = "refuse"
    LINK = "link"
    SUPERSEDE = "supersede"
    UNKNOWN = "unknown"


class RecallMode(StrEnum):
    """Which arms of a recall run."""

    HYBRID = "hybrid"
    VECTOR = "vector"
    LEXICAL = "lexical"
    UNKNOWN = "unknown"


class DiversityEffect(StrEnum):
    """What diversity did with the place of a hit."""

    NONE = "none"
    RAISED = "raised"
    LOWERED = "lowered"
    OVER_BUDGET = "over_budget"
    UNKNOWN = "unknown"


class UndoConflictKind(StrEnum):
    """Why a row cannot be taken back."""

    CHANGED = "changed"
    PURGED = "purged"
    LINK_END_GONE = "link_end_gone"
    EXTERNAL_ID_TAKEN = "external_id_taken"
    KEY_TAKEN = "key_taken"
    DUPLICATE = "duplicate"
    UNKNOWN = "unknown"


class Preset(StrEnum):
    """Named sets of guard thresholds."""

    STANDARD = "standard"
    EGO = "ego"
    ROBOTMEM = "robotmem"
    UNKNOWN = "unknown"


class Tokenizer(StrEnum):
    """How the guard makes tokens for its Jaccard layer."""

    SCRIPT_AWARE = "script_aware"
    WHITESPACE = "whitespace"
    UNKNOWN = "unknown"


class ChangeType(StrEnum):
    """What became of a memory."""

    CREATED = "created"
    UPDATED = "updated"
    SUPERSEDED = "superseded"
    CLOSED = "closed"
    FORGOTTEN = "forgotten"
    RESTORED = "restored"
    PURGED = "purged"
    UNKNOWN = "unknown"


class GroupBy(StrEnum):
    """Which memories the end of a session is about."""

    SESSION = "session"
    AGENT = "agent"
    UNKNOWN = "unknown"


class Measure(StrEnum):
    """What makes two memories one at the end of a session."""

    JACCARD = "jaccard"
    COSINE = "cosine"
    VERDICT = "verdict"
    UNKNOWN = "unknown"


class WhyNotOutcome(StrEnum):
    """What becomes of a memory in a recall."""

    CAME = "came"
    NOT_THERE = "not_there"
    EXCLUDED = "excluded"
    NO_MATCH = "no_match"
    OUT_OF_REACH = "out_of_reach"
    MISSED = "missed"
    BEYOND_K = "beyond_k"
    CROWDED_OUT = "crowded_out"
    UNKNOWN = "unknown"


class TidyPhase(StrEnum):
    """What a tidy does now."""

    DOUBLES = "doubles"
    NEIGHBORS = "neighbors"
    CLUSTERS = "clusters"
    UNKNOWN = "unknown"


class TidyOp(StrEnum):
    """What a plan does with a state."""

    UPSERT = "upsert"
    CLOSE = "close"
    MARK_DONE = "mark_done"
    UNKNOWN = "unknown"


class TidyFate(StrEnum):
    """What became of an update of a plan."""

    INSERTED = "inserted"
    UPDATED = "updated"
    CLOSED = "closed"
    DONE = "done"
    REFUSED = "refused"
    UNKNOWN = "unknown"


class SnapshotUse(StrEnum):
    """What a purge does about snapshots that hold what it purges."""

    LIST = "list"
    REWRITE = "rewrite"
    DELETE = "delete"
    UNKNOWN = "unknown"


class ReembedPhase(StrEnum):
    """What a re-embedding does now."""

    WAITING = "waiting"
    EMBEDDING = "embedding"
    INDEXING = "indexing"
    SETTLING = "settling"
    CANCELLING = "cancelling"
    UNKNOWN = "unknown"


class KeepReason(StrEnum):
    """Why one of two memories is the one to keep: the first in which they differ."""

    MORE_DETAIL = "more_detail"
    CONFIDENCE = "confidence"
    ACCESS_COUNT = "access_count"
    NEWER = "newer"
    ID = "id"
    UNKNOWN = "unknown"
