"""A store that began without an embedder and gets one: as a user does it, through kills."""

from __future__ import annotations

import json
from pathlib import Path

import totonoe
from support.daemons import DaemonProcess, run_command

NOTES = [f"Sensor {number} stands in hall {number * 7}." for number in range(40)]


def test_store_without_an_embedder_gets_its_vectors_later(tmp_path: Path) -> None:
    with DaemonProcess(tmp_path / "data", embedder="none") as daemon:
        with totonoe.Client(daemon.address) as client:
            assert all(result.remembered.saved for result in client.remember_many(NOTES))
        daemon.kill()
        daemon.start()
        with totonoe.Client(daemon.address) as client:
            again = list(client.remember_many([note.upper() for note in NOTES]))
            assert not any(result.remembered.saved for result in again)
        found = json.loads(run_command(daemon, "recall", "hall 49", "--k", "1", "--json"))
        assert found["hits"][0]["content"] == NOTES[7]
        assert found["degraded_because"]
    with DaemonProcess(tmp_path / "data", embedder="hashing") as daemon:
        told = run_command(daemon, "reembed")
        assert "40 memories have vectors of hashing 1 (384) in place of none; 40 texts" in told
        daemon.kill()
        daemon.start()
        with totonoe.Client(daemon.address) as client:
            page = client.list(include_vectors=True)
            assert [len(memory.vector) for memory in page.memories] == [384] * 40
            answer = client.recall("sensor 7", k=1)
            assert (answer.degraded_because, answer.arms) == ("", ("vector", "lexical"))
            assert not any(result.remembered.saved for result in client.remember_many(NOTES))
            assert client.remember("Mika likes green tea.").saved
