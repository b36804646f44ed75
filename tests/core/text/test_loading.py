"""Word lists load beside, when a text needs them, and not before."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.engines import opened
from support.waits import wait_s
from totonoe_core.domain.queries import RecallMode, RecallQuery
from totonoe_core.text.reading import loading
from totonoe_core.text.reading.chinese.script import simplify
from totonoe_core.text.reading.read import read

SCRIPT = """
import sys
from totonoe_core.text.reading import loading
def loaded():
    return [one for one in ("english", "japanese", "chinese", "european")
        if f"totonoe_core.text.reading.{one}.read" in sys.modules]
assert loading.begin_for("The lake is deep.") is None
print(loaded())
for text in ("Der See ist sehr tief.", "湖はとても深い。", "这个湖很深。"):
    loading.begin_for(text).join()
    assert loading.begin_for(text) is None
    print(loaded())
print("opencc" in sys.modules)
"""


@pytest.fixture(autouse=True)
def nothing_begun(monkeypatch) -> Iterator[None]:
    monkeypatch.setattr(loading, "_begun", {})
    yield


def test_text_loads_the_lists_of_its_own_language_only() -> None:
    simplify("湖")  # makes, once on a machine, the file in which opencc's shapes are
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT], capture_output=True, text=True, check=True, timeout=wait_s()
    )
    assert done.stdout.splitlines() == [
        "[]",
        "['european']",
        "['japanese', 'european']",
        "['japanese', 'chinese', 'european']",
        "False",
    ]


def test_two_texts_at_once_load_once() -> None:
    barrier, found = threading.Barrier(8), []

    def begin() -> None:
        barrier.wait(wait_s())
        found.append(loading.begin_for("雪が降る。"))

    threads = [threading.Thread(target=begin) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(wait_s())
    (loader,) = (thread for thread in found if thread is not None)
    loader.join(wait_s())


def test_load_that_fails_is_begun_again_by_the_next_text(monkeypatch) -> None:
    def fails(*_: str) -> None:
        raise OSError(24, "no descriptor left")

    monkeypatch.setattr(loading, "read", fails)
    for _ in range(2):
        loader = loading.begin_for("雨が降る。")
        assert loader is not None
        loader.join(wait_s())
    monkeypatch.setattr(loading, "read", read)
    loader = loading.begin_for("雨が降る。")
    assert loader is not None
    loader.join(wait_s())
    assert loading.begin_for("雨が降る。") is None


def test_recall_loads_the_lists_of_its_query_before_anything_is_saved(tmp_path: Path) -> None:
    with opened(tmp_path) as store:
        store.recall(RecallQuery("anna", "你住在哪里", mode=RecallMode.LEXICAL))
        loader = loading._begun["zh"]
    loader.join(wait_s())


def test_listed_words_are_looked_up_once_on_a_machine(monkeypatch, tmp_path: Path) -> None:
    from totonoe_core.text.reading.japanese import words

    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    listed = ("雨が降る", "ご飯")
    found = words._normal_forms(listed)
    assert ["".join(parts) for parts in found] == ["雨が降る", "御飯"]
    monkeypatch.setattr(words, "_morphemes", None)
    assert words._normal_forms(listed) == found
