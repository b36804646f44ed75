"""Texts and answers of the memory tool as pure functions; the words are those of the SDK."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from anthropic.lib.tools import ToolError

_NUMBER_WIDTH = 6
_CONTEXT_LINES = 2
_LEVELS = 2
DIRECTORY_BYTES = 4096
"""Size that a listing shows of a directory: what the SDK finds on an ext4 file system."""


def viewed(path: str, text: str, view_range: Sequence[int] | None) -> str:
    """Return the answer to a view of a file; lines are counted from 1, -1 is the last."""
    lines = text.split("\n")
    first, shown = 1, lines
    if view_range and len(view_range) == 2:
        first, last = max(1, view_range[0]), view_range[1]
        shown = lines[first - 1 : len(lines) if last == -1 else last]
    return f"Here's the content of {path} with line numbers:\n" + _numbered(shown, first)


def _numbered(lines: Sequence[str], first: int) -> str:
    return "\n".join(f"{at:>{_NUMBER_WIDTH}}\t{line}" for at, line in enumerate(lines, first))


def replaced(path: str, text: str, old: str, new: str) -> tuple[str, str]:
    """Return a text with its one occurrence of `old` replaced, and the answer."""
    count = text.count(old)
    if count == 0:
        raise ToolError(
            f"No replacement was performed, old_str `{old}` did not appear verbatim in {path}."
        )
    if count > 1:
        at = ", ".join(str(line) for line in _lines_of(text, old))
        raise ToolError(
            f"No replacement was performed. Multiple occurrences of old_str `{old}` in lines: {at}."
            " Please ensure it is unique"
        )
    changed = text.count("\n", 0, text.find(old))
    after = text.replace(old, new)
    lines, begin = after.split("\n"), max(0, changed - _CONTEXT_LINES)
    snippet = _numbered(lines[begin : changed + _CONTEXT_LINES + 1], begin + 1)
    return after, (
        "The memory file has been edited. Here is the snippet showing the change"
        f" (with line numbers):\n{snippet}"
    )


def _lines_of(text: str, part: str) -> Iterator[int]:
    """Yield the line of each occurrence of a part; occurrences may overlap."""
    line, before, at = 1, 0, text.find(part)
    while at != -1:
        line += text.count("\n", before, at)
        before = at
        yield line
        at = text.find(part, at + 1)


def inserted(text: str, line: int, new: str) -> str:
    """Return a text with lines inserted after a line; 0: before the first."""
    lines = text.removesuffix("\n").split("\n") if text else []
    if not 0 <= line <= len(lines):
        raise ToolError(
            f"Invalid `insert_line` parameter: {line}."
            f" It should be within the range [0, {len(lines)}]."
        )
    lines.insert(line, new.rstrip("\n"))
    made = "\n".join(lines)
    return made if made.endswith("\n") else made + "\n"


def listed(path: str, sizes: Mapping[str, int | None]) -> str:
    """Return the answer to a view of a directory.

    Parameters
    ----------
    path : str
        As the caller wrote it.
    sizes : mapping of str to int or None
        Bytes of what is below it by relative path; `None` for a directory.
    """
    everything = dict(sizes)
    for name in sizes:
        parts = name.split("/")
        for depth in range(1, len(parts)):
            everything.setdefault("/".join(parts[:depth]), None)
    lines = [f"{size_text(DIRECTORY_BYTES)}\t{path}"]
    for name in sorted(everything, key=lambda path: path.split("/")):
        parts, size = name.split("/"), everything[name]
        if len(parts) > _LEVELS or any(part.startswith(".") for part in parts):
            continue
        end = "/" if size is None else ""
        lines.append(f"{size_text(DIRECTORY_BYTES if size is None else size)}\t{path}/{name}{end}")
    return (
        f"Here're the files and directories up to {_LEVELS} levels deep in {path},"
        " excluding hidden items:\n" + "\n".join(lines)
    )


def size_text(size: int) -> str:
    """Return a number of bytes with its unit: 0B, 512B, 1.5K."""
    unit = 0
    while unit < 3 and size >= 1024 ** (unit + 1):
        unit += 1
    share = size / 1024**unit
    return f"{int(share) if share == int(share) else f'{share:.1f}'}{'BKMG'[unit]}"
