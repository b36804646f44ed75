"""Addresses that the daemon listens on.

Loopback and Unix sockets need nothing. An address that another machine could reach is bound only
with a certificate and a grant, which `access/transport.py` asks for.
"""

from __future__ import annotations

import contextlib
import errno
import ipaddress
import os
import re
import socket
import stat
import sys
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path

ADDRESSES_MAX = 8
SOCKET_NAME = "totonoe.sock"
_UNIX_PATH_BYTES_MAX = 103  # macOS has 104 with the end mark, Linux 108
_PROBE_TIMEOUT_S = 1.0
PORT_MAX = 65_535
SHARES_PORTS = sys.platform == "linux"
"""True where connections to a port that several processes listen on are spread over them.

macOS and the BSDs have the option of that name, too, and give every connection to one process.
"""
_PORTS = re.compile(r"([0-9]{1,5})(?:-([0-9]{1,5}))?", re.ASCII)


class AddressError(ValueError):
    """The address is not one this daemon may or can listen on. Choose another."""


@dataclass(frozen=True, slots=True)
class Address:
    """One place to listen: a TCP port of an IP address, or a Unix socket.

    `host` has no brackets; `port` 0 takes a free one. With `path` the others are unused.
    `last_port` ends a range with a port for each of several daemons; 0: it is one port.
    """

    host: str = ""
    port: int = 0
    path: Path | None = None
    last_port: int = 0

    @property
    def local(self) -> bool:
        """Whether nobody outside of this machine can reach it."""
        return self.path is not None or ipaddress.ip_address(self.host).is_loopback

    @property
    def target(self) -> str:
        """As gRPC and clients write it."""
        if self.path is not None:
            return f"unix:{self.path}"
        ports = f"{self.port}-{self.last_port}" if self.last_port else f"{self.port}"
        return f"[{self.host}]:{ports}" if ":" in self.host else f"{self.host}:{ports}"

    def of_daemon(self, number: int) -> Address:
        """Return where the daemon of a number, from 1 on, listens if several share this address.

        That is the same port where a port can be shared; else the port or socket of its number.

        Raises
        ------
        AddressError
            There is no such port.
        """
        if self.path is not None:
            return Address(path=self.path.with_stem(f"{self.path.stem}-{number}"))
        if not self.port or (SHARES_PORTS and not self.last_port):
            return self
        own = replace(self, port=self.port + number - 1, last_port=0)
        if own.port > PORT_MAX:
            raise AddressError(f"Refusing to listen on {own.target}: ports end at {PORT_MAX}")
        return own

    @property
    def is_shared(self) -> bool:
        """Whether several daemons listen on it all together: see `of_daemon`."""
        return SHARES_PORTS and self.path is None and not self.last_port


def parse_addresses(text: str) -> tuple[Address, ...]:
    """Addresses separated by commas.

    Raises
    ------
    AddressError
        None, too many, one twice, or a wrong form.
    """
    parts = [part.strip() for part in text.split(",") if part.strip()]
    if not 0 < len(parts) <= ADDRESSES_MAX:
        raise AddressError(f"Give 1 to {ADDRESSES_MAX} addresses to listen on, not {len(parts)}")
    addresses = tuple(parse_address(part) for part in parts)
    for at, place in enumerate(addresses):
        # Port 0 takes another free one each time.
        if place in addresses[:at] and (place.path is not None or place.port):
            raise AddressError(f"Refusing to listen on {place.target} twice: name it once")
    return addresses


def parse_address(text: str) -> Address:
    """`127.0.0.1:7766`, `localhost:7766`, `[::1]:7766`, `0.0.0.0:7766` or `unix:/path`.

    `127.0.0.1:7766-7769` is a port for each of four daemons.

    Raises
    ------
    AddressError
        See `parse_addresses`.
    """
    if text.startswith("unix:"):
        return _unix(text)
    if "://" in text:
        raise AddressError(
            f"Refusing to listen on {text}: that is for clients; expected host:port or unix:/path"
        )
    host, colon, ports = text.rpartition(":")
    match = _PORTS.fullmatch(ports)
    port, last_port = (int(match[1]), int(match[2] or 0)) if match else (-1, 0)
    if not colon or not 0 <= port <= PORT_MAX or last_port > PORT_MAX:
        raise AddressError(f"Refusing to listen on {text}: expected host:port or unix:/path")
    if match and match[2] and not 0 < port < last_port:
        raise AddressError(f"Refusing to listen on {text}: of several ports name first and last")
    bare = host.removeprefix("[").removesuffix("]")
    if bare == "localhost":
        # Not looked up: a name server or hosts file could send it elsewhere.
        bare = "127.0.0.1"
    try:
        found = ipaddress.ip_address(bare)
    except ValueError:
        found = None
    if found is None or "%" in bare or (found.version == 6 and host == bare):
        # A name may mean another address tomorrow, and a scope is none of this machine's business.
        raise AddressError(f"Refusing to listen on {text}: expected the IP address of an interface")
    return Address(host=bare, port=port, last_port=last_port)


def socket_in(data_dir: Path) -> tuple[Address, ...]:
    """The socket in a data directory, where clients look for it; none if its path is too long."""
    path = data_dir / SOCKET_NAME
    return (Address(path=path),) if len(os.fsencode(path)) <= _UNIX_PATH_BYTES_MAX else ()


def _unix(text: str) -> Address:
    name = text.removeprefix("unix:")
    if name.startswith("//"):  # unix:///path
        name = name.removeprefix("//")
    if not name or "\0" in name:
        raise AddressError(f"Refusing to listen on {text!r}: a Unix socket needs a path")
    path = Path(name).expanduser().absolute()
    if len(os.fsencode(path)) > _UNIX_PATH_BYTES_MAX:
        raise AddressError(
            f"Refusing to listen on {text}: the path is longer than {_UNIX_PATH_BYTES_MAX} bytes"
        )
    return Address(path=path)


def settled(address: Address) -> Address:
    """The address with a port that is free now in place of 0.

    The port has to be known before it is bound, because the lock file names it.

    Raises
    ------
    AddressError
        The machine does not have the address.
    """
    if address.path is not None or address.port:
        return address
    return Address(host=address.host, port=_free_port(address))


def check_free(address: Address) -> None:
    """Tells in plain words what gRPC would tell in its own log.

    Raises
    ------
    AddressError
        The port is in use, or only the superuser may have it.
    """
    if address.path is None:
        _free_port(address)
    else:
        clear_stale_socket(address.path)


class SharedPorts:
    """Ports that several daemons share, kept for them from before the first one listens.

    A socket that is bound and does not listen gets no connection. It keeps the port from other
    users while no daemon runs, and a free one (port 0) the same for all.

    Attributes
    ----------
    addresses : tuple of Address
        The addresses, with a port in place of 0.

    Raises
    ------
    AddressError
        Somebody listens on one, or the machine does not have it. Nothing is held then.
    """

    def __init__(self, addresses: Iterable[Address]) -> None:
        self._sockets: list[socket.socket] = []
        try:
            self.addresses = tuple(map(self._hold, addresses))
        except BaseException:
            self.close()
            raise

    def _hold(self, address: Address) -> Address:
        if not address.is_shared:
            return address
        # Another program of this user could share the port, too: so it is asked for alone first.
        found = replace(address, port=_free_port(address))
        holder = socket.socket(_family(found))
        self._sockets.append(holder)
        holder.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        holder.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        try:
            holder.bind((found.host, found.port))
        except OSError as error:
            raise _not_free(found, error) from error
        return found

    def close(self) -> None:
        """Give the ports back. Idempotent."""
        for holder in self._sockets:
            holder.close()


def _family(address: Address) -> socket.AddressFamily:
    return socket.AF_INET6 if ":" in address.host else socket.AF_INET


def _free_port(address: Address) -> int:
    try:
        with socket.socket(_family(address)) as probe:
            # As gRPC does, so that a port whose last connections still wait is no fault.
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind((address.host, address.port))
            return int(probe.getsockname()[1])
    except OSError as error:
        raise _not_free(address, error) from error


def _not_free(address: Address, error: OSError) -> AddressError:
    why = "the port is in use" if error.errno == errno.EADDRINUSE else error.strerror
    if error.errno in (errno.EMFILE, errno.ENFILE):
        why = f"{why}; see ulimit -n"
    return AddressError(f"Cannot listen on {address.target}: {why}")


def clear_stale_socket(path: Path) -> None:
    """Takes away a socket file that nobody listens on any more.

    gRPC would take away a live one, too, so this is asked first.

    Raises
    ------
    AddressError
        Somebody listens on it, or something else has the name.
    """
    try:
        mode = path.lstat().st_mode
    except FileNotFoundError:
        return
    if not stat.S_ISSOCK(mode):
        raise AddressError(f"Refusing to listen on unix:{path}: a file of that name exists")
    with socket.socket(socket.AF_UNIX) as probe:
        probe.settimeout(_PROBE_TIMEOUT_S)
        try:
            probe.connect(str(path))
        except OSError as error:
            if error.errno not in (errno.ECONNREFUSED, errno.ENOENT):
                raise AddressError(
                    f"Refusing to listen on unix:{path}: {error.strerror or error}"
                ) from error
        else:
            raise AddressError(f"Cannot listen on unix:{path}: another process does")
    with contextlib.suppress(FileNotFoundError):
        path.unlink()
