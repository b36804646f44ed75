"""Structured output of the tools: one model for each, whose schema `tools/list` publishes."""

from __future__ import annotations

from pydantic import BaseModel


class Alike(BaseModel):
    """A memory that is probably the same as the one that is shown in its place."""

    memory_id: str
    content: str


class Other(BaseModel):
    """A memory that speaks against the one that is shown."""

    memory_id: str
    age: str
    snippet: str


class Note(BaseModel):
    """A memory."""

    memory_id: str
    content: str
    cut: bool = False
    created_time: str
    agent_id: str
    category: str
    tags: list[str]
    importance: int
    source: str
    status: str
    key: str | None = None
    relevance: float | None = None
    also: list[Alike] = []
    updated_by: list[Other] = []
    contradicted_by: list[Other] = []
    outdated: list[Other] = []


class Near(BaseModel):
    """A memory near a new text."""

    memory_id: str
    snippet: str
    similarity: float
    verdict: str
    differs: list[str]


class Nearest(BaseModel):
    """The memory that may say the same as a new text, where nothing is asked."""

    memory_id: str
    snippet: str
    age: str
    same_probability: float


class Answer(BaseModel):
    """Parts of every answer."""

    advice: str


class Written(Answer):
    """Parts of every answer to a write; `undo` takes the operation id."""

    operation_id: str


class Remembered(Written):
    """Answer of `remember`."""

    saved: bool
    memory_id: str
    duplicate_of: str | None = None
    similarity: float
    verdict: str | None = None
    link_count: int
    related: list[Near]
    superseded_ids: list[str]
    method: str
    evidence: list[str]
    maybe_replaced_ids: list[str]
    question_about: str | None = None
    pending: bool = False
    nearest: Nearest | None = None


class Recalled(Answer):
    """Answer of `recall`."""

    notes: list[Note]


class Version(BaseModel):
    """A version of a memory."""

    memory_id: str
    revision: int
    operation_id: str
    operation: str
    agent_id: str
    time: str
    reason: str
    changed: list[str]
    content: str | None = None


class Got(Answer):
    """Answer of `get_memory`."""

    notes: list[Note]
    missing_ids: list[str]
    versions: list[Version]


class Forgot(Written):
    """Answer of `forget`."""

    memory_id: str


class Merged(Written):
    """Answer of `merge_memories`."""

    merged: bool
    memory_id: str
    removed_ids: list[str]
    duplicate_of: str | None = None
    lost: list[str]


class Pair(BaseModel):
    """Two memories that may say the same."""

    memory_id_a: str
    memory_id_b: str
    snippet_a: str
    snippet_b: str
    similarity: float
    verdict: str
    keep_id: str


class Consolidated(Written):
    """Answer of `consolidate`."""

    pairs: list[Pair]
    pair_count: int


class Question(BaseModel):
    """Two memories: is it the `same`, or `replaces` the newer one, `memory_id`, the other?"""

    kind: str
    memory_id: str
    other_id: str
    content: str
    other_content: str
    same_probability: float
    differs: list[str]


class Questions(Answer):
    """Answer of `list_questions`; `more`: others are open too. `pending` wait for a review."""

    questions: list[Question]
    more: bool
    pending: list[Note]


class Reviewed(Written):
    """Answer of `review_memory`."""

    reviewed: bool
    memory_id: str
    duplicate_of: str | None = None
    superseded_ids: list[str]
    maybe_replaced_ids: list[str]


class Undone(Written):
    """Answer of `undo`."""

    undone: bool
    memory_ids: list[str]
    conflicts: list[str]


class Resolved(Written):
    """Answer of `resolve`."""

    resolved: bool
    memory_id: str
    closed_id: str
    duplicate_of: str | None = None
    lost: list[str]


class Linked(Written):
    """Answer of `link_memories`."""

    created: bool


class EpisodeMade(Written):
    """Answer of `create_episode`."""

    episode_id: str


class EpisodeGot(Answer):
    """Answer of `get_episode`."""

    episode_id: str
    summary: str
    notes: list[Note]
    gone_count: int


class SessionEnded(Written):
    """Answer of `end_session`."""

    merged_groups: int
    superseded_ids: list[str]
