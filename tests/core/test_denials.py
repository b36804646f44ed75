"""What a denial, the passive and an exchange make of a verdict, and which made names are values."""

from __future__ import annotations

import pytest

from totonoe_core.domain.calibration import CAREFUL
from totonoe_core.domain.policy import PRESETS, Preset
from totonoe_core.domain.records import Judgement, Verdict
from totonoe_core.guard.verdict import judged

STANDARD = PRESETS[Preset.STANDARD]


def both_ways(one: str, other: str) -> list[Judgement]:
    return [judged(one, other, 0.9, CAREFUL), judged(other, one, 0.9, CAREFUL)]


@pytest.mark.parametrize(
    ("memory", "text"),
    [
        ("The user likes tea.", "The user does not like coffee."),
        ("The user likes hiking.", "The user does not like swimming."),
        ("The user eats fish.", "The user never eats meat."),
        ("The user drinks green tea.", "The user does not drink black tea."),
        ("Tom works in Berlin.", "Tom does not work in Paris."),
        ("Deploys are allowed on Mondays.", "Deploys are not allowed on Fridays."),
        ("The server is not on port 5433.", "The server is on port 5434."),
        ("Tomás is allergic to pollen.", "Tomás is not allergic to peanuts."),
        ("ユーザーはお茶が好きだ。", "ユーザーはコーヒーが好きではない。"),
        ("用户喜欢茶。", "用户不喜欢咖啡。"),
        ("L'utilisateur aime le thé.", "L'utilisateur n'aime pas le café."),
    ],
)
def test_denial_of_something_else_contradicts_nothing(memory: str, text: str) -> None:
    assert [found.verdict for found in both_ways(memory, text)] == [Verdict.RELATED] * 2


@pytest.mark.parametrize(
    ("memory", "text"),
    [
        ("The user likes tea.", "The user does not like tea."),
        ("The user likes tea.", "The user no longer likes tea."),
        ("Everyone on the team agreed.", "Nobody on the team agreed."),
        ("The event is on May 29.", "The event is on June 5, not May 29."),
        ("文件损坏，打不开。", "文件完好，可以打开。"),
    ],
)
def test_denial_of_the_same_contradicts(memory: str, text: str) -> None:
    assert [found.verdict for found in both_ways(memory, text)] == [Verdict.CONTRADICTION] * 2


@pytest.mark.parametrize(
    ("order", "passive"),
    [
        (
            "Never run migrations while the workers are up.",
            "Migrations must never be run while the workers are up.",
        ),
        ("Do not use tabs.", "Tabs must not be used."),
        ("Do not edit generated files by hand.", "Generated files must not be edited by hand."),
        (
            "Never restart the broker during a deploy.",
            "The broker must never be restarted during a deploy.",
        ),
    ],
)
def test_rule_in_the_passive_is_no_contradiction_and_no_update(order: str, passive: str) -> None:
    for found in both_ways(order, passive):
        assert found.verdict not in (Verdict.CONTRADICTION, Verdict.UPDATE)
        assert not found.hard


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("The user prefers tabs over spaces.", "The user prefers spaces over tabs."),
        ("The user prefers tea to coffee.", "The user prefers coffee to tea."),
        ("The user likes tea more than coffee.", "The user likes coffee more than tea."),
        ("Use tabs rather than spaces.", "Use spaces rather than tabs."),
        ("Prefer dark mode over light mode.", "Prefer light mode over dark mode."),
        ("ユーザーはお茶よりコーヒーが好きだ。", "ユーザーはコーヒーよりお茶が好きだ。"),
        ("用户喜欢茶胜过咖啡。", "用户喜欢咖啡胜过茶。"),
        ("Der Nutzer mag Tee lieber als Kaffee.", "Der Nutzer mag Kaffee lieber als Tee."),
        (
            "火曜日は森さん、木曜日は林さんが当番です。",
            "木曜日は森さん、火曜日は林さんが当番です。",
        ),
        ("On call: Tuesday Mori, Friday Hayashi.", "On call: Friday Mori, Tuesday Hayashi."),
        ("L'utilisateur préfère le thé au café.", "L'utilisateur préfère le café au thé."),
    ],
)
def test_exchanged_words_are_never_likely_the_same(one: str, other: str) -> None:
    for found in both_ways(one, other):
        assert found.verdict is not Verdict.DUPLICATE
        assert found.hard
        assert not STANDARD.is_likely(found)


def test_members_of_a_list_in_another_order_are_no_exchange() -> None:
    for found in both_ways("Mia speaks German and French.", "Mia speaks French and German."):
        assert found.verdict is Verdict.DUPLICATE
        assert not found.hard


@pytest.mark.parametrize(
    ("memory", "text"),
    [
        ("The API host is api1.example.com.", "The API host is api2.example.com."),
        ("The primary host is db-01.", "The primary host is db-02."),
        ("Redis runs on db-01.internal.", "Redis runs on db-02.internal."),
        ("The database host is 10.0.0.5.", "The database host is 10.0.0.9."),
        ("Production is at commit a1b2c3d.", "Production is at commit f9e8d7c."),
        ("The docs are at https://a.example.com/x.", "The docs are at https://b.example.com/x."),
        ("Send invoices to billing@a.example.", "Send invoices to accounts@a.example."),
        ("データベースのホストは10.0.0.5です。", "データベースのホストは10.0.0.9です。"),
        ("数据库主机是10.0.0.5。", "数据库主机是10.0.0.9。"),
    ],
)
def test_another_host_address_or_commit_is_an_update(memory: str, text: str) -> None:
    assert [found.verdict for found in both_ways(memory, text)] == [Verdict.UPDATE] * 2


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("10.0.0.5 is down.", "10.0.0.9 is down."),
        ("Bug PAY-1182 blocks the release.", "Bug PAY-1128 blocks the release."),
        ("Camera CX2301 covers the dock.", "Camera CX2310 covers the dock."),
    ],
)
def test_a_made_name_of_the_subject_is_another_object(one: str, other: str) -> None:
    assert [found.verdict for found in both_ways(one, other)] == [Verdict.RELATED] * 2
