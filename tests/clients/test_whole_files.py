"""Category `file` over the wire, by both clients and the command line."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from typer.testing import CliRunner

from totonoe.cli.main import app
from totonoe_server.tools.testing import RunningServer

TEXT = "The staging database listens on port 5433."


def test_files_are_saved_beside_their_lines_and_recalled_by_category(
    totonoe_server: RunningServer, call: Callable[..., Any]
) -> None:
    at = totonoe_server.address
    line = call(at, "remember", TEXT)
    file = call(at, "remember", TEXT, category="file", external_id="file:/memories/a.md")
    assert (file.saved, file.links, file.similar, file.question) == (True, (), (), None)
    assert {layer.skipped_because for layer in file.layers} == {"category file is kept whole"}
    assert call(at, "remember", TEXT).duplicate_of == line.memory_id
    assert [hit.memory.id for hit in call(at, "recall", TEXT).hits] == [line.memory_id]
    asked = call(at, "recall", TEXT, categories=["file"])
    assert [hit.memory.id for hit in asked.hits] == [file.memory_id]
    assert len(call(at, "list").memories) == 2
    (unmet,) = call(at, "why_not", file.memory_id, TEXT).unmet
    assert (unmet.name, unmet.asked, unmet.held) == ("categories", "any but file", "file")
    assert call(at, "clean_up_duplicates").duplicates == ()


def test_command_line_finds_files_by_category(totonoe_server: RunningServer) -> None:
    def run(*arguments: str) -> str:
        done = CliRunner().invoke(app, ["--address", totonoe_server.address, *arguments])
        assert done.exit_code == 0, done.output
        return done.output

    run("remember", TEXT, "--category", "file")
    assert "5433" not in run("recall", "staging database")
    assert "5433" in run("recall", "staging database", "--category", "file")
