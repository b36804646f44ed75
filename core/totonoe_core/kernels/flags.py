"""The decorator that compiles kernels, and the types for their signatures."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import ParamSpec, TypeVar

from numba import njit, types
from numba.core.errors import NumbaError

from totonoe_core.kernels.cache import log_compiling, wipe_cache

P = ParamSpec("P")
R = TypeVar("R")

_log = logging.getLogger(__name__)

FASTMATH = frozenset({"nsz", "arcp", "contract", "afn", "reassoc"})
"""Sums may be reordered and fused; NaN and infinity keep their meaning (no nnan, no ninf)."""

# Arguments that are only read take read-only arrays (mmap, frombuffer) and, by numba's
# conversion rules, writable ones too: one signature, nothing left to compile in a request.
float32_in = types.Array(types.float32, 1, "C", readonly=True)
block_in = types.Array(types.float32, 2, "C", readonly=True)
uint8_in = types.Array(types.uint8, 1, "C", readonly=True)
int32_in = types.Array(types.int32, 1, "C", readonly=True)
int64_in = types.Array(types.int64, 1, "C", readonly=True)
uint64_in = types.Array(types.uint64, 1, "C", readonly=True)
float64_in = types.Array(types.float64, 1, "C", readonly=True)
float32_out = types.Array(types.float32, 1, "C")
block_out = types.Array(types.float32, 2, "C")
float64_out = types.Array(types.float64, 1, "C")
int32_out = types.Array(types.int32, 1, "C")
int64_out = types.Array(types.int64, 1, "C")


def kernel(signature: object, *, exact: bool = False) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Compile a function for one explicit signature, without the GIL and without own threads.

    numba's parallel layers abort the process when two Python threads enter them (numba issue
    8563), so rows are split over threads by the caller.

    Parameters
    ----------
    signature : numba signature
        Compiled at import; other types are refused with TypeError.
    exact : bool
        Keep the order of floating-point operations as written (no fastmath).

    Returns
    -------
    callable
        Decorator. An unreadable cache is wiped and tried once more; if it still fails, the
        kernel is compiled without a cache.
    """
    fastmath = False if exact else set(FASTMATH)

    def compile_(function: Callable[P, R]) -> Callable[P, R]:
        for last_try in (False, True):
            try:
                compiled = njit(signature, nogil=True, cache=True, fastmath=fastmath)(function)
                _log_if_compiled(compiled)
                return compiled
            except NumbaError:
                raise  # the kernel itself is wrong; no cache is to blame
            except Exception as error:
                # Unpickling a damaged file may raise anything; RuntimeError means "no locator".
                _log.warning("kernel cache unusable for %s: %r", function.__name__, error)
                if last_try or not wipe_cache():
                    break
        return njit(signature, nogil=True, fastmath=fastmath)(function)

    return compile_


def _log_if_compiled(compiled: object) -> None:
    """Log once in a process that kernels are not in the cache, and how long all of them take."""
    # Without JIT (NUMBA_DISABLE_JIT) it is the function itself, and nothing is compiled.
    stats = getattr(compiled, "stats", None)
    if stats is not None and stats.cache_misses:
        log_compiling()
