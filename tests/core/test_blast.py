"""How much a run may take, what no rule may take, and which of several stays."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest

from totonoe_core.base.errors import InvalidArgument, Quota
from totonoe_core.domain import blast
from totonoe_core.domain.collections import CollectionInfo
from totonoe_core.domain.keeping import protected, rank
from totonoe_core.domain.policy import PRESETS, BlastPolicy, DecayPolicy, DiversityPolicy, Preset
from totonoe_core.domain.records import Fields, Kind, Memory, StateKind, Status
from totonoe_core.embedding import client_vectors
from totonoe_core.engine.commands.settings import changed


@pytest.mark.parametrize(
    ("closing", "live", "today", "policy", "allowed", "over"),
    [
        (20, 100, 0, BlastPolicy(), 20, False),
        (21, 100, 0, BlastPolicy(), 20, True),
        (1, 100, 20, BlastPolicy(), 20, True),
        (0, 100, 25, BlastPolicy(), 20, False),
        (50, 5_000, 0, BlastPolicy(), 50, False),
        (51, 5_000, 0, BlastPolicy(), 50, True),
        (50, 5_099, 1, BlastPolicy(), 50, True),
        (1, 0, 0, BlastPolicy(0, 0.0), 0, True),
        (100, 100, 0, BlastPolicy(0, 100.0), 100, False),
        (3, 1_000, 0, BlastPolicy(1, 0.25), 2, True),
    ],
)
def test_the_larger_of_rows_and_share_is_allowed(
    closing: int, live: int, today: int, policy: BlastPolicy, allowed: int, over: bool
) -> None:
    found = blast.check(closing, live, today, policy)
    assert (found.allowed, found.over) == (allowed, over)
    if not over:
        blast.refuse_over(found, "work")
        assert found.fitted() == found
        return
    with pytest.raises(Quota) as caught:
        blast.refuse_over(found, "work")
    assert caught.value.reason == "BLAST_RADIUS"
    assert caught.value.details == {
        "closing": str(closing),
        "today": str(today),
        "allowed": str(allowed),
        "collection": "work",
    }
    raised = policy.__class__(rows_min=closing + today, percent=policy.percent)
    assert f"blast.rows_min of collection 'work' is {raised.rows_min}" in str(caught.value)
    assert not blast.check(closing, live, today, raised).over
    left = max(0, allowed - today)
    assert found.fitted() == replace(found, closing=left or closing)
    assert found.fitted().over is not bool(left)


@pytest.mark.parametrize(
    ("fields", "kept"),
    [
        (Fields(confidence=0.9), False),
        (Fields(confidence=0.95), True),
        (Fields(confidence=0.9499), False),
        (Fields(category="constraint"), True),
        (Fields(category="postmortem"), True),
        (Fields(category="gotcha"), True),
        (Fields(category="decision"), False),
        (Fields(perception_type="vision"), True),
        (Fields(state_kind=StateKind.LONG_MOOD), True),
        (Fields(kind=Kind.EVENT, state_kind=StateKind.NONE), True),
        (Fields(kind=Kind.AFFECT, state_kind=StateKind.NONE), True),
        (Fields(state_kind=StateKind.TASK), False),
    ],
)
def test_what_is_protected(fields: Fields, kept: bool) -> None:
    assert protected(fields) is kept


def test_rank_is_confidence_then_accesses_then_newest_then_id() -> None:
    def one(name: str, confidence: float, count: int, created_us: int) -> Memory:
        return Memory(
            row=0, id=name, content="", content_hash=b"", vector=b"", agent_id="",
            fields=Fields(confidence=confidence), created_us=created_us, updated_us=0,
            status=Status.ACTIVE, superseded_by="", revision=1, access_count=count,
        )  # fmt: skip

    wanted = [
        one("z", 0.9, 0, 1),
        one("y", 0.8, 7, 1),
        one("x", 0.8, 3, 9),
        one("a", 0.8, 3, 5),
        one("b", 0.8, 3, 5),
    ]
    seeded = random.Random(6)
    for _ in range(20):
        assert sorted(seeded.sample(wanted, len(wanted)), key=rank) == wanted


def test_its_settings_are_checked_and_go_back_to_their_defaults() -> None:
    info = CollectionInfo(
        name="c", description="", guard=PRESETS[Preset.STANDARD], diversity=DiversityPolicy(),
        decay=DecayPolicy(), model=client_vectors(3),
        created_us=0, revision=0, settings_revision=0,
    )  # fmt: skip
    assert info.blast == BlastPolicy(20, 1.0)
    info = changed(info, [("blast.rows_min", 5.0), ("blast.percent", 2.5)])
    assert info.blast == BlastPolicy(5, 2.5)
    assert changed(info, [("blast.rows_min", None)]) == replace(info, blast=BlastPolicy(20, 2.5))
    for path, value in (("blast.rows_min", -1), ("blast.percent", 100.1)):
        with pytest.raises(InvalidArgument) as caught:
            changed(info, [(path, value)])
        assert caught.value.reason == "OUT_OF_RANGE"
