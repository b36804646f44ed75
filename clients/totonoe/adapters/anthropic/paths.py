"""Paths of the memory tool: `/memories` and what is below it."""

from __future__ import annotations

from anthropic.lib.tools import ToolError

ROOT = "/memories"
PREFIX = "file:"
"""Before the path, in the external id of a file or directory."""
PATH_BYTES_MAX = 256 - len(PREFIX)
"""An external id has at most 256 bytes."""


def resolved(path: str) -> str:
    """Return the one form of a path: `/memories`, or `/memories/` and names with one `/` between.

    As in the SDK, `.` and `..` are resolved by name, and the first part needs no `/` after
    `/memories`. Raises `ToolError` for a path that leaves `/memories`, or that cannot be stored.
    """
    if not path.startswith(ROOT):
        raise ToolError(f"Path must start with {ROOT}, got: {path}")
    found = [ROOT[1:]]
    for name in path[len(ROOT) :].split("/"):
        if name == "..":
            if not found:
                break
            found.pop()
        elif name not in ("", "."):
            found.append(name)
    if found[:1] != [ROOT[1:]]:
        raise ToolError(f"Path {path} would escape {ROOT} directory")
    made = "/" + "/".join(found)
    check_text(made, "The path")
    size = len(made.encode())
    if size > PATH_BYTES_MAX:
        raise ToolError(f"The path {path} has {size} bytes; allowed: at most {PATH_BYTES_MAX}.")
    return made


def check_text(text: str, what: str) -> None:
    """Raise `ToolError` for a text that no memory can hold: with NUL, or no valid Unicode."""
    if "\0" in text:
        raise ToolError(f"{what} has a NUL character; allowed: text without NUL.")
    try:
        text.encode()
    except UnicodeEncodeError:
        raise ToolError(f"{what} has a lone surrogate; allowed: valid Unicode.") from None


def external_id(path: str) -> str:
    """Return the external id of a resolved path."""
    return PREFIX + path


def parents(path: str) -> list[str]:
    """Return the directories above a resolved path, the nearest first, without the root."""
    found = []
    above = path.rpartition("/")[0]
    while len(above) > len(ROOT):
        found.append(above)
        above = above.rpartition("/")[0]
    return found


def is_below(path: str, directory: str) -> bool:
    """Return whether a resolved path lies below a directory."""
    return path.startswith(directory + "/")
