"""`make dist`: builds sdist and wheel into dist/, and installs the wheel into bare environments.

The wheel is built from the sdist, so that the sdist is whole. For each Python that is found there
are three environments in build/dist/PYTHON, which `tests/e2e/test_dist.py` then runs:

- `light`: `pip install totonoe`
- `server`: `pip install 'totonoe[server,mcp]'`, the newest versions
- `locked`: the same by `deploy/locks/server.txt`

Where npm is, the TypeScript client is packed into dist/ too, and installed into an empty folder,
build/dist/typescript.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from collections.abc import Iterable, Sequence
from pathlib import Path

from deploy.release.locks import FOLDER, PYTHONS, ROOT

DIST = ROOT / "dist"
ENVIRONMENTS = ROOT / "build" / "dist"
PACKAGES = ("totonoe", "totonoe_core", "totonoe_server")
STAGE = "totonoe_server/tools/quality/stage/data"
"""Where a wheel has the texts of `bench/stage`."""
WHEEL_BYTES_MAX = 40_000_000
SDIST_BYTES_MAX = 45_000_000
COMMAND_S_MAX = 1_200
SERVER = "server,mcp"
TYPESCRIPT = ROOT / "clients" / "typescript"
INSTALLED_TYPESCRIPT = ENVIRONMENTS / "typescript"
"""The empty folder that the TypeScript client is installed into; absent without npm."""


def run(*command: str | Path, folder: Path = ROOT, **variables: str) -> str:
    """Return what a command prints; if it fails, end with its last lines."""
    done = subprocess.run(
        command,
        cwd=folder,
        env={**os.environ, "PIP_DISABLE_PIP_VERSION_CHECK": "1", **variables},
        capture_output=True,
        text=True,
        timeout=COMMAND_S_MAX,
        check=False,
    )
    if done.returncode:
        sys.exit(f"{' '.join(map(str, command))}\n{(done.stdout + done.stderr)[-4_000:]}")
    return done.stdout


def build() -> tuple[Path, Path]:
    """Build dist/ anew; return sdist and wheel."""
    shutil.rmtree(DIST, ignore_errors=True)
    run(sys.executable, "-m", "hatchling", "build", "-t", "sdist", "-d", DIST)
    (sdist,) = DIST.glob("*.tar.gz")
    pip = (sys.executable, "-m", "pip", "wheel", "--no-deps", "--no-build-isolation")
    run(*pip, "--no-cache-dir", "-w", DIST, sdist)
    (wheel,) = DIST.glob("*.whl")
    return sdist, wheel


def wheel_faults(wheel: str, names: Iterable[str], version: str) -> list[str]:
    """List what is wrong with the files of a wheel."""
    names = set(names)
    info = f"totonoe-{version}.dist-info"
    found = [] if wheel == f"totonoe-{version}-py3-none-any.whl" else [f"not pure Python: {wheel}"]
    wanted = {f"{package}/{name}" for package in PACKAGES for name in ("__init__.py", "py.typed")}
    wanted |= {f"{info}/licenses/LICENSE", f"{info}/entry_points.txt"}
    protos = (ROOT / "proto" / "totonoe" / "v1").glob("*.proto")
    wanted |= {f"totonoe/v1/{path.name}" for path in protos}
    stage = ROOT / "bench" / "stage"
    wanted |= {f"{STAGE}/{path.relative_to(stage)}" for path in stage.rglob("*.jsonl")}
    found += [f"lacks {name}" for name in sorted(wanted - names)]
    for name in sorted(names):
        parts = name.split("/")
        stray = parts[0] not in (*PACKAGES, info)
        if stray or re.search(r"(^|/)(tests?/|test_|conftest)|__pycache__|\.(so|dylib)$", name):
            found.append(f"has {name}")
    return found


def sdist_faults(names: Iterable[str], version: str) -> list[str]:
    """List what is wrong with the files of an sdist."""
    inside = {name.removeprefix(f"totonoe-{version}/") for name in names}
    wanted = {"pyproject.toml", "LICENSE", "README.md", "CHANGELOG.md", "Makefile", "PKG-INFO"}
    wanted |= {"deploy/locks/server.txt", "tests/conftest.py", "proto/generate.py"}
    found = [f"lacks {name}" for name in sorted(wanted - inside)]
    hidden = (".venv/", ".git/", "dist/", "build/")
    return found + [f"has {name}" for name in sorted(inside) if name.startswith(hidden)]


def check(sdist: Path, wheel: Path) -> None:
    """End with a line for each fault of the two files."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    version = str(project["version"])
    with zipfile.ZipFile(wheel) as archive:
        found = [
            f"{wheel.name} {wheel_fault}"
            for wheel_fault in wheel_faults(wheel.name, archive.namelist(), version)
        ]
    with tarfile.open(sdist) as archive:
        files = [getmember.name for getmember in archive.getmembers() if getmember.isfile()]
        found += [f"{sdist.name} {sdist_fault}" for sdist_fault in sdist_faults(files, version)]
    for path, limit in ((wheel, WHEEL_BYTES_MAX), (sdist, SDIST_BYTES_MAX)):
        if path.stat().st_size > limit:
            found.append(
                f"{path.name} has {path.stat().st_size} bytes, at most {limit} are expected"
            )
    if found:
        sys.exit("\n".join(found))


def install_typescript(version: str) -> None:
    """Pack the TypeScript client into dist/, and install it into an empty folder."""
    if shutil.which("npm") is None:
        print("There is no npm here: the TypeScript client was not packed, not checked", flush=True)
        return
    package = json.loads((TYPESCRIPT / "package.json").read_text("utf-8"))
    if package["version"] != version:
        sys.exit(f"clients/typescript/package.json has version {package['version']}, not {version}")
    if not (TYPESCRIPT / "node_modules" / ".package-lock.json").exists():
        run("npm", "ci", "--silent", folder=TYPESCRIPT)
    run("npm", "pack", "--silent", "--pack-destination", DIST, folder=TYPESCRIPT)
    packed = DIST / f"totonoe-{version}.tgz"
    INSTALLED_TYPESCRIPT.mkdir(parents=True)
    # The compiler is the user's own; the newest of the project's is taken, so that it is pinned.
    compiler = f"typescript@{package['devDependencies']['typescript']}"
    types = f"@types/node@{package['devDependencies']['@types/node']}"
    run("npm", "init", "--yes", "--init-type=module", "--silent", folder=INSTALLED_TYPESCRIPT)
    run("npm", "install", "--silent", packed, compiler, types, folder=INSTALLED_TYPESCRIPT)
    size = megabytes(packed.stat().st_size)
    print(f"{packed.relative_to(ROOT)}: {size}, installed into an empty folder", flush=True)


def interpreters(named: Sequence[str]) -> dict[str, Path]:
    """Return the Pythons to check, by version: those named, else those on PATH and of pyenv."""
    folders = [Path(item) for item in os.environ.get("PATH", "").split(os.pathsep) if item]
    pyenv = Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv") / "versions"
    candidates = [Path(item) for item in named]
    if not named:
        for python in PYTHONS:
            candidates += [folder / f"python{python}" for folder in folders]
            candidates += sorted(pyenv.glob(f"{python}.*/bin/python"), reverse=True)
    found: dict[str, Path] = {}
    for candidate in candidates:
        if version := version_of(candidate):
            found.setdefault(version, candidate)
        elif named:
            sys.exit(f"{candidate} is no Python that runs and can make environments")
    return found


def version_of(python: Path) -> str | None:
    """Return "3.12" of an interpreter; None if it does not run, or cannot make environments."""
    script = "import ensurepip, sys, venv; print('%d.%d' % sys.version_info[:2])"
    try:
        done = subprocess.run(
            [python, "-c", script], capture_output=True, text=True, timeout=60, check=False
        )
    except OSError:
        return None
    return done.stdout.strip() if done.returncode == 0 else None


def files_bytes(folder: Path) -> int:
    """Return the size of all files below a folder."""
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def environment(folder: Path, python: Path, *installs: Sequence[str | Path]) -> Path:
    """Make an environment of its own and install into it; return its Python."""
    run(python, "-m", "venv", folder)
    own = folder / "bin" / "python"
    for arguments in installs:
        run(own, "-m", "pip", "install", "--quiet", *arguments)
    run(own, "-m", "pip", "check")
    return own


def fetched_bytes(python: Path, wanted: str, folder: Path) -> int:
    """Return the size of all that pip fetches for a requirement, the wheel itself included."""
    run(python, "-m", "pip", "download", "--quiet", "-d", folder, wanted)
    size = files_bytes(folder)
    shutil.rmtree(folder)
    return size


def install(version: str, python: Path, wheel: Path) -> str:
    """Make the three environments of a Python; return their sizes."""
    home = ENVIRONMENTS / version
    environment(home / "empty", python)
    empty = files_bytes(home / "empty")
    shutil.rmtree(home / "empty")
    environment(home / "light", python, [wheel])
    environment(home / "server", python, [f"{wheel}[{SERVER}]"])
    lock = ("--require-hashes", "-r", FOLDER / "server.txt")
    environment(home / "locked", python, lock, ["--no-deps", wheel])
    figures = {name: files_bytes(home / name) - empty for name in ("light", "server", "locked")}
    return ", ".join(f"{name} {megabytes(size)}" for name, size in figures.items())


def megabytes(size_bytes: float) -> str:
    """Return a size for a person."""
    return f"{size_bytes / 1e6:.1f} MB"


def show(sdist: Path, wheel: Path) -> None:
    """Print the sizes of the two files and of the parts of the wheel."""
    for path in (sdist, wheel):
        print(f"{path.relative_to(ROOT)}: {megabytes(path.stat().st_size)}")
    with zipfile.ZipFile(wheel) as archive:
        for package in PACKAGES:
            files = [item for item in archive.infolist() if item.filename.startswith(f"{package}/")]
            packed = sum(file.compress_size for file in files)
            plain = sum(file.file_size for file in files)
            print(f"  {package}: {megabytes(packed)}, installed {megabytes(plain)}", flush=True)


def main(arguments: Sequence[str]) -> None:
    """Build, check and install; arguments are the Pythons."""
    sdist, wheel = build()
    check(sdist, wheel)
    show(sdist, wheel)
    shutil.rmtree(ENVIRONMENTS, ignore_errors=True)
    install_typescript(sdist.name.removeprefix("totonoe-").removesuffix(".tar.gz"))
    found = interpreters(arguments)
    if not found:
        sys.exit("no Python to install into: make dist PYTHONS=/path/to/python3.11")
    for version in sorted({*PYTHONS, *found}):
        if version not in found:
            print(f"Python {version}: none found, not checked")
            continue
        sizes = install(version, found[version], wheel)
        print(f"Python {version} ({found[version]}) installed: {sizes}", flush=True)
    python = ENVIRONMENTS / next(iter(found)) / "light" / "bin" / "python"
    folder = ENVIRONMENTS / "fetched"
    for wanted in (str(wheel), f"{wheel}[server]", f"{wheel}[{SERVER}]"):
        size = megabytes(fetched_bytes(python, wanted, folder))
        print(f"pip fetches {size} for totonoe{wanted.removeprefix(str(wheel))}", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
