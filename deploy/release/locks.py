"""The lock files: which there are, how they are read, and whether they agree with pyproject.toml.

A lock is a requirements file with hashes, which every pip reads. It names no index, so that it
serves with a mirror too. `pylock.toml` (PEP 751) names the address of each file instead.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from packaging.markers import Marker
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "deploy" / "locks"
PYTHONS = ("3.11", "3.12", "3.13")
SYSTEMS = (("linux", "x86_64"), ("linux", "aarch64"), ("darwin", "x86_64"), ("darwin", "arm64"))
"""`sys_platform` and `platform_machine` of the machines that the locks are for."""
LOCKS: Mapping[str, tuple[str, ...]] = {
    "client": (),
    "server": ("server", "mcp", "console", "otel"),
    "agents": ("mcp", "anthropic", "langgraph", "adk", "agent-framework", "otel"),
}
"""Lock and the extras that it is for."""
NOT_LOCKED = frozenset({"sentence-transformers", "model2vec", "postgres", "bench", "dev"})
"""Extras for models and a database of the user's own, for benches and for development."""
BUILD = "build"
"""Lock of the packages that build hnswlib and totonoe itself."""
LINES_MAX = 100_000


@dataclass(frozen=True, slots=True)
class Locked:
    """One pinned version."""

    name: str
    """Normalized."""
    version: str
    marker: Marker | None
    """Where it is installed; None: everywhere."""
    hashes: tuple[str, ...]
    """`sha256:` and 64 digits, one of each file of this version."""


def read(text: str) -> list[Locked]:
    """Parse a lock.

    Raises
    ------
    ValueError
        A line is not `name==version`, optionally with a marker, followed by hashes.
    """
    found = []
    for line in _lines(text):
        pin, *hashes = re.split(r"\s+--hash=", line)
        requirement = Requirement(pin)
        versions = [(item.operator, item.version) for item in requirement.specifier]
        sound = len(versions) == 1 and versions[0][0] == "==" and "*" not in versions[0][1]
        sound = sound and requirement.url is None
        if not sound or not hashes:
            raise ValueError(f"not a pinned version with hashes: {pin}")
        if wrong := [item for item in hashes if not re.fullmatch(r"sha256:[0-9a-f]{64}", item)]:
            raise ValueError(f"not a hash of {pin}: {wrong[0]}")
        name = canonicalize_name(requirement.name)
        found.append(Locked(name, versions[0][1], requirement.marker, tuple(hashes)))
    return found


def _lines(text: str) -> Iterator[str]:
    """Requirements, each on one line, without comments."""
    if text.count("\n") > LINES_MAX:
        raise ValueError(f"a lock has at most {LINES_MAX} lines")
    joined = text.replace("\\\n", " ")
    for line in joined.splitlines():
        if line.strip() and not line.lstrip().startswith("#"):
            yield line.strip()


def read_lock(name: str) -> list[Locked]:
    """Parse `deploy/locks/NAME.txt`."""
    return read((FOLDER / f"{name}.txt").read_text("utf-8"))


def environments() -> Iterator[dict[str, str]]:
    """Variables of markers, for each Python on each system that the locks are for."""
    for python in PYTHONS:
        for system, machine in SYSTEMS:
            yield {
                "python_version": python,
                "python_full_version": f"{python}.0",
                "sys_platform": system,
                "platform_machine": machine,
                "platform_system": {"linux": "Linux", "darwin": "Darwin"}[system],
                "platform_python_implementation": "CPython",
                "implementation_name": "cpython",
                "os_name": "posix",
            }


def requirements(extras: Iterable[str], pyproject: str) -> list[Requirement]:
    """Return the requirements in pyproject.toml of the light client and these extras."""
    project = tomllib.loads(pyproject)["project"]
    lines = list(project["dependencies"])
    for extra in extras:
        lines += project["optional-dependencies"][extra]
    return [Requirement(line) for line in lines]


def disagreements(locked: Iterable[Locked], wanted: Iterable[Requirement]) -> list[str]:
    """List what a lock lacks, has twice, or has outside of its range, in any environment."""
    locked, wanted, found = list(locked), list(wanted), []
    for environment in environments():
        chosen: dict[str, list[str]] = {}
        for item in locked:
            if item.marker is None or item.marker.evaluate(environment):
                chosen.setdefault(item.name, []).append(item.version)
        place = " ".join(environment[key] for key in ("sys_platform", "platform_machine"))
        place = f"Python {environment['python_version']} on {place}"
        found += [f"{name} is there twice, {place}" for name in chosen if len(chosen[name]) > 1]
        for requirement in wanted:
            if requirement.marker is not None and not requirement.marker.evaluate(environment):
                continue
            versions = chosen.get(canonicalize_name(requirement.name), [])
            if not versions:
                found.append(f"{requirement.name} is not locked, {place}")
            elif not requirement.specifier.contains(versions[0], prereleases=True):
                found.append(f"{requirement}: locked is {versions[0]}, {place}")
    return found
