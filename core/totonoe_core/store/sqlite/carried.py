"""Checkpoints that travel with snapshots, so that a restored collection need not read all its rows.

    <data dir>/snapshots/<uid>/<id>.checkpoint/   the files of a checkpoint, as of its collection

The files are those of the collection's own checkpoint under a second name: nothing is copied, and
the disk holds them twice only once the collection has newer ones. A restored collection gets them
the same way; only the manifest is written anew, since it names the collection. Everything is
checked when the collection is opened (`engine/state/loading.py`), as with any checkpoint. So a
carried one may be missing, old or damaged: it costs time and nothing else.
"""

from __future__ import annotations

import logging
import os
import shutil
from pathlib import Path

from totonoe_core.store import directories
from totonoe_core.store.checkpoint import (
    ARRAYS,
    MANIFEST,
    OWN_FILE,
    Damaged,
    Outdated,
    manifest_text,
    read_manifest,
)

_log = logging.getLogger(__name__)

SUFFIX = ".checkpoint"
_TEMPORARY = ".tmp"
_ARRAYS = (ARRAYS, *OWN_FILE)


def beside(snapshot: Path) -> Path:
    """Return the place of the checkpoint that travels with a snapshot's file."""
    return snapshot.with_name(snapshot.name.partition(".")[0] + SUFFIX)


def place(carried: Path, file: Path, uid: str) -> bool:
    """Give a restored collection the checkpoint that came with its snapshot; return if it did.

    `file` is the collection's file, which nobody has open. A fault is logged, and nothing is left.
    """
    if not carried.is_dir():
        return False
    directory = file.parent / "checkpoint"
    try:
        header = read_manifest(carried / MANIFEST)
        final = directory / f"{int(header['revision'])}-1"
        temporary = final.with_name(final.name + _TEMPORARY)
        for made in (directory, temporary):
            made.mkdir(mode=0o700)
        for name in _ARRAYS:
            if (carried / name).is_file():
                _name_again(carried / name, temporary / name)
        with (temporary / MANIFEST).open("xb") as manifest:
            manifest.write(manifest_text({**header, "collection": uid}))
            manifest.flush()
            os.fsync(manifest.fileno())
        directories.sync(temporary)
        temporary.rename(final)
        directories.sync(directory)
    except (OSError, Damaged, Outdated, ValueError, KeyError, TypeError) as error:
        _log.warning("the checkpoint of snapshot %s is not used: %s", carried.stem, error)
        shutil.rmtree(directory, ignore_errors=True)
        return False
    return True


def copy(source: Path, target: Path) -> None:
    """Copy a checkpoint from elsewhere, if there is one. Raises `OSError`; then nothing is left."""
    if not source.is_dir():
        return
    try:
        target.mkdir(mode=0o700)
        for name in (*_ARRAYS, MANIFEST):
            if (source / name).is_file():
                _copy(source / name, target / name)
        directories.sync(target)
    except BaseException:
        shutil.rmtree(target, ignore_errors=True)
        raise


def _name_again(source: Path, target: Path) -> None:
    """Give a file a second name; copy it where the file system has no hard links."""
    try:
        os.link(source, target)
    except OSError:
        _copy(source, target)


def _copy(source: Path, target: Path) -> None:
    shutil.copyfile(source, target)
    directories.sync(target)
