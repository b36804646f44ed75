"""`totonoe certs`: an own authority, a certificate for the daemon, one for each client."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from totonoe_server.tools.options import data_dir_of, one_line_errors

if TYPE_CHECKING:
    from totonoe_server.access.certificates import KeyPair

Directory = Annotated[
    Path | None,
    typer.Option(
        "--dir", help="Directory of the certificates. Default: `certs` in the data directory."
    ),
]


def register(app: typer.Typer) -> None:
    """Join the group to `app`."""
    group = typer.Typer(no_args_is_help=True, help="Make certificates for TLS.")
    group.command("init")(init)
    group.command("server")(server)
    group.command("client")(client)
    app.add_typer(group, name="certs")


def init(directory: Directory = None) -> None:
    """Make an authority: ca.pem, which clients need, and ca.key, which stays here."""
    from totonoe_server.access.certificates import AUTHORITY_DAYS, Authority

    with one_line_errors():
        _said(Authority.made(_directory(directory)).files, AUTHORITY_DAYS)


def server(
    names: Annotated[
        list[str] | None,
        typer.Option("--name", help="Host name or IP address of the daemon; may be repeated."),
    ] = None,
    directory: Directory = None,
) -> None:
    """Make, or renew, the certificate of the daemon: server.pem and server.key.

    A running daemon serves a renewed certificate to the next connection.
    """
    from totonoe_server.access.certificates import SERVER_DAYS, Authority

    with one_line_errors():
        _said(Authority(_directory(directory)).server(names or []), SERVER_DAYS)


def client(
    name: Annotated[str, typer.Argument(help="Common name, as `totonoe tokens create --subject`.")],
    directory: Directory = None,
) -> None:
    """Make, or renew, the certificate of a client: NAME.pem and NAME.key."""
    from totonoe_server.access.certificates import CLIENT_DAYS, Authority

    with one_line_errors():
        _said(Authority(_directory(directory)).client(name), CLIENT_DAYS)


def _directory(given: Path | None) -> Path:
    return given.expanduser() if given else data_dir_of(None) / "certs"


def _said(pair: KeyPair, days: int) -> None:
    typer.echo(f"Certificate: {pair.cert} (valid for {days} days)")
    typer.echo(f"Key: {pair.key}")
