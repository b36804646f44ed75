"""`totonoe tokens`: who may call the daemon, what they may do, and how much of it.

The commands change a file in the data directory, or a row of the database that daemons share. A
running daemon reads it within a second, or two.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from totonoe import steps
from totonoe_server.tools.options import (
    Store,
    data_dir_of,
    database_of,
    one_line_errors,
    store_of,
)

if TYPE_CHECKING:
    from totonoe_server.access.book import Book
    from totonoe_server.access.identities import Identity
    from totonoe_server.access.stored_book import StoredBook

Name = Annotated[str, typer.Argument(help="Name of the identity.")]
DataDir = Annotated[
    Path | None, typer.Option(help="Data directory of the daemon. [TOTONOE_DATA_DIR]")
]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]
_UNITS_S = {"s": 1, "m": 60, "h": 3600, "d": 86_400}
_DURATION = re.compile(r"([0-9]{1,9})([smhd])")


def register(app: typer.Typer) -> None:
    """Join the group to `app`."""
    group = typer.Typer(no_args_is_help=True, help="Say who may call the daemon.")
    group.command("create")(create)
    group.command("list")(list_)
    group.command("rotate")(rotate)
    group.command("revoke")(revoke)
    group.command("remove")(remove)
    group.command("limit")(limit)
    app.add_typer(group, name="tokens")


def create(
    name: Name,
    grant: Annotated[
        list[str],
        typer.Option(
            help="PATTERN:VERB,VERB of the collections, for instance team-*:read,remember; may be "
            "repeated. Verbs: read, remember, forget, merge, tidy, admin."
        ),
    ],
    agent: Annotated[
        str | None, typer.Option(help="The agent that it speaks as. Default: the name.")
    ] = None,
    expires: Annotated[
        str | None, typer.Option(help="Time until it expires: 30m, 12h, 90d. Default: never.")
    ] = None,
    subject: Annotated[
        str,
        typer.Option(help="Common name of a client certificate that proves it, without a token."),
    ] = "",
    data_dir: DataDir = None,
    store: Store = None,
    as_json: AsJson = False,
) -> None:
    """Create an identity and print its token, once: only its SHA-256 is kept.

    From the first identity on, nobody may call without a grant, but over the Unix socket.
    """
    from totonoe_server.access import book as entries
    from totonoe_server.access.grants import parse_grant
    from totonoe_server.access.identities import Identity, Key
    from totonoe_server.access.tokens import digest_of, new_token

    with one_line_errors(), _book(data_dir, store) as book:
        now_us = _now_us()
        token = "" if subject else new_token()
        identity = Identity(
            name=name,
            agent_id=name if agent is None else agent,
            grants=tuple(parse_grant(text) for text in grant),
            subject=subject,
            keys=(Key(digest_of(token)),) if token else (),
            created_us=now_us,
            expires_us=now_us + _duration_us("expires", expires) if expires is not None else 0,
        )
        book.change(lambda identities: entries.added(identities, identity))
    _show_token(identity, token, as_json)


def list_(data_dir: DataDir = None, store: Store = None, as_json: AsJson = False) -> None:
    """List the identities: agent, grants, limits, when they expire."""
    with one_line_errors(), _book(data_dir, store) as book:
        identities = book.read()
    now_us = _now_us()
    if as_json:
        typer.echo(
            json.dumps({"identities": [_shown(identity, now_us) for identity in identities]})
        )
        return
    for identity in identities:
        shown = _shown(identity, now_us)
        proof = f"certificate {identity.subject}" if identity.subject else "token"
        typer.echo(
            f"{identity.name}: agent {identity.agent_id}, {proof}, {shown['state']}; "
            f"grants {' '.join(shown['grants'])}"
        )
        for pattern, bounds in shown["limits"].items():
            said = ", ".join(f"{key} {value}" for key, value in bounds.items())
            typer.echo(f"  on {pattern}: at most {said}")
    if not identities:
        typer.echo("No identity.")


def rotate(
    name: Name,
    grace: Annotated[
        str | None, typer.Option(help="How long the old token stays valid: 30m, 1h. Default: not.")
    ] = None,
    data_dir: DataDir = None,
    store: Store = None,
    as_json: AsJson = False,
) -> None:
    """Print a new token of an identity, in place of the old one."""
    from totonoe_server.access import book as entries
    from totonoe_server.access.errors import SettingError
    from totonoe_server.access.identities import Key
    from totonoe_server.access.tokens import digest_of, new_token

    token = new_token()
    beside = () if data_dir is None else ("--dir", str(data_dir.expanduser().absolute() / "certs"))
    renewing = steps.line(steps.Place(), "certs", "client", name, *beside)

    def turned(identity: Identity) -> Identity:
        if identity.subject:
            raise SettingError(f"name: {name!r} is proved by a certificate: {renewing}")
        grace_us = 0 if grace is None else _duration_us("grace", grace)
        return entries.rotated(identity, Key(digest_of(token)), _now_us(), grace_us)

    with one_line_errors(), _book(data_dir, store) as book:
        identities = book.change(lambda old: entries.changed(old, name, turned))
    _show_token(next(held for held in identities if held.name == name), token, as_json)


def revoke(name: Name, data_dir: DataDir = None, store: Store = None) -> None:
    """End an identity: its calls are refused, and its streams end, within a second.

    Where daemons share a database, within two seconds at each of them.
    """
    from totonoe_server.access import book as entries

    with one_line_errors(), _book(data_dir, store) as book:
        book.change(
            lambda old: entries.changed(
                old, name, lambda identity: entries.revoked(identity, _now_us())
            )
        )
    typer.echo(f"Revoked: {name}.")


def remove(name: Name, data_dir: DataDir = None, store: Store = None) -> None:
    """Take a revoked identity out of the list."""
    from totonoe_server.access import book as entries

    with one_line_errors(), _book(data_dir, store) as book:
        book.change(lambda old: entries.removed(old, name))
    typer.echo(f"Removed: {name}.")


def limit(
    name: Name,
    collections: Annotated[
        str, typer.Option(help="Pattern of the collections that it is about, together.")
    ] = "*",
    writes_per_s: Annotated[float | None, typer.Option(help="Writes a second.")] = None,
    reads_per_s: Annotated[float | None, typer.Option(help="Reads a second.")] = None,
    calls_at_once: Annotated[int | None, typer.Option(help="Calls at the same time.")] = None,
    streams_at_once: Annotated[int | None, typer.Option(help="Streams at the same time.")] = None,
    memories: Annotated[
        int | None, typer.Option(help="Memories that each collection may be filled to.")
    ] = None,
    size_bytes: Annotated[
        int | None, typer.Option("--bytes", help="Size of the file of each collection.")
    ] = None,
    data_dir: DataDir = None,
    store: Store = None,
) -> None:
    """Limit an identity on some collections; without a number: end the limit on them."""
    from totonoe_server.access import book as entries
    from totonoe_server.access.grants import checked_pattern
    from totonoe_server.access.identities import Limits

    with one_line_errors(), _book(data_dir, store) as book:
        limits = Limits(
            writes_per_s, reads_per_s, calls_at_once, streams_at_once, memories, size_bytes
        )
        bounds = None if limits == Limits() else limits
        pattern = checked_pattern(collections)
        book.change(
            lambda old: entries.changed(
                old, name, lambda identity: entries.limited(identity, pattern, bounds)
            )
        )
    typer.echo(f"{'Limited' if bounds else 'Not limited any more'}: {name} on {pattern}.")


@contextmanager
def _book(data_dir: Path | None, named: list[str] | None) -> Iterator[Book | StoredBook]:
    """The identities of a database if one is named, else those of a data directory."""
    from totonoe_core.engine.factory import database_name
    from totonoe_server.access.book import Book
    from totonoe_server.access.stored_book import StoredBook
    from totonoe_server.life.config import served_settings

    store = store_of(named)
    if data_dir is not None and store is None:
        yield Book(data_dir_of(data_dir))
        return
    settings = served_settings(data_dir=data_dir, store=store)
    if not settings.store:
        yield Book(settings.data_dir)
        return
    book = StoredBook(lambda: database_of(settings).access(), database_name(settings.store))
    try:
        yield book
    finally:
        book.close()


def _now_us() -> int:
    from totonoe_core.base.clock import system_clock

    return system_clock()


def _duration_us(option: str, text: str) -> int:
    from totonoe_server.access.errors import SettingError

    match = _DURATION.fullmatch(text)
    if match is None or not int(match[1]):
        raise SettingError(f"{option}: got {text!r}, allowed: a number and s, m, h or d, as 90d")
    return int(match[1]) * _UNITS_S[match[2]] * 1_000_000


def _shown(identity: Identity, now_us: int) -> dict[str, Any]:
    """Return what is shown of an identity: nothing that helps to guess a token."""
    from totonoe_server.access.identities import identity_to_json

    value = identity_to_json(identity)
    state = "valid"
    if identity.revoked_us:
        state = f"revoked {_time(identity.revoked_us)}"
    elif identity.expires_us:
        word = "expired" if identity.expires_us <= now_us else "expires"
        state = f"{word} {_time(identity.expires_us)}"
    valid = [key for key in identity.keys if not 0 < key.expires_us <= now_us]
    return {
        **{name: value[name] for name in ("name", "agent", "grants", "subject", "limits")},
        "state": state,
        "token_count": len(valid),
        "created_time": _time(identity.created_us),
    }


def _time(us: int) -> str:
    return datetime.fromtimestamp(us // 1_000_000, UTC).isoformat().replace("+00:00", "Z")


def _show_token(identity: Identity, token: str, as_json: bool) -> None:
    if as_json:
        typer.echo(json.dumps({"name": identity.name, "token": token}))
    elif token:
        typer.echo(f"Token of {identity.name}, shown only now:", err=True)
        typer.echo(token)
    else:
        typer.echo(f"Created: {identity.name}, by the certificate {identity.subject}.")
