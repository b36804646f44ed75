"""The commands of each topic, so that a call loads the one topic that it needs."""

from __future__ import annotations

TOPICS = {
    "memories": "remember check recall get list namespaces update forget purge",
    "graph": "neighbors link unlink merge episodes",
    "audit": "why-not dismiss undismiss audit",
    "watch": "watch",
    "mcp": "mcp",
    "workspace": "workspace",
    "consolidate": "consolidate",
    "questions": "questions resolve review",
    "console": "console",
    "tidy": "tidy turn",
    "cleanup": "end-session clean-up decay",
    "history": "history operations undo",
    "collections": "compare calibrate stats collections",
    "transfer": "export import",
    "snapshots": "snapshot",
    "reembed": "reembed",
    "health": "health",
}
"""Modules of `totonoe.cli.commands`, in the order of the help within each of its panels."""

TOPIC_OF = {name: topic for topic, names in TOPICS.items() for name in names.split()}
