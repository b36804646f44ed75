"""The command `totonoe demo`. Loads nothing heavy until it is run."""

from __future__ import annotations

import json
import os
import signal
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from totonoe_server.tools.bars import progress

if TYPE_CHECKING:
    from totonoe_server.tools.demo.conversation import Conversation

AGENTS_MAX = 16
EXIT_FAILED = 1
EXIT_USAGE = 2


def register(app: typer.Typer) -> None:
    """Joins the command to `app`."""
    app.command("demo")(demo)


def demo(
    memories: Annotated[
        Path | None,
        typer.Option(help="Memories of a recall file. Default: a conversation that comes along."),
    ] = None,
    queries: Annotated[
        Path | None,
        typer.Option(help="Its questions. Default: *_queries* beside the memories."),
    ] = None,
    level: Annotated[
        str, typer.Option(help="Which memories of a file with several levels.")
    ] = "observation",
    agents: Annotated[
        int, typer.Option(min=1, max=AGENTS_MAX, help="How many processes remember and ask.")
    ] = 4,
    embedder: Annotated[
        str | None, typer.Option(help="Of the daemon, as in `serve`. [TOTONOE_EMBEDDER, use]")
    ] = None,
    embedder_model: Annotated[
        str | None, typer.Option(help="As in `serve`. [TOTONOE_EMBEDDER_MODEL]")
    ] = None,
    embedder_path: Annotated[
        str | None, typer.Option(help="As in `serve`. [TOTONOE_EMBEDDER_PATH]")
    ] = None,
    embedder_base_url: Annotated[
        str | None, typer.Option(help="As in `serve`. [TOTONOE_EMBEDDER_BASE_URL]")
    ] = None,
    embedder_api_key_env: Annotated[
        str | None, typer.Option(help="As in `serve`. [TOTONOE_EMBEDDER_API_KEY_ENV]")
    ] = None,
    embedder_dimension: Annotated[
        int | None, typer.Option(help="As in `serve`. [TOTONOE_EMBEDDER_DIMENSION]")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Several agents remember a conversation at once through a daemon, then recall it.

    The daemon is a new one on a free port, with data in a temporary directory; both are gone
    afterwards. Exit code 1 if of many that say the same at once not exactly one is saved.
    """
    given = {
        "--embedder": embedder,
        "--embedder-model": embedder_model,
        "--embedder-path": embedder_path,
        "--embedder-base-url": embedder_base_url,
        "--embedder-api-key-env": embedder_api_key_env,
        "--embedder-dimension": embedder_dimension,
    }
    options = [f"{name}={value}" for name, value in given.items() if value is not None]
    os.environ.setdefault("GRPC_VERBOSITY", "NONE")
    from totonoe import TotonoeError
    from totonoe_server.tools.demo.processes import DemoError
    from totonoe_server.tools.quality.files import FileError

    try:
        conversation = _conversation(memories, queries, level)
        report = _run(conversation, agents, options)
    except (FileError, DemoError, TotonoeError) as error:
        typer.echo(f"totonoe: {error}", err=True)
        usage = isinstance(error, FileError)
        raise typer.Exit(EXIT_USAGE if usage else EXIT_FAILED) from None
    if as_json:
        typer.echo(json.dumps(report, ensure_ascii=False, indent=2))
    else:
        from totonoe_server.tools.demo.tables import show

        show(report)
    if not report["race"]["ok"]:
        raise typer.Exit(EXIT_FAILED)


def _conversation(memories: Path | None, queries: Path | None, level: str) -> Conversation:
    from totonoe_server.tools.demo import conversation

    if memories is None:
        if queries is not None:
            raise typer.BadParameter("--queries needs --memories")
        return conversation.shipped()
    return conversation.from_files(memories, queries, level)


def _run(conversation: Conversation, agents: int, options: list[str]) -> dict[str, Any]:
    from totonoe_server.tools.demo.processes import daemon
    from totonoe_server.tools.demo.story import tell

    with _ending_in_order(), tempfile.TemporaryDirectory(prefix="totonoe-demo-") as directory:
        place = Path(directory)
        with (
            daemon(place / "data", place / "daemon.log", options) as address,
            progress() as begin,
        ):
            return tell(conversation, address, agents, place, begin)


@contextmanager
def _ending_in_order() -> Iterator[None]:
    """SIGTERM ends this process as Ctrl-C does, after everything has been cleared away."""

    def stop(number: int, _: Any) -> None:
        signal.signal(number, signal.SIG_IGN)  # once is enough
        raise SystemExit(128 + number)

    before = signal.signal(signal.SIGTERM, stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
