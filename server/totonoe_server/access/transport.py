"""TLS of the daemon: certificates from files, read again when they change, without a restart.

gRPC serves TLS 1.2 and 1.3 and nothing older.
"""

from __future__ import annotations

import math
import ssl
import threading
from pathlib import Path

import grpc

from totonoe_core.base import names
from totonoe_core.base.errors import InvalidArgument
from totonoe_server.logger import logger

_BYTES_MAX = 1024 * 1024

Stamp = tuple[tuple[int, int, int], ...]


class CertificateError(ValueError):
    """A certificate cannot be used. The message is one line and names the file."""


class Certificates:
    """Certificate, key and authority of clients, in files.

    Each new connection looks whether the files changed. What does not fit together (a certificate
    without its key, while both are being replaced) is logged once, and the one before stays.
    Connections that exist go on.

    Parameters
    ----------
    cert, key : str
        Files in PEM.
    client_ca : str
        File in PEM; empty: clients need no certificate.

    Attributes
    ----------
    ends_s : tuple of float
        When the first certificate of `cert` ends, and the first of `client_ca`, in seconds since
        1970; infinity for no file.

    Raises
    ------
    CertificateError
        A file cannot be read, or they do not fit together.
    """

    def __init__(self, cert: str, key: str, client_ca: str = "") -> None:
        self._files = tuple(Path(name).expanduser() for name in (cert, key, client_ca) if name)
        self._clients_need_one = bool(client_ca)
        self._lock = threading.Lock()
        self._failure = ""
        self._stamp = self._stamped()
        self._newest, self.ends_s = self._read()

    def credentials(self) -> grpc.ServerCredentials:
        """Return credentials of one port that follow the files; another port needs its own.

        gRPC hands the first configuration to one port alone.
        """
        served = self._newest

        def changed() -> grpc.ServerCertificateConfiguration | None:
            nonlocal served
            self.changed()
            before, served = served, self._newest
            return None if before is served else served

        return grpc.dynamic_ssl_server_credentials(
            served,
            changed,  # type: ignore[arg-type] # the stubs forget that it may return None
            require_client_authentication=self._clients_need_one,
        )

    def changed(self) -> grpc.ServerCertificateConfiguration | None:
        """Return what to serve from now on; `None`: as before. gRPC calls it on its threads."""
        with self._lock:
            try:
                stamp = self._stamped()
                if stamp == self._stamp:
                    return None
                # First, so that what is wrong is logged once and not for each connection.
                self._stamp = stamp
                configuration, ends_s = self._read()
                if self._stamped() != stamp:
                    # They are being replaced at this moment: the next connection looks again.
                    return None
                self._failure, self._newest, self.ends_s = "", configuration, ends_s
            except CertificateError as error:
                if str(error) != self._failure:
                    self._failure = str(error)
                    logger.error("certificates were not read again", why=self._failure)
                return None
            logger.info("certificates were read again", file=str(self._files[0]))
            return configuration

    def _stamped(self) -> Stamp:
        try:
            found = [path.stat() for path in self._files]
        except OSError as error:
            raise CertificateError(f"{error.filename}: {error.strerror}") from error
        return tuple((stat.st_ino, stat.st_size, stat.st_mtime_ns) for stat in found)

    def _read(self) -> tuple[grpc.ServerCertificateConfiguration, tuple[float, float]]:
        cert, key, *authorities = (_pem(path) for path in self._files)
        try:
            # gRPC would take a key that is another certificate's, and fail at each handshake.
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(self._files[0], self._files[1], password=_no_password)
        except (ssl.SSLError, ValueError) as error:
            raise CertificateError(
                f"{self._files[0]}: no certificate in PEM with the key of {self._files[1]}"
            ) from error
        for path, authority in zip(self._files[2:], authorities, strict=True):
            try:
                context.load_verify_locations(cadata=authority.decode("ascii"))
            except (ssl.SSLError, ValueError) as error:
                raise CertificateError(f"{path}: no certificate in PEM") from error
        configuration = grpc.ssl_server_certificate_configuration(
            [(key, cert)], root_certificates=authorities[0] if authorities else None
        )
        return configuration, (first_end_s(cert), first_end_s(b"".join(authorities)))


def first_end_s(pem: bytes) -> float:
    """Return when the first of some certificates ends, in seconds since 1970."""
    # Not at the top: a daemon without TLS does without the package.
    from cryptography import x509

    try:
        certificates = x509.load_pem_x509_certificates(pem) if pem else []
    except ValueError:
        # OpenSSL, which serves it, takes more forms than this reader.
        return math.inf
    return min(
        (certificate.not_valid_after_utc.timestamp() for certificate in certificates),
        default=math.inf,
    )


def has_common_name(pem: bytes, name: str) -> bool:
    """Return whether the first certificate has one common name, this one, and it is a name.

    gRPC hands a common name on as C does, up to the first NUL, so that `coder` and a byte more
    would be taken for `coder`.
    """
    from cryptography import x509

    try:
        names.check(name, "common name")
        subject = x509.load_pem_x509_certificates(pem)[0].subject
        found = subject.get_attributes_for_oid(x509.NameOID.COMMON_NAME)
    except (InvalidArgument, ValueError):
        return False
    return [attribute.value for attribute in found] == [name]


def _no_password() -> str:
    """Without it OpenSSL would ask for the password of a key on the terminal, and wait."""
    raise ValueError("the key has a password")


def _pem(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            data = file.read(_BYTES_MAX + 1)
    except OSError as error:
        raise CertificateError(f"{path}: {error.strerror}") from error
    if len(data) > _BYTES_MAX:
        raise CertificateError(f"{path}: is longer than {_BYTES_MAX} bytes")
    return data
