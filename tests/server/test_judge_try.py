"""`totonoe judge try`: what a judge says of labelled pairs, and what the guard would do with it."""

from __future__ import annotations

import gzip
import json
import math
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest
import typer
from click.testing import Result
from typer.testing import CliRunner

from support.judges import DecisionServer, ScriptedJudge, by_the_judge_alone
from support.own_judge import TINY
from totonoe_core.base import limits
from totonoe_core.judging import JudgeFailed, Relation
from totonoe_server.tools.judge import trying
from totonoe_server.tools.judge.command import register
from totonoe_server.tools.judge.pairs import LabelledPair, read_pairs
from totonoe_server.tools.judge.trying import Change, JudgeGoneError, Outcome, TriedPair, ask_all
from totonoe_server.tools.quality.files import FileError
from totonoe_server.tools.testing import running_server

DOG = ("The neighbour has a loud dog", "The neighbour has a loud puppy")
BACKUP = ("The nightly backup is stored in the cellar", "The nightly backup is kept in the cellar")
SHOP = ("The shop on the corner is shut on Sunday", "The shop on the corner is closed on Sunday")
GATE = ("The gate opens at 7", "The gate opens at 8")
KETTLE = ("The kettle holds two litres.", "the kettle holds two litres")
BUS = ("The bus leaves at noon", "The bus leaves at noon from the square")
ROWS = [
    {"a": DOG[0], "b": DOG[1], "label": 0, "relation": "compatible"},
    {"a": BACKUP[0], "b": BACKUP[1], "label": 1, "relation": "same"},
    {"a": SHOP[0], "b": SHOP[1], "label": 1},
    {"a": GATE[0], "b": GATE[1], "label": 0, "relation": "exclusive"},
    {"a": KETTLE[0], "b": KETTLE[1], "label": 1, "relation": "same"},
    {"a": BUS[0], "b": BUS[1], "label": 0, "relation": "more"},
    {"a": "nobody knows", "b": "what this is", "label": None},
]
SAYS = {DOG: "same", BACKUP: "same", SHOP: "compatible", GATE: "exclusive", BUS: "more"}


def relation_of(a: str, b: str) -> str:
    """What the server says; nothing of other pairs."""
    if (a, b) in SAYS:
        return SAYS[a, b]
    if (b, a) in SAYS:
        return Relation(SAYS[b, a]).mirrored
    return "cannot_tell"


@pytest.fixture
def server() -> Iterator[DecisionServer]:
    one = DecisionServer("openai")
    one.relation_of = relation_of
    yield one
    one.close()


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Result]:
    monkeypatch.delenv("COLUMNS", raising=False)
    app = typer.Typer()
    register(app)
    app.callback()(lambda: None)

    def call(*arguments: object) -> Result:
        given = ["judge", "try", *map(str, arguments), "--embedder", "hashing"]
        return CliRunner().invoke(app, given)

    return call


def of(server: DecisionServer) -> list[str]:
    return ["--judge", "decisions", "--judge-url", server.url, "--judge-model", "small"]


def write(path: Path, rows: Sequence[object]) -> Path:
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows))
    return path


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return write(tmp_path / "pairs.jsonl", ROWS)


def test_report_says_what_the_judge_would_change_and_what_of_it_is_wrong(
    run: Callable[..., Result], file: Path, server: DecisionServer
) -> None:
    done = run(file, *of(server), "--json")
    assert done.exit_code == 0, done.output
    report = json.loads(done.stdout)
    assert (report["rows"], report["same_count"], report["different_count"]) == (6, 3, 3)
    judge = report["judge"]
    assert judge["name"] == "decisions:small"
    counts = ("asked_count", "opinion_count", "no_opinion_count", "failed_count", "too_long_count")
    assert [judge[name] for name in counts] == [6, 5, 1, 0, 0]
    # The backup is over two look-alikes and level with the dog; the shop is level with the two.
    assert judge["auc"] == pytest.approx(3.5 / 6)
    assert judge["wall_ms"] > 0
    assert report["guard"]["refused"] == {"same": 0.333333, "different": 0.0}
    with_judge = report["with_judge"]
    assert with_judge["put_to_judge_count"] == 3
    assert with_judge["refused"] == {"same": 0.666667, "different": 0.333333}
    assert with_judge["changes"] == {
        "newly refused": {"count": 2, "wrong_count": 1},
        "newly asked": {"count": 0, "wrong_count": 0},
        "no longer asked": {"count": 1, "wrong_count": 1},
    }
    assert [(pair["line"], pair["change"], pair["b"]) for pair in report["wrong"]] == [
        (1, "newly refused", DOG[1]),
        (3, "no longer asked", SHOP[1]),
    ]


def test_daemon_with_the_same_judge_does_what_the_report_says(
    run: Callable[..., Result], file: Path, server: DecisionServer
) -> None:
    report = json.loads(run(file, *of(server), "--json").stdout)
    refused = []
    settings = {"judge": "decisions", "judge_url": server.url, "judge_model": "small"}
    with running_server(embedder="hashing", **settings) as daemon, daemon.client("anna") as client:
        for number, row in enumerate(ROWS[:6]):
            beside = {"namespace": [f"pair-{number}"]}
            assert client.remember(row["a"], **beside).saved
            refused.append(not client.remember(row["b"], **beside).saved)
    assert refused == [True, True, False, False, True, False]
    shares = report["with_judge"]["refused"]
    assert shares == {
        "same": pytest.approx(2 / 3, abs=1e-5),
        "different": pytest.approx(1 / 3, abs=1e-5),
    }


def test_relations_are_counted_by_what_the_file_says(
    run: Callable[..., Result], file: Path, server: DecisionServer
) -> None:
    rows = json.loads(run(file, *of(server), "--json").stdout)["relations"]
    said = {row: {name for name, count in part.items() if count} for row, part in rows.items()}
    assert said == {
        "same": {"same", "no opinion"},
        "more": {"more"},
        "exclusive": {"exclusive"},
        "compatible": {"same"},
        "label 1": {"compatible"},
    }


def test_output_for_people_has_the_same_figures(
    run: Callable[..., Result], file: Path, server: DecisionServer
) -> None:
    done = run(file, *of(server))
    assert done.exit_code == 0, done.output
    for words in (
        "pairs.jsonl: 6 pairs (3 same, 3 different)",
        "judge decisions:small: 5 opinions, 1 pairs without one, 0 failed, 0 too long",
        "refused: with the judge",
        "66.7 %",
        "newly refused: 2, of them wrong: 1",
        f'line 1, newly refused: "{DOG[0]}" / "{DOG[1]}"',
        "no longer asked: 1, of them wrong: 1",
        "no opinion",
    ):
        assert words in done.stdout


def test_without_a_judge_the_guard_alone_is_measured(
    run: Callable[..., Result], file: Path
) -> None:
    report = json.loads(run(file, "--judge", "none", "--json").stdout)
    assert report["guard"]["refused"] == {"same": 0.333333, "different": 0.0}
    assert report["guard"]["asked"]["same"] == 0.666667
    assert not {"judge", "with_judge", "relations"} & set(report)
    shown = run(file, "--judge", "none").stdout
    assert "no judge" in shown
    assert "the guard alone" in shown
    assert "with the judge" not in shown


def test_failures_are_counted_by_their_kind(
    run: Callable[..., Result], file: Path, server: DecisionServer
) -> None:
    def fails_once(a: str, b: str) -> str:
        if GATE[0] in (a, b):
            raise ConnectionError
        return relation_of(a, b)

    server.relation_of = fails_once
    judge = json.loads(run(file, *of(server), "--json").stdout)["judge"]
    assert (judge["failed_count"], judge["failures"]) == (1, {"RemoteProtocolError": 1})


@pytest.mark.parametrize("status", [429, 500])
def test_judge_that_never_answers_is_one_line_and_exit_code_1(
    run: Callable[..., Result], file: Path, server: DecisionServer, status: int
) -> None:
    server.status = status
    done = run(file, *of(server))
    assert (done.exit_code, done.stdout) == (1, "")
    assert done.stderr == f"totonoe: the judge failed on every pair (HTTP {status})\n"


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--judge", "decisions"], "judge.model"),
        (["--judge", "decisions", "--judge-model", "m", "--judge-url", "h"], "judge.url"),
        (["--judge", "magic"], "judge: Input should be"),
        (["--judge-agreed-from", "0.2"], "judge_agreed_from"),
    ],
)
def test_wrong_option_is_one_line_and_exit_code_2(
    run: Callable[..., Result], file: Path, options: list[str], says: str
) -> None:
    done = run(file, *options)
    assert done.exit_code == 2
    assert says in done.stderr
    assert done.stderr.count("\n") == 1


# -- The file


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("{", "is no JSON"),
        ("[]", "is no JSON object"),
        ("[" * 5000, "is nested too deep"),
        ('{"b": "x", "label": 1}', "a: allowed: a text"),
        ('{"a": "x", "b": 5, "label": 1}', "b: allowed: a text"),
        ('{"a": "x", "b": " ", "label": 1}', "b"),
        ('{"a": "x", "b": "y"}', "label: allowed: 0, 1 or null"),
        ('{"a": "x", "b": "y", "label": true}', "label: allowed"),
        ('{"a": "x", "b": "y", "label": "same"}', "label: allowed"),
        ('{"a": "x", "b": "y", "label": 1, "relation": "equal"}', "relation: allowed: same, more"),
        ('{"a": "x", "b": "y", "label": 1, "relation": ["same"]}', "relation: allowed"),
        ('{"a": "x", "b": "y", "label": 1, "relation": "more"}', "got more with label 1"),
        ('{"a": "x", "b": "y", "label": 0, "relation": "same"}', "got same with label 0"),
    ],
)
def test_wrong_line_is_named_and_not_quoted(
    run: Callable[..., Result], tmp_path: Path, line: str, says: str
) -> None:
    path = tmp_path / "wrong.jsonl"
    path.write_text('{"a": "secret", "b": "secret", "label": 1}\n\n' + line + "\n")
    done = run(path)
    assert done.exit_code == 2
    assert f"{path}:3: " in done.stderr
    assert says in done.stderr
    assert "secret" not in done.stderr


def test_file_without_a_label_or_that_is_not_there_is_said(tmp_path: Path) -> None:
    empty = write(tmp_path / "empty.jsonl", [{"a": "x", "b": "y", "label": None}])
    with pytest.raises(FileError, match="no pair with a label"):
        read_pairs(empty)
    with pytest.raises(FileError, match="No such file"):
        read_pairs(tmp_path / "nothing.jsonl")
    latin = tmp_path / "latin.jsonl"
    latin.write_bytes('{"a": "ä", "b": "x", "label": 1}'.encode("latin-1"))
    with pytest.raises(FileError, match=":1: is not UTF-8"):
        read_pairs(latin)


def test_packed_file_is_read_as_a_plain_one(tmp_path: Path, file: Path) -> None:
    packed = tmp_path / "pairs.jsonl.gz"
    packed.write_bytes(gzip.compress(file.read_bytes()))
    assert read_pairs(packed) == read_pairs(file)
    assert [pair.line for pair in read_pairs(file, limit=2)] == [1, 2]


def test_too_many_pairs_and_too_large_a_file_are_refused(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, file: Path
) -> None:
    monkeypatch.setattr(limits, "JUDGE_TRY_PAIRS_MAX", 5)
    with pytest.raises(FileError, match=r":6: more than 5 pairs"):
        read_pairs(file)
    assert len(read_pairs(file, limit=5)) == 5
    packed = tmp_path / "bomb.gz"
    packed.write_bytes(gzip.compress(file.read_bytes()))
    monkeypatch.setattr(limits, "JUDGE_TRY_BYTES_MAX", file.stat().st_size - 1)
    with pytest.raises(FileError, match="is larger than"):
        read_pairs(packed)


# -- Asking


def labelled(*texts: str) -> list[LabelledPair]:
    return [LabelledPair(line, text, text + "!", True, None) for line, text in enumerate(texts, 1)]


def silent(_: int) -> None:
    """Nobody follows the progress."""


def test_pairs_are_asked_in_batches_and_answered_in_their_order() -> None:
    judge = ScriptedJudge(Relation.MORE, of="c!", batch_max=2)
    answers, _ = ask_all(judge, labelled(*"abcde"), silent)
    assert judge.batches == [2, 2, 1]
    assert [answer and answer.failure for answer in answers] == [""] * 5
    third = answers[2]
    assert third is not None
    assert third.opinion is not None
    # Of b to a, whatever the order of the pair.
    assert third.opinion.relation is Relation.MORE


def test_long_text_is_not_sent_and_told_as_done() -> None:
    judge, told = ScriptedJudge(), []
    long = "x" * limits.JUDGE_TEXT_CHARS_MAX
    answers, _ = ask_all(judge, labelled("a", long), told.append)
    assert answers[1] is None
    assert len(judge.pairs) == 1
    assert sum(told) == 2


def test_judge_that_fails_again_and_again_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trying, "FAILURES_MAX", 3)
    judge = ScriptedJudge()
    judge.error = JudgeFailed("HTTP 500")
    with pytest.raises(JudgeGoneError, match=r"failed 3 times in a row \(HTTP 500\)"):
        ask_all(judge, labelled(*(f"text {number}" for number in range(50))), silent)
    assert len(judge.pairs) < 50


def test_error_of_a_judge_is_named_by_its_type_alone() -> None:
    judge = ScriptedJudge()
    judge.error = ValueError("a private matter")
    with pytest.raises(JudgeGoneError, match=r"on every pair \(ValueError\)"):
        ask_all(judge, labelled("a private matter"), silent)


def test_other_number_of_opinions_is_a_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    judge = ScriptedJudge()
    monkeypatch.setattr(judge, "ask", lambda _: [])
    with pytest.raises(JudgeGoneError, match="another number of opinions"):
        ask_all(judge, labelled("a"), silent)


# -- Changes

KEPT, ASKED, REFUSED = Outcome(False, False), Outcome(False, True), Outcome(True, False)


@pytest.mark.parametrize(
    ("before", "after", "change", "wrong_of"),
    [
        (KEPT, KEPT, None, None),
        (ASKED, ASKED, None, None),
        (REFUSED, REFUSED, None, None),
        (KEPT, REFUSED, Change.REFUSED, "different"),
        (ASKED, REFUSED, Change.REFUSED, "different"),
        (KEPT, ASKED, Change.ASKED, "different"),
        (ASKED, KEPT, Change.NOT_ASKED, "same"),
    ],
)
def test_change_is_wrong_where_the_label_says_otherwise(
    before: Outcome, after: Outcome, change: Change | None, wrong_of: str | None
) -> None:
    for same in (True, False):
        pair = LabelledPair(1, "a", "b", same, None)
        tried = TriedPair(pair, math.nan, before, after, True, None)
        assert tried.change is change
        assert tried.wrong is (wrong_of == ("same" if same else "different"))


def test_own_judge_is_tried_by_the_rules_of_the_daemon(
    run: Callable[..., Result], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("totonoe_core.judging.own.SHIPPED", TINY)
    # The small model is as sure as the shipped one hardly is.
    by_the_judge_alone(monkeypatch)
    same, apart = "They argued in the dormitory at noon", "The pump in the cellar is loud"
    rows = [
        {"a": same, "b": "At noon they argued in the dirty room", "label": 1},
        {"a": same, "b": apart, "label": 0},
        {"a": same, "b": same, "label": 1},
    ]
    done = run(write(tmp_path / "pairs.jsonl", rows), "--judge", "own", "--json")
    assert done.exit_code == 0, done.output
    report = json.loads(done.stdout)
    assert report["judge"]["name"] == "own:tiny-1"
    # It does not read what is far apart, nor equal text.
    assert report["with_judge"]["put_to_judge_count"] == 1
    assert report["with_judge"]["changes"]["newly asked"] == {"count": 0, "wrong_count": 0}
    assert report["with_judge"]["changes"]["newly refused"] == {"count": 1, "wrong_count": 0}
