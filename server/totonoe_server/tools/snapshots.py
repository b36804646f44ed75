"""`totonoe snapshot verify` and `import`: snapshots' files, without a daemon."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer

File = Annotated[Path, typer.Argument(help="A snapshot's file.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]
DAMAGED, UNREADABLE = 1, 2
"""Exit codes: the file is not what was sealed; it cannot be read, or is none of ours."""


def register(app: typer.Typer) -> None:
    """Joins the commands to the group `snapshot` of `app`."""
    group = typer.Typer(no_args_is_help=True)
    group.command("verify")(verify)
    group.command("import")(import_)
    app.add_typer(group, name="snapshot")


def verify(
    ctx: typer.Context,
    file: File,
    sha256: Annotated[
        str, typer.Option(help="What its sha256 must be, as `snapshot list --json` tells it.")
    ] = "",
    as_json: AsJson = False,
) -> None:
    """Look through a snapshot's file: pages, checksum of each row, counts, digests.

    Needs neither a daemon nor a data directory. Exit code 1: the file is damaged. 2: it cannot be
    read, or is no snapshot of a format that this version knows.
    """
    from totonoe_core.engine.factory import examine_snapshot

    as_json = as_json or _asked_outside(ctx)
    try:
        examined, digest = examine_snapshot(file)
    except Exception as error:
        raise _unreadable(file, error, as_json) from None
    expected = sha256 or _sha256_of_manifest(file)
    faults = list(examined.faults)
    if expected and expected != digest:
        faults.insert(0, f"its sha256 is {digest}, and should be {expected}")
    report: dict[str, Any] = {
        "file": str(file),
        "sound": not faults,
        "sha256": digest,
        "faults": faults,
        "tables": {table.table: table.row_count for table in examined.tables},
    }
    if examined.snapshot is not None:
        snapshot = examined.snapshot
        report["snapshot"] = {
            "id": snapshot.id,
            "collection": snapshot.collection,
            "collection_uid": snapshot.collection_uid,
            "revision": snapshot.revision,
            "active_count": snapshot.active_count,
            "total_count": snapshot.total_count,
            "format": snapshot.format,
            "model": snapshot.model.name,
            "purged_count": snapshot.purged_count,
        }
    _show(report, as_json)
    if faults:
        raise typer.Exit(DAMAGED)


def import_(
    ctx: typer.Context,
    file: File,
    data_dir: Annotated[
        Path | None,
        typer.Option(help="The daemon's data directory, there already. [TOTONOE_DATA_DIR]"),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Look through a snapshot's file, and list it among the snapshots of a data directory.

    The daemon may run. Exit codes as of `verify`; 1 also if there is another one of its id.
    """
    from totonoe_core.base.errors import UnsupportedFormat
    from totonoe_core.engine.factory import DataDir
    from totonoe_server.life.config import SettingsError
    from totonoe_server.tools.options import data_dir_of

    as_json = as_json or _asked_outside(ctx)
    try:
        place = DataDir(data_dir_of(data_dir))
    except SettingsError as error:
        raise _unreadable(file, error, as_json) from None
    if not place.exists():
        raise _unreadable(file, ValueError(f"{place.path} is no data directory"), as_json)
    try:
        snapshot = place.adopt(file)
    except (OSError, UnsupportedFormat) as error:
        raise _unreadable(file, error, as_json) from None
    except Exception as error:
        _show({"file": str(file), "sound": False, "faults": [str(error)]}, as_json)
        raise typer.Exit(DAMAGED) from None
    _show(
        {
            "file": str(file),
            "sound": True,
            "sha256": snapshot.sha256,
            "faults": [],
            "snapshot": {
                "id": snapshot.id,
                "collection": snapshot.collection,
                "revision": snapshot.revision,
                "active_count": snapshot.active_count,
            },
        },
        as_json,
    )


def _asked_outside(ctx: typer.Context) -> bool:
    """Whether `--json` stands before the command."""
    return bool(getattr(ctx.obj, "as_json", False))


def _unreadable(file: Path, error: Exception, as_json: bool) -> typer.Exit:
    _show({"file": str(file), "sound": False, "faults": [str(error)]}, as_json)
    return typer.Exit(UNREADABLE)


def _sha256_of_manifest(file: Path) -> str:
    """Return the sha256 in the manifest beside a file; empty without a manifest."""
    try:
        data = json.loads(file.with_name(file.name.partition(".")[0] + ".json").read_bytes())
        return str(data["snapshot"]["sha256"]) if data["file"] == file.name else ""
    except (OSError, ValueError, KeyError, TypeError):
        return ""


def _show(report: dict[str, Any], as_json: bool) -> None:
    if as_json:
        typer.echo(json.dumps(report, ensure_ascii=False))
        return
    typer.echo(f"{report['file']}: {'sound' if report['sound'] else 'NOT SOUND'}")
    for fault in report["faults"]:
        typer.echo(f"  {fault}")
    for name, value in report.get("snapshot", {}).items():
        typer.echo(f"  {name.replace('_', ' ')}: {value}")
    if rows := report.get("tables"):
        typer.echo("  rows: " + ", ".join(f"{table} {count}" for table, count in rows.items()))
    if "sha256" in report:
        typer.echo(f"  sha256: {report['sha256']}")
