"""The nearest memory of an answer that asks nothing: shown, never linked, resolved in one call."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from support.engines import (
    Store,
    dismiss,
    forget,
    opened,
    remember,
    undo,
    update,
    vector_at,
    vector_of,
)
from support.likelihood import Likelihood
from totonoe_core.base.errors import InvalidArgument, Precondition
from totonoe_core.domain.memories import Checked, Purge, Remembered
from totonoe_core.domain.policy import LIKELY_FROM, PRESETS, SHOWN_FROM, Action, Preset
from totonoe_core.domain.questions import Answer, QuestionsQuery, Resolve
from totonoe_core.domain.records import Kind, LinkType, SimilarMemory, StateKind, Status, Verdict
from totonoe_core.engine.commands.judged_pairs import judged_pairs
from totonoe_core.engine.writer.written import decision_of
from totonoe_core.store.sqlite.reader import ReaderPool

BACKUP = "The backup runs at night"
NIGHTLY = "The backup runs nightly"
DAILY = "The backup runs daily"
NEAR = vector_of(BACKUP)
UNSURE = (SHOWN_FROM + LIKELY_FROM) / 2


def given_text(text: str, **more: Any) -> Any:
    """A Remember near the text BACKUP."""
    distinct = more.pop("distinct_from", ())
    vector = NEAR if text == BACKUP else vector_at(NEAR, 0.9, seed=len(text))
    return replace(remember(text, vector=vector, **more), distinct_from=distinct)


def save(store: Store, text: str, **more: Any) -> Remembered:
    return store.do(given_text(text, **more))


def nearest(answer: Remembered) -> SimilarMemory:
    assert answer.saved and answer.guard.nearest is not None
    return answer.guard.nearest


def questions(store: Store, agent: str = "anna") -> int:
    page = store.read(QuestionsQuery(agent))
    return len(page.questions)


def resolve(one: str, other: str, answer: Answer) -> Resolve:
    return Resolve("anna", one, other, answer)


# -- What is shown


def test_unsure_answer_shows_the_memory_and_neither_links_nor_asks(
    store: Store, likelihood: Likelihood
) -> None:
    likelihood.say(BACKUP, NIGHTLY, UNSURE)
    first = save(store, BACKUP).memory_id
    answer = save(store, NIGHTLY)
    shown = nearest(answer)
    assert (shown.memory_id, shown.snippet, shown.age) == (first, BACKUP, "just now")
    assert shown.judgement is not None and shown.judgement.same_probability == UNSURE
    assert answer.guard.question is None
    assert LinkType.LIKELY_SAME not in {link.type for link in store.one(first).links}
    assert (questions(store), store.stats().open_question_count) == (0, 0)
    assert decision_of(answer).band == "shown"


@pytest.mark.parametrize(
    ("probability", "is_shown"), [(SHOWN_FROM, True), (SHOWN_FROM - 0.001, False)]
)
def test_probability_from_which_on_it_is_shown_is_in_the_band(
    store: Store, likelihood: Likelihood, probability: float, is_shown: bool
) -> None:
    likelihood.say(BACKUP, NIGHTLY, probability)
    save(store, BACKUP)
    assert (save(store, NIGHTLY).guard.nearest is not None) is is_shown


def test_most_probable_one_is_shown(store: Store, likelihood: Likelihood) -> None:
    texts = [f"{BACKUP} {place}" for place in "abc"]
    for text, probability in zip(texts, (0.3, 0.4, 0.35), strict=True):
        likelihood.say(text, NIGHTLY, probability)
    ids = [save(store, text).memory_id for text in texts]
    assert nearest(save(store, NIGHTLY)).memory_id == ids[1]


def test_question_is_the_one_and_nothing_is_shown_beside_it(
    store: Store, likelihood: Likelihood
) -> None:
    likelihood.say(BACKUP, NIGHTLY, 0.9)
    likelihood.say(DAILY, NIGHTLY, UNSURE)
    first = save(store, BACKUP).memory_id
    save(store, DAILY)
    guard = save(store, NIGHTLY).guard
    assert guard.question is not None and guard.question.memory_id == first
    assert guard.nearest is None


def test_declared_difference_is_not_shown(store: Store, likelihood: Likelihood) -> None:
    likelihood.say(BACKUP, NIGHTLY, UNSURE)
    first = save(store, BACKUP).memory_id
    assert save(store, NIGHTLY, distinct_from=(first,)).guard.nearest is None


def test_memory_that_the_text_replaces_is_not_shown(store: Store, likelihood: Likelihood) -> None:
    likelihood.say(BACKUP, NIGHTLY, UNSURE, Verdict.UPDATE)
    store.set(("guard.on_update", Action.SUPERSEDE.value))
    first = save(store, BACKUP).memory_id
    answer = save(store, NIGHTLY)
    assert (answer.superseded_ids, answer.guard.nearest) == ((first,), None)


@pytest.mark.parametrize("probability", [UNSURE, 0.9], ids=["shown", "asked"])
def test_memory_that_goes_with_the_replaced_one_is_neither_shown_nor_asked_about(
    store: Store, likelihood: Likelihood, probability: float
) -> None:
    again = BACKUP.lower()
    likelihood.say(BACKUP, NIGHTLY, 0.1, Verdict.UPDATE)
    likelihood.say(again, NIGHTLY, probability)
    store.set(("guard.on_update", Action.SUPERSEDE.value))
    ids = {save(store, BACKUP).memory_id, save(store, again, force=True).memory_id}
    would: Checked = store.check(given_text(NIGHTLY))
    answer = save(store, NIGHTLY)
    for item in (would, answer):
        assert set(item.superseded_ids) == ids
        assert (item.guard.nearest, item.guard.question) == (None, None)


@pytest.mark.parametrize("path", ["guard.shown_from", "guard.judged_from"])
def test_policy_without_the_level_shows_nothing(
    store: Store, likelihood: Likelihood, path: str
) -> None:
    likelihood.say(BACKUP, NIGHTLY, UNSURE)
    store.set((path, None))
    save(store, BACKUP)
    assert save(store, NIGHTLY).guard.nearest is None


def test_level_stands_alone_where_nothing_is_asked(store: Store, likelihood: Likelihood) -> None:
    likelihood.say(BACKUP, NIGHTLY, 0.9)
    store.set(("guard.likely_from", None))
    first = save(store, BACKUP).memory_id
    answer = save(store, NIGHTLY)
    assert (answer.guard.question, nearest(answer).memory_id) == (None, first)


def test_check_shows_what_remember_would(store: Store, likelihood: Likelihood) -> None:
    likelihood.say(BACKUP, NIGHTLY, UNSURE)
    save(store, BACKUP)
    would: Checked = store.check(given_text(NIGHTLY))
    assert would.guard.nearest == nearest(save(store, NIGHTLY))


def test_update_shows_it_until_the_pair_is_dismissed(store: Store, likelihood: Likelihood) -> None:
    likelihood.say(BACKUP, NIGHTLY, UNSURE)
    first = save(store, BACKUP).memory_id
    other = save(store, DAILY).memory_id
    vector = vector_at(NEAR, 0.9, seed=7)
    done = store.do(update(other, content=NIGHTLY, vector=vector))
    assert done.guard is not None and done.guard.nearest is not None
    assert done.guard.nearest.memory_id == first
    store.do(dismiss(first, other))
    again = store.do(update(other, content=NIGHTLY, vector=vector_at(NEAR, 0.9, seed=8)))
    assert again.updated and again.guard is not None and again.guard.nearest is None


# -- What is never shown


@settings(
    max_examples=25,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(
    probability=st.sampled_from([0.1, SHOWN_FROM, UNSURE, 0.6, 1.0]),
    verdict=st.sampled_from([Verdict.RELATED, Verdict.UPDATE, Verdict.DUPLICATE]),
    hard=st.booleans(),
    private=st.booleans(),
    namespace=st.sampled_from([(), ("work",)]),
    kind=st.sampled_from([Kind.STATE, Kind.EVENT]),
)
def test_nearest_is_unsure_readable_and_of_a_saved_state(
    tmp_path_factory: pytest.TempPathFactory,
    probability: float,
    verdict: Verdict,
    hard: bool,
    private: bool,
    namespace: tuple[str, ...],
    kind: Kind,
) -> None:
    """Whatever the memory and the judgement: only a state that the caller may read is shown."""
    with (
        pytest.MonkeyPatch.context() as patched,
        opened(tmp_path_factory.mktemp("shown")) as store,
    ):
        Likelihood(patched).say(BACKUP, NIGHTLY, probability, verdict, hard=hard)
        state_kind = StateKind.FACT if kind is Kind.STATE else StateKind.NONE
        more: dict[str, Any] = {"private": private, "namespace": namespace, "kind": kind}
        save(store, BACKUP, agent="bert", state_kind=state_kind, **more)
        answer = save(store, NIGHTLY)
        own = save(store, NIGHTLY + " too", kind=Kind.EVENT, state_kind=StateKind.NONE)
    assert own.guard.nearest is None
    comparable = not private and not namespace and kind is Kind.STATE
    refused = comparable and verdict is Verdict.DUPLICATE and probability >= LIKELY_FROM
    assert answer.saved is not refused
    is_shown = comparable and not hard and SHOWN_FROM <= probability < LIKELY_FROM
    assert (answer.guard.nearest is not None) is is_shown


def test_answer_that_is_replayed_quotes_no_purged_memory(
    store: Store, likelihood: Likelihood
) -> None:
    likelihood.say(BACKUP, NIGHTLY, UNSURE)
    first = save(store, BACKUP).memory_id
    command = given_text(NIGHTLY)
    done = store.apply(command, operation_id="op_1")
    store.do(Purge("anna", (first,), ""))
    again = store.apply(command, operation_id="op_1")
    assert again.replayed and again.revision == done.revision
    (result,) = again.results
    assert isinstance(result, Remembered)
    assert nearest(result).memory_id == first
    assert (nearest(result).snippet, BACKUP in repr(result)) == ("", False)


# -- Resolve, in one call


def labels(store: Store) -> list[bool]:
    """Return for each pair that callers judged whether it is the same, as Calibrate learns it."""
    pool = ReaderPool(store.file(), 1)
    with pool.rows() as rows:
        found = judged_pairs(rows, 0, 10)
    pool.close()
    return [pair.same for pair in found]


@pytest.fixture
def pair(store: Store, likelihood: Likelihood) -> tuple[str, str]:
    """A new memory, and the one that its answer showed."""
    likelihood.say(BACKUP, NIGHTLY, UNSURE)
    save(store, BACKUP)
    answer = save(store, NIGHTLY)
    return answer.memory_id, nearest(answer).memory_id


def test_shown_pair_is_resolved_as_the_same_in_one_call_and_undone(
    store: Store, pair: tuple[str, str]
) -> None:
    new, old = pair
    done = store.do(resolve(new, old, Answer.SAME))
    assert done.resolved and {done.memory.id, done.closed_id} == {new, old}
    assert store.one(done.closed_id).superseded_by == done.memory.id
    assert labels(store) == [True]
    store.do(undo(store.revision))
    assert [store.one(memory_id).status for memory_id in pair] == [Status.ACTIVE] * 2
    assert (labels(store), questions(store)) == ([], 0)


def test_shown_pair_that_is_different_is_dismissed_and_undone(
    store: Store, pair: tuple[str, str]
) -> None:
    assert store.do(resolve(*pair, Answer.DIFFERENT)).resolved
    assert labels(store) == [False]
    store.do(undo(store.revision))
    assert labels(store) == []


@pytest.mark.parametrize(
    ("answer", "gone"), [(Answer.REPLACES, 1), (Answer.REPLACED_BY, 0)], ids=["replaces", "by"]
)
def test_shown_pair_of_which_one_replaces_the_other_is_no_label(
    store: Store, pair: tuple[str, str], answer: Answer, gone: int
) -> None:
    assert store.do(resolve(*pair, answer)).closed_id == pair[gone]
    assert labels(store) == []


def test_memory_that_is_gone_since_is_named_by_resolve(store: Store, pair: tuple[str, str]) -> None:
    store.do(forget(pair[1]))
    with pytest.raises(Precondition, match=f"{pair[1]} is forgotten"):
        store.do(resolve(*pair, Answer.SAME))


# -- The setting


def guard(store: Store) -> Any:
    return store.info().guard


def test_presets_of_others_show_nothing() -> None:
    shown = {preset: policy.shown_from for preset, policy in PRESETS.items()}
    assert shown == {Preset.STANDARD: SHOWN_FROM, Preset.EGO: None, Preset.ROBOTMEM: None}


def test_value_above_likely_is_refused_with_both_values(store: Store) -> None:
    with pytest.raises(InvalidArgument) as caught:
        store.set(("guard.shown_from", 0.9))
    assert caught.value.reason == "OUT_OF_RANGE"
    assert caught.value.details == {
        "field": "guard.shown_from",
        "got": "0.9",
        "allowed": f"at most {LIKELY_FROM}, which guard.likely_from is",
    }
    with pytest.raises(InvalidArgument, match=r"guard\.shown_from"):
        store.set(("guard.likely_from", 0.2), ("guard.shown_from", 0.3))
    for wrong in (-0.1, 1.1, float("nan")):
        with pytest.raises(InvalidArgument, match=r"guard\.shown_from"):
            store.set(("guard.shown_from", wrong))
    assert guard(store).shown_from == SHOWN_FROM


def test_value_goes_down_with_likely_where_no_change_names_it(store: Store) -> None:
    store.set(("guard.likely_from", 0.1))
    assert (guard(store).likely_from, guard(store).shown_from) == (0.1, 0.1)
    store.set(("guard.likely_from", None))
    store.set(("guard.shown_from", 0.9))
    assert guard(store).shown_from == 0.9
