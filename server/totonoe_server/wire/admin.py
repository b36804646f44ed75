"""Calibrate, Compare and Stats: answers about a collection and about the daemon."""

from __future__ import annotations

from collections.abc import Mapping

from totonoe.v1 import admin_service_pb2 as pb
from totonoe.v1 import checkpoint_pb2, tidy_pb2
from totonoe_core.domain.collections import Calibrated
from totonoe_core.domain.queries import CheckpointFigures, CollectionStats, Comparison, EngineStats
from totonoe_core.domain.tidy import TidyState
from totonoe_server.wire.mapping import answer, encoder
from totonoe_server.wire.reembed import reembed_stats_to_wire
from totonoe_server.wire.scalars import time_to_wire
from totonoe_server.wire.snapshots import snapshot_stats_to_wire

calibrated_to_wire = answer(
    Calibrated,
    pb.CalibrateResponse,
    names={
        name: f"fitted.{name}"
        for name in ("calibration", "curve", "classes", "dismissed_count", "merged_count")
    },
)
comparison_to_wire = encoder(Comparison, pb.CompareResponse)
tidy_stats_to_wire = encoder(
    TidyState,
    tidy_pb2.TidyStats,
    names={
        "turn_count": "turns",
        "run_count": "runs",
        "closed_count": "closed",
        "last_over_blast_radius": "over",
    },
)
checkpoint_to_wire = encoder(
    CheckpointFigures,
    checkpoint_pb2.CheckpointStats,
    computed={"time": lambda value: time_to_wire(value.saved_us or None)},
)
collection_stats_to_wire = encoder(
    CollectionStats,
    pb.CollectionStats,
    names={"verify": "verified"},
    computed={"reembed": lambda value: reembed_stats_to_wire(value.reembed)},
)
stats_to_wire = encoder(
    EngineStats,
    pb.StatsResponse,
    given=("version", "started_time", "cpu_s", "rss_bytes", "expiries", "daemon"),
    computed={"snapshots": lambda value: snapshot_stats_to_wire(value.snapshots)},
)


def expiries_to_wire(ends_s: Mapping[str, float]) -> list[pb.Expiry]:
    """Encode when things end, in seconds since 1970 by kind; the earliest first."""
    return [
        pb.Expiry(what=what, time=time_to_wire(int(end_s * 1e6)))
        for what, end_s in sorted(ends_s.items(), key=lambda item: item[1])
    ]
