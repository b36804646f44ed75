"""Advice: one text for every way to read an answer."""

from __future__ import annotations

import json

import pytest
from typer.testing import CliRunner

from totonoe import advice
from totonoe.cli.main import app
from totonoe.errors import NotFound
from totonoe_server.tools.testing import RunningServer


def test_answers_of_a_daemon_carry_advice(totonoe_server: RunningServer) -> None:
    with totonoe_server.client(agent_id="planner") as client:
        first = client.remember("The staging database listens on port 5433.")
        again = client.remember("The staging database listens on port 5433.")
        changed = client.remember("The staging database listens on port 5434.")
        assert first.advice == ""
        assert again.advice == advice.REPETITION
        assert changed.advice == advice.CONNECTIONS
        assert client.check("The staging database listens on port 5433.").advice == again.advice
        updated = client.update(
            changed.memory_id, content="The staging database listens on port 5433."
        )
        assert (updated.updated, updated.advice) == (False, advice.REPETITION)
        with pytest.raises(NotFound) as missing:
            client.get("mem_00000000000000ff")
        assert missing.value.advice == advice.NOT_FOUND
        found = client.get_many([first.memory_id, "mem_00000000000000ff"])
        assert found.advice == advice.NOT_FOUND
        assert client.forget(first.memory_id, dry_run=True).advice == ""
        assert client.forget(first.memory_id).advice == advice.FORGOT_ONE


def test_json_carries_the_advice_of_answers_and_errors(totonoe_server: RunningServer) -> None:
    def printed(*arguments: str) -> dict[str, object]:
        command = ["--address", totonoe_server.address, "--json", *arguments]
        answer: dict[str, object] = json.loads(CliRunner().invoke(app, command).stdout)
        return answer

    printed("remember", "Deploys run at noon.")
    assert printed("remember", "Deploys run at noon.")["advice"] == advice.REPETITION
    error = printed("history", "mem_00000000000000ff")["error"]
    assert isinstance(error, dict) and error["advice"] == advice.NOT_FOUND


def test_advice_of_several_forgotten_memories_is_in_the_plural() -> None:
    assert advice.after_forget(2).startswith("These memories are gone. Was there anything")
    assert advice.after_forget(0) == ""


def test_answer_that_asks_advises_to_answer() -> None:
    both = advice.after_remember(refused=False, connected=True, asked=True)
    assert both.splitlines() == [advice.CONNECTIONS, advice.ASKED]
