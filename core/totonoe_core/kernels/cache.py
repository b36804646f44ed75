"""Directory for the cache of compiled kernels.

numba writes its cache beside the source, and fails at import if it can write neither there nor
in a home directory; a truncated cache file fails the import as well (numba issue 10434). It also
does not notice that a function called from another module, or an option of the decorator,
changed. Hence an own directory, named after all that the machine code depends on, and wiped
when it cannot be read.

Cache files are pickles: files that another user can write would run that user's code, so only a
private directory will do.

This module must not import numba: numba reads `NUMBA_CACHE_DIR` when it is imported.
"""

from __future__ import annotations

import logging
import os
import shutil
import sys
from contextlib import suppress
from functools import lru_cache
from hashlib import blake2b
from importlib.metadata import version
from pathlib import Path

from totonoe_core.base.prepared import cache_places, private

_log = logging.getLogger(__name__)

_VARIABLE = "NUMBA_CACHE_DIR"
_PARENT = "numba-cache"
_COMPLETE = "complete-"


def _build_name() -> str:
    """Name for this numba, this Python and these kernel sources."""
    digest = blake2b(digest_size=6)
    for source in sorted(Path(__file__).parent.glob("*.py")):
        digest.update(source.read_bytes())
    python = f"py{sys.version_info.major}{sys.version_info.minor}"
    return f"{version('numba')}-{python}-{digest.hexdigest()}"


def _candidates(state_dir: Path | None) -> list[Path]:
    places = [state_dir] if state_dir is not None else []
    return [place / _PARENT / _build_name() for place in (*places, *cache_places())]


def _ours() -> Path | None:
    """Return the directory in use if this build made it, here or in the parent process."""
    place = Path(os.environ.get(_VARIABLE, ""))
    return place if (place.parent.name, place.name) == (_PARENT, _build_name()) else None


def _complete(place: Path) -> Path:
    """File that says that every kernel of these sources is in a cache directory.

    numba keeps kernels by the path of their source, older versions by its time too. So those of
    another installation, which have the same directory here, are none of this one's.
    """
    digest = blake2b(digest_size=6)
    for source in sorted(Path(__file__).parent.glob("*.py")):
        digest.update(f"{source} {source.stat().st_mtime_ns}".encode())
    return place / (_COMPLETE + digest.hexdigest())


def prepare_cache(state_dir: Path | None) -> None:
    """Point numba at a cache directory of our own, before it is imported.

    Takes the first place that can be written: `state_dir`, `XDG_CACHE_HOME`, `~/.cache`, the
    directory for temporary files; if there is none, kernels are compiled at each start. A
    `NUMBA_CACHE_DIR` set by the user wins over all of them. Kernels already imported stay where
    they are, so the daemon calls this before it imports any.

    Parameters
    ----------
    state_dir : Path or None
        The daemon's state directory. None (embedded use) also keeps a directory that the parent
        process chose.
    """
    if os.environ.get(_VARIABLE):
        inherited = _ours()
        if inherited is None or (state_dir is None and private(inherited)):
            return
    for place in _candidates(state_dir):
        if private(place):
            os.environ[_VARIABLE] = str(place)
            break
    numba = sys.modules.get("numba")
    if numba is not None:  # an embedding application imported it; it has read the variable
        numba.config.CACHE_DIR = os.environ.get(_VARIABLE, "")


def lacks_kernels() -> bool:
    """Return whether we have a cache directory of our own, in which not all kernels are yet."""
    place = _ours()
    return place is not None and not _complete(place).exists()


def mark_complete() -> None:
    """Note that every kernel is in our cache directory, if there is one."""
    place = _ours()
    if place is not None:
        with suppress(OSError):
            _complete(place).touch()


@lru_cache(maxsize=1)
def log_compiling() -> None:
    """Log once in a process that kernels are not in the cache, and how long all of them take."""
    _log.info("compiling kernels, once: up to a minute")


def wipe_cache() -> bool:
    """Empty our cache directory after a file in it could not be read.

    Returns
    -------
    bool
        False if the directory is the user's own or there is none: nothing was removed.
    """
    place = _ours()
    if place is None:
        return False
    shutil.rmtree(place, ignore_errors=True)
    return private(place)
