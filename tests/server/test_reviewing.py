"""Texts that wait for a review, over the wire: clients, commands, an export, a workspace."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from support.serving import serving
from totonoe import AsyncClient, Client, Source, Status
from totonoe.cli.main import app
from totonoe.collections.models import GuardPolicy
from totonoe.enums import ChangeType
from totonoe.errors import FailedPrecondition, InvalidArgument, NotFound
from totonoe.workspace.sync import shown

MUSEUM = "The museum opens at nine."


@pytest.fixture
def client(monkeypatch: pytest.MonkeyPatch) -> Iterator[Client]:
    """A client of a daemon whose collection reviews what strangers say."""
    with serving() as server, server.client("anna") as client:
        client.update_collection("default", guard=GuardPolicy(review_from="external"))
        monkeypatch.setenv("TOTONOE_ADDRESS", server.address)
        monkeypatch.setenv("TOTONOE_AGENT", "anna")
        yield client


def run(*arguments: str, code: int = 0) -> str:
    done = CliRunner().invoke(app, list(arguments))
    assert done.exit_code == code, done.output
    return done.stdout


def steps(output: str) -> list[list[str]]:
    """Commands that an output proposes."""
    return [
        line.partition(": totonoe ")[2].split()
        for line in output.splitlines()
        if ": totonoe review" in line
    ]


def test_policy_is_set_read_and_switched_off(client: Client) -> None:
    assert client.get_collection("default").guard.review_from is Source.EXTERNAL
    client.update_collection("default", guard=GuardPolicy(preset="ego"))
    assert client.get_collection("default").guard.review_from is Source.EXTERNAL
    run("collections", "update", "default", "--set", "guard.review_from=tool")
    assert client.get_collection("default").guard.review_from is Source.TOOL
    run("collections", "update", "default", "--unset", "guard.review_from")
    assert client.get_collection("default").guard.review_from is None
    made = client.create_collection("new", guard=GuardPolicy(review_from="agent")).collection
    assert made.guard.review_from is Source.AGENT
    with pytest.raises((InvalidArgument, ValueError), match="review_from"):
        client.update_collection("default", guard=GuardPolicy(review_from="rumour"))  # type: ignore[arg-type]


def test_text_waits_until_it_is_confirmed(client: Client) -> None:
    assert client.check(MUSEUM, source="external").pending
    saved = client.remember(MUSEUM, source="external")
    assert (saved.saved, saved.pending, saved.links) == (True, True, ())
    page = saved.memory_id
    assert client.get(page).status is Status.PENDING
    assert not client.list().memories and not client.recall("museum").hits
    assert [hit.memory.id for hit in client.recall("museum", statuses=["pending"]).hits] == [page]
    why = client.why_not(page, "museum")
    assert [condition.name for condition in why.unmet] == ["statuses"]
    again = client.remember(MUSEUM, source="external")
    assert (again.saved, again.duplicate_of) == (False, page)
    assert again.duplicate is not None and again.duplicate.pending
    with pytest.raises(InvalidArgument) as caught:
        client.remember("It opens at ten.", source="external", supersede_ids=[page])
    assert caught.value.reason == "REVIEW_FIRST"
    questions = client.list_questions()
    assert ([memory.id for memory in questions.pending], questions.pending_count) == ([page], 1)
    done = client.review(page, "confirm", reason="checked", operation_id="once")
    assert (done.reviewed, done.memory.status) == (True, Status.ACTIVE)
    assert client.review(page, "confirm", reason="checked", operation_id="once").replayed
    assert [hit.memory.id for hit in client.recall("museum").hits] == [page]
    kinds = [version.operation.kind for version in client.history(page).versions]
    assert sorted(kinds) == ["Remember", "Review"]
    with pytest.raises(FailedPrecondition) as late:
        client.review(page, "reject")
    assert (late.value.reason, late.value.details["status"]) == ("NOT_PENDING", "active")
    client.undo("once")
    assert client.get(page).status is Status.PENDING


def test_asynchronous_client_rejects(client: Client) -> None:
    page = client.remember(MUSEUM, source="external").memory_id

    async def reject() -> Any:
        async with AsyncClient(client.address, agent_id="anna") as other:
            return await other.review(page, "reject", reason="spam")

    assert asyncio.run(reject()).memory.status is Status.FORGOTTEN
    assert client.list_questions().pending == ()


def test_steps_of_the_commands_are_typed_as_printed(client: Client) -> None:
    out = run("remember", MUSEUM, "--source", "external")
    assert "It waits for a review: until somebody confirms it, nothing recalls it." in out
    assert "It would wait for a review." in run("check", "Tea at four.", "--source", "external")
    again = run("remember", MUSEUM, "--source", "external", code=3)
    assert "Waits for a review (id: mem_" in again
    listed = run("questions")
    assert steps(out) == steps(again) == steps(listed)
    assert "Waiting for a review: 1" in listed and f"[external] {MUSEUM} (id: mem_" in listed
    assert "Nothing found." in run("recall", "museum") and "No memories." in run("list")
    assert "[external]" in run("recall", "museum", "--pending")
    assert "[external]" in run("list", "--pending")
    run("list", "--pending", "--status", "closed", code=2)
    confirm, reject = steps(listed)
    confirmed = run(*confirm)
    assert confirmed.startswith(f"Confirmed: {confirm[1]} is a memory like others now.")
    assert "[external]" in run("recall", "museum") and "No open questions." in run("questions")
    run("undo", str(client.stats().collections[0].revision))
    assert f"Rejected: {reject[1]} is forgotten." in run(*reject, "--reason", "spam")
    refused = CliRunner().invoke(app, ["review", reject[1], "maybe"])
    assert "ANSWER: got 'maybe', allowed: confirm, reject" in refused.output


def test_confirming_what_is_said_already_ends_in_3(client: Client) -> None:
    page = client.remember(MUSEUM, source="external").memory_id
    known = client.remember(MUSEUM, source="user").memory_id
    out = run("review", page, "confirm", code=3)
    assert out.startswith("Not confirmed") and f"id: {known}" in out
    assert [step[:3] for step in steps(out)] == [["review", page, "reject"]]


def test_watch_says_that_a_confirmed_memory_changed(client: Client) -> None:
    page = client.remember(MUSEUM, source="external").memory_id
    client.review(page, "confirm")
    client.undo(client.stats().collections[0].revision)
    client.review(page, "reject")
    types: list[ChangeType] = []
    with client.watch(0) as events:
        for event in events:
            if event.change is None:
                break
            types += [change.type for change in event.change.memories]
    assert types == [
        ChangeType.CREATED,
        ChangeType.UPDATED,
        ChangeType.UPDATED,
        ChangeType.FORGOTTEN,
    ]


@pytest.mark.parametrize("as_is", [False, True])
def test_export_carries_what_waits_and_no_import_confirms_it(
    client: Client, tmp_path: Path, as_is: bool
) -> None:
    client.remember(MUSEUM, source="external")
    client.remember("The pump leaks.")
    file = tmp_path / "all.jsonl"
    run("export", str(file))
    lines = [json.loads(line) for line in file.read_text().splitlines()]
    assert [line["status"] for line in lines if line.get("status")] == ["pending"]
    assert lines[0]["policies"]["guard"]["review_from"] == "external"
    client.create_collection("copy")
    place = ("--collection", "copy", "import", str(file), *(["--as-is"] if as_is else []))
    run(*place)
    with Client(client.address, agent_id="anna", collection="copy") as copy:
        assert [memory.content for memory in copy.list().memories] == ["The pump leaks."]
        assert [memory.content for memory in copy.list_questions().pending] == [MUSEUM]
        assert copy.get_collection("copy").guard.review_from == ("external" if as_is else None)


def test_workspace_shows_no_memory_that_waits(client: Client) -> None:
    page = client.remember(MUSEUM, source="external").memory_id
    assert not shown(client.get(page))
    client.review(page, "confirm")
    assert shown(client.get(page))


def test_private_text_is_reviewed_by_its_agent_alone(client: Client) -> None:
    page = client.remember(MUSEUM, source="external", private=True).memory_id
    with Client(client.address, agent_id="bert") as bert:
        assert bert.list_questions().pending == ()
        assert bert.list_questions().pending_count == 0
        with pytest.raises(NotFound):
            bert.review(page, "confirm")
    assert client.list_questions().pending_count == 1


def test_snapshot_brings_back_what_waits(client: Client) -> None:
    page = client.remember(MUSEUM, source="external").memory_id
    taken = client.create_snapshot().snapshot
    client.review(page, "confirm")
    client.restore_snapshot(taken.id, "before")
    with Client(client.address, agent_id="anna", collection="before") as before:
        assert [memory.id for memory in before.list_questions().pending] == [page]
        assert before.review(page, "confirm").reviewed
