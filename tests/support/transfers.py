"""Exports and imports of a `Store`, whole files at once."""

from __future__ import annotations

import hashlib
import json
from typing import Any

from support.engines import Store
from support.waits import wait_s
from totonoe_core.domain.transfer import ExportQuery, ImportItem, ImportProgress, ImportQuery

POLICIES = {
    "guard": {
        "preset": "standard", "exact": True, "jaccard_above": None, "cosine_distance_below": None,
        "cosine_at_least": None, "session_cosine_at_least": None, "judged_from": 0.75,
        "similar_above": 0.7, "link_distance_below": 0.3, "tokenizer": "script_aware",
        "on_duplicate": "refuse", "on_update": "link", "on_contradiction": "link",
        "on_refinement": "link", "on_contained": "link", "refuse_forgotten": False,
    },
    "diversity": {
        "enabled": True, "mmr_lambda": 0.7, "kind_share_max": 0.9, "state_kind_share_max": 0.9,
        "life_stage_share_max": 0.9, "thread_share_max": 0.8,
    },
    "decay": {
        "rate_per_day": 0.01, "min_interval_days": 1.0, "floor": 0.05, "fact_rate_per_day": None,
        "relation_rate_per_day": None, "task_rate_per_day": None, "summary_rate_per_day": None,
        "long_mood_rate_per_day": None, "event_rate_per_day": None, "affect_rate_per_day": None,
    },
    "retention": {"purge_forgotten_days": 0.0},
    "blast": {"rows_min": 20, "percent": 1.0},
    "tidy": {
        "enabled": False, "first_turn": 10, "every_turns": 200, "closes_max": 200,
        "read_max": 5000,
    },
}  # fmt: skip


def header(**more: Any) -> dict[str, Any]:
    """The first line of a file without vectors."""
    return {
        "record": "header",
        "format": "totonoe",
        "version": 1,
        "collection": "c",
        "agent_id": "",
        "revision": 1,
        "time_us": 5,
        "statuses": ["active"],
        "vectors": False,
        "memory_count": 1,
        "model": {
            "name": "none", "version": "", "weights_sha256": "", "dimension": 2, "recipe": 2,
        },
        "description": "",
        "policies": POLICIES,
    } | more  # fmt: skip


def exported(store: Store, agent: str = "anna", **query: Any) -> bytes:
    export = store.engine.export(store.collection, ExportQuery(agent, **query)).result(wait_s())
    out = b""
    while data := export.read().result(wait_s()).data:
        out += data
    export.leave()
    return out


def imported(
    store: Store,
    data: bytes,
    operation_id: str = "",
    *,
    agent: str = "anna",
    piece_bytes: int = 10_000,
    **query: Any,
) -> tuple[ImportProgress, list[ImportItem]]:
    """What a whole import came to, with all that it told of memories that were not saved."""
    asked = ImportQuery(agent, **query)
    begun = store.engine.begin_import(store.collection, operation_id, asked).result(wait_s())
    items: list[ImportItem] = []
    try:
        told = begun.feed(b"", False).result(wait_s())
        for at in range(0, len(data), piece_bytes):
            last = at + piece_bytes >= len(data)
            told = begun.feed(data[at : at + piece_bytes], last).result(wait_s())
            items += told.items
    finally:
        begun.leave()
    return told, items


def objects(data: bytes) -> list[dict[str, Any]]:
    """The lines as objects."""
    return [json.loads(line) for line in data.split(b"\n")[:-1]]


def records(data: bytes) -> list[bytes]:
    """The lines between header and end."""
    return data.split(b"\n")[1:-2]


def file_of(objects: list[dict[str, Any]]) -> bytes:
    """A file of these lines, its end made anew: counts and checksum are right."""
    head = [entry for entry in objects if entry["record"] != "end"]
    lines = b"".join(json.dumps(entry).encode() + b"\n" for entry in head)
    counts = dict.fromkeys(("memory", "link", "episode", "dismissal"), 0)
    for entry in head[1:]:
        counts[entry["record"]] = counts.get(entry["record"], 0) + 1
    end = {"record": "end", "counts": counts, "sha256": hashlib.sha256(lines).hexdigest()}
    return lines + json.dumps(end).encode() + b"\n"
