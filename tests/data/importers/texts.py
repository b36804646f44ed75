"""Texts of the fixtures, shared by the scripts that make them.

Two that say the same, one that updates another, one that contradicts another, one in Japanese.
"""

from __future__ import annotations

import gzip
from pathlib import Path

HERE = Path(__file__).parent

FACTS = (
    "The staging database listens on port 5433.",
    "The  staging database listens on port 5433. ",
    "The staging database listens on port 5434.",
    "The nightly backup is enabled.",
    "The nightly backup is disabled.",
    "把持力は12.5Nに設定する。",
    "The deploy script needs Node 20.",
    "Release notes are written in plain English.",
)


def pack(database: Path, name: str) -> None:
    """Write a database to `name`.gz beside this file, the same bytes for the same database."""
    (HERE / f"{name}.gz").write_bytes(gzip.compress(database.read_bytes(), 9, mtime=0))
