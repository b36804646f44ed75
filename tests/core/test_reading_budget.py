"""What one decision reads of texts: bounded, the same whatever the caches hold, and reported."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support.engines import (
    Store,
    change,
    forget,
    opened,
    remember,
    undo,
    update,
    vector_at,
    vector_of,
)
from support.waits import wait_s
from totonoe_core.base import limits
from totonoe_core.domain.calibration import CAREFUL
from totonoe_core.domain.cleanup import EndSession, Measure
from totonoe_core.domain.memories import Remembered
from totonoe_core.domain.policy import Action
from totonoe_core.domain.records import Finding, GuardReport, Method, Verdict
from totonoe_core.engine.state.caches import forget_cached
from totonoe_core.guard import verdict
from totonoe_core.guard.alignment import Tie, align
from totonoe_core.guard.sentences import sentences, without_equal_ends
from totonoe_core.text import normalize
from totonoe_core.text.reading.budget import ReadingBudget, pieces_in
from totonoe_core.text.reading.model import VALUES, Piece, PieceType

BASE = vector_of("base")
FILLER = " ".join(f"word{number}" for number in range(300))


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Texts that were given to a reader, in order."""
    texts: list[str] = []
    traits_of = verdict.traits_of

    def reading(text: str, language: str) -> Any:
        texts.append(text)
        return traits_of(text, language)

    monkeypatch.setattr(verdict, "traits_of", reading)
    verdict.forget_cached()
    return texts


def near(store: Store, content: str, cosine: float = 0.95, **more: Any) -> Remembered:
    vector = vector_at(BASE, cosine, len(content))
    found: Remembered = store.do(remember(content, vector=vector, **more))
    return found


def unread(report: GuardReport | None) -> dict[Method, int]:
    """Layers that did not read all, and how many memories not."""
    assert report is not None
    return {layer.layer: layer.unread_count for layer in report.layers if layer.unread_count}


def tiny(number: int) -> str:
    """1.9 kB of sentences of two letters; another text for each number."""
    return "".join(f"A{number} b{place}. " for place in range(200))[:1900]


class TestRemember:
    def test_many_tiny_sentences_are_read_within_the_budget_and_the_layer_says_so(
        self, store: Store, counted: list[str]
    ) -> None:
        for number in range(16):
            store.save(tiny(number), vector=vector_at(BASE, 0.98, number), force=True)
        answer = near(store, tiny(16), 0.99)
        assert answer.saved
        assert not answer.superseded_ids
        assert sum(map(pieces_in, set(counted))) <= limits.READ_PIECES_MAX
        layers = unread(answer.guard)
        # Each layer has texts of its own; the second finds nothing left of the budget.
        assert list(layers) == [Method.JACCARD, Method.COSINE]
        most = limits.VERDICT_CANDIDATES_MAX
        assert 1 <= layers[Method.JACCARD] <= most <= layers[Method.COSINE] <= 2 * most

    def test_nearest_is_read_first(self, store: Store) -> None:
        for number in range(15):
            store.save(f"{number} {FILLER}", vector=vector_at(BASE, 0.8, number), force=True)
        known = store.save("Tom moved the backup to Berlin.", vector=BASE)
        answer = near(store, "The backup was moved to Berlin by Tom.", 0.999)
        assert answer.guard.duplicate is not None
        assert answer.memory_id == known

    def test_what_is_shorter_is_read_where_what_is_nearer_was_too_long(self, store: Store) -> None:
        store.save(f"{FILLER}. {FILLER[::-1]}", vector=BASE, force=True)
        known = store.save("Tom moved the backup to Berlin.", vector=vector_at(BASE, 0.98))
        answer = store.do(remember("The backup was moved to Berlin by Tom.", vector=BASE))
        assert answer.memory_id == known
        assert unread(answer.guard) == {Method.COSINE: 1}

    @pytest.mark.parametrize("field", ["READ_PIECES_MAX", "READ_PIECES_PER_OPERATION_MAX"])
    def test_what_was_not_read_is_neither_refused_nor_superseded(
        self, store: Store, monkeypatch: pytest.MonkeyPatch, field: str
    ) -> None:
        store.save("The staging server listens on port 8080", vector=BASE)
        known = store.save("Tom moved the backup to Berlin.", vector=vector_of("backup"))
        monkeypatch.setattr(limits, field, 3)
        update_it = ((Verdict.UPDATE, Action.SUPERSEDE),)
        command = remember("The staging server listens on port 8081", vector=BASE)
        answer = store.do(type(command)(**_fields(command) | {"actions": update_it}))
        assert (answer.saved, answer.superseded_ids) == (True, ())
        assert unread(answer.guard) == {Method.COSINE: 1}
        (evidence,) = answer.guard.similar[0].judgement.evidence
        assert evidence.finding is Finding.OVER_BUDGET
        again = "The backup was moved to Berlin by Tom."
        assert store.do(remember(again, vector=vector_of("backup"))).saved
        assert store.one(known).superseded_by == ""

    def test_equal_text_and_equal_words_refuse_without_reading(
        self, store: Store, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        known = store.save("Tom moved the backup to Berlin.", vector=BASE)
        monkeypatch.setattr(limits, "READ_PIECES_MAX", 0)
        exact = store.do(remember("Tom moved  the backup to Berlin.", vector=BASE))
        words = near(store, "tom moved the backup to Berlin!", 0.2)
        assert [exact.memory_id, words.memory_id] == [known, known]
        assert words.guard.method is Method.JACCARD

    @pytest.mark.parametrize("preset", ["ego", "robotmem"])
    def test_presets_that_read_nothing_refuse_as_before(
        self, store: Store, monkeypatch: pytest.MonkeyPatch, preset: str
    ) -> None:
        monkeypatch.setattr(limits, "READ_PIECES_MAX", 0)
        store.do(change(("guard.preset", preset)))
        known = store.save("Tom moved the backup to Berlin.", vector=BASE)
        answer = near(store, "Backup in Berlin now, thanks to Tom", 0.99)
        assert answer.memory_id == known
        assert not unread(answer.guard)

    def test_answer_does_not_depend_on_caches_or_on_the_batch(self, tmp_path: Path) -> None:
        commands = [
            remember(tiny(number), vector=vector_at(BASE, 0.99, number)) for number in range(24)
        ]

        def answers(path: Path, together: bool, warm: bool) -> list[Any]:
            with opened(path) as store:
                apply = store.engine.apply_all
                parts = [commands] if together else [[command] for command in commands]
                found = []
                for part in parts:
                    if not warm:
                        forget_cached()
                    futures = apply(store.collection, [("", (command,)) for command in part])
                    found += [future.result(wait_s()).results[0] for future in futures]
            return [
                (item.saved, item.guard.verdict, unread(item.guard), len(item.links))
                for item in found
            ]

        alone = answers(tmp_path / "a", together=False, warm=False)
        assert any(layers for _, _, layers, _ in alone)
        assert answers(tmp_path / "b", together=True, warm=True) == alone

    def test_check_says_what_remember_answers(self, store: Store) -> None:
        for number in range(16):
            store.save(tiny(number), vector=vector_at(BASE, 0.98, number), force=True)
        command = remember(tiny(16), vector=BASE)
        checked = store.check(command)
        assert unread(checked.guard) == unread(store.do(command).guard) != {}


def _fields(command: Any) -> dict[str, Any]:
    return {name: getattr(command, name) for name in command.__dataclass_fields__}


class TestOtherCalls:
    def test_update_that_could_not_read_is_carried_out_and_says_so(
        self, store: Store, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        store.save("Tom moved the backup to Berlin.", vector=BASE)
        mine = store.save("Something else", vector=vector_of("else"))
        monkeypatch.setattr(limits, "READ_PIECES_MAX", 3)
        text = "The backup was moved to Berlin by Tom."
        answer = store.do(update(mine, content=text, vector=BASE))
        assert answer.updated
        assert unread(answer.guard) == {Method.COSINE: 1}

    def test_undo_that_could_not_read_brings_back(
        self, store: Store, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        gone = store.save("Tom moved the backup to Berlin.", vector=BASE)
        revision = store.apply(forget(gone)).revision
        store.save("The backup was moved to Berlin by Tom.", vector=BASE)
        assert not store.do(undo(revision)).undone
        monkeypatch.setattr(limits, "READ_PIECES_PER_OPERATION_MAX", 3)
        assert store.do(undo(revision)).undone

    def test_session_keeps_apart_and_counts_what_was_not_read(
        self, store: Store, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(limits, "SESSION_PIECES_READ_MAX", 3)
        for end in ("", " firmly", " firmly today"):
            text = f"the gripper holds cups at the blue station{end}"
            store.save(text, force=True, session_id="s")
        found = store.do(EndSession("anna", "s", measure=Measure.JACCARD))
        assert (found.unread_pair_count, found.superseded_count) == (3, 0)


class TestBudget:
    def test_text_is_paid_once_and_the_whole_pays_too(self) -> None:
        whole = ReadingBudget(10)
        own = ReadingBudget(6, within=whole)
        assert own.read("one two three", "one two three")
        assert own.read("one two three")
        assert not own.read("four five six seven")
        assert own.read("four five six")
        assert not own.read("eight")
        other = ReadingBudget(6, within=whole)
        assert other.read("one two three")
        assert not other.read("a b c d e")
        assert other.read("a b c d")

    @pytest.mark.parametrize(
        ("text", "count"),
        [
            ("", 0),
            ("Deploy at 12:30.", 8),
            ("サーバー", 4),
            ("我不吃鱼。", 5),
            ("나는 밥을 먹는다", 3),
            ("a_b", 3),
            ("½½½", 3),
            ("x" * 13, 2),
        ],
    )
    def test_pieces_are_counted_by_the_text_alone(self, text: str, count: int) -> None:
        assert pieces_in(text) == count

    def test_shared_sentences_at_both_ends_cost_nothing(self) -> None:
        note = " ".join(f"Sentence number {number} says something." for number in range(700))
        budget = ReadingBudget(60)
        longer = note.replace("Sentence number 350 ", "Sentence number 35 ")
        found = verdict.compare(longer, note, 0.99, CAREFUL, budget).judgement
        assert found.verdict is Verdict.UPDATE


@pytest.mark.parametrize("pieces", [0, 3, 9, 12, 16, 20, 24, 60])
def test_pair_that_was_compared_before_is_paid_for_again(pieces: int) -> None:
    texts = ["The door of the shed is red", "Note: the door of the shed is blue now", "A harp"]
    pairs = [(own, other) for own in texts for other in texts] * 2

    def compared(cold: bool) -> list[Any]:
        budget, found = ReadingBudget(pieces), []
        for own, other in pairs:
            if cold:
                forget_cached()
            found.append((verdict.compare(own, other, 0.9, CAREFUL, budget), budget._left))
        return found

    assert compared(cold=False) == compared(cold=True) == compared(cold=False)


@given(
    st.lists(st.sampled_from(["A b", "x?", "猫。", "c", "..", "e.g.", "1.2", "\n"]), max_size=12),
    st.lists(st.sampled_from(["A b", "x?", "猫。", "c", "..", "e.g.", "1.2", "\n"]), max_size=12),
    st.sampled_from(["", " ", ". ", "\n", "。"]),
)
def test_equal_ends_are_whole_sentences_of_both(
    own: Sequence[str], other: Sequence[str], mark: str
) -> None:
    texts = mark.join(own), mark.join(other)
    spans = without_equal_ends(*texts)
    (front, end), (other_front, other_end) = spans
    assert texts[0][:front] == texts[1][:other_front]
    assert texts[0][end:] == texts[1][other_end:]
    for text, (start, stop) in zip(texts, spans, strict=True):
        whole = [text[slice(*span)].strip() for span in sentences(text)]
        parts = (text[:start], text[start:stop], text[stop:])
        cut = [part[slice(*span)].strip() for part in parts for span in sentences(part)]
        assert cut == whole


PIECES = st.builds(
    Piece,
    start=st.integers(0, 0),
    end=st.integers(1, 1),
    key=st.sampled_from("abcdef"),
    type=st.sampled_from([PieceType.WORD, PieceType.NAME, PieceType.NUMBER, PieceType.DATE]),
    role=st.sampled_from(["", "agent", "patient"]),
    near=st.frozensets(st.sampled_from("uvw"), max_size=2),
    opposites=st.frozensets(st.sampled_from("abcdef"), max_size=2),
    weight=st.sampled_from([0.3, 1.0]),
)


@settings(max_examples=300)
@given(st.lists(PIECES, max_size=9), st.lists(PIECES, max_size=9))
def test_pairs_are_those_of_a_search_among_all(own: list[Piece], other: list[Piece]) -> None:
    own = [_at(piece, place) for place, piece in enumerate(own)]
    other = [_at(piece, place) for place, piece in enumerate(other)]
    aligned = align(own, other)
    found = {(pair.own.start, pair.other.start, pair.tie) for pair in aligned.pairs}
    same = {item for item in found if item[2] is Tie.SAME}
    assert found - same == _searched(own, other, same)


def _at(piece: Piece, place: int) -> Piece:
    return Piece(
        place, place + 1, piece.key, piece.type, piece.role, near=piece.near,
        opposites=piece.opposites, weight=piece.weight,
    )  # fmt: skip


def _searched(
    own: list[Piece], other: list[Piece], same: set[tuple[int, int, Tie]]
) -> set[tuple[int, int, Tie]]:
    """What each free piece is paired with, by asking all others in order."""
    free = [piece.start for piece in own if piece.start not in {mine for mine, _, _ in same}]
    free_other = [piece.start for piece in other if piece.start not in {its for _, its, _ in same}]
    named = (*VALUES, PieceType.NAME, PieceType.QUANTIFIER)
    tests = {
        Tie.NEAR: lambda a, b: bool(a.near & b.near),
        Tie.OPPOSITE: lambda a, b: b.key in a.opposites or a.key in b.opposites,
        Tie.OTHER_VALUE: lambda a, b: a.type in named and a.type is b.type,
        Tie.REPLACED: lambda a, b: (
            a.role == b.role != ""
            and {a.type, b.type} <= {PieceType.WORD, PieceType.NAME}
            and a.weight == b.weight
        ),
    }
    found = set()
    for tie, test in tests.items():
        for same_role in (True, False):
            for mine in list(free):
                for its in free_other:
                    fits = own[mine].role == other[its].role or not same_role
                    if fits and test(own[mine], other[its]):
                        found.add((mine, its, tie))
                        free.remove(mine)
                        free_other.remove(its)
                        break
    return found


MARKS = "\u0301\u0308\u0323\u0327\u0344\u0f73\u3099\u0345"


@given(st.text(st.sampled_from(MARKS + "ae\u00e9\u304b가 "), max_size=120))
def test_nfc_is_that_of_unicode(text: str) -> None:
    assert normalize.nfc(text) == unicodedata.normalize("NFC", text)


@given(st.text(st.sampled_from(MARKS), min_size=32, max_size=200))
def test_marks_are_in_order_before_they_are_composed(run: str) -> None:
    # Only then is `unicodedata` linear in the length of the run.
    match = normalize._MARKS.search(run)
    assert match is not None
    classes = [unicodedata.combining(mark) for mark in normalize._in_order(match)]
    assert classes == sorted(classes)
