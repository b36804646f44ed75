"""The review of pairs that may say the same: asks about one after the other, with keys."""

from __future__ import annotations

import os
import shlex
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from totonoe.cli import printing
from totonoe.cli.session import exit_code_of, tell_error
from totonoe.cli.show import consolidate as show
from totonoe.cli.show import history as show_history
from totonoe.cli.show import questions as show_questions
from totonoe.enums import Answer, QuestionKind, Status
from totonoe.errors import NotActive, NotFound, StaleRevision, TotonoeError, UndoRefused

if TYPE_CHECKING:
    from collections.abc import Iterable

    from totonoe.client import Client
    from totonoe.consolidate.models import Consolidated
    from totonoe.memories.models import Judgement, Memory
    from totonoe.questions.models import Question

REASON = "consolidate"
KEYS = (
    "s same, d different, r A replaces B, k B replaces A, e edit (same, with another text), "
    "u undo, b back, n skip, q quit"
)
_ANSWERS = {
    "s": Answer.SAME,
    "e": Answer.SAME,
    "d": Answer.DIFFERENT,
    "r": Answer.REPLACES,
    "k": Answer.REPLACED_BY,
}


@dataclass(frozen=True, slots=True)
class ReviewPair:
    """Two memories to ask about, the older one first.

    `judgement` is what the later one is to the first, at these revisions of their rows. `replaces`:
    it may take the place of the first.
    """

    ids: tuple[str, str]
    revisions: tuple[int, int]
    judgement: Judgement | None
    probability: float
    replaces: bool = False


def pairs_of(done: Consolidated, questions: Iterable[Question]) -> list[ReviewPair]:
    """Return each pair of a run and each open question once.

    Those that may replace each other come first, then the most probably same.
    """
    asked = [
        ReviewPair(
            (question.a.id, question.b.id),
            (question.a.revision, question.b.revision),
            question.judgement,
            question.same_probability,
            question.kind is QuestionKind.REPLACES,
        )
        for question in questions
    ]
    pairs = [pair for pair in asked if pair.replaces]
    pairs += [
        ReviewPair(
            (candidate.memory_a_id, candidate.memory_b_id),
            (candidate.revision_a, candidate.revision_b),
            candidate.judgement,
            candidate.judgement.same_probability if candidate.judgement else 0.0,
        )
        for candidate in done.merge_candidates
    ]
    pairs += asked
    once: dict[frozenset[str], ReviewPair] = {}
    for pair in pairs:
        once.setdefault(frozenset(pair.ids), pair)
    return sorted(once.values(), key=lambda pair: (not pair.replaces, -pair.probability))


class Review:
    """Asks about pairs, and carries out each answer as one operation."""

    def __init__(self, client: Client, pairs: list[ReviewPair]) -> None:
        self._client = client
        self._pairs = pairs
        self._at = 0
        self._step = 1
        self._answered: list[tuple[int, str]] = []
        """Place of a pair, and id of the operation that answered it."""

    def run(self) -> None:
        """Ask until the last pair, or until somebody quits.

        Raises
        ------
        typer.Exit
            The daemon cannot be reached or did not answer in time.
        """
        going = True
        while going:
            try:
                going = self._ask() if self._at < len(self._pairs) else self._end()
            except TotonoeError as error:
                # The next pair may be as it was.
                tell_error(error)
                if exit_code_of(error) != 1:
                    raise typer.Exit(exit_code_of(error)) from None
                self._at, self._step = self._at + 1, 1

    def _ask(self) -> bool:
        """Show the pair as it is now and do what a key stands for; return false to stop."""
        pair = self._pairs[self._at]
        title = f"Pair {self._at + 1} of {len(self._pairs)}"
        found = self._client.get_many(pair.ids)
        lost = [*found.missing_ids, *(m.id for m in found.memories if m.status != Status.ACTIVE)]
        printing.line()
        if lost:
            printing.line(f"{title}: passed over, {' and '.join(lost)} is live no more.")
            self._move()
            return True
        a, b = found.memories
        judgement = pair.judgement
        if (a.revision, b.revision) != pair.revisions:
            judgement = self._client.compare(a.content, b.content).judgement
        printing.line(f"{title}: does B replace A?" if pair.replaces else title)
        show.asked(a, b, judgement)
        key = pressed(f"[{KEYS}] ", "sdrkeubnq")
        if key in _ANSWERS:
            self._answer(key, a, b)
        elif key == "u":
            self._undo()
        elif key == "b":
            self._back()
        else:
            self._at, self._step = self._at + 1, 1
        return key != "q"

    def _end(self) -> bool:
        """After the last pair, let somebody take back an answer; return false to stop."""
        if not self._answered:
            return False
        printing.line()
        key = pressed("That was the last pair. [u undo, b back, q quit] ", "ubq")
        if key == "u":
            self._undo()
        elif key == "b":
            self._back()
        return key != "q"

    def _back(self) -> None:
        if self._at == 0:
            printing.line("This is the first pair.")
        self._at, self._step = max(0, self._at - 1), -1

    def _move(self) -> None:
        """Go on in the direction of the last key; at the first pair turn round."""
        if self._at == 0:
            self._step = 1
        self._at += self._step

    def _answer(self, key: str, a: Memory, b: Memory) -> None:
        """Carry out an answer; the same pair comes again if nothing was done."""
        content = edited(b.content) if key == "e" else ""
        if key == "e" and not content:
            printing.line("No text was saved: nothing is done.")
            return
        said = _ANSWERS[key]
        try:
            done = self._client.resolve(
                a.id,
                b.id,
                said,
                content=content,
                expected_revision=a.revision,
                other_expected_revision=b.revision,
                reason=REASON,
            )
        except (StaleRevision, NotActive, NotFound) as error:
            tell_error(error)
            winner = error.details.get("operation_id", "")
            by = f" by operation {winner}" if winner else ""
            printing.line(f"Nothing is done: the pair was changed meanwhile{by}.")
            return
        show_questions.resolved(done, said)
        if done.resolved:
            self._answered.append((self._at, done.operation_id))
            self._at, self._step = self._at + 1, 1

    def _undo(self) -> None:
        """Take back the last answer, and ask about its pair again."""
        if not self._answered:
            printing.line("There is no answer to take back.")
            return
        at, operation_id = self._answered.pop()
        try:
            undone = self._client.undo(operation_id, reason=REASON)
        except UndoRefused as error:
            tell_error(error)
            return
        show_history.undone(undone, False)
        if undone.undone:
            self._at, self._step = at, 1


def edited(text: str) -> str:
    """Return a text as somebody left it in $VISUAL or $EDITOR, else vi; empty if that failed."""
    editor = os.environ.get("VISUAL") or os.environ.get("EDITOR") or "vi"
    # The directory is its owner's alone.
    with tempfile.TemporaryDirectory(prefix="totonoe-") as directory:
        path = Path(directory) / "memory.txt"
        path.write_text(text + "\n", encoding="utf-8")
        try:
            subprocess.run([*shlex.split(editor), str(path)], check=True)
            return path.read_text(encoding="utf-8").strip()
        except (OSError, ValueError, subprocess.CalledProcessError) as error:
            typer.echo(f"Error: {editor}: {error}", err=True)
            return ""


def pressed(question: str, allowed: str) -> str:
    """Read one of the allowed keys; the end of input counts as the last of them."""
    while True:
        typer.echo(question, nl=False)
        try:
            key = typer.getchar().lower()
        except (EOFError, KeyboardInterrupt):
            key = allowed[-1]
        if key in allowed and key:
            typer.echo(key)
            return key
        typer.echo()
