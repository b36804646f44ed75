"""The command line: options in any place, exit codes, texts that are safe to show."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import grpc
import pytest
from rich.cells import cell_len
from typer.testing import CliRunner, Result

from support.scripted import answering, failing, scripted
from totonoe.cli.main import app
from totonoe.cli.printing import table
from totonoe.cli.session import json_text
from totonoe.unprintable import escaped
from totonoe.v1 import memory_service_pb2 as pb
from totonoe.words.text import age, clean, snippet

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
                "advice": "",
            }
        }
    else:
        assert (result.stdout, result.stderr) == ("", f"Error: because ({reason})\n")


def test_daemon_absent_waits_says_so_and_ends_in_4_with_hint(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("totonoe.cli.connection.START_WAIT_S", 0.2)
    with scripted() as address:
        pass
    result = CliRunner().invoke(app, ["stats", "--address", address])
    assert result.exit_code == 4
    assert result.stdout == ""
    assert result.stderr.startswith(f"Waiting 0.2 s for a daemon at {address} ...\n")
    assert (
        f"no daemon answers at {address}; start one with `totonoe serve --address {address}`"
        in result.stderr
    )


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
    assert clean("a\r\nb\rc") == "a\nb\ufffdc"


# All that ends a line for Python, an editor or a terminal, but for the line feed.
SEPARATORS = "\r\x0b\x0c\x1c\x1d\x1e\x85\u2028\u2029"


@pytest.mark.parametrize("separator", SEPARATORS, ids=ascii)
def test_clean_text_has_no_line_separator_but_line_feeds(separator: str) -> None:
    assert clean(f"a{separator}b") == "a\ufffdb"
    assert len(escaped(f"a{separator}b").splitlines()) == 1


def test_json_escapes_what_steers_and_reads_back_the_same() -> None:
    steering = "\x7f\x80\x85\x9b\x9f\u061c\u200e\u200f\u2028\u2029\u202a\u202e\u2066\u2069"
    text = f"日本語 é{steering}"
    printed = json_text({"content": text})
    assert not set(steering) & set(printed)
    assert "日本語 é\\u007f" in printed
    assert json.loads(printed) == {"content": text}


# -- tables


def shown(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], width: int
) -> list[str]:
    monkeypatch.setenv("COLUMNS", str(width))
    table(
        ("#", "relevance", "age", "id", "memory"),
        [("1", "0.71", "3d ago", "mem_8f0ee5e874fc03a0", "ポートは5433、 staging のもの")],
        wide="memory",
    )
    lines = capsys.readouterr().out.splitlines()
    assert all(cell_len(line) <= width or line.startswith("Left out") for line in lines)
    return lines


@pytest.mark.parametrize(
    ("width", "left_out"),
    [(80, ""), (60, ""), (59, "age"), (50, "relevance, age"), (40, "relevance, age"),
     (36, "#, relevance, age")],
)  # fmt: skip
def test_table_keeps_the_text_and_whole_ids_on_a_narrow_terminal(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], width: int, left_out: str
) -> None:
    lines = shown(monkeypatch, capsys, width)
    assert "mem_8f0ee5e874fc03a0" in lines[2]
    cells = "".join(line.rpartition("│")[2].strip() for line in lines[2:] if "│" in line)
    assert cells.replace(" ", "") == "ポートは5433、stagingのもの"
    expected = f"Left out for want of room: {left_out}"
    assert (lines[-1] == expected) if left_out else ("Left out" not in lines[-1])


def test_table_on_a_tiny_terminal_folds_the_id_too(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = shown(monkeypatch, capsys, 20)
    ids = "".join(line.partition("│")[0].strip() for line in lines[2:] if "│" in line)
    assert ids == "mem_8f0ee5e874fc03a0"


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
