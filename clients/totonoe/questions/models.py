"""Answers of the calls about questions."""

from __future__ import annotations

from dataclasses import dataclass

from totonoe.enums import QuestionKind
from totonoe.graph.models import LostDetail
from totonoe.memories.models import Duplicate, Judgement, Memory, Similar


@dataclass(frozen=True, slots=True)
class Resolved:
    """Answer of `resolve`.

    Attributes
    ----------
    resolved : bool
        False: `content` repeats the memory in `duplicate`, and nothing was changed.
    memory : Memory
        The one that stays; with the answer `different` the one named first.
    closed_id : str
        The one that was superseded; empty: none.
    lost : tuple of LostDetail
        With `same`: what the memories say and the text that stays does not. A warning: the other
        one stays readable.
    """

    resolved: bool
    memory: Memory
    closed_id: str
    duplicate: Duplicate | None
    lost: tuple[LostDetail, ...]
    revision: int
    dry_run: bool
    replayed: bool
    operation_id: str


@dataclass(frozen=True, slots=True)
class Question:
    """Two live memories that somebody is asked about.

    With `SAME` both probably say the same, and `a` is the older one. `same_probability` (0 to 1)
    and `version` of the fit are those of the time when they were compared. With `REPLACES`, `b` may
    take the place of `a`: `resolve(b.id, a.id, "replaces")`, or `"different"` if both are true.
    `judgement` relates `b` to `a`, as it is read now.
    """

    a: Memory
    b: Memory
    same_probability: float
    version: str
    judgement: Judgement
    kind: QuestionKind


@dataclass(frozen=True, slots=True)
class QuestionPage:
    """A page of `list_questions`; an empty token is the end.

    Questions of the kind `REPLACES` come first, the newest first; then the most probable first. The
    first page has the oldest memories that wait for a `review` (`pending`), and counts all.
    """

    questions: tuple[Question, ...]
    next_page_token: str
    revision: int
    pending: tuple[Memory, ...]
    pending_count: int


@dataclass(frozen=True, slots=True)
class Reviewed:
    """Answer of `review`.

    Attributes
    ----------
    reviewed : bool
        False: its text repeats the memory in `duplicate`, and nothing was changed.
    memory : Memory
        As it is now.
    superseded_ids, maybe_replaced_ids : tuple of str
        Memories whose place it took, and those whose place it may take.
    question : Similar or None
        The live memory that most probably says the same.
    """

    reviewed: bool
    memory: Memory
    duplicate: Duplicate | None
    superseded_ids: tuple[str, ...]
    maybe_replaced_ids: tuple[str, ...]
    question: Similar | None
    revision: int
    replayed: bool
    operation_id: str

    @property
    def duplicate_of(self) -> str | None:
        """The id of the memory that says the same; `None` if it was reviewed."""
        return self.duplicate.memory_id if self.duplicate else None
