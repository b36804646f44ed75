"""A daemon with its own judge, from its settings to the processes beside it."""

from __future__ import annotations

import logging

import pytest

import totonoe
from support.engines import vector_at, vector_of
from support.own_judge import TINY
from totonoe.enums import Finding
from totonoe_core.judging import settings as own_settings
from totonoe_server.life.config import Settings
from totonoe_server.life.daemon import StartupError, judge_settings
from totonoe_server.tools.testing import running_server

DIMENSION = 384


def settings(**said):
    return Settings(data_dir="unused", **said)


def test_own_judge_is_the_default_where_its_model_is_installed(monkeypatch):
    for installed, kind in ((True, "own"), (False, "none")):
        monkeypatch.setattr(own_settings, "has_own_judge", lambda there=installed: there)
        found = judge_settings(settings())
        assert found.kind == kind
    assert judge_settings(settings(judge="none")).kind == "none"


def test_own_judge_waits_less_than_others():
    assert judge_settings(settings(judge="own")).patience_s == 0.3
    named = {"judge_url": "http://h/v1", "judge_model": "m"}
    assert judge_settings(settings(judge="openai", **named)).patience_s == 2.0
    assert judge_settings(settings(judge="own", judge_deadline_s=1.5)).patience_s == 1.5


def test_daemon_runs_and_ends_with_its_own_judge(monkeypatch, caplog):
    monkeypatch.setattr("totonoe_core.judging.own.SHIPPED", TINY)
    caplog.set_level(logging.INFO)
    with (
        running_server(judge="own", judge_processes=2) as server,
        server.client("anna") as client,
    ):
        assert client.remember("the port is 80").saved
    assert "judge stopped" in caplog.text
    assert "the port is 80" not in caplog.text


def test_missing_model_hinders_the_start_in_one_line(monkeypatch, tmp_path):
    monkeypatch.setattr("totonoe_core.judging.own.SHIPPED", tmp_path)
    with pytest.raises(StartupError, match=r"judge\.path") as caught, running_server(judge="own"):
        pass
    assert "\n" not in str(caught.value)


def test_restatement_is_refused_from_the_probability_that_a_collection_sets(monkeypatch):
    monkeypatch.setattr("totonoe_core.judging.own.SHIPPED", TINY)
    base = vector_of("base", DIMENSION)
    with (
        running_server(judge="own", judge_deadline_s=10.0) as server,
        server.client("anna") as client,
    ):
        known = client.remember("They argued in the dormitory at noon", vector=base)
        # The small model reads letters: "dirty room" has those of "dormitory".
        again = {
            "content": "At noon they argued in the dirty room",
            "vector": vector_at(base, 0.8),
        }
        client.update_collection(guard=totonoe.GuardPolicy(certain_from=1.0))
        assert client.check(**again).would_save
        client.update_collection(guard=totonoe.GuardPolicy(certain_from=0.3, likely_from=0.3))
        assert client.get_collection().guard.certain_from == 0.3
        refused = client.remember(**again)
        assert not refused.saved
        assert refused.duplicate.memory_id == known.memory_id
        assert refused.duplicate.method == totonoe.Method.JUDGE
        ground = refused.duplicate.judgement.evidence[0]
        assert (ground.finding, ground.own_text) == (Finding.JUDGE, "own:tiny-1")


def test_compare_asks_the_own_judge(monkeypatch):
    texts = "They argued in the dormitory at noon", "At noon they argued in the dirty room"
    monkeypatch.setattr("totonoe_core.judging.own.SHIPPED", TINY)
    said = {}
    for kind in ("none", "own"):
        with (
            running_server(judge=kind, judge_deadline_s=10.0) as server,
            server.client("anna") as client,
        ):
            said[kind] = client.compare(*texts).judgement
            hard = client.compare("The port is 80", "The port is 81").judgement
            assert hard.hard
            assert Finding.JUDGE not in {line.finding for line in hard.evidence}
    by_own = said["own"].evidence[0]
    assert (by_own.finding, by_own.own_text) == (Finding.JUDGE, "own:tiny-1")
    assert Finding.JUDGE not in {line.finding for line in said["none"].evidence}
    assert said["own"].same_probability > said["none"].same_probability
