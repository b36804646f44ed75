"""Models of memories and of the answers about them, as frozen dataclasses.

Times are aware datetimes in UTC. Similarities are cosines (-1 to 1) or shares (0 to 1),
higher is closer. `revision` is the newest revision of the collection when the answer was
made, unless a field says otherwise. `advice` says what an agent does next, in words for its
model; `scaffold` stands in its place for hosts that guide their agent with questions, and is empty
where `advice` holds.
"""

from __future__ import annotations

from array import array
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from totonoe.enums import (
    DiversityEffect,
    Finding,
    Kind,
    LinkType,
    Method,
    Source,
    StateKind,
    Status,
    Verdict,
)
from totonoe.errors import TotonoeError


@dataclass(frozen=True, slots=True)
class DiversityPolicy:
    """Limits that spread the answers of a recall; shares are of the k places. `None`: not said."""

    enabled: bool | None = None
    mmr_lambda: float | None = None
    kind_share_max: float | None = None
    state_kind_share_max: float | None = None
    life_stage_share_max: float | None = None
    thread_share_max: float | None = None


@dataclass(frozen=True, slots=True)
class TimeRange:
    """A stretch of time from `from_time` until before `to_time`; `None` is open."""

    from_time: datetime | None = None
    to_time: datetime | None = None


@dataclass(frozen=True, slots=True)
class TypedKey:
    """The key of a value: the subject, and the attribute of it that the memory states."""

    subject: str
    attribute: str


@dataclass(frozen=True, slots=True)
class Link:
    """One direction of a link; the target holds the inverse."""

    target_id: str
    type: LinkType
    confidence: float
    note: str


@dataclass(frozen=True, slots=True)
class Memory:
    """A memory as it is stored.

    Attributes
    ----------
    state_kind : StateKind or None
        `None` for events and affects.
    vector : array of float or None
        float32, unit norm; `None` unless the call asked for vectors. Offers the buffer
        protocol: `numpy.frombuffer(memory.vector, dtype="f4")` copies nothing.
    revision : int
        That of the last operation that changed this memory: what `expected_revision` means.
    expires_time : datetime or None
        From then on it counts as forgotten; as far as reads have put it off by now.
    source : Source
        Where the text comes from, as its caller said.
    """

    id: str
    external_id: str
    content: str
    content_hash: str
    vector: array[float] | None
    kind: Kind
    state_kind: StateKind | None
    category: str
    tags: tuple[str, ...]
    attributes: Mapping[str, Any]
    payload: Mapping[str, Any]
    importance: int
    confidence: float
    salience: float
    emotion: str
    perception_type: str
    life_stage: str
    agent_id: str
    session_id: str
    thread_id: str
    entities: tuple[str, ...]
    evidence_ids: tuple[str, ...]
    about_time: TimeRange | None
    created_time: datetime
    updated_time: datetime
    last_access_time: datetime | None
    access_count: int
    last_confirmed_time: datetime | None
    done_time: datetime | None
    valid_from_time: datetime | None
    valid_to_time: datetime | None
    status: Status
    superseded_by: str
    private: bool
    links: tuple[Link, ...]
    revision: int
    key: TypedKey | None
    namespace: tuple[str, ...]
    expires_time: datetime | None
    expires_after_s: float | None
    source: Source


@dataclass(frozen=True, slots=True)
class Evidence:
    """One finding and where it stands: start and end in characters, `None` where there is nothing.

    `own` is in the new text, `other` in the memory's; the texts are cut to 60 characters. `place`:
    the words of the memory that name the place ("port" of "port 5433"); empty if nothing names it.

    `weight` is how far it moves `same_probability`, -1 to 1: the probability with it less the one
    if both texts were equal there (of the judge: without it), beside the other findings and alone,
    in the mean. `None`: it cannot be taken out, or nobody asked for it: `compare` always
    weighs, `list_questions` with `weights`.
    """

    finding: Finding
    own: tuple[int, int] | None
    other: tuple[int, int] | None
    own_text: str
    other_text: str
    place: str
    weight: float | None


@dataclass(frozen=True, slots=True)
class Judgement:
    """The verdict on a text and a memory, and the evidence. The first evidence decided.

    `same_probability` is that both say the same, 0 to 1. `hard` is true if a certain difference
    stands in the same place of both: then they are never "likely the same".
    """

    verdict: Verdict
    evidence: tuple[Evidence, ...]
    same_probability: float
    hard: bool


@dataclass(frozen=True, slots=True)
class Duplicate:
    """The memory that says the same already; `similarity` is by `method`.

    `judgement` is `None` if the policy refuses by similarity alone. `source` is where its text
    comes from, `None` if the daemon does not say. `pending`: it waits for a review itself.
    """

    memory_id: str
    age: str
    snippet: str
    similarity: float
    method: Method
    judgement: Judgement | None
    source: Source | None = None
    pending: bool = False


@dataclass(frozen=True, slots=True)
class ForgottenMatch:
    """A forgotten memory that said the same.

    Attributes
    ----------
    age : str
        How long ago it was forgotten: "3d ago".
    reason, agent_id : str
        Why, as was said then, and who forgot it.
    revision : int
        That of the operation that forgot it: `undo` of it brings the memory back.
    """

    memory_id: str
    age: str
    snippet: str
    reason: str
    agent_id: str
    revision: int


@dataclass(frozen=True, slots=True)
class OutdatedMatch:
    """A superseded memory that a text says again, and the live one that replaced it.

    `age` is how long ago the former was remembered. `replaced_by_id` is the end of its chain.
    """

    memory_id: str
    age: str
    snippet: str
    replaced_by_id: str
    replaced_by_snippet: str


@dataclass(frozen=True, slots=True)
class Similar:
    """A memory near the new text that was no reason to refuse it.

    `judgement` is `None` if it was too far away to be read. `revision` is that of its row. `source`
    is where its text comes from, `None` if the daemon does not say.
    """

    memory_id: str
    cosine_similarity: float
    jaccard_similarity: float
    snippet: str
    age: str
    same_text: bool
    judgement: Judgement | None
    revision: int
    source: Source | None = None


@dataclass(frozen=True, slots=True)
class LayerReport:
    """The result of one layer of the guard; `skipped_because` is empty if it ran.

    `unread_count` memories were too long to be read to their end, or nearer ones took what one call
    may read: they refused nothing.
    """

    layer: Method
    ran: bool
    skipped_because: str
    best_similarity: float | None
    unread_count: int = 0


@dataclass(frozen=True, slots=True)
class Remembered:
    """Answer of `remember`: saved or grown, or refused with the memory that says the same.

    Attributes
    ----------
    memory_id : str
        The memory that now says it; the existing one if it was refused.
    similarity : float
        Best similarity that the deciding layer saw.
    verdict : Verdict or None
        The gravest on any memory that was read; `None` if the guard did not look.
    superseded_ids : tuple of str
        Memories whose place `memory_id` took, also where it is the duplicate.
    grown_id : str
        The summary or long mood of the same scope that has grown by this text, which is its next
        version; empty: the memory is new, or nothing was saved.
    forgotten : ForgottenMatch or None
        A forgotten memory that said the same. With `saved` false and no `duplicate` it is
        what refused it: the policy of the collection says so (`refuse_forgotten`).
    question : Similar or None
        The live memory that most probably says the same as what was saved. Whoever can tell answers
        with `resolve`.
    outdated : OutdatedMatch or None
        A superseded memory that the text says again. No verdict lets it supersede anything; name
        the newer one in `supersede_ids` to go back to the old value.
    maybe_replaced_ids : tuple of str
        Live memories that a verdict would let it supersede, if that were certain. Nothing changed;
        whoever can tell answers with `resolve`: it replaces them, or both are true.
    nearest : Similar or None
        The live memory that may say the same, where there is no question. Nobody is asked about it
        again; if you see that it says the same, `resolve(memory_id, nearest.memory_id, "same")`.
    pending : bool
        It is saved, and waits for a `review` (`GuardPolicy.review_from`): until then only
        `statuses=["pending"]` finds it, and it replaces and links nothing.
    replayed : bool
        The first answer to this operation id again; nothing was done now.
    """

    saved: bool
    memory_id: str
    duplicate: Duplicate | None
    method: Method
    similarity: float
    similar: tuple[Similar, ...]
    links: tuple[Link, ...]
    layers: tuple[LayerReport, ...]
    verdict: Verdict | None
    superseded_ids: tuple[str, ...]
    grown_id: str
    forgotten: ForgottenMatch | None
    question: Similar | None
    outdated: OutdatedMatch | None
    maybe_replaced_ids: tuple[str, ...]
    nearest: Similar | None
    pending: bool
    revision: int
    replayed: bool
    operation_id: str
    advice: str
    scaffold: str

    @property
    def duplicate_of(self) -> str | None:
        """Id of the live memory that says the same, `None` if there is none."""
        return self.duplicate.memory_id if self.duplicate else None


@dataclass(frozen=True, slots=True)
class Checked:
    """Answer of `check`: the decision that `remember` would make now.

    `grown_id` is the memory that would grow, empty for none. `superseded_ids` are those whose place
    the new memory, or the duplicate, would take. `question` is the one that it would ask about.
    `nearest` is the one that the answer would show, where it would ask nothing. `outdated` is a
    superseded one that the text says again. `maybe_replaced_ids` are those that it may replace:
    whoever can tell would be asked. `pending`: it would wait for a `review`.
    """

    would_save: bool
    duplicate: Duplicate | None
    method: Method
    similarity: float
    similar: tuple[Similar, ...]
    layers: tuple[LayerReport, ...]
    verdict: Verdict | None
    superseded_ids: tuple[str, ...]
    grown_id: str
    forgotten: ForgottenMatch | None
    question: Similar | None
    outdated: OutdatedMatch | None
    maybe_replaced_ids: tuple[str, ...]
    nearest: Similar | None
    pending: bool
    revision: int
    advice: str
    scaffold: str

    @property
    def duplicate_of(self) -> str | None:
        """Id of the live memory that says the same, `None` if there is none."""
        return self.duplicate.memory_id if self.duplicate else None


@dataclass(frozen=True, slots=True)
class ItemResult:
    """The result of one item of `remember_many`: exactly one of the last two is set.

    Attributes
    ----------
    index : int
        Place of the item in the input, from 0.
    item : object
        The item as it was handed in (a `str` or a `Draft`).
    """

    index: int
    item: Any
    remembered: Remembered | None
    error: TotonoeError | None


@dataclass(frozen=True, slots=True)
class FoldedHit:
    """A memory that is probably the same as a hit; `judgement` says what the hit has otherwise."""

    memory: Memory
    judgement: Judgement


@dataclass(frozen=True, slots=True)
class OtherMemory:
    """A memory that speaks against a hit, with its age and the first 120 characters of its text."""

    memory_id: str
    age: str
    snippet: str


@dataclass(frozen=True, slots=True)
class Hit:
    """One recalled memory with the reasons for its place. A rank of 0: not in that arm.

    `relevance`, 0 to 1, is what hits are ordered by before diversity: the weighted mean of cosine
    (weight 1) and lexical similarity (weight 2), or the one of them that was computed. `context` is
    what of it the neighbours in its thread add: what it lacks itself and they have counts in part.
    Found memories that are probably the same are folded under the newest of them: `also`, the best
    five of `also_count`; the relevance is that of the best one.

    Live memories that are linked as newer than it (`updated_by`), that are linked as contradicting
    it (`contradicted_by`), or that update another copy of it (`outdated`): at most three each,
    newest first. A link is no proof: both may be true.
    """

    memory: Memory
    relevance: float
    context: float
    cosine_similarity: float | None
    lexical_similarity: float | None
    vector_rank: int
    lexical_rank: int
    fused_rank: int
    diversity: DiversityEffect
    effective_confidence: float
    also: tuple[FoldedHit, ...]
    also_count: int
    updated_by: tuple[OtherMemory, ...]
    contradicted_by: tuple[OtherMemory, ...]
    outdated: tuple[OtherMemory, ...]


@dataclass(frozen=True, slots=True)
class Recalled:
    """Answer of `recall`, best first. `degraded_because` is empty if all arms ran.

    `as_of_revision` is the revision that `as_of` meant, 0 without one.
    """

    hits: tuple[Hit, ...]
    arms: tuple[str, ...]
    degraded_because: str
    vector_search: str
    filtered_count: int
    as_of_revision: int
    revision: int


@dataclass(frozen=True, slots=True)
class Found:
    """Answer of `get_many`: memories in the order asked, and the ids that lead to none.

    Attributes
    ----------
    redirects : mapping of str to str
        With `follow_superseded`: from an id asked for to the one that was read instead.
    as_of_revision : int
        Revision that `as_of` meant, 0 without one.
    """

    memories: tuple[Memory, ...]
    missing_ids: tuple[str, ...]
    redirects: Mapping[str, str]
    as_of_revision: int
    revision: int
    advice: str


@dataclass(frozen=True, slots=True)
class NamespacePattern:
    """Names that the beginning of a namespace meets, or its end; `*` stands for any one name."""

    names: tuple[str, ...]
    at_end: bool = False


@dataclass(frozen=True, slots=True)
class Namespace:
    """A namespace, and how many memories are in it or, if it was cut, below it."""

    names: tuple[str, ...]
    memory_count: int


@dataclass(frozen=True, slots=True)
class NamespacePage:
    """Answer of `list_namespaces`; `total_count` is how many there are in all."""

    namespaces: tuple[Namespace, ...]
    total_count: int
    revision: int


@dataclass(frozen=True, slots=True)
class Page:
    """One page of memories by creation time; an empty token: it was the last.

    `as_of_revision` is the revision that `as_of` meant, 0 without one.
    """

    memories: tuple[Memory, ...]
    next_page_token: str
    as_of_revision: int
    revision: int


@dataclass(frozen=True, slots=True)
class Updated:
    """Answer of `update`: `updated` is false if the new text repeats another memory.

    `question` is the live memory that most probably says the same as the new text; `nearest` the
    one that may say the same, where there is no question.
    """

    updated: bool
    memory: Memory
    duplicate: Duplicate | None
    layers: tuple[LayerReport, ...]
    question: Similar | None
    nearest: Similar | None
    revision: int
    replayed: bool
    operation_id: str
    advice: str
    scaffold: str


@dataclass(frozen=True, slots=True)
class Forgotten:
    """Answer of `forget`: the memories as they were before, links included.

    `matching_count`, with conditions: how many meet them; `forgotten` holds the oldest 1,000.
    """

    forgotten: tuple[Memory, ...]
    missing_ids: tuple[str, ...]
    unlinked_count: int
    matching_count: int
    dry_run: bool
    revision: int
    replayed: bool
    operation_id: str
    advice: str
    scaffold: str


@dataclass(frozen=True, slots=True)
class Linked:
    """Answer of `link`: both directions; `created` is false if the link was only changed."""

    link: Link
    inverse: Link
    created: bool
    revision: int
    replayed: bool
    operation_id: str


@dataclass(frozen=True, slots=True)
class Unlinked:
    """Answer of `unlink`: the links taken away, as the source held them."""

    removed: tuple[Link, ...]
    revision: int
    replayed: bool
    operation_id: str
