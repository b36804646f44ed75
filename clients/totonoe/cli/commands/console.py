"""The command that shows a collection in a browser."""

from __future__ import annotations

from importlib.util import find_spec
from typing import Annotated

import typer

from totonoe.cli.extensions import Panel, add
from totonoe.cli.printing import line
from totonoe.cli.session import DEFAULT_TIMEOUT_S, ExitCode, Session

INSTALL_HINT = "This page needs the extra `console`: pip install 'totonoe[console]'"


def register(app: typer.Typer) -> None:
    """Adds this command to `app`."""
    add(app, Panel.TIDY_UP, console)


def console(
    session: Session,
    port: Annotated[int, typer.Option(min=1, max=65535, help="Port on 127.0.0.1.")] = 7768,
    no_open: Annotated[
        bool, typer.Option("--no-open", help="Print the address; open no browser.")
    ] = False,
    url: Annotated[
        bool, typer.Option("--url", help="Print a new address of the console that runs.")
    ] = False,
) -> None:
    """Show a page to answer questions, look at memories and take things back.

    Needs the extra `console`. It listens on this machine only. Its address lets one browser in,
    once, within 60 seconds.
    """
    if any(find_spec(name) is None for name in ("jinja2", "starlette", "uvicorn")):
        typer.echo(INSTALL_HINT, err=True)
        raise typer.Exit(ExitCode.USAGE)
    from totonoe.call.channel import resolve_address
    from totonoe.call.credentials import resolve_credentials
    from totonoe.console.serving import new_address, serve
    from totonoe.console.settings import Settings

    if url:
        line(new_address(port))
        return
    address = resolve_address(session.address)
    token = session.token()
    # What is wrong with them is said here, not on the first page.
    resolve_credentials(address, token, session.tls_ca, session.tls_cert, session.tls_key)
    settings = Settings(
        address,
        agent=session.agent_id,
        collection=session.collection_name,
        port=port,
        timeout_s=DEFAULT_TIMEOUT_S if session.timeout_s is None else session.timeout_s,
        token=token,
        ca=session.tls_ca,
        cert=session.tls_cert,
        key=session.tls_key,
        place=session.place(),
    )
    serve(settings, opens=not no_open)
