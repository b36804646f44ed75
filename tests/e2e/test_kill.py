"""kill -9 of the real daemon while agents write: what was acknowledged is there, once."""

from __future__ import annotations

import threading
import time
from collections import Counter
from pathlib import Path

import pytest

import totonoe
from support.daemons import DaemonProcess

KILLS = 5
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
    daemon = DaemonProcess(tmp_path / "data")
    acknowledged: dict[str, str] = {}
    for round_ in range(KILLS):
        daemon.start()
        threads = [
            threading.Thread(target=write_until_killed, args=(daemon, agent, round_, acknowledged))
            for agent in range(AGENTS)
        ]
        for thread in threads:
            thread.start()
        before = len(acknowledged)
        deadline_s = time.monotonic() + 30
        while len(acknowledged) < before + 20 + 10 * round_ and time.monotonic() < deadline_s:
            time.sleep(0.005)
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
