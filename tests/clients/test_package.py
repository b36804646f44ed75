"""What `import totonoe` loads and offers."""

from __future__ import annotations

import inspect
import subprocess
import sys
from importlib import import_module

import pytest

import totonoe
from totonoe import AsyncClient, Client
from totonoe.call import lazily

LIGHT = """
import sys
import totonoe
heavy = {"grpc", "numpy", "google", "typer", "rich", "totonoe_core", "totonoe_server"}
print(sorted(heavy & {name.partition(".")[0] for name in sys.modules}))
"""
NO_NUMPY = """
import sys
sys.modules["numpy"] = None
import totonoe
for name in totonoe.__all__:
    getattr(totonoe, name)
import totonoe.cli.main, totonoe.cli.commands.import_rows
print(sorted({"totonoe_core", "totonoe_server"} & set(sys.modules)))
"""


CALL = """
import sys
from totonoe.cli.main import main
sys.argv = ["totonoe", *sys.argv[1:]]
try:
    main()
except SystemExit:
    pass
print([name for name in sys.modules if name.startswith("totonoe.cli.commands.")], file=sys.stderr)
heavy = {"pydantic", "rich", "numpy", "mcp", "totonoe_core", "totonoe_server", "email"}
print(sorted(heavy & {name.partition(".")[0] for name in sys.modules}), file=sys.stderr)
"""
MODELS = """
import sys
import totonoe.aio, totonoe.client
late = (".models", ".plans", ".transfers")
print([name for name in sys.modules if name.startswith("totonoe.") and name.endswith(late)])
"""


@pytest.mark.parametrize(
    ("words", "topic"),
    [(["recall", "x", "--k", "1"], "memories"), (["forget", "mem_1", "--reason", "x"], "memories"),
     (["operations", "--limit", "2"], "history"), (["resolve", "a", "b", "same"], "questions")],
)  # fmt: skip
def test_call_of_a_command_loads_its_own_topic_and_nothing_heavy(
    words: list[str], topic: str
) -> None:
    """Pydantic alone, which Typer checks options with, costs more than the rest of a call."""
    command = [sys.executable, "-c", CALL, *words, "--address", "127.0.0.1:1", "--timeout", "0.1"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert "no daemon answers" in done.stderr
    assert done.stderr.splitlines()[-2:] == [str([f"totonoe.cli.commands.{topic}"]), "[]"]


def test_help_of_all_commands_loads_nothing_that_checks_settings_or_calls() -> None:
    """A command is one line there, and its options take 0.1 s of CPU to make."""
    script = CALL + "print({'asyncio', 'grpc', 'http'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", script, "--help"], capture_output=True, text=True)
    assert " serve " in done.stdout and " recall " in done.stdout
    loaded = done.stderr.splitlines()[-1]
    assert "'totonoe_server'" in loaded and "pydantic" not in loaded
    assert done.stdout.endswith("\nset()\n")


def test_client_loads_models_of_memories_alone() -> None:
    """The dataclasses of all topics take a fifth of a call from the command line to make."""
    done = subprocess.run([sys.executable, "-c", MODELS], capture_output=True, text=True)
    assert (done.stdout.strip(), done.stderr) == ("['totonoe.memories.models']", "")


def test_client_loads_models_of_a_topic_for_its_first_call() -> None:
    for name in lazily.__all__:
        late, loaded = getattr(lazily, name), import_module("totonoe." + name.replace("_", "."))
        own = [each_name for each_name in vars(loaded) if not each_name.startswith("_")]
        assert all(getattr(late, each_name) is getattr(loaded, each_name) for each_name in own)
        with pytest.raises(AttributeError, match="Nothing"):
            late.Nothing  # noqa: B018
    with pytest.raises(AttributeError, match="nothing_models"):
        lazily.nothing_models  # noqa: B018


@pytest.mark.parametrize("script", [LIGHT, NO_NUMPY], ids=["plain import", "everything"])
def test_import_alone_loads_nothing_heavy(script: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=False
    )
    assert (done.stdout.strip(), done.stderr) == ("[]", "")


def test_exports_each_name_is_there_and_listed() -> None:
    assert list(totonoe.__all__) == sorted(totonoe.__all__)
    assert dir(totonoe) == list(totonoe.__all__)
    assert all(getattr(totonoe, name) is not None for name in totonoe.__all__)


def test_exports_names_that_moved_warn_and_say_where_they_are() -> None:
    for name, module in totonoe._NEW_HOME.items():
        assert name not in totonoe.__all__
        with pytest.warns(DeprecationWarning, match=f"import it from totonoe.{module}$"):
            moved = getattr(totonoe, name)
        assert moved is getattr(import_module(f"totonoe.{module}"), name)


def test_exports_name_that_moved_warns_at_the_line_that_imports_it() -> None:
    with pytest.warns(DeprecationWarning) as warned:
        from totonoe import TidyCluster  # noqa: F401
    assert {warning.filename for warning in warned} == {__file__}


def test_exports_unknown_name_raises_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no_such_name"):
        totonoe.no_such_name  # noqa: B018


def test_clients_public_methods_have_equal_signatures() -> None:
    def methods(client: type) -> dict[str, list[str]]:
        found = inspect.getmembers(client, inspect.isfunction)
        return {
            name: [str(item) for item in inspect.signature(function).parameters.values()]
            for name, function in found
            if not name.startswith("_") or name == "__init__"
        }

    blocking, awaited = methods(Client), methods(AsyncClient)
    # The process of a blocking client may fork: it has a stream only if it asks for one.
    streams = [entry["__init__"].pop() for entry in (blocking, awaited)]
    assert streams == ["multiplex: 'bool' = False", "multiplex: 'bool' = True"]
    # The asyncio client takes asynchronous iterables as well.
    assert blocking.pop("remember_many")[0] == awaited.pop("remember_many")[0]
    one, other = blocking.pop("import_file"), awaited.pop("import_file")
    assert [one.pop(1), other.pop(1)] == [
        "source: 'transfers.Source'",
        "source: 'transfers.AsyncSource'",
    ]
    assert one == other
    assert blocking == awaited
