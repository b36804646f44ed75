"""Histories of many clients of three daemons on one database, checked against the same model."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import pytest

from support.broken_daemon import BREAKS_OF_SEVERAL
from support.daemons import DaemonProcess
from support.linear_check import check
from support.linear_drill import BrokenDaemon, check_all_was_met, check_past, history, is_wrong
from support.postgres import migrated

DAEMONS = 3

pytestmark = pytest.mark.postgres


@pytest.fixture(autouse=True)
def _derived_files_of_the_test(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


@contextmanager
def started(
    path: Path, make: Callable[[Path, str], DaemonProcess]
) -> Iterator[Sequence[DaemonProcess]]:
    """Daemons of one new database."""
    path.mkdir(exist_ok=True)
    url = migrated()
    found = [make(path / f"daemon-{number}", url) for number in range(DAEMONS)]
    try:
        with ThreadPoolExecutor(DAEMONS) as starting:
            list(starting.map(DaemonProcess.start, found))
        yield found
    finally:
        for daemon in found:
            daemon.stop()


def addresses(daemons: Sequence[DaemonProcess]) -> str:
    return ",".join(daemon.address for daemon in daemons)


def sound(path: Path, url: str) -> DaemonProcess:
    return DaemonProcess(path, embedder="none", store=url)


def test_what_32_clients_of_three_daemons_are_told_has_one_order(tmp_path: Path) -> None:
    with started(tmp_path, sound) as daemons:
        events = history(addresses(daemons), 1, 60, tmp_path)
        model = check(events, of_several=True)
        for daemon in daemons:
            check_past(daemon.address, model)
    check_all_was_met(events)


@pytest.mark.soak
@pytest.mark.parametrize("seed", range(100, 110))
def test_long_histories_of_three_daemons_have_one_order(tmp_path: Path, seed: int) -> None:
    with started(tmp_path, sound) as daemons:
        events = history(addresses(daemons), seed, 200, tmp_path)
        check(events, of_several=True)


@pytest.mark.parametrize("name", [call.__name__ for call in BREAKS_OF_SEVERAL])
def test_check_finds_what_is_broken_on_purpose(tmp_path: Path, name: str) -> None:
    # Which calls meet is the machine's: one history may miss it.
    def broken(path: Path, url: str) -> DaemonProcess:
        return BrokenDaemon(path, name, url)

    def is_found(seed: int) -> bool:
        with started(tmp_path / str(seed), broken) as daemons:
            events = history(addresses(daemons), seed, 40, tmp_path)
        return is_wrong(events, of_several=True)

    assert any(is_found(seed) for seed in range(1, 6))
