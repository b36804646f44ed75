"""Anthropic's memory tool: the SDK's answers, on a collection, with lines that are guarded."""

from __future__ import annotations

import asyncio
import os
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from anthropic.lib.tools import ToolError
from anthropic.lib.tools._beta_builtin_memory_tool import (
    BetaAsyncLocalFilesystemMemoryTool,
    BetaLocalFilesystemMemoryTool,
)

from support.likelihood import Likelihood
from support.memory_commands import Commands, answer, difference
from totonoe import AsyncClient, Client, GuardPolicy
from totonoe.adapters.anthropic import (
    AsyncMemoryTool,
    MemoryTool,
    editing,
    files,
    lines,
    notes,
    paths,
)
from totonoe.errors import InvalidArgument, Unreachable
from totonoe.memories.models import Memory
from totonoe_server.tools.testing import RunningServer

COMMANDS, COMMANDS_SOAK = 500, 1_000
TEA, PORT = "Ann likes green tea in the morning.", "The staging database listens on port 5433."


@pytest.fixture
def client(server: RunningServer, collection: str) -> Iterator[Client]:
    with Client(server.address, agent_id="claude", collection=collection) as made:
        yield made


@pytest.fixture
def tool(client: Client) -> MemoryTool:
    return MemoryTool(client)


def do(tool: MemoryTool, command: str, path: str = "", **fields: Any) -> str:
    named = {"path": path} if path else {}
    return answer(lambda: tool.call({"command": command, **named, **fields}))


def create(tool: MemoryTool, path: str, text: str) -> str:
    return do(tool, "create", path, file_text=text)


def text_of(client: Client, path: str) -> str:
    return files.Entry.of(client.get(f"ext:file:{path}")).text or ""


def said(client: Client) -> dict[str, Memory]:
    """Live memories that are no files, by text."""
    return {memory.content: memory for memory in client.list_all() if memory.category != "file"}


def tree(tool: MemoryTool) -> str:
    return do(tool, "view", "/memories").partition("\n")[2]


# -- The SDK's answers


def check_lines(client: Client) -> None:
    """Each statement of each file is said by a memory that the file links to, and no other is."""
    by_id = {memory.id: memory for memory in client.list_all()}
    linked = set()
    for memory in by_id.values():
        entry = files.Entry.of(memory)
        if memory.category == "file" and entry.text is not None:
            links = {link.target_id: notes.keys_of(link) for link in entry.links}
            assert set().union(*links.values()) == {s.key for s in lines.statements(entry.text)}
            linked |= links.keys()
    assert linked == {memory.id for memory in by_id.values() if memory.category != "file"}


def compare(client: Client, folder: Path, seed: int, count: int) -> None:
    """Random commands on the SDK's own tool and on ours give equal answers but for the Note."""
    theirs, ours = BetaLocalFilesystemMemoryTool(str(folder)), MemoryTool(client)
    commands = Commands(seed, theirs.memory_root)
    kinds = set()
    for number in range(count):
        command = commands.one()
        expected = answer(lambda: theirs.call(command))  # noqa: B023 - called at once
        got = answer(lambda: ours.call(command))  # noqa: B023 - called at once
        said = difference(command, expected, got)
        assert not said, f"seed {seed}, command {number}: {said}"
        kinds.add((command["command"], expected.startswith("ToolError"), "Note: " in got))
    there = {path for path in theirs.memory_root.rglob("*") if path.is_file()}
    for path in there:
        name = "/memories/" + path.relative_to(theirs.memory_root).as_posix()
        assert text_of(client, name) == path.read_bytes().decode()
    held = [files.Entry.of(memory) for memory in client.list_all(categories=["file"])]
    assert len([entry for entry in held if entry.text is not None]) == len(there)
    check_lines(client)
    for name in ("view", "create", "str_replace", "insert", "delete", "rename"):
        assert {(name, True, False), (name, False, False)} <= kinds, name
    assert {("create", False, True), ("insert", False, True), ("str_replace", False, True)} <= kinds


def test_random_commands_answer_as_the_sdk_does(client: Client, tmp_path: Path) -> None:
    compare(client, tmp_path, seed=16, count=COMMANDS)


@pytest.mark.soak
@pytest.mark.parametrize("seed", range(10))
def test_ten_thousand_random_commands_answer_as_the_sdk_does(
    client: Client, tmp_path: Path, seed: int
) -> None:
    compare(client, tmp_path, seed, COMMANDS_SOAK)


def test_asynchronous_tool_answers_as_the_sdk_does(server: RunningServer, tmp_path: Path) -> None:
    async def run() -> None:
        theirs = BetaAsyncLocalFilesystemMemoryTool(str(tmp_path))
        commands = Commands(5, tmp_path / "memories")
        async with AsyncClient(server.address, agent_id="claude", collection="aio") as client:
            await client.create_collection("aio")
            ours = AsyncMemoryTool(client)
            for _ in range(200):
                command = commands.one()
                answers = []
                for item in (theirs, ours):
                    try:
                        answers.append(str(await item.call(command)))
                    except ToolError as error:
                        answers.append(f"ToolError: {error}")
                    except OSError as error:
                        answers.append(f"failed: {error}")
                assert not difference(command, *answers)
            assert await ours.clear_all_memory() == "All memory cleared"
            assert [memory async for memory in client.list_all()] == []

    asyncio.run(run())


def test_tool_is_defined_as_the_sdks(client: Client, tmp_path: Path) -> None:
    theirs = BetaLocalFilesystemMemoryTool(str(tmp_path))
    assert MemoryTool(client).to_dict() == theirs.to_dict()
    cache: Any = {"type": "ephemeral"}
    assert MemoryTool(client, cache_control=cache).to_dict()["cache_control"] == cache
    assert MemoryTool(client).name == "memory"


# -- Lines


def test_lines_become_memories_and_recall_finds_them_without_the_file(client: Client) -> None:
    tool = MemoryTool(client)
    create(tool, "/memories/a.md", f"# Head\n\n- [x] {TEA}\n\nA paragraph\nof two lines.\n")
    assert set(said(client)) == {TEA, "A paragraph of two lines."}
    hits = client.recall("green tea").hits
    assert hits[0].memory.content == TEA
    assert all(hit.memory.category != "file" for hit in hits)
    (file,) = client.recall("green tea", categories=["file"]).hits
    assert file.memory.external_id == "file:/memories/a.md"


def test_note_names_the_line_of_another_file(tool: MemoryTool) -> None:
    assert "Note" not in create(tool, "/memories/a.md", f"- x is set\n- {TEA}\n")
    assert create(tool, "/memories/b.md", f"\n\n* {TEA}\n").endswith(
        "b.md\n\nNote: line 3 says the same as line 2 of /memories/a.md."
    )


def test_note_names_another_line_of_the_file(tool: MemoryTool) -> None:
    create(tool, "/memories/a.md", f"- {TEA}\n")
    same = do(tool, "insert", "/memories/a.md", insert_line=1, insert_text=f"- {TEA}")
    assert same.endswith("edited.\n\nNote: line 2 says the same as line 1.")
    reworded = do(tool, "insert", "/memories/a.md", insert_line=0, insert_text=f"Note: {TEA}")
    assert reworded.endswith("edited.\n\nNote: line 1 says the same as line 2.")


def test_note_names_what_differs(tool: MemoryTool) -> None:
    create(tool, "/memories/a.md", f"- {PORT}\n")
    found = create(tool, "/memories/b.md", "- The staging database listens on port 5434.\n")
    assert found.endswith("\n\nNote: line 1 differs from line 1 of /memories/a.md: 5433 -> 5434.")


def test_note_names_a_memory_that_no_file_holds_and_leaves_it_alone(client: Client) -> None:
    tool = MemoryTool(client)
    own = client.remember(TEA).memory_id
    found = create(tool, "/memories/a.md", f"- {TEA}\n")
    assert found.endswith(f'\n\nNote: line 1 says the same as the memory {own} ("{TEA}").')
    assert [link.target_id for link in client.get("ext:file:/memories/a.md").links] == [own]
    do(tool, "delete", "/memories/a.md")
    assert [memory.id for memory in client.list_all()] == [own]


def test_note_asks_what_may_be_the_same(tool: MemoryTool, monkeypatch: pytest.MonkeyPatch) -> None:
    one, other = "The backup of the pump runs at night", "The backup of the pump is nightly"
    Likelihood(monkeypatch).say(other, one, 0.86)
    create(tool, "/memories/a.md", f"# Pump\n- {one}\n")
    found = create(tool, "/memories/b.md", f"- {other}\n")
    assert found.endswith("\n\nNote: line 1 may say the same as line 2 of /memories/a.md.")


def test_note_names_a_line_that_the_collection_refuses_as_forgotten(
    client: Client, collection: str
) -> None:
    client.update_collection(collection, guard=GuardPolicy(refuse_forgotten=True))
    tool = MemoryTool(client)
    for again in (False, True):
        answered = create(tool, "/memories/a.md", f"- {TEA}\n")
        expected = "\n\nNote: line 1 is not saved as a memory: it was forgotten just now."
        assert answered.endswith(expected) is again
        do(tool, "delete", "/memories/a.md")


def test_note_names_three_and_counts_the_rest(tool: MemoryTool) -> None:
    text = "".join(f"- {word} is on call this week.\n" for word in ("Ann", "Bob", "Eva", "Tom"))
    create(tool, "/memories/a.md", text)
    note = create(tool, "/memories/b.md", text).partition("Note: ")[2]
    assert note.endswith("; line 3 says the same as line 3 of /memories/a.md; and 1 more.")


def test_an_edit_keeps_forgets_and_saves_lines(client: Client) -> None:
    tool = MemoryTool(client)
    create(tool, "/memories/a.md", f"- {TEA}\n- {PORT}\n")
    before = said(client)
    do(tool, "str_replace", "/memories/a.md", old_str=PORT, new_str="Deploys run at noon.")
    after = said(client)
    assert set(after) == {TEA, "Deploys run at noon."}
    assert after[TEA].revision == before[TEA].revision, "unchanged"
    assert client.get(before[PORT].id).status == "forgotten"
    do(tool, "str_replace", "/memories/a.md", old_str="noon.", new_str="noon!")
    assert set(said(client)) == {TEA, "Deploys run at noon!"}


def test_a_line_stays_while_another_file_says_it(client: Client) -> None:
    tool = MemoryTool(client)
    for name in "ab":
        create(tool, f"/memories/{name}.md", f"- {TEA}\n")
    do(tool, "str_replace", "/memories/a.md", old_str=f"- {TEA}", new_str="")
    assert set(said(client)) == {TEA}
    assert client.get("ext:file:/memories/a.md").links == ()
    do(tool, "delete", "/memories/b.md")
    assert said(client) == {}


def test_without_notes_only_files_are_saved(client: Client, collection: str) -> None:
    tool = MemoryTool(client, notes=False)
    assert "Note" not in create(tool, "/memories/a.md", f"- {TEA}\n- {TEA}\n")
    do(tool, "insert", "/memories/a.md", insert_line=0, insert_text=PORT)
    do(tool, "delete", "/memories/a.md")
    assert list(client.list_all()) == []
    assert client.stats(collection).collections[0].total_count == 1


def test_a_failure_of_the_lines_is_a_note_and_the_file_is_written(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_: Any, **__: Any) -> Any:
        raise Unreachable("no daemon answers", code="UNAVAILABLE")

    monkeypatch.setattr(Client, "remember_many", fails)
    found = create(MemoryTool(client), "/memories/a.md", f"- {TEA}\n")
    assert "Note: the lines of the file were not compared with the memory: no daemon" in found
    monkeypatch.undo()
    do(MemoryTool(client), "insert", "/memories/a.md", insert_line=1, insert_text=f"- {PORT}")
    assert set(said(client)) == {TEA, PORT}, "the next edit makes up for it"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", []),
        ("# head\n\n---\n", []),
        ("one\ntwo\n\nthree", [(1, "one two"), (4, "three")]),
        ("- a1\n  more\n  - b1\n1. c1\n2) d1", [(1, "a1 more"), (3, "b1"), (4, "c1"), (5, "d1")]),
        ("* [ ] open  task\n* [x] done", [(1, "open task"), (2, "done")]),
        ("```\n- code\n```\n- said\n~~~\ncode", [(4, "said")]),
        ("| a | b |\n> quoted\n<!-- x -->\n- - -\n***", []),
        ("-5 degrees\n1.5 metres", [(1, "-5 degrees 1.5 metres")]),
        ("一行\r\n- 二行\r\n", [(1, "一行"), (2, "二行")]),
    ],
)
def test_statements_are_bullets_and_paragraphs(text: str, expected: list[tuple[int, str]]) -> None:
    assert [(statement.line, statement.text) for statement in lines.statements(text)] == expected


def test_statements_of_a_file_are_bounded() -> None:
    text = "\n".join(f"- statement {number}" for number in range(1_000))
    assert len(lines.statements(text)) == lines.STATEMENTS_MAX


def test_a_file_of_the_most_statements_links_them_all(client: Client) -> None:
    text = "\n".join(f"- word{number:04} is number {number}" for number in range(200))
    create(MemoryTool(client), "/memories/a.md", text)
    held = client.get("ext:file:/memories/a.md").links
    keys = set().union(*map(notes.keys_of, held))
    assert len(keys) == lines.STATEMENTS_MAX


# -- Undo


def test_each_command_is_undone_as_one_operation(client: Client) -> None:
    tool = MemoryTool(client)
    create(tool, "/memories/d/a.md", f"- {TEA}\n")
    create(tool, "/memories/d/b.md", f"- {PORT}\n")
    before, texts = tree(tool), set(said(client))
    do(tool, "delete", "/memories/d")
    assert (tree(tool), said(client)) == ("4K\t/memories", {})
    (gone,) = client.operations(page_size=1).operations
    assert gone.reason == "deleted /memories/d"
    client.undo(gone.revision)
    assert (tree(tool), set(said(client))) == (before, texts)
    check_lines(client)
    tool.clear_all_memory()
    assert list(client.list_all()) == []
    client.undo(client.operations(page_size=1).operations[0].revision)
    assert (tree(tool), set(said(client))) == (before, texts)
    old = text_of(client, "/memories/d/a.md")
    do(
        MemoryTool(client, notes=False),
        "insert",
        "/memories/d/a.md",
        insert_line=0,
        insert_text=".",
    )
    client.undo(client.operations(page_size=1).operations[0].revision)
    assert text_of(client, "/memories/d/a.md") == old
    check_lines(client)


def test_a_rename_of_a_directory_is_an_operation_for_each_entry(client: Client) -> None:
    tool = MemoryTool(client)
    create(tool, "/memories/d/e/a.md", TEA)
    before, first = tree(tool), client.operations(page_size=1).operations[0].revision
    do(tool, "rename", old_path="/memories/d", new_path="/memories/f")
    done = [
        operation
        for operation in client.operations(page_size=9).operations
        if operation.revision > first
    ]
    assert {operation.reason for operation in done} == {"renamed /memories/d to /memories/f"}
    for operation in done:
        client.undo(operation.revision)
    assert tree(tool) == before


def test_a_rename_that_fails_half_way_is_taken_back(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    tool = MemoryTool(client)
    for name in "abc":
        create(tool, f"/memories/d/{name}", TEA)
    before, update, calls = tree(tool), Client.update, []

    def third_fails(self: Client, *args: Any, **kwargs: Any) -> Any:
        calls.append(args)
        if len(calls) == 3:
            raise InvalidArgument("no", code="INVALID_ARGUMENT")
        return update(self, *args, **kwargs)

    monkeypatch.setattr(Client, "update", third_fails)
    failed = do(tool, "rename", old_path="/memories/d", new_path="/memories/f")
    assert failed == "ToolError: The memory did not take the command: no (INVALID_ARGUMENT)"
    assert tree(tool) == before


def test_the_next_edit_repairs_the_lines_after_an_undo_of_the_file_alone(client: Client) -> None:
    tool = MemoryTool(client)
    create(tool, "/memories/a.md", f"- {TEA}\n")
    do(tool, "str_replace", "/memories/a.md", old_str=TEA, new_str=PORT)
    (update,) = client.operations(page_size=9, kinds=["Update"]).operations
    client.undo(update.revision)
    assert (text_of(client, "/memories/a.md"), set(said(client))) == (f"- {TEA}\n", {PORT})
    do(tool, "insert", "/memories/a.md", insert_line=0, insert_text="# Head")
    assert set(said(client)) == {TEA}
    check_lines(client)


# -- Several agents


def test_edits_of_many_agents_at_once_are_all_kept(
    server: RunningServer, client: Client, collection: str
) -> None:
    agents, edits = 4, 10

    def text(count: int) -> str:
        return "".join(f"- agent {agent} is at step {count}\n" for agent in range(agents))

    create(MemoryTool(client), "/memories/a.md", text(0))
    start = threading.Barrier(agents)

    def edit(agent: int) -> None:
        with Client(server.address, agent_id=f"a{agent}", collection=collection) as own:
            tool = MemoryTool(own)
            start.wait()
            for number in range(edits):
                line = f"- agent {agent} is at step "
                old, new = f"{line}{number}\n", f"{line}{number + 1}\n"
                done = do(tool, "str_replace", "/memories/a.md", old_str=old, new_str=new)
                assert done.startswith("The memory file has been edited."), done

    with ThreadPoolExecutor(agents) as pool:
        for future in [pool.submit(edit, agent) for agent in range(agents)]:
            future.result()
    assert text_of(client, "/memories/a.md") == text(edits)
    do(MemoryTool(client), "insert", "/memories/a.md", insert_line=0, insert_text="# Steps")
    check_lines(client)


def test_a_file_that_changes_without_end_is_an_error_in_the_end(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    create(MemoryTool(client, notes=False), "/memories/a.md", "0")
    update, calls = Client.update, []

    def overtaken(self: Client, memory_id: str, **kwargs: Any) -> Any:
        calls.append(memory_id)
        update(self, memory_id, content=f"{len(calls)}")
        return update(self, memory_id, **kwargs)

    monkeypatch.setattr(Client, "update", overtaken)
    failed = do(MemoryTool(client), "insert", "/memories/a.md", insert_line=0, insert_text="x")
    assert failed.startswith("ToolError: The file /memories/a.md was changed by others 32 times")
    assert len(calls) == files.ATTEMPTS_MAX


def test_one_of_many_agents_makes_a_file(server: RunningServer, collection: str) -> None:
    start = threading.Barrier(4)

    def make(agent: int) -> str:
        with Client(server.address, agent_id=f"a{agent}", collection=collection) as own:
            start.wait()
            return create(MemoryTool(own), "/memories/x/y/a.md", f"- {TEA}")

    with ThreadPoolExecutor(4) as pool:
        answers = sorted(pool.map(make, range(4)))
    assert answers[0] == "File created successfully at: /memories/x/y/a.md"
    assert set(answers[1:]) == {"ToolError: File /memories/x/y/a.md already exists"}


def test_private_files_are_their_agents_alone(
    server: RunningServer, client: Client, collection: str
) -> None:
    create(MemoryTool(client, private=True), "/memories/p/a.md", f"- {TEA}")
    with Client(server.address, agent_id="other", collection=collection) as other:
        assert tree(MemoryTool(other)) == "4K\t/memories"
        assert list(other.list_all()) == []
        assert "Note" not in create(MemoryTool(other), "/memories/p/a.md", f"- {TEA}")
    assert text_of(client, "/memories/p/a.md") == f"- {TEA}"


def test_collection_of_the_tool_is_its_own(client: Client) -> None:
    client.create_collection("elsewhere")
    create(MemoryTool(client, collection="elsewhere"), "/memories/a.md", f"- {TEA}")
    assert list(client.list_all()) == []
    assert len(list(client.list_all(collection="elsewhere"))) == 2


# -- Bad input


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("/memories/../x", "Path /memories/../x would escape /memories directory"),
        ("/memories/a/../../../memories/x", "Path /memories/a/../../../memories/x would escape"),
        ("/memories/../../memories/x", "Path /memories/../../memories/x would escape"),
        ("/etc/passwd", "Path must start with /memories, got: /etc/passwd"),
        ("", "Path must start with /memories, got: "),
        ("memories/a", "Path must start with /memories, got: memories/a"),
        ("/memories/a\0b", "The path has a NUL character"),
        ("/memories/\ud800", "The path has a lone surrogate"),
        ("/memories/" + "x" * 242, "has 252 bytes; allowed: at most 251."),
        ("/memories/" + "é" * 121, "has 252 bytes; allowed: at most 251."),
    ],
)
@pytest.mark.parametrize("command", ["view", "create", "delete", "rename", "insert"])
def test_bad_path_is_refused_and_nothing_changes(
    tool: MemoryTool, client: Client, command: str, path: str, expected: str
) -> None:
    more: dict[str, Any] = {"file_text": "x", "insert_line": 0, "insert_text": "x"}
    named = {"old_path": "/memories/a", "new_path": path} if command == "rename" else {"path": path}
    found = answer(lambda: tool.call({"command": command, **named, **more}))
    assert found.startswith("ToolError: ")
    assert expected in found
    assert list(client.list_all()) == []


def test_escaped_dots_are_a_name(tool: MemoryTool) -> None:
    create(tool, "/memories/%2e%2e/x", TEA)
    assert "4K\t/memories/%2e%2e/\n35B\t/memories/%2e%2e/x" in tree(tool)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (None, "Unknown command: None. Allowed: view, create, str_replace, insert, delete, rename"),
        ({}, "Unknown command: None."),
        ({"command": "frobnicate"}, "Unknown command: frobnicate."),
        ({"command": ["view"]}, "Unknown command: ['view']."),
        ({"command": "view"}, "Invalid `path` parameter: got NoneType; allowed: text."),
        ({"command": "view", "path": 3}, "Invalid `path` parameter: got int; allowed: text."),
        ({"command": "create", "path": "/memories/a"}, "Invalid `file_text` parameter"),
        ({"command": "rename", "old_path": "/memories/a"}, "Invalid `new_path` parameter"),
        ({"command": "insert", "path": "/memories/a", "insert_line": "x", "insert_text": ""},
         "Invalid `insert_line` parameter: got str; allowed: a whole number."),
        ({"command": "view", "path": "/memories", "view_range": [1, "x"]},
         "Invalid `view_range` parameter: got list; allowed: two whole numbers, or none."),
        ({"command": "view", "path": "/memories", "view_range": "12"},
         "Invalid `view_range` parameter: got str"),
    ],
)  # fmt: skip
def test_bad_command_is_refused_by_name(
    tool: MemoryTool, client: Client, value: Any, expected: str
) -> None:
    found = answer(lambda: tool.call(value))
    assert found.startswith(f"ToolError: {expected}")
    assert list(client.list_all()) == []


def test_file_of_32_kib_is_the_largest(client: Client) -> None:
    tool = MemoryTool(client, notes=False)
    full = "é" * (16 * 1024)
    assert create(tool, "/memories/a", full).startswith("File created")
    assert "32.0K" not in tree(tool)
    assert "32K\t/memories/a" in tree(tool)
    before = client.get("ext:file:/memories/a").revision
    too_large = "would have 32769 bytes; allowed: at most 32768. Nothing was changed."
    assert too_large in create(tool, "/memories/b", full + "x")
    assert too_large in do(tool, "str_replace", "/memories/a", old_str=full, new_str=full + "x")
    inserted = do(tool, "insert", "/memories/a", insert_line=0, insert_text="")
    assert "would have 32770 bytes" in inserted
    assert client.get("ext:file:/memories/a").revision == before
    assert "/memories/b" not in tree(tool)


@pytest.mark.parametrize("bad", ["a\0b", "\ud800"])
def test_text_that_no_memory_can_hold_is_refused(
    tool: MemoryTool, client: Client, bad: str
) -> None:
    assert "ToolError: The text of /memories/d/a has a" in create(tool, "/memories/d/a", bad)
    assert list(client.list_all()) == []
    create(tool, "/memories/a", TEA)
    assert "ToolError: The text of /memories/a has a" in do(
        tool, "str_replace", "/memories/a", old_str="Ann", new_str=bad
    )
    assert text_of(client, "/memories/a") == TEA


@pytest.mark.parametrize("text", ["", "\n", " \n\t\r\n", "\u200b", "x", "  x  \r\n\r\n", "\ufeffx"])
def test_texts_are_kept_byte_for_byte(tool: MemoryTool, client: Client, text: str) -> None:
    create(tool, "/memories/a", text)
    assert text_of(client, "/memories/a") == text
    do(tool, "insert", "/memories/a", insert_line=0, insert_text="y")
    assert text_of(client, "/memories/a").startswith("y\n")
    do(tool, "str_replace", "/memories/a", old_str=text_of(client, "/memories/a"), new_str=text)
    assert text_of(client, "/memories/a") == text


def test_reversed_range_shows_nothing(tool: MemoryTool) -> None:
    create(tool, "/memories/a", "1\n2\n3\n")
    head = "Here's the content of /memories/a with line numbers:\n"
    assert do(tool, "view", "/memories/a", view_range=[3, 1]) == head
    assert do(tool, "view", "/memories/a", view_range=[2, 3]) == head + "     2\t2\n     3\t3"


def test_a_file_is_no_directory(tool: MemoryTool) -> None:
    create(tool, "/memories/f", TEA)
    for path in ("/memories/f/x", "/memories/f/x/y"):
        expected = "ToolError: The path /memories/f is a file, not a directory."
        assert create(tool, path, TEA) == expected
        assert do(tool, "rename", old_path="/memories/f", new_path=path).startswith("ToolError: ")
    moved = do(tool, "rename", old_path="/memories/f", new_path="/memories/f/x")
    assert moved == "ToolError: Cannot move /memories/f into itself: /memories/f/x"
    assert tree(tool) == "4K\t/memories\n35B\t/memories/f"


def test_a_path_that_is_too_long_after_a_rename_changes_nothing(tool: MemoryTool) -> None:
    create(tool, "/memories/d/" + "x" * 200, TEA)
    found = do(tool, "rename", old_path="/memories/d", new_path="/memories/" + "y" * 60)
    assert "has 271 bytes; allowed: at most 251." in found
    assert "/memories/d/" in tree(tool)


def test_more_entries_than_a_call_reads_are_an_error(
    tool: MemoryTool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "ENTRIES_MAX", 2)
    for name in ("d/a", "d/b", "e/a"):
        create(tool, f"/memories/{name}", TEA)
    found = do(tool, "view", "/memories")
    assert found.startswith("ToolError: More than 2 files and directories are below /memories.")
    assert do(tool, "view", "/memories/d").endswith("/memories/d/a\n35B\t/memories/d/b")
    assert tool.clear_all_memory() == "All memory cleared"


def test_limits_page_shows_each_limit_of_the_tool() -> None:
    page = (Path(__file__).parents[2] / "docs" / "limits.md").read_text()
    section = page.partition("## Anthropic's memory tool\n")[2].partition("\n## ")[0]
    shown = {
        name: int(value) for name, value in re.findall(r"^\| `(\w+)` \| (\d+) \|", section, re.M)
    }
    modules = (files, lines, notes, paths, editing)
    assert shown == {
        name: value
        for module in modules
        for name, value in vars(module).items()
        if name.endswith("_MAX")
    }


def test_what_the_daemon_refuses_is_an_error_of_the_tool(client: Client) -> None:
    found = create(MemoryTool(client, collection="nowhere"), "/memories/a", TEA)
    assert re.fullmatch(r"ToolError: The memory did not take the command: .*nowhere.*", found)


def test_a_missing_package_is_one_clear_line() -> None:
    code = (
        "import sys; sys.modules['anthropic'] = None\n"
        "try:\n import totonoe.adapters.anthropic\n"
        "except ImportError as error: print(error)"
    )
    env = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env=env
    )
    assert done.stdout == (
        "the memory tool needs the package anthropic: pip install 'totonoe[anthropic]'\n"
    )
