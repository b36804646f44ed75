"""The verdict on two texts, apart from what a reader makes of them: alignment, marks, sentences."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from totonoe_core.domain.calibration import CAREFUL, SHIPPED, Calibration, effective, weights_for
from totonoe_core.domain.records import Finding, ModelIdentity, Verdict
from totonoe_core.domain.weights import Features
from totonoe_core.engine.state.caches import forget_cached
from totonoe_core.guard.alignment import Tie, align
from totonoe_core.guard.differences import differences
from totonoe_core.guard.marks import marks, same_marks
from totonoe_core.guard.sentences import form_of, sentences, unshared
from totonoe_core.guard.traits import traits_of
from totonoe_core.guard.verdict import _compared_freely, compare, judged
from totonoe_core.text.reading.budget import pieces_in
from totonoe_core.text.reading.language import common_language, languages
from totonoe_core.text.reading.model import Piece, PieceType, Reading, Role

WEIGHTS = SHIPPED[0].weights


def pieces(*keys: str, **every) -> tuple[Piece, ...]:
    return tuple(Piece(at, at + 1, key, **every) for at, key in enumerate(keys))


def found(own: tuple[Piece, ...], other: tuple[Piece, ...]) -> set[Finding]:
    readings = Reading("xx", own), Reading("xx", other)
    return {line.finding for line in differences(*readings, align(own, other))}


class TestAlignment:
    def test_equal_keys_are_paired_in_the_part_that_they_share(self) -> None:
        own = (Piece(0, 1, "bob", role="agent"), Piece(1, 2, "bob", role="patient"))
        other = (Piece(0, 1, "bob", role="patient"), Piece(1, 2, "bob", role="agent"))
        aligned = align(own, other)
        assert {(pair.own.role, pair.other.role) for pair in aligned.pairs} == {
            ("agent", "agent"),
            ("patient", "patient"),
        }

    def test_what_hangs_together_loosely_comes_after_what_is_equal(self) -> None:
        person = frozenset({"person"})
        own = (Piece(0, 1, "man", near=person), Piece(1, 2, "person", near=person))
        other = (Piece(0, 1, "person", near=person), Piece(1, 2, "human", near=person))
        ties = {(pair.own.key, pair.other.key): pair.tie for pair in align(own, other).pairs}
        assert ties == {("person", "person"): Tie.SAME, ("man", "human"): Tie.NEAR}

    def test_opposites_and_other_values_are_paired_to_be_named(self) -> None:
        own = (
            Piece(0, 1, "enable", opposites=frozenset({"disable"})),
            Piece(1, 2, "8080", PieceType.NUMBER),
        )
        other = (Piece(0, 1, "disable"), Piece(1, 2, "8081", PieceType.NUMBER))
        assert [pair.tie for pair in align(own, other).pairs] == [Tie.OPPOSITE, Tie.OTHER_VALUE]

    def test_a_value_is_never_paired_with_another_type(self) -> None:
        own, other = pieces("5", type=PieceType.NUMBER), pieces("5 kg", type=PieceType.QUANTITY)
        aligned = align(own, other)
        assert not aligned.pairs
        assert (aligned.added, aligned.missing) == (own, other)

    def test_moved_is_what_lies_outside_of_one_longest_common_order(self) -> None:
        aligned = align(pieces("a", "b", "c", "d"), pieces("d", "a", "b", "c"))
        assert [pair.own.key for pair in aligned.pairs if pair.moved] == ["d"]

    @given(
        st.lists(st.sampled_from("abcde"), max_size=8),
        st.lists(st.sampled_from("abcde"), max_size=8),
    )
    def test_every_piece_is_paired_once_or_left_over(self, own, other) -> None:
        mine, theirs = pieces(*own), pieces(*other)
        aligned = align(mine, theirs)
        here = [pair.own for pair in aligned.pairs] + list(aligned.added)
        there = [pair.other for pair in aligned.pairs] + list(aligned.missing)
        assert sorted(piece.start for piece in here) == list(range(len(own)))
        assert sorted(piece.start for piece in there) == list(range(len(other)))


class TestDifferences:
    BASE = Piece(0, 1, "run")

    @pytest.mark.parametrize(
        ("change", "finding"),
        [
            ({"negated": True}, Finding.POLARITY),
            ({"modality": "want"}, Finding.MODALITY),
            ({"tense": "past"}, Finding.TENSE),
            ({"tense": "future"}, Finding.TENSE),
        ],
    )
    def test_attributes_that_differ_are_named(self, change, finding: Finding) -> None:
        assert found((self.BASE,), (replace(self.BASE, **change),)) == {finding}

    def test_opposite_denied_says_the_same(self) -> None:
        opened = Piece(0, 1, "open", opposites=frozenset({"shut"}))
        assert found((opened,), (Piece(0, 1, "shut"),)) == {Finding.OPPOSITE}
        assert not found((replace(opened, negated=True),), (Piece(0, 1, "shut"),))

    def test_agent_and_patient_changing_places_is_another_statement(self) -> None:
        ann, bob = Piece(0, 1, "ann", role=Role.AGENT), Piece(2, 3, "bob", role=Role.PATIENT)
        swapped = replace(bob, role=Role.AGENT, start=0, end=1), replace(ann, role=Role.PATIENT)
        assert Finding.ROLE in found((ann, bob), swapped)

    def test_words_in_another_order_need_known_parts(self) -> None:
        assert found(pieces("a", "b"), pieces("b", "a")) == {Finding.ORDER}
        known = [
            Piece(0, 1, "a", role="prep:in", head="v"),
            Piece(1, 2, "b", role="agent", head="v"),
        ]
        assert not found(tuple(known), tuple(reversed(known)))

    def test_modifiers_that_changed_their_words_are_named(self) -> None:
        def coloured(first: str, second: str) -> tuple[Piece, ...]:
            return (
                Piece(0, 1, first, role=Role.MODIFIER, head="dog"),
                Piece(1, 2, "dog", role="agent"),
                Piece(2, 3, second, role=Role.MODIFIER, head="car"),
                Piece(3, 4, "car", role="patient"),
            )

        assert Finding.ORDER in found(coloured("white", "red"), coloured("red", "white"))
        assert not found(coloured("white", "red"), coloured("white", "red"))

    def test_quantifier_of_one_text_alone_is_named(self) -> None:
        only = Piece(5, 6, "only", PieceType.QUANTIFIER)
        assert found((self.BASE, only), (self.BASE,)) == {Finding.QUANTIFIER}


class TestWhatItIsAbout:
    @pytest.mark.parametrize(
        ("own", "other", "verdict"),
        [
            ("Project Elm uses tabs", "Project Larch uses tabs", Verdict.RELATED),
            ("Anna lives in Paris", "Anna lives in Berlin", Verdict.UPDATE),
            ("東京支社はフレックス制だ", "大阪支社はフレックス制だ", Verdict.RELATED),
            ("北京办公室提供早餐", "广州办公室提供早餐", Verdict.RELATED),
        ],
    )
    def test_another_subject_is_another_fact(self, own: str, other: str, verdict: Verdict) -> None:
        judged = compare(own, other, 0.95, WEIGHTS).judgement
        assert judged.verdict is verdict
        subject = Finding.SUBJECT in {line.finding for line in judged.evidence}
        assert subject is (verdict is Verdict.RELATED)

    def test_denial_of_a_topic_is_a_contradiction(self) -> None:
        judged = compare("コーヒーは好きではない。", "コーヒーが好きです。", 0.9, WEIGHTS).judgement
        assert judged.verdict is Verdict.CONTRADICTION

    def test_what_one_text_alone_limits_is_more_detail(self) -> None:
        judged = compare("Back up the database every night", "Back up the database", 0.9, WEIGHTS)
        assert judged.judgement.verdict is Verdict.REFINEMENT

    def test_sentences_out_of_a_note_are_part_of_it(self) -> None:
        note = "The belt broke. The motor is fine. A new belt comes on Monday."
        judged = compare("The motor is fine.", note, 0.3, WEIGHTS).judgement
        assert (judged.verdict, judged.evidence[0].finding) == (Verdict.CONTAINED, Finding.MISSING)


@pytest.mark.parametrize(
    ("own", "other"),
    [
        ("Rinse the pot. Boil the water.", "Boil the water. Rinse the pot."),
        ("Seal the bag and weigh the bag.", "Weigh the bag and seal the bag."),
        ("Save, close and lock the file", "Lock, save and close the file"),
        (
            "The mast is tall. It sways. The hull is new.",
            "The mast is tall. The hull is new. It sways.",
        ),
        ("Guides: Ann and Bob. Guests: Tim.", "Guides: Ann. Guests: Bob and Tim."),
        ("栓を抜く。瓶を傾ける。", "瓶を傾ける。栓を抜く。"),
    ],
)
def test_steps_in_another_order_are_no_duplicate(own: str, other: str) -> None:
    judged = compare(own, other, 0.98, WEIGHTS).judgement
    assert judged.verdict is Verdict.RELATED
    assert Finding.ORDER in {line.finding for line in judged.evidence}


@pytest.mark.parametrize(
    ("own", "other"),
    [
        ("The horse drinks. The cow eats.", "The cow eats. The horse drinks."),
        ("The limit is 40 and the unit is metres.", "The unit is metres and the limit is 40."),
        ("If the alarm rings, leave the hall.", "Leave the hall if the alarm rings."),
        ("If the tank is full, close the tap.", "Close the tap if the tank is full."),
    ],
)
def test_what_has_its_own_subject_may_stand_anywhere(own: str, other: str) -> None:
    assert compare(own, other, 0.95, WEIGHTS).judgement.verdict is Verdict.DUPLICATE


@pytest.mark.parametrize(
    ("own", "other"),
    [
        ("Plan: Ann leads the lab", "Fact: Ann leads the lab"),
        ("Old rule: no deploys on Friday", "New rule: no deploys on Friday"),
        ("User request: larger fonts", "Team request: larger fonts"),
    ],
)
def test_labels_of_two_sorts_make_no_duplicate(own: str, other: str) -> None:
    judged = compare(own, other, 0.95, WEIGHTS).judgement
    assert (judged.verdict, judged.evidence[0].finding) == (Verdict.RELATED, Finding.REPLACED)
    assert judged.same_probability <= 0.5


@pytest.mark.parametrize(
    ("own", "other"),
    [
        ("Plan: Ann leads the lab", "Ann leads the lab"),
        ("Note: Ann leads the lab", "Fact: Ann leads the lab"),
        ("Team decision: Ann leads the lab", "Decision: Ann leads the lab"),
        ("Convention: no deploys on Friday", "Rule: no deploys on Friday"),
    ],
)
def test_labels_of_one_sort_are_set_aside(own: str, other: str) -> None:
    assert compare(own, other, 0.95, WEIGHTS).judgement.verdict is Verdict.DUPLICATE


class TestMarks:
    @pytest.mark.parametrize(
        ("own", "other"),
        [("a == b", "a != b"), ("if (ready)", "if (!ready)"), ("C", "C++"), ("a.b", "a*b"),
         ("x <3", "x >3"), ("a && b", "a || b"), ("a → b", "a ← b"),
         ("a / b", "a - b"), ("❌ force push", "force push"), ("~~use npm~~", "use npm"),
         ("☑ milk ☐ bread", "☐ milk ☑ bread"), ("★★ food", "★ food")],
    )  # fmt: skip
    def test_operators_and_symbols_differ(self, own: str, other: str) -> None:
        def of(text: str) -> tuple[str, str, str]:
            return marks(text, [Piece(0, len(text), "word")])

        assert not same_marks(of(own), of(other))
        assert same_marks(of(own), of(own))

    @pytest.mark.parametrize(
        ("own", "other"),
        [
            ("tea ✓ milk ✗", "milk ✓ tea ✗"),
            ("A ✓ B ✗", "B ✓ A ✗"),
            ("散装√ 礼盒×", "礼盒√ 散装×"),
            ("散装○ 礼盒×", "散装× 礼盒○"),
            ("お茶○ 牛乳×", "牛乳○ お茶×"),
        ],
    )
    def test_marks_that_may_stand_at_other_words_are_no_duplicate(
        self, own: str, other: str
    ) -> None:
        found = compare(own, other, 0.95, WEIGHTS).judgement
        assert found.verdict is not Verdict.DUPLICATE
        assert Finding.SYMBOL in {line.finding for line in found.evidence}

    def test_emoji_of_both_texts_is_decoration(self) -> None:
        found = compare("The deploy is done 🎉", "🎉 The deploy is done!", 0.95, WEIGHTS).judgement
        assert found.verdict is Verdict.DUPLICATE

    def test_arrow_of_two_signs_is_one(self) -> None:
        pieces = [Piece(0, 9, "word")]
        assert same_marks(marks("home -> x", pieces), marks("home → x", pieces))

    @pytest.mark.parametrize(("own", "other"), [("a & b", "a and b"), ("a - b", "a, b")])
    def test_joint_may_be_left_out(self, own: str, other: str) -> None:
        pieces = [Piece(0, 5, "word")]
        assert same_marks(marks(own, pieces), marks(other, pieces))

    @pytest.mark.parametrize("text", ["Done!", "Done 🎉", "- done", "# done", "* done *", "done?!"])
    def test_format_and_decoration_do_not(self, text: str) -> None:
        at = text.lower().index("done")
        mine = marks(text, [Piece(at, at + 4, "do")])
        assert same_marks(mine, marks("done", [Piece(0, 4, "do")]))


class TestSentences:
    def test_full_stop_in_a_number_or_path_ends_nothing(self) -> None:
        text = "It costs 3.50 in main.py. Right? 好。是"
        assert [text[slice(*span)].strip() for span in sentences(text)] == [
            "It costs 3.50 in main.py.", "Right?", "好。", "是",
        ]  # fmt: skip

    def test_shared_beginning_and_end_are_set_aside(self) -> None:
        own, other = "Red dogs bark. Cats purr. Birds sing.", "red dogs bark! Mice hide. Birds sing"
        own_at, other_at = unshared(own, other)
        assert (own[slice(*own_at)].strip(), other[slice(*other_at)].strip()) == (
            "Cats purr.",
            "Mice hide.",
        )

    @given(
        st.text(alphabet="ab .!?。\n1", max_size=60), st.text(alphabet="ab .!?。\n1", max_size=60)
    )
    def test_stretches_lie_within_their_texts(self, own: str, other: str) -> None:
        for text, (start, end) in zip((own, other), unshared(own, other), strict=True):
            assert 0 <= start <= end <= len(text)


TEXTS = [
    "Ann manages Bob",
    "Bob manages Ann",
    "Bob is managed by Ann",
    "Ann does not manage Bob",
    "The port is 8080",
    "The port is 8081",
    "The server port is 8080",
    "Always rebase",
    "Never rebase",
    "田中さんが佐藤さんを褒めた",
    "佐藤さんが田中さんを褒めた",
    "コーヒーが好きではない",
    "コーヒーが好き",
    "张伟管理李娜",
    "李娜管理张伟",
    "允许部署",
    "不允许部署",
    "🎉",
    "",
    "x == y",
    "Первый сервер",
    "The cat sleeps. The port is 8080.",
    "Der Port ist 8080",
    "포트는 8080이다",
]
MIRRORED = {Finding.ADDED: Finding.MISSING, Finding.MISSING: Finding.ADDED}
MIRRORED_VERDICTS = {
    Verdict.REFINEMENT: Verdict.CONTAINED,
    Verdict.CONTAINED: Verdict.REFINEMENT,
}


@settings(deadline=None, max_examples=60)
@given(st.sampled_from(TEXTS), st.sampled_from(TEXTS), st.floats(-1.0, 1.0))
def test_verdict_asked_the_other_way_round_is_the_same_mirrored(own, other, cosine) -> None:
    here = compare(own, other, cosine, WEIGHTS).judgement
    there = compare(other, own, cosine, WEIGHTS).judgement
    mirrored = MIRRORED_VERDICTS.get(here.verdict, here.verdict)
    assert (mirrored, here.same_probability) == (there.verdict, there.same_probability)
    assert [
        (MIRRORED.get(line.finding, line.finding), line.other, line.own) for line in here.evidence
    ] == [(line.finding, line.own, line.other) for line in there.evidence]
    for line in here.evidence:
        assert own[slice(*line.own)].strip().startswith(line.own_text[:20].rstrip("…"))


@settings(deadline=None, max_examples=60)
@given(st.sampled_from(TEXTS), st.sampled_from(TEXTS))
def test_verdict_of_texts_that_are_equal_needs_no_cosine(own, other) -> None:
    judged = compare(own, other, -1.0, CAREFUL).judgement
    if own == other:
        assert (judged.verdict, judged.same_probability) == (Verdict.DUPLICATE, 1.0)


@settings(deadline=None, max_examples=80)
@given(st.text(max_size=80), st.text(max_size=80), st.floats(-1.0, 1.0))
def test_any_two_texts_get_a_verdict(own: str, other: str, cosine: float) -> None:
    judged = compare(own, other, cosine, WEIGHTS).judgement
    assert 0.0 <= judged.same_probability <= 1.0
    assert len(judged.evidence) <= 8


def test_higher_cosine_never_makes_a_rewording_less_likely() -> None:
    last = 0.0
    for step in range(-10, 11):
        probability = Features(step / 10, near=0.1).probability(WEIGHTS)
        assert probability >= last
        last = probability


class TestCalibration:
    OTHER = ModelIdentity("other", "1", "", 8)

    def test_bundled_model_has_one_that_ships(self) -> None:
        bundled = replace(SHIPPED[0].model, weights_sha256="ab")
        assert effective(None, bundled) is SHIPPED[0]

    def test_unknown_model_is_careful(self) -> None:
        assert weights_for(None, self.OTHER) is CAREFUL
        loose = Features(1.0, near=0.05)
        assert loose.probability(CAREFUL) < CAREFUL.at_least <= Features(0.0).probability(CAREFUL)

    def test_own_one_counts_only_for_its_model(self) -> None:
        own = Calibration(self.OTHER, WEIGHTS, 0.005, 0.0, 0.5, 10)
        assert effective(own, self.OTHER) is own
        assert effective(own, SHIPPED[0].model) is SHIPPED[0]


class TestLanguages:
    @pytest.mark.parametrize(
        ("text", "first"),
        [("The cat is here", "en"), ("Die Katze ist hier", "de"), ("Le chat est dans le lit", "fr"),
         ("El gato está aquí", "es"), ("O gato não está", "pt"), ("Il gatto non è nel letto", "it"),
         ("Кот здесь", "ru"), ("고양이가 있다", "ko"), ("猫がいる", "ja"), ("猫在这里", "zh"),
         ("restart nginx", "en")],
    )  # fmt: skip
    def test_language_by_script_or_function_words(self, text: str, first: str) -> None:
        assert languages(text)[0] == first

    def test_han_alone_takes_the_language_of_the_other_text(self) -> None:
        assert common_language("本番環境", "本番の環境を消す") == "ja"
        assert common_language("数据库备份", "备份了数据库") == "zh"
        assert common_language("猫在这里", "The cat is here now") == ""
        assert common_language("Reno 4", "手机是 Reno 4 吗") == "zh"


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("PR 412 was merged by Ann", "PR 413 was merged by Ann"),
        ("Ticket 88 is blocked by review", "Ticket 89 is blocked by review"),
        ("Issue 12 is fixed in run 9", "Issue 12 is fixed in run 10"),
        ("Line 40 of main.py has a typo", "Line 41 of main.py has a typo"),
        ("工单 4312 已关闭", "工单 4313 已关闭"),
        ("main.py 第 40 行有错误", "main.py 第 41 行有错误"),
        ("ビルド 812 が失敗した", "ビルド 813 が失敗した"),
        ("main.py の 40 行目に誤りがある", "main.py の 41 行目に誤りがある"),
    ],
)
def test_another_number_in_a_name_is_related_and_no_update(one: str, other: str) -> None:
    for own, there in ((one, other), (other, one)):
        found = judged(own, there, 0.95, CAREFUL)
        assert found.verdict is Verdict.RELATED
        assert found.evidence[0].finding is Finding.IDENTIFIER


@pytest.mark.parametrize(
    ("one", "other", "verdict"),
    [
        ("Tom is on call on Monday", "Priya is on call on Tuesday", Verdict.RELATED),
        ("The primary is Tom and the port is 5433", "The primary is Priya and the port is 5434",
         Verdict.RELATED),
        ("The api runs on port 8080 in Osaka", "The api runs on port 8081 in Tokyo",
         Verdict.RELATED),
        ("Deploys happen on Friday at 10:00", "Deploys happen on Monday at 11:00", Verdict.UPDATE),
        ("8 workers are busy, 2 idle", "3 workers are busy, 7 idle", Verdict.UPDATE),
        ("The api runs on port 8080 in Osaka", "The api runs on port 8081 in Osaka",
         Verdict.UPDATE),
    ],
)  # fmt: skip
def test_two_exchanged_contents_are_no_update(one: str, other: str, verdict: Verdict) -> None:
    assert judged(one, other, 0.95, CAREFUL).verdict is verdict
    assert judged(other, one, 0.95, CAREFUL).verdict is verdict


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("The lamp in the attic is on.", "The lamp in the attic is off."),
        ("Debug logging was off in staging.", "Debug logging was on in staging."),
        ("The light is on and the door is locked.", "The light is off and the door is locked."),
        ("Dr. Okafor is in.", "Dr. Okafor is out."),
    ],
)
def test_state_that_is_a_particle_contradicts_its_contrary(one: str, other: str) -> None:
    for own, said in ((one, other), (other, one)):
        found = judged(own, said, 0.95, CAREFUL)
        assert (found.verdict, found.hard) == (Verdict.CONTRADICTION, True)


def test_forget_cached_after_a_comparison_holds_no_text():
    compare("The lab door code is 4711.", "The lab door code is 4712. Ask Priya.", 0.9, WEIGHTS)
    caches = (traits_of, form_of, pieces_in, _compared_freely)
    assert all(cache.count for cache in caches)
    forget_cached()
    assert not any(cache.count for cache in caches)
