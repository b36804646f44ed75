"""Kept answers by operation id, so that a retry gets the first one again."""

from __future__ import annotations

from dataclasses import replace
from hashlib import blake2b
from typing import Any

from totonoe_core.base import plain
from totonoe_core.base.errors import AlreadyExists
from totonoe_core.domain.commands import Applied
from totonoe_core.store.seam import CollectionFile


def digest_of(asked: Any) -> bytes:
    """Return the digest that distinguishes payloads of an operation id: plain data, decoded."""
    return blake2b(plain.dumps(asked).encode(), digest_size=16).digest()


def first_answer(
    file: CollectionFile, agent_id: str, operation_id: str, digest: bytes
) -> Applied | None:
    """Return the kept answer of an operation id, `replayed`; `None` if the id is new.

    Raises `AlreadyExists` (OPERATION_ID_REUSED) if it was used with another payload.
    """
    kept = file.reply(agent_id, operation_id) if operation_id else None
    if kept is None:
        return None
    if kept.digest != digest:
        raise AlreadyExists(
            "OPERATION_ID_REUSED",
            kind="operation id",
            name=operation_id,
            hint="it was used with another payload",
        )
    return replace(plain.loads(Applied, kept.answer), replayed=True)


def keep(file: CollectionFile, agent_id: str, digest: bytes, answer: Applied, time_us: int) -> None:
    """Keep an answer, within the transaction of its operation."""
    file.put_reply(agent_id, answer.operation_id, digest, plain.dumps(answer), time_us)
