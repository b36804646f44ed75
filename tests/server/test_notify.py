"""What systemd hears of the daemon."""

from __future__ import annotations

import asyncio
import os
import socket
from pathlib import Path

import pytest

from totonoe_server.life.notify import Notifier

NAMES = ("NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID")


@pytest.fixture(autouse=True)
def _bare_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in NAMES:
        monkeypatch.setenv(name, "")
        monkeypatch.delenv(name)


def heard(notifier: Notifier, systemd: socket.socket, count: int) -> list[bytes]:
    """The messages of a start and a stop, `count` signs of life in between."""

    async def live() -> list[bytes]:
        notifier.ready()
        found = [await asyncio.to_thread(systemd.recv, 100) for _ in range(1 + count)]
        notifier.stopping()
        return [*found, await asyncio.to_thread(systemd.recv, 100)]

    return asyncio.run(live())


@pytest.mark.parametrize("abstract", [False, True])
def test_ready_signs_of_life_and_stopping_are_sent(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, abstract: bool
) -> None:
    name = f"@totonoe-test-{os.getpid()}" if abstract else str(tmp_path / "s")
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as systemd:
        systemd.bind("\0" + name[1:] if abstract else name)
        systemd.settimeout(10)
        monkeypatch.setenv("NOTIFY_SOCKET", name)
        monkeypatch.setenv("WATCHDOG_USEC", "20000")
        monkeypatch.setenv("WATCHDOG_PID", str(os.getpid()))
        messages = heard(Notifier(), systemd, 2)
    assert messages == [b"READY=1", b"WATCHDOG=1", b"WATCHDOG=1", b"STOPPING=1"]
    # A child must not speak for the daemon.
    assert not [each_name for each_name in NAMES if each_name in os.environ]


def test_signs_of_life_that_another_process_owes_are_not_sent(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as systemd:
        systemd.bind(str(tmp_path / "s"))
        systemd.settimeout(10)
        monkeypatch.setenv("NOTIFY_SOCKET", str(tmp_path / "s"))
        monkeypatch.setenv("WATCHDOG_USEC", "20000")
        monkeypatch.setenv("WATCHDOG_PID", str(os.getpid() + 1))
        assert heard(Notifier(), systemd, 0) == [b"READY=1", b"STOPPING=1"]


@pytest.mark.parametrize("socket_name", ["", "/nobody/listens", "@nobody", "x" * 300])
def test_nothing_happens_where_nobody_listens(
    monkeypatch: pytest.MonkeyPatch, socket_name: str
) -> None:
    monkeypatch.setenv("NOTIFY_SOCKET", socket_name)
    monkeypatch.setenv("WATCHDOG_USEC", "soon")

    async def live() -> None:
        notifier = Notifier()
        notifier.ready()
        notifier.stopping()

    asyncio.run(live())
