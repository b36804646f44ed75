"""Readers of other programs' stores: what becomes of each field, and bad stores."""

from __future__ import annotations

import json
import shutil
import sqlite3
import tracemalloc
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from support.stores import FIXTURES, changed, store_of
from totonoe.enums import LinkType
from totonoe.importers import importing, records, report
from totonoe.importers.databases import opened
from totonoe.importers.detection import SOURCES, source_of
from totonoe.importers.records import (
    RECORD_BYTES_MAX,
    TEXT_BYTES_MAX,
    Edge,
    Episode,
    ReadOptions,
    Reason,
    Record,
    Skipped,
)
from totonoe.importers.staging import Staging
from totonoe.memories.drafts import Draft
from totonoe_core.base import limits


def read(path: Path, name: str = "auto", bullets: bool = False) -> list[Any]:
    return list(source_of(name, path).read(path, ReadOptions(bullets=bullets)))


def of(kind: type, items: list[Any]) -> list[Any]:
    return [item for item in items if isinstance(item, kind)]


def written(path: Path, text: str | bytes) -> Path:
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


# -- each source


@pytest.mark.parametrize("name", SOURCES)
def test_auto_knows_the_store_of_each_source(name: str, tmp_path: Path) -> None:
    path = store_of(name, tmp_path)
    assert source_of("auto", path).name == name
    found = [item.draft.content for item in of(Record, read(path))]
    assert any("5433" in text for text in found)


def test_claude_code_page_becomes_a_memory_with_its_front_matter(tmp_path: Path) -> None:
    items = read(store_of("claude-code", tmp_path))
    deploys, staging = of(Record, items)
    assert (deploys.id, staging.id) == ("-home-mia-app/deploys.md", "-home-mia-app/staging-port.md")
    draft = deploys.draft
    assert draft.content == "The deploy runs on Fridays at 16:00. See [[staging-port]]."
    assert (draft.category, draft.created_time) == ("project", datetime(2026, 3, 1, 9, tzinfo=UTC))
    assert draft.session_id == "5da15695-411e-4859-a37b-b739ede023ae"
    assert draft.attributes == {
        "name": "Deploys run on Fridays",
        "description": 'When to deploy: "never" on Mondays',
    }
    assert staging.draft.category == "reference"
    # Of its file: the front matter names none.
    assert staging.draft.created_time == datetime(2026, 3, 1, 9, tzinfo=UTC)
    (edge,) = of(Edge, items)
    assert edge.target in staging.aliases
    assert [item.reason for item in of(Skipped, items)] == [Reason.INDEX, Reason.NO_FRONT_MATTER]


def test_claude_code_bullets_are_memories_where_they_are_asked_for(tmp_path: Path) -> None:
    items = read(store_of("claude-code", tmp_path), bullets=True)
    bullets = [item.draft for item in of(Record, items) if "#" in item.id]
    assert [draft.content for draft in bullets] == [
        "Run `make test` before a commit.",
        "The linter is ruff,\nand mypy runs in strict mode.",
        "The nightly backup is disabled.",
        "The nightly backup is enabled.",
    ]
    assert bullets[0].attributes == {"file": "-home-mia-app/CLAUDE.md", "heading": "Tests"}
    # A page without any is named all the same.
    assert [(item.where.split()[0], item.reason) for item in of(Skipped, items)] == [
        ("-home-mia-app/CLAUDE.md", Reason.INDEX),
        ("memory/MEMORY.md", Reason.INDEX),
        ("memory/loose.md", Reason.NO_FRONT_MATTER),
    ]


def test_claude_code_folder_of_projects_holds_those_of_each(tmp_path: Path) -> None:
    store_of("claude-code", tmp_path)
    other = tmp_path / "-home-mia-site" / "memory"
    other.mkdir(parents=True)
    (other / "deploys.md").write_text("---\nname: x\n---\nThe site deploys hourly.\n")
    ids = [item.id for item in of(Record, read(tmp_path))]
    assert "-home-mia-app/deploys.md" in ids and "-home-mia-site/deploys.md" in ids


def test_mcp_memory_observations_and_relations_become_memories(tmp_path: Path) -> None:
    items = read(store_of("mcp-memory", tmp_path))
    found = of(Record, items)
    assert [item.draft.content for item in found][3:] == [
        "John_Smith: Speaks fluent Spanish.",
        "Ann: Speaks fluent Spanish.",
        "Ann: 把持力は12.5Nに設定する。",
        "Team_A (team)",
        "John_Smith works_in Team_A",
        "Ann maintains staging_database",
    ]
    # The file has two objects on its second line.
    assert [item.where for item in found[3:6]] == ["line 2"] * 3
    assert (found[3].draft.category, found[3].draft.entities) == ("person", ["John_Smith"])
    assert (found[7].draft.state_kind, found[7].draft.entities) == (
        "relation",
        ["John_Smith", "Team_A"],
    )
    assert [edge.target for edge in of(Edge, items)][:2] == ["entity John_Smith", "entity Team_A"]


def test_mcp_memory_service_row_becomes_a_memory_without_its_vector(tmp_path: Path) -> None:
    items = read(store_of("mcp-memory-service", tmp_path))
    first, draft = of(Record, items)[0], of(Record, items)[0].draft
    assert len(first.id) == 64
    assert (draft.category, draft.tags) == ("decision", ["setup", "place-0"])
    assert draft.attributes == {"place": 0, "nested": {"list": [1, 2]}}
    assert draft.created_time == datetime(2026, 3, 1, 9, tzinfo=UTC)
    assert draft.vector is None
    assert [(item.where, item.reason) for item in of(Skipped, items)] == [
        ("memories row 9", Reason.DELETED)
    ]
    assert {(edge.type, edge.confidence) for edge in of(Edge, items)} == {
        (LinkType.RELATED, 0.62),
        (LinkType.CAUSES, 0.5),
    }


def test_mcp_memory_service_export_says_the_same_as_its_database(tmp_path: Path) -> None:
    def drafts(items: list[Any]) -> dict[str, Draft]:
        return {item.id: item.draft for item in of(Record, items)}

    rows = drafts(read(store_of("mcp-memory-service", tmp_path)))
    assert drafts(read(FIXTURES / "mcp_memory_service.json")) == rows


def test_mem0_answer_becomes_memories_of_its_agents(tmp_path: Path) -> None:
    items = of(Record, read(store_of("mem0", tmp_path)))
    draft = items[0].draft
    assert (draft.agent_id, draft.session_id, draft.category) == ("coder", "run-1", "setup")
    assert draft.attributes == {"user_id": "mia", "role": "user", "place": 0}
    assert draft.created_time == datetime(2026, 3, 1, 9, tzinfo=UTC)
    assert len(items) == 8


def test_mem0_list_alone_and_ends_of_validity_are_read(tmp_path: Path) -> None:
    rows = [
        {"id": 1, "memory": "a", "expiration_date": "2099-01-01", "categories": ["food", "pets"]},
        {"id": 2, "memory": "b", "expiration_date": "2020-01-01"},
        {"id": 3, "memory": None},
        {"memory": "no id"},
    ]
    items = read(written(tmp_path / "m.json", json.dumps(rows)))
    assert items[0].draft.valid_to_time == datetime(2099, 1, 1, tzinfo=UTC)
    assert items[0].draft.tags == ["food", "pets"]
    assert [item.reason for item in items[1:]] == [
        Reason.EXPIRED,
        Reason.NO_TEXT,
        Reason.DAMAGED,
    ]


@pytest.mark.parametrize(
    ("name", "sources"),
    [
        ("codex", {None: 8, "user": 1}),
        ("mempalace", {None: 1, "external": 3}),
        ("robotmem", {None: 8, "tool": 1}),
        ("mem0", {None: 8}),
    ],
)
def test_store_says_where_a_text_comes_from_where_it_knows(
    name: str, sources: dict[str | None, int], tmp_path: Path
) -> None:
    records = of(Record, read(store_of(name, tmp_path)))
    assert Counter(record.draft.source for record in records) == sources


def test_robotmem_rows_become_states_and_events(tmp_path: Path) -> None:
    items = read(store_of("robotmem", tmp_path))
    fact, event = of(Record, items)[0].draft, of(Record, items)[-1].draft
    assert (fact.kind, fact.category, fact.tags) == (None, "config", ["config"])
    assert fact.confidence == pytest.approx(0.85)
    assert fact.attributes == {
        "robotmem_collection": "bench-0",
        "context": {"source": "learn_tool", "task": {"success": True}},
    }
    assert fact.created_time == datetime(2026, 3, 1, 9, 1, tzinfo=UTC)
    assert (event.kind, event.perception_type) == ("event", "tactile")
    assert event.attributes == {
        "perception_data": {"force_n": [0.0, 12.5]},
        "perception_metadata": {"sensor": "left"},
    }
    assert items[-1] == Skipped("memories row 10", Reason.DELETED, "status invalidated")


def test_ego_mcp_folder_becomes_memories_links_and_episodes(tmp_path: Path) -> None:
    items = read(store_of("ego-mcp", tmp_path))
    found = of(Record, items)
    draft = found[0].draft
    assert (draft.emotion, draft.importance, draft.category) == ("curious", 4, "technical")
    assert draft.tags == ["setup", "node"]
    assert draft.attributes is not None
    assert draft.attributes["body_state"] == {"time_phase": "morning"}
    assert draft.created_time == datetime(2026, 3, 1, 9, tzinfo=UTC)
    assert [item.draft.private for item in found] == [None] * 8 + [True]
    assert all("cheese" not in item.draft.content for item in found)
    (episode,) = of(Episode, items)
    assert (episode.summary, episode.importance) == ("Set up the backup.", 4)
    assert episode.memory_ids == (found[3].id, found[5].id)
    assert {edge.type for edge in of(Edge, items)} == {LinkType.RELATED, LinkType.CAUSED_BY}


def test_claude_code_front_matter_holds_blocks_and_names_what_it_cannot_read(
    tmp_path: Path,
) -> None:
    page = "---\nname: 'it''s x'\ndescription: >-\n  one\n  two\ntags:\n  - a\n---\n\n"
    items = read(written(tmp_path / "page.md", page), "claude-code")
    (item,) = items
    assert (item.draft.content, item.left_out) == ("one two", ("front matter",))
    assert item.draft.attributes == {"name": "it's x", "description": "one two"}


def test_claude_code_bullets_of_other_pages_of_a_project_are_none(tmp_path: Path) -> None:
    (tmp_path / "CLAUDE.md").write_text("- Run `make test`.\n")
    (tmp_path / "README.md").write_text("- A feature.\n")
    items = read(tmp_path, bullets=True)
    assert [item.draft.content for item in of(Record, items)] == ["Run `make test`."]
    (tmp_path / "memory").mkdir()
    assert len(read(tmp_path, bullets=True)) == 1


# -- databases


def test_database_is_read_without_a_trace(tmp_path: Path) -> None:
    path = store_of("robotmem", tmp_path)
    before = path.read_bytes(), path.stat().st_mtime_ns
    read(path)
    assert (path.read_bytes(), path.stat().st_mtime_ns) == before
    assert [file.name for file in tmp_path.iterdir()] == ["memory.db"]


@pytest.mark.parametrize("name", ["robotmem", "mcp-memory-service"])
def test_database_with_a_log_loses_nothing_of_it(name: str, tmp_path: Path) -> None:
    path = store_of(name, tmp_path)
    count = len(of(Record, read(path)))
    columns = "content, content_hash, created_at"
    insert = f"INSERT INTO memories ({columns}) VALUES ('The newest.', 'h', '2026-03-01')"
    with changed(path, "PRAGMA journal_mode=WAL", insert):
        log = path.with_name(path.name + "-wal")
        assert log.stat().st_size > 0
        before = path.read_bytes(), log.read_bytes()
        found = of(Record, read(path))
        assert (path.read_bytes(), log.read_bytes()) == before
    assert len(found) == count + 1
    assert found[-1].draft.content == "The newest."


def test_database_of_a_program_that_died_is_read_without_its_last_change(tmp_path: Path) -> None:
    path, source = tmp_path / "memory.db", store_of("robotmem", tmp_path)
    dying = sqlite3.connect(source, isolation_level=None)
    dying.execute("PRAGMA cache_size = 1")
    dying.execute("BEGIN")
    dying.execute("UPDATE memories SET content = 'half ' || content")
    dying.execute("CREATE TABLE filler AS SELECT zeroblob(100000)")
    left = tmp_path / "left"
    left.mkdir()
    for name in ("memory.db", "memory.db-journal"):
        shutil.copy(tmp_path / name, left / name)
    dying.close()
    assert (left / "memory.db").read_bytes() != path.read_bytes()
    found = [item.draft.content for item in of(Record, read(left, "robotmem"))]
    assert found == [item.draft.content for item in of(Record, read(path))]


def test_database_written_while_it_is_read_is_refused(tmp_path: Path) -> None:
    path = store_of("robotmem", tmp_path)
    with pytest.raises(ValueError, match="another program wrote"), opened(path) as database:
        database.execute("SELECT count(*) FROM memories").fetchone()
        with changed(path, "UPDATE memories SET confidence = 0.1"):
            pass


@pytest.mark.parametrize(
    ("name", "statement", "words"),
    [
        ("robotmem", "PRAGMA user_version = 1", "unknown schema version: got 1, allowed: 0"),
        ("robotmem", "ALTER TABLE memories DROP COLUMN scope", "memories lacks scope"),
        (
            "mcp-memory-service",
            "UPDATE metadata SET value = '20' WHERE key = 'schema_version'",
            "unknown schema version: got '20', allowed: up to 19",
        ),
        (
            "ego-mcp",
            "INSERT INTO migrations VALUES ('metadb', 7, 'x', 'x', 'x')",
            "unknown schema version: got metadb 7, allowed: up to 6",
        ),
        (
            "ego-mcp",
            "UPDATE max_seq_id SET seq_id = seq_id - 1",
            "Chroma has 1 writes that it has not applied",
        ),
        ("ego-mcp", "DROP TABLE embedding_metadata", "embedding_metadata lacks"),
    ],
)
def test_database_of_another_schema_is_refused(
    name: str, statement: str, words: str, tmp_path: Path
) -> None:
    path = store_of(name, tmp_path)
    file = path / "chroma" / "chroma.sqlite3" if path.is_dir() else path
    with changed(file, statement):
        pass
    with pytest.raises(ValueError, match=words):
        read(path, name)


@pytest.mark.parametrize("name", ["robotmem", "mcp-memory-service", "ego-mcp"])
def test_file_that_is_no_database_is_refused(name: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="not a SQLite database"):
        read(written(tmp_path / "a.db", "no database"), name)
    with pytest.raises(ValueError, match="the file is empty"):
        read(written(tmp_path / "b.db", ""), name)
    with pytest.raises(ValueError, match="cannot be read"):
        read(written(tmp_path / "c.db", b"SQLite format 3\0" + b"\1" * 4096), name)


def test_database_cut_in_the_middle_is_refused(tmp_path: Path) -> None:
    path = store_of("robotmem", tmp_path)
    path.write_bytes(path.read_bytes()[: 4096 * 3])
    with pytest.raises(ValueError, match="cannot be read"):
        read(path, "robotmem")


def test_bytes_in_a_row_are_left_out_by_name(tmp_path: Path) -> None:
    path = store_of("robotmem", tmp_path)
    with changed(path, "UPDATE memories SET perception_data = x'00ff' WHERE id = 9"):
        pass
    event = of(Record, read(path))[-1]
    assert event.left_out == ("perception_data",)
    assert event.draft.attributes == {"perception_metadata": {"sensor": "left"}}


def test_text_of_a_row_that_is_no_utf8_costs_that_row_alone(tmp_path: Path) -> None:
    path = store_of("robotmem", tmp_path)
    with changed(path, "UPDATE memories SET content = CAST(x'ff41' AS TEXT) WHERE id = 1"):
        pass
    assert len(of(Record, read(path))) == 9


def test_row_that_is_too_long_or_no_text_is_skipped_and_the_rest_goes_on(tmp_path: Path) -> None:
    path = store_of("robotmem", tmp_path)
    with changed(
        path,
        f"UPDATE memories SET content = printf('%.{TEXT_BYTES_MAX + 1}c', 'a') WHERE id = 1",
        f"UPDATE memories SET content = printf('%.{RECORD_BYTES_MAX + 1}c', 'a') WHERE id = 2",
        f"UPDATE memories SET context = printf('%.{RECORD_BYTES_MAX + 1}c', 'a') WHERE id = 3",
        "UPDATE memories SET content = ' ' WHERE id = 4",
        "UPDATE memories SET context = printf('%.20000c', 'a') WHERE id = 5",
    ):
        pass
    items = read(path)
    skipped = {item.where: item.reason for item in of(Skipped, items)}
    assert skipped["memories row 1"] == skipped["memories row 2"] == Reason.TOO_LONG
    assert skipped["memories row 4"] == Reason.NO_TEXT
    found = {item.where: item for item in of(Record, items)}
    assert found["memories row 3"].left_out == found["memories row 5"].left_out == ("context",)
    assert len(found) == 6


# -- JSON


def test_torn_line_is_skipped_and_the_rest_goes_on(tmp_path: Path) -> None:
    entity = {"type": "entity", "name": "A", "entityType": "x", "observations": ["one"]}
    good = json.dumps(entity)
    lines = [
        good.encode(),
        good[:30].encode(),
        (good + good[:40]).encode(),
        b'{"type":"entity","name":"\xff"}',
        b'{"type":"note"}',
        b'{"type":"entity","name":"A","observations":"x"}',
        b'{"type":"entity","name":"A","observations":[7, {"content": "two"}]}',
        b"",
        good.replace("one", "a" * RECORD_BYTES_MAX).encode(),
        good.replace("one", "three").encode(),
    ]
    items = read(written(tmp_path / "memory.jsonl", b"\n".join(lines)))
    assert [item.draft.content for item in of(Record, items)] == [
        "A: one",
        "A: one",
        "A: two",
        "A: three",
    ]
    assert [(item.where, item.reason) for item in of(Skipped, items)] == [
        ("line 2", Reason.DAMAGED),
        ("line 3", Reason.DAMAGED),
        ("line 4", Reason.DAMAGED),
        ("line 5", Reason.DAMAGED),
        ("line 6", Reason.DAMAGED),
        ("line 7", Reason.DAMAGED),
        ("line 9", Reason.TOO_LARGE),
    ]


@pytest.mark.parametrize(
    ("text", "count", "detail"),
    [
        ('{"results": [{"id": "1", "memory": "é"}, {"id": "2", "mem', 1, "ends in the middle"),
        ('{"results": [{"id": "1", "memory": "é"}', 1, "ends in the middle"),
        ('{"results": [{"id": "1", "memory": "é"} {"id": 2}]}' + " " * 99, 1, "allowed here: , ]"),
        ('[{"id": "1", "memory": "é"}, {"id" 2}]' + " " * 99, 1, "':' delimiter"),
        ('[{"id": "1", "memory": "é"}, ' + "[" * 9999 + "]" * 9999 + "]", 1, "nested too deeply"),
        ('{"results": [], "next": "?page=2"}', 0, "one page of several"),
    ],
)
def test_list_that_is_damaged_keeps_what_stands_before(
    text: str, count: int, detail: str, tmp_path: Path
) -> None:
    items = read(written(tmp_path / "m.json", text), "mem0")
    assert len(of(Record, items)) == count
    (skipped,) = of(Skipped, items)
    assert skipped.reason == Reason.DAMAGED and detail in skipped.detail


def test_list_is_read_across_pieces_whatever_is_cut(tmp_path: Path) -> None:
    rows = [{"id": number, "memory": f"{number} 把持力 " + "é" * 700} for number in range(400)]
    text = json.dumps({"count": 1234567, "results": rows}, ensure_ascii=False)
    items = read(written(tmp_path / "m.json", text))
    assert [item.draft.content for item in items] == [row["memory"] for row in rows]


def test_export_of_another_version_is_refused(tmp_path: Path) -> None:
    text = (FIXTURES / "mcp_memory_service.json").read_text("utf-8")
    path = written(tmp_path / "e.json", text.replace('"5.0.1"', '"6.0.0"'))
    with pytest.raises(ValueError, match=r"unknown exporter version: got '6.0.0', allowed: 5.x"):
        read(path)


def test_auto_knows_a_graph_whose_first_line_is_long(tmp_path: Path) -> None:
    entity = {"type": "entity", "name": "A", "observations": ["x" * 999] * 200}
    path = written(tmp_path / "memory.jsonl", json.dumps(entity))
    assert source_of("auto", path).name == "mcp-memory"


# -- detection


def test_auto_says_what_it_looked_for(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("x")
    for path in (tmp_path, tmp_path / "notes.txt"):
        with pytest.raises(ValueError, match="no known store is there") as caught:
            source_of("auto", path)
        for source in SOURCES.values():
            assert f"{source.name}: {source.looks_for}" in str(caught.value)


def test_path_that_is_not_there_or_empty_is_refused(tmp_path: Path) -> None:
    for name in ("auto", *SOURCES):
        with pytest.raises(ValueError, match="No such file"):
            source_of(name, tmp_path / "nothing")
    with pytest.raises(ValueError, match="the file is empty"):
        source_of("auto", written(tmp_path / "a.json", ""))
    with pytest.raises(ValueError, match="allowed: auto, claude-code, claude-agents, codex"):
        source_of("zep", tmp_path)


def test_path_that_fits_several_is_refused(tmp_path: Path) -> None:
    store_of("robotmem", tmp_path)
    (tmp_path / "MEMORY.md").write_text("- x\n")
    with pytest.raises(ValueError, match=r"fits several.*claude-code, robotmem"):
        source_of("auto", tmp_path)


# -- fields and staging


def test_limits_are_those_of_the_daemon() -> None:
    assert records.TEXT_BYTES_MAX == limits.CONTENT_BYTES_MAX
    assert records.LABEL_BYTES_MAX == limits.NAME_BYTES_MAX
    assert records.ATTRIBUTES_BYTES_MAX == limits.ATTRIBUTES_BYTES_MAX
    assert records.ATTRIBUTES_DEPTH_MAX < limits.STRUCT_DEPTH_MAX
    assert records.TAGS_MAX == limits.TAGS_PER_MEMORY_MAX
    assert records.ENTITIES_MAX == limits.ENTITIES_PER_MEMORY_MAX
    assert importing.EXTERNAL_ID_BYTES_MAX == limits.EXTERNAL_ID_BYTES_MAX
    assert importing.EPISODE_MEMORIES_MAX == limits.IDS_PER_REQUEST_MAX
    assert importing.READ_AT_ONCE <= limits.IDS_PER_REQUEST_MAX
    page = (FIXTURES.parents[2] / "docs" / "limits.md").read_text("utf-8")
    own = {**vars(records), **vars(importing), **vars(report)}
    for name in ("RECORD_BYTES_MAX", "READ_AT_ONCE", "EPISODE_MEMORIES_MAX"):
        assert f"| `{name}` | {own[name]} |" in page
    for name in ("CONTRADICTIONS_SHOWN_MAX", "SKIPPED_SHOWN_MAX"):
        assert f"| `{name}` | {own[name]} |" in page


def test_fields_without_room_are_left_out_by_name() -> None:
    fields = records.Fields()
    assert fields.label("a", "x" * 257) is None
    assert fields.labels("b", ["x", "x", "", "y", "z"], 2) == ["x", "y"]
    assert fields.number("c", 7, 1, 5) is None
    assert fields.moment("d", "soon") is None
    assert fields.moment("e", "2999-01-01") is None
    assert fields.moment("f", 1e300) is None
    deep: Any = 1
    for _ in range(20):
        deep = [deep]
    kept = fields.attributes({"g": "x" * 20_000, "h": 2**60, "i": float("nan"), "j": deep})
    assert (kept["h"], kept["i"]) == (str(2**60), "nan")
    assert "g" not in kept and isinstance(kept["j"], list)
    assert fields.left_out == ["a", "b", "c", "d", "e", "f", "g"]


def test_staging_gives_the_oldest_first_and_joins_links() -> None:
    def made(name: str, hour: int | None, *aliases: str) -> Record:
        time = None if hour is None else datetime(2026, 3, 1, hour, tzinfo=UTC)
        return Record(name, name, Draft(name, created_time=time), aliases)

    with Staging() as staging:
        for record in (made("c", 9), made("a", 8, "alias"), made("u", None), made("d", 9, "alias")):
            staging.add(record)
        found = list(staging.records())
        assert [record.id for record in found] == ["u", "a", "c", "d"]
        for record in found:
            staging.became(record, f"mem_{record.id}")
        for edge in (
            Edge("c", "alias"),
            Edge("a", "c"),  # the same link from its other end, by another name
            Edge("c", "a", LinkType.CAUSED_BY),
            Edge("d", "u", LinkType.CAUSES),
            Edge("u", "d", LinkType.CAUSES),
            Edge("c", "gone"),
        ):
            staging.add(edge)
        pairs = {(pair.source_id, pair.target_id, str(pair.type)) for pair in staging.pairs()}
        assert pairs == {
            ("mem_a", "mem_c", "related"),
            ("mem_a", "mem_c", "causes"),
            ("mem_d", "mem_u", "related"),
        }


def test_ten_megabytes_are_read_in_bounded_memory(tmp_path: Path) -> None:
    path = tmp_path / "memory.jsonl"
    with path.open("w") as file:
        for number in range(2_000):
            text = f"Fact {number} of many. " + "x" * 5000
            entity = {"type": "entity", "name": f"E{number}", "observations": [text]}
            file.write(json.dumps(entity) + "\n")
    assert path.stat().st_size > 10_000_000
    tracemalloc.start()
    try:
        with Staging() as staging:
            for item in SOURCES["mcp-memory"].read(path, ReadOptions()):
                assert isinstance(item, Record)
                staging.add(item)
            count = sum(1 for _ in staging.records())
        peak_bytes = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert count == 2_000
    assert peak_bytes < 2_000_000
