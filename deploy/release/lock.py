"""`make lock`: writes `deploy/locks/`, with the newest versions that pyproject.toml allows.

uv resolves all of it at once, for every Python and system, which pip cannot. So a package has one
version in all locks.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from packaging.markers import Marker
from packaging.tags import Tag, compatible_tags, cpython_tags, mac_platforms
from packaging.utils import parse_wheel_filename

from deploy.release.locks import (
    BUILD,
    FOLDER,
    LOCKS,
    ROOT,
    disagreements,
    environments,
    read_lock,
    requirements,
)

BUILD_REQUIREMENTS = ("hatchling>=1.27", "numpy>=2.1", "pybind11>=2.0", "setuptools>=42", "wheel")
"""What the build systems of totonoe and hnswlib ask for, in their pyproject.toml."""
GLIBC_MINOR_MAX = 28
"""Of Debian 10 and Red Hat 8: a wheel for a newer one counts as none."""
MACOS = (14, 0)
FORKS = (
    "sys_platform != 'darwin' or platform_machine != 'x86_64'",
    "sys_platform == 'darwin' and platform_machine == 'x86_64'",
)
"""Some packages stay at an earlier version on the second; on the others they need not."""
HEADER = "# Made by `make lock`; docs/release.md.\n"
UV_S_MAX = 600
UV = Path(sys.executable).parent / "uv"


def project(pyproject: str) -> str:
    """Return a pyproject.toml with the locked extras alone, so that no other holds them back."""
    ours = tomllib.loads(pyproject)["project"]
    chosen = sorted({extra for extras in LOCKS.values() for extra in extras})
    extras = {extra: ours["optional-dependencies"][extra] for extra in chosen}
    # A list of strings is written alike in JSON and TOML.
    lines = [
        '[project]\nname = "totonoe"\nversion = "0"',
        f"requires-python = {json.dumps(ours['requires-python'])}",
        f"dependencies = {json.dumps(ours['dependencies'])}",
        "[project.optional-dependencies]",
        *(f"{name} = {json.dumps(wanted)}" for name, wanted in extras.items()),
        f"[dependency-groups]\n{BUILD} = {json.dumps(BUILD_REQUIREMENTS)}",
        "[tool.uv]\npackage = false",
        f"environments = {json.dumps(FORKS)}",
    ]
    return "\n".join(lines) + "\n"


def uv(folder: Path, *arguments: str) -> None:
    """Run uv in a folder; it says itself what it cannot resolve."""
    # The address of the index is that of this machine; exports do not contain it.
    subprocess.run([UV, *arguments], cwd=folder, check=True, timeout=UV_S_MAX)


def export(folder: Path, target: Path, chosen: Iterable[str], form: str) -> None:
    """Write a part of the resolution of a project, chosen by options of `uv export`."""
    options = ["--frozen", "--no-emit-project", "--no-annotate", "--no-header"]
    uv(folder, "export", "--quiet", *options, f"--format={form}", *chosen, "-o", str(target))


def tags(environment: Mapping[str, str]) -> frozenset[Tag]:
    """Tags of the wheels that a machine takes."""
    machine = environment["platform_machine"]
    if environment["sys_platform"] == "darwin":
        platforms = list(mac_platforms(MACOS, machine))
    else:
        platforms = [f"manylinux_2_{minor}_{machine}" for minor in range(5, GLIBC_MINOR_MAX + 1)]
        platforms += [f"manylinux{old}_{machine}" for old in ("2014", "2010", "1")]
    major, minor = map(int, environment["python_version"].split("."))
    version = (major, minor)
    pure = compatible_tags(version, interpreter=f"cp{major}{minor}", platforms=platforms)
    return frozenset({*cpython_tags(version, platforms=platforms), *pure})


def built_from_source(packages: Iterable[Mapping[str, Any]]) -> dict[str, list[str]]:
    """List the packages of a pylock.toml that have no wheel, with the machines that build them."""
    found: dict[str, list[str]] = {}
    packages = list(packages)
    for environment in environments():
        fitting = tags(environment)
        keys = ("python_version", "sys_platform", "platform_machine")
        machine = "Python " + " ".join(environment[key] for key in keys)
        for package in packages:
            if "marker" in package and not Marker(package["marker"]).evaluate(dict(environment)):
                continue
            files = [item["url"].rpartition("/")[2] for item in package.get("wheels", [])]
            if not any(parse_wheel_filename(name)[3] & fitting for name in files):
                found.setdefault(package["name"], []).append(machine)
    return found


def main(arguments: Sequence[str]) -> None:
    """Write all locks; arguments go on to uv, as `--exclude-newer 2026-11-01`."""
    text = (ROOT / "pyproject.toml").read_text("utf-8")
    FOLDER.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        (folder / "pyproject.toml").write_text(project(text), "utf-8")
        uv(folder, "lock", "--quiet", *arguments)
        parts = {name: [f"--extra={extra}" for extra in extras] for name, extras in LOCKS.items()}
        parts[BUILD] = [f"--only-group={BUILD}"]
        for name, chosen in parts.items():
            lock = FOLDER / f"{name}.txt"
            export(folder, lock, chosen, "requirements.txt")
            lock.write_text(HEADER + lock.read_text("utf-8"), "utf-8")
            print(f"deploy/locks/{name}.txt: {len(read_lock(name))} pinned versions")
        files = folder / "pylock.toml"
        export(folder, files, ["--all-extras"], "pylock.toml")
        sources = built_from_source(tomllib.loads(files.read_text("utf-8"))["packages"])
    for name, extras in LOCKS.items():
        if wrong := disagreements(read_lock(name), requirements(extras, text)):
            sys.exit(f"deploy/locks/{name}.txt: {wrong[0]}")
    count = sum(1 for _ in environments())
    for name, machines in sources.items():
        where = "everywhere" if len(machines) == count else ", ".join(machines)
        print(f"{name} has no wheel and is built from source: {where}")


if __name__ == "__main__":
    main(sys.argv[1:])
