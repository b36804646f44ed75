"""The pytest fixture that users get, and that loading it costs nothing."""

from __future__ import annotations

import asyncio
import os
import re
import shutil
import subprocess
import sys
from importlib.metadata import entry_points
from pathlib import Path

import pytest

from support.waits import wait_s
from totonoe_core.kernels import cosine
from totonoe_server.tools.testing import running_server

ROOT = Path(__file__).parents[2]
ENVIRONMENT = os.environ | {
    "PYTHONPATH": os.pathsep.join(str(ROOT / name) for name in ("core", "server", "clients"))
}
# By its entry point where the package is installed, by name where only the sources are.
INSTALLED = any(point.name == "totonoe" for point in entry_points(group="pytest11"))
HEAVY = ("grpc", "numpy", "numba", "apsw", "google.protobuf", "pydantic", "structlog")


@pytest.mark.parametrize(
    "module", ["totonoe_server.tools.testing", "totonoe_server.tools.commands"]
)
def test_module_that_others_load_by_themselves_loads_nothing_heavy(module):
    code = f"import sys, {module}\nprint([name for name in {HEAVY!r} if name in sys.modules])"
    done = subprocess.run(
        [sys.executable, "-c", code], env=ENVIRONMENT, capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"


def test_fixture_serves_a_client_of_a_users_test(tmp_path):
    test = tmp_path / "test_mine.py"
    test.write_text(
        "def test_remembers(totonoe_server):\n"
        "    with totonoe_server.client(agent_id='me') as client:\n"
        "        first = client.remember('The port is 8080.')\n"
        "        assert first.saved\n"
        "    totonoe_server.stop()\n"
        "    totonoe_server.start()\n"
        "    with totonoe_server.client(agent_id='you') as client:\n"
        "        assert not client.remember('The port is 8080.').saved\n"
        "\n"
        "def test_starts_with_nothing(totonoe_server):\n"
        "    with totonoe_server.client() as client:\n"
        "        assert client.remember('The port is 8080.').saved\n"
    )
    loaded = [] if INSTALLED else ["-p", "totonoe_server.tools.testing"]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", *loaded, "-W", "error", str(test)],
        env=ENVIRONMENT,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert "2 passed" in done.stdout, done.stdout + done.stderr


def test_async_client_and_server_share_a_process():
    from totonoe import AsyncClient

    async def use(address: str) -> list[bool]:
        async with AsyncClient(address, agent_id="me") as client:
            return [
                (await client.remember("One thing.")).saved,
                (await client.remember("One thing.")).saved,
            ]

    with running_server() as server:
        assert asyncio.run(use(server.address)) == [True, False]


def test_two_servers_run_side_by_side():
    with running_server() as one, running_server() as other:
        assert one.address != other.address
        with one.client() as first, other.client() as second:
            assert first.remember("The same in both.").saved
            assert second.remember("The same in both.").saved


def test_server_that_runs_is_not_started_again_and_stop_is_idempotent():
    with running_server() as server:
        with pytest.raises(RuntimeError):
            server.start()
        server.stop()
        server.stop()


def test_page_about_testing_runs_as_it_stands(tmp_path):
    page = (ROOT / "docs" / "testing.md").read_text("utf-8")
    script, tests = re.findall(r"```python\n(.*?)```", page, re.S)
    (tmp_path / "test_page.py").write_text(tests)
    plugin = [] if INSTALLED else ["-p", "totonoe_server.tools.testing"]
    tested = ["-m", "pytest", "-q", *plugin, str(tmp_path / "test_page.py")]
    for words in (["-c", script], tested):
        command = [sys.executable, *words]
        subprocess.run(command, env=ENVIRONMENT, cwd=tmp_path, check=True, timeout=wait_s(200))


WITHOUT_PYTEST = """
import sys
sys.modules["pytest"] = None
from totonoe_core.kernels import cosine
from totonoe_server.tools.testing import running_server
for _ in range(2):
    with running_server() as server, server.client() as client:
        print(client.remember("The port is 8080.").saved)
"""


def test_helper_works_without_pytest_and_says_once_that_kernels_compile(tmp_path):
    kept = Path(cosine.similarity64.stats.cache_path)
    # One kernel is missing: to compile them all takes half a minute.
    copy = tmp_path / "totonoe" / kept.parents[1].name / kept.parent.name / kept.name
    shutil.copytree(kept, copy)
    next(copy.glob("*.nbi")).unlink()
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT_PYTEST],
        env=ENVIRONMENT | {"XDG_CACHE_HOME": str(tmp_path), "NUMBA_CACHE_DIR": ""},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.split() == ["True", "True"]
    assert done.stderr == "totonoe: compiling kernels, once: up to a minute\n"
