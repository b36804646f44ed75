"""The daemon's own judge in processes: it answers, dies, hangs and is replaced."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from support.embedding import is_running
from support.own_judge import TINY, copied, pair_of
from support.waits import wait_s, wait_until
from totonoe_core.base import errors
from totonoe_core.helper.frames import FrameError
from totonoe_core.judging import JudgeSettings, JudgingService, Opinion, Relation, frames
from totonoe_core.judging.own import OwnModel
from totonoe_core.judging.processes import PROCESSES_MAX, ProcessJudge
from totonoe_core.judging.protocol import JudgeFailed
from totonoe_core.judging.settings import make_judge

PAIR = pair_of("the port is 80", "is the port 80")
Start = Callable[..., ProcessJudge]


@pytest.fixture
def start() -> Iterator[Start]:
    """Starts judges and closes them; no process may be left behind."""
    judges: list[ProcessJudge] = []

    def start_one(path: Path = TINY, **options: Any) -> ProcessJudge:
        judges.append(ProcessJudge(path, **options))
        return judges[-1]

    yield start_one
    for judge in judges:
        pids = judge.pids
        judge.close()
        judge.close()
        assert not any(is_running(pid) for pid in pids)


def test_processes_say_what_the_model_says(start: Start) -> None:
    judge = start(processes=2)
    pairs = [PAIR, pair_of("the port is ש", "the port is ת"), pair_of("green tea", "80")]
    expected = OwnModel(TINY).opinions([(pair.one, pair.other) for pair in pairs])
    assert judge.ask(pairs) == expected
    assert judge.thread_count == 2
    assert len(set(judge.pids)) == 2


def test_process_that_died_idle_is_replaced_unnoticed(start: Start) -> None:
    judge = start()
    assert judge.cpu_s == 0.0
    judge.ask([PAIR])
    [pid], first_s = judge.pids, judge.cpu_s
    assert first_s > 0.0
    os.kill(pid, signal.SIGKILL)
    wait_until(lambda: not is_running(pid) or judge._slots[0].child.gone)
    wait_until(lambda: judge._slots[0].child.gone)
    assert judge.ask([PAIR])[0].relation is Relation.SAME
    assert judge.pids != [pid]
    assert judge.cpu_s > first_s, "that of the dead process counts too"


def test_process_that_hangs_is_killed_and_the_next_pairs_are_judged(start: Start) -> None:
    judge = start(batch_time_limit_s=0.2)
    [pid] = judge.pids
    wait_until(lambda: judge._slots[0].child.received)
    os.kill(pid, signal.SIGSTOP)
    with pytest.raises(JudgeFailed, match="in time"):
        judge.ask([PAIR])
    assert not is_running(pid)
    judge._slots[0]._batch_time_limit_s = wait_s()
    wait_until(lambda: _answers(judge))


def _answers(judge: ProcessJudge) -> bool:
    """Whether it answers; it does not while it waits to start a process again."""
    try:
        return judge.ask([PAIR])[0] is not None
    except JudgeFailed:
        return False


def test_close_ends_a_question_under_way(start: Start) -> None:
    judge = start()
    judge.ask([PAIR])
    [pid] = judge.pids
    os.kill(pid, signal.SIGSTOP)
    service = JudgingService(judge, JudgeSettings(kind="own", deadline_s=10.0))
    future = service.submit([PAIR])
    wait_until(lambda: service.stats().asked_count)
    service.close()
    assert future.done()
    assert not is_running(pid)
    with pytest.raises(JudgeFailed):
        judge.ask([PAIR])


def test_service_judges_through_processes_and_forgets_at_a_purge(start: Start) -> None:
    service = JudgingService(start(), JudgeSettings(kind="own", deadline_s=10.0))
    try:
        service.submit([PAIR]).result(wait_s())
        known, opinion = service.look_up(PAIR)
        assert known
        assert opinion is not None
        assert opinion.same > 0.9
        service.forget_cached()
        assert service.look_up(PAIR) == (False, None)
    finally:
        service.close()


def test_settings_make_the_processes(tmp_path: Path) -> None:
    judge = make_judge(JudgeSettings(kind="own", path=str(TINY), processes=1))
    try:
        assert judge.ask([PAIR])[0] is not None
    finally:
        judge.close()
    with pytest.raises(errors.Precondition, match=r"judge\.path"):
        make_judge(JudgeSettings(kind="own", path=str(tmp_path)))


@pytest.mark.parametrize("processes", [0, PROCESSES_MAX + 1])
def test_number_of_processes_is_bounded(processes: int) -> None:
    with pytest.raises(errors.Precondition, match=r"judge\.processes"):
        ProcessJudge(TINY, processes)


def test_changed_file_hinders_the_start(tmp_path: Path) -> None:
    directory = copied(tmp_path / "model", files={"judge.onnx": "0", "tokenizer.json": "0"})
    with pytest.raises(errors.Precondition, match=r"another judge\.onnx"):
        ProcessJudge(directory)


def test_opinions_survive_the_wire() -> None:
    opinions = [Opinion(0.1 + 0.2, (0.25, 0.25, 0.5, 0.0, 0.0, 0.0), "a"), None]
    body = frames.opinions_to_wire(opinions, 1.5)
    assert frames.opinions_from_wire(body, "a", 2) == (opinions, 1.5)
    row = b"[[1, 1, 0, 0, 0, 0, 0]]"
    bodies = (b"[1, [[1]]]", b"[1, [[2, 1, 0, 0, 0, 0, 0]]]", b'["", ' + row + b"]", row, b"?")
    for bad, count in ((body, 3), *((data, 1) for data in bodies)):
        with pytest.raises(FrameError):
            frames.opinions_from_wire(bad, "a", count)
    assert frames.pairs_from_wire(frames.pairs_to_wire([PAIR])) == [(PAIR.one, PAIR.other)]
