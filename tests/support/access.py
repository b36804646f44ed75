"""Identities for tests, calls of any method by its path, and a slow twin of the table of grants."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import grpc
from google.protobuf.message_factory import GetMessageClass

from support.waits import wait_s
from totonoe.v1 import access_pb2
from totonoe_server.access.book import Book
from totonoe_server.access.grants import parse_grant
from totonoe_server.access.identities import Identity, Key, Limits
from totonoe_server.access.table import Rule
from totonoe_server.access.tokens import digest_of, new_token
from totonoe_server.wire.methods import PATHS

VERBS = ("read", "remember", "forget", "merge", "tidy", "admin")


def add_identity(
    data_dir: Path,
    name: str,
    *grants: str,
    agent: str = "",
    subject: str = "",
    limits: dict[str, Limits] | None = None,
    expires_us: int = 0,
) -> str:
    """Add an identity to a data directory; returns its token."""
    token = new_token()
    identity = Identity(
        name=name,
        agent_id=agent or name,
        grants=tuple(parse_grant(text) for text in grants),
        subject=subject,
        keys=() if subject else (Key(digest_of(token)),),
        limits=limits or {},
        created_us=1,
        expires_us=expires_us,
    )
    Book(data_dir).change(lambda identities: (*identities, identity))
    return token


def with_token(token: str) -> tuple[tuple[str, str], ...]:
    """Metadata of a call."""
    return (("authorization", f"Bearer {token}"),)


def request_of(rule: Rule, collection: str = "", agent_id: str = "") -> Any:
    """The emptiest request of a method that names a collection and an agent."""
    request: Any = GetMessageClass(PATHS[rule.path].input_type)()
    holder = request
    for step in rule.steps:
        holder = getattr(holder, step)
        holder = holder.add() if rule.per_item else holder
        if not rule.per_item:
            holder.SetInParent()
    if rule.name_field:
        setattr(holder, rule.name_field, collection)
    if rule.has_agent:
        holder.agent_id = agent_id
    return request


def first_answer(
    channel: grpc.Channel, rule: Rule, request: Any, token: str, timeout_s: float = 30.0
) -> Any:
    """The first answer of a call; raises `grpc.RpcError`. A stream is left then."""
    method = PATHS[rule.path]
    answer = GetMessageClass(method.output_type)
    kind = ("stream" if rule.streams_in else "unary") + (
        "_stream" if rule.streams_out else "_unary"
    )
    call = getattr(channel, kind)(
        rule.path,
        request_serializer=lambda message: message.SerializeToString(),
        response_deserializer=answer.FromString,
    )
    given = iter([request]) if rule.streams_in else request
    made = call(given, timeout=wait_s(timeout_s), metadata=with_token(token))
    if not rule.streams_out:
        return made
    try:
        return next(made, None)
    finally:
        made.cancel()


def allowed_slowly(
    grants: Sequence[tuple[str, Sequence[str]]], verb: str, scope: int, collection: str
) -> bool:
    """Whether grants (pattern, verbs) allow a verb: word by word as the contract says it."""
    for pattern, verbs in grants:
        if verb not in verbs:
            continue
        if scope == access_pb2.SCOPE_ANY:
            return True
        if scope == access_pb2.SCOPE_EVERY:
            if pattern.replace("*", "") == "" and pattern != "":
                return True
        elif fits_slowly(pattern, collection):
            return True
    return False


def fits_slowly(pattern: str, name: str) -> bool:
    """Whether a name fits a pattern, character by character."""
    if not pattern:
        return not name
    if pattern[0] == "*":
        return any(fits_slowly(pattern[1:], name[count:]) for count in range(len(name) + 1))
    return bool(name) and name[0] == pattern[0] and fits_slowly(pattern[1:], name[1:])
