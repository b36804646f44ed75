"""Both clients and the command line against a daemon, about the past: one story each."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest
from typer.testing import CliRunner

from totonoe import GuardPolicy, errors
from totonoe.cli.main import app
from totonoe.enums import UndoConflictKind
from totonoe_server.tools.testing import RunningServer

Call = Callable[..., Any]
_names = itertools.count(1)
PORT = "The staging database listens on port 5433."
CACHE = "Anna waters the fern on Mondays."


@pytest.fixture
def ask(server: RunningServer, call: Call) -> Call:
    """`ask("remember", ...)`: a call of either client as anna, in a collection of its own."""
    name = f"past{next(_names)}"
    address = server.address
    call(address, "create_collection", name)

    def run(method: str, *args: Any, agent: str = "anna", **kwargs: Any) -> Any:
        options = {"agent_id": agent, "collection": name}
        return call(address, method, *args, options=options, **kwargs)

    return run


@pytest.fixture
def totonoe(server: RunningServer) -> Call:
    """`totonoe("undo", "4")`: exit code, and the JSON or the text of the command."""
    name = f"cli{next(_names)}"

    def run(*arguments: str, text: bool = False, stdin: str | None = None) -> tuple[int, Any]:
        given = ["--address", server.address, "--agent", "anna", "--collection", name]
        flags = [] if text else ["--json"]
        result = CliRunner().invoke(app, [*given, *arguments, *flags], input=stdin)
        return result.exit_code, result.stdout if text else json.loads(result.stdout)

    CliRunner().invoke(app, ["--address", server.address, "collections", "create", name])
    return run


# -- both clients


def test_forgotten_said_again_and_brought_back(ask: Call) -> None:
    first = ask("remember", PORT)
    gone = ask("forget", first.memory_id, reason="it moved")
    again = ask("remember", PORT)
    assert again.saved
    assert (again.forgotten.memory_id, again.forgotten.reason) == (first.memory_id, "it moved")
    assert (again.forgotten.agent_id, again.forgotten.revision) == ("anna", gone.revision)

    refused = ask("undo", gone.operation_id)
    assert not refused.undone
    assert [conflict.kind for conflict in refused.conflicts] == [UndoConflictKind.DUPLICATE]
    assert refused.conflicts[0].duplicate.memory_id == again.memory_id

    ask("undo", again.revision)
    back = ask("undo", gone.revision, reason="it did not")
    assert back.undone
    assert [(memory.id, memory.status) for memory in back.memories] == [(first.memory_id, "active")]
    assert ask("get", first.memory_id, as_of=gone.revision).status == "forgotten"
    assert ask("get_many", [first.memory_id], as_of=1).as_of_revision == 1

    kinds = [version.operation.kind for version in ask("history", first.memory_id).versions]
    assert kinds == ["Undo", "Forget", "Remember"]
    (undo,) = ask("operations", kinds=["Undo"], reason_contains="DID not").operations
    assert (undo.revision, undo.undoes, undo.agent_id) == (back.revision, gone.revision, "anna")


def test_policy_refuses_what_was_forgotten(ask: Call) -> None:
    ask("update_collection", guard=GuardPolicy(refuse_forgotten=True))
    first = ask("remember", PORT)
    ask("forget", first.memory_id)
    checked = ask("check", PORT)
    refused = ask("remember", PORT)
    assert (checked.would_save, refused.saved, refused.duplicate) == (False, False, None)
    assert refused.memory_id == refused.forgotten.memory_id == first.memory_id
    assert ask("remember", PORT, force=True).saved


def test_forget_by_conditions_forgets_what_was_shown(ask: Call) -> None:
    old = [ask("remember", text, tags=["old"]) for text in (PORT, CACHE)]
    ask("remember", "Rain is expected on Friday.")
    shown = ask("forget", dry_run=True, tags=["old"])
    assert shown.matching_count == 2
    ids = [memory.id for memory in shown.forgotten]
    assert ids == [item.memory_id for item in old]
    revisions = {memory.id: memory.revision for memory in shown.forgotten}
    ask("update", ids[0], importance=5)
    with pytest.raises(errors.StaleRevision):
        ask("forget", ids, expected_revisions=revisions)
    assert len(ask("list").memories) == 3
    revisions[ids[0]] = ask("get", ids[0]).revision
    assert len(ask("forget", ids, expected_revisions=revisions).forgotten) == 2
    assert len(ask("list_all")) == 1


def test_merge_leads_to_the_one_that_stayed_and_is_undone(ask: Call) -> None:
    keep = ask("remember", PORT, tags=["a"]).memory_id
    other = ask("remember", "Staging runs PostgreSQL 16 in Frankfurt.", tags=["b"]).memory_id
    merged = ask("merge", keep, other, content="The staging database is in Frankfurt.")
    assert merged.merged
    assert set(merged.memory.tags) == {"a", "b"}
    assert "5433" in {detail.text for detail in merged.lost}
    assert ask("get", other).superseded_by == keep
    assert ask("get", other, follow_superseded=True).id == keep
    assert ask("get_many", [other], follow_superseded=True).redirects == {other: keep}
    undone = ask("undo", merged.operation_id)
    assert {memory.status for memory in undone.memories} == {"active"}
    assert ask("get", keep).content == PORT


def test_undo_of_what_changed_since_is_refused_or_done_in_part(ask: Call) -> None:
    ids = [ask("remember", text).memory_id for text in (PORT, CACHE)]
    gone = ask("forget", ids)
    ask("undo", gone.revision)
    ask("update", ids[0], importance=5)
    redo = ask("operations", kinds=["Undo"]).operations[0]
    with pytest.raises(errors.UndoRefused) as caught:
        ask("undo", redo.revision)
    assert len(caught.value.conflicts) == 1
    preview = ask("undo", redo.revision, dry_run=True)
    assert [(conflict.kind, conflict.memory_id) for conflict in preview.conflicts] == [
        ("changed", ids[0])
    ]
    part = ask("undo", redo.revision, partial=True)
    assert (part.undone, [memory.id for memory in part.memories]) == (True, [ids[1]])
    assert len(part.conflicts) == 1


def test_supersede_in_one_call_and_recall_of_the_past(ask: Call) -> None:
    before = datetime.now(UTC)
    old = ask("remember", PORT)
    new = ask(
        "remember", "The staging database listens on port 6000.", supersede_ids=[old.memory_id]
    )
    assert new.superseded_ids == (old.memory_id,)
    hits = ask("recall", "staging database port", as_of=old.revision).hits
    assert [hit.memory.id for hit in hits] == [old.memory_id]
    assert ask("list", as_of=before).memories == ()
    with pytest.raises(errors.OutOfRange):
        ask("list", as_of=new.revision + 100)


def test_neighbors_and_episodes_follow_what_became_of_memories(ask: Call) -> None:
    ids = [ask("remember", text).memory_id for text in (PORT, CACHE, "Rain is expected on Friday.")]
    ask("link", ids[0], ids[1], "causes", confidence=0.8)
    ask("link", ids[1], ids[2], "coactivated", confidence=0.5)
    found = ask("neighbors", ids[0], depth=2, hop_decay=1.0, types=["causes", "coactivated"])
    assert [
        (neighbor.memory.id, neighbor.depth, neighbor.via_id) for neighbor in found.neighbors
    ] == [
        (ids[1], 1, ids[0]),
        (ids[2], 2, ids[1]),
    ]
    assert found.neighbors[1].activation == pytest.approx(0.4)
    made = ask("create_episode", "A day.", ids, importance=5)
    gone = ask("forget", ids[1])
    read = ask("get_episode", made.episode.id, include_memories=True)
    assert ([memory.id for memory in read.memories], read.episode.gone_count) == (
        [ids[0], ids[2]],
        1,
    )
    assert read.note
    ask("undo", gone.revision)
    assert ask("list_episodes", memory_id=ids[1]).episodes[0].memory_ids == tuple(ids)
    deleted = ask("delete_episode", made.episode.id, reason="dull")
    with pytest.raises(errors.NotFound):
        ask("get_episode", made.episode.id)
    assert ask("undo", deleted.operation_id).episode_ids == (made.episode.id,)


def test_purge_is_final_and_private_memories_stay_unseen(ask: Call) -> None:
    secret = ask("remember", PORT, private=True).memory_id
    for method in ("history", "purge", "neighbors"):
        with pytest.raises(errors.NotFound):
            ask(method, secret, agent="ben")
    assert ask("purge", secret, dry_run=True).dry_run
    purged = ask("purge", secret, reason="law")
    assert purged.purged_ids == (secret,)
    with pytest.raises(errors.FailedPrecondition, match="NOT_UNDOABLE"):
        ask("undo", purged.revision)
    with pytest.raises(errors.NotFound):
        ask("get", secret)


# -- the command line


def test_commands_take_back_step_by_step(totonoe: Call) -> None:
    _, first = totonoe("remember", PORT)
    _, changed = totonoe("update", first["memory_id"], "--importance", "5")
    revision = str(first["revision"])
    code, refused = totonoe("undo", revision)
    assert code == 1
    assert refused["error"]["reason"] == "UNDO_CONFLICT"
    assert refused["conflicts"][0]["revision"] == changed["revision"]
    assert totonoe("undo", str(changed["revision"]))[0] == 0
    code, said = totonoe("history", first["memory_id"], text=True)
    assert code == 0
    assert "importance: 3" in said
    assert said.startswith("revision 3, Undo, ")
    code, page = totonoe("operations", "--memory", first["memory_id"], "--kind", "Update")
    assert [operation["undone_by"] for operation in page["operations"]] == [3]


def test_commands_forget_and_tell_it_when_it_is_said_again(totonoe: Call) -> None:
    totonoe("remember", PORT, "--tag", "old")
    code, gone = totonoe("forget", "--tag", "old", "--reason", "it moved", "--yes")
    assert (code, len(gone["forgotten"])) == (0, 1)
    code, said = totonoe("remember", PORT, text=True)
    assert code == 0
    assert (
        f'You forgot this just now ({gone["forgotten"][0]["memory_id"]}, by anna): "it moved"'
        in said
    )
    assert f"totonoe undo {gone['revision']}" in said
    code, refused = totonoe("undo", str(gone["revision"]))
    assert (code, refused["undone"]) == (3, False)


def test_commands_merge_keep_episodes_and_purge(totonoe: Call) -> None:
    ids = [totonoe("remember", text)[1]["memory_id"] for text in (PORT, CACHE)]
    _, made = totonoe("episodes", "create", "A day.", *ids)
    code, said = totonoe("merge", *ids, "--expect", f"{ids[0]}=1", text=True)
    assert code == 0
    assert f"Merged 1 memory into {ids[0]}:" in said
    episode_id = made["episode"]["episode_id"]
    _, read = totonoe("episodes", "show", episode_id)
    assert read["episode"]["memory_ids"] == [ids[0]]
    assert totonoe("get", ids[1], "--follow")[1]["redirects"] == {ids[1]: ids[0]}
    assert totonoe("get", ids[1], "--as-of", "2")[1]["memories"][0]["status"] == "active"
    assert totonoe("purge", *ids, "--yes")[1]["purged_ids"] == ids
    assert totonoe("history", ids[0])[0] in (0, 1)
    assert totonoe("neighbors", ids[0])[0] == 1
