"""What expires is a metric, and a line in the log before it does."""

from __future__ import annotations

import datetime
from pathlib import Path
from typing import Any

import pytest

import totonoe
from support.access import add_identity
from support.waits import wait_until
from totonoe.collections.models import Expiry
from totonoe_server.access import book as entries
from totonoe_server.access.book import Book
from totonoe_server.access.certificates import CLIENT_DAYS, SERVER_DAYS, Authority
from totonoe_server.access.expiry import WARNED_DAYS, Expiries, Expiring
from totonoe_server.access.gate import Gate
from totonoe_server.access.identities import Key
from totonoe_server.access.transport import Certificates
from totonoe_server.logger import logger
from totonoe_server.tools.testing import running_server
from totonoe_server.tools.top.command import fetched, figures, view
from totonoe_server.tools.top.sample import Between

DAY_S = 86_400
NOW_S = int(datetime.datetime.now(datetime.UTC).timestamp())


def us(days: float) -> int:
    """So many days from now, in microseconds."""
    return int((NOW_S + days * DAY_S) * 1e6)


def expiries(data_dir: Path, certificates: Certificates | None = None, at: float = 0) -> Expiries:
    gate = Gate(data_dir, now_us=lambda: us(at))
    gate.load()
    return Expiries(gate, certificates, now_us=lambda: us(at))


def left_days(found: Expiries) -> dict[str, int]:
    return {
        kind.value: round((end_s - NOW_S) / DAY_S) for kind, end_s in found.earliest_s().items()
    }


def ends(client: totonoe.Client) -> tuple[Expiry, ...]:
    return client.stats().expiries


def test_earliest_identity_that_still_counts_is_named(tmp_path: Path) -> None:
    for name, days in (("gone", -1), ("first", 20), ("second", 30)):
        add_identity(tmp_path, name, "*:read", expires_us=us(days))
    add_identity(tmp_path, "endless", "*:read")
    add_identity(tmp_path, "revoked", "*:read", expires_us=us(5))
    Book(tmp_path).change(
        lambda all_: entries.changed(all_, "revoked", lambda one: entries.revoked(one, us(0)))
    )
    assert left_days(expiries(tmp_path)) == {"identity": 20}
    assert left_days(expiries(tmp_path, at=25)) == {"identity": 30}
    assert left_days(expiries(tmp_path, at=31)) == {}


def test_token_that_was_replaced_is_no_news(tmp_path: Path) -> None:
    add_identity(tmp_path, "ann", "*:read")
    new = Key(bytes(32))
    Book(tmp_path).change(
        lambda all_: entries.changed(
            all_, "ann", lambda one: entries.rotated(one, new, us(0), 3_600_000_000)
        )
    )
    assert left_days(expiries(tmp_path)) == {}


def test_certificates_of_daemon_and_authority_stay_after_their_end(tmp_path: Path) -> None:
    authority = Authority.made(tmp_path / "certs")
    pair = authority.server(["localhost"])
    served = Certificates(str(pair.cert), str(pair.key), str(authority.files.cert))
    assert left_days(expiries(tmp_path, served, at=SERVER_DAYS + 1)) == {
        "daemon_certificate": SERVER_DAYS,
        "client_authority": 3650,
    }
    # Renewed: the next connection asks, and the end is the new one.
    then = datetime.datetime.fromtimestamp(NOW_S, datetime.UTC) - datetime.timedelta(100)
    Authority(authority.directory, lambda: then).server(["localhost"])
    assert served.changed() is not None
    assert left_days(expiries(tmp_path, served))["daemon_certificate"] == SERVER_DAYS - 100


def test_log_warns_only_of_what_ends_soon(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    said: list[tuple[str, Any]] = []
    monkeypatch.setattr(logger, "warning", lambda text, **more: said.append((text, more)))
    monkeypatch.setattr(logger, "error", lambda text, **more: said.append((text, more)))
    add_identity(tmp_path, "ann", "*:read", expires_us=us(WARNED_DAYS + 2))
    expiries(tmp_path).report()
    assert not said
    expiries(tmp_path, at=4.5).report()
    assert said == [("expires soon", {"what": "identity", "left_days": 11.5})]
    pair = Authority.made(tmp_path / "certs").server(["localhost"])
    served = Certificates(str(pair.cert), str(pair.key))
    expiries(tmp_path, served, at=SERVER_DAYS + 1).report()
    assert said[1:] == [("has expired", {"what": Expiring.DAEMON.value})]


def test_metrics_stats_and_top_show_what_expires(tmp_path: Path) -> None:
    data_dir, authority = tmp_path / "data", Authority.made(tmp_path / "certs")
    pair, hers = authority.server(["127.0.0.2"]), authority.client("ann")
    add_identity(data_dir, "ann", "*:read", subject="ann", expires_us=us(10))
    options = {"tls_cert": str(pair.cert), "tls_key": str(pair.key)}
    options |= {"tls_client_ca": str(authority.files.cert), "metrics_address": "0"}
    with (
        running_server(data_dir, address="127.0.0.2:0", **options) as server,
        totonoe.Client(
            f"https://{server.address}", ca=authority.files.cert, cert=hers.cert, key=hers.key
        ) as client,
    ):
        client.list()
        sample = fetched(f"http://{server.metrics_address}/metrics")
        told = [
            (expiry.what, round((expiry.time.timestamp() - NOW_S) / DAY_S))
            for expiry in ends(client)
        ]
        assert told == [
            ("identity", 10),
            ("client_certificate", CLIENT_DAYS),
            ("daemon_certificate", SERVER_DAYS),
            ("client_authority", 3650),
        ]
        shown = figures(Between(sample))["expires_in_s"]
        assert {what: round(left_s / DAY_S) for what, left_s in shown.items()} == {
            "daemon_certificate": SERVER_DAYS,
            "client_authority": 3650,
            "client_certificate": CLIENT_DAYS,
            "identity": 10,
        }
        drawn = str(next(iter(view([Between(sample)], {}).renderables)))  # type: ignore[union-attr]
        assert "client certificate: expires in 90.0 days" in drawn
        # Revoked: its token and its certificate are nobody's trouble any more.
        Book(data_dir).change(
            lambda all_: entries.changed(all_, "ann", lambda one: entries.revoked(one, us(0)))
        )

        def left() -> set[str]:
            found = fetched(f"http://{server.metrics_address}/metrics")
            return set(found.labels("totonoe_expiry_time_seconds", "what"))

        wait_until(lambda: left() == {"daemon_certificate", "client_authority"})
