"""Commands of other packages join by entry points, and never take ours down."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any

import pytest
import typer
from typer.main import get_group
from typer.testing import CliRunner, Result

from totonoe.cli import commands, extensions
from totonoe.cli.extensions import Panel
from totonoe.cli.main import make_app
from totonoe.cli.topics import TOPICS
from totonoe.enums import Answer


class Point:
    """An entry point that loads what a test says."""

    def __init__(self, register: Callable[[typer.Typer], None] | ImportError) -> None:
        self._register = register
        self.loads = 0

    def load(self) -> Callable[[typer.Typer], None]:
        self.loads += 1
        if isinstance(self._register, ImportError):
            raise self._register
        return self._register


def register(app: typer.Typer) -> None:
    """Adds a `serve` with options of its own, and a command that we have."""

    @app.command()
    def serve(
        address: Annotated[str, typer.Option()] = "default",
        as_json: Annotated[bool, typer.Option("--json")] = False,
    ) -> None:
        typer.echo(json.dumps({"address": address, "json": as_json}))

    @app.command()
    def recall() -> None:
        typer.echo("theirs")


def run(monkeypatch: pytest.MonkeyPatch, points: list[Any], *arguments: str) -> Result:
    monkeypatch.setattr("importlib.metadata.entry_points", lambda group: points if group else [])
    monkeypatch.setenv("COLUMNS", "160")
    return CliRunner().invoke(make_app(), list(arguments))


def test_command_of_extension_runs_with_its_own_options(monkeypatch: pytest.MonkeyPatch) -> None:
    result = run(monkeypatch, [Point(register)], "serve", "--address", "x")
    assert json.loads(result.stdout) == {"address": "x", "json": False}


def test_shared_options_before_a_command_of_extension_reach_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    result = run(monkeypatch, [Point(register)], "--address", "x", "--json", "serve")
    assert json.loads(result.stdout) == {"address": "x", "json": True}


def test_shared_option_that_a_command_of_extension_lacks_is_a_usage_error(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    result = run(monkeypatch, [Point(register)], "--agent", "me", "serve")
    assert result.exit_code == 2
    assert "takes no --agent" in result.stderr


def test_own_command_is_not_replaced_and_loads_no_extension(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    point = Point(register)
    result = run(monkeypatch, [point], "recall", "--help")
    assert "Find memories by meaning" in result.stdout
    assert point.loads == 0


@pytest.mark.parametrize("name", ["serve", "verify", "demo", "quality"])
@pytest.mark.parametrize("points", [[], [Point(ImportError("No module named 'apsw'"))]])
def test_server_command_without_the_extra_says_in_one_line_how_to_get_it(
    monkeypatch: pytest.MonkeyPatch, name: str, points: list[Any]
) -> None:
    result = run(monkeypatch, points, name, "--whatever", "x")
    assert result.exit_code == 2
    because = " (No module named 'apsw')" if points else ""
    expected = f"totonoe {name} needs the server: pip install 'totonoe[server]'{because}\n"
    assert (result.stdout, result.stderr) == ("", expected)


def test_help_lists_all_commands_even_if_one_extension_cannot_load(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    broken = Point(ImportError("no"))
    result = run(monkeypatch, [broken, Point(register)], "--help")
    assert result.exit_code == 0
    for name in ("remember", "import", "collections", "serve", "quality"):
        assert name in result.stdout


def test_unknown_command_is_a_usage_error(monkeypatch: pytest.MonkeyPatch) -> None:
    assert run(monkeypatch, [], "nonsense").exit_code == 2


def test_placeholders_are_the_commands_that_the_server_has() -> None:
    from totonoe_server.tools.commands import register as register_server

    app = typer.Typer()
    register_server(app)
    commands = get_group(app).commands
    groups = {
        name: set(command.commands)
        for name, command in commands.items()
        if hasattr(command, "commands")
    }
    joined = {name: set(names) for name, names in extensions.SERVER_SUBCOMMANDS.items()}
    assert set(commands) - set(joined) == set(extensions.SERVER_COMMANDS)
    # The others are the server's alone, and one line stands for the whole group.
    assert {name: names for name, names in groups.items() if name in joined} == joined
    assert set(groups) - set(joined) == {
        "catalogue",
        "config",
        "judge",
        "store",
        "tokens",
        "certs",
    }


def test_each_topic_has_the_commands_that_it_registers() -> None:
    for topic, names in TOPICS.items():
        app = typer.Typer()
        import_module(f"totonoe.cli.commands.{topic}").register(app)
        assert set(get_group(app).commands) == set(names.split()), topic
    folder = Path(commands.__path__[0])
    registering = [path for path in folder.glob("*.py") if "def register(" in path.read_text()]
    assert {path.stem for path in registering} == set(TOPICS)


@pytest.mark.parametrize(
    ("words", "value"),
    [
        (["list", "--limit", "7"], 7),
        (["recall", "x", "--min-relevance", "0.25"], 0.25),
        (["recall", "x", "--min-relevance", "1e-2"], 0.01),
        (["recall", "x", "--tag", "a", "--tag", "b"], ["a", "b"]),
        (["resolve", "a", "b", "replaced_by"], Answer.REPLACED_BY),
    ],
)
def test_values_are_of_their_type(words: list[str], value: Any) -> None:
    app: Any = get_group(make_app())
    context = app.get_command(None, words[0]).make_context(words[0], words[1:])
    assert value in context.params.values()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["list", "--limit", "seven"], "'--limit': got 'seven', allowed: a whole number"),
        (["remember", "x", "--importance", "2.5"], "got '2.5', allowed: a whole number"),
        (["recall", "x", "--timeout", "soon"], "'--timeout': got 'soon', allowed: a number"),
        (["mcp", "install", "emacs"], "'host': got 'emacs', allowed: claude-code, claude-desktop,"),
        (["questions", "--limit", "101"], "less than or equal to 100"),
        (["recall", "x", "--min-relevance", "low"], "got 'low', allowed: a number"),
        (["resolve", "a", "b", "perhaps"], "got 'perhaps', allowed: same, different"),
    ],
)
def test_value_of_another_type_is_said_in_plain_words(words: list[str], said: str) -> None:
    result = CliRunner().invoke(make_app(), words)
    assert result.exit_code == 2
    printed = " ".join(re.sub("[│╭╮╰╯─]", " ", result.output).split())
    assert said in printed
    assert "unable to parse" not in printed and "Value error" not in printed


def test_help_shows_every_command_in_one_of_its_groups() -> None:
    """With the server's commands, which are installed here."""
    app = get_group(make_app())
    context = typer.Context(app)
    panels = {
        name: getattr(app.get_command(context, name), "rich_help_panel", None)
        for name in app.list_commands(context)
    }
    assert {"remember", "serve", "collections"} <= panels.keys()
    assert [name for name, panel in panels.items() if panel not in list(Panel)] == []
    help_text = CliRunner().invoke(make_app(), ["--help"], env={"COLUMNS": "160"}).output
    titles = re.findall(r"^╭─ ([A-Z][\w ]+?) ─", help_text, re.M)
    assert titles == ["Options", "Options of every command", *Panel]


def test_help_of_a_command_begins_with_one_short_sentence() -> None:
    app: Any = get_group(make_app())
    for name, command in app.own_commands().items():
        first = (command.help or "").partition("\n\n")[0]
        assert re.fullmatch(r"[A-Z][^.]{9,88}\.", first.replace("MEMORY.md", "")), (name, first)
