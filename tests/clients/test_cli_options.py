"""The command line: options in any place, exit codes, texts that are safe to show."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import grpc
import pytest
from typer.testing import CliRunner, Result

from support.scripted import answering, failing, scripted
from totonoe.cli.main import app
from totonoe.cli.text import age, clean, snippet
from totonoe.v1 import memory_service_pb2 as pb

Run = Callable[..., Result]


# -- options of every command, exit codes


@pytest.mark.parametrize(
    "arguments",
    [
        ["--json", "--agent", "me", "collections", "list"],
        ["collections", "--json", "--agent", "me", "list"],
        ["collections", "list", "--agent", "me", "--json"],
        ["--agent", "you", "collections", "--agent", "me", "list", "--json"],
    ],
)
def test_shared_options_in_any_place_mean_the_same(
    arguments: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[tuple[str, bool]] = []

    def stop(session: Any) -> None:
        seen.append((session.agent_id, session.as_json))
        raise ValueError("far enough")

    monkeypatch.setattr("totonoe.cli.session.Session.client", stop)
    assert CliRunner().invoke(app, arguments).exit_code == 2
    assert seen == [("me", True)]


def test_shared_options_fall_back_to_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOTONOE_AGENT", "env-agent")
    monkeypatch.setenv("TOTONOE_COLLECTION", "env-notes")
    requests: list[Any] = []
    with scripted(Check=answering(pb.CheckResponse(would_save=True), requests)) as address:
        monkeypatch.setenv("TOTONOE_ADDRESS", address)
        assert CliRunner().invoke(app, ["check", "a"]).exit_code == 0
        assert CliRunner().invoke(app, ["check", "a", "--agent", ""]).exit_code == 0
    assert [(item.agent_id, item.collection) for item in requests] == [
        ("env-agent", "env-notes"),
        ("", "env-notes"),
    ]


@pytest.mark.parametrize(
    ("code", "reason", "exit_code"),
    [
        ("INVALID_ARGUMENT", "EMPTY_TEXT", 1),
        ("ALREADY_EXISTS", "OPERATION_ID_REUSED", 1),
        ("INTERNAL", "INTERNAL", 1),
        ("UNAVAILABLE", "SHUTTING_DOWN", 4),
        ("DEADLINE_EXCEEDED", "DEADLINE_PASSED", 5),
    ],
)
@pytest.mark.parametrize("as_json", [False, True])
def test_error_each_kind_has_its_exit_code(
    run: Run, code: str, reason: str, exit_code: int, as_json: bool
) -> None:
    flags = ["--json"] if as_json else []
    handler = failing(code, reason, metadata={"field": "text"}, retry_delay_s=60.0)
    result = run("remember", "a", *flags, Remember=handler)
    assert result.exit_code == exit_code
    if as_json:
        assert json.loads(result.stdout) == {
            "error": {
                "code": code,
                "reason": reason,
                "message": "because",
                "details": {"field": "text"},
                "retry_delay_s": 60.0,
            }
        }
    else:
        assert (result.stdout, result.stderr) == ("", f"Error: because ({reason})\n")


def test_daemon_absent_ends_in_4_with_hint() -> None:
    with scripted() as address:
        pass
    result = CliRunner().invoke(app, ["stats", "--address", address])
    assert result.exit_code == 4
    assert f"no daemon answers at {address}; start one with `totonoe serve`" in result.stderr


@pytest.mark.parametrize(
    "arguments",
    [
        ["nonsense"],
        ["remember"],
        ["remember", "a", "--kind", "nonsense"],
        ["remember", "a", "--attributes", "[1]"],
        ["remember", "a", "--attributes", "{"],
        ["remember", "a", "--attributes", '{"a": NaN}'],
        ["remember", "a", "--created", "yesterday"],
        ["remember", "a", "--importance", "99999999999"],
        ["recall", "a", "--since", "x"],
        ["stats", "--timeout", "0"],
        ["stats", "--address", "nowhere"],
        ["update", "mem_1"],
        ["update", "mem_1", "--clear", "content"],
        ["update", "mem_1", "--tag", "a", "--clear", "tags"],
        ["collections", "update", "notes"],
        ["collections", "create", "notes", "--set", "guard.nonsense=1"],
        ["collections", "create", "notes", "--set", "guard.exact=1"],
        ["collections", "create", "notes", "--set", "decay.floor=low"],
        ["collections", "create", "notes", "--preset", "nonsense"],
        ["import", "/nonexistent/file.jsonl"],
    ],
    ids=" ".join,
)
def test_usage_mistake_ends_in_2_and_sends_nothing(arguments: list[str]) -> None:
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == 2, result.output
    assert result.stdout == ""


def test_version_is_told() -> None:
    result = CliRunner().invoke(app, ["--version"])
    assert result.exit_code == 0
    assert result.stdout.startswith("totonoe ")


# -- texts


def test_clean_text_cannot_steer_the_terminal() -> None:
    assert clean("a\x1b[2Jb\u202ec\x07\td\ne") == "a\ufffd[2Jb\ufffdc\ufffd\td\ne"


def test_snippet_of_long_text_ends_in_ellipsis_at_120() -> None:
    assert snippet("a \n\t b") == "a b"
    assert snippet("あ" * 121) == "あ" * 119 + "…"
    assert snippet("あ" * 120) == "あ" * 120


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(-5, "just now"), (59, "just now"), (60, "1m ago"), (3 * 3600, "3h ago"),
     (3 * 86400 + 5, "3d ago"), (800 * 86400, "2y ago")],
)  # fmt: skip
def test_age_reads_as_people_say_it(seconds: int, words: str) -> None:
    now = datetime(2026, 3, 1, tzinfo=UTC)
    assert age(now - timedelta(seconds=seconds), now) == words


def test_grpc_errors_do_not_leak_tracebacks(run: Run) -> None:
    def broken(_request: Any, context: grpc.ServicerContext) -> None:
        context.abort(grpc.StatusCode.UNKNOWN, "odd")

    result = run("stats", Stats=broken)
    assert (result.exit_code, result.stderr) == (1, "Error: odd (UNKNOWN)\n")
