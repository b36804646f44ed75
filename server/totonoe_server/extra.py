"""The extra `server`: whether the packages that the daemon needs are installed.

The light client (`pip install totonoe`) carries this package, and not what it imports. The
distribution's own metadata says which packages that are, so that nothing has to be listed twice.
"""

from __future__ import annotations

import re
from importlib.metadata import PackageNotFoundError, distribution, requires

INSTALL = "pip install 'totonoe[server]'"
_OF_THE_EXTRA = re.compile(r"""([A-Za-z0-9][A-Za-z0-9._-]*).*;.*extra == ["']server["']""")
_NAMED_MAX = 3


class MissingExtraError(ImportError):
    """Packages of the extra `server` are not installed; the message names the first of them."""


def missing() -> list[str]:
    """Names of packages of the extra that are not installed, in the order of the metadata.

    Empty where this package itself runs from its sources and has no metadata.
    """
    try:
        lines = requires("totonoe") or []
    except PackageNotFoundError:
        return []
    found = (_OF_THE_EXTRA.match(line) for line in lines)
    # A requirement that is split by platform stands there once for each.
    names = dict.fromkeys(match[1] for match in found if match)
    return [name for name in names if not _installed(name)]


def require() -> None:
    """Raises `MissingExtraError` unless the whole extra is installed."""
    names = missing()
    if names:
        more = f" and {len(names) - _NAMED_MAX} more" if len(names) > _NAMED_MAX else ""
        raise MissingExtraError(f"not installed: {', '.join(names[:_NAMED_MAX])}{more}")


def _installed(name: str) -> bool:
    try:
        distribution(name)
    except PackageNotFoundError:
        return False
    return True
