"""Files of LoCoMo and LongMemEval are read as their authors publish them."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import typer
from click.testing import Result
from typer.testing import CliRunner

from totonoe_core.base import limits
from totonoe_server.tools.quality.command import register
from totonoe_server.tools.quality.files import FileError
from totonoe_server.tools.quality.forms import Benchmark, read

LOCOMO: list[dict[str, Any]] = [
    {
        "sample_id": "conv-1",
        "conversation": {
            "speaker_a": "Ann",
            "speaker_b": "Ben",
            "session_1_date_time": "1:56 pm on 8 May, 2023",
            "session_1": [
                {
                    "speaker": "Ann",
                    "dia_id": "D1:1",
                    "text": "I keep the spare keys in a blue tin.",
                },
                {"speaker": "Ben", "dia_id": "D1:2", "text": ""},
            ],
            "session_2_date_time": "12:09 am on 13 September, 2023",
            "session_2": [
                {"speaker": "Ben", "dia_id": "D2:1", "text": "My sister moved to Oslo."},
                {"speaker": "Ann", "dia_id": "D2:2", "text": "The heating is off until autumn."},
            ],
        },
        "observation": {
            "session_1_observation": {"Ann": [["Ann keeps her spare keys in a tin.", "D1:1"]]},
            "session_2_observation": {"Ben": [["Ben's sister lives in Oslo.", ["D2:1", "D2:2"]]]},
        },
        "qa": [
            {"question": "Where are Ann's spare keys?", "evidence": ["D1:1"], "category": 4},
            {"question": "Who moved, and when?", "evidence": ["D2:1; D02:02"], "category": 2},
            {"question": "What does Ben drive?", "adversarial_answer": "a van", "category": 5},
        ],
    }
]
LONGMEMEVAL: list[dict[str, Any]] = [
    {
        "question_id": f"q{number}",
        "question_type": "knowledge-update",
        "question": "What is the gate code?",
        "answer": "5678",
        "haystack_session_ids": ["a", "b"],
        "haystack_dates": ["2023/05/20 (Sat) 02:21", "2023/05/21 (Sun) 09:00"],
        "haystack_sessions": [
            [
                {"role": "user", "content": "Tea, please."},
                {"role": "assistant", "content": "Here."},
            ],
            [{"role": "user", "content": "The gate code is 5678.", "has_answer": True}],
        ],
        "answer_session_ids": ["b"],
    }
    for number in range(3)
]


def write(path: Path, content: object) -> Path:
    path.write_text(json.dumps(content, indent=1), encoding="utf-8")
    return path


@pytest.fixture
def run() -> Callable[..., Result]:
    app = typer.Typer()
    register(app)

    def call(*arguments: object) -> Result:
        given = [*map(str, arguments), "--embedder", "hashing"]
        return CliRunner().invoke(app, given, env={"COLUMNS": None})

    return call


def test_locomo_gives_turns_and_observations_with_the_evidence_of_each(tmp_path: Path) -> None:
    found = read(write(tmp_path / "x.json", LOCOMO), Benchmark.LOCOMO)
    assert [(note.level, note.speaker, note.text) for note in found.told] == [
        ("turn", "Ann", "I keep the spare keys in a blue tin."),
        ("observation", "Ann", "Ann keeps her spare keys in a tin."),
        ("turn", "Ben", "My sister moved to Oslo."),
        ("turn", "Ann", "The heating is off until autumn."),
        ("observation", "Ben", "Ben's sister lives in Oslo."),
    ]
    assert [note.thread for note in found.told] == [f"session_{at}" for at in (1, 1, 2, 2, 2)]
    of = {note.text: note.id for note in found.told}
    keys, moved, drive = found.questions
    assert keys.evidence_ids == {of[LOCOMO[0]["conversation"]["session_1"][0]["text"]]} | {
        of["Ann keeps her spare keys in a tin."]
    }
    assert moved.evidence_ids == {
        of["My sister moved to Oslo."],
        of["The heating is off until autumn."],
        of["Ben's sister lives in Oslo."],
    }
    assert (keys.category, moved.category, drive.category) == (
        "single-hop",
        "temporal",
        "adversarial",
    )
    assert not drive.evidence_ids
    first, last = found.told[0].created_us, found.told[-1].created_us
    assert (first, last) == (1_683_554_160_000_000, 1_694_563_740_000_000)


def test_longmemeval_gives_each_question_its_own_conversations(tmp_path: Path) -> None:
    path = write(tmp_path / "x.json", LONGMEMEVAL)
    found = read(path, Benchmark.LONGMEMEVAL, 2)
    assert [question.conv for question in found.questions] == ["q0", "q1"]
    assert {note.conv for note in found.told} == {"q0", "q1"}
    [evidence] = found.questions[0].evidence_ids
    assert {note.id: note.text for note in found.told}[evidence] == "The gate code is 5678."
    assert [note.speaker for note in found.told[:3]] == ["user", "assistant", "user"]
    assert [note.thread for note in found.told[:3]] == ["session_0", "session_0", "session_1"]
    assert found.questions[0].category == "knowledge-update"


def test_text_over_the_limit_of_a_memory_is_cut_between_characters(tmp_path: Path) -> None:
    rows = json.loads(json.dumps(LONGMEMEVAL[:1]))
    rows[0]["haystack_sessions"][1][0]["content"] = "x" + "é" * limits.CONTENT_BYTES_MAX
    found = read(write(tmp_path / "x.json", rows), Benchmark.LONGMEMEVAL)
    assert len(found.told[-1].text.encode()) == limits.CONTENT_BYTES_MAX - 1


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ("{}", "is no JSON array"),
        ("", "is no JSON array"),
        ("[{]", "is no JSON"),
        ("[]", "has no questions"),
        ('[{"question_id": "q"}]', "element 1: is not of the form longmemeval"),
        ("[7]", "element 1: is not of the form longmemeval"),
    ],
)
def test_file_of_another_form_is_named(tmp_path: Path, content: str, says: str) -> None:
    path = tmp_path / "x.json"
    path.write_text(content)
    with pytest.raises(FileError, match=f"x.json: {says}"):
        read(path, Benchmark.LONGMEMEVAL)


def test_date_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    rows = json.loads(json.dumps(LOCOMO))
    rows[0]["conversation"]["session_1_date_time"] = "some day in May"
    with pytest.raises(FileError, match=r"element 1: .*some day in May"):
        read(write(tmp_path / "x.json", rows), Benchmark.LOCOMO)


def test_file_that_is_not_there_or_no_text_is_named(tmp_path: Path) -> None:
    with pytest.raises(FileError, match=r"gone\.json: No such file"):
        read(tmp_path / "gone.json", Benchmark.LOCOMO)
    path = tmp_path / "x.json"
    path.write_bytes(b"\xff")
    with pytest.raises(FileError, match="is not UTF-8"):
        read(path, Benchmark.LOCOMO)


def test_command_measures_both_levels_of_a_benchmark_beside_bm25(
    tmp_path: Path, run: Callable[..., Result]
) -> None:
    done = run("--form", "locomo", write(tmp_path / "x.json", LOCOMO), "--json")
    assert done.exit_code == 0, done.output
    turn, observation = json.loads(done.stdout)["files"]
    assert (turn["level"], turn["n"], turn["n_memories"], turn["n_without_evidence"]) == (
        *("turn", 2, 3),
        1,
    )
    assert (observation["level"], observation["n"]) == ("observation", 2)
    assert set(turn["mrr"]) == {"diversity_on", "diversity_off", "bm25"}
    assert turn["by_category"]["single-hop"]["recall_at_1"]["bm25"] == 1.0


def test_form_of_the_probe_set_is_refused(run: Callable[..., Result]) -> None:
    done = run("--form", "locomo", "--probe")
    assert done.exit_code == 2 and "--form" in done.stderr
