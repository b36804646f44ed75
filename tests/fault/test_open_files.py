"""Out of file descriptors: typed, no thread dies, and all goes on once there are some again."""

from __future__ import annotations

import resource
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

import totonoe
from support.daemons import DaemonProcess
from support.processes import child

PAIRS = {
    # Read only when a text is much like one that is there: each language brings its word lists.
    "en": ("Note 1: the kiln is serviced in May.", "Note 1: the kiln is serviced in June."),
    "ja": ("窯は五月に点検される。", "窯は六月に点検される。"),
    "zh": ("服务器在端口8080上运行。", "服务器在端口8081上运行。"),
    "de": ("Der Ofen wird im Mai gewartet.", "Der Ofen wird im Juni gewartet."),
    "ko": ("가마는 5월에 점검한다.", "가마는 6월에 점검한다."),
}


@contextmanager
def no_files(pid: int) -> Iterator[None]:
    """Lets a process open no file more."""
    before = resource.prlimit(pid, resource.RLIMIT_NOFILE)
    # Standard input, output and error: whatever else is closed meanwhile makes no room.
    resource.prlimit(pid, resource.RLIMIT_NOFILE, (3, before[1]))
    try:
        yield
    finally:
        resource.prlimit(pid, resource.RLIMIT_NOFILE, before)


@pytest.mark.skipif(not hasattr(resource, "prlimit"), reason="prlimit is of Linux")
def test_daemon_without_descriptors_answers_with_types_and_recovers(tmp_path: Path) -> None:
    once = totonoe.RetryPolicy(attempts_max=1)  # else it waits for descriptors until its deadline
    with (
        DaemonProcess(tmp_path / "data") as daemon,
        totonoe.Client(daemon.address, retry=once) as client,
    ):
        for language in ("en", "de", "ko"):
            assert client.remember(PAIRS[language][0]).saved
        reasons: dict[str, str] = {}
        with no_files(daemon.pid):
            # The first texts in Japanese and Chinese begin to load lists, which fails here.
            wanted = [("ja", PAIRS["ja"][0]), ("zh", PAIRS["zh"][0])]
            wanted += [(language, second) for language, (_, second) in PAIRS.items()]
            for language, text in wanted:
                try:
                    client.remember(text)
                except totonoe.TotonoeError as error:
                    reasons[language] = error.reason
            with pytest.raises(totonoe.TotonoeError) as refused:
                client.create_collection("another")
            assert refused.value.reason == "OVERLOADED"
            assert len(client.recall("kiln").hits) > 1
            assert client.remember("Ducks swim on the pond.").saved
        # The German list loads beside the first text: it may have been read before.
        assert reasons["ja"] == "OVERLOADED"
        assert set(reasons.values()) == {"OVERLOADED"}
        for _, second in PAIRS.values():
            assert client.remember(second).memory_id
        client.create_collection("another")
        assert client.remember("Anything.", collection="another").saved
    log = daemon.log.read_text()
    assert "internal error" not in log
    assert "Traceback" not in log
    assert "a thread ended" not in log


def test_word_lists_are_tried_again_when_there_are_descriptors(tmp_path: Path) -> None:
    with child("words", tmp_path) as process:
        assert process.end() == 0
    tries, warnings, deaths, loaded = process.said[0]
    assert (tries, deaths, loaded) == (3, 0, True)
    assert warnings == ["word lists are not loaded yet"] * 3
