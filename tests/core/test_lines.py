"""The form of an export file: what is read is what was written, and nothing else is read."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from support.transfers import POLICIES, file_of, header
from totonoe_core.base import limits
from totonoe_core.base.errors import BadImport
from totonoe_core.domain.records import Fields, Memory, Status
from totonoe_core.jsonl import VERSION, writing
from totonoe_core.jsonl.reading import Entry, LineReader

DOCS = Path(__file__).parents[2] / "docs" / "export.md"
ID, OTHER = "mem_0123456789abcdef", "mem_fedcba9876543210"


def memory(**more: Any) -> dict[str, Any]:
    return {"record": "memory", "id": ID, "content": "a", "created_us": 1, "updated_us": 2} | more


def link(**more: Any) -> dict[str, Any]:
    both = {"source_id": ID, "target_id": OTHER}
    return {"record": "link", **both, "type": "related", "confidence": 0.5} | more


def episode(**more: Any) -> dict[str, Any]:
    return {
        "record": "episode",
        "id": "ep_0123456789abcdef",
        "summary": "s",
        "memory_ids": [ID],
        "start_us": 1,
        "end_us": 1,
        "created_us": 1,
        "importance": 3,
    } | more


def dismissal(**more: Any) -> dict[str, Any]:
    return {"record": "dismissal", "id_a": ID, "id_b": OTHER} | more


def read(data: bytes, piece_bytes: int = 1 << 20) -> list[Entry]:
    reader, found = LineReader(), []
    for at in range(0, max(len(data), 1), piece_bytes):
        found += reader.take(data[at : at + piece_bytes], at + piece_bytes >= len(data))
    assert reader.ended
    return found


def failed(data: bytes) -> BadImport:
    with pytest.raises(BadImport) as caught:
        read(data)
    return caught.value


WHOLE = file_of([header(), memory(), link(), episode(), dismissal()])


@pytest.mark.parametrize("piece_bytes", [1, 7, 100, 1 << 20])
def test_lines_are_the_same_however_they_come_in_pieces(piece_bytes: int) -> None:
    assert [entry.line for entry in read(WHOLE, piece_bytes)] == [2, 3, 4, 5]
    assert read(WHOLE, piece_bytes) == read(WHOLE)


def test_lines_without_the_last_line_feed_and_with_returns_are_read() -> None:
    assert len(read(WHOLE[:-1])) == 4
    returns = file_of([header(), memory()])
    assert len(read(returns)) == 1


def test_a_policy_without_a_field_leaves_it_as_it_is() -> None:
    reader = LineReader()
    lines = [header(policies=POLICIES | {"tidy": {"enabled": True}})]
    assert list(reader.take(file_of(lines), True)) == []
    assert reader.header is not None
    said = dict(reader.header.settings)
    assert [name for name in said if name.startswith("tidy.")] == ["tidy.enabled"]


def test_every_cut_file_is_noticed() -> None:
    for end in range(len(WHOLE) - 1):
        assert failed(WHOLE[:end]).reason == "BAD_IMPORT"


def test_a_changed_byte_is_noticed() -> None:
    for at in range(WHOLE.index(b"\n") + 1, len(WHOLE), 7):
        changed = bytearray(WHOLE)
        changed[at] ^= 1
        reader = LineReader()
        with pytest.raises(BadImport):
            list(reader.take(bytes(changed), True))
        assert not reader.ended


@pytest.mark.parametrize(
    ("lines", "line", "field"),
    [
        ([], 1, "record"),
        ([memory()], 1, "record"),
        ([header(format="other")], 1, "record"),
        ([header(version=VERSION + 1)], 1, "version"),
        ([header(colour="red")], 1, "colour"),
        ([header(statuses=["purged"])], 1, "statuses"),
        ([header(model={})], 1, "model.dimension"),
        ([header(policies={})], 1, "policies.guard"),
        ([header(policies=POLICIES | {"guard": {"exact": 1}})], 1, "policies.guard.exact"),
        ([header(policies=POLICIES | {"blast": {"rows_min": 1, "percent": 1, "x": 1}})], 1,
         "policies.blast.x"),
        ([header(), {"record": "thing"}], 2, "record"),
        ([header(), {}], 2, "record"),
        ([header(), header()], 2, "record"),
        ([header(), link(), memory()], 3, "record"),
    ],
)  # fmt: skip
def test_what_is_wrong_with_the_file_ends_it(
    lines: list[dict[str, Any]], line: int, field: str
) -> None:
    data = b"".join(json.dumps(entry).encode() + b"\n" for entry in lines)
    error = failed(data)
    assert (error.line, error.details["field"]) == (line, field)
    assert str(error).startswith(f"line {line}: {field}: ")


@pytest.mark.parametrize(
    "raw",
    [b"", b"no", b"[]", b'"\xff"', b"{" * 100_000, b'{"record": NaN}', b'{"a": 1' + b"0" * 9999],
)
def test_a_line_that_is_no_object_ends_the_file(raw: bytes) -> None:
    start = json.dumps(header()).encode() + b"\n"
    assert failed(start + raw + b"\n").line == 2


def test_a_line_that_is_too_long_ends_the_file_before_it_is_in_memory() -> None:
    reader = LineReader()
    with pytest.raises(BadImport):
        list(reader.take(b" " * (limits.IMPORT_LINE_BYTES_MAX + 1), False))


def test_lines_after_the_end_are_refused() -> None:
    assert failed(WHOLE + b"\n").line == 7


@pytest.mark.parametrize(
    ("line", "field"),
    [
        (memory(id="mem_1"), "id"),
        (memory(id="mem_0123456789ab"), "id"),
        (memory(content=""), "content"),
        (memory(content=5), "content"),
        (memory(content="a\0b"), "content"),
        (memory(content="\ud800"), "content"),
        (memory(created_us=1.5), "created_us"),
        (memory(created_us=2**60), "created_us"),
        (memory(created_us=None), "created_us"),
        (memory(status="purged"), "status"),
        (memory(status="gone"), "status"),
        (memory(superseded_by="x"), "superseded_by"),
        (memory(superseded_by=ID), "superseded_by"),
        (memory(access_count=1), "last_access_us"),
        (memory(access_count=-1, last_access_us=1), "access_count"),
        (memory(kind="thing"), "kind"),
        (memory(kind="event"), "state_kind"),
        (memory(importance=True), "importance"),
        (memory(importance=6), "importance"),
        (memory(confidence=1.1), "confidence"),
        (memory(salience="1"), "salience"),
        (memory(tags="a"), "tags"),
        (memory(tags=[1]), "tags"),
        (memory(tags=[""]), "tags"),
        (memory(evidence_ids=["x"]), "evidence_ids"),
        (memory(attributes=[]), "attributes"),
        (memory(attributes={"a": "\ud800"}), "attributes"),
        (memory(key={"subject": "a"}), "key.attribute"),
        (memory(key={"subject": "a", "attribute": "b", "c": 1}), "c"),
        (memory(private=1), "private"),
        (memory(vector=""), "vector"),
        (memory(valid_from_us=2, valid_to_us=1), "valid_to_us"),
        (memory(about_from_us=2, about_to_us=1), "about_to_us"),
        (memory(colour="red"), "colour"),
        (link(type="likes"), "type"),
        (link(confidence=2), "confidence"),
        (link(target_id=ID), "target_id"),
        (link(note="\0"), "note"),
        (link(revision=1), "revision"),
        (episode(id="ep_1"), "id"),
        (episode(summary=" "), "summary"),
        (episode(memory_ids=[ID, ID]), "memory_ids"),
        (episode(end_us=0), "end_us"),
        (episode(importance=0), "importance"),
        (dismissal(id_b=ID), "id_b"),
        (dismissal(note=1), "note"),
    ],
)
def test_what_is_wrong_with_a_record_is_told_with_its_line(
    line: dict[str, Any], field: str
) -> None:
    (entry,) = read(file_of([header(), line]))
    assert entry.record is None
    assert entry.error is not None
    assert entry.error.line == 2
    assert entry.error.details["field"].endswith(field)


@pytest.mark.parametrize(
    "vector", ["AAAA", "!!!!", "AAAAAAAAAAA=", "AADAfwAAwH8=", "AACAPwAAgD8=", None, 5]
)
def test_vectors_that_are_none_are_refused(vector: Any) -> None:
    lines = [header(vectors=True), memory(vector=vector)]
    (entry,) = read(file_of(lines))
    assert entry.error is not None
    assert entry.error.details["field"] == "vector"


def test_errors_quote_no_text_of_a_memory() -> None:
    text = "The secret word is Zanzibar"
    lines = [
        memory(content=text + "\0"),
        memory(content=text, importance=9),
        memory(content=text, attributes={text: "\ud800"}),
        memory(content=text, tags=[text * 50]),
        memory(content=text, kind="event"),
    ]
    for entry in read(file_of([header(), *lines])):
        assert entry.error is not None
        assert "Zanzibar" not in str(entry.error) + repr(entry.error.details)
    spoiled = json.dumps(header()) + "\n" + json.dumps(memory(content=text))[:-3] + "\n"
    assert "Zanzibar" not in str(failed(spoiled.encode()))


def test_the_page_names_every_field() -> None:
    page = DOCS.read_text("utf-8")
    whole = Fields.__dataclass_fields__.keys() | header().keys() | POLICIES["guard"].keys()
    whole |= episode().keys() | link().keys() | dismissal().keys() | header()["model"].keys()
    whole |= {"vector", "status", "superseded_by", "last_access_us", "access_count"}
    whole = whole - {"about_time"} | {"about_from_us", "about_to_us"}
    assert [name for name in sorted(whole) if f"`{name}`" not in page] == []
    assert f"version {VERSION}" in page


def test_what_has_its_default_is_left_out_and_the_rest_is_there() -> None:
    bare = Memory(
        row=1,
        id=ID,
        content="a",
        content_hash=b"",
        vector=b"",
        agent_id="",
        fields=Fields(),
        created_us=1,
        updated_us=2,
        status=Status.ACTIVE,
        superseded_by="",
        revision=3,
    )
    assert json.loads(writing.record(bare, vectors=False)) == memory()
