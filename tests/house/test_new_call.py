"""The steps of "Where a new call goes" in CONTRIBUTING.md, carried out in a copy: they suffice."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FILES_MAX = 12
"""Files that somebody writes by hand for a call, documentation and a test included."""


@dataclass(frozen=True)
class Step:
    """Text that a file gets before an anchor, or (without one) at its end."""

    path: str
    text: str
    before: str = ""
    imports: str = ""


STEPS = (
    Step(
        "proto/totonoe/v1/memory_service.proto",
        "  // Counts the live memories that the caller sees.\n"
        "  rpc CountMemories(CountMemoriesRequest) returns (CountMemoriesResponse) {\n"
        "    option (access) = {verb: VERB_READ};\n  }\n",
        before="  // Streams changes from a revision on",
    ),
    Step(
        "proto/totonoe/v1/memory_service.proto",
        "\nmessage CountMemoriesRequest {\n  string collection = 1;\n  string agent_id = 2;\n}\n"
        "\nmessage CountMemoriesResponse {\n  int64 revision = 1;\n  int32 count = 2;\n}\n",
    ),
    Step(
        "core/totonoe_core/domain/queries.py",
        '\n\n@dataclass(frozen=True, slots=True)\nclass CountQuery(Query["Counted"]):\n'
        '    """Count the live memories that an agent sees."""\n\n    agent_id: str\n'
        "\n\n@dataclass(frozen=True, slots=True)\nclass Counted:\n"
        '    """Answer to a `CountQuery`."""\n\n    revision: int\n    count: int\n',
    ),
    Step(
        "core/totonoe_core/engine/queries/reads.py",
        "            CountQuery: self._count,\n",
        before="            GetQuery: self.get,\n",
        imports="from totonoe_core.domain.queries import Counted, CountQuery\n"
        "from totonoe_core.domain.records import Status\nfrom totonoe_core.index import masks\n",
    ),
    Step(
        "core/totonoe_core/engine/queries/reads.py",
        "\n    def _count(self, query: CountQuery) -> Future[Counted]:\n"
        "        def count() -> Counted:\n"
        "            index, revision = self._state.index, self._state.published.revision\n"
        "            view = index.view()\n"
        "            seen = masks.readable(view, index.arrays.agents.find(query.agent_id))\n"
        "            seen &= masks.of_status(view, (Status.ACTIVE,))\n"
        "            return Counted(revision, int(np.count_nonzero(seen)))\n"
        "\n        return submit(self._searchers, count)\n",
    ),
    Step(
        "server/totonoe_server/wire/memories.py",
        "\n\ncount_from_wire = decoder(memory_service_pb2.CountMemoriesRequest, CountQuery)\n"
        "counted_to_wire = encoder(Counted, memory_service_pb2.CountMemoriesResponse)\n",
        imports="from totonoe_core.domain.queries import Counted, CountQuery\n",
    ),
    Step(
        "server/totonoe_server/services/memory.py",
        "\n    async def CountMemories(\n"
        "        self, request: pb.CountMemoriesRequest, _: Context\n    ) -> Encoded:\n"
        '        """Counts live memories."""\n'
        "        query = count_from_wire(request)\n"
        "        return await self._read(request.collection, query, counted_to_wire)\n",
        imports="from totonoe_server.wire.memories import count_from_wire, counted_to_wire\n",
    ),
    Step(
        "clients/totonoe/memories/models.py",
        "\n\n@dataclass(frozen=True, slots=True)\nclass Counted:\n"
        '    """Answer of `count_memories`."""\n\n    revision: int\n    count: int\n',
    ),
    Step(
        "clients/totonoe/memories/calls.py",
        "    def count_memories(\n"
        "        self, *, collection: str | None = None, timeout_s: float | None = None\n"
        "    ) -> models.Counted:\n"
        '        """Counts the live memories that this agent sees."""\n'
        "        request = self._request(memory_pb.CountMemoriesRequest, collection=collection)\n"
        "        return self._run(request, models.Counted, timeout_s)\n\n",
        before="    def update(\n",
    ),
    Step(
        "clients/totonoe/cli/commands/memories.py",
        '\n\ndef count(session: Session) -> None:\n    """Count live memories."""\n'
        "    with session.client() as client:\n        answer = client.count_memories()\n"
        "    session.show(plain(answer), lambda: show.counted_memories(answer))\n",
    ),
    Step(
        "clients/totonoe/cli/commands/memories.py",
        "        count,\n",
        before="        filtered(forget),\n",
    ),
    Step("clients/totonoe/cli/topics.py", "count ", before="namespaces update"),
    Step(
        "clients/totonoe/cli/show/memories.py",
        '\n\ndef counted_memories(answer: Counted) -> None:\n    """Print the number."""\n'
        '    line(f"{answer.count} memories")\n',
        imports="from totonoe.memories.models import Counted\n",
    ),
    Step(
        "docs/api.md",
        "| CountMemories | counts the live memories that the caller sees |\n",
        before="| Update | ",
    ),
    Step(
        "tests/e2e/test_count.py",
        """import asyncio

from typer.testing import CliRunner

from totonoe import AsyncClient, Client
from totonoe.cli.main import app
from totonoe_server.tools.testing import running_server


async def counted(address):
    async with AsyncClient(address) as client:
        return (await client.count_memories()).count


def test_count():
    with running_server() as server, Client(server.address) as client:
        client.remember("The kitchen light is broken.")
        client.remember("Trains leave at nine.", private=True)
        assert client.count_memories().count == 2
        assert asyncio.run(counted(server.address)) == 2
        done = CliRunner().invoke(app, ["--address", server.address, "count"])
        assert done.stdout == "2 memories\\n", done.output
""",
    ),
)


def carry_out(step: Step, copy: Path) -> None:
    path = copy / step.path
    path.parent.mkdir(parents=True, exist_ok=True)
    text = path.read_text("utf-8") if path.exists() else ""
    assert text.count(step.before) == 1 or not step.before, step
    at = text.index(step.before) if step.before else len(text)
    text = text[:at] + step.text + text[at:]
    if step.imports:
        begin = re.search(r"^from totonoe", text, re.M)
        assert begin, step
        text = text[: begin.start()] + step.imports + text[begin.start() :]
    path.write_text(text, "utf-8")


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The sources with the call in them, stubs and asynchronous calls made anew."""
    copy = tmp_path_factory.mktemp("copy")
    leave_out = shutil.ignore_patterns("__pycache__", "results", "node_modules")
    for folder in ("proto", "core", "server", "clients", "docs"):
        shutil.copytree(ROOT / folder, copy / folder, ignore=leave_out)
    for step in STEPS:
        carry_out(step, copy)
    for script in ("proto/generate.py", "clients/generate_async.py"):
        python(copy, script)
    return copy


def python(copy: Path, *arguments: str) -> str:
    """Run the copy's code, and return its output."""
    roots = os.pathsep.join(str(copy / folder) for folder in ("core", "server", "clients"))
    # Without compiling: numba would do it again for each path that the sources lie at.
    environment = {**os.environ, "PYTHONPATH": roots, "TERM": "dumb", "NUMBA_DISABLE_JIT": "1"}
    done = subprocess.run(
        [sys.executable, *arguments], cwd=copy, env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_call_is_served_and_reaches_both_clients_and_the_command_line(copy: Path) -> None:
    where = python(copy, "-c", "import totonoe; print(totonoe.__file__)")
    assert Path(where.strip()).is_relative_to(copy)
    python(copy, "-m", "pytest", "-q", "-p", "no:cacheprovider", "tests/e2e/test_count.py")


def test_new_code_passes_the_checks(copy: Path) -> None:
    shutil.copy(ROOT / "pyproject.toml", copy)
    ruff = Path(sys.executable).with_name("ruff")
    changed = sorted({step.path for step in STEPS if step.path.endswith(".py")})
    subprocess.run([ruff, "check", "--fix", "-q", *changed], cwd=copy, check=True)
    subprocess.run([ruff, "format", "-q", *changed], cwd=copy, check=True)


def test_call_costs_about_ten_files_and_contributing_names_each() -> None:
    paths = {step.path for step in STEPS}
    assert len(paths) <= FILES_MAX
    said = (ROOT / "CONTRIBUTING.md").read_text("utf-8").partition("## Where a new call goes")[2]
    for path in sorted(paths):
        place = path.replace("memories", "<topic>").replace("memory.py", "<topic>.py")
        assert place in said or f"`{place.partition('/')[0]}/`" in said, place
