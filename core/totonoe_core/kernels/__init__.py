"""Arithmetic on arrays, compiled by numba: no Python objects, no policy, no I/O.

Importing a kernel module compiles it, or loads it from the cache on disk. So that this works
with a read-only installation and without a home directory too, the package points numba at a
directory that can be written before anything imports numba. The daemon calls
`cache.prepare_cache` with its state directory first, which then replaces this choice.
"""

from __future__ import annotations

from totonoe_core.kernels.cache import prepare_cache

prepare_cache(None)
