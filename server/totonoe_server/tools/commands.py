"""Commands that the server adds to `totonoe`. Loads nothing heavy until it is run."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from totonoe_server import extra
from totonoe_server.tools import (
    catalogue,
    certs,
    options,
    settings,
    snapshots,
    store,
    tidy_up,
    tokens,
)
from totonoe_server.tools.demo import command as demo_command
from totonoe_server.tools.judge import command as judge_command
from totonoe_server.tools.quality import command as quality_command
from totonoe_server.tools.top import command as top_command


def register(app: typer.Typer) -> None:
    """Joins the server's commands to `app` (entry-point group `totonoe.commands`).

    Raises
    ------
    extra.MissingExtraError
        The extra `server` is not installed: no command could run. `app` is unchanged.
    """
    extra.require()
    app.command("serve")(serve)
    app.command("verify")(verify)
    app.command("warm-up")(warm_up)
    app.command("accept-loss")(accept_loss)
    catalogue.register(app)
    demo_command.register(app)
    judge_command.register(app)
    quality_command.register(app)
    snapshots.register(app)
    store.register(app)
    settings.register(app)
    tidy_up.register(app)
    top_command.register(app)
    tokens.register(app)
    certs.register(app)


def serve(
    config_file: options.ConfigFile = None,
    address: Annotated[
        list[str] | None,
        typer.Option(
            help="Where to listen: host:port or unix:/path, several with commas, or repeated. "
            "[TOTONOE_ADDRESS, 127.0.0.1:7766 and totonoe.sock in the data directory]"
        ),
    ] = None,
    port: Annotated[str | None, typer.Option(hidden=True)] = None,
    tls_cert: Annotated[
        str | None,
        typer.Option(
            help="Certificate in PEM; needed for an address that other machines reach. "
            "[TOTONOE_TLS_CERT]"
        ),
    ] = None,
    tls_key: Annotated[
        str | None, typer.Option(help="Key of the certificate, in PEM. [TOTONOE_TLS_KEY]")
    ] = None,
    tls_client_ca: Annotated[
        str | None,
        typer.Option(
            help="Authority, in PEM, whose certificates clients must have. [TOTONOE_TLS_CLIENT_CA]"
        ),
    ] = None,
    data_dir: Annotated[
        Path | None,
        typer.Option(help="Directory that holds everything. [TOTONOE_DATA_DIR]"),
    ] = None,
    store: options.Store = None,
    store_pooler: Annotated[
        bool | None,
        typer.Option(
            "--store-pooler",
            help="A transaction pooler lies in between. [TOTONOE_STORE_POOLER]",
        ),
    ] = None,
    daemons: Annotated[
        int | None,
        typer.Option(
            help="store: daemons that are started, behind the same addresses. [TOTONOE_DAEMONS, 1]"
        ),
    ] = None,
    embedder: Annotated[
        str | None,
        typer.Option(
            help="use, hashing, openai, sentence-transformers, model2vec or none. "
            "[TOTONOE_EMBEDDER, use]"
        ),
    ] = None,
    embedder_model: options.EmbedderModel = None,
    embedder_path: options.EmbedderPath = None,
    embedder_base_url: options.EmbedderBaseUrl = None,
    embedder_api_key_env: options.EmbedderApiKeyEnv = None,
    embedder_dimension: options.EmbedderDimension = None,
    embedder_timeout_s: Annotated[
        float | None,
        typer.Option(help="openai: limit for each try. [TOTONOE_EMBEDDER_TIMEOUT_S, 10]"),
    ] = None,
    embedder_workers: Annotated[
        int | None, typer.Option(help="Processes that embed. [TOTONOE_EMBEDDER_WORKERS, 1]")
    ] = None,
    judge: options.Judge = None,
    judge_processes: options.JudgeProcesses = None,
    judge_url: options.JudgeUrl = None,
    judge_model: options.JudgeModel = None,
    judge_api_key_env: options.JudgeApiKeyEnv = None,
    judge_dialect: options.JudgeDialect = None,
    judge_agreed_from: options.JudgeAgreedFrom = None,
    judge_deadline_s: options.JudgeDeadlineS = None,
    judge_from: options.JudgeFrom = None,
    judge_refinements: options.JudgeRefinements = None,
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
    metrics_address: Annotated[
        str | None,
        typer.Option(
            help="Where Prometheus reads metrics: host:port, or a port of 127.0.0.1. "
            "[TOTONOE_METRICS_ADDRESS, nowhere]"
        ),
    ] = None,
    tracing_endpoint: Annotated[
        str | None,
        typer.Option(
            help="Where traces are sent, by OTLP over gRPC: http://host:port, or https. "
            "[TOTONOE_TRACING_ENDPOINT, nowhere]"
        ),
    ] = None,
    log_level: Annotated[
        str | None,
        typer.Option(help="debug, info, warning or error. [TOTONOE_LOG_LEVEL, info]"),
    ] = None,
    log_calls: Annotated[
        str | None,
        typer.Option(
            help="Severity of the line that each call leaves in the log: debug, info, warning or "
            "error. [TOTONOE_LOG_CALLS, debug]"
        ),
    ] = None,
    log_format: Annotated[
        str | None, typer.Option(help="console or json. [TOTONOE_LOG_FORMAT, console]")
    ] = None,
) -> None:
    """Run the daemon until Ctrl-C or SIGTERM. A second Ctrl-C stops it at once.

    An option wins over its environment variable, and a variable over the configuration file.
    SIGHUP reads them again; `totonoe config` shows them.
    """
    given = dict(locals())
    del given["config_file"], given["port"]
    given["address"] = ",".join(address) if address else None
    if port is not None:
        raise typer.BadParameter(f"--port: the port stands in --address 127.0.0.1:{port}")
    from totonoe_server.life import process

    process.limit_threads()
    process.quiet_grpc()
    process.hold_collector()
    from totonoe_server.life import config, logs, watchdog
    from totonoe_server.life.config_file import chosen_file

    def load() -> config.Settings:
        return config.load(chosen_file(config_file), given).settings

    try:
        settings = load()
    except config.SettingsError as error:
        typer.echo(f"totonoe: {error}", err=True)
        raise typer.Exit(watchdog.ExitCode.NOT_STARTED) from None
    logs.configure(settings.log_level, settings.log_format)
    if settings.daemons > 1:
        from totonoe_server.life import several

        raise typer.Exit(several.run(settings, load, given, config_file))
    from totonoe_server.life import runner

    raise typer.Exit(runner.run(settings, load))


def verify(
    data_dir: Annotated[
        Path | None,
        typer.Argument(help="Directory that no daemon has open. Default: that of `serve`."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Look at every file of a data directory while no daemon runs; changes nothing.

    SQLite's own check, every row against its checksum, revisions without a gap, links both ways,
    whether every acknowledged commit is there; checkpoints and snapshots against their own.
    Exit code 0: all of it is sound; 1: something was found; 2: it could not be looked at.
    """
    from totonoe_server.tools import verify

    raise typer.Exit(verify.run(data_dir, as_json))


def warm_up() -> None:
    """Compile the kernels now, so that the first start of the daemon need not.

    `make run` does this when it installs. A start compiles what is not in the cache, and logs it.
    """
    from totonoe_core.engine.factory import compile_kernels, prepare_kernels
    from totonoe_server.life import logs

    prepare_kernels()
    logs.configure("info", "console")
    typer.echo(f"The kernels are ready, after {compile_kernels():.1f} s.")


def accept_loss(
    revisions: Annotated[
        str,
        typer.Option(help="The revisions that are lost, as log, Stats, errors and `verify` say."),
    ],
    name: Annotated[str, typer.Argument(help="The collection that has lost them.")] = "",
    catalogue: Annotated[
        bool, typer.Option("--catalogue", help="The catalogue of collections has lost them.")
    ] = False,
    data_dir: Annotated[
        Path | None,
        typer.Option(help="Directory that no daemon has open. Default: that of `serve`."),
    ] = None,
) -> None:
    """Confirm that acknowledged commits are lost, so that a read-only collection is written again.

    While no daemon runs. Nothing brings them back afterwards: look first for a copy of the files,
    or a snapshot. Their revision numbers are never given again. Exit code 0: done; 1: other
    revisions are lost, or none, or the disk refused; 2: the directory or its daemon is in the way.
    """
    from totonoe_server.tools import accept_loss

    raise typer.Exit(accept_loss.run(name, catalogue, revisions, data_dir))
