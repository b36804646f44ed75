"""Embedder behind any server of the OpenAI embeddings protocol (`POST <base_url>/embeddings`).

Source: OpenAI API reference, "Create embeddings". Request `{"model", "input": [texts],
"encoding_format": "float"}`, answer `{"data": [{"index", "embedding"}]}` in any order.
"""

from __future__ import annotations

import json
import os
import random
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from totonoe_core.base import errors, limits
from totonoe_core.domain.records import ModelIdentity
from totonoe_core.embedding.protocol import (
    IdentityChanged,
    Vectors,
    checked_dimension,
    misconfigured,
    not_installed,
    text_refused,
)
from totonoe_core.embedding.vectors import unit_rows

TRIES_MAX = 4
_BACKOFF_FIRST_S, _BACKOFF_MAX_S = 0.2, 5.0
_ANSWER_BYTES_MAX = limits.MESSAGE_BYTES_MAX
_AGAIN = frozenset({408, 425, 429, 500, 502, 503, 504})
_TEXT_REFUSED = frozenset({400, 413, 422})


class OpenAIEmbedder:
    """Vectors from a server.

    Only the server knows whether the batch matters, and whether the model stays the same. A change
    of dimension is noticed, another model of the same dimension is not.

    The key is read from the environment, and no answer's body gets into an error: a server may
    quote the text there.
    """

    def __init__(
        self,
        *,
        base_url: str,
        model: str,
        api_key_env: str = "",
        dimension: int = 0,
        timeout_s: float = 10.0,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        """Make the client; with `dimension` 0 one call finds the dimension.

        Parameters
        ----------
        base_url : str
            With the version, as in `http://127.0.0.1:11434/v1`.
        model : str
        api_key_env : str
            Environment variable that holds the key; empty for none.
        dimension : int
            Expected dimension; 0 to ask the server.
        timeout_s : float
            For connecting, sending and each wait for bytes of one try.
        sleep : callable
            Waits that many seconds between tries.

        Raises
        ------
        Precondition
            EMBEDDER_MISCONFIGURED: not installed, the variable is not set, the server refuses
            the model or has vectors over the limit.
        Unavailable
            EMBEDDER_UNAVAILABLE: the server did not answer the first call.
        """
        try:
            import httpx
        except ImportError as error:
            raise not_installed("openai", "server") from error
        headers = {}
        if api_key_env:
            key = os.environ.get(api_key_env, "")
            if not key:
                raise misconfigured(
                    field="api_key_env",
                    got=api_key_env,
                    allowed="the name of an environment variable that is set",
                )
            headers["Authorization"] = f"Bearer {key}"
        self._httpx = httpx
        self._client = httpx.Client(timeout=timeout_s, headers=headers)
        self._url = base_url.rstrip("/") + "/embeddings"
        self._model = model
        self._sleep = sleep
        self._jitter = random.Random(0)
        self._dimension = dimension
        if not dimension:
            self._dimension = checked_dimension(0, self._ask(["dimension"]).shape[1])
        self._identity = ModelIdentity(
            name=model, version="", weights_sha256="", dimension=self._dimension
        )

    @property
    def identity(self) -> ModelIdentity:
        """The model's name and dimension; its weights are unknown."""
        return self._identity

    def embed(self, texts: Sequence[str]) -> Vectors:
        """See `Embedder.embed`.

        Raises
        ------
        Unavailable
            EMBEDDER_UNAVAILABLE: no useful answer within the tries.
        Precondition
            EMBEDDER_MISCONFIGURED: the server refuses the contents of this request.
        IdentityChanged
            The server's vectors have another dimension than the identity says.
        """
        rows = np.empty((len(texts), self._dimension), dtype=np.float32)
        for first in range(0, len(texts), limits.EMBED_BATCH_TEXTS_MAX):
            part = texts[first : first + limits.EMBED_BATCH_TEXTS_MAX]
            vectors = self._ask(part)
            if vectors.shape[1] != self._dimension:
                raise IdentityChanged(
                    stamped=self._identity.key,
                    running=f"{self._model} of dimension {vectors.shape[1]}",
                )
            rows[first : first + len(part)] = vectors
        return rows

    def close(self) -> None:
        """Close the connections."""
        self._client.close()

    def _ask(self, texts: Sequence[str]) -> Vectors:
        body = {"model": self._model, "input": list(texts), "encoding_format": "float"}
        reason = ""
        for attempt in range(TRIES_MAX):
            wait_s = min(_BACKOFF_MAX_S, _BACKOFF_FIRST_S * 2**attempt)
            try:
                status, asked_s, content = self._post(body)
            except self._httpx.TransportError as error:
                reason = type(error).__name__
            else:
                if status == 200:
                    return self._rows(content, texts)
                reason = f"HTTP {status}"
                if status in _TEXT_REFUSED:
                    raise text_refused(f"{reason} from the server")
                if status not in _AGAIN:
                    break
                wait_s = min(_BACKOFF_MAX_S, max(wait_s, asked_s))
            if attempt + 1 < TRIES_MAX:
                # Spread, so that several daemons refused at once do not come back at once.
                self._sleep(wait_s * self._jitter.uniform(0.75, 1.0))
        raise _unavailable(f"the embedding server does not answer: {reason}")

    def _post(self, body: dict[str, Any]) -> tuple[int, float, Any]:
        """Return status, seconds of Retry-After (0 if none), and the answer of a status of 200."""
        with self._client.stream("POST", self._url, json=body) as response:
            if response.status_code != 200:
                asked = response.headers.get("retry-after", "")
                return response.status_code, float(asked) if asked.isdecimal() else 0.0, None
            received = bytearray()
            for block in response.iter_bytes():
                received += block
                if len(received) > _ANSWER_BYTES_MAX:
                    raise _unavailable("the embedding server's answer is too long")
        return 200, 0.0, received

    @staticmethod
    def _rows(content: bytearray, texts: Sequence[str]) -> Vectors:
        try:
            data = json.loads(content)["data"]
            ordered: list[Any] = [None] * len(texts)
            for item in data:
                ordered[item["index"]] = item["embedding"]
            return unit_rows(ordered, texts)
        # Any fault of the answer; none of it is quoted.
        except (ValueError, KeyError, TypeError, IndexError):
            raise _unavailable("the embedding server's answer is not understood") from None


def _unavailable(message: str) -> errors.Unavailable:
    return errors.Unavailable("EMBEDDER_UNAVAILABLE", message, retry_delay_ms=limits.RETRY_DELAY_MS)
