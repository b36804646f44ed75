"""Answers about memories: saved, refused, found, forgotten, purged."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from totonoe.cli.printing import line, lines, table
from totonoe.cli.show.parts import (
    answer_replaces,
    answer_review,
    answer_with,
    as_of,
    judgement,
    more,
    not_found,
    not_read,
    repeated,
    replay,
)
from totonoe.cli.stepping import again, step
from totonoe.words.parts import shown_field, shown_link
from totonoe.words.plain import plain
from totonoe.words.text import (
    FORGOTTEN,
    NOT_SAVED,
    against,
    age,
    brief,
    clean,
    felt,
    forgot_this,
    keyed,
    nearest,
    probably_same,
    related,
    saved_as,
    says_again,
    shown_similarity,
    sourced,
)

if TYPE_CHECKING:
    from totonoe.history.models import Purged
    from totonoe.memories.models import (
        Checked,
        Forgotten,
        ForgottenMatch,
        Found,
        LayerReport,
        Memory,
        NamespacePage,
        OutdatedMatch,
        Page,
        Recalled,
        Remembered,
        Similar,
        Updated,
    )

# -- what the guard says


def _forgotten_match(match: ForgottenMatch | None, saved_revision: int = 0) -> None:
    """Print that the text was forgotten before, and how to restore it.

    Where the same is saved by now, at `saved_revision`, it would stand in the way.
    """
    if match is None:
        return
    line(forgot_this(match))
    instead = f"instead with: {step('undo', saved_revision)}, then" if saved_revision else "with:"
    line(f"Bring it back {instead} {step('undo', match.revision)}")


def _outdated(match: OutdatedMatch | None) -> None:
    """Print that the text says again what was replaced, and by what."""
    if match is not None:
        line(says_again(match))
        line(f"- {match.replaced_by_snippet} (id: {match.replaced_by_id})")


def _most_related(similar: Sequence[Similar], layers: Sequence[LayerReport]) -> None:
    not_read(layers)
    if similar:
        line("Most related:")
    for item in similar:
        line(related(item))
        judgement(item.judgement, indent="  ")


def _question(answer: Remembered | Checked | Updated, saved_id: str = "") -> None:
    """Print the question that ends an answer, and how to answer it."""
    asked = answer.question
    if asked is None or asked.judgement is None:
        return
    line(probably_same(asked))
    lines(*answer.advice.splitlines())
    if saved_id:
        answer_with(saved_id, asked.memory_id)


def _nearest(shown: Similar | None, saved_id: str = "") -> None:
    """Print the memory that may say the same, and how to say that it does."""
    if shown is None:
        return
    same = f" If it says the same: {step('resolve', saved_id, shown.memory_id, 'same')}"
    line(nearest(shown) + (same if saved_id else ""))


def _maybe_replaced(ids: Sequence[str], saved_id: str = "") -> None:
    """Ask whether the text takes the place of memories, where no verdict is certain of it."""
    for memory_id in ids:
        line(f"Does it replace {memory_id}?")
        if saved_id:
            answer_replaces(saved_id, memory_id)


def remembered(answer: Remembered) -> None:
    """Print that the memory is saved, or the memory that already says the same."""
    if answer.duplicate is not None:
        line(NOT_SAVED)
        repeated(answer.duplicate)
        for superseded_id in answer.superseded_ids:
            line(f"{answer.memory_id} takes the place of {superseded_id}.")
        _outdated(answer.outdated)
        replay(answer.replayed)
        return
    if not answer.saved:
        line(FORGOTTEN)
        _forgotten_match(answer.forgotten)
        line(f"Save it all the same with: {again(force=True)}")
        replay(answer.replayed)
        return
    line(saved_as(answer))
    if answer.pending:
        answer_review(answer.memory_id)
    for superseded_id in answer.superseded_ids:
        line(f"It takes the place of {superseded_id}.")
    _outdated(answer.outdated)
    _forgotten_match(answer.forgotten, answer.revision)
    replay(answer.replayed)
    _most_related(answer.similar, answer.layers)
    _maybe_replaced(answer.maybe_replaced_ids, answer.memory_id)
    _question(answer, answer.memory_id)
    _nearest(answer.nearest, answer.memory_id)


def checked(answer: Checked) -> None:
    """Print the answer that remember would give."""
    if answer.duplicate is not None:
        line("Would not be saved — very similar memory already exists.")
        repeated(answer.duplicate)
        for superseded_id in answer.superseded_ids:
            line(f"{answer.duplicate.memory_id} would take the place of {superseded_id}.")
        _outdated(answer.outdated)
        return
    refused = "Would not be saved — it was forgotten, which this collection refuses."
    saved = f" as the next version of {answer.grown_id}" if answer.grown_id else ""
    line(f"Would be saved{saved}." if answer.would_save else refused)
    if answer.pending:
        line("It would wait for a review.")
    for superseded_id in answer.superseded_ids:
        line(f"It would take the place of {superseded_id}.")
    _outdated(answer.outdated)
    _forgotten_match(answer.forgotten)
    _most_related(answer.similar, answer.layers)
    _maybe_replaced(answer.maybe_replaced_ids)
    _question(answer)
    _nearest(answer.nearest)


def updated(answer: Updated) -> None:
    """Print the change, or why there was none."""
    if answer.duplicate is not None and not answer.updated:
        line("Not changed — very similar memory already exists.")
        repeated(answer.duplicate)
        return
    line(f"Updated (id: {answer.memory.id}, revision {answer.memory.revision}).")
    not_read(answer.layers)
    _question(answer, answer.memory.id)
    _nearest(answer.nearest, answer.memory.id)


# -- memories


def recalled(answer: Recalled) -> None:
    """Print hits, best first."""
    if answer.degraded_because:
        line(f"Note: {answer.degraded_because}")
    as_of(answer.as_of_revision)
    if not answer.hits:
        line("Nothing found.")
        return
    rows = []
    for place, hit in enumerate(answer.hits, start=1):
        memory, relevance = hit.memory, shown_similarity(hit.relevance)
        rows.append((str(place), relevance, age(memory.created_time), memory.id, keyed(memory)))
        rows += [
            (
                "",
                "",
                age(folded.memory.created_time),
                folded.memory.id,
                f"also: {keyed(folded.memory)}",
            )
            for folded in hit.also
        ]
        if hit.also_count > len(hit.also):
            rows.append(("", "", "", "", f"and {hit.also_count - len(hit.also)} more like it"))
        rows += [
            ("", "", other.age, other.memory_id, f"{how}: {other.snippet}")
            for how, other in against(hit.updated_by, hit.contradicted_by, hit.outdated)
        ]
    table(("#", "relevance", "age", "id", "memory"), rows, wide="memory")


def listed(page: Page) -> None:
    """Print a page of memories, and how to get the next one."""
    as_of(page.as_of_revision)
    rows = [
        (
            *(memory.id, _kind(memory), str(memory.status), age(memory.created_time)),
            sourced(memory, memory.content),
        )
        for memory in page.memories
    ]
    if rows:
        table(("id", "kind", "status", "age", "memory"), rows, wide="memory")
    else:
        line("No memories.")
    more(page.next_page_token)


def got(answer: Found) -> None:
    """Print whole memories, without empty fields."""
    as_of(answer.as_of_revision)
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
                line(f"  {name}: {shown_field(name, value)}")
    not_found(answer.missing_ids)


_SHOWN_ABOVE = ("memory_id", "content", "content_hash", "kind", "state_kind", "status", "vector")


def _kind(memory: Memory) -> str:
    return f"{memory.kind}/{memory.state_kind}" if memory.state_kind else str(memory.kind)


def forgotten(answer: Forgotten) -> None:
    """Print the forgotten memories, or those that would be forgotten."""
    verb = "Would forget" if answer.dry_run else "Forgot"
    if not answer.forgotten and not answer.missing_ids:
        line("Nothing to forget.")
    for memory in answer.forgotten:
        line(f"{verb} {brief(memory)}")
        line(felt(memory))
    if answer.unlinked_count:
        line(f"Links {'to take' if answer.dry_run else 'taken'} away: {answer.unlinked_count}")
    if answer.matching_count > len(answer.forgotten):
        line(f"These are the oldest of {answer.matching_count} that match.")
    if answer.forgotten and not answer.dry_run:
        one = len(answer.forgotten) == 1
        line(f"Bring {'it' if one else 'them'} back with: {step('undo', answer.revision)}")
    not_found(answer.missing_ids)


def purged(answer: Purged) -> None:
    """Print the purged memories, or those that would be purged."""
    verb = "Would purge" if answer.dry_run else "Purged"
    for memory_id in answer.purged_ids:
        line(f"{verb} {memory_id}")
    line(
        f"Earlier versions: {answer.version_count}, kept answers: {answer.reply_count}, "
        f"episodes: {answer.episode_count}"
    )
    not_found(answer.missing_ids)


def at_stake(memories: Sequence[Memory]) -> None:
    """Print the memories of a question on standard error."""
    for memory in memories:
        sys.stderr.write(clean(brief(memory)) + "\n")


def holding(answer: Purged) -> None:
    """Print the snapshots that contain purged memories."""
    for snapshot in answer.snapshots:
        what = (
            "deleted"
            if snapshot.deleted
            else "rewritten"
            if snapshot.rewritten
            else "still holds them"
        )
        line(f"Snapshot {snapshot.snapshot.id}, {snapshot.memory_count} of these: {what}")
    if any(not (snapshot.deleted or snapshot.rewritten) for snapshot in answer.snapshots):
        line(f"Purge there too with: {again(snapshots='rewrite')}")


def namespaces(page: NamespacePage) -> None:
    """Print the namespaces, and how many there are."""
    if not page.total_count:
        line("No namespaces.")
        return
    table(
        ("namespace", "memories"),
        [
            (shown_names(namespace.names), str(namespace.memory_count))
            for namespace in page.namespaces
        ],
    )
    line(f"{len(page.namespaces)} of {page.total_count}")


def shown_names(names: Sequence[str]) -> str:
    """The names with slashes between them; as JSON if one of them has a slash itself."""
    if any("/" in name for name in names):
        return clean(json.dumps(names, ensure_ascii=False))
    return clean("/".join(names))
