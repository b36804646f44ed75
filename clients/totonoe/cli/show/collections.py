"""Answers about collections, comparison and the daemon's figures."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from totonoe.cli.printing import line, table
from totonoe.cli.show.parts import judgement
from totonoe.cli.show.snapshots import running
from totonoe.words.plain import plain
from totonoe.words.text import age, ending

if TYPE_CHECKING:
    from totonoe.collections.models import (
        Calibrated,
        CollectionInfo,
        CollectionStats,
        Comparison,
        Stats,
    )


def compared(answer: Comparison) -> None:
    """Print the comparison of two texts by the guard."""
    cosine = answer.cosine_similarity
    rows = [
        ("same text", "yes" if answer.same_text else "no"),
        ("same words in the same order", "yes" if answer.same_words else "no"),
        ("cosine similarity", "no embedder" if cosine is None else f"{cosine:.4f}"),
        ("jaccard similarity", f"{answer.jaccard_similarity:.4f}"),
    ]
    for outcome in answer.presets:
        refused = f"would refuse the second ({outcome.method})" if outcome.refuses else "keeps both"
        rows.append((f"preset {outcome.preset}", refused))
    table(("", "result"), rows)
    judgement(answer.judgement, only=("only in the second", "only in the first"))


def collections(items: Sequence[CollectionInfo]) -> None:
    """Print collections by name; below them, those that cannot be read."""
    rows = [
        (item.name, "", "", "", "", "cannot be read")
        if item.fault
        else (
            item.name,
            str(item.guard.preset or ""),
            f"{item.model.name} ({item.model.dimension})",
            str(item.revision),
            age(item.created_time),
            item.description,
        )
        for item in items
    ]
    columns = ("name", "preset", "model", "revision", "age", "description")
    table(columns, rows, wide="description")
    for item in items:
        if item.fault:
            line(f"{item.name}: {item.fault}")


def created(info: CollectionInfo) -> None:
    """Print that a collection is there, on one line."""
    preset = f"preset {info.guard.preset}" if info.guard.preset else "a guard of its own"
    line(f"Created {info.name} ({preset}, model {info.model.name}).")


def collection(info: CollectionInfo) -> None:
    """Print all settings of one collection."""
    rows = []
    for name, value in plain(info).items():
        if isinstance(value, dict):
            rows += [
                (f"{name}.{part}", _setting(item))
                for part, item in value.items()
                # A rate that a kind does not have of its own is not off: it is that of all.
                if name != "decay" or item is not None
            ]
        else:
            rows.append((name, _setting(value)))
    table(("setting", "value"), rows, wide="value")


def _setting(value: object) -> str:
    if value is None:
        return "off"
    return str(value).lower() if isinstance(value, bool) else str(value)


def calibrated(answer: Calibrated, dry_run: bool) -> None:
    """Print the curve, the figures by class, and the chosen threshold."""
    curve = [
        (f"{point.at_least:.3f}", f"{point.false_merge_rate:.2%}", f"{point.duplicate_recall:.1%}")
        for point in answer.curve
    ]
    table(("from probability", "false merges", "duplicates found"), curve)
    line()
    rows = [
        (
            figures.name,
            figures.language,
            f"{figures.found_count} of {figures.same_count}",
            f"{figures.merged_count} of {figures.different_count}",
        )
        for figures in answer.classes
    ]
    table(("class", "language", "duplicates found", "false merges"), rows)
    line()
    chosen = answer.calibration
    line(
        f"{'Would use' if dry_run else 'Uses'} a false-merge rate of {chosen.false_merge_rate:.2%} "
        f"(budget {chosen.false_merge_budget:.2%}) at {chosen.duplicate_recall:.1%} of duplicates, "
        f"from {chosen.pair_count} pairs, with {chosen.model.name} {chosen.model.version}."
    )
    if answer.dismissed_count or answer.merged_count:
        line(
            f"Of the pairs, {answer.dismissed_count} dismissed and {answer.merged_count} merged"
            " ones are the collection's own."
        )


def stats(answer: Stats, now: datetime | None = None) -> None:
    """Print figures of the daemon and of its collections."""
    model = answer.model
    number = f", daemon {answer.daemon}" if answer.daemon else ""
    line(f"totonoe {answer.version}{number}, started {age(answer.started_time, now)}")
    line(f"model {model.name} {model.version} ({model.dimension}): {answer.embedder_state}")
    line(
        f"CPU {answer.cpu_s:.1f} s, embedder {answer.embedder_cpu_s:.1f} s, "
        f"judge {answer.judge_cpu_s:.1f} s, memory {answer.rss_bytes / 2**20:.0f} MiB"
    )
    opened = answer.open
    line(
        f"{answer.collection_count} collections, {opened.count} open with "
        f"{opened.memory_bytes / 2**20:.0f} MiB, {opened.idle_closed_count} closed as idle"
    )
    for expiry in answer.expiries:
        line(f"{expiry.what.replace('_', ' ')}: {ending(expiry.time, now)}")
    if answer.snapshots.running is not None:
        line(running(answer.snapshots.running))
    line()
    rows = []
    for item in answer.collections:
        refused = ", ".join(
            f"{name} {count}" for name, count in sorted(item.refused_counts.items())
        )
        figures = (item.active_count, item.forgotten_count, item.link_count, item.revision)
        saved = str(item.saved_count)
        rows.append(
            (
                item.name,
                *map(str, figures),
                saved,
                refused or "0",
                "" if item.counted_from_time is None else age(item.counted_from_time, now),
                _search(item),
                _checkpoint(item),
                _state(item),
            )
        )
    columns = (
        "collection",
        "active",
        "forgotten",
        "links",
        "revision",
        "saved",
        "refused",
        "since",
        "search",
        "checkpoint",
        "state",
    )
    table(columns, rows, wide="refused")
    for item in answer.collections:
        if not item.verify.sound:
            verify = item.verify
            found = [f"{count} bad rows of {name}" for name, count in verify.bad_row_counts.items()]
            if verify.damage_count:
                found.append(f"{verify.damage_count} findings of SQLite")
            if verify.lost_commit_count:
                found.append(f"acknowledged revisions {verify.lost_revisions} are lost")
            line(f"{item.name}: {', '.join(found)}; see docs/operations.md")
        if item.checkpoint.bad:
            line(f"{item.name}: checkpoint set aside, nothing is lost: {item.checkpoint.bad}")
    if lost := answer.lost_catalogue_revisions:
        line(f"catalogue: acknowledged revisions {lost} are lost; see docs/operations.md")


def _checkpoint(item: CollectionStats) -> str:
    """Describe the newest checkpoint, with the number of bad ones."""
    stats = item.checkpoint
    said = str(stats.revision) if stats.revision else "none"
    return f"{said}, {stats.bad_count} bad" if stats.bad_count else said


def _state(item: CollectionStats) -> str:
    """Describe the state of a collection, with the progress of a re-embedding."""
    under_way = item.reembed
    if under_way is None:
        return item.state
    return f"{item.state}, reembed {under_way.phase} {under_way.done_count}/{under_way.total_count}"


def _search(item: CollectionStats) -> str:
    """Describe the search: exact, or by a graph with its share of the nearest."""
    if not item.hnsw_count:
        return "exact"
    found = f"hnsw {item.recall_at_k:.3f}" if item.recall_rated_count else "hnsw"
    return f"exact, as {found}" if item.recall_low else found
