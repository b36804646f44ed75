"""`make dist`: the built wheel in bare environments of each Python, as a user installs it.

The environments are in build/dist; `deploy/release/dist.py` makes them. Each has its own packages,
so no test imports from them: their programs run as processes.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
from functools import partial
from pathlib import Path

import pytest
from mcp import StdioServerParameters

from deploy.release.dist import ENVIRONMENTS, INSTALLED_TYPESCRIPT, TYPESCRIPT
from support.agents import agent
from support.bare import NEED_THE_SERVER, check_mcp, check_server_command, run
from support.daemons import DaemonProcess
from support.pages import ROOT, blocks, run_blocks, served_home

pytestmark = [pytest.mark.soak, pytest.mark.timeout(600)]
README = (ROOT / "README.md").read_text("utf-8")
PYTHONS = sorted(path.name for path in ENVIRONMENTS.glob("3.*"))


class InstalledDaemon(DaemonProcess):
    """`totonoe serve` of an environment; a first start in it compiles the kernels."""

    def __init__(self, data_dir: Path, *, embedder: str, programs: Path) -> None:
        super().__init__(data_dir, embedder=embedder)
        self._programs = programs

    def command(self) -> list[str]:
        return [str(self._programs / "totonoe"), "serve"]


def programs(python: str, name: str) -> Path:
    return ENVIRONMENTS / python / name / "bin"


def test_make_dist_has_made_environments() -> None:
    assert PYTHONS, "run `make dist`"


@pytest.mark.parametrize("python", PYTHONS)
@pytest.mark.parametrize(
    ("client", "server"), [("light", "server"), ("server", "server"), ("locked", "locked")]
)
def test_readme_works_as_printed(python: str, client: str, server: str) -> None:
    with served_home(partial(InstalledDaemon, programs=programs(python, server))) as home:
        run_blocks(blocks("README.md"), programs(python, client), home)


@pytest.mark.parametrize("python", PYTHONS)
def test_light_client_names_each_extra_in_one_line(tmp_path: Path, python: str) -> None:
    light = programs(python, "light")
    for words in NEED_THE_SERVER:
        check_server_command(light, words, tmp_path)
    for arguments in ([], ["install", "cursor"]):
        check_mcp(light, arguments, tmp_path)
    for extra in ("anthropic", "langgraph", "adk", "agent_framework"):
        code = f"import totonoe.adapters.{extra}"
        done = run(light / "python", "-c", code, directory=tmp_path)
        last = done.stderr.splitlines()[-1]
        assert f"pip install 'totonoe[{extra.replace('_', '-')}]'" in last, done.stderr


@pytest.mark.parametrize("python", PYTHONS)
def test_readmes_way_in_for_agents_works(tmp_path: Path, python: str) -> None:
    """The command of README.md writes an entry; its command serves an agent."""
    (line,) = re.findall(r"^\.venv/(bin/totonoe mcp install claude-code)$", README, re.M)
    command = shlex.split(line)
    home = ENVIRONMENTS / python / "server"
    done = run(home / command[0], *command[1:], directory=tmp_path)
    assert done.returncode == 0, done.stderr
    entry = json.loads((tmp_path / ".claude.json").read_text("utf-8"))["mcpServers"]["totonoe"]
    made = InstalledDaemon(tmp_path / "data", embedder="use", programs=home / "bin")
    with made as daemon:
        environment = {"HOME": str(tmp_path), "TOTONOE_ADDRESS": daemon.address}
        environment |= entry.get("env", {})
        host = StdioServerParameters(command=entry["command"], args=entry["args"], env=environment)
        with agent(host, "auto") as one:
            one.data("remember", content="The staging database listens on port 5433.")
            assert "5433" in one.text("recall", query="which port does staging use")


@pytest.mark.skipif(not INSTALLED_TYPESCRIPT.exists(), reason="make dist found no npm")
def test_page_of_the_typescript_client_works_in_an_empty_folder(tmp_path: Path) -> None:
    """Its code compiles against the installed package, and prints what it says."""
    page = (ROOT / "docs" / "typescript.md").read_text("utf-8")
    code = "\n".join(re.findall(r"^```ts\n(.*?)^```", page, re.M | re.S))
    (INSTALLED_TYPESCRIPT / "page.ts").write_text(code, "utf-8")
    # Node of the version that the package asks for, whatever the machine has.
    search = f"{TYPESCRIPT / 'node_modules' / '.bin'}{os.pathsep}{os.environ['PATH']}"
    server = programs(PYTHONS[0], "server")
    with InstalledDaemon(tmp_path / "data", embedder="use", programs=server) as daemon:
        environment = {"PATH": search, "HOME": str(tmp_path), "TOTONOE_ADDRESS": daemon.address}

        def node(*words: str) -> str:
            done = subprocess.run(
                ["node", *words],
                cwd=INSTALLED_TYPESCRIPT,
                env=environment,
                capture_output=True,
                text=True,
                timeout=200,
                check=False,
            )
            assert done.returncode == 0, done.stdout + done.stderr
            return done.stdout

        flags = ["--strict", "--target", "es2022", "--module", "nodenext", "--types", "node"]
        node("node_modules/typescript/bin/tsc", *flags, "--ignoreConfig", "page.ts")
        said = re.findall(r"^ {4}(.*)\n", page, re.M)
        assert node("page.js") == "\n".join(said) + "\n"
        # Without the packages of others, their types alone are missing.
        for entry, name in (("anthropic", "memoryTool"), ("mastra", "recalledNotes")):
            found = node("-e", f"import('totonoe/{entry}').then(m => console.log(typeof m.{name}))")
            assert found == "function\n"
