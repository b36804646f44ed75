"""`totonoe import --from`: stores of other programs, through the guard of a real daemon."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from support.likelihood import Likelihood
from support.scripted import fail, scripted
from support.stores import changed, store_of
from totonoe import Client
from totonoe.cli.main import app
from totonoe.importers.detection import SOURCES
from totonoe.importers.records import TEXT_BYTES_MAX, Reason
from totonoe.v1 import memory_service_pb2 as pb
from totonoe_server.tools.testing import RunningServer

PAGE = Path(__file__).parents[2] / "docs" / "import.md"
# read, saved, refused as equal, updates, contradictions, links, episodes
FIGURES = {
    "claude-code": (4, 2, 0, 0, 0, 1, 0),
    "claude-agents": (6, 5, 0, 0, 0, 0, 0),
    "codex": (11, 8, 1, 0, 0, 0, 0),
    "anthropic-memory": (6, 4, 0, 0, 0, 0, 0),
    "basic-memory": (6, 5, 1, 0, 0, 3, 0),
    "mempalace": (5, 3, 1, 0, 0, 0, 0),
    "mcp-memory": (9, 8, 1, 1, 0, 4, 0),
    "mcp-memory-service": (9, 7, 1, 1, 1, 2, 0),
    "mem0": (8, 7, 1, 1, 1, 0, 0),
    "robotmem": (10, 8, 1, 1, 1, 0, 0),
    "ego-mcp": (9, 8, 1, 1, 1, 2, 1),
}


@pytest.fixture
def client(server: RunningServer, collection: str) -> Iterator[Client]:
    with Client(server.address, agent_id="mia", collection=collection) as made:
        yield made


@pytest.fixture
def run(server: RunningServer, collection: str) -> Callable[..., Result]:
    def invoke(*arguments: str, agent: str = "mia") -> Result:
        place = ["--address", server.address, "--collection", collection]
        who = ["--agent", agent] if agent else []
        return CliRunner().invoke(app, [*place, *who, "import", *arguments])

    return invoke


@pytest.fixture
def report(run: Callable[..., Result]) -> Callable[..., dict[str, Any]]:
    def invoke(*arguments: str, code: int = 0, **options: Any) -> dict[str, Any]:
        source = () if "--from" in arguments else ("--from", "auto")
        result = run(*arguments, *source, "--json", **options)
        assert result.exit_code == code, result.output
        answer: dict[str, Any] = json.loads(result.stdout)
        return answer

    return invoke


def revision_of(client: Client) -> int:
    return client.list(page_size=1).revision


def mem0_file(path: Path, *texts: str, ids: str = "abcdefghijkl") -> str:
    rows = [{"id": ids[n], "memory": text} for n, text in enumerate(texts)]
    path.write_text(json.dumps({"results": rows}))
    return str(path)


# -- each source


@pytest.mark.parametrize("name", SOURCES)
def test_store_is_saved_through_the_guard_and_a_second_run_saves_nothing(
    name: str, report: Callable[..., dict[str, Any]], client: Client, tmp_path: Path
) -> None:
    path = str(store_of(name, tmp_path))
    first = report(path, "--from", name)
    counts = ("read", "saved", "duplicate", "update", "contradiction", "link", "episode")
    assert tuple(first[f"{count}_count"] for count in counts) == FIGURES[name]
    assert first["duplicate_counts"] == ({"exact": 1} if FIGURES[name][2] else {})
    assert (first["from"], first["fault_count"], first["existing_count"]) == (name, 0, 0)
    for memory in client.list_all():
        assert memory.external_id.startswith(f"{name}:")
    before = revision_of(client)

    second = report(path, "--from", name)
    assert (second["saved_count"], second["existing_count"]) == (0, first["saved_count"])
    assert second["duplicate_counts"] == first["duplicate_counts"]
    assert (second["link_count"], second["episode_count"]) == (0, 0)
    assert second["link_existing_count"] == first["link_count"]
    assert revision_of(client) == before


def test_earlier_versions_are_kept_as_superseded(
    report: Callable[..., dict[str, Any]], client: Client, tmp_path: Path
) -> None:
    report(str(store_of("anthropic-memory", tmp_path)))
    ids = [f"ext:anthropic-memory:{name}" for name in ("memver_11", "memver_15", "mem_1")]
    first, second, now = client.get_many(ids).memories
    assert (first.superseded_by, second.superseded_by) == (second.id, now.id)
    hits = [hit.memory.content for hit in client.recall("staging database port").hits]
    assert hits[0] == "The staging database listens on port 5433."
    assert not any("5432" in text or "6000" in text for text in hits)


@pytest.mark.parametrize("name", SOURCES)
def test_dry_run_foresees_and_writes_nothing(
    name: str, report: Callable[..., dict[str, Any]], client: Client, tmp_path: Path
) -> None:
    path = str(store_of(name, tmp_path))
    answer = report(path, "--dry-run")
    assert (answer["saved_count"], answer["duplicate_count"]) == FIGURES[name][1:3]
    assert answer["repeated_count"] == FIGURES[name][2]
    assert revision_of(client) == 0
    assert report(path)["saved_count"] == FIGURES[name][1]
    again = report(path, "--dry-run")
    assert (again["saved_count"], again["existing_count"]) == (0, FIGURES[name][1])


def test_links_and_episodes_lead_to_the_saved_memories(
    report: Callable[..., dict[str, Any]], client: Client, tmp_path: Path
) -> None:
    report(str(store_of("ego-mcp", tmp_path)))
    texts = {memory.content: memory for memory in client.list_all()}
    port = texts["The staging database listens on port 5433."]
    node = texts["The deploy script needs Node 20."]
    assert any(link.target_id == node.id for link in port.links)
    # The source has lost the direction of this one.
    new = texts["The staging database listens on port 5434."]
    backup = texts["The nightly backup is enabled."]
    (link,) = [link for link in new.links if link.target_id == backup.id]
    assert (str(link.type), link.note) == ("related", "causes")
    (episode,) = client.list_episodes().episodes
    assert episode.memory_ids == (backup.id, texts["把持力は12.5Nに設定する。"].id)
    assert texts["I felt seen when Mia laughed."].private


def test_link_to_a_refused_record_leads_to_the_memory_that_says_it(
    report: Callable[..., dict[str, Any]], client: Client, tmp_path: Path
) -> None:
    path = tmp_path / "memory.jsonl"
    observations = ["The port is 5433.", "The  port is 5433."]
    graph = [
        {"type": "entity", "name": "db", "entityType": "service", "observations": observations},
        {"type": "relation", "from": "db", "to": "nobody", "relationType": "fears"},
    ]
    path.write_text("\n".join(map(json.dumps, graph)))
    assert report(str(path))["link_count"] == 1
    relation, fact = sorted(client.list_all(), key=lambda memory: str(memory.state_kind))[::-1]
    assert fact.links[0].target_id == relation.id


# -- the report


def test_contradictions_show_both_texts_whole(
    report: Callable[..., dict[str, Any]], tmp_path: Path
) -> None:
    long = "The nightly backup of the staging database in room twelve " + "near the door " * 9
    file = mem0_file(tmp_path / "m.json", f"{long}is enabled.", f"{long}is disabled.")
    answer = report(file)
    (found,) = answer["contradictions"]
    assert (found["text"], found["other_text"]) == (f"{long}is disabled.", f"{long}is enabled.")
    assert answer["contradiction_count"] == 1


def test_report_on_a_terminal_names_each_figure(run: Callable[..., Result], tmp_path: Path) -> None:
    result = run(str(store_of("mcp-memory-service", tmp_path)), "--from", "auto")
    assert result.exit_code == 0
    words = [" ".join(line.replace("│", " ").split()) for line in result.stdout.splitlines()]
    assert words[0].startswith("from mcp-memory-service: ")
    assert "read 9" in words and "saved 7" in words and "refused: exact 1" in words
    assert "skipped: deleted in the source 1" in words and "links made 2" in words
    assert "contradiction, memories row 5: The nightly backup is disabled." in words
    assert any(word.endswith(": The nightly backup is enabled.") for word in words)


def test_newer_memory_updates_the_older_whatever_the_order_of_the_file(
    report: Callable[..., dict[str, Any]], client: Client, tmp_path: Path
) -> None:
    rows = [
        {"id": "b", "memory": "The port is 5434.", "created_at": "2026-02-02T00:00:00Z"},
        {"id": "a", "memory": "The port is 5433.", "created_at": "2026-01-01T00:00:00Z"},
    ]
    (tmp_path / "m.json").write_text(json.dumps(rows))
    assert report(str(tmp_path / "m.json"))["update_count"] == 1
    newer = client.get("ext:mem0:b")
    assert [str(link.type) for link in newer.links if link.type != "related"] == ["updates"]


def test_questions_are_counted(
    report: Callable[..., dict[str, Any]],
    client: Client,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    texts = ("The team eats lunch at noon.", "The team eats its lunch at noon.")
    Likelihood(monkeypatch).say(*texts, 0.86)
    answer = report(mem0_file(tmp_path / "m.json", *texts))
    assert answer["question_count"] == len(client.list_questions().questions) == 1


def test_force_saves_what_the_guard_would_refuse(
    report: Callable[..., dict[str, Any]], tmp_path: Path
) -> None:
    path = str(store_of("mem0", tmp_path))
    assert report(path, "--force", "--dry-run")["saved_count"] == 8
    assert report(path, "--force")["saved_count"] == 8


# -- what is not saved


def test_record_whose_id_holds_another_text_is_reported(
    report: Callable[..., dict[str, Any]], tmp_path: Path
) -> None:
    report(mem0_file(tmp_path / "m.json", "The port is 5433.", "Tea is served at four."))
    file = mem0_file(tmp_path / "m.json", "The port is 5434.", "Tea is served at four.")
    for options in (["--dry-run"], []):
        answer = report(file, *options, code=1)
        assert answer["skipped_counts"] == {str(Reason.OTHER_TEXT): 1}
        assert answer["existing_count"] == 1


def test_private_memory_needs_an_owner(
    report: Callable[..., dict[str, Any]], tmp_path: Path
) -> None:
    answer = report(str(store_of("ego-mcp", tmp_path)), agent="", code=1)
    assert answer["skipped_counts"] == {str(Reason.PRIVATE): 1}
    assert answer["saved_count"] == 7


def test_faulty_records_end_in_1_and_the_rest_is_saved(
    report: Callable[..., dict[str, Any]], run: Callable[..., Result], tmp_path: Path
) -> None:
    long, nul = "a" * (TEXT_BYTES_MAX + 1), "a\0b"
    file = mem0_file(tmp_path / "m.json", long, nul, "\ud800", "", "Tea is served at four.")
    answer = report(file, code=1)
    assert answer["saved_count"] == 1
    assert answer["skipped_counts"] == {
        str(Reason.TOO_LONG): 1,
        str(Reason.REFUSED): 1,
        str(Reason.DAMAGED): 1,
        str(Reason.NO_TEXT): 1,
    }
    # No detail quotes a text.
    assert "\\ud800" not in json.dumps(answer) and "a\\u0000b" not in json.dumps(answer)
    assert [item["where"] for item in answer["skipped"]] == [
        "results 1",
        "results 3",
        "results 4",
        "results 2",
    ]
    printed = run(file, "--from", "mem0").stdout
    assert "skipped, results 1: text over 32,768 bytes" in printed


def test_torn_line_is_skipped_and_counted(
    report: Callable[..., dict[str, Any]], tmp_path: Path
) -> None:
    path = store_of("mcp-memory", tmp_path)
    path.write_text(path.read_text("utf-8")[:-10], "utf-8")
    answer = report(str(path), code=1)
    assert (answer["saved_count"], answer["skipped_counts"]) == (7, {str(Reason.DAMAGED): 1})
    assert answer["skipped"][0]["where"] == "line 5"


def test_store_that_cannot_be_read_to_its_end_changes_nothing(
    run: Callable[..., Result], client: Client, tmp_path: Path
) -> None:
    path = store_of("ego-mcp", tmp_path)
    database = path / "chroma" / "chroma.sqlite3"
    episodes = "SELECT id FROM collections WHERE name = 'ego_episodes'"
    segment = f"SELECT id FROM segments WHERE scope = 'METADATA' AND collection = ({episodes})"
    with changed(database, f"DELETE FROM max_seq_id WHERE segment_id = ({segment})"):
        pass
    result = run(str(path), "--from", "ego-mcp")
    assert result.exit_code == 2
    assert "Chroma has 1 writes" in " ".join(result.stderr.replace("│", " ").split())
    assert revision_of(client) == 0


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["nowhere", "--from", "auto"], "No such file or directory"),
        (["nowhere", "--from", "zep"], "got 'zep', allowed: auto, claude-code"),
        (["--from", "zep"], "got 'zep', allowed: auto, claude-code"),
        (["-", "--from", "mem0"], "allowed: with a path"),
        (["x", "--from", "mem0", "--as-is"], "allowed: with a path"),
        (["x", "--from", "mem0", "--level", "turn"], "allowed: with a path"),
        (["x", "--from", "mem0", "--bullets"], "--bullets: allowed"),
        (["x", "--bullets"], "--bullets: allowed"),
    ],
)
def test_command_line_that_is_wrong_ends_in_2(
    run: Callable[..., Result], arguments: list[str], words: str
) -> None:
    result = run(*arguments)
    assert result.exit_code == 2
    assert words in " ".join(result.stderr.replace("│", " ").split())


def test_collection_that_is_not_there_ends_the_import(
    server: RunningServer, tmp_path: Path
) -> None:
    path = str(store_of("mem0", tmp_path))
    options = ["--address", server.address, "--collection", "nowhere", "--json"]
    result = CliRunner().invoke(app, [*options, "import", path, "--from", "mem0"])
    assert result.exit_code == 1
    answer = json.loads(result.stdout)
    assert answer["error"]["reason"] == "COLLECTION_NOT_FOUND"
    assert (answer["saved_count"], answer["skipped_count"]) == (0, 0)


def test_daemon_that_fails_leaves_what_was_done_in_the_report(tmp_path: Path) -> None:
    def get(request: pb.GetRequest, _: Any) -> pb.GetResponse:
        return pb.GetResponse(missing_ids=request.ids)

    def one_message_only(requests: Any, context: Any) -> Iterator[pb.RememberManyResponse]:
        for number, message in enumerate(requests):
            if number:
                fail(context, "DATA_LOSS", "CORRUPT_ROW", "row broken")
            saved = pb.RememberResponse(saved=True, memory_id="mem_1")
            results = [pb.RememberManyResult(answer=saved) for _ in message.items]
            yield pb.RememberManyResponse(results=results)

    rows = [{"id": str(number), "memory": f"Fact {number}."} for number in range(200)]
    (tmp_path / "m.json").write_text(json.dumps(rows))
    with scripted(Get=get, RememberMany=one_message_only) as address:
        arguments = ["--address", address, "import", str(tmp_path / "m.json"), "--from", "mem0"]
        result = CliRunner().invoke(app, arguments)
    assert result.exit_code == 1
    assert "saved" in result.stdout and "64" in result.stdout
    assert "row broken (CORRUPT_ROW)" in result.stderr
    assert "Run the same command again" in result.stderr


# -- the page


def test_page_names_each_source_reason_and_figure(
    report: Callable[..., dict[str, Any]], tmp_path: Path
) -> None:
    page = PAGE.read_text("utf-8")
    for name in SOURCES:
        assert f"\n## {name}\n" in page, name
        assert f"--from {name}" in page, name
    for reason in Reason:
        assert f"| {reason} |" in page, reason
    for field in report(str(store_of("mem0", tmp_path))):
        assert f"`{field}`" in page, field
    assert "[docs/import.md](docs/import.md)" in (PAGE.parents[1] / "README.md").read_text("utf-8")
