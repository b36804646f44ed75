"""Options of every command, and the frame around each command: errors and exit codes.

`shared` gives a command `--address`, `--agent`, `--collection`, `--timeout` and `--json`.
The root and the groups of commands are wrapped the same way, so that each option works
in any place: `totonoe --json recall x` and `totonoe recall x --json` are one.
"""

from __future__ import annotations

import functools
import inspect
import json
import os
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import IntEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from totonoe import steps
from totonoe.cli.stepping import step, under_way
from totonoe.errors import DeadlineExceeded, TotonoeError, Unavailable
from totonoe.unprintable import escaped_json
from totonoe.words.text import clean

if TYPE_CHECKING:
    from totonoe.client import Client

AGENT_VARIABLE = "TOTONOE_AGENT"
COLLECTION_VARIABLE = "TOTONOE_COLLECTION"
DEFAULT_TIMEOUT_S = 30.0
_TOKEN_FILE_BYTES_MAX = 4096

_PANEL = "Options of every command"


class ExitCode(IntEnum):
    """Meaning of the exit code of a command."""

    OK = 0
    FAILED = 1
    """The daemon refused the call as an error, or some of several things failed."""
    USAGE = 2
    """The command line is wrong; nothing was sent."""
    REPEATED = 3
    """Refused: a live memory says the same (or, where the policy says so, a forgotten one)."""
    UNAVAILABLE = 4
    """No daemon answers, or it asks to come back later."""
    DEADLINE = 5
    """No answer in time; a write may have been done."""


@dataclass(frozen=True, slots=True)
class Session:
    """Values of the shared options."""

    address: str | None = None
    agent: str | None = None
    collection: str | None = None
    timeout_s: float | None = None
    as_json: bool = False
    token_file: Path | None = None
    tls_ca: Path | None = None
    tls_cert: Path | None = None
    tls_key: Path | None = None

    @property
    def agent_id(self) -> str:
        """The caller: the option, else the environment, else nobody."""
        return os.environ.get(AGENT_VARIABLE, "") if self.agent is None else self.agent

    @property
    def collection_name(self) -> str:
        """The collection: the option, else the environment, else empty for `default`."""
        if self.collection is None:
            return os.environ.get(COLLECTION_VARIABLE, "")
        return self.collection

    def place(self) -> steps.Place:
        """Return where the command goes, and for whom; the token in the environment is not told."""
        from totonoe.call.channel import ADDRESS_VARIABLE
        from totonoe.call.credentials import CA_VARIABLE, CERT_VARIABLE, KEY_VARIABLE

        variable = os.environ.get
        listening = variable(ADDRESS_VARIABLE, "").partition(",")[0].strip()
        named = self.collection_name or steps.DEFAULT_COLLECTION
        by_default = named == steps.DEFAULT_COLLECTION and not variable(COLLECTION_VARIABLE)
        said: list[tuple[str, str | Path | None]] = [
            # Empty: nobody, where the environment names an agent.
            ("--agent", self.agent_id or ("" if variable(AGENT_VARIABLE) else None)),
            ("--address", self.address or listening or None),
            ("--token-file", self.token_file),
            ("--tls-ca", self.tls_ca or variable(CA_VARIABLE) or None),
            ("--tls-cert", self.tls_cert or variable(CERT_VARIABLE) or None),
            ("--tls-key", self.tls_key or variable(KEY_VARIABLE) or None),
        ]
        words: list[str] = []
        for option, value in said:
            if value is not None:
                is_file = option not in ("--agent", "--address")
                words += option, str(Path(value).expanduser().absolute() if is_file else value)
        return steps.Place(None if by_default else named, tuple(words))

    def client(self, waits: bool = True) -> Client:
        """Make a client with these options. Raises `ValueError` if an option is wrong.

        It waits a little for a daemon that starts, unless the command waits by itself.
        """
        # gRPC is loaded only by commands that call, so that help and completion are quick.
        from totonoe.cli.connection import CommandClient
        from totonoe.client import Client

        kind = CommandClient if waits else Client
        return kind(
            self.address,
            agent_id=self.agent_id,
            collection=self.collection_name,
            timeout_s=DEFAULT_TIMEOUT_S if self.timeout_s is None else self.timeout_s,
            token=self.token(),
            ca=self.tls_ca,
            cert=self.tls_cert,
            key=self.tls_key,
        )

    def token(self) -> str | None:
        """The token of the file; `None`: the environment's. No option: lists of processes show it.

        Raises `ValueError`.
        """
        if self.token_file is None:
            return None
        try:
            with self.token_file.expanduser().open("rb") as file:
                return file.read(_TOKEN_FILE_BYTES_MAX).decode("ascii", "replace").strip()
        except OSError as error:
            raise ValueError(f"--token-file: {self.token_file}: {error.strerror}") from None

    def show(self, answer: dict[str, Any], render: Callable[[], None]) -> None:
        """Print an answer: as one JSON object, or for people with `render`."""
        if self.as_json:
            print_json(answer)
        else:
            render()

    def over(self, *, timeout: float | None, as_json: bool, **given: Any) -> Session:
        """Return these options, overridden by those of an inner place."""
        said = {name: value for name, value in given.items() if value is not None}
        if timeout is not None:
            said["timeout_s"] = timeout
        return replace(self, as_json=self.as_json or as_json, **said)


def print_json(answer: dict[str, Any]) -> None:
    """Print one JSON object on one line of standard output."""
    sys.stdout.write(json_text(answer) + "\n")


def json_text(value: Any, indent: int | None = None) -> str:
    """Write JSON that cannot control a terminal and keeps the characters of its texts."""
    return escaped_json(json.dumps(value, ensure_ascii=False, allow_nan=False, indent=indent))


def error_json(error: TotonoeError) -> dict[str, Any]:
    """Convert a failure to JSON: its fields and its `advice`."""
    return {
        "code": error.code,
        "reason": error.reason,
        "message": error.message,
        "details": error.details,
        "retry_delay_s": error.retry_delay_s,
        "advice": error.advice,
    }


def exit_code_of(error: TotonoeError) -> ExitCode:
    """Return the exit code of a failure."""
    if isinstance(error, Unavailable):
        return ExitCode.UNAVAILABLE
    if isinstance(error, DeadlineExceeded):
        return ExitCode.DEADLINE
    return ExitCode.FAILED


def tell_error(error: TotonoeError) -> None:
    """Print a failure for people on standard error."""
    typer.echo(f"Error: {clean(str(error))}", err=True)
    if error.advice:
        typer.echo(error.advice, err=True)
    if next_step := _after(error):
        typer.echo(clean(next_step), err=True)


def _after(error: TotonoeError) -> str:
    """Return what to do next after a failure, with a line to type; empty if there is nothing."""
    told = error.details
    collection = told.get("collection")
    match error.reason:
        case "MEMORY_NOT_YET" if name := told.get("name"):
            return f"Its versions, with when it came: {step('history', name)}"
        case "MODEL_MISMATCH" if told.get("running") != "none":
            return f"Give it vectors of that model: {step('reembed', collection=collection)}"
        case "BLAST_RADIUS":
            wanted = int(told.get("closing", 0)) + int(told.get("today", 0))
            return f"Allow more: {allowing(wanted, collection)}"
    return ""


def allowing(count: int, collection: str | None = None) -> str:
    """Return the line that lets clean-up take so many memories a day."""
    return step("collections", "update", "--set", f"blast.rows_min={count}", collection=collection)


def _shared_options(
    address: Annotated[
        str | None,
        typer.Option(
            help="Address of the daemon: host:port, https://host:port or unix:/path. "
            "Default: TOTONOE_ADDRESS, else this user's socket, else 127.0.0.1:7766.",
            rich_help_panel=_PANEL,
        ),
    ] = None,
    agent: Annotated[
        str | None,
        typer.Option(help="Id of the caller. Default: TOTONOE_AGENT.", rich_help_panel=_PANEL),
    ] = None,
    collection: Annotated[
        str | None,
        typer.Option(
            help="Name of the collection. Default: TOTONOE_COLLECTION, else `default`.",
            rich_help_panel=_PANEL,
        ),
    ] = None,
    timeout: Annotated[
        float | None,
        typer.Option(help="Seconds to wait for an answer. Default: 30.", rich_help_panel=_PANEL),
    ] = None,
    as_json: Annotated[
        bool,
        typer.Option("--json", help="Print one JSON object.", rich_help_panel=_PANEL),
    ] = False,
    token_file: Annotated[
        Path | None,
        typer.Option(
            help="File with the token that proves who calls. Default: TOTONOE_TOKEN.",
            rich_help_panel=_PANEL,
        ),
    ] = None,
    tls_ca: Annotated[
        Path | None,
        typer.Option(
            help="Authority of the daemon's certificate. Default: TOTONOE_CA.",
            rich_help_panel=_PANEL,
        ),
    ] = None,
    tls_cert: Annotated[
        Path | None,
        typer.Option(help="Own certificate. Default: TOTONOE_CERT.", rich_help_panel=_PANEL),
    ] = None,
    tls_key: Annotated[
        Path | None,
        typer.Option(help="Key of it. Default: TOTONOE_KEY.", rich_help_panel=_PANEL),
    ] = None,
) -> None:
    """The signature that `shared` adds to a command's own."""


_SHARED = inspect.signature(_shared_options, eval_str=True).parameters


def _typed(ctx: typer.Context) -> steps.Typed:
    """Return the command of a context as it was typed, without the shared options."""
    names: list[str] = []
    outer: Any = ctx
    while outer.parent is not None:
        names.insert(0, outer.info_name or "")
        outer = outer.parent
    given = {
        name: value
        for name, value in ctx.params.items()
        if name not in _SHARED
        and (source := ctx.get_parameter_source(name)) is not None
        and source.name == "COMMANDLINE"
    }
    return steps.typed(names, ctx.command.params, given)


def shared(command: Callable[..., None]) -> Callable[..., None]:
    """Add the shared options to a command whose first parameter is a `Session`.

    The command may raise `TotonoeError`, which is told and becomes an exit code, and
    `ValueError`, which is a mistake on the command line. One with a parameter of the type
    `typer.Context` gets it.
    """
    own = list(inspect.signature(command, eval_str=True).parameters.values())[1:]
    wanted = [item.name for item in own if item.annotation is typer.Context]

    @functools.wraps(command)
    def run(ctx: typer.Context, **arguments: Any) -> None:
        given = {name: arguments.pop(name) for name in _SHARED}
        outer = ctx.obj if isinstance(ctx.obj, Session) else Session()
        session = outer.over(**given)
        ctx.obj = session
        arguments |= dict.fromkeys(wanted, ctx)
        with under_way(session.place, lambda: _typed(ctx)):
            try:
                command(session, **arguments)
            except TotonoeError as error:
                if session.as_json:
                    print_json({"error": error_json(error)})
                else:
                    tell_error(error)
                raise typer.Exit(exit_code_of(error)) from None
            except ValueError as error:
                raise typer.BadParameter(clean(str(error))) from None

    context = inspect.Parameter("ctx", inspect.Parameter.KEYWORD_ONLY, annotation=typer.Context)
    parameters = [
        item.replace(kind=inspect.Parameter.KEYWORD_ONLY)
        for item in (context, *own, *_SHARED.values())
        if item is context or item.name not in wanted
    ]
    # Typer reads both; the names of the annotations are resolved here, where they are known.
    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    run.__annotations__ = {item.name: item.annotation for item in parameters}
    return run
