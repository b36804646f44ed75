"""Commands that join when they are asked for: of the topics here, and of other packages.

Those of other packages are the entry points of the group `totonoe.commands`.

Each entry point is a function `register(app: typer.Typer) -> None` that adds commands. They
are loaded only when a command is asked for that this package does not have, or when all
commands are listed. One that cannot be loaded, or that says by an `ImportError` that packages
of the extra `server` are missing, takes nothing else down with it.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum
from importlib import import_module
from typing import Any

import typer
from typer.core import TyperGroup
from typer.main import get_group

from totonoe.cli.session import ExitCode, shared
from totonoe.cli.topics import TOPIC_OF, TOPICS
from totonoe.cli.values import PlainCommand, PlainGroup

GROUP = "totonoe.commands"
# Known by name, so that without the extra each of them says how to install it.
SERVER_COMMANDS = {
    "serve": "Run the daemon.",
    "verify": "Check every file of a data directory.",
    "warm-up": "Compile the kernels now, so that the first start is fast.",
    "accept-loss": "Confirm that acknowledged commits are lost.",
    "catalogue": "Make a lost catalogue of collections anew.",
    "store": "Look after the database that daemons share.",
    "demo": "Run several agents that save one conversation.",
    "config": "Show and check the settings of the daemon.",
    "tidy-up": "Show what an agent's memory files say twice, no more, or in two ways.",
    "top": "Show rates, latencies and queues of a daemon.",
    "quality": "Measure the guard and the recall on labelled files.",
    "judge": "Measure a judge on labelled pairs.",
    "tokens": "Say who may call the daemon.",
    "certs": "Make certificates for TLS.",
}
SERVER_SUBCOMMANDS = {
    "snapshot": {
        "import": "Add a snapshot's file to a data directory.",
        "verify": "Check a snapshot's file.",
    }
}
INSTALL_HINT = "pip install 'totonoe[server]'"


class Panel(StrEnum):
    """Groups of `totonoe --help`, in their order."""

    EVERYDAY = "Everyday"
    TIDY_UP = "Tidy up"
    UNDO_AND_HISTORY = "Undo and history"
    ADMINISTRATION = "Administration"


_SHARED_FLAGS = {
    "address": "--address",
    "agent": "--agent",
    "collection": "--collection",
    "timeout": "--timeout",
    "as_json": "--json",
    "token_file": "--token-file",
    "tls_ca": "--tls-ca",
    "tls_cert": "--tls-cert",
    "tls_key": "--tls-key",
}


class OpenGroup(PlainGroup):
    """A group of this package's commands that those of the same group of other packages join."""

    def __init__(self, **attributes: Any) -> None:
        super().__init__(**attributes)
        self._joined = False

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Return the command of this name; commands of this package come first."""
        if super().get_command(ctx, cmd_name) is None:
            self._join_once()
        return super().get_command(ctx, cmd_name)

    def list_commands(self, ctx: Any) -> list[str]:
        """Names of all commands."""
        self._join_once()
        return super().list_commands(ctx)

    def _join_once(self) -> None:
        if not self._joined:
            self._joined = True
            self._join(*_load())

    def _join(self, taken_in: dict[str, Any], failure: str) -> None:
        """Add the commands of other packages; none replaces an existing one."""
        for name, command in getattr(taken_in.get(self.name or ""), "commands", {}).items():
            self.commands.setdefault(name, command)
        for name, purpose in SERVER_SUBCOMMANDS.get(self.name or "", {}).items():
            self.commands.setdefault(name, _placeholder(f"{self.name} ", name, purpose, failure))


class RootGroup(OpenGroup):
    """The group of all commands: each topic, and other packages, join at their first use."""

    def __init__(self, **attributes: Any) -> None:
        super().__init__(**attributes)
        self._taken_in: set[str] = set()

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Return the command of this name, which joins from its topic."""
        if cmd_name in TOPIC_OF and cmd_name not in self.commands:
            self._join_topic(TOPIC_OF[cmd_name], cmd_name)
        return super().get_command(ctx, cmd_name)

    def own_commands(self) -> dict[str, Any]:
        """Return the commands of all topics by name, without those of other packages."""
        for topic in TOPICS:
            self._join_topic(topic)
        return {name: self.commands[name] for name in TOPIC_OF}

    def _join_topic(self, topic: str, name: str = "") -> None:
        """Add the command of a name, or all commands of a topic. Typer takes time to make one."""
        app = typer.Typer()
        import_module(f"totonoe.cli.commands.{topic}").register(app)
        if name:
            app.registered_commands = [
                info for info in app.registered_commands if info.name == name
            ]
            app.registered_groups = [info for info in app.registered_groups if info.name == name]
        for made, command in get_group(app).commands.items():
            self.commands.setdefault(made, command)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Return the command to run, with the shared options that stand before it."""
        name, command, rest = super().resolve_command(ctx, args)
        if name in self._taken_in:
            _hand_over(ctx, name, command)
        return name, command, rest

    def list_commands(self, ctx: Any) -> list[str]:
        """Names of all commands, those of a panel together and groups behind single commands."""
        names = dict.fromkeys([*self.own_commands(), *super().list_commands(ctx)])
        return sorted(names, key=lambda name: _place(self.commands[name]))

    def _join(self, taken_in: dict[str, Any], failure: str) -> None:
        for name, command in taken_in.items():
            if name not in self.commands:
                self.commands[name] = command
                self._taken_in.add(name)
        for name, purpose in SERVER_COMMANDS.items():
            self.commands.setdefault(name, _placeholder("", name, purpose, failure))


def add(app: typer.Typer, panel: Panel | None, *commands: Callable[..., None]) -> None:
    """Add commands with the shared options to `app`, in a panel of its help.

    A command is called as its function, with `-` in place of `_`.
    """
    for command in commands:
        name = command.__name__.rstrip("_").replace("_", "-")
        app.command(name, cls=PlainCommand, rich_help_panel=panel)(shared(command))


def add_group(
    app: typer.Typer,
    panel: Panel,
    group: Callable[..., None],
    *commands: Callable[..., None],
    cls: type[TyperGroup] = PlainGroup,
    alone: bool = False,
) -> None:
    """Add commands below a group that has the name of the function `group`.

    With `alone` the group is a command itself, where no command below it is named.
    """
    below = typer.Typer(no_args_is_help=not alone, invoke_without_command=alone, cls=cls)
    below.callback()(shared(group))
    add(below, None, *commands)
    app.add_typer(below, name=group.__name__, rich_help_panel=panel)


def _place(command: Any) -> tuple[int, bool]:
    """Sort key of commands: by panel, groups behind single commands."""
    return list(Panel).index(command.rich_help_panel), hasattr(command, "commands")


def _load() -> tuple[dict[str, Any], str]:
    """Load the commands of all entry points; also return why some failed."""
    from importlib.metadata import entry_points

    app = typer.Typer()
    failure = ""
    for point in entry_points(group=GROUP):
        try:
            point.load()(app)
        except ImportError as error:
            failure = str(error)
    commands = dict(get_group(app).commands)
    for command in commands.values():
        panel: Any = command
        # A command of another package that names no panel of ours.
        if panel.rich_help_panel not in list(Panel):
            panel.rich_help_panel = Panel.ADMINISTRATION
    return commands, failure


def _placeholder(group: str, name: str, purpose: str, failure: str) -> Any:
    """Make a command that says how to install the real one. `group` ends in a space."""
    app = typer.Typer()
    accept_all = {"ignore_unknown_options": True, "allow_extra_args": True}
    because = f" ({failure})" if failure else ""

    @app.command(
        name,
        help=f"{purpose} Needs the extra `server`.",
        context_settings=accept_all,
        rich_help_panel=Panel.ADMINISTRATION,
    )
    def missing(ctx: typer.Context) -> None:  # noqa: ARG001 - takes any arguments
        typer.echo(f"totonoe {group}{name} needs the server: {INSTALL_HINT}{because}", err=True)
        raise typer.Exit(ExitCode.USAGE)

    return get_group(app).commands[name]


def _hand_over(ctx: Any, name: str, command: Any) -> None:
    """Pass the shared options before the command to the command, if it has them.

    Raises
    ------
    typer.BadParameter
        If it does not have one that was given: it would be passed over in silence.
    """
    flags = {flag: item.name for item in command.get_params(ctx) for flag in item.opts}
    defaults = {}
    for parameter, flag in _SHARED_FLAGS.items():
        value = ctx.params.get(parameter)
        if value is None or value is False:
            continue
        if flag not in flags:
            raise typer.BadParameter(f"`totonoe {name}` takes no {flag}")
        defaults[flags[flag]] = value
    ctx.default_map = {**(ctx.default_map or {}), name: defaults}
