"""Interface of an embedder, and the stamp that names the model of a collection's vectors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from totonoe_core.base import errors, limits
from totonoe_core.domain.records import ModelIdentity

Vectors = NDArray[np.float32]
"""float32[n, dim] or float32[dim], C-contiguous, finite, unit norm."""


class Embedder(Protocol):
    """Turns texts into unit vectors, in the calling thread. Used by one thread at a time."""

    @property
    def identity(self) -> ModelIdentity:
        """Known once the embedder is made, and fixed from then on."""
        ...

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Embed each text on its own.

        Parameters
        ----------
        texts : sequence of str
            Any length of text, also empty. May hold none.

        Returns
        -------
        float32[n, dim]
            Row i belongs to `texts[i]`; finite, unit norm. Each implementation says whether a
            text has the same vector in every batch.
        """
        ...


class IdentityChanged(errors.ModelMismatch):
    """The embedder turned into another model while the daemon ran.

    Unlike `ModelMismatch` for a collection, no request is at fault: somebody replaced the model's
    files or the model behind a URL. Nothing is embedded until the daemon is restarted; then the
    stamps of the collections decide.
    """

    def __init__(self, *, stamped: str, running: str) -> None:
        errors.TotonoeError.__init__(
            self,
            "MODEL_MISMATCH",
            f"the embedder was {stamped} and is now {running}; restart to use the new one",
            stamped=stamped,
            running=running,
        )


def client_vectors(dimension: int) -> ModelIdentity:
    """Return the stamp of a collection whose clients bring their own vectors (name "none")."""
    return ModelIdentity(name="none", version="", weights_sha256="", dimension=dimension)


def misconfigured(*, field: str, got: object, allowed: str) -> errors.Precondition:
    """Return the error for an embedder that cannot run as configured. Waiting does not help."""
    return errors.Precondition(
        "EMBEDDER_MISCONFIGURED",
        f"embedder.{field}: got {got}, allowed: {allowed}",
        field=f"embedder.{field}",
        got=got,
        allowed=allowed,
    )


def not_installed(kind: str, extra: str) -> errors.Precondition:
    """Return the error for an embedder whose package is missing, with the package to install."""
    return misconfigured(
        field="kind", got=kind, allowed=f"{kind} after: pip install 'totonoe[{extra}]'"
    )


def text_refused(why: str) -> errors.Precondition:
    """Return the error for a text that a healthy model refuses. `why` quotes nothing."""
    return errors.Precondition(
        "EMBEDDER_MISCONFIGURED", f"the embedder refuses a text: {why}", field="content", got=why
    )


def checked_dimension(expected: int, actual: int) -> int:
    """Return `actual`, if it is within the limit and equals the expected dimension (0: any).

    Raises
    ------
    Precondition
        EMBEDDER_MISCONFIGURED.
    """
    if expected not in (0, actual):
        raise misconfigured(field="dimension", got=expected, allowed=str(actual))
    if not 1 <= actual <= limits.VECTOR_DIMENSION_MAX:
        raise misconfigured(
            field="dimension", got=actual, allowed=f"1..{limits.VECTOR_DIMENSION_MAX}"
        )
    return actual
