"""Docstrings say what they say in plain words."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SOURCES = {"core": "totonoe_core", "server": "totonoe_server", "clients": "totonoe"}
GENERATED = ROOT / "clients" / "totonoe" / "v1"
LINE_CHARS_MAX = 120
RIDDLE = re.compile(r"(What|Who)\b")
Documented = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef


def docstrings(node: ast.AST, name: str) -> Iterator[tuple[str, str]]:
    """Yield (name, docstring) of a node and all public names in it, constants included."""
    if isinstance(node, Documented) and (text := ast.get_docstring(node)) is not None:
        yield name, text
    body = getattr(node, "body", [])
    for before, child in zip([None, *body], body, strict=False):
        if isinstance(child, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            if not child.name.startswith("_") or child.name == "__init__":
                yield from docstrings(child, f"{name}.{child.name}")
        elif isinstance(before, ast.Assign | ast.AnnAssign):
            match child:
                case ast.Expr(value=ast.Constant(value=str(text))):
                    target = before.targets[0] if isinstance(before, ast.Assign) else before.target
                    yield f"{name}.{ast.unparse(target)}", text


def riddles(source: str, name: str) -> list[str]:
    """Return the docstrings of a module whose first sentence begins with "What" or "Who"."""
    found = docstrings(ast.parse(source), name)
    return [f"{where}: {text.strip()[:60]}" for where, text in found if RIDDLE.match(text.strip())]


@pytest.mark.parametrize("root", SOURCES)
def test_docstring_first_sentence_is_no_what_or_who(root: str) -> None:
    package = ROOT / root / SOURCES[root]
    said = []
    for path in sorted(package.rglob("*.py")):
        name = str(path.relative_to(package))
        if not path.is_relative_to(GENERATED):
            said += riddles(path.read_text(), name)
    assert said == []


def test_lines_of_pages_are_at_most_120_characters_long() -> None:
    pages = [page for page in ROOT.rglob("*.md") if not {".venv", "node_modules"} & {*page.parts}]
    assert len(pages) > 30
    for page in pages:
        for number, line in enumerate(page.read_text("utf-8").splitlines(), 1):
            # Tables cannot be broken, nor what a command prints.
            as_it_is = line.startswith(("|", "    "))
            assert len(line) <= LINE_CHARS_MAX or as_it_is, f"{page}:{number}"


def test_riddles_are_found_in_modules_classes_methods_and_constants() -> None:
    source = '''"""What it is."""
LIMIT = 3
"""What it allows."""
class Some:
    """Whatever it is."""
    def call(self):
        """Who calls."""
def _hidden():
    """What nobody sees."""
'''
    assert [said.split(":")[0] for said in riddles(source, "m")] == ["m", "m.LIMIT", "m.Some.call"]


def loops_over_one(source: str) -> list[int]:
    """Return the lines of loops and comprehensions whose variable is called `one`."""
    loops = (ast.For, ast.AsyncFor, ast.comprehension)
    targets = [node.target for node in ast.walk(ast.parse(source)) if isinstance(node, loops)]
    names = (name for target in targets for name in ast.walk(target) if isinstance(name, ast.Name))
    return [name.lineno for name in names if name.id == "one"]


def test_loop_variables_are_named_for_what_they_hold() -> None:
    assert loops_over_one("for at, (one, x) in a: pass\n[one\nfor one in b]\none = 1") == [1, 3]
    said = [
        f"{path}:{line}"
        for folder in ("core", "server", "clients", "tests", "bench", "examples", "proto", "deploy")
        for path in (ROOT / folder).rglob("*.py")
        if "node_modules" not in path.parts
        for line in loops_over_one(path.read_text("utf-8"))
    ]
    assert said == []
