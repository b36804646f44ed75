"""Both clients and the command against a daemon without an embedder."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from totonoe import Client, Method, errors
from totonoe.cli.main import app
from totonoe_server.tools.testing import running_server

PORT = "The staging database listens on port 5433."
Call = Callable[..., Any]


@pytest.fixture
def address(tmp_path: Path) -> Iterator[str]:
    with running_server(tmp_path / "data", embedder="none") as server:
        yield server.address


def test_remember_check_and_recall_without_vectors(call: Call, address: str) -> None:
    saved = call(address, "remember", PORT)
    skipped = {layer.layer: layer.skipped_because for layer in saved.layers if not layer.ran}
    assert "re-embedding" in skipped[Method.COSINE]
    checked = call(address, "check", PORT.upper())
    assert checked.duplicate.memory_id == saved.memory_id
    answer = call(address, "recall", "which port")
    assert [hit.memory.id for hit in answer.hits] == [saved.memory_id]
    assert (answer.hits[0].cosine_similarity, answer.hits[0].relevance > 0) == (None, True)
    assert answer.degraded_because
    assert len(call(address, "get", saved.memory_id, include_vectors=True).vector or ()) == 0
    results = call(address, "remember_many", [PORT, "Mika likes green tea."])
    assert [result.remembered.saved for result in results] == [False, True]


def test_commands_without_vectors(address: str, tmp_path: Path) -> None:
    def run(*arguments: str) -> Any:
        result = CliRunner().invoke(app, ["--address", address, *arguments])
        assert result.exit_code == 0, result.output
        return result

    saved = json.loads(run("remember", PORT, "--json").stdout)
    cosine = next(layer for layer in saved["layers"] if layer["layer"] == "cosine")
    assert (cosine["ran"], "has no model" in cosine["skipped_because"]) == (False, True)
    found = run("recall", "which port")
    assert "has no model" in found.stdout + found.stderr
    assert saved["memory_id"] in found.stdout
    path = str(tmp_path / "notes.jsonl")
    run("export", path, "--vectors")
    run("collections", "create", "copy")
    run("import", path, "--as-is", "--collection", "copy")
    assert saved["memory_id"] in run("recall", "port", "--collection", "copy").stdout


def test_daemon_with_another_model_names_the_command(call: Call, tmp_path: Path) -> None:
    with (
        running_server(tmp_path / "data", embedder="none") as server,
        Client(server.address) as one,
    ):
        one.remember(PORT)
    with running_server(tmp_path / "data", embedder="hashing") as server:
        with pytest.raises(errors.InvalidArgument, match="re-embedding"):
            call(server.address, "remember", "Mika likes green tea.")
        with Client(server.address) as client:
            list(client.reembed())
        assert call(server.address, "recall", "which port").degraded_because == ""
    with running_server(tmp_path / "data", embedder="hashing", embedder_dimension=64) as server:
        with pytest.raises(errors.ModelMismatch, match="re-embedding"):
            call(server.address, "remember", "Mika likes green tea.")
        answer = call(server.address, "recall", "which port")
        assert (len(answer.hits), "re-embedding" in answer.degraded_because) == (1, True)
