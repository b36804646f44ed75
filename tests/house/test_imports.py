"""Who may import whom, how long a module is, and what it must not say."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SOURCES = {"core": "totonoe_core", "server": "totonoe_server", "clients": "totonoe"}
LINES_MAX = 80
"""Of a function's body, without its docstring."""
BRANCHES_MAX = 30
BRANCHES = (ast.If, ast.IfExp, ast.For, ast.While, ast.Try, ast.BoolOp, ast.match_case)
GENERATED = ROOT / "clients" / "totonoe" / "v1"
UNFINISHED = re.compile(r"TO" + r"DO|FIX" + r"ME|NotImplemented" + r"Error")


LAYERS = (
    *("base", "helper", "kernels", "domain", "text", "store", "embedding", "index", "guard"),
    *(
        "joins",
        "judging",
        "search",
        "rules",
        "jsonl",
        "engine.seam",
        "engine.state",
        "engine.guarding",
    ),
    *("engine.commands", "engine.writer", "engine.queries", "engine.jobs", "engine.collection"),
    *("engine.catalog", "engine.embedded", "engine.factory", "engine.pairs"),
)
"""Packages of core from the ground up: each imports those before it alone."""
STORE_DOORS = ("seam", "records", "rows", "settings", "aside", "checkpoint")
"""Modules of the store that the engine knows: Protocols and plain data, and derived files."""
SERVER_LAYERS = (
    "extra",
    "logger",
    "advice",
    "status",
    "wire",
    "access",
    "services",
    "life",
    "tools",
    "__main__",
)
"""Packages and lone modules of the server from the ground up."""
CLIENT_LAYERS = (
    *("v1", "errors", "enums", "unprintable", "steps", "wire", "call"),
    *("memories", "collections", "graph", "audit", "cleanup", "consolidate", "snapshots"),
    *("history", "questions", "reembed", "tidy", "transfer", "watch"),
    # The package itself names the clients and their models.
    *("aio", "client", "", "words", "fence", "importers", "workspace"),
    *("adapters", "console", "mcp", "cli"),
)
"""Packages and lone modules of the clients from the ground up."""
LATE = "totonoe.call.lazily"
"""Lends the topics models of all topics, which it imports for their types alone."""


def modules(folder: str) -> list[Path]:
    every = sorted((ROOT / folder).rglob("*.py"))
    # A Node from npm brings a script of its own in Python.
    found = [path for path in every if "node_modules" not in path.parts]
    assert found, f"no module in {folder}"
    return found


@cache
def imported(path: Path) -> tuple[str, ...]:
    """Full names of all that a module imports, also inside functions."""
    package = path.relative_to(ROOT).parts[1:-1]
    return tuple(names(path.read_text(encoding="utf-8"), package))


def names(source: str, package: Sequence[str]) -> Iterator[str]:
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from (name.name for name in node.names)
        elif isinstance(node, ast.ImportFrom):
            inside = package[: len(package) + 1 - node.level] if node.level else []
            base = ".".join([*inside, *([node.module] if node.module else [])])
            yield base
            yield from (f"{base}.{name.name}" for name in node.names)
        elif isinstance(node, ast.Call) and node.args:
            called = getattr(node.func, "attr", getattr(node.func, "id", ""))
            first = node.args[0]
            if called in ("import_module", "__import__") and isinstance(first, ast.Constant):
                yield str(first.value)


def importers(folder: str, *names: str) -> set[str]:
    """Modules of a folder that import one of some packages."""
    return {
        str(path.relative_to(ROOT))
        for path in modules(folder)
        for found in imported(path)
        if any(found == name or found.startswith(name + ".") for name in names)
    }


def test_core_imports_neither_wire_nor_server_nor_client() -> None:
    assert not importers("core", "grpc", "google", "grpc_status", "totonoe", "totonoe_server")


def package(name: str) -> str:
    """Return the package that holds a module; within the engine the room."""
    parts = name.split(".")[1:]
    return ".".join(parts[: 2 if parts[0] == "engine" else 1]) if parts else ""


@pytest.mark.parametrize(
    ("folder", "layers"),
    [("core", LAYERS), ("server", SERVER_LAYERS), ("clients", CLIENT_LAYERS)],
)
def test_packages_import_only_those_below(folder: str, layers: Sequence[str]) -> None:
    climbing = []
    for path in modules(f"{folder}/{SOURCES[folder]}"):
        name = ".".join(path.relative_to(ROOT / folder).with_suffix("").parts)
        if name == LATE:
            continue
        own = package(name.removesuffix(".__init__"))
        for found in imported(path):
            other = package(found) if found.startswith(f"{SOURCES[folder]}.") else ""
            # The first form of `from totonoe_core.engine import x` names no room.
            if other in ("", "engine", own):
                continue
            if layers.index(other) > layers.index(own):
                climbing.append((name, found))
    assert not climbing


def test_clients_import_neither_core_nor_what_only_core_needs() -> None:
    assert not importers("clients", "totonoe_core", "numba", "hnswlib", "apsw")
    # The one bridge is the pytest fixture and the commands, which live with the server.
    assert not importers("clients", "totonoe_server")


@pytest.mark.parametrize("folder", SOURCES)
def test_nothing_imports_tests_or_benches(folder: str) -> None:
    assert not importers(folder, "tests", "bench", "support", "conftest")


def test_hnswlib_is_imported_by_one_module() -> None:
    found = importers("core", "hnswlib") | importers("server", "hnswlib")
    assert found == {"core/totonoe_core/index/hnsw.py"}


def test_sqlite_is_imported_by_the_store_alone() -> None:
    found = importers("core", "apsw", "sqlite3") | importers("server", "apsw", "sqlite3")
    assert found
    assert all(name.startswith("core/totonoe_core/store/sqlite/") for name in found), found


def test_psycopg_is_imported_by_its_store_alone() -> None:
    found = importers("core", "psycopg") | importers("server", "psycopg")
    assert found
    assert all(name.startswith("core/totonoe_core/store/postgres/") for name in found), found


def test_engine_knows_the_seam_of_the_store_and_no_store() -> None:
    """Else a store beside SQLite would need a second engine."""
    doors = {f"totonoe_core.store.{name}" for name in STORE_DOORS}
    beside = [
        (path.relative_to(ROOT).as_posix(), name)
        for path in modules("core")
        if "engine" in path.parts and path.name != "factory.py"
        for name in imported(path)
        if name.startswith("totonoe_core.store.")
        if ".".join(name.split(".")[:3]) not in doors
    ]
    assert not beside
    stores = importers("core", "totonoe_core.store.sqlite")
    inside = {name for name in stores if name.startswith("core/totonoe_core/store/sqlite/")}
    assert stores - inside == {"core/totonoe_core/engine/factory.py"}, "it alone chooses a store"


def test_server_reaches_core_by_the_seam_and_the_factory() -> None:
    found = importers("server", *(f"totonoe_core.{name}" for name in ("store", "index", "kernels")))
    assert not found
    rooms = {f"totonoe_core.{layer}" for layer in LAYERS if layer.startswith("engine.")}
    doors = {f"totonoe_core.engine.{name}" for name in ("seam", "factory", "pairs")}
    assert not importers("server", *(rooms - doors))


def test_sql_stays_in_the_store() -> None:
    found = {
        str(path.relative_to(ROOT))
        for path in modules("core")
        if "/store/" not in str(path)
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call)
        if getattr(node.func, "attr", "") in ("execute", "executemany")
    }
    assert not found


def test_kernels_know_no_policy_and_the_pure_rooms_no_disk() -> None:
    kernels = {name for name in importers("core", "totonoe_core") if "/kernels/" in name}
    for name in kernels:
        inside = [module for module in imported(ROOT / name) if module.startswith("totonoe_core")]
        # Where caches lie is the same for kernels and word lists.
        allowed = ("totonoe_core.kernels", "totonoe_core.base.prepared")
        assert all(module.startswith(allowed) for module in inside), (name, inside)
    for room in ("guard", "search", "text", "index"):
        for path in (ROOT / "core" / "totonoe_core" / room).rglob("*.py"):
            bad = [
                module
                for module in imported(path)
                if module.startswith(("totonoe_core.store", "totonoe_core.engine", "apsw"))
                or module in ("time", "datetime", "socket")
            ]
            assert not bad, (path.name, bad)


@pytest.mark.parametrize("folder", [*SOURCES, "proto"])
def test_functions_stay_readable(folder: str) -> None:
    too_large = []
    for path in modules(folder):
        if GENERATED in path.parents:
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                body = node.body[1:] if ast.get_docstring(node) else node.body
                lines = (node.end_lineno or 0) - body[0].lineno + 1 if body else 0
                branches = sum(isinstance(item, BRANCHES) for item in ast.walk(node))
                if lines > LINES_MAX or branches > BRANCHES_MAX:
                    too_large.append(f"{path.relative_to(ROOT)} {node.name}")
    assert not too_large


@pytest.mark.parametrize("folder", [*SOURCES, "proto", "tests"])
def test_nothing_is_left_unfinished(folder: str) -> None:
    found = [
        f"{path.relative_to(ROOT)}:{number}"
        for path in modules(folder)
        # Stubs of grpc raise it where a server does not implement a call.
        if GENERATED not in path.parents
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        if UNFINISHED.search(line)
    ]
    assert not found


def test_each_source_folder_holds_its_one_package() -> None:
    for folder, package in SOURCES.items():
        packages = {path.parent.name for path in (ROOT / folder).glob("*/__init__.py")}
        assert packages == {package}
        assert not (ROOT / folder / "__init__.py").exists()


def test_walk_over_a_module_finds_every_form_of_import() -> None:
    source = """
import numpy.linalg
def f():
    from grpc import aio
    from . import sibling
    from ..store.rows import check
    importlib.import_module("apsw")
"""
    found = set(names(source, ("totonoe_core", "index")))
    assert {"numpy.linalg", "grpc", "grpc.aio", "apsw"} <= found
    assert {"totonoe_core.index.sibling", "totonoe_core.store.rows"} <= found
