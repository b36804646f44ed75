"""Commands of other packages: the entry points of the group `totonoe.commands`.

Each entry point is a function `register(app: typer.Typer) -> None` that adds commands. They
are loaded only when a command is asked for that this package does not have, or when all
commands are listed; and one that cannot be loaded (a package of the extra `server` is
missing) takes nothing else down with it.
"""

from __future__ import annotations

from importlib.metadata import entry_points
from typing import Any

import typer
from typer.core import TyperGroup
from typer.main import get_group

from totonoe.cli.session import ExitCode

GROUP = "totonoe.commands"
# Known by name, so that without the extra the answer is how to get them.
SERVER_COMMANDS = {
    "serve": "Run the daemon.",
    "demo": "Several agents remember a conversation through one daemon.",
    "quality": "Measure the guard and the recall on labelled files.",
}
SERVER_SUBCOMMANDS = {
    "snapshot": {
        "import": "List a snapshot's file among those of a data directory.",
        "verify": "Look through a snapshot's file.",
    }
}
INSTALL_HINT = "pip install 'totonoe[server]'"

_SHARED_FLAGS = {
    "address": "--address",
    "agent": "--agent",
    "collection": "--collection",
    "timeout": "--timeout",
    "as_json": "--json",
}


class RootGroup(TyperGroup):
    """The group of all commands, which fetches those of other packages when needed."""

    def __init__(self, **attributes: Any) -> None:
        super().__init__(**attributes)
        self._joined = False
        self._taken_in: set[str] = set()

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """The command of this name, of this package first."""
        if super().get_command(ctx, cmd_name) is None:
            self._join()
        return super().get_command(ctx, cmd_name)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """The command that is run, with the shared options that stand before it."""
        name, command, rest = super().resolve_command(ctx, args)
        if name in self._taken_in:
            _hand_over(ctx, name, command)
        return name, command, rest

    def list_commands(self, ctx: Any) -> list[str]:
        """Names of all commands."""
        self._join()
        return super().list_commands(ctx)

    def _join(self) -> None:
        """Adds the commands of other packages, once; none replaces one that is there."""
        if self._joined:
            return
        self._joined = True
        taken_in, failure = _load()
        for name, command in taken_in.items():
            if name not in self.commands:
                self.commands[name] = command
                self._taken_in.add(name)
        for name, purpose in SERVER_COMMANDS.items():
            self.commands.setdefault(name, _placeholder(name, purpose, failure))


class OpenGroup(TyperGroup):
    """A group of this package's commands that those of the same group of other packages join."""

    def __init__(self, **attributes: Any) -> None:
        super().__init__(**attributes)
        self._joined = False

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """The command of this name, of this package first."""
        if super().get_command(ctx, cmd_name) is None:
            self._join()
        return super().get_command(ctx, cmd_name)

    def list_commands(self, ctx: Any) -> list[str]:
        """Names of all commands."""
        self._join()
        return super().list_commands(ctx)

    def _join(self) -> None:
        if self._joined:
            return
        self._joined = True
        taken_in, failure = _load()
        for name, command in getattr(taken_in.get(self.name or ""), "commands", {}).items():
            self.commands.setdefault(name, command)
        for name, purpose in SERVER_SUBCOMMANDS.get(self.name or "", {}).items():
            self.commands.setdefault(name, _placeholder(name, purpose, failure))


def _load() -> tuple[dict[str, Any], str]:
    """Commands of all entry points, and why some could not be loaded."""
    app = typer.Typer()
    failure = ""
    for point in entry_points(group=GROUP):
        try:
            point.load()(app)
        except ImportError as error:
            failure = str(error)
    return dict(get_group(app).commands), failure


def _placeholder(name: str, purpose: str, failure: str) -> Any:
    """A command that says in one line how to get the real one."""
    app = typer.Typer()
    accept_all = {"ignore_unknown_options": True, "allow_extra_args": True}
    because = f" ({failure})" if failure else ""

    @app.command(name, help=f"{purpose} Needs the extra `server`.", context_settings=accept_all)
    def missing(ctx: typer.Context) -> None:  # noqa: ARG001 - takes any arguments
        typer.echo(f"totonoe {name} needs the server: {INSTALL_HINT}{because}", err=True)
        raise typer.Exit(ExitCode.USAGE)

    return get_group(app).commands[name]


def _hand_over(ctx: Any, name: str, command: Any) -> None:
    """Gives the shared options that stand before the command to the command, if it has them.

    Raises
    ------
    typer.BadParameter
        If it does not have one that was given: it would be passed over in silence.
    """
    flags = {flag: item.name for item in command.params for flag in item.opts}
    defaults = {}
    for parameter, flag in _SHARED_FLAGS.items():
        value = ctx.params.get(parameter)
        if value is None or value is False:
            continue
        if flag not in flags:
            raise typer.BadParameter(f"`totonoe {name}` takes no {flag}")
        defaults[flags[flag]] = value
    ctx.default_map = {**(ctx.default_map or {}), name: defaults}
