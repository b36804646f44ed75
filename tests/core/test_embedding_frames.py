"""What goes over the pipes comes out the same, or is refused."""

from __future__ import annotations

import io

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from totonoe_core.base import errors
from totonoe_core.embedding import EmbedderSettings, IdentityChanged, ModelIdentity
from totonoe_core.embedding import frames as bodies
from totonoe_core.embedding.protocol import text_refused
from totonoe_core.helper import frames


@given(st.lists(st.text(st.characters(exclude_categories=["Cs"]))))
def test_texts_survive_the_wire(texts: list[str]) -> None:
    stream = io.BytesIO(frames.frame(frames.REQUEST, bodies.texts_to_wire(texts)))
    received = frames.read_frame(stream)
    assert received is not None
    assert received[0] == frames.REQUEST
    assert bodies.texts_from_wire(received[1]) == texts
    assert frames.read_frame(stream) is None


def test_settings_and_identity_survive_the_wire() -> None:
    settings = EmbedderSettings(kind="openai", model="m", base_url="http://h/v1", timeout_s=1.5)
    assert bodies.settings_from_wire(bodies.settings_to_wire(settings)) == settings
    identity = ModelIdentity(name="m", version="1", weights_sha256="a", dimension=5)
    assert bodies.identity_from_wire(bodies.identity_to_wire(identity)) == identity


@pytest.mark.parametrize(
    "error",
    [
        text_refused("a"),
        errors.Unavailable("EMBEDDER_UNAVAILABLE", "down", retry_delay_ms=7),
        IdentityChanged(stamped="a", running="b"),
    ],
)
def test_errors_survive_the_wire(error: errors.TotonoeError) -> None:
    again = bodies.error_from_wire(frames.error_to_wire(error))
    assert type(again) is type(error)
    assert (again.reason, again.message, again.details) == (
        error.reason,
        error.message,
        error.details,
    )
    vectors = np.ones((2, 3), dtype=np.float32)
    body = bodies.answer_to_wire(vectors, {1: error}, 0.5)
    rows, refused, cpu_s = bodies.answer_from_wire(body, 3)
    assert np.array_equal(rows, vectors)
    assert refused[1].message == error.message
    assert cpu_s == 0.5


@pytest.mark.parametrize(
    "data",
    [b"S", b"S\x05\0\0\0abc", b"X\0\0\0\0", b"S\xff\xff\xff\xff", b"hello, I am a library\n"],
)
def test_bytes_that_are_no_frame_are_refused(data: bytes) -> None:
    with pytest.raises(frames.FrameError):
        frames.read_frame(io.BytesIO(data))


def test_answer_of_wrong_length_is_refused() -> None:
    body = bodies.answer_to_wire(np.ones((2, 3), dtype=np.float32), {}, 0.0)
    for bad, dimension in ((body, 4), (body[:-1], 3), (body[:5], 3)):
        with pytest.raises(frames.FrameError):
            bodies.answer_from_wire(bad, dimension)


def test_body_over_the_limit_is_not_sent() -> None:
    with pytest.raises(frames.FrameError):
        frames.frame(frames.REQUEST, b"x" * (frames.BODY_BYTES_MAX + 1))
