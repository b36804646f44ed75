"""Ids of memories and operations."""

from __future__ import annotations

import re
import secrets

from totonoe_core.base import limits

MEMORY_ID = re.compile(r"mem_[0-9a-f]{12,32}\Z")
EPISODE_ID = re.compile(r"ep_[0-9a-f]{12,32}\Z")
MADE_MEMORY_ID = re.compile(r"mem_[0-9a-f]{16}\Z")
MADE_EPISODE_ID = re.compile(r"ep_[0-9a-f]{16}\Z")
"""Ids of episodes that the daemon makes; it stores no others."""
SNAPSHOT_ID = re.compile(r"snap_[0-9a-f]{16}\Z")
COLLECTION_UID = re.compile(r"[0-9a-f]{16}\Z")
COLLECTION_NAME = re.compile(rf"[a-z0-9][a-z0-9_.-]{{0,{limits.COLLECTION_NAME_CHARS_MAX - 1}}}\Z")


def new_memory_id() -> str:
    """Return `mem_` and 16 random hex digits. The writer draws again if the id is taken."""
    return "mem_" + secrets.token_hex(8)


def new_episode_id() -> str:
    """Return `ep_` and 16 random hex digits."""
    return "ep_" + secrets.token_hex(8)


def new_operation_id() -> str:
    """Return `op_` and 24 random hex digits, for callers that give no operation id."""
    return "op_" + secrets.token_hex(12)


def new_snapshot_id() -> str:
    """Return `snap_` and 16 random hex digits."""
    return "snap_" + secrets.token_hex(8)
