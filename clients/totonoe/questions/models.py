"""Answers of the calls about questions."""

from __future__ import annotations

from dataclasses import dataclass

from totonoe.enums import QuestionKind
from totonoe.graph.models import LostDetail
from totonoe.memories.models import Duplicate, Judgement, Memory


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

    Questions of the kind `REPLACES` come first, the newest first; then the most probable first.
    """

    questions: tuple[Question, ...]
    next_page_token: str
    revision: int
