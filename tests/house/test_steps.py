"""Lines to type are made in one place, which knows daemon, collection and agent."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from totonoe.cli.extensions import SERVER_COMMANDS
from totonoe.cli.topics import TOPIC_OF

ROOT = Path(__file__).parents[2]
SOURCES = ("core/totonoe_core", "server/totonoe_server", "clients/totonoe")
COMMANDS = sorted({*TOPIC_OF, *SERVER_COMMANDS})
BY_HAND = re.compile(rf"totonoe +({'|'.join(map(re.escape, COMMANDS))})(?![\w-])")
NAMES = {
    "server/totonoe_server/access/book.py": 1,
    "server/totonoe_server/access/gate.py": 1,
    "server/totonoe_server/access/identities.py": 1,
    "server/totonoe_server/life/daemon.py": 1,
    "server/totonoe_server/tools/accept_loss.py": 1,
    "server/totonoe_server/tools/certs.py": 1,
    "server/totonoe_server/tools/verify.py": 1,
    "server/totonoe_server/tools/catalogue.py": 1,
    "core/totonoe_core/base/errors.py": 1,
    "core/totonoe_core/engine/catalog/file_snapshots.py": 1,
    "core/totonoe_core/store/sqlite/catalog.py": 1,
    "clients/totonoe/cli/commands/mcp.py": 1,
    "clients/totonoe/mcp/schemas.py": 1,
    "clients/totonoe/mcp/secret.py": 2,
    "clients/totonoe/mcp/serving.py": 1,
}
"""Texts that name a command and are no line to type, or say what to put in. They may only go."""


def texts(tree: ast.AST) -> Iterator[str]:
    """Yield all texts of a module that are no docstrings; of an f-string its constant parts."""
    skipped = {
        id(node.value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and id(node) not in skipped:
            yield str(node.value)


def test_no_line_to_type_is_written_by_hand() -> None:
    found: Counter[str] = Counter()
    for path in (path for source in SOURCES for path in (ROOT / source).rglob("*.py")):
        for text in texts(ast.parse(path.read_text("utf-8"))):
            found[str(path.relative_to(ROOT))] += len(BY_HAND.findall(text))
    assert +found == Counter(NAMES), "take totonoe.cli.stepping.step, or totonoe.steps.line"
