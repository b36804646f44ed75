"""The review of `totonoe consolidate`: what its keys do, and what it shows."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from support.scripted import answering, failing, scripted
from totonoe import Client, RetryPolicy
from totonoe.cli.commands import consolidate as commands
from totonoe.cli.main import app
from totonoe.cli.show.consolidate import marked
from totonoe.enums import Status
from totonoe.v1 import consolidate_pb2, questions_pb2, types_pb2
from totonoe.v1 import memory_service_pb2 as memory_pb
from totonoe_server.tools.testing import RunningServer

QUICK = RetryPolicy(attempts_max=2, backoff_initial_s=0.01, backoff_max_s=0.02)
# Not certainly different: what certainly differs is no pair.
GLOWING = "The lamp in the hall is glowing."
BIG = "The lamp in the hall is big."
HUNG = "The lamp in the hall is on the wall."
OPTIONS = ("consolidate", "--distance", "0.5", "--window-hours", "0", "--limit", "20")
NUMBERS = count()


class Terminal:
    """A terminal with somebody who presses keys; a function among the keys runs before the next."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, *keys: str | Callable[[], Any]) -> None:
        self.keys: list[str | Callable[[], Any]] = []
        for key in keys:
            self.keys += list(key) if isinstance(key, str) else [key]
        monkeypatch.setattr("totonoe.cli.options.at_terminal", lambda: True)
        monkeypatch.setattr(commands, "_at_screen", lambda: True)
        monkeypatch.setattr("typer.getchar", self._key)

    def _key(self) -> str:
        while self.keys:
            key = self.keys.pop(0)
            if isinstance(key, str):
                return key
            key()
        raise EOFError


class Desk:
    """A collection of its own with some memories, and the command on it."""

    def __init__(self, server: RunningServer, monkeypatch: pytest.MonkeyPatch) -> None:
        self.address, self.name = server.address, f"desk-{next(NUMBERS)}"
        self.client = Client(self.address, agent_id="anna", collection=self.name)
        self.client.create_collection(self.name)
        self._monkeypatch = monkeypatch

    def remember(self, *texts: str) -> list[str]:
        return [str(self.client.remember(text, force=True).memory_id) for text in texts]

    def run(self, *keys: str | Callable[[], Any]) -> Result:
        Terminal(self._monkeypatch, *keys)
        shared = ["--address", self.address, "--agent", "anna", "--collection", self.name]
        result = CliRunner().invoke(app, [*shared, *OPTIONS])
        assert result.exit_code == 0, result.output
        return result

    def status(self, *ids: str) -> list[Status]:
        return [memory.status for memory in self.client.get_many(ids).memories]


@pytest.fixture
def desk(server: RunningServer, monkeypatch: pytest.MonkeyPatch) -> Iterator[Desk]:
    desk = Desk(server, monkeypatch)
    with desk.client:
        yield desk


LIVE, GONE = Status.ACTIVE, Status.SUPERSEDED


def test_pair_shows_both_texts_with_what_differs_then_the_probability(desk: Desk) -> None:
    glowing, big = desk.remember(GLOWING, BIG)
    shown = desk.run("q").stdout
    place = [
        shown.index(part)
        for part in (
            "Pair 1 of 1",
            f"A: {glowing}, just now\n    The lamp in the hall is [glowing].\n",
            f"B: {big}, just now\n    The lamp in the hall is [big].\n",
            " same)\n",
            "only in B: big",
            "only in A: glowing",
            "[s same, d different,",
        )
    ]
    assert place == sorted(place)
    assert desk.status(glowing, big) == [LIVE, LIVE]


@pytest.mark.parametrize(
    ("key", "left"),
    [("r", [LIVE, GONE]), ("k", [GONE, LIVE]), ("d", [LIVE, LIVE]), ("n", [LIVE, LIVE])],
)
def test_answer_is_carried_out(desk: Desk, key: str, left: list[Status]) -> None:
    pair = desk.remember(GLOWING, BIG)
    desk.run(f"x{key}")
    assert desk.status(*pair) == left
    again = desk.run("q").stdout
    assert ("Pair 1 of 1" in again) is (key == "n")


def test_same_leaves_one_of_the_two(desk: Desk) -> None:
    pair = desk.remember(GLOWING, BIG)
    assert "Same: " in desk.run("s").stdout
    assert sorted(desk.status(*pair)) == [LIVE, GONE]


def editor(tmp_path: Path, script: str) -> str:
    """A command that edits the file in its last argument."""
    path = tmp_path / "edit.py"
    path.write_text(f"import pathlib, sys\npath = pathlib.Path(sys.argv[1])\n{script}\n")
    return f"{shlex.quote(sys.executable)} {shlex.quote(str(path))}"


def test_edited_text_becomes_that_of_the_memory_that_stays(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    pair = desk.remember(GLOWING, BIG)
    monkeypatch.setenv("EDITOR", editor(tmp_path, "path.write_text('')"))
    assert desk.run("eq").stdout.count("No text was saved: nothing is done.") == 1
    script = "path.write_text(path.read_text().strip() + ' Or glowing.')"
    monkeypatch.setenv("VISUAL", editor(tmp_path, script))
    desk.run("e")
    (kept,) = [memory for memory in desk.client.get_many(pair).memories if memory.status is LIVE]
    assert kept.content == f"{BIG} Or glowing."


@pytest.mark.parametrize("command", ["no-such-editor-anywhere", "false"])
def test_editor_that_fails_changes_nothing(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    pair = desk.remember(GLOWING, BIG)
    monkeypatch.setenv("VISUAL", command)
    assert f"Error: {command}: " in desk.run("e").stderr
    assert desk.status(*pair) == [LIVE, LIVE]


def test_undo_takes_back_the_last_answer_and_asks_again(desk: Desk) -> None:
    pair = desk.remember(GLOWING, BIG, HUNG)
    shown = desk.run("rdu" + "u" + "u" + "q").stdout
    # Each answer is taken back; the third time there is none.
    assert shown.count("Undone: revision") == 2
    assert "There is no answer to take back." in shown
    assert desk.status(*pair) == [LIVE] * 3


def test_back_asks_about_the_pair_before(desk: Desk) -> None:
    desk.remember(GLOWING, BIG, HUNG)
    shown = desk.run("bnbq").stdout
    asked = [line for line in shown.splitlines() if line.startswith("Pair ")]
    assert asked == ["Pair 1 of 3", "Pair 1 of 3", "Pair 2 of 3", "Pair 1 of 3"]
    assert shown.count("This is the first pair.") == 1


def test_back_over_a_pair_that_lost_a_memory_turns_round_at_the_first(desk: Desk) -> None:
    desk.remember(GLOWING, BIG, HUNG)
    shown = desk.run("rbq").stdout
    titles = [line for line in shown.splitlines() if line.startswith("Pair 1")]
    assert titles[0] == "Pair 1 of 3"
    assert "passed over" in titles[1]


def test_pair_that_lost_a_memory_is_passed_over_and_named(desk: Desk) -> None:
    ids = desk.remember(GLOWING, BIG, HUNG)
    shown = desk.run("kq").stdout
    (lost,) = [memory_id for memory_id in ids if desk.status(memory_id) == [GONE]]
    assert f"of 3: passed over, {lost} is live no more." in shown


def test_loser_of_a_race_hears_which_operation_won(desk: Desk) -> None:
    glowing, big = desk.remember(GLOWING, BIG)
    won: list[str] = []

    def faster() -> None:
        won.append(desk.client.resolve(glowing, big, "replaces").operation_id)

    result = desk.run(faster, "k")
    (winner,) = won
    assert f"Nothing is done: the pair was changed meanwhile by operation {winner}." in (
        result.stdout
    )
    assert winner in result.stderr
    assert f"Pair 1 of 1: passed over, {big} is live no more." in result.stdout
    assert desk.status(glowing, big) == [LIVE, GONE]


def test_text_that_changed_meanwhile_is_shown_and_judged_anew(desk: Desk) -> None:
    glowing, big = desk.remember(GLOWING, BIG)
    changed = "The lamp in the hall is large."
    result = desk.run(lambda: desk.client.update(big, content=changed, force=True), "rq")
    assert "    The lamp in the hall is [large].\n" in result.stdout
    assert desk.status(glowing, big) == [LIVE, LIVE]


# -- which pairs, in which order


def memory(number: int) -> types_pb2.Memory:
    return types_pb2.Memory(
        id=f"mem_{number}",
        content=f"The port is {number}.",
        revision=number,
        status=types_pb2.STATUS_ACTIVE,
    )


def judgement(probability: float) -> types_pb2.Judgement:
    return types_pb2.Judgement(verdict=types_pb2.VERDICT_RELATED, same_probability=probability)


def candidate(a: int, b: int, probability: float) -> consolidate_pb2.MergeCandidate:
    return consolidate_pb2.MergeCandidate(
        memory_a_id=f"mem_{a}",
        memory_b_id=f"mem_{b}",
        revision_a=a,
        revision_b=b,
        judgement=judgement(probability),
    )


def question(a: int, b: int, probability: float) -> questions_pb2.Question:
    return questions_pb2.Question(
        a=memory(a), b=memory(b), same_probability=probability, judgement=judgement(probability)
    )


def reviewed(monkeypatch: pytest.MonkeyPatch, *options: str, **handlers: Any) -> Result:
    Terminal(monkeypatch, "n" * 9)
    kept = [candidate(1, 2, 0.3), candidate(3, 4, 0.8)]
    done = consolidate_pb2.ConsolidateDone(merge_candidates=kept, pair_count=2)
    event = consolidate_pb2.ConsolidateResponse(resume_token="r", done=done)
    handlers = {
        "Consolidate": lambda _request, _context: iter([event]),
        "ListQuestions": answering(questions_pb2.ListQuestionsResponse()),
        "Get": lambda request, _context: memory_pb.GetResponse(
            memories=[memory(int(memory_id.removeprefix("mem_"))) for memory_id in request.ids]
        ),
    } | handlers
    with scripted(**handlers) as address:
        return CliRunner().invoke(app, ["--address", address, "consolidate", *options])


def test_pairs_and_open_questions_come_once_the_most_probable_first(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked: list[Any] = []
    page = questions_pb2.ListQuestionsResponse(
        questions=[question(5, 6, 0.9), question(2, 1, 0.7), question(7, 8, 0.5)],
        next_page_token="more",
    )
    result = reviewed(monkeypatch, ListQuestions=answering(page, asked))
    assert result.exit_code == 0, result.output
    firsts = [line.split(",")[0] for line in result.stdout.splitlines() if line[:3] == "A: "]
    assert firsts == ["A: mem_5", "A: mem_3", "A: mem_7", "A: mem_1"]
    assert "More questions are open: totonoe questions --address 127.0.0.1:" in result.stdout
    assert [item.page_size for item in asked] == [20]


@pytest.mark.parametrize(("limit", "size"), [("3", 3), ("0", 100), ("500", 100)])
def test_limit_holds_for_open_questions_too(
    monkeypatch: pytest.MonkeyPatch, limit: str, size: int
) -> None:
    asked: list[Any] = []
    answer = questions_pb2.ListQuestionsResponse()
    reviewed(monkeypatch, "--limit", limit, ListQuestions=answering(answer, asked))
    assert [item.page_size for item in asked] == [size]


def test_failure_of_one_pair_is_said_and_the_next_one_asked_about(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    result = reviewed(monkeypatch, Get=failing("INVALID_ARGUMENT", "X"))
    assert result.exit_code == 0
    assert result.stderr.count("because") == 2


def test_daemon_that_goes_away_ends_the_review_in_4(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("totonoe.client.RetryPolicy", lambda: QUICK)
    result = reviewed(monkeypatch, Get=failing("UNAVAILABLE", "SHUTTING_DOWN"))
    assert result.exit_code == 4


# -- what differs, marked in the texts


@pytest.mark.parametrize(
    ("text", "spans", "shown"),
    [
        ("port 8080 at home", [(5, 9)], "port [8080] at home"),
        ("a b c d", [(4, 5), (0, 3), (2, 3), None], "[a b] [c] d"),
        ("a b c d", [(0, 3), (2, 5)], "[a b c] d"),
        # Marking a whole text would mark nothing.
        ("Is it red?", [(0, 9)], "Is it red?"),
        ("one\ntwo \x1b[31m", [(4, 7)], "one\n    [two] \ufffd[31m"),
    ],
)
def test_stretches_have_brackets_without_colour(
    text: str, spans: list[tuple[int, int] | None], shown: str
) -> None:
    assert marked(text, spans, coloured=False).plain == f"    {shown}"


def test_stretches_have_a_style_with_colour() -> None:
    shown = marked("port 8080", [(5, 9)], coloured=True)
    assert shown.plain == "    port 8080"
    assert [(span.start, span.end) for span in shown.spans] == [(9, 13)]
