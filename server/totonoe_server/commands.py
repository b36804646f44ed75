"""What the server adds to the `totonoe` command. Loads nothing heavy until it is run."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from totonoe_server import snapshot_command
from totonoe_server.demo import command as demo_command
from totonoe_server.quality import command as quality_command


def register(app: typer.Typer) -> None:
    """Joins the server's commands to `app` (entry-point group `totonoe.commands`)."""
    app.command("serve")(serve)
    app.command("verify")(verify)
    demo_command.register(app)
    quality_command.register(app)
    snapshot_command.register(app)


def serve(
    address: Annotated[
        str | None,
        typer.Option(
            help="Where to listen: host:port or unix:/path, several with commas. Loopback and "
            "Unix sockets only. [TOTONOE_ADDRESS, 127.0.0.1:7766]"
        ),
    ] = None,
    data_dir: Annotated[
        Path | None,
        typer.Option(help="Directory that holds everything. [TOTONOE_DATA_DIR]"),
    ] = None,
    embedder: Annotated[
        str | None,
        typer.Option(
            help="use, hashing, openai, sentence-transformers, model2vec or none. "
            "[TOTONOE_EMBEDDER, use]"
        ),
    ] = None,
    embedder_model: Annotated[
        str | None, typer.Option(help="openai: name of the model. [TOTONOE_EMBEDDER_MODEL]")
    ] = None,
    embedder_path: Annotated[
        str | None,
        typer.Option(
            help="sentence-transformers, model2vec: directory of the model. [TOTONOE_EMBEDDER_PATH]"
        ),
    ] = None,
    embedder_base_url: Annotated[
        str | None,
        typer.Option(help="openai: http://host/v1 of the service. [TOTONOE_EMBEDDER_BASE_URL]"),
    ] = None,
    embedder_api_key_env: Annotated[
        str | None,
        typer.Option(
            help="openai: environment variable with the key. [TOTONOE_EMBEDDER_API_KEY_ENV]"
        ),
    ] = None,
    embedder_dimension: Annotated[
        int | None,
        typer.Option(help="Length of the vectors, 0 for the model's. [TOTONOE_EMBEDDER_DIMENSION]"),
    ] = None,
    embedder_timeout_s: Annotated[
        float | None,
        typer.Option(help="openai: limit for each try. [TOTONOE_EMBEDDER_TIMEOUT_S, 10]"),
    ] = None,
    embedder_workers: Annotated[
        int | None, typer.Option(help="Processes that embed. [TOTONOE_EMBEDDER_WORKERS, 1]")
    ] = None,
    judge: Annotated[
        str | None,
        typer.Option(
            help="What is asked about borderline pairs: none, openai or nli. [TOTONOE_JUDGE, none]"
        ),
    ] = None,
    judge_url: Annotated[
        str | None, typer.Option(help="openai: http://host/v1 of the service. [TOTONOE_JUDGE_URL]")
    ] = None,
    judge_model: Annotated[
        str | None, typer.Option(help="openai: name of the model. [TOTONOE_JUDGE_MODEL]")
    ] = None,
    judge_api_key_env: Annotated[
        str | None,
        typer.Option(help="openai: environment variable with the key. [TOTONOE_JUDGE_API_KEY_ENV]"),
    ] = None,
    judge_path: Annotated[
        str | None, typer.Option(help="nli: directory of the model. [TOTONOE_JUDGE_PATH]")
    ] = None,
    judge_deadline_s: Annotated[
        float | None,
        typer.Option(help="What a write waits for it at most. [TOTONOE_JUDGE_DEADLINE_S, 2]"),
    ] = None,
    judge_from: Annotated[
        float | None,
        typer.Option(help="Least probability that is asked about. [TOTONOE_JUDGE_FROM, 0.5]"),
    ] = None,
    judge_refinements: Annotated[
        bool | None,
        typer.Option(
            "--judge-refinements",
            help="Ask too where one text has a little more. [TOTONOE_JUDGE_REFINEMENTS]",
        ),
    ] = None,
    collection_idle_s: Annotated[
        float | None,
        typer.Option(
            help="Closes a collection after so long without a call, 0: never. "
            "[TOTONOE_COLLECTION_IDLE_S, 300]"
        ),
    ] = None,
    memory_budget_mb: Annotated[
        int | None,
        typer.Option(
            help="What open collections may hold, 0: half of the machine's memory. "
            "[TOTONOE_MEMORY_BUDGET_MB, 0]"
        ),
    ] = None,
    purge_deleted_days: Annotated[
        float | None,
        typer.Option(
            help="Purges a deleted collection after so many days, 0: never. "
            "[TOTONOE_PURGE_DELETED_DAYS, 0]"
        ),
    ] = None,
    verify_interval_h: Annotated[
        float | None,
        typer.Option(
            help="Hours from one look at everything to the next; 0: never. "
            "[TOTONOE_VERIFY_INTERVAL_H, 24]"
        ),
    ] = None,
    verify_share: Annotated[
        float | None,
        typer.Option(help="Share of one core that it takes. [TOTONOE_VERIFY_SHARE, 0.05]"),
    ] = None,
    snapshot_every_h: Annotated[
        float | None,
        typer.Option(
            help="Take a snapshot of what changed, every so many hours; 0: never. "
            "[TOTONOE_SNAPSHOT_EVERY_H, 0]"
        ),
    ] = None,
    snapshot_keep: Annotated[
        int | None,
        typer.Option(
            help="How many of these stay, for each collection. [TOTONOE_SNAPSHOT_KEEP, 7]"
        ),
    ] = None,
    grace_s: Annotated[
        float | None,
        typer.Option(help="Time for running calls after SIGTERM. [TOTONOE_GRACE_S, 10]"),
    ] = None,
    log_level: Annotated[
        str | None,
        typer.Option(help="debug, info, warning or error. [TOTONOE_LOG_LEVEL, info]"),
    ] = None,
    log_format: Annotated[
        str | None, typer.Option(help="console or json. [TOTONOE_LOG_FORMAT, console]")
    ] = None,
) -> None:
    """Run the daemon until Ctrl-C or SIGTERM. A second Ctrl-C stops it at once."""
    given = dict(locals())
    from totonoe_server import process

    process.limit_threads()
    process.hold_collector()
    from totonoe_server import config, logs, runner

    try:
        settings = config.load_settings(**given)
    except config.SettingsError as error:
        typer.echo(f"totonoe: {error}", err=True)
        raise typer.Exit(runner.ExitCode.NOT_STARTED) from None
    logs.configure(settings.log_level, settings.log_format)
    raise typer.Exit(runner.run(settings))


def verify(
    data_dir: Annotated[
        Path | None,
        typer.Argument(help="Directory that no daemon has open. Default: that of `serve`."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Look at every file of a data directory while no daemon runs; changes nothing.

    SQLite's own check, every row against its checksum, revisions without a gap, links both ways.
    Exit code 0: all of it is sound; 1: something was found; 2: it could not be looked at.
    """
    from totonoe_server import verify_command

    raise typer.Exit(verify_command.run(data_dir, as_json))
