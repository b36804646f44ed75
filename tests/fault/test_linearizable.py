"""Histories of many clients in several processes, checked against a model in revision order."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.broken_daemon import BREAKS
from support.daemons import DaemonProcess
from support.linear_check import check
from support.linear_drill import BrokenDaemon, check_all_was_met, check_past, history, is_wrong


def test_what_32_clients_are_told_has_one_order(tmp_path: Path) -> None:
    with DaemonProcess(tmp_path / "data", embedder="none") as daemon:
        events = history(daemon.address, 1, 60, tmp_path)
        model = check(events)
        check_past(daemon.address, model)
    check_all_was_met(events)


@pytest.mark.soak
@pytest.mark.parametrize("seed", range(100, 130))
def test_long_histories_have_one_order(tmp_path: Path, seed: int) -> None:
    with DaemonProcess(tmp_path / "data", embedder="none") as daemon:
        model = check(history(daemon.address, seed, 200, tmp_path))
        check_past(daemon.address, model)


def is_found(data_dir: Path, name: str, seed: int) -> bool:
    """Whether a history of a broken daemon shows what is broken."""
    data_dir.parent.mkdir()
    with BrokenDaemon(data_dir, name) as daemon:
        return is_wrong(history(daemon.address, seed, 40, data_dir.parent))


@pytest.mark.parametrize("name", [call.__name__ for call in BREAKS])
def test_check_finds_what_is_broken_on_purpose(tmp_path: Path, name: str) -> None:
    # Which calls meet in a batch is the machine's: one history may miss it.
    assert any(is_found(tmp_path / str(seed) / "data", name, seed) for seed in range(1, 6))
