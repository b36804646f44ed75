"""Give lost commits up for `totonoe accept-loss`, while no daemon runs."""

from __future__ import annotations

from pathlib import Path

import typer

from totonoe_core.base.errors import TotonoeError
from totonoe_core.engine.factory import DataDir
from totonoe_server.life.config import SettingsError
from totonoe_server.tools.options import data_dir_of

DONE, NOT_DONE, NOT_LOOKED = 0, 1, 2


def run(name: str, catalogue: bool, revisions: str, data_dir: Path | None) -> int:
    """Gives up what is lost; returns the exit code."""
    if bool(name) == catalogue:
        return _refuse("name a collection, or give --catalogue", NOT_LOOKED)
    try:
        directory = DataDir(data_dir_of(data_dir))
    except SettingsError as error:
        return _refuse(str(error), NOT_LOOKED)
    if not directory.exists():
        return _refuse(f"{directory.path} is no data directory: it has no catalog.db", NOT_LOOKED)
    try:
        directory.lock("totonoe accept-loss")
    except (TotonoeError, OSError) as error:
        return _refuse(str(error), NOT_LOOKED)
    try:
        revision = directory.accept_loss(name, revisions)
    except TotonoeError as error:
        return _refuse(error.message, NOT_DONE)
    finally:
        directory.release()
    of = "the catalogue" if catalogue else f"collection {name!r}"
    typer.echo(f"revisions {revisions} of {of} are given up; it goes on at revision {revision}")
    return DONE


def _refuse(why: str, code: int) -> int:
    typer.echo(f"totonoe: {why}", err=True)
    return code
