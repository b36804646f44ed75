"""The command `totonoe tidy-up`: a look at an agent's memory files through a throw-away daemon."""

from __future__ import annotations

import os
import tempfile
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from totonoe.importers.tidying import Tidied

EXIT_FAILED = 1
EXIT_USAGE = 2


def register(app: typer.Typer) -> None:
    """Joins the command to `app`."""
    app.command("tidy-up")(tidy_up)


def tidy_up(
    path: Annotated[
        str,
        typer.Argument(metavar="PATH", help="A store that `import --from` reads."),
    ],
    from_: Annotated[
        str, typer.Option("--from", help="Whose store it is, as of `import`.")
    ] = "auto",
    bullets: Annotated[
        bool,
        typer.Option(
            "--bullets/--no-bullets",
            help="Of claude-code also the list items of pages without front matter.",
        ),
    ] = True,
    write: Annotated[
        bool,
        typer.Option(
            "--write",
            help="Write a copy beside it, PATH.tidied, without restatements and outdated lines.",
        ),
    ] = False,
    embedder: Annotated[
        str | None, typer.Option(help="As in `serve`. [TOTONOE_EMBEDDER, use]")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Show what an agent's memory files say twice, no more, or in two ways.

    The files go through the guard of a daemon of its own, with data in a temporary directory that
    is deleted afterwards. No daemon of yours is asked, and the files stay as they are.
    """
    os.environ.setdefault("GRPC_VERBOSITY", "NONE")
    from totonoe import TotonoeError
    from totonoe_server.life.daemon import StartupError

    settings = {"embedder": embedder or os.environ.get("TOTONOE_EMBEDDER") or "use"}
    try:
        report, copy = _look(Path(path).expanduser(), from_, bullets, write, settings)
    except ValueError as error:
        typer.echo(f"totonoe: {error}", err=True)
        raise typer.Exit(EXIT_USAGE) from None
    except (TotonoeError, StartupError) as error:
        typer.echo(f"totonoe: {error}", err=True)
        raise typer.Exit(EXIT_FAILED) from None
    if as_json:
        from totonoe.cli.session import print_json

        print_json(_json(report, copy))
    else:
        _show(report, copy)


def _look(
    path: Path, name: str, bullets: bool, write: bool, settings: dict[str, Any]
) -> tuple[Tidied, Path | None]:
    from totonoe import Client
    from totonoe.importers.detection import source_of
    from totonoe.importers.records import ReadOptions
    from totonoe.importers.tidying import TidyUp
    from totonoe_server.tools.testing import running_server

    source = source_of(name, path)
    with tempfile.TemporaryDirectory(prefix="totonoe-tidy-up-") as folder:
        place = Path(folder)
        # The socket lies in a folder of this user alone: nobody else reads the texts.
        address = f"unix:{place / 'sock'}"
        with (
            running_server(place / "data", address=address, **settings) as server,
            Client(server.address) as client,
        ):
            tidying = TidyUp(client, source, path)
            report = tidying.run(ReadOptions(bullets=bullets))
    return report, tidying.write() if write else None


def _json(report: Tidied, copy: Path | None) -> dict[str, Any]:
    from totonoe.importers.tidying import Kind
    from totonoe.words.plain import plain

    return {
        "from": report.source,
        "file": report.path,
        "read_count": report.read_count,
        "counts": {str(kind): report.count(kind) for kind in Kind},
        "findings": plain(report.findings),
        "skipped_counts": dict(Counter(str(item.reason) for item in report.skipped)),
        "copy": str(copy) if copy else None,
    }


def _show(report: Tidied, copy: Path | None) -> None:
    from totonoe.cli.printing import line
    from totonoe.importers.tidying import Kind
    from totonoe.words.text import clean

    line(f"{report.source}: {report.path}, {report.read_count} memories")
    for kind in Kind:
        for finding in (candidate for candidate in report.findings if candidate.kind is kind):
            line(f"{kind}, {clean(finding.where)}: {_one_line(finding.text)}")
            line(f"    {clean(finding.other_where)}: {_one_line(finding.other_text)}")
    line(", ".join(f"{kind}: {report.count(kind)}" for kind in Kind))
    for item in (record for record in report.skipped if record.reason.is_fault):
        detail = f" ({item.detail})" if item.detail else ""
        line(f"not read, {clean(item.where)}: {item.reason}{detail}")
    if copy is not None:
        line(f"Written: {copy}")
    else:
        line("Nothing was written.")


def _one_line(text: str) -> str:
    from totonoe.words.text import clean

    return " ".join(clean(text).split())
