"""Questions about two memories, and their answers, as plain data."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from totonoe_core.domain.asking import Previewable, Query
from totonoe_core.domain.memories import LostDetail
from totonoe_core.domain.records import GuardReport, Judgement, Memory


class Answer(StrEnum):
    """How a memory relates to another one, as somebody who can tell says."""

    SAME = "same"
    """Both say the same: they become one."""
    DIFFERENT = "different"
    """Both are needed: the pair is dismissed."""
    REPLACES = "replaces"
    """It is true in place of the other: the other is superseded."""
    REPLACED_BY = "replaced_by"
    """The other is true in its place: it is superseded."""


@dataclass(frozen=True, slots=True)
class Resolve(Previewable["Resolved"]):
    """Answer whether two live memories say the same; one operation.

    With SAME, the one that Consolidate would keep stays, with `content` as its text unless it is
    empty. An expected revision of 0 accepts any.
    """

    agent_id: str
    memory_id: str
    other_id: str
    answer: Answer
    content: str = ""
    vector: bytes = b""
    expected_revision: int = 0
    other_expected_revision: int = 0
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Resolved:
    """Answer to `Resolve`. If it is not resolved, `guard.duplicate` says the same as `content`.

    `memory` is the one that stays (with DIFFERENT the one named first), `closed_id` the one that
    was superseded, empty for none. `lost` names what the text that stays with SAME no longer says.
    """

    resolved: bool
    memory: Memory
    closed_id: str = ""
    guard: GuardReport | None = None
    lost: tuple[LostDetail, ...] = ()


class QuestionKind(StrEnum):
    """Subject of a question about two memories."""

    SAME = "same"
    """Whether both say the same."""
    REPLACES = "replaces"
    """Whether `b` takes the place of `a`."""


@dataclass(frozen=True, slots=True)
class Question:
    """Two live memories that somebody is asked about.

    With SAME, `a` is the older one, and `same_probability` and `version` of the fit are those of
    the link. With REPLACES, `b` may take the place of `a`, and the probability is as it is read
    now. `judgement` relates `b` to `a`, as it is read now.
    """

    a: Memory
    b: Memory
    same_probability: float
    version: str
    judgement: Judgement
    kind: QuestionKind = QuestionKind.SAME


@dataclass(frozen=True, slots=True)
class QuestionPage:
    """Answer to `QuestionsQuery`; an empty token is the end.

    `pending` are memories that wait for a review, the oldest first; only the first page has them,
    at most as many as it has questions. `pending_count` counts all of them.
    """

    revision: int
    questions: tuple[Question, ...]
    next_page_token: str
    pending: tuple[Memory, ...] = ()
    pending_count: int = 0


class ReviewAnswer(StrEnum):
    """Decision on a memory that waits for a review."""

    CONFIRM = "confirm"
    """It becomes a memory like others."""
    REJECT = "reject"
    """It is forgotten."""


@dataclass(frozen=True, slots=True)
class Review:
    """Confirm or reject a memory that waits for a review; one operation.

    A confirmed text passes the guard, and replaces and links what a Remember would. An expected
    revision of 0 accepts any.
    """

    agent_id: str
    memory_id: str
    answer: ReviewAnswer
    reason: str = ""
    expected_revision: int = 0


@dataclass(frozen=True, slots=True)
class Reviewed:
    """Answer to `Review`: the memory as it is now.

    If it is not reviewed, its text repeats `guard.duplicate`, and it still waits.
    """

    reviewed: bool
    memory: Memory
    guard: GuardReport | None = None
    superseded_ids: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class QuestionsQuery(Query["QuestionPage"]):
    """Selects open questions that the caller may read both sides of.

    REPLACES come first, the newest first; then SAME, the most probable first.

    A `memory_id` selects those about one memory, with `other_id` the one about both. `weights`: the
    findings of their judgements are weighed.
    """

    agent_id: str
    memory_id: str = ""
    page_size: int = 20
    page_token: str = ""
    other_id: str = ""
    weights: bool = False
