"""The light client in an environment of its own: the built wheel and what it requires, no extra.

Nothing is fetched: the wheel is built with the installed hatchling, and the packages that it
requires are linked from the environment that runs this test.
"""

from __future__ import annotations

import subprocess
import sys
import venv
from importlib.metadata import distribution
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from support.bare import INSTALL, NEED_THE_SERVER, check_mcp, check_server_command, run
from totonoe.cli.extensions import SERVER_COMMANDS

ROOT = Path(__file__).resolve().parents[2]


def closure(*names: str) -> list[str]:
    """These distributions and all that they require, without extras."""
    found: list[str] = []
    waiting = [*names]
    while waiting:
        name = canonicalize_name(waiting.pop())
        if name in found:
            continue
        found.append(name)
        lines = [Requirement(line) for line in distribution(name).requires or []]
        waiting += [line.name for line in lines if not line.marker or line.marker.evaluate()]
    return found


def link(name: str, site: Path) -> None:
    """Makes an installed distribution importable from another directory."""
    installed = distribution(name)
    for file in installed.files or []:
        top = file.parts[0]
        if top not in ("..", "__pycache__") and not (site / top).is_symlink():
            merged = site / top
            # Namespace packages (google) are parts of several distributions.
            source = Path(str(installed.locate_file(top)))
            merged.symlink_to(source, target_is_directory=source.is_dir())


@pytest.fixture(scope="module")
def bare(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Directory with the programs of an environment that has the light client and pytest."""
    directory = tmp_path_factory.mktemp("bare")
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check"]
    build = ["wheel", "-q", "--no-deps", "--no-build-isolation", "-w", directory / "wheel", ROOT]
    done = subprocess.run([*pip, *build], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    (wheel,) = (directory / "wheel").glob("totonoe-*.whl")
    home = directory / "venv"
    venv.create(home, symlinks=True)
    (site,) = (home / "lib").glob("python*/site-packages")
    requirements = {Requirement(line) for line in distribution("totonoe").requires or []}
    light = [
        requirement.name for requirement in requirements if "extra" not in str(requirement.marker)
    ]
    for name in closure("pytest", *light):
        link(name, site)
    install = ["--python", home / "bin" / "python", "install", "-q", "--no-deps", "--no-index"]
    done = subprocess.run([*pip, *install, wheel], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return home / "bin"


@pytest.mark.parametrize("words", NEED_THE_SERVER, ids=" ".join)
@pytest.mark.parametrize("arguments", [[], ["x", "--json"]], ids=["alone", "with arguments"])
def test_command_of_the_server_names_the_extra_in_one_line(
    bare: Path, tmp_path: Path, words: list[str], arguments: list[str]
) -> None:
    check_server_command(bare, [*words, *arguments], tmp_path)


def test_help_says_which_commands_need_the_extra(bare: Path, tmp_path: Path) -> None:
    done = run(bare / "totonoe", "--help", directory=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.count("Needs the extra `server`") == len(SERVER_COMMANDS)
    for name in ("remember", "recall", *SERVER_COMMANDS):
        assert f" {name} " in done.stdout


def test_module_of_the_server_names_the_extra_in_one_line(bare: Path, tmp_path: Path) -> None:
    done = run(bare / "python", "-m", "totonoe_server", directory=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert len(done.stderr.splitlines()) == 1
    assert INSTALL in done.stderr


@pytest.mark.parametrize("arguments", [[], ["install", "cursor"]], ids=["serve", "install"])
def test_mcp_names_its_extra_in_one_line(bare: Path, tmp_path: Path, arguments: list[str]) -> None:
    check_mcp(bare, arguments, tmp_path)


def test_command_of_the_client_works(bare: Path, tmp_path: Path) -> None:
    address = ["--address", "127.0.0.1:1", "--timeout", "1"]
    done = run(bare / "totonoe", "recall", "x", *address, directory=tmp_path)
    assert done.returncode == 4, done.stderr
    assert "no daemon answers" in done.stderr


def test_pytest_runs_and_the_fixture_says_what_it_needs_only_when_it_is_used(
    bare: Path, tmp_path: Path
) -> None:
    (tmp_path / "test_mine.py").write_text(
        "def test_without(): pass\ndef test_with(totonoe_server): pass\n"
    )
    # A plugin whose package is imported before is what pytest warns of.
    script = "import sys, totonoe, totonoe_core, totonoe_server, pytest\n"
    script += (
        "sys.exit(pytest.main(['-q', '-W', 'error', '-p', 'no:cacheprovider', *sys.argv[1:]]))"
    )
    python = [bare / "python", "-c", script]
    fine = run(*python, "test_mine.py::test_without", directory=tmp_path)
    assert fine.returncode == 0, fine.stdout + fine.stderr
    assert "1 passed" in fine.stdout
    done = run(*python, directory=tmp_path)
    assert "1 passed, 1 error" in done.stdout, done.stdout + done.stderr
    assert f"totonoe_server needs the server: {INSTALL} (not installed: apsw" in done.stdout
    assert "Traceback" not in done.stdout
    assert "site-packages" not in done.stdout
