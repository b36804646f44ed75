"""A daemon with a judge, from its settings to the evidence in an answer."""

from __future__ import annotations

import logging

import pytest

import totonoe
from support.engines import vector_at, vector_of
from support.judges import ChatServer, DecisionServer
from totonoe.enums import Finding
from totonoe_server.life.daemon import StartupError
from totonoe_server.tools.testing import running_server

HAPPY, GLAD = "The neighbour has a loud dog", "The neighbour has a loud puppy"
DIMENSION = 384


@pytest.fixture
def chat():
    server = ChatServer()
    yield server
    server.close()


def test_judge_of_the_settings_refuses_and_is_named_in_the_answer(chat, caplog):
    caplog.set_level(logging.INFO)
    base = vector_of("base", DIMENSION)
    with (
        running_server(judge="openai", judge_url=chat.url, judge_model="small") as server,
        server.client("anna") as client,
    ):
        known = client.remember(HAPPY, vector=base)
        again = client.remember(GLAD, vector=vector_at(base, 0.9))
        assert not again.saved
        assert again.duplicate.memory_id == known.memory_id
        judgement = again.duplicate.judgement
        assert (judgement.verdict, judgement.same_probability) == (totonoe.Verdict.DUPLICATE, 0.9)
        ground = judgement.evidence[0]
        assert (ground.finding, ground.own_text) == (Finding.JUDGE, "openai:small")
    assert "judge stopped" in caplog.text
    assert "puppy" not in caplog.text


@pytest.mark.parametrize("dialect", ["openai", "systemone"])
def test_decision_model_of_the_settings_refuses_what_both_orders_call_the_same(dialect, caplog):
    caplog.set_level(logging.INFO)
    decisions = DecisionServer(dialect)
    base = vector_of("base", DIMENSION)
    settings = {"judge": "decisions", "judge_url": decisions.url, "judge_model": "small"}
    try:
        with (
            running_server(**settings, judge_dialect=dialect, judge_agreed_from=0.9) as server,
            server.client("anna") as client,
        ):
            known = client.remember(HAPPY, vector=base)
            decisions.sure = 0.95
            again = client.remember(GLAD, vector=vector_at(base, 0.9))
            assert not again.saved
            assert again.duplicate.memory_id == known.memory_id
            judgement = again.duplicate.judgement
            assert judgement.same_probability == 0.95
            assert judgement.evidence[0].own_text == "decisions:small"
            assert len(decisions.requests) == 2
    finally:
        decisions.close()
    assert "puppy" not in caplog.text


def test_judge_that_is_down_changes_nothing(chat):
    chat.status = 503
    base = vector_of("base", DIMENSION)
    with (
        running_server(judge="openai", judge_url=chat.url, judge_model="small") as server,
        server.client("anna") as client,
    ):
        client.remember(HAPPY, vector=base)
        assert client.remember(GLAD, vector=vector_at(base, 0.9)).saved
        assert len(chat.requests) == 1


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"judge": "openai", "judge_url": "http://h/v1"}, "judge.model"),
        ({"judge": "openai", "judge_url": "h", "judge_model": "m"}, "judge.url"),
        ({"judge": "decisions", "judge_model": "m"}, "judge.url"),
    ],
)
def test_judge_that_cannot_run_hinders_the_start_in_one_line(settings, words):
    with pytest.raises(StartupError, match=words) as caught, running_server(**settings):
        pass
    assert "\n" not in str(caught.value)
