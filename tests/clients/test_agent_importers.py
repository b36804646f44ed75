"""Readers of the folders that today's agents keep: what becomes of a page, and bad ones."""

from __future__ import annotations

import json
import os
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from support import agent_stores
from support.stores import store_of
from totonoe.enums import LinkType
from totonoe.importers import anthropic_memory, folders
from totonoe.importers.detection import SOURCES, place_of
from totonoe.importers.records import Edge, ReadOptions, Reason, Record, Skipped, Span

MARKDOWN = ("claude-agents", "codex", "basic-memory")


def read(name: str, path: Path) -> list[Any]:
    return list(SOURCES[name].read(path, ReadOptions()))


def records(items: list[Any]) -> dict[str, Record]:
    return {item.draft.content: item for item in items if isinstance(item, Record)}


def skipped(items: list[Any]) -> list[tuple[str, Reason]]:
    return [(item.where, item.reason) for item in items if isinstance(item, Skipped)]


# -- Claude Code's agents


def test_claude_agents_pages_are_memories_of_their_agent(tmp_path: Path) -> None:
    items = read("claude-agents", store_of("claude-agents", tmp_path))
    found = records(items)
    page = found["The staging database listens on port 5433."]
    assert (page.draft.agent_id, page.draft.category) == ("reviewer", "reference")
    assert page.draft.attributes == {
        "name": "ports",
        "description": "what listens where",
        "scope": "project",
    }
    style = found["The team prefers small commits\nwith a reason in the body."]
    assert style.span == Span(".claude/agent-memory/reviewer/MEMORY.md", 9, 10)
    assert (style.draft.attributes or {})["heading"] == "Style"
    local = found["The tests take eleven minutes."]
    assert (local.draft.agent_id, (local.draft.attributes or {})["scope"]) == ("tester", "local")
    assert skipped(items) == [(".claude/agent-memory/reviewer/MEMORY.md line 3", Reason.INDEX)]


def test_claude_agents_of_the_user_are_found_by_the_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path / "config"))
    folder = tmp_path / "config" / "agent-memory" / "writer"
    folder.mkdir(parents=True)
    (folder / "MEMORY.md").write_text("- Mia drinks tea.\n")
    (record,) = records(read("claude-agents", place_of("claude-agents"))).values()
    assert (record.draft.agent_id, (record.draft.attributes or {})["scope"]) == ("writer", "user")
    (same,) = records(read("claude-agents", folder)).values()
    assert (same.id, same.draft.agent_id) == (record.id, "writer")


# -- Codex


def test_codex_handbook_becomes_memories_with_the_place_they_hold_for(tmp_path: Path) -> None:
    items = read("codex", store_of("codex", tmp_path))
    found = records(items)
    port = found["The staging database listens on port 5433."]
    assert port.draft.category == "Reusable knowledge"
    assert port.draft.created_time == datetime(2026, 3, 1, 9, 30, tzinfo=UTC)
    assert port.draft.attributes == {
        "task_group": "shop/deploy",
        "scope": "Deploys of the shop.",
        "applies_to": "cwd=/home/mia/shop; reuse_rule=checkout-specific",
        "tasks": "[Task 1]",
    }
    session = found[
        "# Moved the staging database\n\nThe port of staging was taken, so it was moved."
    ]
    assert (session.draft.kind, session.draft.session_id) == (
        "event",
        "019c6e27-e55b-73d1-87d8-4e01f1f75043",
    )
    assert not any("postgres" in text or "rollout" in text for text in found)
    assert (("raw_memories.md", Reason.DERIVED)) in skipped(items)


def test_codex_home_moves_the_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CODEX_HOME", str(tmp_path))
    store_of("codex", tmp_path)
    assert place_of("codex") == tmp_path / "memories"
    ids = [record.id for record in records(read("codex", tmp_path)).values()]
    assert ids == [record.id for record in records(read("codex", place_of("codex"))).values()]


def test_codex_summary_of_another_version_is_named_with_its_line(tmp_path: Path) -> None:
    root = store_of("codex", tmp_path)
    (root / "memory_summary.md").write_text("v2\n\n## User Profile\n\nMia.\n")
    (fault,) = [item for item in read("codex", root) if getattr(item, "reason", "") == "damaged"]
    assert (fault.where, "allowed: a first line v1" in fault.detail) == (
        "memory_summary.md line 1",
        True,
    )


# -- basic-memory


def test_basic_memory_observations_and_relations_become_memories(tmp_path: Path) -> None:
    items = read("basic-memory", store_of("basic-memory", tmp_path))
    found = records(items)
    fact = found["Staging: The database listens on port 5433 #postgres"]
    assert (fact.draft.category, fact.draft.tags) == ("fact", ["postgres", "ops", "database"])
    assert (fact.draft.attributes or {})["context"] == "since spring"
    relation = found["Staging depends on Backup"]
    assert (relation.draft.state_kind, relation.draft.category) == ("relation", "depends_on")
    assert Edge(relation.id, "[[backup]]", LinkType.RELATED) in items
    prose = next(text for text in found if text.startswith("Staging\n\n"))
    assert "a task is no observation" in prose and "00:01:30" in prose


def test_what_a_note_says_twice_is_two_records(tmp_path: Path) -> None:
    items = read("basic-memory", store_of("basic-memory", tmp_path))
    twice = [item for item in items if getattr(item, "where", "").startswith("ops/Backup.md")]
    assert [item.draft.content for item in twice] == ["Backup: It runs at 02:00"] * 2
    assert twice[1].id == f"{twice[0].id}.2"


# -- Anthropic's memory stores


def test_anthropic_versions_are_a_chain_that_ends_in_the_memory(tmp_path: Path) -> None:
    items = read("anthropic-memory", store_of("anthropic-memory", tmp_path))
    by_id = {item.id: item for item in items if isinstance(item, Record)}
    assert by_id["mem_1"].replaces == "memver_15"
    assert by_id["memver_15"].replaces == "memver_11"
    assert by_id["memver_11"].replaces == ""
    assert by_id["mem_2"].replaces == ""
    reasons = [item.detail for item in items if isinstance(item, Skipped)]
    assert reasons == ["operation deleted", "redacted"]


@pytest.mark.parametrize("form", ["lines", "list", "answer"])
def test_anthropic_answers_are_read_in_each_form(form: str, tmp_path: Path) -> None:
    rows = agent_stores.anthropic_rows()
    both = [*rows["memories"], *rows["memory_versions"]]
    text = {
        "lines": "\n".join(map(json.dumps, both)),
        "list": json.dumps(both),
        "answer": json.dumps({"data": both, "next_page": None}),
    }[form]
    path = tmp_path / "store.json"
    path.write_text(text)
    whole = records(read("anthropic-memory", store_of("anthropic-memory", tmp_path / "..")))
    assert SOURCES["anthropic-memory"].fits(path)
    assert {record.id for record in records(read("anthropic-memory", path)).values()} == {
        record.id for record in whole.values()
    }


def test_anthropic_answer_without_texts_says_how_to_ask(tmp_path: Path) -> None:
    path = tmp_path / "store.json"
    row = agent_stores.anthropic_rows()["memories"][0] | {"content": None}
    path.write_text(json.dumps({"data": [row, {"type": "file"}], "next_page": "page_2"}))
    faults = [item for item in read("anthropic-memory", path) if isinstance(item, Skipped)]
    assert [fault.where for fault in faults] == ["data 1 (/ops/staging.md)", "data 2", "next_page"]
    assert "view=full" in faults[0].detail
    assert "allowed: type memory or memory_version" in faults[1].detail


def test_anthropic_versions_have_a_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(anthropic_memory, "VERSIONS_MAX", 2)
    with pytest.raises(ValueError, match="got more than 2 versions"):
        read("anthropic-memory", store_of("anthropic-memory", tmp_path))


# -- MemPalace


def test_mempalace_drawers_and_facts_become_memories(tmp_path: Path) -> None:
    items = read("mempalace", store_of("mempalace", tmp_path))
    found = records(items)
    tea = found["Mia drinks tea, no coffee."]
    assert (tea.draft.tags, tea.draft.category) == (["wing:shop", "room:team"], "team")
    assert tea.draft.created_time == datetime(2026, 3, 3, 9, tzinfo=UTC)
    fact = found["Mia runs the shop"]
    assert (fact.draft.state_kind, fact.draft.entities) == ("relation", ["Mia", "the shop"])
    assert skipped(items) == [("triples t1", Reason.EXPIRED)]


# -- nothing outside, and limits


@pytest.mark.parametrize("name", MARKDOWN)
def test_link_out_of_the_folder_is_named_and_not_followed(name: str, tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.mkdir()
    (secret / "key.md").write_text("---\ntitle: Key\npermalink: key\n---\n- [key] hunter2\n")
    root = store_of(name, tmp_path / "store")
    folder = root / ".claude" / "agent-memory" / "reviewer" if name == "claude-agents" else root
    (folder / "linked.md").symlink_to(secret / "key.md")
    (folder / "linked").symlink_to(secret)
    items = read(name, root)
    assert not any("hunter2" in text for text in records(items))
    links = [where for where, reason in skipped(items) if reason is Reason.LINK]
    assert [where.rpartition("/")[2] for where in links] == ["linked", "linked.md"]


def test_claude_code_link_out_of_the_folder_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "secret.md").write_text("---\nname: key\n---\nhunter2\n")
    folder = tmp_path / "project" / "memory"
    folder.mkdir(parents=True)
    (folder / "linked.md").symlink_to(tmp_path / "secret.md")
    assert skipped(read("claude-code", folder)) == [("memory/linked.md", Reason.LINK)]


def test_pipe_of_this_name_is_no_page(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.md")
    (item,) = folders.pages(tmp_path)
    assert isinstance(item, Skipped) and item.detail == "no file, allowed: a file"


def test_bytes_that_are_no_text_are_named_with_their_line(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_bytes(b"one\ntwo \xff\n")
    assert list(folders.pages(tmp_path)) == [Skipped("a.md line 2", Reason.DAMAGED, "no UTF-8")]


@pytest.mark.parametrize(
    ("limit", "value", "message"),
    [
        ("FILES_MAX", 2, "got more than 2 files"),
        ("FOLDER_BYTES_MAX", 10, "got more than 10 bytes"),
        ("DEPTH_MAX", 1, "got folders deeper than 1"),
    ],
)
def test_folder_over_a_limit_is_refused(
    limit: str, value: int, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a" / "b").mkdir(parents=True)
    for name in ("a/one.md", "a/b/two.md", "three.md"):
        (tmp_path / name).write_text("A text of some length.\n")
    assert len(list(folders.pages(tmp_path))) == 3
    monkeypatch.setattr(folders, limit, value)
    with pytest.raises(ValueError, match=message):
        list(folders.pages(tmp_path))


@pytest.mark.parametrize("name", ["claude-agents", "basic-memory"])
def test_front_matter_without_an_end_is_named_with_its_line(name: str, tmp_path: Path) -> None:
    root = tmp_path / "agent-memory" / "a" if name == "claude-agents" else tmp_path
    root.mkdir(parents=True, exist_ok=True)
    (root / "bad.md").write_text("---\ntitle: x\n- [fact] y\n")
    (item,) = read(name, root)
    assert item.where.endswith("bad.md line 1") and "allowed: a line ---" in item.detail
