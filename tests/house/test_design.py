"""Every DESIGN.md lists the modules of its package."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
DESIGNS = [
    path
    for root in ("core", "server", "clients")
    for path in sorted((ROOT / root).rglob("DESIGN.md"))
]
HEAD = "| module | what it does |"
ROW = re.compile(r"\| `([^`]+)` \| \S.* \|")


def rows(text: str) -> list[str]:
    """Return the paths in all tables of modules, in order."""
    found, inside = [], False
    for line in text.splitlines():
        inside = line == HEAD or (inside and line.startswith("|"))
        if inside and line != HEAD and not line.startswith("|---"):
            row = ROW.fullmatch(line)
            assert row is not None, f"not a row of a table of modules: {line}"
            found.append(row[1])
    return found


def is_empty(path: Path) -> bool:
    """Return whether a module holds nothing but a docstring."""
    return all(isinstance(node, ast.Expr) for node in ast.parse(path.read_text()).body)


def listed(package: Path) -> dict[str, bool]:
    """Return every module of a package by its path, and whether a table may leave it out."""
    return {
        str(path.relative_to(package)): path.name == "__init__.py" and is_empty(path)
        for path in package.rglob("*.py")
        if "_pb2" not in path.name and "node_modules" not in path.parts
    }


def faults(found: list[str], modules: dict[str, bool]) -> list[str]:
    """Compare the rows of a page with the modules of its package.

    A row that ends in a slash stands for the modules below it that no longer row names.
    """
    said = [f"{row}: {found.count(row)} rows" for row in sorted(set(found)) if found.count(row) > 1]
    used = set()
    for module, may_lack in sorted(modules.items()):
        fits = [
            row for row in found if row == module or (row[-1] == "/" and module.startswith(row))
        ]
        if fits:
            used.add(max(fits, key=len))
        elif not may_lack:
            said.append(f"{module}: no row")
    return said + [f"{row}: no such module" for row in found if row not in used]


@pytest.mark.parametrize("path", DESIGNS, ids=lambda path: str(path.relative_to(ROOT)))
def test_design_page_lists_each_module_once(path: Path) -> None:
    assert faults(rows(path.read_text()), listed(path.parent)) == []


def test_design_page_of_core_is_checked() -> None:
    assert ROOT / "core" / "totonoe_core" / "DESIGN.md" in DESIGNS


def test_faults_name_missing_double_and_stale_rows() -> None:
    modules = {"a.py": False, "b/__init__.py": True, "b/c.py": False, "b/d/e.py": False}
    assert faults(["a.py", "b/"], modules) == []
    assert faults(["a.py", "b/", "b/d/"], modules) == []
    assert faults(["a.py", "b/c.py"], modules) == ["b/d/e.py: no row"]
    assert faults(["a.py", "a.py", "b/"], modules) == ["a.py: 2 rows"]
    assert faults(["a.py", "b/", "x.py"], modules) == ["x.py: no such module"]
