"""Choose the lines of the agents: the shipped conversation or a recall file."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.resources import as_file, files
from pathlib import Path
from typing import Any

from totonoe_server.tools.quality.files import (
    BenchmarkNote,
    FileError,
    Item,
    Question,
    partners,
    read_memories,
    read_mixed,
    read_questions,
)

SHIPPED = "conversation.jsonl"


@dataclass(frozen=True, slots=True)
class Line:
    """One thing to remember; `dup_of` and `differs_from` where the file has labels."""

    id: str
    conv: str
    text: str
    created_us: int | None = None
    kind: str = ""
    dup_of: str = ""
    differs_from: tuple[str, ...] = ()

    @property
    def said_first(self) -> str:
        """Id of the first line that says the same."""
        return self.dup_of or self.id

    def order(self) -> dict[str, Any]:
        """Return the fields that an agent needs."""
        time = None
        if self.created_us is not None:
            time = datetime.fromtimestamp(self.created_us / 1e6, UTC).isoformat()
        return {"id": self.id, "text": self.text, "time": time}


@dataclass(frozen=True, slots=True)
class Conversation:
    """Lines in their order, and questions whose evidence is among them."""

    name: str
    lines: tuple[Line, ...]
    questions: tuple[Question, ...]

    @property
    def convs(self) -> list[str]:
        """Conversations that are kept apart, in their order."""
        return list(dict.fromkeys(line.conv for line in self.lines))

    @property
    def labelled(self) -> bool:
        """True if the conversation says which lines repeat or merely resemble others."""
        return any(line.dup_of or line.differs_from for line in self.lines)


def shipped() -> Conversation:
    """The conversation in this package."""
    with as_file(files("totonoe_server.tools.demo") / SHIPPED) as path:
        items, questions = read_mixed(path)
    lines = tuple(map(_labelled, items))
    return Conversation("shipped", lines, tuple(questions))


def from_files(memories: Path, queries: Path | None, level: str) -> Conversation:
    """A recall file; without the name of the queries they are found beside the memories.

    `level` says which memories are meant where there are several levels.

    Raises
    ------
    FileError
        A file is not of that form, or has nothing of the level.
    """
    if queries is None:
        memories, queries = partners(memories)
    told = read_memories(memories)
    levels = {note.level for note in told}
    if len(levels) > 1:
        told = [note for note in told if note.level == level]
    if not told:
        names = ", ".join(sorted(levels))
        raise FileError(f"{memories}: has no memories of level {level!r}, but of {names}")
    conv_of = {note.id: note.conv for note in told}
    questions = []
    for question in read_questions(queries):
        ids = frozenset(
            evidence_id
            for evidence_id in question.evidence_ids
            if conv_of.get(evidence_id) == question.conv
        )
        if ids:
            questions.append(
                Question(question.id, question.conv, question.text, question.category, ids)
            )
    return Conversation(memories.name, tuple(map(_told, told)), tuple(questions))


def _labelled(item: Item) -> Line:
    return Line(
        id=item.id,
        conv="",
        text=item.text,
        kind=item.kind,
        dup_of=item.dup_of,
        differs_from=item.differs_from,
    )


def _told(note: BenchmarkNote) -> Line:
    return Line(id=note.id, conv=note.conv, text=note.text, created_us=note.created_us)
