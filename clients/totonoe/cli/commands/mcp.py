"""The command that serves agents over MCP, and the one that enters it in the files of hosts."""

from __future__ import annotations

from enum import StrEnum
from importlib.util import find_spec
from typing import Annotated

import typer

from totonoe.cli.extensions import Panel, add_group
from totonoe.cli.printing import line
from totonoe.cli.session import ExitCode, Session, print_json

INSTALL_HINT = "totonoe mcp needs the extra `mcp`: pip install 'totonoe[mcp]'"


class Host(StrEnum):
    """Programs that run agents and read a list of MCP servers."""

    CLAUDE_CODE = "claude-code"
    CLAUDE_DESKTOP = "claude-desktop"
    CURSOR = "cursor"
    CODEX = "codex"
    VSCODE = "vscode"
    GEMINI = "gemini"


def register(app: typer.Typer) -> None:
    """Adds these commands to `app`."""
    add_group(app, Panel.EVERYDAY, mcp, install, alone=True)


def mcp(
    session: Session,
    ctx: typer.Context,
    transport: Annotated[
        str | None, typer.Option(help="stdio or http. [TOTONOE_TRANSPORT, stdio]")
    ] = None,
    listen: Annotated[
        str | None,
        typer.Option(
            help="http: loopback address and port, or unix:/path. [TOTONOE_LISTEN, 127.0.0.1:7767]"
        ),
    ] = None,
    session_id: Annotated[
        str | None,
        typer.Option(
            "--session", help="Session of new memories. [TOTONOE_SESSION, a new one for stdio]"
        ),
    ] = None,
    tools: Annotated[str | None, typer.Option(help="core or full. [TOTONOE_TOOLS, core]")] = None,
    scaffolds: Annotated[
        bool | None,
        typer.Option(
            "--scaffolds/--no-scaffolds",
            help="Advice holds questions that an agent may ask itself. [TOTONOE_SCAFFOLDS, 0]",
        ),
    ] = None,
    start_daemon: Annotated[
        bool | None,
        typer.Option(
            "--start-daemon/--no-start-daemon",
            help="Start a daemon if none answers. [TOTONOE_START_DAEMON, 1]",
        ),
    ] = None,
) -> None:
    """Serve agents over MCP.

    Needs the extra `mcp`. With --collection project: the collection of the git repository. A
    collection that does not exist is made at its first use.
    """
    if ctx.invoked_subcommand is not None:
        return
    _require()
    from totonoe.mcp.serving import serve
    from totonoe.mcp.settings import load_settings

    serve(
        load_settings(
            transport=transport,
            agent=session.agent,
            session=session_id,
            collection=session.collection,
            address=session.address,
            tools=tools,
            listen=listen,
            scaffolds=scaffolds,
            start_daemon=start_daemon,
            timeout_s=session.timeout_s,
            token=session.token(),
            ca=session.tls_ca,
            cert=session.tls_cert,
            key=session.tls_key,
        )
    )


def install(
    session: Session,
    host: Annotated[Host, typer.Argument(help="Program that runs your agent.")],
    print_: Annotated[
        bool, typer.Option("--print", help="Print the entry and its file; write nothing.")
    ] = False,
) -> None:
    """Add totonoe to the MCP servers of a host.

    Other entries stay as they are, and a second run changes nothing.
    """
    _require()
    from totonoe.mcp.hosts import entry_of

    entry = entry_of(
        host,
        agent=session.agent,
        collection=session.collection,
        address=session.address,
        files={
            "token-file": session.token_file,
            "tls-ca": session.tls_ca,
            "tls-cert": session.tls_cert,
            "tls-key": session.tls_key,
        },
    )
    changed = False if print_ else entry.write()
    if session.as_json:
        print_json(
            {"host": str(host), "file": str(entry.path), "changed": changed, "entry": entry.text}
        )
    elif print_:
        typer.echo(f"In {entry.path}:", err=True)
        typer.echo(entry.text.rstrip("\n"))
    elif changed:
        line(f"Added to {entry.path}. Restart {host}.")
    else:
        line(f"{entry.path} has the entry already.")


def _require() -> None:
    """End with a line that names the extra, unless it is installed."""
    if find_spec("mcp") is None:
        typer.echo(INSTALL_HINT, err=True)
        raise typer.Exit(ExitCode.USAGE)
