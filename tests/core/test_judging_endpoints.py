"""What holds for every judge behind a URL, whatever it asks: failures, deadlines and the key."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from support.judges import ChatServer, DecisionServer, pair
from support.waits import wait_s
from totonoe_core.base import errors, limits
from totonoe_core.judging import JudgeFailed, JudgeSettings, JudgingService
from totonoe_core.judging.protocol import Judge
from totonoe_core.judging.settings import DIALECTS, make_judge

SECRET = "key-that-nobody-may-see"


@pytest.fixture(params=["chat", *DIALECTS])
def server(request: pytest.FixtureRequest) -> Iterator[ChatServer]:
    one = ChatServer() if request.param == "chat" else DecisionServer(request.param)
    yield one
    one.close()


def settings(server: ChatServer, **more: Any) -> JudgeSettings:
    given: dict[str, Any] = {"kind": "openai", "url": server.url, "model": "small"}
    if isinstance(server, DecisionServer):
        given |= {"kind": "decisions", "dialect": server.dialect}
    return JudgeSettings(**given | {"deadline_s": limits.JUDGE_DEADLINE_S_MAX} | more)


@pytest.fixture
def judge(server: ChatServer) -> Iterator[Judge]:
    one = make_judge(settings(server))
    yield one
    one.close()


@pytest.mark.parametrize("status", [302, 400, 401, 429, 500, 529])
def test_refusing_server_fails_without_quoting_it(
    server: ChatServer, judge: Judge, status: int
) -> None:
    server.status = status
    with pytest.raises(JudgeFailed, match=f"HTTP {status}") as raised:
        judge.ask([pair("a private matter")])
    assert "private" not in str(raised.value)
    assert len(server.requests) == 1


def test_endless_answer_is_cut_off(server: ChatServer, judge: Judge) -> None:
    server.raw = b" " * 1_000_000
    with pytest.raises(JudgeFailed, match="too long"):
        judge.ask([pair("a")])


def test_server_that_is_not_there_or_does_not_answer_fails(server: ChatServer) -> None:
    server.hang.clear()
    slow = make_judge(settings(server, deadline_s=0.02))
    with pytest.raises(JudgeFailed, match="ReadTimeout") as raised:
        slow.ask([pair("a")])
    assert raised.value.__cause__ is None
    slow.close()
    gone = make_judge(settings(server, url="http://127.0.0.1:1/v1"))
    with pytest.raises(JudgeFailed, match="ConnectError"):
        gone.ask([pair("a")])
    gone.close()


def test_key_comes_from_the_environment_and_stays_out_of_errors(
    server: ChatServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("JUDGE_KEY", SECRET)
    with_key = settings(server, api_key_env="JUDGE_KEY")
    judge = make_judge(with_key)
    assert judge.ask([pair("a")])[0] is not None
    for _, _, headers in server.requests:
        held = {name.lower(): value for name, value in headers.items()}
        assert held["authorization"] == f"Bearer {SECRET}"
    server.status = 401
    with pytest.raises(JudgeFailed) as raised:
        judge.ask([pair("b")])
    assert SECRET not in repr(raised.value)
    judge.close()
    monkeypatch.delenv("JUDGE_KEY")
    with pytest.raises(errors.Precondition) as missing:
        make_judge(with_key)
    assert missing.value.reason == "JUDGE_MISCONFIGURED"


def test_slow_server_holds_a_request_no_longer_than_the_deadline(server: ChatServer) -> None:
    server.hang.clear()
    late = settings(server, deadline_s=0.05)
    judging = JudgingService(make_judge(late), late)
    judging.submit([pair("a"), pair("b"), pair("c")]).result(wait_s())
    assert judging.look_up(pair("a")) == (False, None)
    server.hang.set()
    judging.close()
