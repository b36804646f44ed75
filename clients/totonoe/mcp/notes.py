"""Memories as an agent reads them: between markers, as notes that are no instructions."""

from __future__ import annotations

from totonoe.enums import Source
from totonoe.fence import indented, one_line
from totonoe.mcp.answers import Alike, Note, Other
from totonoe.memories.models import Hit, Memory, OtherMemory
from totonoe.words.plain import plain
from totonoe.words.text import against, age, key_words

RECALLED_CHARS_MAX = 2_000
"""Characters of a note in a list; `get_memory` gives it whole."""
ALSO_CHARS_MAX = 200
"""Characters of a memory that is folded under a note."""
ANSWER_CHARS_MAX = 65_536
"""Characters of all notes of a `get_memory` together; each gets an equal share."""


def share_of(count: int) -> int:
    """Return how many characters each of so many whole notes may have."""
    return ANSWER_CHARS_MAX // max(1, count)


def noted(memory: Memory, chars_max: int, relevance: float | None = None) -> Note:
    """Return a memory as structure, its text cut to so many characters."""
    return Note(
        memory_id=memory.id,
        content=memory.content[:chars_max],
        cut=len(memory.content) > chars_max,
        created_time=plain(memory.created_time),
        agent_id=memory.agent_id,
        category=memory.category,
        tags=list(memory.tags),
        importance=memory.importance,
        source=str(memory.source),
        status=str(memory.status),
        key=None if memory.key is None else key_words(memory.key),
        relevance=None if relevance is None else round(relevance, 4),
    )


def found(hit: Hit) -> Note:
    """Return a hit as structure, with the memories that are folded under it."""
    note = noted(hit.memory, RECALLED_CHARS_MAX, hit.relevance)
    note.also = [
        Alike(memory_id=folded.memory.id, content=folded.memory.content[:ALSO_CHARS_MAX])
        for folded in hit.also
    ]
    note.updated_by = [_other(memory) for memory in hit.updated_by]
    note.contradicted_by = [_other(memory) for memory in hit.contradicted_by]
    note.outdated = [_other(memory) for memory in hit.outdated]
    return note


def _other(memory: OtherMemory) -> Other:
    return Other(memory_id=memory.memory_id, age=memory.age, snippet=memory.snippet)


def block_of(memory: Memory, note: Note) -> str:
    """Return a note with a line above that says what it is."""
    about = [f"[{memory.id}]", age(memory.created_time)]
    if note.relevance is not None:
        about.append(f"relevance {note.relevance:.2f}")
    if memory.agent_id:
        about.append(f"by {memory.agent_id}")
    if memory.source is not Source.AGENT:
        about.append(f"source {memory.source}")
    if memory.category:
        about.append(f"category {memory.category}")
    if note.key:
        about.append(f"key {note.key}")
    if memory.emotion:
        about.append(f"emotion {memory.emotion}")
    if memory.tags:
        about.append(f"tags {', '.join(memory.tags)}")
    if note.status != "active":
        about.append(note.status)
    rest = "\n    ... (cut: get_memory shows more)" if note.cut else ""
    rest += "".join(
        f"\n    also [{other.memory_id}]: {indented(other.content)}" for other in note.also
    )
    rest += "".join(
        f"\n    {how} [{other.memory_id}], {other.age}: {one_line(other.snippet)}"
        for how, other in against(note.updated_by, note.contradicted_by, note.outdated)
    )
    return f"{one_line(', '.join(about))}\n    {indented(note.content)}{rest}"
