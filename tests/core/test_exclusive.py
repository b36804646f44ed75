"""Certainly exclusive: what a newer statement would replace, and what both texts may say."""

from __future__ import annotations

import pytest

from totonoe_core.domain.calibration import CAREFUL
from totonoe_core.domain.records import Evidence, Finding, Judgement, Verdict
from totonoe_core.guard.exclusive import certainly_exclusive
from totonoe_core.guard.probe import probe_pairs
from totonoe_core.guard.verdict import judged

ONE_VALUE = [
    (
        "The timeout of the billing service is 30 seconds.",
        "The timeout of the billing service is 60 seconds.",
    ),
    ("Postgres runs on port 5433.", "Postgres runs on port 5434."),
    ("ポートは5433です。", "ポートは5434です。"),
    ("端口是5433。", "端口是5434。"),
    ("The event is May 29.", "The event is June 5."),
    ("The demo is on Tuesday.", "The demo is on Thursday."),
    ("The standup is at 10:00.", "The standup is at 10:15."),
    ("The team has 4 engineers.", "The team has 5 engineers."),
    ("Python version is 3.11.", "Python version is 3.12."),
    ("The API host is api1.example.com.", "The API host is api2.example.com."),
    ("Production is at commit a1b2c3d.", "Production is at commit f9e8d7c."),
    ("The docs are at https://a.example.com/x.", "The docs are at https://b.example.com/x."),
]
DENIED = [
    ("Tomás is allergic to peanuts.", "Tomás is not allergic to peanuts."),
    ("The user eats meat.", "The user does not eat meat."),
    ("The door is open.", "The door is not open."),
    ("The feature flag is enabled.", "The feature flag is disabled."),
]
BOTH_MAY_HOLD = {
    "members of a set": [
        ("Tomás is allergic to peanuts.", "Tomás is allergic to pollen."),
        ("Ana speaks German.", "Ana speaks French."),
        ("We use Redis.", "We use Kafka."),
        ("We use Slack for chat.", "We use Slack for alerts."),
        ("Ana has piano lessons on Monday.", "Ana has piano lessons on Thursday."),
    ],
    "another object": [
        ("Maria owns the billing service.", "Maria owns the invoicing service."),
        ("Aisle 14 is closed.", "Aisle 41 is closed."),
        ("Port 443 is open.", "Port 80 is open."),
        ("The second pump is new.", "The third pump is new."),
        ("The left freezer hums.", "The right freezer hums."),
        ("Invoice 2024-0718 lists the tax twice.", "Invoice 2024-0781 lists the tax twice."),
        ("2号機は止まっている。", "3号機は止まっている。"),
    ],
    "a denial of something else": [
        ("Tomás is allergic to pollen.", "Tomás is not allergic to peanuts."),
        ("The user likes tea.", "The user does not like coffee."),
        ("Never deploy on Fridays.", "Never deploy on Thursdays."),
    ],
    "exchanged parts": [
        ("The user prefers tabs over spaces.", "The user prefers spaces over tabs."),
        ("Tom reports to Ana.", "Ana reports to Tom."),
    ],
    "both happened": [
        ("We deployed version 1.2.0 on Monday.", "We deployed version 1.3.0 on Monday."),
        ("Felix paid 120 euros.", "Felix paid 200 euros."),
    ],
    "values of conditions": [
        ("If the queue is longer than 50, call Ana.", "If the queue is longer than 80, call Ana."),
    ],
    "questions": [("Is the timeout 30 seconds?", "Is the timeout 60 seconds?")],
    "the same": [("The timeout is 60 s.", "The timeout is 1 minute.")],
    "the same, rounded": [("The disk quota is 2048 MB.", "The disk quota is 2 GB.")],
    "another modality": [("The port is 5433.", "The port may be 5434.")],
    "other units": [("The disk has 12 GB left.", "The disk has 12 % left.")],
}


def places(own: str, other: str) -> list[tuple[str, str]]:
    found = certainly_exclusive(own, other, judged(own, other, 0.9, CAREFUL))
    return [(own[slice(*mine)], other[slice(*theirs)]) for mine, theirs in found]


@pytest.mark.parametrize(("memory", "text"), [*ONE_VALUE, *DENIED])
def test_another_value_of_one_slot_and_a_denial_exclude(memory: str, text: str) -> None:
    assert places(text, memory)
    assert places(memory, text), "either may be the newer"


@pytest.mark.parametrize(
    ("memory", "text"), [pair for pairs in BOTH_MAY_HOLD.values() for pair in pairs]
)
def test_what_both_texts_may_say_does_not_exclude(memory: str, text: str) -> None:
    assert places(text, memory) == places(memory, text) == []


def test_places_are_those_of_the_values_in_both_texts() -> None:
    assert places("Note: Timeout is 60 s.", "Timeout is 30 s.") == [("60 s", "30 s")]
    first, second = "Ana runs it. ", "Backups run nightly."
    assert places(
        f"{first}The timeout is 60 s. {second}", f"{first}The timeout is 30 s. {second}"
    ) == [("60 s", "30 s")]


@pytest.mark.parametrize(
    "judgement",
    [
        Judgement(Verdict.DUPLICATE),
        Judgement(Verdict.UPDATE),
        Judgement(Verdict.UPDATE, evidence=(Evidence(Finding.JUDGE),)),
        Judgement(Verdict.UPDATE, evidence=(Evidence(Finding.NUMBER, (900, 901), (900, 901)),)),
    ],
)
def test_a_judgement_without_places_excludes_nothing(judgement: Judgement) -> None:
    assert certainly_exclusive("It is 5.", "It is 6.", judgement) == ()


def test_on_the_probe_set_hardly_any_that_it_names_is_another_thing() -> None:
    named, right = 0, 0
    for pair in probe_pairs():
        found = judged(pair.b, pair.a, 0.85, CAREFUL)
        if certainly_exclusive(pair.b, pair.a, found):
            named += 1
            right += not {Verdict.UPDATE, Verdict.CONTRADICTION}.isdisjoint(pair.verdicts)
    assert named >= 270
    assert right / named >= 0.97
