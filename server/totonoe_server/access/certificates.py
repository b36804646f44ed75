"""Certificates of an own authority: one for the daemon's names, one for each client.

Keys are of the curve P-256, in files of mode 0600. Needs the package `cryptography`.
"""

from __future__ import annotations

import datetime
import ipaddress
import re
import secrets
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from cryptography import x509
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from totonoe_server.access.errors import SettingError
from totonoe_server.access.files import make_directory, replace

SERVER_DAYS = 825
CLIENT_DAYS = 90
AUTHORITY_DAYS = 3650
_BEFORE = datetime.timedelta(minutes=5)
"""Clocks of two machines may differ by so much."""
_HOST = re.compile(r"(?=.{1,253}\Z)(\*\.)?[A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?"
                   r"(\.[A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?)*")  # fmt: skip
_CLIENT = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.@-]{0,63}")


@dataclass(frozen=True, slots=True)
class KeyPair:
    """Files of a certificate and of its key."""

    cert: Path
    key: Path


def _now() -> datetime.datetime:
    return datetime.datetime.now(datetime.UTC)


class Authority:
    """The authority in a directory: `ca.pem`, and `ca.key`, with which certificates are made.

    Parameters
    ----------
    directory : Path
    now : callable
        The time of day.

    Raises
    ------
    SettingError
        There is none, or it cannot be read.
    """

    def __init__(self, directory: Path, now: Callable[[], datetime.datetime] = _now) -> None:
        self._now = now
        self.directory = directory
        self.files = files = _pair(directory, "ca")
        try:
            cert = x509.load_pem_x509_certificate(files.cert.read_bytes())
            key = serialization.load_pem_private_key(files.key.read_bytes(), password=None)
        except FileNotFoundError as error:
            raise SettingError(
                f"{error.filename}: is missing; make an authority with the command `certs init`"
            ) from None
        except OSError as error:
            raise SettingError(f"{error.filename}: {error.strerror}") from None
        except (ValueError, TypeError):
            raise SettingError(f"{files.cert}: no certificate in PEM with its key") from None
        if not isinstance(key, ec.EllipticCurvePrivateKey) or key.public_key() != cert.public_key():
            raise SettingError(f"{files.key}: is not the key of {files.cert}")
        self._cert, self._key = cert, key

    @classmethod
    def made(cls, directory: Path) -> Authority:
        """Make an authority. Raises `SettingError` if the directory has one."""
        files = _pair(directory, "ca")
        for path in (files.cert, files.key):
            if path.exists():
                raise SettingError(f"{path}: exists; its certificates would not be valid any more")
        key = ec.generate_private_key(ec.SECP256R1())
        name = _name("totonoe authority " + secrets.token_hex(4))
        draft = _draft(name, name, key, _now(), AUTHORITY_DAYS)
        draft = draft.add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        draft = draft.add_extension(_usage(authority=True), critical=True)
        draft = draft.add_extension(
            x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False
        )
        _write(files, draft.sign(key, hashes.SHA256()), key)
        return cls(directory)

    def server(self, names: list[str]) -> KeyPair:
        """Make, or renew, the certificate of a daemon under host names and IP addresses.

        Raises `SettingError`.
        """
        if not names:
            raise SettingError("name: allowed: one host name or IP address, or several")
        alternatives: list[x509.GeneralName] = []
        for name in names:
            try:
                alternatives.append(x509.IPAddress(ipaddress.ip_address(name)))
            except ValueError:
                if not _HOST.fullmatch(name):
                    raise SettingError(
                        f"name: got {name!r}, allowed: a host name or an IP address"
                    ) from None
                alternatives.append(x509.DNSName(name))
        key = ec.generate_private_key(ec.SECP256R1())
        draft = _draft(_name("totonoe"), self._cert.subject, key, self._now(), SERVER_DAYS)
        draft = draft.add_extension(x509.SubjectAlternativeName(alternatives), critical=False)
        return self._signed("server", draft, key, ExtendedKeyUsageOID.SERVER_AUTH)

    def client(self, name: str) -> KeyPair:
        """Make, or renew, the certificate of a client. Its common name is `name`.

        Raises `SettingError`.
        """
        if not _CLIENT.fullmatch(name) or name in ("ca", "server"):
            raise SettingError(
                f"name: got {name!r}, allowed: 1 to 64 of letters, digits, `_`, `.`, `@`, `-`, "
                "beginning with a letter or digit, and not `ca` or `server`"
            )
        key = ec.generate_private_key(ec.SECP256R1())
        draft = _draft(_name(name), self._cert.subject, key, self._now(), CLIENT_DAYS)
        return self._signed(name, draft, key, ExtendedKeyUsageOID.CLIENT_AUTH)

    def _signed(
        self,
        file: str,
        draft: x509.CertificateBuilder,
        key: ec.EllipticCurvePrivateKey,
        usage: x509.ObjectIdentifier,
    ) -> KeyPair:
        draft = draft.add_extension(x509.BasicConstraints(ca=False, path_length=None), True)
        draft = draft.add_extension(_usage(authority=False), critical=True)
        draft = draft.add_extension(x509.ExtendedKeyUsage([usage]), critical=False)
        draft = draft.add_extension(
            x509.AuthorityKeyIdentifier.from_issuer_public_key(self._key.public_key()),
            critical=False,
        )
        files = _pair(self.directory, file)
        cert = draft.sign(self._key, hashes.SHA256())
        try:
            cert.verify_directly_issued_by(self._cert)
        except (ValueError, TypeError, InvalidSignature):
            raise SettingError(f"{self.files.cert}: cannot vouch for a certificate") from None
        _write(files, cert, key)
        return files


def _pair(directory: Path, name: str) -> KeyPair:
    return KeyPair(directory / f"{name}.pem", directory / f"{name}.key")


def _name(text: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text)])


def _draft(
    subject: x509.Name,
    issuer: x509.Name,
    key: ec.EllipticCurvePrivateKey,
    now: datetime.datetime,
    days: int,
) -> x509.CertificateBuilder:
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - _BEFORE)
        .not_valid_after(now + datetime.timedelta(days=days))
    )


def _usage(*, authority: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=not authority,
        key_cert_sign=authority,
        crl_sign=authority,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        encipher_only=False,
        decipher_only=False,
    )


def _write(files: KeyPair, cert: x509.Certificate, key: ec.EllipticCurvePrivateKey) -> None:
    """Write both files, each in one step; the key first, and never open to others.

    A daemon that looks in between finds a pair that does not fit, and serves the one before.
    """
    secret = key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
    try:
        make_directory(files.key.parent)
        replace(files.key, secret)
        replace(files.cert, cert.public_bytes(serialization.Encoding.PEM))
    except OSError as error:
        raise SettingError(f"{error.filename or files.key}: {error.strerror}") from None
