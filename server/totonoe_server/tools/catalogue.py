"""`totonoe catalogue rebuild`: a lost catalogue from the collections' files, without a daemon."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

DONE, NOT_DONE, NOT_LOOKED = 0, 1, 2
_BEGUN_FROM = {
    "catalogue": "catalog.db can be read, and stays.",
    "copy": "catalog.db was set aside (catalog.db.bad). The copy of the newest snapshot takes its "
    "place.",
    "nothing": "There is no catalog.db that can be read, nor a copy beside the snapshots.",
}


def register(app: typer.Typer) -> None:
    """Joins the group `catalogue` to `app`."""
    group = typer.Typer(no_args_is_help=True, help="Repair the catalogue of collections.")
    group.command("rebuild")(rebuild)
    app.add_typer(group, name="catalogue")


def rebuild(
    data_dir: Annotated[
        Path | None,
        typer.Option(help="Directory that no daemon has open. Default: that of `serve`."),
    ] = None,
) -> None:
    """Make a lost or damaged catalog.db anew from the files of the collections.

    While no daemon runs. A catalogue that can be read stays, and gets the collections on disk that
    it does not list. Else the copy that the newest snapshot left is taken, if there is one. Of
    files with the same name the newest gets it, the others that name and their uid. A collection
    that was deleted since the copy is back. Exit code 0: done; 1: a file could not be read, or the
    disk refused; 2: the directory or its daemon is in the way.
    """
    from totonoe_core.base.errors import TotonoeError
    from totonoe_core.engine.factory import DataDir
    from totonoe_server.life.config import SettingsError
    from totonoe_server.tools.options import data_dir_of

    try:
        directory = DataDir(data_dir_of(data_dir))
    except SettingsError as error:
        raise _refused(str(error), NOT_LOOKED) from None
    if not (directory.exists() or (directory.path / "collections").is_dir()):
        raise _refused(f"{directory.path} is no data directory", NOT_LOOKED)
    try:
        directory.lock("totonoe catalogue rebuild")
    except (TotonoeError, OSError) as error:
        raise _refused(str(error), NOT_LOOKED) from None
    try:
        rebuilt = directory.rebuild_catalogue()
    except (TotonoeError, OSError) as error:
        raise _refused(str(error), NOT_DONE) from None
    finally:
        directory.release()
    typer.echo(_BEGUN_FROM[rebuilt.begun_from])
    for name, uid in rebuilt.listed:
        typer.echo(f"listed: {name} (collections/{uid})")
    if not rebuilt.listed:
        typer.echo("No collection on disk is missing in it.")
    for place, why in rebuilt.unread:
        typer.echo(f"left alone: {place}: {why}", err=True)
    raise typer.Exit(NOT_DONE if rebuilt.unread else DONE)


def _refused(why: str, code: int) -> typer.Exit:
    typer.echo(f"totonoe: {why}", err=True)
    return typer.Exit(code)
