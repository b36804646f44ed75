"""Commands that the server adds to `totonoe`. Loads nothing heavy until it is run."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

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
    options.add_with_settings(app, "serve", serve)
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
    port: Annotated[str | None, typer.Option(hidden=True)] = None,
    *,
    given: dict[str, Any],
) -> None:
    """Run the daemon until Ctrl-C or SIGTERM. A second Ctrl-C stops it at once.

    An option wins over its environment variable, and a variable over the configuration file.
    SIGHUP reads them again; `totonoe config` shows them.
    """
    if port is not None:
        raise typer.BadParameter(f"--port: the port stands in --address 127.0.0.1:{port}")
    from totonoe_server.life import process

    process.limit_threads()
    process.quiet_grpc()
    process.leave_out_rich()
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
    """Compile the kernels and unpack the word lists now, so that the daemon need not.

    `make run` does this when it installs. A start compiles what is not in the cache, and logs it;
    the first text of a language unpacks its list.
    """
    from totonoe_core.engine.factory import compile_kernels, prepare_kernels, prepare_words
    from totonoe_server.life import logs

    prepare_kernels()
    logs.configure("info", "console")
    typer.echo(f"The kernels are ready, after {compile_kernels():.1f} s.")
    typer.echo(f"The word lists are ready, after {prepare_words():.1f} s.")


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
