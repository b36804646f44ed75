"""Writes of memories and their answers, as plain data."""

from __future__ import annotations

from dataclasses import dataclass, replace

from totonoe_core.domain.asking import Previewable
from totonoe_core.domain.filter import Filter
from totonoe_core.domain.policy import Action, GuardPolicy
from totonoe_core.domain.records import Fields, Finding, GuardReport, Link, Memory, Verdict


@dataclass(frozen=True, slots=True)
class Remember(Previewable["Checked"]):
    """Save a memory unless the guard finds that a live one says the same.

    `vector` is float32 little-endian bytes from the caller; if it is empty, the text is embedded.
    `supersede_ids` are live memories that the new memory, or the duplicate that refuses it,
    replaces; they refuse nothing. `distinct_from` are live memories that say something else: if the
    text is saved, these pairs are dismissed, and nobody is asked about them. `actions`,
    `cosine_distance_below` and `link_distance_below` override the collection's policy, and
    `links_max` overrides AUTO_LINKS_PER_REMEMBER; `None` overrides nothing. `pending`: it waits for
    a review, whatever the policy says.
    """

    agent_id: str
    content: str
    fields: Fields
    vector: bytes = b""
    force: bool = False
    actions: tuple[tuple[Verdict, Action], ...] = ()
    supersede_ids: tuple[str, ...] = ()
    distinct_from: tuple[str, ...] = ()
    cosine_distance_below: float | None = None
    link_distance_below: float | None = None
    links_max: int | None = None
    pending: bool = False

    def policy(self, of_collection: GuardPolicy) -> GuardPolicy:
        """Return the collection's policy with the overrides of this call."""
        policy = of_collection.with_actions(self.actions)
        if self.cosine_distance_below is not None:
            # 0 refuses nothing: no distance is below it.
            policy = replace(policy, cosine_distance_below=self.cosine_distance_below or None)
        if self.link_distance_below is not None:
            policy = replace(policy, link_distance_below=self.link_distance_below)
        return policy


@dataclass(frozen=True, slots=True)
class Remembered:
    """Answer to `Remember`. `memory_id` is the existing one's if it was not saved.

    `superseded_ids` are the memories that `memory_id` replaced, saved or not. `grown_id` is the
    existing memory that has grown, empty for a new one. `pending`: it is saved, and waits for a
    review: until then it replaces, grows and links nothing.
    """

    saved: bool
    memory_id: str
    guard: GuardReport
    links: tuple[Link, ...] = ()
    superseded_ids: tuple[str, ...] = ()
    grown_id: str = ""
    pending: bool = False


@dataclass(frozen=True, slots=True)
class Update:
    """Change the named parts of one live memory.

    `mask` names fields of `Fields`, or `content` or `vector`; the values stand in
    `fields`, `content` and `vector`. `expected_revision` 0 accepts any.
    """

    agent_id: str
    memory_id: str
    mask: tuple[str, ...]
    fields: Fields
    content: str = ""
    vector: bytes = b""
    expected_revision: int = 0
    reason: str = ""
    force: bool = False


@dataclass(frozen=True, slots=True)
class Updated:
    """Answer to `Update`. If it was not updated, the new text repeats `guard.duplicate`."""

    updated: bool
    memory: Memory
    guard: GuardReport | None = None


@dataclass(frozen=True, slots=True)
class Forget(Previewable["Forgotten"]):
    """Hide memories and remove their links on both sides.

    `expected_revisions` holds (id, revision) of those that must not have changed.
    """

    agent_id: str
    ids: tuple[str, ...]
    reason: str = ""
    expected_revisions: tuple[tuple[str, int], ...] = ()


@dataclass(frozen=True, slots=True)
class Forgotten:
    """Answer to `Forget`: the memories as they were before."""

    memories: tuple[Memory, ...]
    missing_ids: tuple[str, ...]
    unlinked_count: int


@dataclass(frozen=True, slots=True)
class LostDetail:
    """A detail of a source text that the merged text lacks.

    `place` is its start and end in the source, in code points.
    """

    memory_id: str
    finding: Finding
    place: tuple[int, int]
    text: str


@dataclass(frozen=True, slots=True)
class Merge(Previewable["Merged"]):
    """Merge several memories into one; the removed ones become SUPERSEDED by the one that stays.

    Empty `content` leaves the text; `expected_revisions` holds (id, revision) of those that
    must not have changed.
    """

    agent_id: str
    keep_id: str
    remove_ids: tuple[str, ...]
    content: str = ""
    vector: bytes = b""
    reason: str = ""
    expected_revisions: tuple[tuple[str, int], ...] = ()
    force: bool = False


@dataclass(frozen=True, slots=True)
class Merged:
    """Answer to `Merge`: `sources` as they were before. Not merged if `guard.duplicate` refuses."""

    merged: bool
    memory: Memory
    sources: tuple[Memory, ...]
    guard: GuardReport | None = None
    lost: tuple[LostDetail, ...] = ()
    moved_link_count: int = 0
    dropped_link_count: int = 0


@dataclass(frozen=True, slots=True)
class Purge(Previewable["Purged"]):
    """Erase every byte of memories. `by_retention` is the daemon's own run on all of them."""

    agent_id: str
    ids: tuple[str, ...]
    reason: str = ""
    by_retention: bool = False


@dataclass(frozen=True, slots=True)
class Purged:
    """Answer to `Purge`."""

    purged_ids: tuple[str, ...]
    missing_ids: tuple[str, ...]
    version_count: int = 0
    reply_count: int = 0
    episode_count: int = 0


@dataclass(frozen=True, slots=True)
class Checked:
    """Answer to a Check: what Remember would say now.

    `grown_id` is the memory that would grow, if any. `superseded_ids` are the memories whose place
    would be taken, by the new memory or by the duplicate. `pending`: it would wait for a review.
    """

    would_save: bool
    guard: GuardReport
    grown_id: str = ""
    superseded_ids: tuple[str, ...] = ()
    pending: bool = False


@dataclass(frozen=True, slots=True)
class ForgetMatching(Previewable["Matching"]):
    """Forget all memories that meet a filter. Shown only: what is to go is then named by id.

    Empty `statuses` means ACTIVE alone; those of memories that are gone already are invalid.
    """

    agent_id: str
    where: Filter


@dataclass(frozen=True, slots=True)
class Matching:
    """Answer to `ForgetMatching`: the oldest IDS_PER_REQUEST_MAX, and the number of all."""

    forgotten: Forgotten
    count: int
