"""`totonoe config show` and `config check`: the settings that `serve` would run with."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from totonoe_server.tools import options

if TYPE_CHECKING:
    from totonoe_server.life.config import LoadedSettings


def register(app: typer.Typer) -> None:
    """Adds the group `config` to `app`."""
    group = typer.Typer(
        no_args_is_help=True,
        help="Show and check the settings of the daemon: file, environment, defaults.",
    )
    group.command("show")(show)
    group.command("check")(check)
    app.add_typer(group, name="config")


def show(
    config_file: options.ConfigFile = None,
    origin: Annotated[
        bool, typer.Option("--origin", help="Say behind each setting where its value is from.")
    ] = False,
) -> None:
    """Print the settings that `totonoe serve` would run with here, as a configuration file.

    Exit code 1: they are wrong; one line on standard error says where.
    """
    found = _loaded(config_file)
    lines = [_line(name, value) for name, value in found.settings.model_dump().items()]
    widest = max(map(len, lines))
    for line, name in zip(lines, found.settings.model_dump(), strict=True):
        typer.echo(f"{line.ljust(widest)}  # {found.origins[name]}" if origin else line)


def check(config_file: options.ConfigFile = None) -> None:
    """Check the configuration file and the environment, and change nothing.

    Exit code 0: `totonoe serve` would take them; 1: it would not, and one line says why.
    """
    found = _loaded(config_file)
    set_count = sum(origin == str(found.file) for origin in found.origins.values())
    if found.file is None:
        typer.echo("There is no configuration file; all settings are sound.")
    else:
        typer.echo(f"{found.file}: {set_count} settings are from it; all settings are sound.")


def _line(name: str, value: object) -> str:
    """Return the line of a setting; a comment if it is not set, and another one decides."""
    return f"# {name} is not set" if value is None else f"{name} = {_toml(value)}"


def _loaded(config_file: Path | None) -> LoadedSettings:
    from totonoe_server.life.config import SettingsError, load
    from totonoe_server.life.config_file import chosen_file

    try:
        return load(chosen_file(config_file), {})
    except SettingsError as error:
        typer.echo(f"totonoe: {error}", err=True)
        raise typer.Exit(1) from None


def _toml(value: Any) -> str:
    """A value as TOML writes it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return repr(value)
    # Its strings are those of JSON, but for DEL, which it wants escaped.
    return json.dumps(str(value), ensure_ascii=False).replace("\x7f", "\\u007f")
