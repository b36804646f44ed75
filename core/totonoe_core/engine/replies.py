"""Answers that are kept by operation id, so that a retry gets the first one again."""

from __future__ import annotations

from dataclasses import replace
from hashlib import blake2b
from typing import Any

from totonoe_core import plain
from totonoe_core.commands import Applied
from totonoe_core.errors import AlreadyExists
from totonoe_core.store.collection_file import CollectionFile


def digest_of(asked: Any) -> bytes:
    """What tells one payload of an operation id from another: plain data, compared decoded."""
    return blake2b(plain.dumps(asked).encode(), digest_size=16).digest()


def first_answer(
    file: CollectionFile, agent_id: str, operation_id: str, digest: bytes
) -> Applied | None:
    """The answer that an operation id had, `replayed`; `None`: it is used for the first time.

    Raises `AlreadyExists` (OPERATION_ID_REUSED) where it was used with another payload.
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
    """Keeps an answer, within the transaction of what it answers."""
    file.put_reply(agent_id, answer.operation_id, digest, plain.dumps(answer), time_us)
