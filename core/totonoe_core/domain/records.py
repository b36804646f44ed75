"""Stored and answered records, as frozen plain data.

Times are UTC microseconds (`_us`); `None` is absent. Enumerations are `StrEnum`s, so
that their values read well in the database and in JSON. Wire numbers live in the
server's codec alone.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from totonoe_core.base import errors, limits


class Kind(StrEnum):
    """Content of a memory; logs (EVENT, AFFECT) are append-only."""

    STATE = "state"
    EVENT = "event"
    AFFECT = "affect"


class StateKind(StrEnum):
    """Subject of a state; empty for logs."""

    NONE = ""
    FACT = "fact"
    RELATION = "relation"
    TASK = "task"
    SUMMARY = "summary"
    LONG_MOOD = "long_mood"


class Source(StrEnum):
    """Origin of a memory's text, as its caller said; the least trusted first (`TRUST`)."""

    EXTERNAL = "external"
    """A web page, a mail, a document."""
    TOOL = "tool"
    AGENT = "agent"
    """A conclusion of the agent itself."""
    USER = "user"
    """Said by a person."""


TRUST = {source: level for level, source in enumerate(Source)}
"""Trust in a source, 0 for the least trusted."""
BY_TRUST = tuple(Source)
"""Sources, by their trust."""


def least_trusted(sources: Iterable[Source]) -> Source:
    """Return the least trusted of some sources, at least one."""
    return min(sources, key=TRUST.__getitem__)


class Status(StrEnum):
    """Lifecycle of a memory. ACTIVE is live."""

    ACTIVE = "active"
    SUPERSEDED = "superseded"
    CLOSED = "closed"
    FORGOTTEN = "forgotten"
    PENDING = "pending"
    """Saved, and nobody confirmed it yet (`GuardPolicy.review_from`). It is found only by who asks
    for it, and neither compared, linked nor tidied."""
    PURGED = "purged"
    """Its bytes are erased. Known inside the engine only: callers never see it."""


class LinkType(StrEnum):
    """Relation of a link's holder to its target."""

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
    """Both probably say the same: a question, while both are live and the pair is not dismissed.
    Only the daemon makes it; confidence is the probability, note the version of the fit."""
    MAY_REPLACE = "may_replace"
    """It may take the place of the target, of which no verdict was certain: a question, like
    LIKELY_SAME."""
    MAYBE_REPLACED_BY = "maybe_replaced_by"

    @property
    def inverse(self) -> LinkType:
        """The type that the other end holds."""
        return _INVERSE[self]


_INVERSE = {
    LinkType.RELATED: LinkType.RELATED,
    LinkType.CONTRADICTS: LinkType.CONTRADICTS,
    LinkType.UPDATES: LinkType.UPDATED_BY,
    LinkType.UPDATED_BY: LinkType.UPDATES,
    LinkType.REFINES: LinkType.REFINED_BY,
    LinkType.REFINED_BY: LinkType.REFINES,
    LinkType.CAUSES: LinkType.CAUSED_BY,
    LinkType.CAUSED_BY: LinkType.CAUSES,
    LinkType.COACTIVATED: LinkType.COACTIVATED,
    LinkType.LIKELY_SAME: LinkType.LIKELY_SAME,
    LinkType.MAY_REPLACE: LinkType.MAYBE_REPLACED_BY,
    LinkType.MAYBE_REPLACED_BY: LinkType.MAY_REPLACE,
}


class Method(StrEnum):
    """Layer of the guard, or how a duplicate was found."""

    NONE = "none"
    EXACT = "exact"
    JACCARD = "jaccard"
    COSINE = "cosine"
    SESSION_COSINE = "session_cosine"
    JUDGE = "judge"
    """The daemon's own judge read both texts; after all layers."""


class Verdict(StrEnum):
    """Relation of a text to a memory."""

    NEW = "new"
    """Nothing near."""
    RELATED = "related"
    """Near, and both are needed."""
    REFINEMENT = "refinement"
    """Says all that the memory says, and more."""
    CONTAINED = "contained"
    """Says less: the memory says all of it, and more."""
    UPDATE = "update"
    """The same frame with another value."""
    CONTRADICTION = "contradiction"
    """One denies what the other says."""
    DUPLICATE = "duplicate"
    """Says nothing that the memory does not say."""


class Finding(StrEnum):
    """Finding of an alignment of two texts: a shared meaning in other words, or a difference."""

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
    """No reader understood one of the texts."""
    OVER_BUDGET = "over_budget"
    """The texts were not read to their end: too long, or nearer pairs used up the budget."""
    CONJUNCTION = "conjunction"
    """Another conjunction: and, or, because, until."""
    FUNCTION_WORD = "function_word"
    """Another preposition or particle, or one that only one text has."""
    SEPARATE = "separate"
    """The new text leaves out only whole statements of their own, which restrict nothing. Found
    only if the policy refuses a text that says less."""
    JUDGE = "judge"
    """A judge decided; `own_text` is its name."""
    EXCLUSIVE = "exclusive"
    """The daemon's own judge is certain that both texts cannot be true at once. Found only if the
    policy lets a verdict supersede, and only beside a hard difference."""


SHARED = frozenset({Finding.SAME_TEXT, Finding.SAME_WORDS, Finding.SAME_CONTENT})
"""Findings that two texts say the same in a place."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """One finding with the place in both texts.

    Attributes
    ----------
    own, other : tuple of int
        Start and end in code points, in the new text and in the memory's; (0, 0) where that
        text has nothing for it.
    own_text, other_text : str
        The words there, cut to EVIDENCE_CHARS. Where both texts have the same words, wide
        enough to show what differs.
    place : str
        The words of the memory that name the place of the difference: "port" of "port 5434"; cut
        to EVIDENCE_CHARS, empty if nothing names it.
    weight : float, optional
        How far it moves `same_probability` of its judgement, -1..1 (`guard.weighing`); `None`
        where that was not computed, or the finding cannot be taken out.
    """

    finding: Finding
    own: tuple[int, int] = (0, 0)
    other: tuple[int, int] = (0, 0)
    own_text: str = ""
    other_text: str = ""
    place: str = ""
    weight: float | None = None


@dataclass(frozen=True, slots=True)
class Judgement:
    """A verdict with its reasons.

    Attributes
    ----------
    same_probability : float
        0..1, that both texts say the same; 1 for equal text; 0 in answers stored by a version that
        did not know it.
    evidence : tuple of Evidence
        The decisive findings first; at most EVIDENCE_MAX.
    hard : bool
        A certain difference stands in the same place of both texts: they are never likely the
        same, whatever the probability.
    """

    verdict: Verdict
    same_probability: float = 0.0
    evidence: tuple[Evidence, ...] = ()
    hard: bool = False

    @property
    def over_budget(self) -> bool:
        """Return whether the texts were not read to their end."""
        return any(line.finding is Finding.OVER_BUDGET for line in self.evidence)

    @property
    def by_judge(self) -> bool:
        """Return whether a judge read the texts."""
        return any(line.finding is Finding.JUDGE for line in self.evidence)

    @property
    def excludes(self) -> bool:
        """Return whether the daemon's own judge is certain that both cannot be true at once."""
        return any(line.finding is Finding.EXCLUSIVE for line in self.evidence)

    @property
    def differs(self) -> bool:
        """Return whether the texts certainly say two things: nothing makes one of them."""
        return self.hard or self.verdict in (Verdict.UPDATE, Verdict.CONTRADICTION)


@dataclass(frozen=True, slots=True)
class TimeRange:
    """Half-open range [`from_us`, `to_us`); a `None` end is open."""

    from_us: int | None = None
    to_us: int | None = None


ANY_TIME = TimeRange()


@dataclass(frozen=True, slots=True)
class Link:
    """One direction of a link; the target holds the inverse."""

    target_id: str
    type: LinkType
    confidence: float
    note: str = ""


@dataclass(frozen=True, slots=True)
class TypedKey:
    """Names the value that a memory holds: its subject and attribute. Neither is empty."""

    subject: str
    attribute: str


TIDY_KEY = "_tidy"
"""Payload key under which tidying keeps its notes. Payloads are compared without it."""


def said_payload(payload: dict[str, Any]) -> dict[str, Any]:
    """Return a payload without the notes of tidying."""
    if TIDY_KEY not in payload:
        return payload
    return {key: item for key, item in payload.items() if key != TIDY_KEY}


FILE_CATEGORY = "file"
"""Category of whole files. The guard and clean-up do not compare them, and Recall leaves them out
unless its filter names the category: what they say is saved line by line beside them."""


@dataclass(frozen=True, slots=True)
class Fields:
    """Everything that a caller may set on a memory besides text and vector. Checked by `validate`.

    `attributes` and `payload` are JSON objects.
    """

    external_id: str = ""
    kind: Kind = Kind.STATE
    state_kind: StateKind = StateKind.FACT
    category: str = ""
    tags: tuple[str, ...] = ()
    attributes: dict[str, Any] = field(default_factory=dict)
    payload: dict[str, Any] = field(default_factory=dict)
    importance: int = 3
    confidence: float = 0.8
    salience: float = 0.5
    emotion: str = ""
    perception_type: str = ""
    life_stage: str = ""
    session_id: str = ""
    thread_id: str = ""
    entities: tuple[str, ...] = ()
    evidence_ids: tuple[str, ...] = ()
    about_time: TimeRange = ANY_TIME
    created_us: int | None = None
    last_confirmed_us: int | None = None
    done_us: int | None = None
    valid_from_us: int | None = None
    valid_to_us: int | None = None
    private: bool = False
    key: TypedKey | None = None
    namespace: tuple[str, ...] = ()
    expires_us: int | None = None
    expires_after_s: float | None = None
    source: Source = Source.AGENT

    @property
    def compared(self) -> bool:
        """True for a state that is no whole file: the guard and clean-up compare its text."""
        return self.kind is Kind.STATE and self.category != FILE_CATEGORY


@dataclass(frozen=True, slots=True)
class Memory:
    """One stored memory.

    `vector` is little-endian float32 bytes of unit norm, empty where the text has none yet, and
    `model_number` says which of the collection's models made it. `row` is its number in the
    database, never reused and never shown to clients.
    `links`, `access_count` and `last_access_us` are filled when it is read for an answer.
    """

    row: int
    id: str
    content: str
    content_hash: bytes
    vector: bytes
    agent_id: str
    fields: Fields
    created_us: int
    updated_us: int
    status: Status
    superseded_by: str
    revision: int
    last_access_us: int | None = None
    access_count: int = 0
    links: tuple[Link, ...] = ()
    model_number: int = 0

    def seen(
        self, last_access_us: int | None, access_count: int, links: tuple[Link, ...]
    ) -> Memory:
        """Return the memory as an answer shows it, with access figures and links.

        Half the time of `replace`: an answer has many.
        """
        return Memory(
            self.row,
            self.id,
            self.content,
            self.content_hash,
            self.vector,
            self.agent_id,
            self.fields,
            self.created_us,
            self.updated_us,
            self.status,
            self.superseded_by,
            self.revision,
            last_access_us,
            access_count,
            links,
            self.model_number,
        )


@dataclass(frozen=True, slots=True)
class Dismissal:
    """Two memories, by row number (a < b), that a caller declared to be no duplicates.

    It holds as long as the hashes match their texts.
    """

    a: int
    b: int
    hash_a: bytes
    hash_b: bytes
    agent_id: str
    note: str
    revision: int


@dataclass(frozen=True, slots=True)
class Episode:
    """An event, made up of several memories.

    `memory_ids` are the ids at its creation. An episode that is read for an answer holds the
    memories that replaced them, without the forgotten ones, which `gone_count` counts.
    """

    id: str
    summary: str
    memory_ids: tuple[str, ...]
    start_us: int
    end_us: int
    importance: int
    agent_id: str
    private: bool
    created_us: int
    revision: int
    gone_count: int = 0


@dataclass(frozen=True, slots=True)
class RecallEvent:
    """Answer of one Recall: row numbers of its hits in order, with agent and time."""

    agent_id: str
    time_us: int
    rows: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class LayerReport:
    """Result of one layer of the guard.

    `best_similarity` is `None` if there was nothing to compare with, or if the best is only known
    to be too low to refuse. `unread_count` counts the memories that the layer compares by reading
    and whose texts were not read to their end; they refused nothing.
    """

    layer: Method
    ran: bool
    skipped_because: str = ""
    best_similarity: float | None = None
    unread_count: int = 0


@dataclass(frozen=True, slots=True)
class Duplicate:
    """The live memory that says the same; `judgement` is set if a verdict refused.

    `source` is `None` in an answer that was kept before memories had sources. `pending`: it waits
    for a review, as the refused text would.
    """

    memory_id: str
    age: str
    snippet: str
    similarity: float
    method: Method
    judgement: Judgement | None = None
    source: Source | None = None
    pending: bool = False


@dataclass(frozen=True, slots=True)
class SimilarMemory:
    """A near memory that gave no reason to refuse; `revision` is that of its row.

    `source` is `None` in an answer that was kept before memories had sources.
    """

    memory_id: str
    cosine_similarity: float
    jaccard_similarity: float
    snippet: str
    age: str
    same_text: bool = False
    judgement: Judgement | None = None
    revision: int = 0
    source: Source | None = None


@dataclass(frozen=True, slots=True)
class ForgottenMatch:
    """A forgotten memory that said the same; by whom, why and how long ago it was forgotten."""

    memory_id: str
    age: str
    snippet: str
    reason: str
    agent_id: str
    revision: int


@dataclass(frozen=True, slots=True)
class OutdatedMatch:
    """A superseded memory that a text says again, and the live one that replaced it."""

    memory_id: str
    age: str
    snippet: str
    replaced_by_id: str
    replaced_by_snippet: str


@dataclass(frozen=True, slots=True)
class GuardReport:
    """Result of the guard. `duplicate` is `None` if nothing says the same.

    `verdict` is the gravest on any memory whose text was read; `None` if the guard did not look.
    `forgotten` is a forgotten memory that said the same; it refuses only if the policy says so.
    `question` is the live memory that most probably says the same as the saved text: whoever can
    tell should Resolve it. `nearest` is the one to look at where there is no question: it is less
    probable, and nobody is asked about it later. `outdated` is a superseded memory that the text
    says again: then no verdict lets it supersede anything. `maybe_replaced_ids` are memories that a
    verdict would let it supersede, if that were certain: whoever can tell should Resolve these too.
    """

    duplicate: Duplicate | None
    method: Method
    similarity: float
    similar: tuple[SimilarMemory, ...]
    layers: tuple[LayerReport, ...]
    verdict: Verdict | None = None
    forgotten: ForgottenMatch | None = None
    question: SimilarMemory | None = None
    outdated: OutdatedMatch | None = None
    maybe_replaced_ids: tuple[str, ...] = ()
    nearest: SimilarMemory | None = None


RECIPE = 2
"""Version of our own part in making vectors, as part of the stamp.

Raise it whenever the same model gives other vectors than before: chunk size, averaging of chunks,
stand-in for a text without a vector. 2: the bundled model reads "<s>", "</s>" and "<unk>" in a text
as text, not as marks.
"""


@dataclass(frozen=True, slots=True)
class ModelIdentity:
    """Model that makes the vectors; equal identities are the same model.

    It names the model and its weights, not the library that runs it: an upgrade of a package keeps
    the vectors of a collection usable.

    Attributes
    ----------
    name : str
        No white space.
    version : str
        Version of the model where it has one, else empty. No white space.
    weights_sha256 : str
        Hex digest over the files that determine the vectors; empty where unknown.
    dimension : int
        1 .. VECTOR_DIMENSION_MAX; 0 for the client's own vectors of a size not yet known.
    """

    name: str
    version: str
    weights_sha256: str
    dimension: int

    def __post_init__(self) -> None:
        for name, value in (("name", self.name), ("version", self.version)):
            if value.split() != ([value] if value else []):
                raise errors.InvalidArgument(
                    "BAD_NAME",
                    field=f"embedder.{name}",
                    got=repr(value),
                    allowed="no white space",
                )
        if not 0 <= self.dimension <= limits.VECTOR_DIMENSION_MAX:
            raise errors.InvalidArgument(
                "LIMIT_EXCEEDED",
                field="embedder.dimension",
                got=self.dimension,
                allowed=f"0..{limits.VECTOR_DIMENSION_MAX}",
            )

    @property
    def embeds(self) -> bool:
        """Return whether the model makes vectors.

        With "none", clients bring vectors or there are none.
        """
        return self.name != "none"

    @property
    def key(self) -> str:
        """The stamp: one line without white space, equal for equal models and recipes."""
        weights = self.weights_sha256 or "-"
        return f"{self.name}@{self.version or '-'}/{self.dimension}/{weights}/r{RECIPE}"
