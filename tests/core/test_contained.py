"""A text that says less than a memory: linked, and refused only if nothing restricting is lost."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from support.engines import Store, remember, vector_at, vector_of
from totonoe_core.domain.calibration import CAREFUL
from totonoe_core.domain.memories import Remember
from totonoe_core.domain.policy import PRESETS, Action
from totonoe_core.domain.records import Finding, LinkType, Status, Verdict
from totonoe_core.guard.separate import is_separate
from totonoe_core.guard.verdict import judged
from totonoe_core.text.reading.budget import ReadingBudget

BASE = vector_of("base")
LESS = "Backups run nightly."
MORE = "Backups run nightly. The restore is tested monthly."
REFUSED = ((Verdict.CONTAINED, Action.REFUSE),)

SEPARATE = [
    (LESS, MORE),
    (LESS, "The restore is tested monthly. Backups run nightly."),
    (LESS, "Backups run nightly. Anna maintains the scripts. The restore is tested monthly."),
    ("バックアップは毎晩動く。", "バックアップは毎晩動く。復元は毎月テストする。"),
    ("备份每晚运行。", "备份每晚运行。恢复每月测试一次。"),
]
RESTRICTED = [
    # time, place, condition, quantity, object, scope
    ("Deploys happen", "Deploys happen on Thursdays"),
    ("The server runs", "The server runs in Osaka"),
    ("Deploys happen on Thursdays", "Deploys happen on Thursdays after the change board has met"),
    ("The team keeps backups", "The team keeps three backups"),
    ("Olaf prefers tea", "Olaf prefers black tea"),
    ("The port is 8080", "The staging port is 8080"),
    (LESS, "Backups run nightly. Only on db1."),
    (LESS, "Backups run nightly. This holds for staging."),
    (LESS, "Backups run nightly. If the disk is full, they stop."),
    (LESS, "Backups run nightly. The archive is not included."),
    (LESS, "Backups run nightly. But every third one fails."),
    ("バックアップは毎晩動く。", "バックアップは毎晩動く。ただし月曜は除く。"),
    ("备份每晚运行。", "备份每晚运行。但是周一除外。"),
    ("Резервные копии ночью.", "Резервные копии ночью. Проверка раз в месяц."),
]


def saying(text: str, action: Action | None = None, **more: Any) -> Remember:
    command = remember(text, vector=vector_at(BASE, 0.9), **more)
    return command if action is None else replace(command, actions=((Verdict.CONTAINED, action),))


def test_verdict_says_which_of_the_two_has_more() -> None:
    assert judged(LESS, MORE, 0.9, CAREFUL).verdict is Verdict.CONTAINED
    assert judged(MORE, LESS, 0.9, CAREFUL).verdict is Verdict.REFINEMENT
    assert judged("The port is 8080", "The staging port is 8080", 0.9, CAREFUL).verdict is (
        Verdict.CONTAINED
    )


def test_by_default_it_is_saved_and_linked_to_what_refines_it(store: Store) -> None:
    assert {policy.on_contained for policy in PRESETS.values()} == {Action.LINK}
    known = store.save(MORE, vector=BASE)
    answer = store.do(saying(LESS))
    assert (answer.saved, answer.guard.verdict) == (True, Verdict.CONTAINED)
    assert [(link.target_id, link.type) for link in answer.links] == [(known, LinkType.REFINED_BY)]


@pytest.mark.parametrize("by_call", [True, False])
@pytest.mark.parametrize(("less", "more"), SEPARATE)
def test_policy_refuses_what_lacks_only_separate_statements(
    store: Store, less: str, more: str, by_call: bool
) -> None:
    known = store.save(more, vector=BASE)
    if not by_call:
        store.set(("guard.on_contained", "refuse"))
    command = saying(less, Action.REFUSE if by_call else None)
    assert not store.check(command).would_save
    answer = store.do(command)
    assert (answer.saved, answer.memory_id) == (False, known)
    found = answer.guard.duplicate.judgement
    assert found.verdict is Verdict.CONTAINED
    assert [line.finding for line in found.evidence] == [Finding.MISSING, Finding.SEPARATE]


@pytest.mark.parametrize(("less", "more"), RESTRICTED)
def test_policy_never_refuses_what_lacks_a_restriction(store: Store, less: str, more: str) -> None:
    known = store.save(more, vector=BASE)
    answer = store.do(saying(less, Action.REFUSE))
    assert answer.saved
    assert {link.target_id for link in answer.links} == {known}


def test_policy_refuses_nothing_with_another_payload(store: Store) -> None:
    store.save(MORE, vector=BASE, payload={"host": "db1"})
    answer = store.do(saying(LESS, Action.REFUSE, payload={"host": "db2"}))
    assert (answer.saved, answer.guard.verdict) == (True, Verdict.RELATED)


def test_text_that_says_more_is_not_the_concern_of_the_policy(store: Store) -> None:
    store.save(LESS, vector=BASE)
    answer = store.do(saying(MORE, Action.REFUSE))
    assert (answer.saved, answer.guard.verdict) == (True, Verdict.REFINEMENT)


def test_action_on_refinements_leaves_the_fuller_memory_alone(store: Store) -> None:
    known = store.save(MORE, vector=BASE)
    command = replace(saying(LESS), actions=((Verdict.REFINEMENT, Action.SUPERSEDE),))
    assert store.do(command).superseded_ids == ()
    assert store.one(known).status is Status.ACTIVE


def test_policy_may_supersede_the_fuller_memory(store: Store) -> None:
    known = store.save(MORE, vector=BASE)
    assert store.do(saying(LESS, Action.SUPERSEDE)).superseded_ids == (known,)


def test_statement_that_cannot_be_read_to_its_end_is_not_separate() -> None:
    assert is_separate(LESS, MORE, ReadingBudget())
    assert not is_separate(LESS, MORE, ReadingBudget(0))
