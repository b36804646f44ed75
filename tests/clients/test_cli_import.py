"""Import: forms of files, duplicates told, second runs, damaged files."""

from __future__ import annotations

import gzip
import io
import json
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from support.scripted import fail, scripted
from totonoe.cli.commands.import_rows import LINE_BYTES_MAX, BadRow, Options, Row, read_rows
from totonoe.cli.main import app
from totonoe.v1 import memory_service_pb2 as pb
from totonoe.v1 import types_pb2

MEMORIES = [
    {"id": "conv-26/D1:1", "conv": "conv-26", "level": "turn", "speaker": "Caroline",
     "time": "2023-05-08T13:56:00", "text": "Hey Mel!", "title": None},
    {"id": "conv-26/O1", "conv": "conv-26", "level": "observation", "speaker": None,
     "time": None, "text": "Mel paints.", "from": ["conv-26/D1:1"]},
]  # fmt: skip
STREAM = {
    "id": "s-0", "t": "2026-01-30T22:54:14Z", "agent": "coder", "lang": "en", "text": "Set up CI",
    "dup_of": None, "kind": "new", "differs_from": [], "near": [], "source": "x",
}  # fmt: skip


def rows_of(*records: Any, **options: Any) -> list[Any]:
    lines = [
        record if isinstance(record, bytes) else json.dumps(record).encode() for record in records
    ]
    raw = io.BufferedReader(io.BytesIO(b"\n".join(lines)))  # type: ignore[arg-type]
    how = Options(**({"level": "", "agent_id": "me", "collection": "", "force": False} | options))
    return list(read_rows(raw, how))


def draft_of(record: Any, **options: Any) -> Any:
    (row,) = rows_of(record, **options)
    assert isinstance(row, Row), row
    return row.draft


# -- forms


def test_memories_form_maps_conversation_and_time() -> None:
    draft = draft_of(MEMORIES[0])
    assert (draft.content, draft.external_id, draft.session_id) == (
        "Hey Mel!",
        "conv-26/D1:1",
        "conv-26",
    )
    assert draft.created_time == datetime(2023, 5, 8, 13, 56, tzinfo=UTC)
    assert draft.attributes == {"level": "turn", "speaker": "Caroline"}
    assert draft.agent_id == "me"
    observation = draft_of(MEMORIES[1])
    assert observation.created_time is None
    assert observation.attributes == {"level": "observation", "from": ["conv-26/D1:1"]}


def test_streams_form_maps_agent_and_leaves_labels_out() -> None:
    draft = draft_of(STREAM)
    assert (draft.content, draft.agent_id, draft.kind) == ("Set up CI", "coder", None)
    assert draft.created_time == datetime(2026, 1, 30, 22, 54, 14, tzinfo=UTC)
    assert draft.attributes == {"lang": "en", "source": "x"}


def test_plain_form_takes_fields_of_a_draft_and_keeps_the_rest_as_attributes() -> None:
    draft = draft_of(
        {
            "content": "a",
            "id": "x1",
            "kind": "event",
            "tags": ["t"],
            "importance": 4,
            "created_time": "2026-01-01T09:00:00+09:00",
            "about_time": {"from_time": "2026-01-01"},
            "agent": "bot",
            "private": True,
            "colour": "red",
            "attributes": {"size": 3},
        }
    )
    assert (draft.content, draft.external_id, draft.kind) == ("a", "x1", "event")
    assert (draft.tags, draft.importance, draft.private) == (["t"], 4, True)
    assert draft.created_time == datetime(2026, 1, 1, 0, 0, tzinfo=UTC)
    assert draft.about_time.from_time == datetime(2026, 1, 1, tzinfo=UTC)
    assert (draft.agent_id, draft.attributes) == ("bot", {"colour": "red", "size": 3})
    assert draft_of({"text": "b"}).attributes == {}


def test_level_leaves_other_lines_out() -> None:
    found = rows_of(*MEMORIES, {"text": "plain"}, level="observation")
    assert found[0] is None
    assert [row.draft.content for row in found[1:]] == ["Mel paints.", "plain"]


@pytest.mark.parametrize(
    ("line", "words"),
    [
        (b"{", "Expecting property name"),
        (b"[1]", "allowed: a JSON object"),
        (b"\xff\xfe", "utf-8"),
        ({"id": "1", "a": "x", "b": "y", "label": 1}, "file of pairs"),
        ({"id": "1", "question": "?", "evidence_ids": []}, "file of questions"),
        ({"text": 3}, "no text"),
        ({"text": "a", "kind": "nonsense"}, "allowed: state, event, affect"),
        ({"text": "a", "time": "soon"}, "ISO 8601"),
        ({"text": "a", "id": 5}, "id: got a int"),
        ({"text": "a", "tags": "abc"}, "allowed: a list of str"),
        ({"text": "a", "entities": [1]}, "entities[0]: "),
        ({"text": "a", "importance": 2**40}, "importance: "),
        ({"text": "a", "importance": "high"}, "importance: "),
        ({"text": "a", "attributes": [1]}, "attributes"),
        ({"text": "a", "attributes": {"n": 2**60}}, "integers up to"),
        (b'{"text": "a", "x": NaN}', "finite"),
        (b'{"text": "\\ud800"}', "surrogates"),
        (b'{"text": "a", "x": ' + b"[" * 100_000, "recursion"),
        (b'{"text": "' + b"a" * LINE_BYTES_MAX + b'"}', "longer than"),
    ],
)
def test_line_malformed_is_told_with_its_number_and_the_rest_goes_on(line: Any, words: str) -> None:
    first, bad, last = rows_of({"text": "first"}, line, {"text": "last"})
    assert isinstance(bad, BadRow)
    assert bad.line == 2
    assert words in bad.message
    assert (first.line, last.line, last.draft.content) == (1, 3, "last")


def test_operation_ids_are_the_same_for_the_same_file_and_differ_otherwise() -> None:
    def operation_ids(**options: Any) -> list[str]:
        return [row.draft.operation_id for row in rows_of(*MEMORIES, MEMORIES[0], **options)]

    again = operation_ids()
    assert operation_ids() == again
    assert all(item.startswith("op_") and len(item) == 27 for item in again)
    variants = [again] + [
        operation_ids(**option)
        for option in ({"agent_id": "you"}, {"collection": "notes"}, {"force": True})
    ]
    every = [item for variant in variants for item in variant]
    assert len(set(every)) == len(every)
    longer = [row.draft.operation_id for row in rows_of(*MEMORIES, MEMORIES[0], {"text": "new"})]
    assert longer[:3] == again


def test_lines_of_a_chat_come_from_who_spoke() -> None:
    lines = (
        {"text": "a", "role": "user"},
        {"conv": "c", "level": "turn", "speaker": "assistant", "text": "b"},
        {"text": "c", "role": "tool"},
        {"text": "d", "role": "user", "source": "external"},
        {"text": "e", "speaker": "Mel"},
    )
    found = rows_of(*lines, source="tool")
    assert [row.draft.source for row in found] == ["user", "agent", "tool", "external", "tool"]
    assert rows_of(lines[-1])[0].draft.source == "agent"


def test_blank_lines_and_byte_order_mark_are_passed_over() -> None:
    found = rows_of(b'\xef\xbb\xbf{"text": "a"}', b"", b"  \r", b'{"text": "b"}\r')
    assert [(row.line, row.draft.content) for row in found] == [(1, "a"), (4, "b")]


# -- the command


def result_of(item: pb.RememberRequest) -> pb.RememberManyResult:
    """What a text asks for: a script in the input itself."""
    word = item.memory.content.partition(" ")[0]
    if word in ("exact", "cosine"):
        method = types_pb2.Method.Value(f"METHOD_{word.upper()}")
        duplicate = types_pb2.Duplicate(
            memory_id="mem_old", age="3d ago", snippet="old text", similarity=0.97, method=method
        )
        answer = pb.RememberResponse(duplicate=duplicate, memory_id="mem_old", revision=3)
        answer.replayed = item.memory.content.endswith("again")
        return pb.RememberManyResult(answer=answer)
    if word in ("known", "unwanted"):
        gone = types_pb2.ForgottenMatch(memory_id="mem_old", age="3d ago", reason="wrong")
        answer = pb.RememberResponse(saved=word == "known", forgotten=gone, revision=4)
        return pb.RememberManyResult(answer=answer)
    if word == "taken":
        return pb.RememberManyResult(error=pb.ItemError(code=6, reason="EXTERNAL_ID_EXISTS"))
    if word == "bad":
        error = pb.ItemError(code=3, reason="BAD_TIME", message="in the future")
        return pb.RememberManyResult(error=error)
    return pb.RememberManyResult(answer=pb.RememberResponse(saved=True, revision=4))


def remember_many(requests: Any, _context: Any) -> Iterator[pb.RememberManyResponse]:
    for message in requests:
        yield pb.RememberManyResponse(results=[result_of(item) for item in message.items])


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Result]:
    monkeypatch.setenv("COLUMNS", "160")

    def invoke(*arguments: str, stdin: bytes | None = None, handler: Any = remember_many) -> Result:
        with scripted(RememberMany=handler) as address:
            return CliRunner().invoke(
                app, ["import", *arguments, "--address", address], input=stdin
            )

    return invoke


def file_of(path: Path, *texts: str) -> str:
    path.write_text("".join(json.dumps({"text": text}) + "\n" for text in texts), "utf-8")
    return str(path)


def test_import_tells_duplicates_as_it_goes_and_ends_with_a_table(
    run: Callable[..., Result], tmp_path: Path
) -> None:
    file = file_of(tmp_path / "a.jsonl", "new", "exact", "cosine", "exact again", "taken", "new")
    result = run(file)
    assert result.exit_code == 0, result.output
    lines = result.stdout.splitlines()
    assert lines[:2] == [
        "line 2: repeats mem_old (exact, similarity 0.97): old text",
        "line 3: repeats mem_old (cosine, similarity 0.97): old text",
    ]
    cells = [tuple(cell.strip() for cell in line.split("│")) for line in lines if "│" in line]
    assert cells == [
        ("saved", "2"),
        ("refused: cosine", "1"),
        ("refused: exact", "2"),
        ("already there (external id)", "1"),
        ("failed", "0"),
        ("of these answered by an earlier run", "1"),
    ]


def test_import_tells_what_was_forgotten_and_counts_it_where_it_is_refused(
    run: Callable[..., Result], tmp_path: Path
) -> None:
    file = file_of(tmp_path / "a.jsonl", "known", "unwanted")
    result = run(file)
    assert result.exit_code == 0, result.output
    assert result.stdout.splitlines()[:2] == [
        'line 1: saved. You forgot this 3d ago (mem_old): "wrong"',
        'line 2: not saved. You forgot this 3d ago (mem_old): "wrong"',
    ]
    counts = json.loads(run(file, "--json").stdout)
    assert (counts["saved_count"], counts["refused_counts"]) == (1, {"forgotten": 1})


def test_import_json_is_one_object_with_counts(run: Callable[..., Result], tmp_path: Path) -> None:
    file = file_of(tmp_path / "a.jsonl", "new", "exact", "taken", "bad", "cosine")
    result = run(file, "--json")
    assert result.exit_code == 1
    assert result.stderr == ""
    assert json.loads(result.stdout) == {
        "file": file,
        "saved_count": 1,
        "refused_count": 2,
        "refused_counts": {"exact": 1, "cosine": 1},
        "existing_count": 1,
        "failed_count": 1,
        "skipped_count": 0,
        "replayed_count": 0,
        "revision": 4,
        "duplicates": [
            {"line": 2, "duplicate_of": "mem_old", "method": "exact", "similarity": 0.97},
            {"line": 5, "duplicate_of": "mem_old", "method": "cosine", "similarity": 0.97},
        ],
        "failures": [{"line": 4, "reason": "BAD_TIME", "message": "in the future"}],
    }


def test_import_line_that_fails_is_told_and_ends_in_1(
    run: Callable[..., Result], tmp_path: Path
) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(b'{"text": "new"}\n{"text": "bad"}\nno json\n')
    result = run(str(path))
    assert result.exit_code == 1
    told = [line for line in result.stdout.splitlines() if line.startswith("line ")]
    # A line that is no JSON is known before the answers to those before it.
    assert sorted(told) == [
        "line 2: failed: in the future (BAD_TIME)",
        "line 3: failed: Expecting value: line 1 column 1 (char 0)",
    ]


def test_import_reads_gzip_and_standard_input(run: Callable[..., Result], tmp_path: Path) -> None:
    data = b"".join(json.dumps(record).encode() + b"\n" for record in MEMORIES)
    packed = tmp_path / "a.jsonl.gz"
    packed.write_bytes(gzip.compress(data))
    for arguments, stdin in (([str(packed)], None), (["-"], data), (["-"], gzip.compress(data))):
        result = run(*arguments, "--json", "--level", "turn", stdin=stdin)
        answer = json.loads(result.stdout)
        assert (answer["saved_count"], answer["skipped_count"]) == (1, 1)


def test_import_truncated_gzip_keeps_what_could_be_read(
    run: Callable[..., Result], tmp_path: Path
) -> None:
    lines = "".join(json.dumps({"text": f"new {number}"}) + "\n" for number in range(5000))
    path = tmp_path / "a.jsonl.gz"
    path.write_bytes(gzip.compress(lines.encode())[:-2000])
    answer = json.loads(run(str(path), "--json").stdout)
    assert 0 < answer["saved_count"] < 5000
    assert answer["failed_count"] == 1
    assert "cannot be read" in answer["failures"][0]["message"]


def test_import_of_many_lines_keeps_counts_exact(
    run: Callable[..., Result], tmp_path: Path
) -> None:
    texts = [("exact" if number % 3 == 0 else "new") + f" {number}" for number in range(1000)]
    answer = json.loads(run(file_of(tmp_path / "a.jsonl", *texts), "--json").stdout)
    assert (answer["saved_count"], answer["refused_count"]) == (666, 334)
    assert len(answer["duplicates"]) == 100
    assert [item["line"] for item in answer["duplicates"][:3]] == [1, 4, 7]


@pytest.mark.parametrize("as_json", [False, True])
def test_import_stream_that_fails_shows_what_was_done(
    run: Callable[..., Result], tmp_path: Path, as_json: bool
) -> None:
    def one_message_only(requests: Any, context: Any) -> Iterator[pb.RememberManyResponse]:
        for number, message in enumerate(requests):
            if number:
                fail(context, "DATA_LOSS", "CORRUPT_ROW", "row broken")
            yield pb.RememberManyResponse(results=[result_of(item) for item in message.items])

    file = file_of(tmp_path / "a.jsonl", *(f"new {number}" for number in range(200)))
    result = run(file, *(["--json"] if as_json else []), handler=one_message_only)
    assert result.exit_code == 1
    if as_json:
        answer = json.loads(result.stdout)
        assert (answer["saved_count"], answer["error"]["reason"]) == (64, "CORRUPT_ROW")
    else:
        assert "saved" in result.stdout
        assert "Error: row broken (CORRUPT_ROW)" in result.stderr
        assert "Run the same command again" in result.stderr
