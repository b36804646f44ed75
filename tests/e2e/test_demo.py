"""`totonoe demo`: a real daemon, several agent processes, and nothing left behind."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from support.waits import wait_s, wait_until
from totonoe_server.tools.demo import conversation, story
from totonoe_server.tools.demo.conversation import Line
from totonoe_server.tools.quality.files import FileError

COMMAND = """
import typer
from totonoe_server.tools.demo.command import register
app = typer.Typer()
register(app)
app()
"""
LIMIT_S = 120.0
FACTS = [
    ("x", "f0", "The blue key opens the tool shed.", []),
    ("x", "f1", "The compost is turned every second Sunday.", []),
    ("x", "f2", "The blue key opens the tool shed.", []),
    ("y", "f3", "Beans grow along the southern fence.", []),
    ("y", "f4", "The hose leaks where it meets the tap.", []),
]
QUESTIONS = [
    ("x", "q0", "Which key opens the tool shed?", ["f2"]),
    ("y", "q1", "Where do the beans grow?", ["f3"]),
]


def start(folder, *arguments):
    """The command in a process of its own, with its temporary files in `folder`."""
    return subprocess.Popen(
        [sys.executable, "-c", COMMAND, "--embedder", "hashing", *map(str, arguments)],
        env=os.environ | {"TMPDIR": str(folder)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def finish(process):
    """(exit code, standard output, standard error)."""
    out, err = process.communicate(timeout=wait_s(LIMIT_S))
    return process.returncode, out, err


def processes_of(folder):
    """Processes that run with the folder in their environment."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):  # it ended meanwhile, or is somebody else's
            ours = str(folder).encode() in (process / "environ").read_bytes()
            if ours and ") Z " not in (process / "stat").read_text():
                found.append(process.name)
    return found


def test_demo_with_a_recall_file_tells_all_figures(tmp_path):
    memories = tmp_path / "garden_memories.jsonl"
    memories.write_text(
        "".join(
            json.dumps({"conv": conv, "id": id_, "level": "observation", "text": text}) + "\n"
            for conv, id_, text, _ in FACTS
        )
    )
    (tmp_path / "garden_queries.jsonl").write_text(
        "".join(
            json.dumps({"conv": conv, "id": id_, "question": text, "evidence_ids": ids}) + "\n"
            for conv, id_, text, ids in QUESTIONS
        )
    )
    folder = tmp_path / "tmp"
    folder.mkdir()
    code, out, err = finish(start(folder, "--memories", memories, "--agents", 3, "--json"))
    assert code == 0, err
    report = json.loads(out)
    assert report["agents"] == 3
    told = report["remember"]
    assert (told["lines"], told["told"], told["saved"]) == (5, 10, 4)
    assert told["refused"] == {"exact": 6}
    assert report["race"] == {"callers": 32, "saved": 1, "named_it": 31, "ok": True}
    # The evidence of q0 was refused as a duplicate of f0 (or f0 of it), and counts through it.
    assert report["recall"]["recall_at_5"] == 1.0
    for part in ("remember", "recall"):
        for name in ("p50_ms", "p99_ms", "daemon_cpu_ms", "embedder_cpu_ms"):
            assert report[part][name] >= 0.0
    assert not list(folder.iterdir())


def test_demo_of_the_shipped_conversation_keeps_lookalikes(tmp_path):
    code, out, err = finish(start(tmp_path, "--agents", 2))
    assert code == 0, err
    assert "race check" in out
    assert "passed" in out
    shipped = conversation.shipped()
    alike = sum(bool(line.differs_from) for line in shipped.lines)
    assert f"{alike} of {alike}" in out
    assert not list(tmp_path.iterdir())


@pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="reads /proc")
@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 128 + signal.SIGTERM)]
)
def test_demo_that_is_interrupted_leaves_nothing_behind(tmp_path, number, code):
    process = start(tmp_path, "--agents", 2)
    # The daemon and both agents run: the interrupt comes in the middle.
    wait_until(lambda: len(processes_of(tmp_path)) >= 4 or process.poll() is not None)
    assert process.poll() is None, process.communicate()
    process.send_signal(number)
    ended, _, err = finish(process)
    assert ended == code, err
    assert "Traceback" not in err
    assert processes_of(tmp_path) == []
    assert not list(tmp_path.iterdir())


def test_demo_says_why_a_daemon_does_not_start(tmp_path):
    process = start(tmp_path, "--embedder", "model2vec", "--embedder-path", tmp_path / "none")
    code, _, err = finish(process)
    assert code == 1
    assert "Traceback" not in err
    assert err.startswith("totonoe: ")
    assert not list(tmp_path.iterdir())


def test_shipped_conversation_is_consistent():
    shipped = conversation.shipped()
    ids = [line.id for line in shipped.lines]
    assert len(ids) == len(set(ids))
    assert 60 <= len(ids) <= 90
    seen = set()
    for line in shipped.lines:
        assert {*line.differs_from, line.dup_of} - {""} <= seen, line.id
        seen.add(line.id)
    assert {line.kind for line in shipped.lines} == {"new", "paraphrase", "repeat", "trivial"}
    for question in shipped.questions:
        assert question.evidence_ids
        assert question.evidence_ids <= seen
    assert len(shipped.questions) >= 15


def test_level_is_needed_only_where_there_are_several(tmp_path):
    memories = tmp_path / "a_memories.jsonl"
    queries = tmp_path / "a_queries.jsonl"
    rows = [{"conv": "x", "id": name, "level": name, "text": name} for name in ("turn", "note")]
    memories.write_text("".join(json.dumps(row) + "\n" for row in rows))
    queries.write_text(
        json.dumps({"conv": "x", "id": "q", "question": "?", "evidence_ids": ["note"]}) + "\n"
    )
    found = conversation.from_files(memories, None, "note")
    assert [line.id for line in found.lines] == ["note"]
    assert not conversation.from_files(memories, queries, "turn").questions
    with pytest.raises(FileError, match="of note, turn"):
        conversation.from_files(memories, None, "observation")
    memories.write_text(json.dumps(rows[1]) + "\n")
    assert conversation.from_files(memories, None, "observation").lines


@pytest.mark.parametrize(
    ("size", "expected"), [(1, [[0], [0]]), (2, [[0, 1], [0, 1]]), (3, [[0, 1], [1, 2]])]
)
def test_each_line_is_told_by_two_agents_where_there_are_two(size, expected):
    assert [story.tellers(at, size) for at in range(2)] == expected


def test_labels_do_not_depend_on_which_of_two_lines_was_saved():
    lines = [
        Line("a", "", "x"),
        Line("a2", "", "x", kind="repeat", dup_of="a"),
        Line("b", "", "y", differs_from=("a2",)),
        Line("c", "", "z", differs_from=("a",)),
    ]
    found = story.labels(lines, {"a": {"m1"}, "a2": {"m1"}, "b": {"m1"}, "c": {"m2"}})
    assert found == {
        "restatements": {"repeat": {"n": 1, "caught": 1}},
        "lookalikes": {"n": 2, "kept": 1},
    }
