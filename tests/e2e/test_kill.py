"""kill -9 of the real daemon while agents write: what was acknowledged is there, once."""

from __future__ import annotations

import threading
from collections import Counter
from pathlib import Path

import pytest

import totonoe
from support.daemons import DaemonProcess
from support.waits import wait_until

KILLS = 5
SOAK_KILLS = 50
AGENTS = 4


def write_until_killed(
    daemon: DaemonProcess, agent: int, round_: int, acknowledged: dict[str, str]
) -> None:
    """Remembers one text after the other until the daemon is gone."""
    no_retries = totonoe.RetryPolicy(attempts_max=1)
    with totonoe.Client(daemon.address, agent_id=f"agent-{agent}", retry=no_retries) as client:
        for number in range(100_000):
            text = f"round {round_} agent {agent} note {number}"
            try:
                answer = client.remember(text, operation_id=text, timeout_s=20.0)
            except totonoe.TotonoeError:
                return
            acknowledged[text] = answer.memory_id


@pytest.mark.timeout(240)
def test_kill_during_load_nothing_acknowledged_is_lost(tmp_path: Path) -> None:
    kill_under_load(tmp_path, KILLS)


@pytest.mark.soak
@pytest.mark.timeout(3600)
def test_50_kills_during_load_lose_nothing_acknowledged(tmp_path: Path) -> None:
    kill_under_load(tmp_path, SOAK_KILLS)


def kill_under_load(tmp_path: Path, kills: int) -> None:
    """Kills a daemon so many times while agents write; then compares with what was answered."""
    daemon = DaemonProcess(tmp_path / "data", judge="own")
    acknowledged: dict[str, str] = {}
    for round_ in range(kills):
        daemon.start()
        threads = [
            threading.Thread(target=write_until_killed, args=(daemon, agent, round_, acknowledged))
            for agent in range(AGENTS)
        ]
        for thread in threads:
            thread.start()
        before = len(acknowledged)
        enough = before + 20 + 10 * (round_ % KILLS)
        wait_until(lambda enough=enough: len(acknowledged) >= enough)
        daemon.kill()
        for thread in threads:
            thread.join()
        assert len(acknowledged) > before
    with daemon, totonoe.Client(daemon.address) as client:
        stored = {memory.content: memory.id for memory in client.list_all()}
        assert {text: stored.get(text) for text in acknowledged} == acknowledged
        texts = Counter(memory.content for memory in client.list_all())
        assert [text for text, count in texts.items() if count > 1] == []
        # The same operation again is the first answer, whether or not it had arrived.
        text = next(iter(acknowledged))
        again = totonoe.Client(daemon.address, agent_id=f"agent-{text.split()[3]}").remember(
            text, operation_id=text
        )
        assert (again.replayed, again.memory_id) == (True, acknowledged[text])
    # The daemon ended by SIGTERM, orderly.
    assert daemon.stop() == 0
