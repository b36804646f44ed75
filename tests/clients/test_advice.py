"""Advice is made by the daemon: the same text on the wire, in the client, and in JSON."""

from __future__ import annotations

import json

import grpc
import pytest
from typer.testing import CliRunner

from totonoe.cli.main import app
from totonoe.errors import NotActive, NotFound, TotonoeError
from totonoe.v1 import memory_service_pb2 as pb
from totonoe.v1 import memory_service_pb2_grpc, types_pb2
from totonoe_core.domain.records import Duplicate, Method
from totonoe_server import advice
from totonoe_server.tools.testing import RunningServer

PORT = "The staging database listens on port 5433."
OTHER_PORT = "The staging database listens on port 5434."
UNKNOWN = "mem_00000000000000ff"


def test_answers_of_a_daemon_carry_advice(totonoe_server: RunningServer) -> None:
    with totonoe_server.client(agent_id="planner") as client:
        first = client.remember(PORT)
        known = f"Nothing to do: {first.memory_id} says it already."
        again = client.remember(PORT)
        changed = client.remember(OTHER_PORT)
        assert (first.advice, first.scaffold) == ("", "")
        assert (again.advice, again.scaffold) == (known, advice.REPETITION)
        assert (changed.advice, changed.scaffold) == ("", advice.CONNECTIONS)
        assert client.remember(PORT, force=True).advice == ""
        assert client.check(PORT).advice.startswith("Nothing to do: ")
        updated = client.update(changed.memory_id, content=PORT)
        assert not updated.updated and updated.advice.startswith("Nothing to do: ")
        assert client.update(changed.memory_id, importance=5).advice == ""
        found = client.get_many([first.memory_id, UNKNOWN])
        assert found.advice == advice.NOT_FOUND
        assert client.forget(first.memory_id, dry_run=True).scaffold == ""
        gone = client.forget(first.memory_id)
        assert (gone.advice, gone.scaffold) == ("", advice.FORGOT_ONE)


def test_errors_of_a_daemon_carry_advice(totonoe_server: RunningServer) -> None:
    with totonoe_server.client() as client:
        for name in (UNKNOWN, "mem_invalid123"):
            with pytest.raises(TotonoeError) as missing:
                client.get(name)
            assert missing.value.advice == advice.NOT_FOUND
        old = client.remember(PORT).memory_id
        new = client.remember(OTHER_PORT, supersede_ids=[old]).memory_id
        with pytest.raises(NotActive) as replaced:
            client.update(old, importance=5)
        assert replaced.value.details["superseded_by"] == new
        assert replaced.value.advice == f"Use {new}: it took the place of {old}."
        client.forget(new)
        with pytest.raises(NotActive) as forgotten:
            client.update(new, importance=5)
        assert "superseded_by" not in forgotten.value.details
        assert forgotten.value.advice == ""


def test_a_client_of_any_language_reads_it_on_the_wire(totonoe_server: RunningServer) -> None:
    with grpc.insecure_channel(totonoe_server.address) as channel:
        stub = memory_service_pb2_grpc.MemoryServiceStub(channel)
        request = pb.RememberRequest(memory=types_pb2.MemoryDraft(content=PORT))
        first, again = stub.Remember(request), stub.Remember(request)
    assert again.advice == f"Nothing to do: {first.memory_id} says it already."


def test_json_carries_the_advice_of_answers_and_errors(totonoe_server: RunningServer) -> None:
    def printed(*arguments: str) -> dict[str, object]:
        command = ["--address", totonoe_server.address, "--json", *arguments]
        answer: dict[str, object] = json.loads(CliRunner().invoke(app, command).stdout)
        return answer

    first = printed("remember", "Deploys run at noon.")["memory_id"]
    again = printed("remember", "Deploys run at noon.")
    assert again["advice"] == f"Nothing to do: {first} says it already."
    assert again["scaffold"] == advice.REPETITION
    error = printed("history", UNKNOWN)["error"]
    assert isinstance(error, dict) and error["advice"] == advice.NOT_FOUND


def test_advice_of_several_forgotten_memories_is_in_the_plural() -> None:
    assert advice.after_forget(2).startswith("These memories are gone. Was there anything")
    assert advice.after_forget(0) == ""


def test_answer_that_asks_advises_to_answer() -> None:
    both = advice.after_save(None, connected=True, asked=True)
    assert both == (advice.ASKED, f"{advice.CONNECTIONS}\n{advice.ASKED}")
    checked = advice.after_save(None, connected=True, asked=True, dry=True)
    assert checked == (advice.WOULD_ASK, f"{advice.CONNECTIONS}\n{advice.WOULD_ASK}")
    known = Duplicate("mem_0000000000000001", "just now", "x", 1.0, Method.EXACT)
    refused = advice.after_save(known, connected=True, asked=True)
    assert refused.advice == "Nothing to do: mem_0000000000000001 says it already."
    with_links_only = advice.after_save(None, connected=False, asked=False)
    assert with_links_only == ("", "")


def test_unknown_memory_is_not_found(totonoe_server: RunningServer) -> None:
    with totonoe_server.client() as client, pytest.raises(NotFound) as missing:
        client.get(UNKNOWN)
    assert missing.value.advice == advice.NOT_FOUND
