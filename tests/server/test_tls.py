"""TLS of the daemon: which address needs it, certificates, and that they change at run time."""

from __future__ import annotations

import datetime
import shutil
import socket
import ssl
import threading
from pathlib import Path
from typing import Any

import pytest

import totonoe
from support.access import add_identity
from support.waits import wait_s, wait_until
from totonoe_server.access import certificates
from totonoe_server.access.certificates import Authority
from totonoe_server.access.errors import SettingError
from totonoe_server.access.transport import CertificateError, Certificates
from totonoe_server.life.daemon import StartupError
from totonoe_server.tools.testing import running_server

HOST = "127.0.0.2"


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority.made(tmp_path_factory.mktemp("certs"))


@pytest.fixture
def data_dir(tmp_path: Path) -> Path:
    return tmp_path / "data"


def tls(authority: Authority, *, mutual: bool = False) -> dict[str, str]:
    pair = authority.server([HOST, "localhost"])
    ca = str(authority.files.cert) if mutual else ""
    return {"tls_cert": str(pair.cert), "tls_key": str(pair.key), "tls_client_ca": ca}


def late() -> datetime.datetime:
    """A moment at which a client's certificate was made that has expired by now."""
    return datetime.datetime.now(datetime.UTC) - datetime.timedelta(days=91)


def test_token_over_tls_is_served(authority: Authority, data_dir: Path) -> None:
    token = add_identity(data_dir, "ann", "*:read,remember")
    ca = authority.files.cert
    with (
        running_server(data_dir, address=f"{HOST}:0", **tls(authority)) as server,
        totonoe.Client(f"https://{server.address}", token=token, ca=ca) as hers,
    ):
        assert hers.remember("Said over TLS.").saved
        assert hers.health()


def test_each_of_two_addresses_speaks_tls(authority: Authority, data_dir: Path) -> None:
    token = add_identity(data_dir, "ann", "*:read,remember")
    given = f"{HOST}:0,localhost:0"
    with running_server(data_dir, address=given, **tls(authority)) as server:
        for number, address in enumerate(server.address.split(",")):
            named = address.replace("127.0.0.1", "localhost")
            ca = authority.files.cert
            with totonoe.Client(f"https://{named}", token=token, ca=ca) as client:
                assert client.remember(f"The boat {number} lies at pier {number * 3}.").saved


@pytest.mark.parametrize("given", ["none", "another"])
def test_wrong_authority_is_an_error_at_once(
    authority: Authority, data_dir: Path, tmp_path: Path, given: str
) -> None:
    ca = Authority.made(tmp_path / "another").files.cert if given == "another" else None
    with (
        running_server(data_dir, address=f"{HOST}:0", **tls(authority)) as server,
        totonoe.Client(f"https://{server.address}", ca=ca, timeout_s=wait_s(1.0)) as client,
        pytest.raises(totonoe.errors.HandshakeFailed, match="TOTONOE_CA"),
    ):
        client.stats()


def test_certificate_for_another_name_is_an_error_at_once(data_dir: Path, tmp_path: Path) -> None:
    authority = Authority.made(tmp_path / "certs")
    pair = authority.server(["memory.example.org"])
    options = {"tls_cert": str(pair.cert), "tls_key": str(pair.key)}
    ca = authority.files.cert
    with (
        running_server(data_dir, address=f"{HOST}:0", **options) as server,
        totonoe.Client(f"https://{server.address}", ca=ca, timeout_s=wait_s(1.0)) as client,
        pytest.raises(totonoe.errors.HandshakeFailed),
    ):
        client.stats()


def test_tls_to_a_plain_port_is_an_error_at_once(totonoe_server: Any) -> None:
    with (
        totonoe.Client(f"https://{totonoe_server.address}", timeout_s=wait_s(1.0)) as client,
        pytest.raises(totonoe.errors.HandshakeFailed),
    ):
        client.stats()


def test_subject_of_a_client_certificate_is_the_identity(
    authority: Authority, data_dir: Path, tmp_path: Path
) -> None:
    add_identity(data_dir, "coder", "team-*:read,remember", agent="ann", subject="coder.example")
    known, unknown = authority.client("coder.example"), authority.client("somebody")
    foreign = Authority.made(tmp_path / "another").client("coder.example")
    expired = Authority(authority.directory, late).client("late")
    ca = authority.files.cert

    def stats(pair: Any, address: str) -> str:
        own = {} if pair is None else {"cert": pair.cert, "key": pair.key}
        with totonoe.Client(address, ca=ca, timeout_s=wait_s(1.0), **own) as client:
            try:
                client.list(collection="team-a")
            except totonoe.TotonoeError as error:
                return error.reason or type(error).__name__
        return ""

    options = tls(authority, mutual=True)
    with running_server(data_dir, address=f"{HOST}:0,unix:{data_dir}/s", **options) as server:
        tcp, unix = server.address.split(",")
        with totonoe.Client(unix) as owner:
            owner.create_collection("team-a")
        assert stats(known, f"https://{tcp}") == ""
        assert stats(unknown, f"https://{tcp}") == "TOKEN_INVALID"
        with totonoe.Client(f"https://{tcp}", ca=ca, cert=known.cert, key=known.key) as coder:
            with pytest.raises(totonoe.errors.PermissionDenied):
                coder.list()
            saved = coder.remember("Said by its certificate.", collection="team-a")
            assert coder.get(saved.memory_id, collection="team-a").agent_id == "ann"
        # One attempt each: these wait until their deadline, as for a daemon that starts.
        refused = {stats(pair, f"https://{tcp}") for pair in (None, foreign, expired)}
        assert refused <= {"Unreachable", "HandshakeFailed"}


def test_versions_before_tls_1_2_are_refused(authority: Authority, data_dir: Path) -> None:
    with running_server(data_dir, address=f"{HOST}:0", **tls(authority)) as server:
        host, _, port = server.address.rpartition(":")
        for version, served in (
            (ssl.TLSVersion.TLSv1_1, False),
            (ssl.TLSVersion.TLSv1_2, True),
            (ssl.TLSVersion.TLSv1_3, True),
        ):
            context = ssl.create_default_context(cafile=str(authority.files.cert))
            # Otherwise OpenSSL itself would refuse the old one, and the daemon not be asked.
            context.set_ciphers("DEFAULT:@SECLEVEL=0")
            context.set_alpn_protocols(["h2"])
            with pytest.warns(DeprecationWarning) if not served else _nothing():
                context.minimum_version = version
                context.maximum_version = version
            with socket.create_connection((host, int(port)), wait_s()) as plain:
                try:
                    with context.wrap_socket(plain, server_hostname=HOST) as secure:
                        assert served and secure.version() == version.name.replace("_", ".")
                except (ssl.SSLError, ConnectionError) as error:
                    assert not served, error


def _nothing() -> Any:
    import contextlib

    return contextlib.nullcontext()


def test_certificate_swap_under_load_fails_no_call(data_dir: Path, tmp_path: Path) -> None:
    authority = Authority.made(tmp_path / "certs")
    token = add_identity(data_dir, "ann", "*:read,remember")
    ca, options = authority.files.cert, tls(authority)
    failures: list[Exception] = []
    calls = [0, 0]
    stop = threading.Event()

    def load(number: int, address: str) -> None:
        retry = totonoe.RetryPolicy(attempts_max=1)
        long = totonoe.Client(address, token=token, ca=ca, retry=retry, timeout_s=wait_s())
        while not stop.is_set():
            try:
                if number % 2:
                    long.recall("anything")
                else:  # a new connection, with a handshake, for each call
                    with totonoe.Client(address, token=token, ca=ca, retry=retry) as new:
                        new.health(timeout_s=wait_s())
                calls[number % 2] += 1
            except Exception as error:
                failures.append(error)
        long.close()

    with running_server(data_dir, address=f"{HOST}:0", **options) as server:
        address = f"https://{server.address}"
        host, _, port = server.address.rpartition(":")
        threads = [threading.Thread(target=load, args=(n, address)) for n in range(4)]
        for thread in threads:
            thread.start()
        seen = set()
        for _ in range(5):
            before = calls[0]
            wait_until(lambda before=before: calls[0] > before + 5)
            pair = authority.server([HOST])
            expected = ssl.PEM_cert_to_DER_cert(pair.cert.read_text())

            def served(expected: bytes = expected) -> bool:
                found = ssl.get_server_certificate((host, int(port)), timeout=wait_s())
                return ssl.PEM_cert_to_DER_cert(found) == expected

            wait_until(served)
            seen.add(expected)
        # A key that does not fit is not served.
        shutil.copy(authority.client("x").key, options["tls_key"])
        assert served()
        wait_until(lambda: min(calls) > 20)
        stop.set()
        for thread in threads:
            thread.join(wait_s())
    assert failures == []
    assert len(seen) == 5


@pytest.mark.parametrize(
    ("certificate", "grant", "words"),
    [
        (False, False, "without a certificate (--tls-cert and --tls-key) and a grant (`totonoe to"),
        (True, False, "without a grant (`totonoe tokens create`)"),
        (False, True, "without a certificate (--tls-cert and --tls-key)"),
        (True, True, ""),
    ],
)
def test_address_of_other_machines_needs_a_certificate_and_a_grant(
    authority: Authority, data_dir: Path, certificate: bool, grant: bool, words: str
) -> None:
    token = add_identity(data_dir, "ann", "*:read") if grant else ""
    options: dict[str, Any] = tls(authority) if certificate else {}
    if words:
        with (
            pytest.raises(StartupError) as caught,
            running_server(data_dir, address="0.0.0.0:0", **options),
        ):
            pass
        assert str(caught.value).endswith(words) or words in str(caught.value)
        assert "\n" not in str(caught.value)
        assert "which other machines can reach" in str(caught.value)
        return
    with running_server(data_dir, address="0.0.0.0:0", **options) as server:
        port = server.address.rpartition(":")[2]
        ca = authority.files.cert
        with totonoe.Client(f"https://{HOST}:{port}", token=token, ca=ca) as hers:
            assert hers.stats()


def test_revoked_identity_is_no_grant_for_an_address(authority: Authority, data_dir: Path) -> None:
    add_identity(data_dir, "ann", "*:read", expires_us=1)
    with (
        pytest.raises(StartupError, match="without a grant"),
        running_server(data_dir, address="0.0.0.0:0", **tls(authority)),
    ):
        pass


@pytest.mark.parametrize("broken", ["missing", "directory", "text", "key", "ca"])
def test_certificate_that_cannot_be_used_is_one_line_that_names_the_file(
    authority: Authority, tmp_path: Path, broken: str
) -> None:
    pair, ca = authority.server([HOST]), ""
    cert, key, bad = str(pair.cert), str(pair.key), tmp_path / "bad.pem"
    if broken == "directory":
        bad.mkdir()
    elif broken != "missing":
        bad.write_text("-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n")
    if broken == "key":
        key = str(bad)
    elif broken == "ca":
        ca = str(bad)
    else:
        cert = str(bad)
    with pytest.raises(CertificateError) as caught:
        Certificates(cert, key, ca)
    assert str(bad) in str(caught.value)
    assert "\n" not in str(caught.value)


def test_authority_is_made_once_and_its_keys_are_closed(tmp_path: Path) -> None:
    directory = tmp_path / "certs"
    with pytest.raises(SettingError, match="is missing; make an authority"):
        Authority(directory)
    authority = Authority.made(directory)
    with pytest.raises(SettingError, match=r"ca\.pem: exists"):
        Authority.made(directory)
    authority.server(["a.example", "::1"])
    authority.client("ann")
    assert {path.stat().st_mode & 0o777 for path in directory.iterdir()} == {0o600}
    assert directory.stat().st_mode & 0o777 == 0o700
    shutil.copy(directory / "ann.key", directory / "ca.key")
    with pytest.raises(SettingError, match="is not the key of"):
        Authority(directory)


@pytest.mark.parametrize("name", ["", "a b", "-a", "a..b", "x" * 300, "a\0", "ümlaut.de"])
def test_name_of_a_server_that_is_none_is_refused(authority: Authority, name: str) -> None:
    with pytest.raises(SettingError, match="allowed: a host name or an IP address"):
        authority.server([name])


@pytest.mark.parametrize("name", ["", "ca", "server", "../x", "a/b", "a" * 65])
def test_name_of_a_client_that_is_none_is_refused(authority: Authority, name: str) -> None:
    with pytest.raises(SettingError, match="name: got"):
        authority.client(name)


def test_days_of_certificates(authority: Authority) -> None:
    from cryptography import x509

    def days(path: Path) -> int:
        cert = x509.load_pem_x509_certificate(path.read_bytes())
        return (cert.not_valid_after_utc - cert.not_valid_before_utc).days

    assert days(authority.server([HOST]).cert) == 825
    assert days(authority.client("ann").cert) == 90


@pytest.mark.parametrize("name", ["coder\0", "coder\0.evil", "coder\n", "coder\x1b[2J"])
def test_certificate_whose_name_holds_a_control_character_is_refused(
    authority: Authority, data_dir: Path, name: str
) -> None:
    add_identity(data_dir, "coder", "*:read", subject="coder")
    key = certificates.ec.generate_private_key(certificates.ec.SECP256R1())
    now = datetime.datetime.now(datetime.UTC)
    draft = certificates._draft(
        certificates._name(name), authority._cert.subject, key, now, certificates.CLIENT_DAYS
    )
    usage = certificates.ExtendedKeyUsageOID.CLIENT_AUTH
    pair = authority._signed("odd", draft, key, usage)
    ca = authority.files.cert
    with (
        running_server(data_dir, address=f"{HOST}:0", **tls(authority, mutual=True)) as server,
        totonoe.Client(f"https://{server.address}", ca=ca, cert=pair.cert, key=pair.key) as odd,
        pytest.raises(totonoe.errors.Unauthenticated) as caught,
    ):
        odd.stats()
    assert caught.value.reason == "TOKEN_INVALID"
