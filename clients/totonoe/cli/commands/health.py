"""The command `totonoe health`."""

from __future__ import annotations

import re
import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Annotated

import typer

from totonoe.cli import printing
from totonoe.cli.extensions import Panel, add
from totonoe.cli.session import ExitCode, Session
from totonoe.errors import Unavailable

CHECK_S_MAX = 5.0
"""For a single check: a daemon that serves answers at once."""
WAIT_S_MAX = 24 * 3600.0
_DURATION = re.compile(r"(\d+(?:\.\d+)?)(ms|s|m|h|)")
_SECONDS = {"ms": 0.001, "s": 1.0, "": 1.0, "m": 60.0, "h": 3600.0}


def register(app: typer.Typer) -> None:
    """Adds this command to `app`."""
    add(app, Panel.ADMINISTRATION, health)


def health(
    session: Session,
    wait: Annotated[
        str, typer.Option(metavar="TIME", help="Wait so long until it serves: 30s, 500ms, 2m, 1h.")
    ] = "",
) -> None:
    """Report whether the daemon serves; of several addresses, with commas, each daemon.

    Exit code 0: it does; 4: it does not. Of several: all do, or one does not.
    """
    from totonoe.call.channel import resolve_addresses

    limit_s = seconds_of(wait) if wait else 0.0
    addresses = resolve_addresses(session.address)
    if len(addresses) > 1:
        _each(session, addresses, limit_s)
        return
    address = addresses[0]
    serves = _serves(session, limit_s)
    session.show(
        {"serving": serves, "address": address},
        lambda: printing.line(
            f"The daemon at {address} serves."
            if serves
            else f"The daemon at {address} starts or stops."
        ),
    )
    if not serves:
        raise typer.Exit(ExitCode.UNAVAILABLE)


def _serves(session: Session, limit_s: float) -> bool:
    """Ask a daemon, or wait for it. Raises `Unavailable`."""
    with session.client(waits=False) as client:
        if limit_s:
            client.wait_ready(timeout_s=limit_s)
            return True
        return client.health(timeout_s=min(CHECK_S_MAX, session.timeout_s or CHECK_S_MAX))


def _each(session: Session, addresses: Sequence[str], limit_s: float) -> None:
    """Ask several daemons, one after the other; the waits share one limit."""
    until_s = time.monotonic() + limit_s
    found: dict[str, bool] = {}
    words: list[str] = []
    for address in addresses:
        left_s = max(0.001, until_s - time.monotonic()) if limit_s else 0.0
        try:
            found[address] = _serves(replace(session, address=address), left_s)
            words.append("serves" if found[address] else "starts or stops")
        except Unavailable:
            found[address] = False
            words.append("does not serve")
    serves = all(found.values())
    each = [{"address": address, "serving": serving} for address, serving in found.items()]

    def told() -> None:
        for address, word in zip(found, words, strict=True):
            printing.line(f"The daemon at {address} {word}.")

    session.show({"serving": serves, "address": ",".join(addresses), "daemons": each}, told)
    if not serves:
        raise typer.Exit(ExitCode.UNAVAILABLE)


def seconds_of(text: str) -> float:
    """Return the seconds of a time with its unit. Raises `ValueError`."""
    match = _DURATION.fullmatch(text.strip())
    seconds = float(match[1]) * _SECONDS[match[2]] if match else 0.0
    if not 0 < seconds <= WAIT_S_MAX:
        raise ValueError(f"--wait: got {text!r}, allowed: above 0 up to 24h, as in 30s or 2m")
    return seconds
