"""The guard written out: plain Python over plain records, importing nothing of the package.

It knows texts of lower-case words, an optional capital in front and an optional full stop
behind; for these the normal forms of the package are a line each.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from support.oracles import jaccard, ordered_similarity


@dataclass
class Thresholds:
    """A policy of the guard; `None` is off. The defaults are `standard`."""

    exact: bool = True
    jaccard_above: float | None = None
    cosine_distance_below: float | None = None
    cosine_at_least: float | None = None
    session_cosine_at_least: float | None = None
    judged: bool = True
    similar_above: float = 0.7
    link_distance_below: float = 0.3
    tokenizer: str = "script_aware"


@dataclass
class Known:
    """A memory as the oracle holds it; `order` says who was written first."""

    id: str
    content: str
    vector: Any
    agent: str
    kind: str = "state"
    state_kind: str = "fact"
    private: bool = False
    payload: dict[str, Any] = field(default_factory=dict)
    session: str = ""
    live: bool = True
    order: int = 0


@dataclass
class Decision:
    """What the guard must say."""

    method: str
    duplicate: str
    similarity: float
    layers: list[tuple[str, bool, str]]
    similar: list[str]
    links: list[str]


LAYERS = ("exact", "jaccard", "cosine", "session_cosine")


def refusing_form(text: str) -> str:
    return " ".join(unicodedata.normalize("NFC", text).split())


def words_of(text: str) -> str:
    words = refusing_form(text).removesuffix(".").split()
    return " ".join([words[0].lower(), *words[1:]])


def token_set(text: str, tokenizer: str) -> frozenset[str]:
    if tokenizer == "whitespace":
        return frozenset(text.lower().split())
    return frozenset(words_of(text).split())


def token_jaccard(a: str, b: str, tokenizer: str) -> float:
    # Numbers in place of tokens: the oracle of the kernel takes those.
    left, right = token_set(a, tokenizer), token_set(b, tokenizer)
    codes = {token: code for code, token in enumerate(sorted(left | right))}
    return jaccard([codes[token] for token in left], [codes[token] for token in right])


def decide(known: Sequence[Known], new: Known, policy: Thresholds, force: bool) -> Decision:
    """Layer after layer over every memory, nobody left out."""
    readable = [
        stored
        for stored in known
        if stored.live and (not stored.private or stored.agent == new.agent)
    ]
    comparable = [
        stored
        for stored in readable
        if (stored.kind, stored.state_kind) == (new.kind, new.state_kind)
    ]
    refusing = [stored for stored in comparable if stored.payload == new.payload]
    # What has no vector is near nothing, and its words alone refuse.
    cosine = {
        stored.id: ordered_similarity(stored.vector, new.vector)
        if len(stored.vector) and len(new.vector)
        else 0.0
        for stored in readable
    }
    shared = {
        stored.id: token_jaccard(stored.content, new.content, policy.tokenizer)
        for stored in readable
    }
    # Of these texts a verdict refuses only the same words in the same order.
    same_words = [
        stored for stored in refusing if words_of(stored.content) == words_of(new.content)
    ]

    def cosine_refuses(value: float) -> bool:
        below, at_least = policy.cosine_distance_below, policy.cosine_at_least
        return (below is not None and 1.0 - value < below) or (
            at_least is not None and value >= at_least
        )

    def best(ones: list[Known], values: dict[str, float]) -> list[Known]:
        return sorted(ones, key=lambda one: (-values[one.id], one.order))[:1]

    found: list[tuple[str, str, list[Known], dict[str, float]]] = []
    equal = [
        stored for stored in refusing if refusing_form(stored.content) == refusing_form(new.content)
    ]
    ones = sorted(equal, key=lambda one: one.order)[:1]
    found.append(
        ("exact", "" if policy.exact else "off in policy", ones, dict.fromkeys(shared, 1.0))
    )

    threshold = policy.jaccard_above
    why = "off in policy" if threshold is None and not policy.judged else ""
    over = [
        stored for stored in refusing if threshold is not None and shared[stored.id] > threshold
    ]
    if policy.judged and same_words:
        ones = sorted(same_words, key=lambda one: one.order)[:1]
        found.append(("jaccard", why, ones, dict.fromkeys(shared, 1.0)))
    else:
        found.append(("jaccard", why, best(over, shared), shared))

    off = policy.cosine_distance_below is None and policy.cosine_at_least is None
    off = off and not policy.judged
    over = [stored for stored in refusing if cosine_refuses(cosine[stored.id])]
    found.append(("cosine", "off in policy" if off else "", best(over, cosine), cosine))

    threshold = policy.session_cosine_at_least
    why = "off in policy" if threshold is None else "" if new.session else "no session id"
    over = [
        stored
        for stored in refusing
        if threshold is not None
        and stored.session == new.session
        and cosine[stored.id] >= threshold
    ]
    found.append(("session_cosine", why, best(over, cosine), cosine))

    layers: list[tuple[str, bool, str]] = []
    duplicate, method, similarity = "", "none", 0.0
    if new.kind != "state" or force:
        why = f"kind {new.kind} is a log" if new.kind != "state" else "force"
        layers = [(layer, False, why) for layer in LAYERS]
    else:
        for layer, why, ones, values in found:
            if duplicate:
                layers.append((layer, False, "an earlier layer refused"))
                continue
            layers.append((layer, not why, why))
            if not why and ones:
                duplicate, method, similarity = ones[0].id, layer, values[ones[0].id]
    nearest = sorted(readable, key=lambda one: (-cosine[one.id], one.order))
    similar: list[tuple[float, int, str]] = []
    if method != "exact":
        for stored in nearest[:16]:
            value = max(cosine[stored.id], shared[stored.id])
            if stored in comparable and stored.id != duplicate and value > policy.similar_above:
                similar.append((-value, stored.order, stored.id))
    links = [
        stored.id for stored in nearest if 1.0 - cosine[stored.id] < policy.link_distance_below
    ]
    return Decision(
        method,
        duplicate,
        similarity,
        layers,
        [name for _, _, name in sorted(similar)[:5]],
        [] if duplicate else links,
    )
