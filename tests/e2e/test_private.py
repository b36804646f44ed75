"""What a daemon leaves on disk is for its user alone, whatever the umask says."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import totonoe
from support.daemons import DaemonProcess


def test_every_file_of_a_daemon_is_for_its_user_alone(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        with DaemonProcess(tmp_path / "data") as daemon:
            with totonoe.Client(daemon.address, agent_id="anna") as client:
                client.remember("The staging database listens on port 5433.")
                client.create_snapshot()
            wide = [path for path in (tmp_path / "data").rglob("*") if is_wide(path)]
        wide += [path for path in (tmp_path / "data").rglob("*") if is_wide(path)]
    finally:
        os.umask(before)
    assert not wide
    assert not is_wide(tmp_path / "data")


def is_wide(path: Path) -> bool:
    return bool(stat.S_IMODE(path.stat().st_mode) & 0o077)
