"""What `totonoe verify` does: the files of a data directory, looked at while nobody has them."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import typer

from totonoe_core.store.inspection import Inspected, inspect
from totonoe_core.store.lockfile import DataDirBusy, DataDirLock
from totonoe_server.config import SettingsError, load_settings

SOUND, FOUND, NOT_LOOKED = 0, 1, 2


def run(data_dir: Path | None, as_json: bool) -> int:
    """Prints what was found; returns the exit code."""
    try:
        directory = load_settings(data_dir=data_dir).data_dir
    except SettingsError as error:
        typer.echo(f"totonoe: {error}", err=True)
        return NOT_LOOKED
    if not (directory / "catalog.db").exists():
        typer.echo(f"totonoe: {directory} is no data directory: it has no catalog.db", err=True)
        return NOT_LOOKED
    lock = DataDirLock(directory)
    try:
        lock.acquire("totonoe verify")
    except (DataDirBusy, OSError) as error:
        typer.echo(f"totonoe: {error}", err=True)
        return NOT_LOOKED
    try:
        found = inspect(directory)
    finally:
        lock.release()
    sound = not any(one.findings for one in found)
    if as_json:
        files = [dataclasses.asdict(one) for one in found]
        typer.echo(json.dumps({"sound": sound, "files": files}, ensure_ascii=False))
    else:
        for one in found:
            typer.echo(_line(one))
            for finding in one.findings:
                typer.echo(f"  {finding}")
    return SOUND if sound else FOUND


def _line(one: Inspected) -> str:
    name = f" ({one.name}{', deleted' if one.deleted else ''})" if one.name else ""
    verdict = f"{len(one.findings)} findings" if one.findings else "sound"
    return f"{one.path}{name}: format {one.format}, {one.row_count} rows, {verdict}"
