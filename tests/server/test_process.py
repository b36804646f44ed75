"""What the daemon finds out about the machine it is on."""

from __future__ import annotations

import gc
import resource
import subprocess
import sys
from pathlib import Path

import pytest

from support.waits import wait_s
from totonoe_server.life import process

_WITHOUT_RICH = """
import sys
from totonoe_server.life import process
print("numpy" in sys.modules)
import totonoe_server.life.config
process.leave_out_rich()
print("structlog" in sys.modules, "rich" in sys.modules)
import rich
process.leave_out_rich()
print("rich" in sys.modules)
"""


def test_memory_is_the_machines_or_what_a_container_may_have(tmp_path: Path) -> None:
    machine = process.machine_bytes(tmp_path)
    assert machine > 1 << 26
    for text, expected in (("max\n", machine), ("1048576\n", 1 << 20), (f"{1 << 62}\n", machine)):
        (tmp_path / "memory.max").write_text(text)
        assert process.machine_bytes(tmp_path) == expected


@pytest.mark.parametrize(
    "limits, expected, allowed",
    [
        ((1024, 524_288), (32_768, 524_288), 32_768),
        ((1024, 4096), (4096, 4096), 4096),
        ((1024, resource.RLIM_INFINITY), (32_768, resource.RLIM_INFINITY), 32_768),
        ((20_000, 20_000), None, 20_000),
        ((resource.RLIM_INFINITY, resource.RLIM_INFINITY), None, 32_768),
    ],
)
def test_limit_of_open_files_is_raised_and_never_lowered(
    limits: tuple[int, int],
    expected: tuple[int, int] | None,
    allowed: int,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    found: list[tuple[int, int]] = []
    monkeypatch.setattr(resource, "getrlimit", lambda _: limits)
    monkeypatch.setattr(resource, "setrlimit", lambda _, wanted: found.append(wanted))
    assert process.raise_open_files() == allowed
    assert found == ([] if expected is None else [expected])


def test_limit_that_the_system_keeps_does_not_matter(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise OSError

    monkeypatch.setattr(resource, "getrlimit", lambda _: (256, resource.RLIM_INFINITY))
    monkeypatch.setattr(resource, "setrlimit", refuse)
    assert process.raise_open_files() == 256


def test_collector_runs_again_once_everything_is_loaded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gc, "freeze", lambda: None)
    monkeypatch.setattr("sys.setswitchinterval", lambda _: None)
    monkeypatch.setattr("threadpoolctl.threadpool_limits", lambda limits: None)  # noqa: ARG005
    try:
        process.hold_collector()
        assert not gc.isenabled()
        process.settle()
        assert gc.isenabled()
    finally:
        gc.enable()


def test_process_limits_numpys_threads_before_numpy_and_its_log_loads_no_rich() -> None:
    done = subprocess.run(
        [sys.executable, "-c", _WITHOUT_RICH],
        capture_output=True,
        text=True,
        check=True,
        timeout=wait_s(),
    )
    assert done.stdout.split() == ["False", "True", "False", "True"]
