"""The command that serves agents over MCP, and the one that enters it in the files of hosts."""

from __future__ import annotations

from dataclasses import replace
from enum import StrEnum
from importlib.util import find_spec
from typing import TYPE_CHECKING, Annotated, Any

import typer

from totonoe.cli.extensions import Panel, add_group
from totonoe.cli.printing import line
from totonoe.cli.session import ExitCode, Session, print_json
from totonoe.errors import TotonoeError
from totonoe.words.text import clean

if TYPE_CHECKING:
    from pathlib import Path

    from totonoe.client import Client
    from totonoe.mcp.hooks import Hooks

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
    add_group(app, Panel.EVERYDAY, mcp, install, hook, alone=True)


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
    hooks: Annotated[
        bool | None,
        typer.Option(
            "--hooks/--no-hooks",
            help="claude-code, codex, gemini: also recall when a session starts, and a reminder to "
            "save; or take these out again. Default: leave hooks alone.",
        ),
    ] = None,
) -> None:
    """Add totonoe to the MCP servers of a host.

    Other entries stay as they are, and a second run changes nothing.
    """
    _require()
    from totonoe.mcp.hooks import hooks_of
    from totonoe.mcp.hosts import entry_of

    files = {
        "token-file": session.token_file,
        "tls-ca": session.tls_ca,
        "tls-cert": session.tls_cert,
        "tls-key": session.tls_key,
    }
    entry = entry_of(
        host,
        agent=session.agent,
        collection=session.collection,
        address=session.address,
        files=files,
    )
    hooked = None if hooks is None else hooks_of(host, _options(session, entry.fields))
    if hooked is not None and hooks is False:
        _unhook(session, host, hooked)
        return
    changed = False if print_ else entry.write()
    hooks_changed = hooked is not None and not print_ and hooked.write()
    if session.as_json:
        answer = {"host": str(host), "file": str(entry.path), "changed": changed}
        told = {"hooks_file": str(hooked.path), "hooks_changed": hooks_changed} if hooked else {}
        print_json({**answer, "entry": entry.text, **told})
        return
    if print_:
        for part in (entry, hooked):
            if part is not None:
                typer.echo(f"In {part.path}:", err=True)
                typer.echo(part.text.rstrip("\n"))
        return
    if changed:
        line(f"Added to {entry.path}. Restart {host}.")
    else:
        line(f"{entry.path} has the entry already.")
    if hooked is not None:
        done = "Hooks added to {}." if hooks_changed else "{} has the hooks already."
        line(done.format(hooked.path))


def _unhook(session: Session, host: Host, hooked: Hooks) -> None:
    changed = hooked.remove()
    if session.as_json:
        answer = {"host": str(host), "hooks_file": str(hooked.path), "hooks_changed": changed}
        print_json(answer)
    else:
        done = "Hooks taken out of {}." if changed else "{} has no hooks of totonoe."
        line(done.format(hooked.path))


def _options(session: Session, fields: dict[str, Any]) -> list[str]:
    """Return the options of a hook's command: those of the entry, which has some as variables."""
    variables = fields["env"]
    named = {
        "--agent": variables.get("TOTONOE_AGENT"),
        "--collection": session.collection,
        "--address": session.address,
    }
    said = [word for option, value in named.items() if value for word in (option, value)]
    return [*said, *fields["args"][1:]]


def hook(
    session: Session,
    host: Annotated[Host, typer.Argument(help="Program that runs the hook.")],  # noqa: ARG001 - tells ours apart
    event: Annotated[str, typer.Argument(help="start, stop or prompt.")],
) -> None:
    """Answer a hook of a host: JSON on standard input and output.

    Hosts call it after `totonoe mcp install HOST --hooks`. It never fails: without a daemon it
    answers with an empty object.
    """
    import sys

    answer: dict[str, Any] = {}
    # A code other than 0 would stop the session, or show an error at each turn.
    try:
        _require_quietly()
        from totonoe.mcp import hooks

        payload = hooks.payload_of(sys.stdin.buffer.read(hooks.INPUT_BYTES_MAX))
        if event == hooks.START:
            with _hook_client(session, hooks.folder_of(payload)) as client:
                answer = hooks.at_start(client, payload)
        elif event in (hooks.STOP, hooks.PROMPT):
            answer = (hooks.at_stop if event == hooks.STOP else hooks.at_prompt)(payload)
        else:
            raise ValueError(f"EVENT: got {event!r}, allowed: {', '.join(hooks.EVENTS)}")
    except (TotonoeError, ValueError, OSError, ImportError) as error:
        typer.echo(f"totonoe: {clean(str(error))}", err=True)
    print_json(answer)


def _hook_client(session: Session, folder: Path) -> Client:
    from totonoe.mcp.project import project_collection

    named = session.collection_name
    given = project_collection(folder) if named == "project" else named
    return replace(session, collection=given).client(waits=False)


def _require_quietly() -> None:
    if find_spec("mcp") is None:
        raise ImportError(INSTALL_HINT)


def _require() -> None:
    """End with a line that names the extra, unless it is installed."""
    if find_spec("mcp") is None:
        typer.echo(INSTALL_HINT, err=True)
        raise typer.Exit(ExitCode.USAGE)
