"""Look through the files of a data directory for `totonoe verify`, while no daemon runs."""

from __future__ import annotations

import dataclasses
import json
import os
from pathlib import Path

import typer

from totonoe_core.base.errors import Quota
from totonoe_core.engine.factory import DataDir, InspectedFile
from totonoe_server.access.book import FORMAT, Book
from totonoe_server.access.errors import FileError
from totonoe_server.life.config import SettingsError
from totonoe_server.tools.options import data_dir_of

SOUND, FOUND, NOT_LOOKED = 0, 1, 2


def run(data_dir: Path | None, as_json: bool) -> int:
    """Prints what was found; returns the exit code."""
    try:
        directory = DataDir(data_dir_of(data_dir))
    except SettingsError as error:
        typer.echo(f"totonoe: {error}", err=True)
        return NOT_LOOKED
    if not directory.exists():
        path = directory.path
        typer.echo(f"totonoe: {path} is no data directory: it has no catalog.db", err=True)
        return NOT_LOOKED
    try:
        directory.lock("totonoe verify")
    except (Quota, OSError) as error:
        typer.echo(f"totonoe: {error}", err=True)
        return NOT_LOOKED
    try:
        tables = [*directory.inspect(), *_identities(directory.path)]
    finally:
        directory.release()
    sound = not any(table.findings for table in tables)
    if as_json:
        files = [dataclasses.asdict(table) for table in tables]
        typer.echo(json.dumps({"sound": sound, "files": files}, ensure_ascii=False))
    else:
        for table in tables:
            typer.echo(_line(table))
            for finding in table.findings:
                typer.echo(f"  {finding}")
    return SOUND if sound else FOUND


def _identities(data_dir: Path) -> list[InspectedFile]:
    """Look at the file of identities, if there is one: its form, its bounds and its mode."""
    book, findings = Book(data_dir), []
    count = 0
    if not os.path.lexists(book.path):
        return []
    try:
        count = len(book.read())
    except FileError as error:
        findings.append(str(error))
    return [InspectedFile(book.path.name, "", False, FORMAT, count, tuple(findings))]


def _line(table: InspectedFile) -> str:
    if table.left_by_crash:
        return f"{table.path}: left by a crash, the next start removes it"
    name = f" ({table.name}{', deleted' if table.deleted else ''})" if table.name else ""
    verdict = f"{len(table.findings)} findings" if table.findings else "sound"
    return f"{table.path}{name}: format {table.format}, {table.row_count} rows, {verdict}"
