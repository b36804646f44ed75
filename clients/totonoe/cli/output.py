"""Answers for people: plain lines, and tables where there are many of a kind."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from datetime import datetime

from rich.console import Console
from rich.table import Table
from rich.text import Text

from totonoe.admin_models import (
    Calibrated,
    CollectionInfo,
    CollectionStats,
    Comparison,
    Stats,
)
from totonoe.cli.plain import plain
from totonoe.cli.text import age, clean, shown_similarity, snippet
from totonoe.enums import Verdict
from totonoe.history_models import Purged
from totonoe.models import (
    Checked,
    Duplicate,
    Forgotten,
    ForgottenMatch,
    Found,
    Judgement,
    Link,
    Linked,
    Memory,
    Page,
    Recalled,
    Remembered,
    Similar,
    Unlinked,
    Updated,
)

UPDATE_HINT = (
    "If this is a meaningful update, use recall to review the existing memory "
    "and consider whether the new perspective adds value."
)
FORGOT_HINT = (
    "Was there anything worth preserving in a new form?\n"
    "If this was part of a merge, save the consolidated version with remember."
)
_PIPE_COLUMNS = 160


def console(stderr: bool = False) -> Console:
    """A console that takes texts as they are: no markup, no colours for numbers.

    Without a terminal tables get a fixed width, so that ids are not folded.
    """
    stream = sys.stderr if stderr else sys.stdout
    width = None if stream.isatty() or "COLUMNS" in os.environ else _PIPE_COLUMNS
    return Console(stderr=stderr, markup=False, emoji=False, highlight=False, width=width)


def line(text: str = "") -> None:
    """One line (or several) on standard output, however wide, with control marks shown."""
    sys.stdout.write(clean(text) + "\n")


def table(columns: Sequence[str], rows: Sequence[Sequence[str]], wide: str = "") -> None:
    """A table; only the column `wide` may fold."""
    grid = Table(show_edge=False, pad_edge=False, header_style="bold")
    for name in columns:
        grid.add_column(name, overflow="fold", no_wrap=name != wide)
    for row in rows:
        grid.add_row(*(Text(clean(cell)) for cell in row))
    console().print(grid)


# -- what the guard says


def repeated(duplicate: Duplicate) -> None:
    """The memory that says the same, and why it is taken to."""
    line(f"Existing (id: {duplicate.memory_id}, {duplicate.age}): {duplicate.snippet}")
    line(f"Similarity: {shown_similarity(duplicate.similarity)}")
    line(f"Method: {duplicate.method}")
    judgement(duplicate.judgement)
    line(UPDATE_HINT)


def forgot_this(match: ForgottenMatch) -> str:
    """When, by whom and why it was forgotten."""
    by = f", by {match.agent_id}" if match.agent_id else ""
    why = f': "{match.reason}"' if match.reason else "."
    return f"You forgot this {match.age} ({match.memory_id}{by}){why}"


def _forgotten_match(match: ForgottenMatch | None, saved_revision: int = 0) -> None:
    """That it was said and forgotten before, and how to bring it back.

    Where the same is saved by now, at `saved_revision`, it would stand in the way.
    """
    if match is None:
        return
    line(forgot_this(match))
    instead = f"instead with: totonoe undo {saved_revision}, then" if saved_revision else "with:"
    line(f"Bring it back {instead} totonoe undo {match.revision}")


def _most_related(similar: Sequence[Similar]) -> None:
    if similar:
        line("Most related:")
    for item in similar:
        shown = shown_similarity(max(item.cosine_similarity, item.jaccard_similarity))
        line(f"- [{item.age}] {item.snippet} (id: {item.memory_id}, similarity: {shown})")
        if item.judgement is not None and item.judgement.verdict is not Verdict.RELATED:
            judgement(item.judgement, indent="  ")


def judgement(found: Judgement | None, indent: str = "") -> None:
    """The verdict, and what decided: one line each."""
    if found is None:
        return
    line(f"{indent}Verdict: {found.verdict} ({found.confidence:.2f})")
    for one in found.evidence:
        own, other = one.own_text, one.other_text
        both = f"{own!r} against {other!r}" if own and other else repr(own or other)
        line(f"{indent}- {one.finding}: {both}")


def remembered(answer: Remembered) -> None:
    """Saved, or refused with the memory that says the same."""
    if answer.duplicate is not None:
        line("Not saved — very similar memory already exists.")
        repeated(answer.duplicate)
        _replay(answer.replayed)
        return
    if not answer.saved:
        line("Not saved — it was forgotten, and this collection refuses what was forgotten.")
        _forgotten_match(answer.forgotten)
        line("Save it all the same with --force.")
        _replay(answer.replayed)
        return
    count = len(answer.links)
    linked = f" Linked to {count} existing {'memory' if count == 1 else 'memories'}."
    if answer.grown_id:
        line(f"Saved as the next version of {answer.grown_id}, which this scope had.")
    else:
        line(f"Saved (id: {answer.memory_id}).{linked if count else ''}")
    for superseded_id in answer.superseded_ids:
        line(f"It takes the place of {superseded_id}.")
    _forgotten_match(answer.forgotten, answer.revision)
    _replay(answer.replayed)
    _most_related(answer.similar)


def _replay(replayed: bool) -> None:
    if replayed:
        line("This operation id was used before: its first answer again, nothing was done now.")


def checked(answer: Checked) -> None:
    """What remember would answer."""
    if answer.duplicate is not None:
        line("Would not be saved — very similar memory already exists.")
        repeated(answer.duplicate)
        return
    refused = (
        "Would not be saved — it was forgotten, and this collection refuses what was forgotten."
    )
    saved = f" as the next version of {answer.grown_id}" if answer.grown_id else ""
    line(f"Would be saved{saved}." if answer.would_save else refused)
    _forgotten_match(answer.forgotten)
    _most_related(answer.similar)


def updated(answer: Updated) -> None:
    """The change, or why there was none."""
    if answer.duplicate is not None and not answer.updated:
        line("Not changed — very similar memory already exists.")
        repeated(answer.duplicate)
        return
    line(f"Updated (id: {answer.memory.id}, revision {answer.memory.revision}).")


def compared(answer: Comparison) -> None:
    """Two texts as the guard sees them."""
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
    judgement(answer.judgement)


# -- memories


def recalled(answer: Recalled) -> None:
    """Hits, best first."""
    if answer.degraded_because:
        line(f"Note: {answer.degraded_because}")
    _as_of(answer.as_of_revision)
    if not answer.hits:
        line("Nothing found.")
        return
    rows = []
    for place, hit in enumerate(answer.hits, start=1):
        similarity = "" if hit.similarity is None else shown_similarity(hit.similarity)
        memory = hit.memory
        rows.append((str(place), similarity, age(memory.created_time), memory.id, memory.content))
    table(("#", "similarity", "age", "id", "memory"), rows, wide="memory")


def _as_of(revision: int) -> None:
    if revision:
        line(f"As of revision {revision}.")


def more(next_page_token: str) -> None:
    """How to get the next page, if there is one."""
    if next_page_token:
        line(f"More with: --page-token {next_page_token}")


def listed(page: Page) -> None:
    """A page of memories, and how to get the next one."""
    _as_of(page.as_of_revision)
    rows = [
        (memory.id, _kind(memory), str(memory.status), age(memory.created_time), memory.content)
        for memory in page.memories
    ]
    if rows:
        table(("id", "kind", "status", "age", "memory"), rows, wide="memory")
    else:
        line("No memories.")
    more(page.next_page_token)


def got(answer: Found) -> None:
    """Whole memories: every field that says something."""
    _as_of(answer.as_of_revision)
    for asked, read in answer.redirects.items():
        line(f"{asked} was superseded; in its place: {read}")
    for number, memory in enumerate(answer.memories):
        if number:
            line()
        line(f"{memory.id} ({_kind(memory)}, {memory.status}, {age(memory.created_time)})")
        line(memory.content)
        for name, value in plain(memory).items():
            if name in _SHOWN_ABOVE or value in ("", None, [], {}, False):
                continue
            if name == "links":
                for link in memory.links:
                    line(f"  link: {shown_link(link)}")
            else:
                line(f"  {name}: {shown_value(value)}")
    not_found(answer.missing_ids)


_SHOWN_ABOVE = ("memory_id", "content", "content_hash", "kind", "state_kind", "status", "vector")


def _kind(memory: Memory) -> str:
    return f"{memory.kind}/{memory.state_kind}" if memory.state_kind else str(memory.kind)


def shown_value(value: object) -> str:
    """A field of a memory in JSON, as text."""
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)


def not_found(missing_ids: Sequence[str]) -> None:
    """Ids that lead to nothing, on standard error."""
    for missing_id in missing_ids:
        sys.stderr.write(f"Memory not found: {clean(missing_id)}\n")


def forgotten(answer: Forgotten) -> None:
    """What was, or would be, forgotten."""
    verb = "Would forget" if answer.dry_run else "Forgot"
    if not answer.forgotten and not answer.missing_ids:
        line("Nothing to forget.")
    for memory in answer.forgotten:
        line(f"{verb} {_brief(memory)}")
        emotion = f"Emotion: {memory.emotion} | " if memory.emotion else ""
        line(f"{emotion}Importance: {memory.importance}")
    if answer.unlinked_count:
        line(f"Links {'to take' if answer.dry_run else 'taken'} away: {answer.unlinked_count}")
    if answer.matching_count > len(answer.forgotten):
        line(f"These are the oldest of {answer.matching_count} that match.")
    if answer.forgotten and not answer.dry_run:
        one = len(answer.forgotten) == 1
        line(f"{'This memory is' if one else 'These memories are'} gone. {FORGOT_HINT}")
        line(f"Bring {'it' if one else 'them'} back with: totonoe undo {answer.revision}")
    not_found(answer.missing_ids)


def _brief(memory: Memory) -> str:
    return f"(id: {memory.id}, {age(memory.created_time)}): {snippet(memory.content)}"


def purged(answer: Purged) -> None:
    """What is, or would be, gone for good."""
    verb = "Would purge" if answer.dry_run else "Purged"
    for memory_id in answer.purged_ids:
        line(f"{verb} {memory_id}")
    line(
        f"Earlier versions: {answer.version_count}, kept answers: {answer.reply_count}, "
        f"episodes: {answer.episode_count}"
    )
    not_found(answer.missing_ids)


def at_stake(memories: Sequence[Memory]) -> None:
    """What is asked about, on standard error."""
    for memory in memories:
        sys.stderr.write(clean(_brief(memory)) + "\n")


def shown_link(link: Link) -> str:
    """One direction of a link."""
    note = f": {link.note}" if link.note else ""
    return f"{link.type} {link.target_id} (confidence {link.confidence:.2f}){note}"


def linked(answer: Linked) -> None:
    """The link in both directions."""
    line("Linked." if answer.created else "Link changed.")
    line(f"- {shown_link(answer.link)}")
    line(f"- {shown_link(answer.inverse)}")


def unlinked(answer: Unlinked) -> None:
    """The links taken away."""
    for link in answer.removed:
        line(f"Unlinked: {shown_link(link)}")


# -- collections and the daemon


def collections(items: Sequence[CollectionInfo]) -> None:
    """Collections by name."""
    rows = [
        (
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


def collection(info: CollectionInfo) -> None:
    """All settings of one collection."""
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
    """The curve, the figures by class, and what was chosen."""
    curve = [
        (f"{one.at_least:.3f}", f"{one.false_merge_rate:.2%}", f"{one.duplicate_recall:.1%}")
        for one in answer.curve
    ]
    table(("from probability", "false merges", "duplicates found"), curve)
    line()
    rows = [
        (
            one.name,
            one.language,
            f"{one.found_count} of {one.same_count}",
            f"{one.merged_count} of {one.different_count}",
        )
        for one in answer.classes
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
    """Figures of the daemon and of its collections."""
    model = answer.model
    line(f"totonoe {answer.version}, started {age(answer.started_time, now)}")
    line(f"model {model.name} {model.version} ({model.dimension}): {answer.embedder_state}")
    line(
        f"CPU {answer.cpu_s:.1f} s, embedder {answer.embedder_cpu_s:.1f} s, "
        f"memory {answer.rss_bytes / 2**20:.0f} MiB"
    )
    opened = answer.open
    line(
        f"{answer.collection_count} collections, {opened.count} open with "
        f"{opened.memory_bytes / 2**20:.0f} MiB, {opened.idle_closed_count} closed as idle"
    )
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
        "search",
        "checkpoint",
        "state",
    )
    table(columns, rows, wide="refused")
    for item in answer.collections:
        if not item.verify.sound:
            bad = [
                f"{count} bad rows of {name}" for name, count in item.verify.bad_row_counts.items()
            ]
            found = [f"{item.verify.damage_count} findings of SQLite"] * bool(
                item.verify.damage_count
            )
            line(f"{item.name}: {', '.join(bad + found)}; see docs/operations.md")


def _checkpoint(item: CollectionStats) -> str:
    """Revision of the newest checkpoint, and how many bad ones were set aside."""
    found = item.checkpoint
    said = str(found.revision) if found.revision else "none"
    return f"{said}, {found.bad_count} bad" if found.bad_count else said


def _state(item: CollectionStats) -> str:
    """What a collection does, and how far a re-embedding is."""
    under_way = item.reembed
    if under_way is None:
        return item.state
    return f"{item.state}, reembed {under_way.phase} {under_way.done_count}/{under_way.total_count}"


def _search(item: CollectionStats) -> str:
    """How vectors are searched: exactly, or by a graph that finds such a share of the nearest."""
    if not item.hnsw_count:
        return "exact"
    return f"hnsw {item.recall_at_k:.3f}" if item.recall_rated_count else "hnsw"
