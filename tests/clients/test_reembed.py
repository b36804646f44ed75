"""Reembed through both clients and the command line, with a daemon that is started again."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from support.scripted import answering
from totonoe import Client
from totonoe.cli.main import app
from totonoe.enums import ReembedPhase
from totonoe.errors import FailedPrecondition
from totonoe.v1 import reembed_pb2 as pb
from totonoe_server.tools.testing import running_server

Caller = Callable[..., Any]
TEXTS = [f"valve {number} of the pump is open" for number in range(20)]


@pytest.fixture
def restarted(tmp_path: Path) -> Callable[..., Any]:
    """A server on one directory, with vectors of some length."""

    def start(dimension: int) -> Any:
        return running_server(tmp_path, embedder="hashing", embedder_dimension=dimension)

    return start


def filled(address: str) -> list[str]:
    with Client(address, agent_id="anna") as client:
        return [client.remember(text, force=True).memory_id for text in TEXTS]


def test_collection_gets_the_new_model_and_the_old_one_back(
    call: Caller, restarted: Caller
) -> None:
    with restarted(64) as server:
        ids = filled(server.address)
        with pytest.raises(FailedPrecondition) as caught:
            call(server.address, "reembed")
        assert caught.value.reason == "NOTHING_TO_REEMBED"
        assert not call(server.address, "cancel_reembed").cancelled
    with restarted(96) as server:
        with Client(server.address) as client, pytest.raises(FailedPrecondition) as caught:
            client.remember("a text that is new")
        assert caught.value.reason == "MODEL_MISMATCH"
        *progress, last = call(server.address, "reembed", operation_id="op 1", reason="better")
        assert all(isinstance(step.progress.phase, ReembedPhase) for step in progress)
        done = last.done
        assert (done.before.dimension, done.after.dimension) == (64, 96)
        assert (done.memory_count, done.embedded_count, done.replayed) == (20, 20, False)
        (again,) = call(server.address, "reembed", operation_id="op 1", reason="better")
        assert again.done.replayed
        with Client(server.address, agent_id="anna") as client:
            assert client.recall(TEXTS[3], mode="vector").hits[0].memory.id == ids[3]
            assert client.remember("a text that is new").saved
            newest = client.operations().operations
            assert [operation.kind for operation in newest][:2] == ["Remember", "Reembed"]
            with pytest.raises(FailedPrecondition) as caught:
                client.undo("op 1")
            assert caught.value.reason == "NOT_UNDOABLE"
    with restarted(64) as server:
        *_, last = call(server.address, "reembed")
        assert (last.done.after.dimension, last.done.embedded_count) == (64, 1)
        with Client(server.address, agent_id="anna") as client:
            assert client.recall(TEXTS[3], mode="vector").hits[0].memory.id == ids[3]


def test_command_shows_and_tells(restarted: Caller) -> None:
    with restarted(64) as server:
        filled(server.address)
    runner = CliRunner()
    with restarted(96) as server:
        address = ["--address", server.address]
        result = runner.invoke(app, ["reembed", "--json", *address])
        assert result.exit_code == 0, result.output
        *_, last = [json.loads(line) for line in result.stdout.splitlines()]
        assert last["done"]["embedded_count"] == 20
        result = runner.invoke(app, ["reembed", *address])
        assert result.exit_code != 0
        result = runner.invoke(app, ["reembed", "--cancel", *address])
        assert result.stdout.strip() == "Nothing was under way."


def test_words_of_the_command(run: Callable[..., Result]) -> None:
    model = {"name": "use", "version": "1", "dimension": 512}
    done = pb.ReembedDone(before=model, after=model, memory_count=3, embedded_count=2, revision=9)
    done.thresholds_reset = True
    requests: list[pb.ReembedRequest] = []

    def handler(request: pb.ReembedRequest, *_: Any) -> Any:
        requests.append(request)
        phase = pb.REEMBED_PHASE_EMBEDDING
        yield pb.ReembedResponse(progress={"phase": phase, "done_count": 1, "total_count": 3})
        yield pb.ReembedResponse(done=done)

    result = run("reembed", "--reason", "better", Reembed=handler)
    assert result.stdout.splitlines()[0].startswith("3 memories have vectors of use 1 (512)")
    assert "totonoe calibrate" in result.stdout
    assert "totonoe collections show" in result.stdout
    assert (requests[0].reason, bool(requests[0].operation_id)) == ("better", True)
    result = run("reembed", "--no-watch", Reembed=handler)
    assert result.stdout.strip() == "Under way. Watch it with: totonoe reembed"
    answer = pb.CancelReembedResponse(cancelled=True, dropped_count=7)
    result = run("reembed", "--cancel", CancelReembed=answering(answer))
    assert result.stdout.strip() == "Cancelled; 7 vectors dropped."
