"""Tune the daemon's own process, once for all threads; read its version and its memory."""

from __future__ import annotations

import gc
import os
import resource
import sys
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from types import ModuleType
from typing import Any, cast

from totonoe_core.base import heap, limits

SWITCH_INTERVAL_S = 0.001
"""At CPython's 5 ms one thread busy in Python delays every other one by as much."""
_OPEN_FILES = 32_768
_ONE_THREAD = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")


def package_version() -> str:
    """Version of the installed distribution; "0" when run from bare sources."""
    try:
        return version("totonoe")
    except PackageNotFoundError:
        return "0"


def machine_bytes(root: Path = Path("/sys/fs/cgroup")) -> int:
    """Memory that this process may have: the machine's, or less where a container limits it."""
    found = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    try:
        return min(found, int((root / "memory.max").read_text()))
    except (OSError, ValueError):  # no such limit: "max", or no cgroups
        return found


def raise_open_files() -> int:
    """As many open files as the system lets us: an open collection takes up to 11 of them.

    Where 1,024 is the custom, that is less than may be open at once. Returns how many may be open.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = _OPEN_FILES if hard == resource.RLIM_INFINITY else min(_OPEN_FILES, hard)
    if soft == resource.RLIM_INFINITY or soft >= wanted:
        return _OPEN_FILES if soft == resource.RLIM_INFINITY else soft
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
    except (OSError, ValueError):  # it is a courtesy of the system
        return soft
    return wanted


def connections_max() -> int:
    """Connections at once: five of eight files that may be open.

    Collections get two (`collections_open_max`), and one is left for everything else.
    """
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY:
        return limits.CONNECTIONS_MAX
    return max(1, min(limits.CONNECTIONS_MAX, soft * 5 // 8))


def collections_open_max() -> int:
    """Collections open at once, so that their files leave room for new connections."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY:
        return limits.COLLECTIONS_OPEN_MAX
    return max(1, min(limits.COLLECTIONS_OPEN_MAX, soft // 4 // limits.FILES_PER_COLLECTION_MAX))


def quiet_grpc() -> None:
    """Keep gRPC's own lines off standard error: each malformed frame of a peer makes one.

    GRPC_VERBOSITY brings them back. Before gRPC is imported.
    """
    os.environ.setdefault("GRPC_VERBOSITY", "NONE")


def leave_out_rich() -> None:
    """Import structlog without rich, by which it would show tracebacks: 5 MB that no log needs."""
    if "structlog" in sys.modules or "rich" in sys.modules:
        return
    # With `None` there, an import of it fails.
    modules: dict[str, ModuleType | None] = cast(Any, sys.modules)
    modules["rich"] = None
    try:
        import structlog  # noqa: F401 (what it finds on its first import stays)
    finally:
        del modules["rich"]


def limit_threads() -> None:
    """One thread for each BLAS call, and few arenas of the C heap for the daemon's own threads.

    Before numpy is imported.
    """
    heap.share_arenas()
    for name in _ONE_THREAD:
        os.environ.setdefault(name, "1")


def hold_collector() -> None:
    """No collector while everything is loaded, a fifth of the time of a start. Until `settle`."""
    gc.disable()


def settle() -> None:
    """Once everything is loaded: quick thread switches, and no collector over what stays.

    Without a collection before: it takes 0.1 s and finds next to nothing.
    """
    from threadpoolctl import threadpool_limits

    threadpool_limits(limits=1)
    sys.setswitchinterval(SWITCH_INTERVAL_S)
    gc.freeze()
    gc.enable()
