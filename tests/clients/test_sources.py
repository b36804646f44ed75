"""The source of a memory through both clients, the command, an export and an import."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from typer.testing import CliRunner

from support.scripted import fail, scripted
from totonoe import Source
from totonoe.cli.main import app
from totonoe.errors import InvalidArgument
from totonoe.v1 import types_pb2

Call = Callable[..., Any]


def test_source_is_set_changed_filtered_and_read(store: Call) -> None:
    page = store("remember", "The museum opens at nine.", source="external").memory_id
    own = store("remember", "The pump in the cellar leaks.").memory_id
    assert store("get", page).source is Source.EXTERNAL
    assert store("get", own).source is Source.AGENT
    assert [memory.id for memory in store("list", sources=["external"]).memories] == [page]
    hits = store("recall", "museum pump", min_source=Source.AGENT).hits
    assert [hit.memory.id for hit in hits] == [own]
    assert store("update", page, source="user").memory.source is Source.USER
    assert store("update", page, source=None).memory.source is Source.AGENT
    changed = [version.changed for version in store("history", page).versions]
    assert changed.count(("source",)) == 2


def test_answers_show_the_source_of_another_memory(store: Call) -> None:
    store("remember", "The museum opens at nine.", source="external")
    assert store("remember", "The museum opens at nine.").duplicate.source is Source.EXTERNAL
    (beside,) = store("remember", "The museum opens at ten.").similar
    assert beside.source is Source.EXTERNAL


def test_unknown_source_is_refused_by_its_name(store: Call) -> None:
    with pytest.raises((InvalidArgument, ValueError), match="source"):
        store("remember", "The museum opens at nine.", source="rumour")


def test_command_sets_filters_and_shows_it(server: Any, collection: str, tmp_path: Any) -> None:
    place = ["--address", server.address, "--collection", collection]

    def run(*arguments: str, code: int = 0) -> str:
        done = CliRunner().invoke(app, [*place, *arguments])
        assert done.exit_code == code, done.output
        return done.stdout

    page = json.loads(
        run("--json", "remember", "The museum opens at nine.", "--source", "external")
    )["memory_id"]
    again = run("remember", "The museum opens at nine.", code=3)
    assert "just now): [external] The museum opens at nine." in again
    assert "[external] The museum opens at nine. (id:" in run("check", "The museum opens at ten.")
    run("remember", "The pump in the cellar leaks.")
    assert "[external] The museum opens at nine." in run("recall", "museum")
    listed = run("list")
    assert "[external] The museum" in listed and "[agent]" not in listed
    assert "source: external" in run("get", page)
    assert "museum" not in run("list", "--min-source", "tool")
    assert "pump" not in run("list", "--source", "external", "--source", "user")
    file = tmp_path / "all.jsonl"
    run("export", str(file))
    other = f"{collection}-copy"
    CliRunner().invoke(app, ["--address", server.address, "collections", "create", other])
    place[-1] = other
    run("import", str(file))
    copied = json.loads(run("--json", "list"))["memories"]
    assert {item["content"][4:10]: item["source"] for item in copied} == {
        "museum": "external",
        "pump i": "agent",
    }


def test_watch_follows_sources_only_if_it_is_asked_to() -> None:
    asked: list[Any] = []

    def ended(request: Any, context: Any) -> None:
        asked.append(request)
        fail(context, "INVALID_ARGUMENT", "UNKNOWN_FIELD")

    with scripted(Watch=ended) as address:
        for options in ([], ["--source", "external", "--min-source", "tool"]):
            CliRunner().invoke(app, ["--address", address, "watch", *options])
    everything, some = asked
    assert not everything.HasField("filter")
    assert list(some.filter.sources) == [types_pb2.SOURCE_EXTERNAL]
    assert some.filter.min_source == types_pb2.SOURCE_TOOL
