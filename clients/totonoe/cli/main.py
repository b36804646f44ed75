"""The command `totonoe`."""

from __future__ import annotations

import os
from typing import Annotated

import typer

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

    The daemon refuses a text that says nothing new, and shows how a new text differs.
    """


def make_app() -> typer.Typer:
    """Make the command line. Its commands join at their first use, as those of other packages."""
    app = typer.Typer(cls=RootGroup, no_args_is_help=True, pretty_exceptions_show_locals=False)
    app.callback()(shared(root))
    return app


app = make_app()


def main() -> None:
    """Entry point of the script `totonoe`."""
    # What gRPC logs about connections is said better by our own errors.
    os.environ.setdefault("GRPC_VERBOSITY", "NONE")
    app(prog_name="totonoe")


if __name__ == "__main__":
    main()
