"""Figures of several daemons that were started together, as those of one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

Figures = dict[str, Any]

_WORST = ("seconds", "embed_p99_ms", "commit_p99_ms", "commit_operations_mean")
_LEAST = ("uptime_s", "disk_free_bytes")
_ADDED = ("cpu_share", "rss_bytes", "embed_queue")


def joined(parts: Sequence[Figures]) -> Figures:
    """Return figures of all: rates and sizes are added up, times are those of the slowest daemon.

    A collection that several have open has its memories and its file once.
    """
    return {
        "version": parts[0]["version"],
        **{name: max(part[name] for part in parts) for name in _WORST},
        **{name: min(part[name] for part in parts) for name in _LEAST},
        **{name: round(sum(part[name] for part in parts), 4) for name in _ADDED},
        "expires_in_s": _least(part["expires_in_s"] for part in parts),
        "methods": _rows(
            parts,
            "methods",
            "method",
            {"per_s": sum, "failed_per_s": sum, "p50_ms": max, "p99_ms": max, "in_flight": sum},
            "per_s",
        ),
        "refused": _rows(parts, "refused", "reason", {"count": sum, "per_s": sum}, "count"),
        "collections": _rows(
            parts,
            "collections",
            "collection",
            {"active_count": max, "file_bytes": max, "queue_length": sum, "writable": all},
            "active_count",
        ),
    }


def _least(parts: Any) -> dict[str, int]:
    found: dict[str, int] = {}
    for part in parts:
        for what, left_s in part.items():
            found[what] = min(left_s, found.get(what, left_s))
    return found


def _rows(
    parts: Sequence[Figures], name: str, key: str, how: Mapping[str, Any], first: str
) -> list[Figures]:
    """Join the rows of a table that have the same key; the largest of `first` come first."""
    by_key: dict[str, list[Figures]] = {}
    for part in parts:
        for row in part[name]:
            by_key.setdefault(row[key], []).append(row)
    found = [
        {key: value, **{field: join(row[field] for row in rows) for field, join in how.items()}}
        for value, rows in by_key.items()
    ]
    for row in found:
        row.update({field: round(value, 3) for field, value in row.items() if type(value) is float})
    return sorted(found, key=lambda row: (-row[first], row[key]))


def summary(number: int, part: Figures | None) -> list[str]:
    """Return the row of one daemon; `None`: it does not answer."""
    if part is None:
        return [str(number), "does not answer", *[""] * 6]
    calls = part["methods"]
    return [
        str(number),
        f"{part['uptime_s']:.0f}",
        f"{part['cpu_share']:.0%}",
        f"{part['rss_bytes'] / 1e6:,.1f} MB",
        f"{sum(row['per_s'] for row in calls):g}",
        f"{sum(row['failed_per_s'] for row in calls):g}",
        f"{part['commit_p99_ms']:g}",
        str(sum(row["queue_length"] for row in part["collections"])),
    ]


SUMMARY = ("daemon", "up s", "CPU", "memory", "calls/s", "failed/s", "commit p99 ms", "queue")
