"""Failed calls of the wire, as exceptions of `totonoe.errors`."""

from __future__ import annotations

import re
from typing import cast

import grpc
from google.protobuf.message import DecodeError
from google.rpc import error_details_pb2
from grpc_status import rpc_status

from totonoe.call.channel import DEFAULT_ADDRESS
from totonoe.errors import HandshakeFailed, Internal, TotonoeError, Unavailable, Unreachable, build
from totonoe.steps import starting
from totonoe.wire.exceptions import delay_of

DOMAIN = "totonoe.v1"
# How gRPC's core names what went wrong before a connection was up.
_HANDSHAKE = re.compile(r"[Hh]andshak|SSL_ERROR|CERTIFICATE_VERIFY|verification check failed")


def from_call(error: grpc.RpcError, address: str) -> TotonoeError:
    """The exception for a failed call.

    Parameters
    ----------
    error : grpc.RpcError
        What a call of either gRPC client raised.
    address : str
        Where the daemon was looked for, for the hint how to start it.
    """
    # Both clients raise errors that are calls as well; the base class does not say so.
    failed = cast(grpc.Call, error)
    code = failed.code().name
    message = failed.details() or code
    reason, details, retry_delay_s = _rich_details(failed)
    if code == "UNAVAILABLE" and not reason and _HANDSHAKE.search(message):
        return HandshakeFailed(
            f"no TLS connection to {address}: check the address, the authority (TOTONOE_CA) and "
            f"the client's certificate (TOTONOE_CERT, TOTONOE_KEY) ({message})",
            code=code,
            details={"address": address},
        )
    if code == "UNAVAILABLE" and not reason:
        # Our daemon always states a reason, so the connection itself failed.
        # After the handshake of TLS 1.3 a daemon that refuses a certificate just hangs up.
        line = starting(address, DEFAULT_ADDRESS)
        start = f"start one with `{line}`, or " if line else ""
        or_refused = " (or it refuses this client's certificate)" if "https:" in address else ""
        return Unreachable(
            f"no daemon answers at {address}{or_refused}; {start}say where it is with "
            f"TOTONOE_ADDRESS ({message})",
            code=code,
            details={"address": address},
            retry_delay_s=retry_delay_s,
        )
    if code == "DEADLINE_EXCEEDED" and not reason:
        reason = "DEADLINE_PASSED"
    return build(code, message, reason=reason, details=details, retry_delay_s=retry_delay_s)


def unmasked(failure: TotonoeError) -> TotonoeError:
    """The failure, or a broken stream where grpc.aio hides which one it was (grpc#36066).

    An error of the daemon always has a reason; one of gRPC's core has this text.
    """
    if isinstance(failure, Internal) and not failure.reason and "from Core" in failure.message:
        return Unavailable("the stream broke while it was written to", code="UNAVAILABLE")
    return failure


def _rich_details(failed: grpc.Call) -> tuple[str, dict[str, str], float | None]:
    """Reason, details and retry delay in seconds; empty where the answer carries none."""
    try:
        status = rpc_status.from_call(failed)
    except (ValueError, DecodeError):
        # Something on the way rewrote the message or the details: the code still holds.
        status = None
    reason, details, retry_delay_s = "", {}, None
    info, retry = error_details_pb2.ErrorInfo(), error_details_pb2.RetryInfo()
    for packed in status.details if status else ():
        try:
            if packed.Unpack(info) and info.domain == DOMAIN:
                reason, details = info.reason, dict(info.metadata)
            elif packed.Unpack(retry):
                retry_delay_s = retry.retry_delay.ToTimedelta().total_seconds()
        except DecodeError:
            continue
    return reason, details, retry_delay_s if retry_delay_s is not None else delay_of(details)
