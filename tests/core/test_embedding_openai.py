"""The client of OpenAI-compatible servers, against a server in this process."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from support.embedding import assert_unit_rows
from support.http_servers import JsonServer
from support.waits import wait_s
from totonoe_core.base import errors, limits
from totonoe_core.embedding import EmbedderSettings, EmbeddingService, IdentityChanged
from totonoe_core.embedding.openai import TRIES_MAX, OpenAIEmbedder


class Server(JsonServer):
    """Answers with vectors of `dimension`, after the statuses in `refusals`."""

    def __init__(self) -> None:
        self.dimension = 3
        self.refusals: list[int] = []
        super().__init__()

    def status_of(self, body: dict[str, Any]) -> int:
        status = self.refusals.pop(0) if self.refusals else 200
        return 400 if any(text.startswith("bad") for text in body["input"]) else status

    def answer(self, body: dict[str, Any], status: int) -> bytes:
        if status != 200:
            return b"you sent: secret"
        if self.raw is not None:
            return self.raw
        items = [
            {"index": i, "embedding": [len(text) + 1.0] + [1.0] * (self.dimension - 1)}
            for i, text in enumerate(body["input"])
        ]
        return json.dumps({"data": items[::-1]}).encode()


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    for name in ("http_proxy", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)
    running = Server()
    yield running
    running.close()


class Client:
    """Makes embedders and remembers how long they meant to wait."""

    def __init__(self, server: Server) -> None:
        self._server = server
        self.made: list[OpenAIEmbedder] = []
        self.waits_s: list[float] = []

    def __call__(self, **options: Any) -> OpenAIEmbedder:
        given: dict[str, Any] = {"base_url": self._server.url, "model": "tiny"}
        given |= {"timeout_s": 5.0} | options
        self.made.append(OpenAIEmbedder(sleep=self.waits_s.append, **given))
        return self.made[-1]


@pytest.fixture
def client(server: Server) -> Iterator[Client]:
    maker = Client(server)
    yield maker
    for embedder in maker.made:
        embedder.close()


def test_first_call_finds_dimension_and_rows_keep_their_order(
    server: Server, client: Client
) -> None:
    embedder = client()
    assert embedder.identity.key == "tiny@-/3/-/r2"
    vectors = embedder.embed(["", "a" * 9, "b"])
    assert_unit_rows(vectors, 3, 3)
    assert vectors[1, 0] > vectors[2, 0] > vectors[0, 0]
    path, body, headers = server.requests[-1]
    assert path == "/v1/embeddings"
    assert body == {"model": "tiny", "input": ["", "a" * 9, "b"], "encoding_format": "float"}
    assert "authorization" not in {name.lower() for name in headers}


def test_given_dimension_needs_no_first_call(server: Server, client: Client) -> None:
    assert client(dimension=3).identity.dimension == 3
    assert server.requests == []


def test_key_comes_from_the_named_variable(
    server: Server, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TINY_KEY", "k-123")
    client(api_key_env="TINY_KEY")
    headers = {name.lower(): value for name, value in server.requests[0][2].items()}
    assert headers["authorization"] == "Bearer k-123"
    monkeypatch.delenv("TINY_KEY")
    with pytest.raises(errors.Precondition) as raised:
        client(api_key_env="TINY_KEY")
    assert raised.value.details["field"] == "embedder.api_key_env"


def test_large_batch_is_sent_in_parts(server: Server, client: Client) -> None:
    count = 2 * limits.EMBED_BATCH_TEXTS_MAX + 1
    vectors = client(dimension=3).embed(["x" * i for i in range(count)])
    assert_unit_rows(vectors, count, 3)
    assert np.all(np.diff(vectors[:, 0]) > 0)
    assert len(server.requests) == 3


@pytest.mark.parametrize("status", [429, 500, 503])
def test_refusal_that_passes_is_tried_again(server: Server, client: Client, status: int) -> None:
    server.refusals = [status] * (TRIES_MAX - 1)
    assert_unit_rows(client(dimension=3).embed(["a"]), 1, 3)
    assert len(server.requests) == TRIES_MAX
    assert client.waits_s == sorted(client.waits_s)
    assert 0 < client.waits_s[0] < 0.3


def test_retry_after_is_honoured_within_bounds(server: Server, client: Client) -> None:
    server.refusals, server.headers = [429], {"retry-after": "3600"}
    client(dimension=3).embed(["a"])
    assert 3 < client.waits_s[0] <= 5


@pytest.mark.parametrize(("status", "tries"), [(503, TRIES_MAX), (401, 1)])
def test_refusal_that_stays_is_unavailable_unquoted(
    server: Server, client: Client, status: int, tries: int
) -> None:
    server.refusals = [status] * 10
    with pytest.raises(errors.Unavailable) as raised:
        client(dimension=3).embed(["secret"])
    assert raised.value.reason == "EMBEDDER_UNAVAILABLE"
    assert str(status) in str(raised.value)
    assert "secret" not in str(raised.value)
    assert len(server.requests) == tries


def test_refused_text_is_the_callers(client: Client) -> None:
    with pytest.raises(errors.Precondition) as raised:
        client(dimension=3).embed(["bad text"])
    assert raised.value.reason == "EMBEDDER_MISCONFIGURED"
    assert "bad text" not in str(raised.value)


def test_no_answer_in_time_is_unavailable(server: Server, client: Client) -> None:
    server.hang.clear()
    with pytest.raises(errors.Unavailable, match="Timeout"):
        client(dimension=3, timeout_s=0.05).embed(["a"])
    assert len(server.requests) == TRIES_MAX


def test_no_server_is_unavailable(server: Server, client: Client) -> None:
    server.close()
    with pytest.raises(errors.Unavailable, match="ConnectError"):
        client()
    assert len(client.waits_s) == TRIES_MAX - 1


def test_changed_dimension_is_another_model(server: Server, client: Client) -> None:
    embedder = client()
    server.dimension = 4
    with pytest.raises(IdentityChanged) as raised:
        embedder.embed(["a"])
    assert raised.value.details == {
        "stamped": embedder.identity.key,
        "running": "tiny of dimension 4",
    }


@pytest.mark.parametrize(
    "raw",
    [
        b"not json",
        b"[]",
        b'{"data": []}',
        b'{"data": [{"index": 5, "embedding": [1.0]}]}',
        b'{"data": [{"index": 0, "embedding": []}]}',
        b'{"data": [{"index": 0, "embedding": "AAAA"}]}',
        b'{"data": [{"index": 0}]}',
        b'{"data": 7}',
    ],
)
def test_answer_that_is_not_understood_is_unavailable(
    server: Server, client: Client, raw: bytes
) -> None:
    server.raw = raw
    with pytest.raises(errors.Unavailable, match="not understood"):
        client(dimension=1).embed(["a"])


def test_answer_too_long_is_cut_off(
    server: Server, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("totonoe_core.embedding.openai._ANSWER_BYTES_MAX", 50)
    server.raw = b" " * 100
    with pytest.raises(errors.Unavailable, match="too long"):
        client(dimension=3).embed(["a"])


def settings_of(server: Server, dimension: int = 0) -> EmbedderSettings:
    return EmbedderSettings(kind="openai", model="tiny", base_url=server.url, dimension=dimension)


def with_service(settings: EmbedderSettings, use: Callable[[EmbeddingService], None]) -> None:
    service = EmbeddingService(settings)
    service.start()
    try:
        use(service)
    finally:
        service.close()


def test_service_keeps_good_texts_of_a_refused_batch(server: Server) -> None:
    def use(service: EmbeddingService) -> None:
        service.wait_ready(wait_s())
        server.hang.clear()
        first = service.submit(["first"])
        futures = [service.submit([text]) for text in ("good", "bad", "fine")]
        server.hang.set()
        for future in (first, futures[0], futures[2]):
            assert_unit_rows(future.result(wait_s()), 1, 3)
        error = futures[1].exception(wait_s())
        assert isinstance(error, errors.Precondition)
        assert error.reason == "EMBEDDER_MISCONFIGURED"

    with_service(settings_of(server), use)


def test_service_goes_on_after_an_outage_of_the_server(server: Server) -> None:
    def use(service: EmbeddingService) -> None:
        service.wait_ready(wait_s())
        [pid] = service.worker_pids
        server.refusals = [401]
        error = service.submit(["a"]).exception(wait_s())
        assert isinstance(error, errors.Unavailable)
        assert service.state == "ready"
        assert "401" in service.failure
        assert_unit_rows(service.submit(["a"]).result(wait_s()), 1, 3)
        assert service.worker_pids == [pid]

    with_service(settings_of(server), use)


def test_service_stops_when_the_server_serves_another_model(server: Server) -> None:
    def use(service: EmbeddingService) -> None:
        error = service.submit(["a"]).exception(wait_s())
        assert isinstance(error, IdentityChanged)
        with pytest.raises(IdentityChanged):
            service.submit(["b"])

    with_service(settings_of(server, dimension=2), use)


def test_dimension_over_the_limit_is_refused(server: Server, client: Client) -> None:
    server.dimension = limits.VECTOR_DIMENSION_MAX + 1
    with pytest.raises(errors.Precondition) as raised:
        client()
    assert raised.value.details["field"] == "embedder.dimension"
