"""`totonoe store`: the tables of the database that daemons share, and copies into it and back."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import typer

from totonoe_server.tools import options, store_copy

if TYPE_CHECKING:
    from totonoe_server.life.config import Settings


def register(app: typer.Typer) -> None:
    """Join the group `store` to `app`."""
    group = typer.Typer(
        no_args_is_help=True, help="Look after the database that daemons share (`serve --store`)."
    )
    group.command("migrate")(migrate)
    group.command("copy")(store_copy.copy)
    app.add_typer(group, name="store")


def migrate(
    config_file: options.ConfigFile = None,
    store: options.Store = None,
) -> None:
    """Make the tables in an empty database, or bring those of an earlier version to today's.

    Daemons may run: one of an earlier version goes on until it is restarted, and then ends with one
    line. Two at once are done once. Exit code 0: the tables are of this version; 2: they are not,
    and one line says why.
    """
    with options.one_line_errors():
        settings = _settings(config_file, options.store_of(store))
    if not settings.store:
        typer.echo("totonoe: store: name the database, --store postgresql://HOST/NAME", err=True)
        raise typer.Exit(2)
    with options.one_line_errors():
        before, now = options.database_of(settings).migrate()
    was = f"before: {before}" if before else "it was empty"
    typer.echo(
        f"The database is of version {now} already; nothing to do."
        if before == now
        else f"The database is of version {now} now ({was})."
    )


def _settings(config_file: Path | None, store: str | None) -> Settings:
    from totonoe_server.life import config
    from totonoe_server.life.config_file import chosen_file

    return config.load(chosen_file(config_file), {"store": store}, listens=False).settings
