"""kill -9 in the middle of an import: begun again under its id, all of it is in, once."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest

from support.daemons import DaemonProcess
from support.transfers import file_of, header
from totonoe import Client, RetryPolicy, errors
from totonoe.transfer import transfers
from totonoe.transfer.models import Imported

COUNT = 1100
KILLED_AFTER = 600
NEVER = RetryPolicy(attempts_max=1)


def text(number: int) -> str:
    return f"It rained {number}."


def memory_id(number: int) -> str:
    return f"mem_{number:016x}"


def source() -> bytes:
    """Logs, which the guard lets through, so that none is lost or doubled by it."""
    line: dict[str, Any] = {"record": "memory", "kind": "event", "state_kind": ""}
    lines = [
        {**line, "id": memory_id(number), "content": text(number), "agent_id": "a"}
        | {"created_us": number, "updated_us": number}
        for number in range(COUNT)
    ]
    return file_of([header(agent_id="a"), *lines])


@pytest.mark.parametrize("as_is", [False, True])
def test_import_killed_in_the_middle_goes_on_and_doubles_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, as_is: bool
) -> None:
    monkeypatch.setattr(transfers, "PIECE_BYTES", 8 * 1024)
    data, seen = source(), 0
    with DaemonProcess(tmp_path / "data") as daemon:

        def kill(told: Imported) -> None:
            nonlocal seen
            seen = max(seen, told.saved_count)
            if told.saved_count >= KILLED_AFTER:
                daemon.kill()

        with Client(daemon.address, agent_id="a", retry=NEVER) as client:
            with pytest.raises(errors.TotonoeError):
                client.import_file(io.BytesIO(data), as_is=as_is, operation_id="x", progress=kill)
            daemon.start()
        with Client(daemon.address, agent_id="a") as client:
            told = client.import_file(io.BytesIO(data), as_is=as_is, operation_id="x")
            # What was told is kept; of what was under way the rest of a commit may be too.
            assert KILLED_AFTER <= seen <= told.replayed_count < COUNT
            assert (told.done, told.saved_count) == (True, COUNT)
            found = [json.loads(line) for line in client.export()]
        memories = [item for item in found if item["record"] == "memory"]
        assert [memory["content"] for memory in memories] == [text(n) for n in range(COUNT)]
        if as_is:
            assert [memory["id"] for memory in memories] == [memory_id(n) for n in range(COUNT)]
