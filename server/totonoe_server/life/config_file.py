"""Read the configuration file: one TOML file whose keys are the names of settings.

A fault is one line that names the file. An unknown key names the nearest known one.
"""

from __future__ import annotations

import difflib
import os
import stat
import tomllib
from collections.abc import Collection
from pathlib import Path
from typing import Any

from platformdirs import user_config_path

FILE_VARIABLE = "TOTONOE_CONFIG"
FILE_BYTES_MAX = 1 << 20


class ConfigFileError(ValueError):
    """The file cannot be used. The message is one line that begins with its path."""


def default_file() -> Path:
    """Return the place that is read if nothing else is said; the file may be missing."""
    return user_config_path("totonoe") / "totonoe.toml"


def chosen_file(given: Path | None) -> Path | None:
    """Return the file to read: the given one, else that of TOTONOE_CONFIG, else the default one.

    A file that somebody named must exist. `None` if nobody named one and the default is missing.
    """
    named = given or (Path(found) if (found := os.environ.get(FILE_VARIABLE, "")) else None)
    if named is not None:
        return named.expanduser().absolute()
    place = default_file()
    # A link that leads nowhere is a mistake, and not a missing file.
    return place if os.path.lexists(place) else None


def read_file(path: Path, known: Collection[str]) -> dict[str, Any]:
    """Return the keys and values of a file.

    Raises
    ------
    ConfigFileError
        It is a directory, unreadable, too long, not UTF-8, not TOML, holds a key twice, or one
        that is not in `known`.
    """
    try:
        text = _bytes_of(path).decode("utf-8")
    except OSError as error:
        raise ConfigFileError(f"{path}: {error.strerror or error}") from None
    except UnicodeDecodeError as error:
        raise ConfigFileError(f"{path}: not UTF-8, from byte {error.start} on") from None
    try:
        values = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        # The parser's own word for a key that stands there twice.
        hint = " (is a key there twice?)" if "overwrite" in str(error) else ""
        raise ConfigFileError(f"{path}: not TOML: {_one_line(str(error))}{hint}") from None
    except RecursionError:
        raise ConfigFileError(f"{path}: not TOML: nested too deeply") from None
    for key in values:
        if key not in known:
            raise ConfigFileError(f"{path}: unknown key {_shown(key)}{_nearest(key, known)}")
    return values


def _bytes_of(path: Path) -> bytes:
    """Read a regular file. Others might block, or never end."""
    kind = path.stat().st_mode
    if stat.S_ISDIR(kind):
        raise ConfigFileError(f"{path}: a directory, and not a file")
    if not stat.S_ISREG(kind):
        raise ConfigFileError(f"{path}: not a regular file")
    with path.open("rb") as file:
        data = file.read(FILE_BYTES_MAX + 1)
    if len(data) > FILE_BYTES_MAX:
        raise ConfigFileError(f"{path}: longer than {FILE_BYTES_MAX} bytes")
    return data


def _nearest(key: str, known: Collection[str]) -> str:
    wanted = key.lower().replace("-", "_")
    found = difflib.get_close_matches(wanted, sorted(known), n=1, cutoff=0.0)
    return f"; the nearest is `{found[0]}`" if found else ""


def _shown(key: str) -> str:
    """A key as it can stand in one line."""
    return f"`{_one_line(key)}`"


def _one_line(text: str) -> str:
    cleaned = "".join(char if char.isprintable() else "\N{REPLACEMENT CHARACTER}" for char in text)
    return cleaned if len(cleaned) <= 120 else cleaned[:119] + "…"
