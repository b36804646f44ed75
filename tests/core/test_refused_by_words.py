"""Memories that are found by their words alone, and answers that do not contradict themselves."""

from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from support.engines import Store, forget, opened, remember, update, vector_at, vector_of
from support.transfers import exported, file_of, imported, objects
from totonoe_core.base import limits
from totonoe_core.domain.policy import Action
from totonoe_core.domain.records import GuardReport, Method, Verdict
from totonoe_core.guard.probe import probe_pairs

BASE = vector_of("base")
SAME = [
    ("Timeout: 30s", "The timeout is 30 seconds."),
    ("Disk quota is 2048 MiB", "Disk quota is 2 GiB"),
    ("颱風天不出門送貨。", "台风天不出门送货。"),
    ("開発サーバーのポートは 5173 です。", "開発サーバーのポートは**`5173`**です。"),
    ("Check the disk quota before the import.", "> **Check the disk quota** before the import"),
    ("Ann manages Bob", "Bob is managed by Ann"),
]


def says_duplicate(report: GuardReport) -> bool:
    """Whether an answer shows the verdict "duplicate" anywhere."""
    shown = [memory.judgement.verdict for memory in report.similar if memory.judgement is not None]
    return Verdict.DUPLICATE in (report.verdict, *shown)


@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize(("one", "other"), SAME)
def test_same_words_and_values_at_a_low_cosine_are_refused(
    store: Store, one: str, other: str, turned: bool
) -> None:
    old, new = (other, one) if turned else (one, other)
    known = store.save(old, vector=BASE)
    command = remember(new, vector=vector_at(BASE, 0.3))
    assert not store.check(command).would_save
    answer = store.do(command)
    assert (answer.saved, answer.memory_id) == (False, known)
    assert answer.guard.duplicate.method is Method.JACCARD
    assert answer.guard.verdict is Verdict.DUPLICATE


def test_same_words_with_another_value_at_a_low_cosine_are_saved(store: Store) -> None:
    known = store.save("Timeout: 30s", vector=BASE)
    answer = store.do(remember("The timeout is 40 seconds.", vector=vector_at(BASE, 0.3)))
    assert answer.saved
    assert answer.memory_id != known


def test_memory_found_by_words_among_many_nearer_ones_is_refused(store: Store) -> None:
    for number in range(limits.VERDICT_LOOKED_AT_MAX + 1):
        store.save(f"Lamp number{number} hangs{number}", vector=vector_at(BASE, 0.9, number))
    known = store.save("Timeout: 30s", vector=vector_of("elsewhere"))
    answer = store.do(remember("The timeout is 30 seconds.", vector=BASE))
    assert (answer.saved, answer.memory_id) == (False, known)


def test_forgotten_memories_with_the_same_words_hide_no_live_one(store: Store) -> None:
    count = limits.SAME_VALUE_MAX
    gone = [store.save("Ann manages Bob.", vector=BASE, force=True) for _ in range(count)]
    store.do(forget(*gone))
    # As many words in common, in another order: they say something else, and are read first.
    for each in range(count):
        store.save("Bob manages Ann", vector=vector_at(BASE, 0.2, each), force=True)
    known = store.save("Ann manages Bob!", vector=vector_at(BASE, 0.2), force=True)
    command = remember("Ann manages Bob", vector=BASE)
    assert not store.check(command).would_save
    answer = store.do(command)
    assert (answer.saved, answer.memory_id) == (False, known)
    assert answer.guard.duplicate.method is Method.JACCARD


def test_memory_with_few_common_words_behind_nearer_ones_without_any_is_refused(
    store: Store,
) -> None:
    for number in range(limits.VERDICT_LOOKED_AT_MAX // 2):
        store.save(f"Lamp number{number} hangs{number}", vector=vector_at(BASE, 0.9, number))
    known = store.save("The team deletes old logs every week.", vector=vector_at(BASE, 0.8))
    answer = store.do(remember("Old logs are deleted weekly by the team.", vector=BASE))
    assert (answer.saved, answer.memory_id) == (False, known)
    assert answer.guard.method is Method.COSINE


def test_memory_that_a_caller_may_not_read_is_not_found_by_words(store: Store) -> None:
    store.save("Timeout: 30s", agent="ben", private=True, vector=BASE)
    answer = store.do(remember("The timeout is 30 seconds.", vector=vector_at(BASE, 0.3)))
    assert answer.saved
    assert not answer.guard.similar


def test_policy_that_keeps_duplicates_saves_and_still_names_them(store: Store) -> None:
    store.save("Timeout: 30s", vector=BASE)
    command = remember("The timeout is 30 seconds.", vector=vector_at(BASE, 0.3))
    answer = store.do(replace(command, actions=((Verdict.DUPLICATE, Action.LINK),)))
    assert answer.saved
    assert answer.guard.verdict is Verdict.DUPLICATE


def pairs() -> list[tuple[str, str]]:
    """Some pairs of the probe set, half of which say the same."""
    chosen = random.Random(8).sample(probe_pairs(), 30)
    same = [pair for pair in probe_pairs() if pair.same]
    chosen += random.Random(9).sample(same, 30)
    return [(pair.a, pair.b) for pair in chosen]


@pytest.mark.parametrize("cosine", [0.1, 0.74])
@pytest.mark.parametrize("turned", [False, True])
def test_no_answer_says_saved_and_duplicate(store: Store, turned: bool, cosine: float) -> None:
    for number, pair in enumerate(pairs()):
        old, new = reversed(pair) if turned else pair
        base = vector_of(f"base {number}")
        store.do(remember(old, vector=base))
        command = remember(new, vector=vector_at(base, cosine, number))
        would, answer = store.check(command), store.do(command)
        assert would.would_save == answer.saved
        assert not (would.would_save and says_duplicate(would.guard)), pair
        assert not (answer.saved and says_duplicate(answer.guard)), pair


def test_no_answer_of_many_at_once_says_saved_and_duplicate(store: Store) -> None:
    commands = []
    for number, (old, new) in enumerate(pairs()):
        base = vector_of(f"base {number}")
        commands.append(remember(old, vector=base))
        commands.append(remember(new, vector=vector_at(base, 0.65, number)))
    for answer in store.apply(*commands).results:
        assert not (answer.saved and says_duplicate(answer.guard))


def test_no_update_says_updated_and_duplicate(store: Store) -> None:
    for number, (old, new) in enumerate(pairs()[:40]):
        base = vector_of(f"base {number}")
        store.do(remember(old, vector=base))
        other = store.do(remember(f"Elsewhere{number}", vector=vector_of(f"other {number}")))
        vector = vector_at(base, 0.65, number)
        answer = store.do(update(other.memory_id, content=new, vector=vector))
        assert not (answer.updated and says_duplicate(answer.guard))


def test_import_through_the_guard_keeps_one_of_the_same_words(tmp_path: Path) -> None:
    with opened(tmp_path / "one") as source:
        source.save("Timeout: 30s", vector=BASE)
        data = exported(source)
    lines: list[dict[str, Any]] = objects(data)
    for line in lines:
        if line["record"] == "memory":
            line["content"] = "The timeout is 30 seconds."
            line["id"] = "mem_" + "1" * 16
            line.pop("vector", None)
    with opened(tmp_path / "two") as target:
        target.save("Timeout: 30s", vector=vector_of("elsewhere"))
        imported(target, file_of(lines))
        assert len(target.list()) == 1
