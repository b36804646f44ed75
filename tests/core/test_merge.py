"""What several memories become: fields and links joined, and what a merged text loses."""

from __future__ import annotations

import itertools
import json
from dataclasses import replace
from typing import Any

import pytest

from totonoe_core.base import limits
from totonoe_core.domain.records import (
    ANY_TIME,
    Fields,
    Finding,
    Link,
    LinkType,
    Memory,
    StateKind,
    Status,
    TimeRange,
    TypedKey,
)
from totonoe_core.index.collection_index import same_key
from totonoe_core.rules.lost import lost_details
from totonoe_core.rules.merge import joined, links_after

_ROWS = itertools.count(1)


def memory(created_us: int = 100, **fields: Any) -> Memory:
    row = next(_ROWS)
    return Memory(
        row=row,
        id=f"mem_{row:012x}",
        content="text",
        content_hash=b"h",
        vector=b"v",
        agent_id="anna",
        fields=Fields(**fields),
        created_us=created_us,
        updated_us=created_us,
        status=Status.ACTIVE,
        superseded_by="",
        revision=row,
    )


def after(*memories: Memory) -> Fields:
    return joined(memories[0], memories[1:], same_key).fields


class TestFields:
    def test_alone_nothing_changes(self) -> None:
        one = memory(
            external_id="x",
            state_kind=StateKind.TASK,
            tags=("a", "b"),
            attributes={"n": [1, {"m": 2}]},
            payload={"p": 1},
            about_time=TimeRange(1, None),
            valid_from_us=3,
            last_confirmed_us=4,
            done_us=5,
            key=TypedKey("s", "a"),
        )
        same = memory(state_kind=StateKind.TASK, importance=1, confidence=0.1, salience=0.1)
        same = replace(same, fields=replace(same.fields, valid_from_us=3))
        assert joined(one, (), same_key) == one
        assert joined(one, [same], same_key) == one

    def test_highest_latest_and_earliest_are_taken(self) -> None:
        keep = memory(50, importance=2, confidence=0.9, salience=0.1, last_confirmed_us=7)
        low = memory(40, importance=5, confidence=0.2, salience=0.3)
        high = memory(60, importance=3, confidence=0.95, salience=0.2, last_confirmed_us=9)
        found = joined(keep, [low, high], same_key)
        fields = found.fields
        assert found.created_us == 40
        assert (fields.importance, fields.confidence, fields.salience) == (5, 0.95, 0.3)
        assert fields.last_confirmed_us == 9
        assert after(memory(), memory()).last_confirmed_us is None

    def test_what_names_one_memory_stays_that_of_the_keeper_or_it_takes_a_mood(self) -> None:
        own = {
            "external_id": "mine",
            "category": "note",
            "emotion": "calm",
            "perception_type": "seen",
            "life_stage": "now",
            "session_id": "s",
            "thread_id": "t",
            "payload": {"a": 1},
            "done_us": 3,
        }
        other = {name: f"other {value}" for name, value in own.items()} | {
            "payload": {"b": 2},
            "done_us": 9,
        }
        fields = after(memory(**own), memory(**other))
        assert {name: getattr(fields, name) for name in own} == own
        taken = {name: other[name] for name in ("emotion", "perception_type", "life_stage")}
        empty = {name: getattr(Fields(), name) for name in own}
        fields = after(memory(), memory(**other))
        assert {name: getattr(fields, name) for name in own} == empty | taken

    @pytest.mark.parametrize(
        ("name", "limit"),
        [
            ("tags", limits.TAGS_PER_MEMORY_MAX),
            ("entities", limits.ENTITIES_PER_MEMORY_MAX),
            ("evidence_ids", limits.EVIDENCE_IDS_PER_MEMORY_MAX),
        ],
    )
    def test_lists_are_joined_in_order_each_once_up_to_the_limit(
        self, name: str, limit: int
    ) -> None:
        fields = after(memory(**{name: ("b", "a")}), memory(**{name: ("c", "a")}), memory())
        assert getattr(fields, name) == ("b", "a", "c")
        many = tuple(f"own {number}" for number in range(limit - 1))
        fields = after(memory(**{name: many}), memory(**{name: ("x", "y")}))
        assert getattr(fields, name) == (*many, "x")

    def test_memory_is_no_evidence_of_itself(self) -> None:
        keep = memory(evidence_ids=("mem_000000aaaaaa",))
        assert after(keep, memory(evidence_ids=(keep.id, "mem_000000bbbbbb"))).evidence_ids == (
            "mem_000000aaaaaa",
            "mem_000000bbbbbb",
        )

    def test_attributes_first_value_wins_and_what_does_not_fit_is_left_out(self) -> None:
        fields = after(
            memory(attributes={"a": 1, "b": {"x": 1}}),
            memory(attributes={"b": 2, "c": 3}),
            memory(attributes={"c": 4, "d": 5}),
        )
        assert fields.attributes == {"a": 1, "b": {"x": 1}, "c": 3, "d": 5}
        big = "é" * 5000
        fields = after(
            memory(attributes={"a": big}),
            memory(attributes={"b": big}),
            memory(attributes={"c": 1}),
        )
        assert fields.attributes == {"a": big, "c": 1}

    def test_attributes_fill_their_limit_to_the_byte(self) -> None:
        def size(attributes: dict[str, Any]) -> int:
            return len(json.dumps(attributes, ensure_ascii=False, separators=(",", ":")).encode())

        room = limits.ATTRIBUTES_BYTES_MAX - size({"a": "", "b": ""})
        keep = memory(attributes={"a": "x" * 100})
        fits = after(keep, memory(attributes={"b": "x" * (room - 100)})).attributes
        assert size(fits) == limits.ATTRIBUTES_BYTES_MAX
        assert "b" not in after(keep, memory(attributes={"b": "x" * (room - 99)})).attributes

    @pytest.mark.parametrize(
        ("own", "other", "expected"),
        [
            ((10, 20), (15, 40), (10, 40)),
            ((10, 20), (5, 8), (5, 20)),
            ((10, 20), (5, None), (5, None)),
            ((None, 20), (5, 30), (None, 30)),
            ((10, 20), (None, None), (None, None)),
            ((None, None), (None, None), (None, None)),
            ((0, 20), (5, 30), (0, 30)),
        ],
    )
    def test_validity_is_joined_and_open_ends_stay_open(self, own, other, expected) -> None:
        fields = after(
            *(memory(valid_from_us=first, valid_to_us=last) for first, last in (own, other))
        )
        assert (fields.valid_from_us, fields.valid_to_us) == expected

    def test_about_time_is_joined_of_those_that_name_one(self) -> None:
        def about(*ranges: TimeRange) -> TimeRange:
            return after(*(memory(about_time=span) for span in ranges)).about_time

        assert about(TimeRange(5, 9), ANY_TIME, TimeRange(1, 7)) == TimeRange(1, 9)
        assert about(ANY_TIME, TimeRange(1, 7)) == TimeRange(1, 7)
        assert about(TimeRange(5, 9), TimeRange(7, None)) == TimeRange(5, None)
        assert about(ANY_TIME, ANY_TIME) == ANY_TIME

    def test_key_is_the_keepers_or_the_only_one(self) -> None:
        port, host = TypedKey("api", "port"), TypedKey("api", "host")
        shouted = TypedKey("API", "Port")
        assert after(memory(key=port), memory(key=host)).key == port
        assert after(memory(), memory(key=host), memory()).key == host
        assert after(memory(), memory(key=host), memory(key=port)).key is None
        assert after(memory(), memory(key=port), memory(key=shouted)).key == port
        assert after(memory(), memory()).key is None


class TestLinks:
    def test_links_among_the_merged_vanish_and_of_doubles_the_stronger_stays(self) -> None:
        related, updates = LinkType.RELATED, LinkType.UPDATES
        own = [
            (7, Link("g", related, 0.5, "own")),
            (8, Link("h", related, 0.9, "own")),
            (2, Link("b", related, 1.0)),
        ]
        brought = [
            (7, Link("g", related, 0.6, "brought")),
            (7, Link("g", updates, 0.1)),
            (8, Link("h", related, 0.9, "brought")),
            (1, Link("a", related, 1.0)),
            (3, Link("c", related, 1.0)),
        ]
        assert links_after(own, brought, {1, 2, 3}) == {
            (8, related): Link("h", related, 0.9, "own"),
            (7, related): Link("g", related, 0.6, "brought"),
            (7, updates): Link("g", updates, 0.1),
        }

    def test_weakest_beyond_the_limit_are_left_out_own_ones_last(self) -> None:
        limit = limits.LINKS_PER_MEMORY_MAX
        own = [(row, Link(str(row), LinkType.RELATED, 0.5)) for row in range(10, 10 + limit)]
        weak = (9000, Link("weak", LinkType.RELATED, 0.5))
        strong = (9001, Link("strong", LinkType.RELATED, 0.6))
        found = links_after(own, [weak, strong], {1, 2})
        assert len(found) == limit
        assert (9001, LinkType.RELATED) in found
        assert (9000, LinkType.RELATED) not in found
        assert (10 + limit - 1, LinkType.RELATED) not in found


def lost(source: str, merged: str) -> list[tuple[Finding, str]]:
    """Values and names that are lost."""
    return [item for item in all_lost(source, merged) if item[0] is not Finding.MISSING]


def all_lost(source: str, merged: str) -> list[tuple[Finding, str]]:
    """Words too."""
    found = lost_details([("mem_a", source)], merged)
    assert all(source[slice(*detail.place)] == detail.text for detail in found)
    assert all(detail.memory_id == "mem_a" for detail in found)
    return [(detail.finding, detail.text) for detail in found]


class TestLostDetails:
    def test_every_kind_is_told_in_english(self) -> None:
        text = (
            'On 2024-03-05 at 14:30 Alice saw 17 errors and 3 kg in v1.2.3 of /etc/app.conf: "no '
            'route" for SR-2023-052'
        )
        assert lost(text, "Something was seen") == [
            (Finding.DATE, "2024-03-05"),
            (Finding.TIME, "14:30"),
            (Finding.NAME, "Alice"),
            (Finding.NUMBER, "17"),
            (Finding.QUANTITY, "3 kg"),
            (Finding.VERSION, "v1.2.3"),
            (Finding.PATH, "/etc/app.conf"),
            (Finding.QUOTE, '"no route"'),
            (Finding.IDENTIFIER, "SR-2023-052"),
        ]
        assert lost(text, text + " and more") == []

    @pytest.mark.parametrize(
        ("source", "merged", "expected"),
        [
            (
                "サーバーは8081番で、田中さんが2024年3月5日に東京で1kgを払う。",
                "サーバーは8080番で、鈴木さんが払う。",
                ["8081番", "田中", "2024年3月5日", "東京", "1kg"],
            ),
            (
                "张伟在2024年3月5日下午2点30分在北京付了1公斤。",
                "李娜付了2公斤。",
                ["张伟", "2024年3月5日", "下午2点30分", "1公斤"],
            ),
            (
                "Le port est 8080 et Marie paie 3,5 kg le 5 mars 2024 à Paris.",
                "Le port est 8081 et Luc paie.",
                ["8080", "Marie", "3,5 kg", "5 mars 2024", "Paris"],
            ),
            (
                "Der Port ist 8080 am 5. März 2024 um 14:30 Uhr, 1 kg.",
                "Der Port ist 8081.",
                ["8080", "5. März 2024", "14:30 Uhr", "1 kg"],
            ),
            (
                "Порт 8080, 1 кг, 5 марта 2024 года.",
                "Порт 8081.",
                ["8080", "1 кг", "5 марта 2024 года"],
            ),
            ("2024년 3월 5일에 8080 포트를 쓴다.", "포트를 쓴다.", ["2024년 3월 5일", "8080"]),
        ],
    )
    def test_other_languages(self, source: str, merged: str, expected: list[str]) -> None:
        assert [text for _, text in lost(source, merged)] == expected

    @pytest.mark.parametrize(
        ("source", "merged"),
        [
            ("It weighs 1 kg", "It weighs 1000 g"),
            ("The port is 8080", "The port is 8,080"),
            ("We meet at 14:30", "We meet at 2:30 pm"),
            ("We meet on 2024-03-05", "We meet on March 5, 2024"),
            ("There are three cats", "There are 3 cats"),
            ("2024年3月5日に8080番を使う", "On March 5, 2024 we use 8080番"),
            ('He said "use port 8080"', "Use port 8080, he said"),
            ("The port is 8080", 'He said "use port 8080"'),
            ("Alice likes tea", "Tea is what ALICE likes"),
            ("東京で会う", "会うのは東京駅の前"),
        ],
    )
    def test_same_value_in_another_notation_is_not_lost(self, source: str, merged: str) -> None:
        assert lost(source, merged) == []

    @pytest.mark.parametrize(
        ("source", "merged", "text"),
        [
            ("Use v1.2 of it", "Use v1.2.3 of it", "v1.2"),
            ("See /etc/app.conf there", "See /etc/app.conf.bak there", "/etc/app.conf"),
            ("The port is 80", "The port is 8080", "80"),
            ("It takes 5 seconds", "It takes 5 minutes", "5 seconds"),
            ("We asked Ann", "We asked Annabel", "Ann"),
        ],
    )
    def test_part_of_another_value_does_not_count(
        self, source: str, merged: str, text: str
    ) -> None:
        assert [found for _, found in lost(source, merged)] == [text]

    def test_each_detail_once_a_source_in_order(self) -> None:
        sources = [("a", "Port 81, then port 82, then port 81"), ("b", "Port 82"), ("c", "Port 83")]
        found = [detail for detail in lost_details(sources, "Port 83, then port") if detail.text]
        assert [(detail.memory_id, detail.text) for detail in found] == [
            ("a", "81"),
            ("a", "82"),
            ("b", "82"),
        ]

    def test_long_texts_are_read_by_sentences_with_their_places(self) -> None:
        text = "This says nothing at all. " * 100 + "Then Alice took 17 of them."
        assert lost(text, "Nothing is said.") == [(Finding.NAME, "Alice"), (Finding.NUMBER, "17")]

    def test_texts_and_answers_are_bounded(self) -> None:
        numbers = ", ".join(str(number) for number in range(100, 100 + 2 * limits.LOST_DETAILS_MAX))
        found = lost_details([("a", numbers)], "nothing")
        assert len(found) == limits.LOST_DETAILS_MAX
        assert found[0].text == "100"
        quote = '"' + "long words " * 20 + '"'
        (one,) = lost_details([("a", quote)], "nothing")
        assert len(one.text) <= limits.EVIDENCE_CHARS
        fill = ("a", "word " * limits.LOST_SCANNED_PIECES_MAX)
        found = lost_details([fill, ("b", "Port 80")], "nothing")
        assert [detail.memory_id for detail in found] == ["a"]
        assert lost_details([("b", "Port 80")], "1 " * (limits.LOST_SCANNED_PIECES_MAX + 1)) == ()

    @pytest.mark.parametrize(
        ("source", "merged", "expected"),
        [
            ("Maria drinks coffee with oat milk.", "Maria drinks coffee.", ["with oat milk"]),
            (
                "Deploy to production after the smoke tests.",
                "Deploy to production.",
                ["after the smoke tests"],
            ),
            (
                "The cat sleeps on the red sofa. It snores.",
                "The cat sleeps.",
                ["on the red sofa", "snores"],
            ),
            ("Er trinkt Kaffee mit Hafermilch.", "Er trinkt Kaffee.", ["mit Hafermilch"]),
            (
                "彼はオーツミルク入りのコーヒーを飲む。",
                "彼はコーヒーを飲む。",
                ["オーツミルク入り"],
            ),
            ("나는 귀리 우유를 넣은 커피를 마신다", "나는 커피를 마신다", ["귀리 우유를 넣은"]),
            # No reader knows these: their tokens are compared.
            ("يشرب قهوة مع حليب", "يشرب قهوة", ["مع حليب"]),
            ("Hän juo kahvia kauramaidolla", "Hän juo kahvia", ["kauramaidolla"]),
            # Between the same words.
            ("Tom does not like tea.", "Tom likes tea.", ["like"]),
            ("Ann manages Bob.", "Bob manages Ann.", ["Ann manages Bob"]),
            ("You must deploy on Friday.", "Deploy on Friday.", ["deploy"]),
            ("The key is under the mat.", "The key is near the mat.", ["is under"]),
        ],
    )
    def test_words_are_told_with_those_that_belong_to_them(
        self, source: str, merged: str, expected: list[str]
    ) -> None:
        assert [text for _, text in all_lost(source, merged)] == expected

    @pytest.mark.parametrize(
        ("source", "merged"),
        [
            ("Maria drinks coffee.", "Tom drinks tea. Maria drinks coffee with oat milk."),
            ("Tests run on every push", "Tests run on each push, and the linter runs as well."),
            ("The API key is rotated monthly by Bob", "Bob rotates the API key every month"),
            ("Ann manages Bob.", "Bob is managed by Ann."),
            ("Alice likes tea", "Tea is what ALICE likes"),
        ],
    )
    def test_same_in_other_words_is_not_lost(self, source: str, merged: str) -> None:
        assert all_lost(source, merged) == []

    def test_words_beyond_what_is_read_are_compared_by_tokens(self) -> None:
        fill = "The cat sleeps here. " * limits.LOST_READ_PIECES_MAX
        text = fill[: 8 * limits.LOST_READ_PIECES_MAX] + "And the dog barks."
        assert [wording for _, wording in all_lost(text, "The cat sleeps here.")][
            -1
        ] == "the dog barks"

    def test_what_no_reader_knows_is_no_error(self) -> None:
        assert lost("ვერსია 12", "nothing") == [(Finding.NUMBER, "12")]
        assert lost("...", "!!!") == []
