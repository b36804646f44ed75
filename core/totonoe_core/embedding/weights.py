"""Digest of the files that determine a model's vectors."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from pathlib import Path

from totonoe_core.embedding.protocol import misconfigured

_SUFFIXES = frozenset({".safetensors", ".bin", ".npz", ".json", ".model", ".txt"})
_FILES_MAX = 256


def files_sha256(root: Path, names: Iterable[str]) -> str:
    """Return the SHA-256 over the names and contents of files, in the order of their names.

    Parameters
    ----------
    root : Path
    names : iterable of str
        Relative to the root, with forward slashes.

    Returns
    -------
    str
        64 hex digits; the same for any location of the root.

    Raises
    ------
    OSError
        A file cannot be read.
    """
    total = hashlib.sha256()
    for name in sorted(names):
        with (root / name).open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").digest()
        total.update(name.encode("utf-8", "surrogateescape") + b"\0" + digest)
    return total.hexdigest()


def model_directory(kind: str, path: str) -> Path:
    """Return the directory of a local model, never a model of a hub: nothing is fetched.

    Raises
    ------
    Precondition
        EMBEDDER_MISCONFIGURED: there is no such directory.
    """
    directory = Path(path).expanduser()
    if not path or not directory.is_dir():
        raise misconfigured(
            field="path",
            got=repr(path),
            allowed=f"the directory of a saved {kind} model on this machine",
        )
    return directory


def directory_sha256(directory: Path) -> str:
    """Return `files_sha256` of the weights, tokenizer and configuration files of a saved model.

    Raises
    ------
    Precondition
        EMBEDDER_MISCONFIGURED: the directory holds no such file, or far more than a model has.
    """
    names = []
    for file in directory.rglob("*"):
        if file.suffix in _SUFFIXES and file.is_file():
            names.append(file.relative_to(directory).as_posix())
        if len(names) > _FILES_MAX:
            break
    if not 1 <= len(names) <= _FILES_MAX:
        raise misconfigured(
            field="path",
            got=f"{len(names)} model files",
            allowed=f"1..{_FILES_MAX}",
        )
    return files_sha256(directory, names)
