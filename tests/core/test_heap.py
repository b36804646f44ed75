"""Memory that was freed goes back to the system."""

from __future__ import annotations

import ctypes
import mmap
import re
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from totonoe_core.base import heap


@pytest.mark.parametrize("has_it", [True, False])
def test_trim_calls_what_the_library_has_and_nothing_else(
    has_it: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    called: list[int] = []
    library = SimpleNamespace(malloc_trim=called.append) if has_it else SimpleNamespace()
    monkeypatch.setattr(ctypes, "CDLL", lambda _: library)
    heap.trim()
    assert called == [0] * has_it


@pytest.mark.parametrize("has_it", [True, False])
def test_share_arenas_calls_what_the_library_has_and_nothing_else(
    has_it: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    called: list[tuple[int, int]] = []
    library = SimpleNamespace(mallopt=lambda *given: called.append(given)) if has_it else object()
    monkeypatch.setattr(ctypes, "CDLL", lambda _: library)
    heap.share_arenas()
    assert called == [(-8, 2)] * has_it


_ARENAS = """
import ctypes, threading
from totonoe_core.base import heap
heap.share_arenas()
malloc = ctypes.CDLL(None).malloc
malloc.restype, places, met = ctypes.c_void_p, [], threading.Barrier(8)
def take():
    met.wait()
    for _ in range(50):
        places.append(malloc(ctypes.c_size_t(100)) >> 26)
    met.wait()
threads = [threading.Thread(target=take) for _ in range(8)]
for thread in threads: thread.start()
for thread in threads: thread.join()
print(len(set(places)))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="glibc's call")
def test_threads_share_two_arenas_on_this_system() -> None:
    said = subprocess.run(
        [sys.executable, "-c", _ARENAS], capture_output=True, text=True, check=True, timeout=60
    )
    # An arena of a thread lies within 64 MB; the main one may reach over a bound of them.
    assert 1 <= int(said.stdout) <= 3


@pytest.mark.skipif(sys.platform != "linux", reason="glibc's call")
def test_trim_on_this_system_works() -> None:
    heap.trim()


def resident_bytes(name: str) -> int:
    """Pages of a mapped file that count as memory of this process."""
    smaps = Path("/proc/self/smaps").read_text()
    found = re.search(rf"{name}\n(?:.*\n)*?Rss: +(\d+) kB", smaps)
    return 1024 * int(found[1]) if found else 0


@pytest.mark.skipif(sys.platform != "linux", reason="/proc")
def test_unmap_lets_go_of_pages_that_were_only_read(tmp_path: Path) -> None:
    content = bytes(range(256)) * 8192
    (tmp_path / "read.dic").write_bytes(content)
    (tmp_path / "changed.dic").write_bytes(content)
    with (tmp_path / "read.dic").open("rb") as one, (tmp_path / "changed.dic").open("rb") as two:
        read = mmap.mmap(one.fileno(), 0, access=mmap.ACCESS_READ)
        changed = mmap.mmap(two.fileno(), 0, access=mmap.ACCESS_COPY)
        assert read[:] == content == changed[:]
        changed[5000] = 7
        assert resident_bytes("read.dic") == len(content)
        heap.unmap(".dic")
        assert resident_bytes("read.dic") == 0
        assert changed[5000] == 7
        assert read[:] == content
        read.close()
        changed.close()


def test_unmap_where_the_system_lists_no_mappings_does_nothing(tmp_path: Path) -> None:
    heap.unmap(".dic", proc=tmp_path)
