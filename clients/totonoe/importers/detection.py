"""Known sources, by name and by what stands at a path."""

from __future__ import annotations

from pathlib import Path

from totonoe.importers import (
    anthropic_memory,
    basic_memory,
    claude_agents,
    claude_code,
    codex,
    ego_mcp,
    mcp_memory,
    mcp_memory_service,
    mem0,
    mempalace,
    robotmem,
)
from totonoe.importers.records import Source

AUTO = "auto"
_ALL = (
    claude_code.SOURCE,
    claude_agents.SOURCE,
    codex.SOURCE,
    anthropic_memory.SOURCE,
    basic_memory.SOURCE,
    mempalace.SOURCE,
    mcp_memory.SOURCE,
    mcp_memory_service.SOURCE,
    mem0.SOURCE,
    robotmem.SOURCE,
    ego_mcp.SOURCE,
)
SOURCES: dict[str, Source] = {source.name: source for source in _ALL}


def source_of(name: str, path: Path) -> Source:
    """Return the source of a name, or for `auto` the one that a path belongs to.

    Raises
    ------
    ValueError
        The name is unknown, nothing is at the path, or `auto` finds no source, or several.
    """
    _expect_known(name)
    if not path.exists():
        raise ValueError(f"{path}: No such file or directory")
    if name != AUTO:
        return SOURCES[name]
    if path.is_file() and path.stat().st_size == 0:
        raise ValueError(f"{path}: the file is empty")
    sources = [source for source in SOURCES.values() if source.fits(path)]
    if len(sources) == 1:
        return sources[0]
    if sources:
        names = ", ".join(source.name for source in sources)
        raise ValueError(f"{path}: it fits several, say --from with one of them: {names}")
    looked = "; ".join(f"{source.name}: {source.looks_for}" for source in SOURCES.values())
    raise ValueError(f"{path}: no known store is there. Looked for: {looked}")


def _expect_known(name: str) -> None:
    """Raise `ValueError` if no source has this name."""
    if name != AUTO and name not in SOURCES:
        raise ValueError(f"--from: got {name!r}, allowed: {', '.join((AUTO, *SOURCES))}")


def place_of(name: str) -> Path:
    """Return where the program of a source keeps its store, for a command that names no path.

    Raises
    ------
    ValueError
        The source is unknown, or has no such place.
    """
    _expect_known(name)
    source = SOURCES.get(name)
    if source is not None and source.home is not None:
        return source.home()
    homes = ", ".join(source.name for source in SOURCES.values() if source.home)
    raise ValueError(f"PATH: got none, allowed: without a path: --from {homes}")
