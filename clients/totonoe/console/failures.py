"""Failures of calls in plain words, each with a way on."""

from __future__ import annotations

from dataclasses import dataclass

from totonoe import errors
from totonoe.console.settings import Settings


@dataclass(frozen=True, slots=True)
class Failure:
    """A failure for people: what happened, what to do, a line to type (empty: none), a status."""

    title: str
    text: str
    next_step: str
    line: str
    status: int


_KINDS: tuple[tuple[type[Exception], int, str, str], ...] = (
    (errors.Unreachable, 503, "No daemon answers", "Start it, then try again."),
    (
        errors.Unavailable,
        503,
        "The daemon is busy",
        "It starts, stops or has much to do. Try again in a few seconds.",
    ),
    (
        errors.DeadlineExceeded,
        504,
        "The daemon did not answer in time",
        "A change may have been done: look at the timeline first.",
    ),
    (
        errors.HandshakeFailed,
        502,
        "No safe connection to the daemon",
        "Check the certificates that the console was started with.",
    ),
    (
        errors.Unauthenticated,
        403,
        "The daemon does not know this identity",
        "End the console, and start it with a token that counts.",
    ),
    (
        errors.PermissionDenied,
        403,
        "This identity may not do that",
        "Start a console as an identity that may, or ask whoever grants rights.",
    ),
    (
        errors.NotFound,
        404,
        "It is not there",
        "It may belong to another agent, or never have been. Search for it.",
    ),
    (errors.NotActive, 409, "It is no longer live", "Look at it: somebody forgot or replaced it."),
    (
        errors.StaleRevision,
        409,
        "It changed meanwhile",
        "Nothing was done. Look at it as it is now, then decide again.",
    ),
    (errors.RateLimited, 429, "Too many calls", "Wait a few seconds, then try again."),
    (
        errors.QuotaExceeded,
        409,
        "A limit is reached",
        "Nothing was done. The message names the limit.",
    ),
    (
        errors.ReadOnly,
        409,
        "The daemon cannot write now",
        "Reading goes on. Whoever runs the daemon finds the reason on the page Health.",
    ),
    (
        errors.ModelMismatch,
        409,
        "The collection has vectors of another model",
        "It must be embedded anew before texts can be compared.",
    ),
    (
        errors.InvalidArgument,
        400,
        "The daemon does not take that",
        "Correct what the message names, then try again.",
    ),
    (
        errors.OutOfRange,
        400,
        "There is no such revision",
        "Choose a revision that the collection has.",
    ),
    (errors.Unimplemented, 501, "The daemon is older than this console", "Update the daemon."),
    (
        errors.DataLoss,
        502,
        "Data on disk is damaged",
        "Whoever runs the daemon should verify its data directory.",
    ),
    (ValueError, 400, "That cannot be sent", "Correct it, then try again."),
    (
        errors.InsecureConnection,
        502,
        "The connection is not safe",
        "Start the console with an address that begins with https://.",
    ),
)


_OTHER = (502, "The call failed", "Try again.")


def in_words(error: Exception, settings: Settings) -> Failure:
    """Return a failed call, or a value that cannot be sent, in plain words."""
    known = [kind[1:] for kind in _KINDS if isinstance(error, kind[0])]
    status, title, next_step = known[0] if known else _OTHER
    line = ""
    if isinstance(error, errors.Unreachable):
        line = settings.start_line()
    elif isinstance(error, errors.ModelMismatch):
        line = settings.line("reembed")
    elif isinstance(error, errors.Unauthenticated | errors.PermissionDenied):
        line = settings.line("tokens", "list")
    return Failure(title, str(error), next_step, line, status)
