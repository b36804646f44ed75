"""A helper gives memory back to the system where no request comes for a while."""

from __future__ import annotations

import os

import pytest

from totonoe_core.base import heap
from totonoe_core.helper import frames, serving


@pytest.mark.parametrize("waits", [True, False])
def test_memory_goes_back_in_a_pause_only(waits: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    trims: list[bool] = []
    monkeypatch.setattr(heap, "trim", lambda: trims.append(True))
    reading, writing = os.pipe()
    with os.fdopen(reading, "rb") as requests, os.fdopen(writing, "wb") as sender:

        def send() -> None:
            sender.write(frames.frame(frames.REQUEST, b"text"))
            sender.flush()

        if waits:
            monkeypatch.setattr(serving, "PAUSE_S", 0.0)
            monkeypatch.setattr(heap, "trim", lambda: (trims.append(True), send()))
        else:
            send()
        assert serving._next_frame(requests) == (frames.REQUEST, b"text")
    assert trims == [True] * waits
