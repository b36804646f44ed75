"""A judge's address on the network: one POST of JSON, bounded in time and size, without a retry.

No retry fits into a write's deadline. The key is read from the environment; neither it nor a text
nor an answer gets into an error.
"""

from __future__ import annotations

import os
import time
from typing import Any

from totonoe_core.judging.protocol import JudgeFailed, misconfigured

_ANSWER_BYTES_MAX = 64 * 1024
THREADS = 4
"""Requests at once."""


class Endpoint:
    """Connections to one URL. Thread-safe."""

    def __init__(self, url: str, *, kind: str, api_key_env: str, timeout_s: float) -> None:
        """Make the client; nothing is sent.

        Parameters
        ----------
        url : str
            Whole address.
        kind : str
            Kind of the judge, for errors.
        api_key_env : str
            Environment variable that holds the key; empty for none.
        timeout_s : float
            For connecting, sending, each wait for bytes, and reading the answer as a whole.

        Raises
        ------
        Precondition
            JUDGE_MISCONFIGURED: not installed, or the variable is not set.
        """
        try:
            import httpx
        except ImportError as error:
            raise misconfigured(
                field="kind", got=kind, allowed=f"{kind} after: pip install 'totonoe[server]'"
            ) from error
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
        self._timeout_s = timeout_s
        self._url = url

    def post(self, body: dict[str, Any]) -> bytearray:
        """Send a body as JSON and return the answer's bytes.

        Raises
        ------
        JudgeFailed
            No answer, another status than 200, too long, or too late.
        """
        until_s = time.monotonic() + self._timeout_s
        received = bytearray()
        try:
            with self._client.stream("POST", self._url, json=body) as response:
                if response.status_code != 200:
                    raise JudgeFailed(f"HTTP {response.status_code}")
                for block in response.iter_bytes():
                    received += block
                    if len(received) > _ANSWER_BYTES_MAX:
                        raise JudgeFailed("the answer is too long")
                    if time.monotonic() > until_s:
                        raise JudgeFailed("the answer takes too long")
        except self._httpx.HTTPError as error:
            # From None: the exception holds the request with the texts.
            raise JudgeFailed(type(error).__name__) from None
        return received

    def close(self) -> None:
        """Close the connections."""
        self._client.close()
