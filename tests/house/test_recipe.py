"""Whoever changes how tokens, terms or hashes are made raises the number of the recipe."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from hashlib import blake2b
from pathlib import Path
from typing import Any

import totonoe_core
from totonoe_core.index import recipe

PACKAGE = Path(totonoe_core.__file__).parent
SOURCES = (
    *sorted((PACKAGE / "text").glob("*.py")),
    *sorted((PACKAGE / "text" / "reading" / "values").glob("*.py")),
    PACKAGE / "text" / "reading" / "language.py",
    PACKAGE / "text" / "reading" / "chinese" / "script.py",
    PACKAGE / "index" / "collection_index.py",
    PACKAGE / "index" / "lexical.py",
    PACKAGE / "kernels" / "hashing.py",
)
LISTS = sorted(
    path
    for name in ("units", "values")
    for path in (PACKAGE / "text" / "lexicon").glob(f"*/{name}.txt")
)


def form(node: Any) -> Any:
    """Return a syntax tree as plain tuples, equal in every version of Python."""
    if isinstance(node, list):
        return [form(item) for item in node if not _ignored(item)]
    if not isinstance(node, ast.AST):
        return repr(node)
    fields = [(name, value) for name, value in ast.iter_fields(node) if value not in (None, [])]
    return [type(node).__name__, *((name, form(value)) for name, value in fields)]


def _ignored(node: Any) -> bool:
    """Whether a statement is an import or a docstring."""
    if isinstance(node, ast.Import | ast.ImportFrom):
        return True
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def fingerprint(sources: list[str], lists: Sequence[str] = ()) -> str:
    digest = blake2b(digest_size=8)
    for text in lists:
        digest.update(text.encode())
    for source in sources:
        digest.update(repr(form(ast.parse(source))).encode())
    return digest.hexdigest()


def test_recipe_is_raised_when_its_sources_change() -> None:
    assert len(LISTS) >= 10
    found = fingerprint(
        [path.read_text() for path in SOURCES], [path.read_text("utf-8") for path in LISTS]
    )
    assert found == recipe.SOURCES_FINGERPRINT, (
        "the sources that make tokens, terms and hashes have changed: if any text may now give "
        "others, raise RECIPE in core/totonoe_core/index/recipe.py; then set "
        f"SOURCES_FINGERPRINT = {found!r}"
    )


def test_comments_docstrings_and_imports_do_not_count() -> None:
    before = 'from a import b\n\ndef f(x):\n    """One."""\n    return b(x, 1)\n'
    after = '"""Two."""\nfrom c.d import b\n\n\ndef f(x):\n    # why\n    return b(x, 1)\n'
    assert fingerprint([before]) == fingerprint([after])
    assert fingerprint([before]) != fingerprint([before.replace("1", "2")])
