"""The command that mirrors a collection in a folder."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from totonoe.cli.extensions import Panel, add
from totonoe.cli.session import ExitCode, Session

_STATED = "introspection, constraint, postmortem, decision"


def register(app: typer.Typer) -> None:
    """Adds these commands to `app`."""
    add(app, Panel.EVERYDAY, workspace)


def workspace(
    session: Session,
    directory: Annotated[
        Path, typer.Argument(metavar="DIR", help="Folder to write; created if it is missing.")
    ],
    zone: Annotated[
        str, typer.Option(help="Time zone of the daily logs, for instance Europe/Berlin.")
    ] = "UTC",
    curated_importance: Annotated[
        int, typer.Option(help="Least importance for MEMORY.md, 1 to 5.", min=1, max=5)
    ] = 4,
    curated: Annotated[
        list[str] | None,
        typer.Option(help=f"Category that is always in MEMORY.md. Default: {_STATED}."),
    ] = None,
    once: Annotated[bool, typer.Option("--once", help="Update the files, then end.")] = False,
) -> None:
    """Mirror a collection in a folder of Markdown files, until Ctrl-C.

    The folder holds daily logs, MEMORY.md and the latest monologue.
    """
    from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

    from totonoe.workspace.sync import CURATED_CATEGORIES, Busy, Rules, Workspace

    try:
        found = ZoneInfo(zone)
    except (ZoneInfoNotFoundError, ValueError):
        raise ValueError(f"--zone: got {zone!r}, allowed: an IANA name or UTC") from None
    rules = Rules(found, curated_importance, tuple(curated or CURATED_CATEGORIES))

    def tell(line: str) -> None:
        if not session.as_json:
            typer.echo(line, err=True)

    with session.client() as client:
        keeper = Workspace(directory, client, rules, tell, patient=not once)
        try:
            with keeper.locked():
                if once:
                    revision = keeper.catch_up()
                    session.show(
                        {"revision": revision},
                        lambda: typer.echo(f"up to date at revision {revision}"),
                    )
                else:
                    keeper.follow()
        except Busy as error:
            raise ValueError(str(error)) from None
        except OSError as error:
            where = error.filename or directory
            typer.echo(f"Error: cannot write {where}: {error.strerror or error}", err=True)
            raise typer.Exit(ExitCode.FAILED) from None
        except KeyboardInterrupt:
            # How it is ended.
            return
