"""Arguments of the calls: a memory to be written, fields to change, conditions to filter by.

The typed dictionaries give the keyword arguments of `remember`, `check`, `update`,
`recall` and `list` their types once, for both clients. `None` means not said: the default
for a new memory, *back to the default* in an update.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, TypeAlias, TypedDict

from totonoe.enums import (
    ActionWord,
    KindWord,
    OperatorSign,
    OperatorWord,
    SourceWord,
    StateKindWord,
    StatusWord,
)
from totonoe.memories.models import TimeRange, TypedKey

Vector: TypeAlias = Any
"""Little-endian float32 `bytes`, a sequence of floats, or an object with the buffer
protocol of float32 or float64 (`array`, numpy)."""


Comparison: TypeAlias = tuple[str | Iterable[str], OperatorWord | OperatorSign, Any]
"""Path of keys in the attributes (a `str` is split at its dots), operator, JSON value:
`("price", ">=", 3)`, `(("a.b", "c"), "ne", None)`."""


class EditableFields(TypedDict, total=False):
    """Fields that `update` may change as well."""

    external_id: str | None
    vector: Vector
    state_kind: StateKindWord | None
    category: str | None
    tags: Iterable[str] | None
    attributes: Mapping[str, Any] | None
    payload: Mapping[str, Any] | None
    importance: int | None
    confidence: float | None
    salience: float | None
    emotion: str | None
    perception_type: str | None
    life_stage: str | None
    session_id: str | None
    thread_id: str | None
    entities: Iterable[str] | None
    evidence_ids: Iterable[str] | None
    about_time: TimeRange | None
    last_confirmed_time: datetime | None
    done_time: datetime | None
    valid_from_time: datetime | None
    valid_to_time: datetime | None
    private: bool | None
    namespace: Iterable[str] | None
    expires_time: datetime | None
    expires_after_s: float | None
    source: SourceWord | None


class DraftFields(EditableFields, total=False):
    """Fields of a new memory beside its text."""

    kind: KindWord | None
    created_time: datetime | None
    key: TypedKey | tuple[str, str] | None


class Actions(TypedDict, total=False):
    """Actions of `remember` and `check` on what they find, in place of the collection's policy."""

    on_update: ActionWord
    on_contradiction: ActionWord
    on_refinement: ActionWord
    on_contained: ActionWord
    cosine_distance_below: float | None


class RememberFields(DraftFields, Actions, total=False):
    """Arguments of `remember` and `check` beside the text."""

    supersede_ids: Iterable[str] | None
    distinct_from: Iterable[str] | None
    link_distance_below: float | None
    links_max: int | None


class UpdateFields(EditableFields, total=False):
    """Fields of a memory that can change."""

    content: str


class FilterFields(TypedDict, total=False):
    """Conditions of `recall`, `list` and `forget`, all to be met. Values of one list are
    alternatives, except `tags` and `entities`, of which all must be there."""

    kinds: Iterable[KindWord]
    state_kinds: Iterable[StateKindWord]
    categories: Iterable[str]
    tags: Iterable[str]
    agent_ids: Iterable[str]
    session_ids: Iterable[str]
    thread_ids: Iterable[str]
    statuses: Iterable[StatusWord]
    created: TimeRange | None
    updated: TimeRange | None
    about: TimeRange | None
    valid: TimeRange | None
    min_confidence: float
    min_importance: int
    attributes: Mapping[str, Any]
    entities: Iterable[str]
    comparisons: Iterable[Comparison]
    namespace_prefix: Iterable[str]
    sources: Iterable[SourceWord]
    min_source: SourceWord


@dataclass(frozen=True, slots=True)
class Draft:
    """A memory to be written, for `remember_many`.

    Attributes
    ----------
    content : str
        The text, at most 32 KiB of UTF-8.
    created_time : datetime or None
        For imports; must carry a time zone and not lie in the future.
    operation_id : str
        Empty: the client makes one.
    force : bool
        Save even if the guard would refuse.
    key : TypedKey or tuple of str or None
        Subject and attribute: a new value under one key supersedes the old one.
    namespace : iterable of str or None
        Its place in a tree of names, outermost first.
    expires_time : datetime or None
        From then on it counts as forgotten; must carry a time zone and lie in the future.
    expires_after_s : float or None
        So many seconds after the save, if no time is given; and counted reads put it off to so
        many seconds after the read.
    supersede_ids : iterable of str or None
        Live memories whose place it takes, or its duplicate if it is refused; they refuse nothing.
    distinct_from : iterable of str or None
        Live memories that say something else, at most 16: if the text is saved, nobody is asked
        whether it says the same as one of them. A certain duplicate is refused all the same.
    on_update, on_contradiction, on_refinement, on_contained : Action or str or None
        What such a verdict does; `None`: what the collection's policy says. A text that says less
        than a memory is refused only where what it leaves out restricts nothing.
    cosine_distance_below, link_distance_below : float or None
        Refuse, and link to, what is nearer than this cosine distance, 0 to 2; `None`: as the
        collection's policy says.
    links_max : int or None
        At most so many links to what is near, 0 to 16; `None`: 5.
    agent_id, collection : str or None
        `None`: the client's.
    """

    content: str
    external_id: str | None = None
    vector: Vector = None
    kind: KindWord | None = None
    state_kind: StateKindWord | None = None
    category: str | None = None
    tags: Iterable[str] | None = None
    attributes: Mapping[str, Any] | None = None
    payload: Mapping[str, Any] | None = None
    importance: int | None = None
    confidence: float | None = None
    salience: float | None = None
    emotion: str | None = None
    perception_type: str | None = None
    life_stage: str | None = None
    session_id: str | None = None
    thread_id: str | None = None
    entities: Iterable[str] | None = None
    evidence_ids: Iterable[str] | None = None
    about_time: TimeRange | None = None
    created_time: datetime | None = None
    last_confirmed_time: datetime | None = None
    done_time: datetime | None = None
    valid_from_time: datetime | None = None
    valid_to_time: datetime | None = None
    private: bool | None = None
    key: TypedKey | tuple[str, str] | None = None
    namespace: Iterable[str] | None = None
    expires_time: datetime | None = None
    expires_after_s: float | None = None
    source: SourceWord | None = None
    operation_id: str = ""
    force: bool = False
    supersede_ids: Iterable[str] | None = None
    distinct_from: Iterable[str] | None = None
    on_update: ActionWord | None = None
    on_contradiction: ActionWord | None = None
    on_refinement: ActionWord | None = None
    on_contained: ActionWord | None = None
    cosine_distance_below: float | None = None
    link_distance_below: float | None = None
    links_max: int | None = None
    agent_id: str | None = None
    collection: str | None = None
