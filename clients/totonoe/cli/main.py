"""The command `totonoe`."""

from __future__ import annotations

import os
from typing import Annotated

import typer

from totonoe.cli import (
    admin_commands,
    audit_commands,
    cleanup_commands,
    consolidate_commands,
    forget_commands,
    graph_commands,
    history_commands,
    importing,
    memory_commands,
    reembed_commands,
    snapshot_commands,
    tidy_commands,
    transfer_commands,
    watch_commands,
    workspace_commands,
)
from totonoe.cli.extensions import RootGroup
from totonoe.cli.session import Session, shared


def _version(asked: bool) -> None:
    if asked:
        import totonoe

        typer.echo(f"totonoe {totonoe.__version__}")
        raise typer.Exit


def root(
    session: Session,
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    """Long-term memory that several agents share.

    It refuses what says nothing new, keeps what differs, and tells which is which.
    """


def make_app() -> typer.Typer:
    """The whole command line. Commands of other packages join when they are asked for."""
    app = typer.Typer(cls=RootGroup, no_args_is_help=True, pretty_exceptions_show_locals=False)
    app.callback()(shared(root))
    memory_commands.register(app)
    forget_commands.register(app)
    graph_commands.register(app)
    consolidate_commands.register(app)
    history_commands.register(app)
    cleanup_commands.register(app)
    admin_commands.register(app)
    audit_commands.register(app)
    importing.register(app)
    reembed_commands.register(app)
    transfer_commands.register(app)
    snapshot_commands.register(app)
    tidy_commands.register(app)
    watch_commands.register(app)
    workspace_commands.register(app)
    return app


app = make_app()


def main() -> None:
    """Entry point of the script `totonoe`."""
    # What gRPC logs about connections is said better by our own errors.
    os.environ.setdefault("GRPC_VERBOSITY", "NONE")
    app(prog_name="totonoe")


if __name__ == "__main__":
    main()
