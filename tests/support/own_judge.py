"""The small model of the judge that tests use (`bench/judge/tiny.py`), and copies of it."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

from totonoe_core.judging import TextPair
from totonoe_core.text.normalize import refusing_hash

TINY = Path(__file__).parents[1] / "data" / "judge"
"""It calls texts of the same letters the same, and has no letters of Hebrew."""


def copied(path: Path, **said: Any) -> Path:
    """A copy whose `judge.json` says something else."""
    shutil.copytree(TINY, path)
    manifest = path / "judge.json"
    manifest.write_text(json.dumps(json.loads(manifest.read_text()) | said))
    return path


def pair_of(one: str, other: str) -> TextPair:
    """A pair as the guard makes it."""
    return TextPair.of(one, refusing_hash(one), other, refusing_hash(other))
