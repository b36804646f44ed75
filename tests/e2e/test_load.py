"""An hour of every call by 16 clients: memory, threads and descriptors of the daemon stay flat."""

from __future__ import annotations

import itertools
import os
import random
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import totonoe
from support.daemons import DaemonProcess
from totonoe.errors import Internal, TotonoeError, Unavailable

CLIENTS = 16
SOAK_S = float(os.environ.get("TOTONOE_SOAK_S", "3600"))
ROTATE_S = 60.0
"""A collection is used so long, then deleted and purged: what is stored stays of one size."""
SAMPLE_S = 10.0
WARM_UP_SHARE = 0.15
GROWTH_MAX = 1.05

linux_only = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")


class Load:
    """Clients that make calls at random until they are told to end."""

    def __init__(self, daemon: DaemonProcess) -> None:
        self._daemon = daemon
        self._ended = threading.Event()
        self._rounds = itertools.count(1)
        self.calls: Counter[str] = Counter()
        self.failures: Counter[str] = Counter()
        self.bad: list[str] = []
        self._collection = ""

    def rotate(self, client: totonoe.Client) -> None:
        """Goes on in a new collection; the one before is deleted for good."""
        before, self._collection = self._collection, f"load-{next(self._rounds)}"
        client.create_collection(self._collection)
        if before:
            client.delete_collection(before)

    def run(self, number: int) -> None:
        """One client's work."""
        draw = random.Random(number)
        agent = f"agent-{number}"
        ids: list[str] = []
        operations: list[str] = []
        collection = ""
        with totonoe.Client(self._daemon.address, agent_id=agent, timeout_s=60.0) as client:
            while not self._ended.is_set():
                if collection != self._collection:
                    collection, ids, operations = self._collection, [], []
                name, call = self._choose(client, draw, ids, operations, collection)
                self.calls[name] += 1
                try:
                    call()
                except Internal as error:
                    self.bad.append(f"{name}: {error}")
                except Unavailable as error:
                    self.failures[f"{name} {error.reason}"] += 1
                except TotonoeError as error:
                    # Gone, changed or replaced meanwhile by another client: a rightful answer.
                    self.failures[f"{name} {error.reason}"] += 1
                # Two cores: so many calls that none waits long for another.
                time.sleep(draw.random() * 0.1)

    def _choose(
        self,
        client: totonoe.Client,
        draw: random.Random,
        ids: list[str],
        operations: list[str],
        collection: str,
    ) -> tuple[str, Callable[[], Any]]:
        def remember() -> None:
            text = f"{draw.choice(TEXTS)} {draw.randrange(300)}"
            answer = client.remember(
                text, session_id=f"s{draw.randrange(4)}", collection=collection,
                private=draw.random() < 0.1, force=draw.random() < 0.1,
            )  # fmt: skip
            ids.append(answer.memory_id)
            operations.append(answer.operation_id)

        if not ids:
            return "remember", remember
        one, two = draw.choice(ids), draw.choice(ids)
        query = draw.choice(TEXTS)
        here = {"collection": collection}
        calls: dict[str, Callable[[], Any]] = {
            "check": lambda: client.check(query, **here),
            "recall": lambda: client.recall(query, k=5, **here),
            "get": lambda: client.get_many([one, two], **here),
            "list": lambda: client.list(page_size=50, **here),
            "update": lambda: client.update(one, importance=draw.randint(1, 5), **here),
            "forget": lambda: client.forget(one, **here),
            "undo": lambda: client.undo(draw.choice(operations), partial=True, **here),
            "history": lambda: client.history(one, **here),
            "operations": lambda: client.operations(page_size=20, **here),
            "link": lambda: client.link(one, two, **here),
            "unlink": lambda: client.unlink(one, two, **here),
            "neighbors": lambda: client.neighbors([one], **here),
            "merge": lambda: client.merge(one, [two], **here),
            "dismiss": lambda: client.dismiss(one, two, **here),
            "undismiss": lambda: client.undismiss(one, two, **here),
            "why_not": lambda: client.why_not(one, query, **here),
            "create_episode": lambda: client.create_episode(query, [one, two], **here),
            "list_episodes": lambda: client.list_episodes(**here),
            "consolidate": lambda: list(client.consolidate(**here)),
            "tidy": lambda: list(client.tidy(**here)),
            "end_session": lambda: client.end_session(f"s{draw.randrange(4)}", **here),
            "clean_up": lambda: client.clean_up_duplicates(**here),
            "decay": lambda: client.decay(**here),
            "record_turn": lambda: client.record_turn(**here),
            "audit": lambda: client.audit(**here),
            "compare": lambda: client.compare(query, draw.choice(TEXTS)),
            "stats": lambda: client.stats(collection),
            "purge": lambda: client.purge([one], **here),
            "remember_many": lambda: list(
                client.remember_many([f"{query} {draw.randrange(300)}" for _ in range(8)])
            ),
        }
        if draw.random() < 0.4:
            return "remember", remember
        name = draw.choice(list(calls))
        return name, calls[name]

    def end(self) -> None:
        """Lets every client end its call and stop."""
        self._ended.set()


TEXTS = (
    "The build of the planner takes minutes",
    "Ann manages the team of the gripper number",
    "倉庫の鍵は青い棚の裏にある",
    "部署之前必须先运行迁移脚本",
    "Port of the staging database",
)


def figures(pid: int) -> tuple[int, int, int]:
    """Resident kilobytes, threads and open descriptors of a process."""
    status = dict(
        line.split(":", 1) for line in Path(f"/proc/{pid}/status").read_text().splitlines()
    )
    descriptors = len(list(Path(f"/proc/{pid}/fd").iterdir()))
    return int(status["VmRSS"].split()[0]), int(status["Threads"]), descriptors


@linux_only
@pytest.mark.soak
@pytest.mark.timeout(3 * 3600)
def test_hour_of_every_call_leaves_the_daemon_as_it_was(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    samples: list[tuple[int, int, int]] = []
    with DaemonProcess(tmp_path / "data", embedder="use") as daemon:
        load = Load(daemon)
        with totonoe.Client(daemon.address, timeout_s=120.0) as client:
            load.rotate(client)
            # Daemons: a run that fails in the middle must not wait for them.
            threads = [
                threading.Thread(target=load.run, args=(n,), daemon=True) for n in range(CLIENTS)
            ]
            for thread in threads:
                thread.start()
            began_s, rotated_s = time.monotonic(), time.monotonic()
            while time.monotonic() - began_s < SOAK_S:
                time.sleep(SAMPLE_S)
                samples.append(figures(daemon.pid))
                if time.monotonic() - rotated_s > ROTATE_S:
                    load.rotate(client)
                    rotated_s = time.monotonic()
            load.end()
            for thread in threads:
                thread.join(120)
        assert not any(thread.is_alive() for thread in threads)
        log = daemon.log.read_text()
    # The highest of the first and of the last part: between them nothing may have grown.
    part = max(1, int(len(samples) * WARM_UP_SHARE))
    first = [max(column) for column in zip(*samples[part : 2 * part], strict=True)]
    last = [max(column) for column in zip(*samples[-part:], strict=True)]
    with capsys.disabled():
        print(f"\n{sum(load.calls.values())} calls of {len(load.calls)} kinds in {SOAK_S:g} s")
        print(f"failures: {dict(load.failures.most_common(12))}")
        print(f"kB, threads, descriptors: {first} after {WARM_UP_SHARE:.0%}, {last} at the end")
    assert not load.bad
    assert '"level": "error"' not in log
    assert all(late <= early * GROWTH_MAX for early, late in zip(first, last, strict=True))
